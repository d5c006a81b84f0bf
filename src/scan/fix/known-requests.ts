import {
  argumentList,
  argumentsOf,
  calleeOf,
  childAt,
  entriesOf,
  plainText,
  textOf,
  unwrap,
} from '../access.js';
import { lookUp } from '../names.js';
import type { SourceFile } from '../source-file.js';
import type { SyntaxNode } from '../syntax.js';
import { UNBOUND, type ValueResolver } from '../value-resolver.js';
import type { UnfixedReason } from './fix-report.js';
import { CLIENT_FORMS, type ClientForm, REQUEST_FORMS, type RequestForm } from './known-clients.js';

/** A query parameter that is passed beside the address. */
export interface GivenParameter {
  readonly key: string;
  readonly pair: SyntaxNode;
  readonly value: SyntaxNode;
  readonly object: SyntaxNode;
}

/** Recognises the requests of a file that `known-clients.ts` describes. */
export class KnownRequests {
  readonly #file: SourceFile;
  readonly #values: ValueResolver;
  readonly #forms = new Map<SyntaxNode, RequestForm | null>();

  constructor(file: SourceFile, values: ValueResolver) {
    this.#file = file;
    this.#values = values;
  }

  formOf(call: SyntaxNode): RequestForm | null {
    const known = this.#forms.get(call);
    if (known !== undefined) return known;
    const form = this.#findForm(call);
    this.#forms.set(call, form);
    return form;
  }

  #findForm(call: SyntaxNode): RequestForm | null {
    const { language } = this.#file;
    const callee = calleeText(call);
    if (callee === null) return null;
    const form = REQUEST_FORMS.find((one) => one.languages.test(language.name) && one.callee.test(callee));
    if (form !== undefined) return this.#isFromPackage(call, callee, form) ? form : null;
    return this.#clientOf(call)?.sends ?? null;
  }

  /** Whether the first name of the callee comes from the form's packages or is global. */
  #isFromPackage(call: SyntaxNode, callee: string, { packages, isGlobal }: RequestForm): boolean {
    if (packages === null) return true;
    const { names, imports } = this.#file;
    const root = /^\w+/.exec(callee)?.[0] ?? '';
    const item = imports.find(({ local }) => local === root || local.split('.')[0] === root);
    const declared = lookUp(names, root, call);
    if (declared === null) return item === undefined ? isGlobal : packages.test(item.module);
    const required = declared.value === null ? '' : textOf(declared.value);
    const module = /^require\(\s*['"]([^'"]+)['"]\s*\)/.exec(required)?.[1];
    return module !== undefined && packages.test(module);
  }

  /** The form of the client whose method a call is. */
  #clientOf(call: SyntaxNode): ClientForm | null {
    const { receiver } = calleeOf(call);
    if (receiver?.kind !== 'name') return null;
    const made = this.#values.resolve({ file: this.#file, node: receiver, bound: UNBOUND });
    const form = made.file === this.#file ? this.#madeBy(made.node) : null;
    return form?.sends.callee.test(calleeText(call) ?? '') ? form : null;
  }

  #madeBy(node: SyntaxNode): ClientForm | null {
    const { language } = this.#file;
    const callee = calleeText(node);
    if (callee === null) return null;
    return CLIENT_FORMS.find((one) => one.languages.test(language.name) && one.callee.test(callee)) ?? null;
  }

  /** The call that creates a client with the base address in `pair`; null for other calls, and for options that may change requests. */
  clientWithBase(value: SyntaxNode, pair: SyntaxNode): SyntaxNode | null {
    const object = value.kind === 'shorthand' ? pair : pair.parent;
    const list = object?.kind === 'object' ? object.parent : object;
    const call = list?.parent ?? null;
    const form = call === null || list !== argumentList(call) ? null : this.#madeBy(call);
    if (call === null || object === null || object === undefined || form === null) return null;
    const given = object.kind === 'object' ? object.children : (list?.children ?? []);
    const keys = given.filter(({ kind }) => kind !== 'comment').map((one) => keyOf(one));
    const isKnown = keys.every((key) => key !== null && form.options.test(key));
    const isBase = form.base.test(keyOf(value.kind === 'shorthand' ? value : pair) ?? '');
    return isKnown && isBase ? call : null;
  }

  /** The parameters that are passed beside the address of a request, or why not all of them are known. */
  parametersOf(call: SyntaxNode, form: RequestForm): readonly GivenParameter[] | UnfixedReason {
    const list = argumentList(call);
    const given = argumentsOf(call).slice(1);
    if (call.children.some(({ kind }) => kind === 'function')) return 'response_used';
    const found: GivenParameter[] = [];
    for (const { name, value } of given) {
      if (name === '' && form.hasExtras && value.kind !== 'function') continue;
      if (name === '' && this.#isContext(value)) continue;
      const isObject = name === '' && form.hasOptions && value.kind === 'object';
      if (name === '' && !isObject) return 'parameters_unseen';
      const options = isObject ? value.children : (list?.children ?? []).slice(1);
      for (const option of options.filter(({ kind }) => kind !== 'comment')) {
        const key = keyOf(option);
        const isGet = key === 'method' && /^['"](GET|HEAD)['"]$/i.test(textOf(givenTo(option)));
        if (key === 'method' && !isGet) return 'method';
        if (key === null || !(form.options.test(key) || isGet)) return 'parameters_unseen';
        if (key !== 'params') continue;
        const entries = readParameters(givenTo(option));
        if (entries === null) return 'parameters_unseen';
        found.push(...entries);
      }
      if (!isObject) break;
    }
    return found;
  }

  /** `false, $context` of PHP, where the context does not change the method. */
  #isContext(value: SyntaxNode): boolean {
    const { language } = this.#file;
    if (language.name !== 'php') return false;
    const text = textOf(value);
    if (/^(false|null)$/i.test(text)) return true;
    const { node } = this.#values.resolve({ file: this.#file, node: value, bound: UNBOUND });
    const made = textOf(node);
    return (
      /^stream_context_create\(/.test(made) && !/\b(POST|PUT|PATCH|DELETE|method'?\s*=>\s*\$)/i.test(made)
    );
  }
}

/** The text of a call before its arguments; null if the node is not a call with arguments. */
export function calleeText(call: SyntaxNode): string | null {
  const list = argumentList(call);
  return call.kind !== 'call' || list === undefined ? null : call.source.slice(call.start, list.start).trim();
}

function readParameters(given: SyntaxNode): GivenParameter[] | null {
  const object = unwrap(given);
  if (object.kind !== 'object') return null;
  const pairs = object.children.filter(({ kind }) => kind !== 'comment');
  const entries = entriesOf(object);
  if (entries.length !== pairs.length) return null;
  return entries.flatMap(({ key, value }, at) => {
    const pair = pairs[at];
    return pair === undefined ? [] : [{ key, value, pair, object }];
  });
}

function keyOf(option: SyntaxNode): string | null {
  if (option.kind === 'shorthand') return textOf(option);
  const key = option.kind === 'pair' ? (childAt(option, 'key', 'name') ?? option.children[0]) : undefined;
  return key === undefined ? null : plainText(key);
}

function givenTo(option: SyntaxNode): SyntaxNode {
  return unwrap(childAt(option, 'value') ?? option.children.at(-1) ?? option);
}
