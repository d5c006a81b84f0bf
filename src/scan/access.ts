import type { SyntaxNode } from './syntax.js';

/** Reads the syntax nodes of all languages alike: their grammars name the same fields differently. */

/** An argument of a call; `name` is '' for positional ones. */
export interface Argument {
  readonly name: string;
  readonly value: SyntaxNode;
}

/** A key with its value, in an object, dictionary, hash or map. */
export interface Entry {
  readonly key: string;
  readonly keyNode: SyntaxNode;
  readonly value: SyntaxNode;
}

const RECEIVER = ['object', 'receiver', 'operand', 'expression', 'scope', 'condition', 'array', 'value'];
const PROPERTY = ['property', 'attribute', 'field', 'name', 'method'];
const INNER = ['value', 'expression', 'operand', 'argument'];

/** The child in the first of these fields that has one. */
export function childAt(node: SyntaxNode, ...fields: readonly string[]): SyntaxNode | undefined {
  for (const field of fields) {
    const child = node.children.find((one) => one.field === field);
    if (child !== undefined) return child;
  }
  return undefined;
}

/** The expression inside parentheses, casts, `await` and the like. */
export function unwrap(node: SyntaxNode): SyntaxNode {
  if (node.kind !== 'wrap') return node;
  const inner = node.type === 'cast_expression' ? childAt(node, 'value') : childAt(node, ...INNER);
  const child = inner ?? (node.type === 'argument' ? node.children.at(-1) : firstChild(node));
  return child === undefined ? node : unwrap(child);
}

function firstChild(node: SyntaxNode): SyntaxNode | undefined {
  return node.children.find(({ kind }) => kind !== 'comment');
}

/** The text of a node as it is written. */
export function textOf({ source, start, end }: SyntaxNode): string {
  return source.slice(start, end);
}

