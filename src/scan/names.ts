import { append } from '../text/group-by.js';
import {
  ancestor,
  argumentsOf,
  calleeOf,
  childAt,
  memberOf,
  nameOf,
  plainText,
  textOf,
  unwrap,
} from './access.js';
import { elementsOf, isPattern, namesInPattern } from './destructuring.js';
import type { SyntaxNode } from './syntax.js';

/** A name and what is assigned to it. */
export interface Declaration {
  readonly name: string;
  /** Where the name is written. */
  readonly node: SyntaxNode;
  /** null: unknown, as for a parameter. */
  readonly value: SyntaxNode | null;
  /** The member of `value` that the name stands for, as in `const { data } = …`. */
  readonly key: string | null;
  /** Position among the parameters of `scope`; null for other names. */
  readonly parameter: number | null;
  readonly scope: SyntaxNode;
  /** Name of the declared type, without arguments; '' without one. */
  readonly type: string;
}

/** The `key` of a name that stands for any element of a list. */
export const ELEMENT = '';

/** The names of a file by scope, and its fields and methods by name. */
export interface Names {
  readonly byScope: ReadonlyMap<SyntaxNode, ReadonlyMap<string, readonly Declaration[]>>;
  readonly fields: ReadonlyMap<string, readonly Declaration[]>;
  /** Parameters by function. */
  readonly parameters: ReadonlyMap<SyntaxNode, readonly Declaration[]>;
  /** What is appended to a name, as by `text += chunk`. */
  readonly appended: ReadonlyMap<string, readonly SyntaxNode[]>;
}

const SELF = /^(this|self|cls|@?self\.class|static|parent)$/;

/** Whether a receiver is the object itself, as `this` or `self`. */
export function isSelf(node: SyntaxNode): boolean {
  return SELF.test(textOf(node).replace(/^\$/, ''));
}

/** Whether the form of a name makes it a field, as `@name` in Ruby. */
export function isField({ type }: SyntaxNode): boolean {
  return /^(instance|class)_variable$/.test(type);
}

/** Calls that decode into their last argument. In Go, any call that is passed a pointer may. */
const DECODERS = /^(Decode|Unmarshal|UnmarshalJSON|DecodeJSON|NewDecoder|readEntity|Bind|SetResult)$/;

const LOOP_TYPES =
  /^(for_in_statement|for_statement|enhanced_for_statement|foreach_statement|range_clause|for)$/;

/** Patterns in the clauses of `match` and `case … in`. */
const MATCH_PATTERNS = /^(dict_pattern|hash_pattern)$/;

/** Collects the names that a file declares; `nodes`: all of the file, in order. */
export function readNames(nodes: readonly SyntaxNode[]): Names {
  const table = new NameTable();
  for (const node of nodes) {
    if (node.kind === 'assign' || node.type === 'property_declaration') table.assign(node);
    else if (node.kind === 'function') table.declareFunction(node);
    else if (node.kind === 'class') table.declareClass(node);
    else if (node.kind === 'call') table.readCall(node);
    else if (LOOP_TYPES.test(node.type)) table.declareLoop(node);
    else if (MATCH_PATTERNS.test(node.type)) table.declareMatch(node);
  }
  return table;
}

class NameTable implements Names {
  readonly byScope = new Map<SyntaxNode, Map<string, Declaration[]>>();
  readonly fields = new Map<string, Declaration[]>();
  readonly parameters = new Map<SyntaxNode, Declaration[]>();
  readonly appended = new Map<string, SyntaxNode[]>();

  assign(node: SyntaxNode): void {
    const { left, right } = sidesOf(node);
    if (left.length === 0) return;
    const targets = left.flatMap((one) => (isList(one) ? one.children : [one]));
    const given = right.flatMap((one) => (isList(one) ? one.children : [one]));
    if (this.#isAppending(node)) {
      const [target, value] = [targets[0], given[0]];
      if (target?.kind === 'name' && value !== undefined) append(this.appended, nameOf(target), value);
      return;
    }
    const [only] = given;
    const isDestructured = targets.length > 1 && given.length === 1 && only !== undefined;
    const elements = isDestructured ? elementsOf(only) : [];
    const values = elements.length === targets.length ? elements : given;
    for (const [at, target] of targets.entries()) {
      // Where a call returns several values, as in Go, the first one is the result.
      const value = values.length === targets.length ? values[at] : at === 0 ? values[0] : undefined;
      this.#declareTarget(target, value ?? null, null, typeOf(node));
    }
  }

