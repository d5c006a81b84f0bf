import { argumentsOf, calleeOf, isArgumentList, memberOf, plainText, textOf } from '../access.js';
import { type Declaration, ELEMENT } from '../names.js';
import type { SourceFile } from '../source-file.js';
import type { SyntaxNode } from '../syntax.js';
import type { TextReader } from '../text-reader.js';
import type { UnfixedReason } from './fix-report.js';
import { GETTERS, MAKES_URL, PLAIN_TYPES, STEPS, type ValueState } from './known-clients.js';
import { calleeText, type KnownRequests } from './known-requests.js';
import {
  callOn,
  declaredType,
  isInText,
  isPartOfText,
  isReceiver,
  isTypedTarget,
  NameUses,
  patternOf,
} from './name-uses.js';

/** Where a value ends up. */
export type ValueUse =
  /** An address that is requested. */
  | { readonly kind: 'request'; readonly call: SyntaxNode }
  /** A member of the envelope that is read: `name` of `object`; `access` is the whole expression. */
  | {
      readonly kind: 'read';
      readonly object: SyntaxNode;
      readonly access: SyntaxNode;
      readonly name: SyntaxNode;
    }
  /** A pattern that takes members of the envelope. */
  | { readonly kind: 'pattern'; readonly pattern: SyntaxNode }
  /** Code that is not followed. */
  | { readonly kind: 'lost'; readonly reason: UnfixedReason; readonly at: SyntaxNode };

const MEMBERS = /^(data|next|prev|total_count)$/;
const MAX_STEPS = 400;
/** Calls that show a value to people. */
const SHOWS =
  /^(console\.\w+|print|println|puts|echo|error_log|(?:[\w.:]*[.:_])?(?:[lL]og|logging|\w*[lL]ogger)\.(?:log|trace|debug|verbose|info|notice|warn|warning|error|fatal|critical|exception|[pP]rint\w*|Log\w+)|new [\w.\\]*(Error|Exception)|([A-Z][a-z]+)?(Error|Exception))$/;

/** Follows a value of one file forward to everything that uses it. Uses it does not know are `lost`. */
export class ValueFlow {
  readonly #file: SourceFile;
  readonly #requests: KnownRequests;
  readonly #texts: TextReader;
  readonly #names: NameUses;
  #left = 0;

  constructor(
    file: SourceFile,
    requests: KnownRequests,
    texts: TextReader,
    isNamedElsewhere: (name: string) => boolean,
  ) {
    this.#file = file;
    this.#requests = requests;
    this.#texts = texts;
    this.#names = new NameUses(file, isNamedElsewhere);
  }

  usesOf(node: SyntaxNode, state: ValueState): ValueUse[] {
    this.#left = MAX_STEPS;
    return this.#follow(node, state);
  }

  #follow(node: SyntaxNode, state: ValueState): ValueUse[] {
    this.#left -= 1;
    const { parent } = node;
    if (parent === null || this.#left < 0) return [this.#lost(state, node)];
    const declared = this.#names.declaredBy(node);
    if (declared !== undefined) return this.#followDeclared(node, declared, state);
    if (isArgumentList(parent)) return this.#passed(node, node, parent, state);
    if (parent.kind === 'pair' || node.kind === 'shorthand') return this.#inOption(node, parent, state);
    if (parent.kind === 'wrap') return this.#wrapped(node, parent, state);
    if (isReceiver(node, parent)) return this.#readFrom(node, parent, state);
    if (state === 'url' && isPartOfText(node, parent)) return this.#follow(parent, state);
    if (parent.kind === 'return' || (parent.kind === 'function' && node.field === 'body'))
      return this.#returned(node, state);
    const isTested = node.field === 'condition' && /^(if|while|unless)/.test(parent.type);
    return isTested || this.#isDropped(node, parent) ? [] : [this.#lost(state, node)];
  }