/** Text of a name, without the sigils of PHP and Ruby. */
export function nameOf(node: SyntaxNode): string {
  return textOf(node).replace(/^[$@:#]+|[?!:]$/g, '');
}

/** Text of a string without interpolation, of a symbol, a name or a number; null for anything else. */
export function plainText(given: SyntaxNode): string | null {
  const node = unwrap(given);
  if (node.kind === 'symbol' || node.kind === 'name') return nameOf(node);
  if (node.kind === 'number') return textOf(node);
  if (node.kind !== 'string') return null;
  if (!node.children.every(({ kind }) => kind === 'content')) return null;
  const [first, last] = contentRange(node);
  return node.source.slice(first, last);
}

/** Where the text of a string without interpolation begins and ends. */
function contentRange(node: SyntaxNode): readonly [number, number] {
  const content = node.children.filter(({ kind }) => kind === 'content');
  const [first, last] = [content[0], content.at(-1)];
  if (first !== undefined && last !== undefined) return [first.start, last.end];
  const raw = textOf(node);
  const quote = /^[@$bBrRuUfF]*("""|'''|["'`])/.exec(raw);
  if (quote === null || !raw.endsWith(quote[1] ?? '')) return [node.start, node.end];
  return [
    node.start + quote[0].length,
    Math.max(node.start + quote[0].length, node.end - (quote[1] ?? '').length),
  ];
}

/** What a call calls. */
export interface Callee {
  readonly receiver: SyntaxNode | null;
  /** Name of the function, method or class. */
  readonly name: string;
  readonly isNew: boolean;
}

/** The function, method or class that a call names; `name` is '' if it names none. */
export function calleeOf(call: SyntaxNode): Callee {
  const isNew = /new_expression|object_creation/.test(call.type);
  const target = childAt(call, 'function', 'constructor', 'type') ?? (isNew ? call.children[0] : undefined);
  if (target !== undefined) {
    const named = unwrap(target);
    const member = named.kind === 'member' ? memberOf(named) : null;
    if (member !== null)
      return { receiver: member.object, name: member.name.replace(/<[\s\S]*$/, ''), isNew };
    const text = textOf(named).replace(/<[\s\S]*$/, '');
    return { receiver: null, name: text.replace(/^.*[.\\:]/s, ''), isNew };
  }
  const name = childAt(call, 'name', 'method');
  const receiver = childAt(call, 'object', 'receiver', 'scope') ?? null;
  return { receiver, name: name === undefined ? '' : nameOf(name), isNew };
}

/** Arguments of a call, positional and named. */
export function argumentsOf(call: SyntaxNode): Argument[] {
  const list = childAt(call, 'arguments', 'argument_list') ?? argumentList(call);
  const given = (list?.children ?? []).filter(({ kind }) => kind !== 'comment');
  return given.map((node) => {
    if (node.kind === 'pair') {
      const entry = entryOf(node);
      if (entry !== null) return { name: entry.key, value: entry.value };
    }
    const name = childAt(node, 'name');
    const isNamed = node.type === 'argument' && name !== undefined && node.children.length > 1;
    return { name: isNamed ? nameOf(name) : '', value: unwrap(node) };
  });
}

function argumentList(call: SyntaxNode): SyntaxNode | undefined {
  return call.children.find(({ type }) => type === 'arguments' || type === 'argument_list');
}

/** A member that is read: `name` of `object`. */
export interface Member {
  readonly object: SyntaxNode;
  readonly name: string;
  /** Where the name is written. */
  readonly nameNode: SyntaxNode;
}

/** The member that `node` reads, as `a.b`, `a["b"]`, `a->b` or Ruby's `a.b`; null if it reads none. */
export function memberOf(given: SyntaxNode): Member | null {
  const node = unwrap(given);
  if (node.kind === 'index') return indexed(node);
  if (node.kind === 'call') return callWithoutArguments(node);
  if (node.kind !== 'member') return null;
  const binding = node.children.find(({ type }) => type === 'member_binding_expression');
  const object = childAt(node, ...RECEIVER) ?? node.children[0];
  const property = binding?.children[0] ?? childAt(node, ...PROPERTY) ?? node.children.at(-1);
  if (object === undefined || property === undefined || object === property) return null;
  return { object, name: nameOf(property), nameNode: property };
}

function indexed(node: SyntaxNode): Member | null {
  const object = childAt(node, ...RECEIVER) ?? node.children[0];
  let key = childAt(node, 'index', 'subscript') ?? node.children.at(-1);
  if (key?.type === 'bracketed_argument_list') key = key.children[0];
  if (object === undefined || key === undefined || key === object) return null;
  const inner = unwrap(key);
  const name = inner.kind === 'string' || inner.kind === 'symbol' ? plainText(inner) : '';
  return { object, name: name ?? '', nameNode: inner };
}

function callWithoutArguments(node: SyntaxNode): Member | null {
  const { receiver, name } = calleeOf(node);
  const property = childAt(node, 'method', 'name');
  if (receiver === null || property === undefined || argumentsOf(node).length > 0) return null;
  return { object: receiver, name, nameNode: property };
}

/** Entries of an object literal, also those of `new URLSearchParams({…})`, `dict(…)` and `Map.of(…)`. */
export function entriesOf(given: SyntaxNode): Entry[] {
  const node = unwrap(given);
  if (node.kind === 'call') return entriesOfCall(node);
  if (node.kind !== 'object') return [];
  return node.children.flatMap((child) => {
    if (/^(literal_value|initializer_expression)$/.test(child.type) && child.field !== '') {
      return entriesOf(child);
    }
    const entry = entryOf(child);
    return entry === null ? [] : [entry];
  });
}

function entriesOfCall(call: SyntaxNode): Entry[] {
  const initializer = call.children.find(({ field, kind }) => field === 'initializer' && kind === 'object');
  if (initializer !== undefined) return entriesOf(initializer);
  const { receiver, name } = calleeOf(call);
  const list = argumentList(call);
  if (receiver !== null && /^(of|asMap)$/.test(name)) {
    const values = argumentsOf(call).map(({ value }) => value);
    return values.flatMap((keyNode, at) => {
      const [key, value] = [plainText(keyNode), values[at + 1]];
      return at % 2 === 0 && key !== null && value !== undefined ? [{ key, keyNode, value }] : [];
    });
  }
  return (list?.children ?? []).flatMap((child) => {
    const entry = child.kind === 'pair' ? entryOf(child) : null;
    return entry === null ? entriesOf(child) : [entry];
  });
}

/** The key and value of a pair; null if the key is computed. */
function entryOf(node: SyntaxNode): Entry | null {
  if (node.kind === 'shorthand') {
    return { key: nameOf(node), keyNode: node, value: node };
  }
  const isElement = node.kind === 'object' && node.children.length === 2;
  if (node.kind !== 'pair' && node.kind !== 'assign' && !isElement) return null;
  let keyNode = childAt(node, 'key', 'name', 'left') ?? node.children[0];
  const value = childAt(node, 'value', 'right') ?? node.children.at(-1);
  while (keyNode !== undefined && /element_binding|argument|literal_element/.test(keyNode.type)) {
    keyNode = keyNode.children[0];
  }
  if (keyNode === undefined || value === undefined || keyNode === value) return null;
  const key = plainText(keyNode);
  return key === null ? null : { key, keyNode, value: unwrap(value) };
}

/** Every node below `node` and itself, in the order of the source. */
export function walk(node: SyntaxNode): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  const visit = (one: SyntaxNode): void => {
    found.push(one);
    for (const child of one.children) visit(child);
  };
  visit(node);
  return found;
}

/** The nearest node around `node` for which `test` holds. */
export function ancestor(node: SyntaxNode, test: (one: SyntaxNode) => boolean): SyntaxNode | null {
  for (let at = node.parent; at !== null; at = at.parent) if (test(at)) return at;
  return null;
}

/** The call that a node is passed to as an argument or a block. */
export function callReceiving(node: SyntaxNode): SyntaxNode | null {
  let at = node.parent;
  while (at !== null && /^(argument|arguments|argument_list)$/.test(at.type)) at = at.parent;
  return at?.kind === 'call' ? at : null;
}

/** Whether a node is inside an annotation or attribute. */
export function isInAnnotation(node: SyntaxNode): boolean {
  return ancestor(node, ({ kind, type }) => kind === 'annotation' || type === 'attribute') !== null;
}

/** The argument of `base_uri "…"` in the body of a class, as in HTTParty. */
export function baseUriOf(owner: SyntaxNode | null): SyntaxNode | null {
  for (const node of owner === null ? [] : walk(owner)) {
    if (node.kind !== 'call' || !/^base_ur[il]\b/.test(textOf(node))) continue;
    const first = argumentsOf(node)[0]?.value;
    if (first !== undefined) return unwrap(first);
  }
  return null;
}