  #isAppending(node: SyntaxNode): boolean {
    if (!/^(augmented|operator)/.test(node.type) && node.type !== 'assignment_expression') return false;
    const [first, last] = [node.children[0], node.children.at(-1)];
    const operator = node.source.slice(first?.end, last?.start).trim();
    return /^[-+.*%|&]=$/.test(operator);
  }

  #declareTarget(target: SyntaxNode, value: SyntaxNode | null, key: string | null, type = ''): void {
    if (isPattern(target)) {
      this.#declarePattern(target, value);
      return;
    }
    const name = nameOf(target);
    const member = target.kind === 'member' || target.kind === 'call' ? memberOf(target) : null;
    if (member !== null) {
      this.#addField({ ...this.#declaration(member.name, target, value, key), type });
    } else if (target.kind === 'name') {
      const declaration = { ...this.#declaration(name, target, value, key), type };
      if (!isField(target)) this.#add(declaration);
      if (declaration.scope.kind === 'class' || isField(target)) this.#addField(declaration);
    }
  }

  #declarePattern(pattern: SyntaxNode, value: SyntaxNode | null): void {
    for (const one of namesInPattern(pattern, value))
      this.#add(this.#declaration(one.name, one.node, one.value, one.key));
  }

  /** Patterns of `match` and `case … in`. */
  declareMatch(pattern: SyntaxNode): void {
    const match = ancestor(pattern, ({ type }) => /^(match_statement|case_match)$/.test(type));
    const subject = match === null ? undefined : childAt(match, 'subject', 'value');
    if (subject !== undefined) this.#declarePattern(pattern, unwrap(subject));
  }

  declareFunction(node: SyntaxNode): void {
    const name = childAt(node, 'name');
    if (name !== undefined) {
      const declaration = this.#declaration(nameOf(name), node, node, null);
      this.#add(declaration);
      const isMethod = declaration.scope.kind === 'class' || childAt(node, 'receiver') !== undefined;
      if (isMethod) this.#addField(declaration);
    }
    const receiver = childAt(node, 'receiver');
    if (receiver !== undefined) this.#declareParameters(node, receiver, -1);
    const list =
      childAt(node, 'parameters', 'parameter') ?? childAt(childAt(node, 'body') ?? node, 'parameters');
    if (list === undefined) return;
    this.#declareParameters(node, list, 0);
  }

  #declareParameters(scope: SyntaxNode, list: SyntaxNode, first: number): void {
    const given = list.kind === 'name' ? [list] : list.children.filter(({ kind }) => kind !== 'comment');
    const own = given.filter((one, at) => at > 0 || !isSelf(one));
    let position = first;
    for (const one of own) {
      const several = one.children.filter(({ field }) => field === 'name');
      for (const name of several.length > 1 ? several : [nameInside(one)]) {
        if (name !== undefined) this.#declareParameter(scope, one, name, position);
        position += 1;
      }
    }
  }

  #declareParameter(scope: SyntaxNode, one: SyntaxNode, name: SyntaxNode, position: number): void {
    if (isPattern(name)) {
      for (const part of namesInPattern(name, null)) {
        const base = this.#declaration(part.name, part.node, null, part.key);
        this.#add({ ...base, parameter: position, scope });
      }
      return;
    }
    const value = childAt(one, 'value', 'default_value') ?? null;
    const text = nameOf(name);
    const declared = { ...this.#declaration(text, name, value, null), parameter: position, scope };
    const declaration = { ...declared, type: typeOf(one) };
    this.#add(declaration);
    if (one.children.some(({ type }) => /accessibility_modifier|visibility_modifier/.test(type))) {
      this.#addField(declaration);
    }
  }

  declareClass(node: SyntaxNode): void {
    const name = childAt(node, 'name');
    if (name !== undefined) this.#add(this.#declaration(nameOf(name), node, node, null));
  }

  /** `define("X", …)`, and results that a call writes into its last argument. */
  readCall(node: SyntaxNode): void {
    const { name } = calleeOf(node);
    const given = argumentsOf(node);
    const [first, last] = [given[0]?.value, given.at(-1)?.value];
    if (name === 'define' && first !== undefined && last !== undefined) {
      const constant = plainText(first);
      if (constant !== null) this.#add(this.#declaration(constant, first, last, null));
    } else if (name === 'curl_setopt' && first !== undefined && /CURLOPT_URL/.test(textOf(node))) {
      this.#declareTarget(first, last ?? null, null);
    } else if (last !== undefined && (DECODERS.test(name) || node.source[last.start - 1] === '&')) {
      const target = unwrap(last);
      if (target.kind === 'name') this.#declareTarget(target, node, null);
    }
  }

  /** Declares a loop variable as an element of what is looped over. */
  declareLoop(node: SyntaxNode): void {
    const left =
      childAt(node, 'left', 'name') ?? (node.type === 'foreach_statement' ? node.children[1] : undefined);
    const values =
      childAt(node, 'right', 'value') ?? (node.type === 'foreach_statement' ? node.children[0] : undefined);
    const target = left !== undefined && isList(left) ? left.children.at(-1) : left;
    if (target?.kind === 'name') this.#declareTarget(target, values ?? null, ELEMENT);
  }

  #declaration(name: string, node: SyntaxNode, value: SyntaxNode | null, key: string | null): Declaration {
    return { name, node, value, key, parameter: null, scope: scopeOf(node), type: '' };
  }

  #add(declaration: Declaration): void {
    const names = this.byScope.get(declaration.scope) ?? new Map<string, Declaration[]>();
    this.byScope.set(declaration.scope, names);
    append(names, declaration.name, declaration);
    if (declaration.parameter === null || declaration.parameter < 0) return;
    append(this.parameters, declaration.scope, declaration);
  }

  #addField(declaration: Declaration): void {
    append(this.fields, declaration.name, declaration);
  }
}