  #lost(state: ValueState, at: SyntaxNode): ValueUse {
    const reason = state === 'url' || state === 'client' ? 'address_used' : 'response_used';
    return { kind: 'lost', reason, at };
  }

  /** Whether an expression is a statement, so that its value is discarded. */
  #isDropped(node: SyntaxNode, parent: SyntaxNode): boolean {
    if (parent.type === 'expression_statement') return true;
    // The last expression of a block is its value.
    return (
      this.#file.language.name === 'ruby' &&
      /^(body_statement|program|then|block_body)$/.test(parent.type) &&
      parent.children.at(-1) !== node
    );
  }

  #isUnused(call: SyntaxNode): boolean {
    const outer = call.parent?.kind === 'wrap' ? call.parent : call;
    return outer.parent !== null && this.#isDropped(outer, outer.parent);
  }

  #wrapped(node: SyntaxNode, parent: SyntaxNode, state: ValueState): ValueUse[] {
    const isInterpolated = /^(interpolation|template_substitution)$/.test(parent.type);
    if (isInterpolated) return state === 'url' ? this.#follow(parent, state) : [this.#lost(state, node)];
    const isCast = /as_expression|satisfies|cast|type_assertion|conversion/.test(parent.type);
    if (isCast) {
      const type = parent.children.find((one) => one !== node);
      const text = type === undefined ? '' : textOf(type);
      if (!PLAIN_TYPES.test(text)) return [{ kind: 'lost', reason: 'response_typed', at: node }];
    }
    if (parent.type === 'unary_expression') {
      return parent.source[parent.start] === '!' ? [] : [this.#lost(state, node)];
    }
    const outer = parent.type === 'argument' ? parent.parent : null;
    if (outer !== null && isArgumentList(outer)) return this.#passed(node, parent, outer, state);
    return this.#follow(parent, state);
  }

  /** A value that is an argument. */
  #passed(node: SyntaxNode, argument: SyntaxNode, list: SyntaxNode, state: ValueState): ValueUse[] {
    const call = list.parent;
    if (call?.kind !== 'call') return [this.#lost(state, node)];
    const callee = (calleeText(call) ?? '').replace(/^await\s+/, '');
    const at = list.children.filter(({ kind }) => kind !== 'comment').indexOf(argument);
    if (SHOWS.test(callee)) return [];
    if (state === 'url') {
      if (at === 0 && this.#requests.formOf(call) !== null) return [{ kind: 'request', call }];
      const isUrl = MAKES_URL.test(callee) || this.#texts.isTextBuilder(call);
      return isUrl ? this.#follow(call, state) : [this.#lost(state, node)];
    }
    const into = STEPS[this.#file.language.name]?.[state]?.into?.find(([name]) => name.test(callee));
    return into === undefined || at !== 0 ? [this.#lost(state, node)] : this.#follow(call, into[1]);
  }

  /** A value in an object or a named argument, which is followed only as the base address of a client. */
  #inOption(node: SyntaxNode, pair: SyntaxNode, state: ValueState): ValueUse[] {
    const client = state === 'url' ? this.#requests.clientWithBase(node, pair) : null;
    return client === null ? [this.#lost(state, node)] : this.#follow(client, 'client');
  }

  /** A member, an index or a method of a value. */
  #readFrom(node: SyntaxNode, parent: SyntaxNode, state: ValueState): ValueUse[] {
    const { language } = this.#file;
    const call = callOn(node, parent);
    if (call === null) return this.#member(node, parent, state);
    const { name } = calleeOf(call);
    if (state === 'client') {
      const isRequest = this.#requests.formOf(call) !== null;
      return isRequest ? [{ kind: 'request', call }] : [this.#lost(state, node)];
    }
    const isPromise = language.imports === 'relative';
    if (isPromise && name === 'then') return this.#then(call, state);
    if (isPromise && name === 'finally') return this.#follow(call, state);
    // What the handler gives back instead has the form of V3.
    if (isPromise && name === 'catch') return this.#isUnused(call) ? [] : [this.#lost(state, node)];
    if (state === 'body') return this.#getter(node, call, name);
    const next = STEPS[language.name]?.[state]?.calls?.[name];
    if (next === undefined) return [this.#lost(state, node)];
    const isTyped = call.children.some(({ type }) => type === 'type_arguments');
    if (isTyped && next !== null) return [{ kind: 'lost', reason: 'response_typed', at: node }];
    return next === null ? [] : this.#follow(call, next);
  }

  #member(node: SyntaxNode, parent: SyntaxNode, state: ValueState): ValueUse[] {
    const member = memberOf(parent);
    if (member === null) return [this.#lost(state, node)];
    const { parent: outer } = parent;
    const isWritten =
      (parent.field === 'left' && outer?.kind === 'assign') ||
      /^(update|delete|unset)/.test(outer?.type ?? '');
    if (isWritten || isInText(node)) return [this.#lost(state, node)];
    if (state === 'body') {
      const isKey = MEMBERS.test(member.name) && member.nameNode.kind !== 'other';
      return isKey
        ? [{ kind: 'read', object: node, access: parent, name: member.nameNode }]
        : [this.#lost(state, node)];
    }
    if (parent.kind === 'index') return [this.#lost(state, node)];
    const next = STEPS[this.#file.language.name]?.[state]?.members?.[member.name];
    if (next === undefined) return [this.#lost(state, node)];
    return next === null ? [] : this.#follow(parent, next);
  }

  /** `body.get("data")` and the like. */
  #getter(node: SyntaxNode, call: SyntaxNode, name: string): ValueUse[] {
    const { language } = this.#file;
    const given = argumentsOf(call);
    const [first] = given;
    const key =
      first !== undefined && /^(string|symbol)$/.test(first.value.kind) ? plainText(first.value) : null;
    const isGetter = GETTERS[language.name]?.test(name) === true && given.length === 1;
    if (first === undefined || !isGetter || key === null || !MEMBERS.test(key))
      return [this.#lost('body', node)];
    return [{ kind: 'read', object: node, access: call, name: first.value }];
  }

  /** A callback is passed what its receiver resolves to, and returns what the call resolves to. */
  #then(call: SyntaxNode, state: ValueState): ValueUse[] {
    const given = argumentsOf(call);
    const callback = given[0]?.value;
    if (given.length !== 1 || callback?.kind !== 'function') return [this.#lost(state, call)];
    const parameters = (this.#file.names.parameters.get(callback) ?? []).filter(
      ({ parameter }) => parameter === 0,
    );
    return this.#followNames(callback, parameters, state);
  }

  #returned(node: SyntaxNode, state: ValueState): ValueUse[] {
    let at: SyntaxNode | null = node.parent;
    while (at !== null && at.kind !== 'function') at = at.parent;
    const call = at?.parent?.parent ?? null;
    const isCallback = at !== null && call?.kind === 'call' && argumentsOf(call)[0]?.value === at;
    const isThen = isCallback && calleeOf(call).name === 'then';
    return isThen ? this.#follow(call, state) : [this.#lost(state, node)];
  }

  #followDeclared(node: SyntaxNode, declared: readonly Declaration[], state: ValueState): ValueUse[] {
    const assignment = node.parent?.type === 'expression_list' ? node.parent.parent : node.parent;
    const isStatement =
      assignment !== null &&
      (!/^(assignment|assignment_expression|augmented|named)/.test(assignment.type) ||
        (assignment.parent !== null && this.#isDropped(assignment, assignment.parent)) ||
        this.#isLastOfTop(assignment));
    // The value of a parameter is only its default, and an element of a list is not the list.
    const isOther = declared.some(
      ({ parameter, key, node: target }) =>
        parameter !== null ||
        key === ELEMENT ||
        /^(pattern_list|left_assignment_list)$/.test(target.parent?.type ?? ''),
    );
    if (!isStatement || isOther) return [this.#lost(state, node)];
    return this.#followNames(node, declared, state);
  }

  /** Whether an assignment is the last statement of a Ruby file, whose value nothing uses. */
  #isLastOfTop({ parent }: SyntaxNode): boolean {
    return parent?.type === 'program' && this.#file.language.name === 'ruby';
  }

  #followNames(from: SyntaxNode, declared: readonly Declaration[], state: ValueState): ValueUse[] {
    const [first] = declared;
    if (first === undefined) return [];
    const pattern = patternOf(first.node);
    if (pattern === null) {
      return declared.length === 1 ? this.#followName(first, state) : [this.#lost(state, from)];
    }
    const isWhole = pattern.children.filter(({ kind }) => kind !== 'comment').length === declared.length;
    if (!isWhole || isTypedTarget(pattern)) return [this.#lost(state, from)];
    if (state === 'body') {
      const isEnvelope = declared.every(({ key }) => key !== null && MEMBERS.test(key));
      return isEnvelope ? [{ kind: 'pattern', pattern }] : [this.#lost(state, from)];
    }
    return declared.flatMap((one): ValueUse[] => {
      const next = STEPS[this.#file.language.name]?.[state]?.members?.[one.key ?? ''];
      // An empty name stands for a nested pattern.
      if (next === undefined || one.name === '') return [this.#lost(state, from)];
      return next === null ? [] : this.#followName(one, next);
    });
  }

  /** Every use of a name. */
  #followName(declared: Declaration, state: ValueState): ValueUse[] {
    const type = declaredType(declared.node);
    if (type !== '' && !PLAIN_TYPES.test(type))
      return [{ kind: 'lost', reason: 'response_typed', at: declared.node }];
    const used = this.#names.usesOf(declared);
    return used === null
      ? [this.#lost(state, declared.node)]
      : used.flatMap((one) => this.#follow(one, state));
  }
}