function sidesOf(node: SyntaxNode): { left: readonly SyntaxNode[]; right: readonly SyntaxNode[] } {
  const named = node.children.filter(({ field }) => field === 'name');
  const alias = childAt(node, 'alias');
  if (alias !== undefined) return { left: alias.children, right: node.children.slice(0, 1) };
  const left = childAt(node, 'left', 'pattern', 'property');
  const targets = left === undefined ? named : [left];
  const [first, last] = [node.children[0], node.children.at(-1)];
  const value =
    childAt(node, 'right', 'value', 'default_value') ?? (targets.includes(last ?? node) ? undefined : last);
  const isType =
    value?.field === 'type' ||
    (value !== undefined && value.kind === 'other' && /type|accessor/.test(value.type));
  const isBare = targets.length === 0 && first !== undefined && first !== last;
  return {
    left: isBare ? [first] : targets,
    right: value === undefined || isType ? [] : [value],
  };
}

function isList({ type, kind }: SyntaxNode): boolean {
  return (
    /^(expression_list|pattern_list|left_assignment_list|right_assignment_list)$/.test(type) &&
    kind !== 'name'
  );
}

function nameInside(parameter: SyntaxNode): SyntaxNode | undefined {
  if (parameter.kind === 'name') return parameter;
  return childAt(parameter, 'pattern', 'name') ?? parameter.children.find(({ kind }) => kind === 'name');
}

/** The declared type of a name, in the declaration or in the statement around it. */
function typeOf(node: SyntaxNode): string {
  const type = childAt(node, 'type') ?? (node.parent === null ? undefined : childAt(node.parent, 'type'));
  if (type === undefined) return '';
  const text = textOf(type).slice(0, 200);
  return /[A-Za-z_]\w*(?=[^.\w]*$|\s*<)/.exec(text.replace(/<[\s\S]*$/, ''))?.[0] ?? '';
}

function scopeOf(node: SyntaxNode): SyntaxNode {
  let at = node;
  while (at.parent !== null) {
    at = at.parent;
    if (at.kind === 'function' || at.kind === 'class') return at;
  }
  return at;
}

/** The declaration that a name at `from` refers to. */
export function lookUp(names: Names, name: string, from: SyntaxNode): Declaration | null {
  for (let at: SyntaxNode | null = from; at !== null; at = at.parent) {
    const found = names.byScope.get(at)?.get(name);
    if (found === undefined) continue;
    const before = found.findLast(({ node, value }) => node.end <= from.start && value !== null);
    return before ?? found.find(({ value }) => value !== null) ?? found[0] ?? null;
  }
  return null;
}
