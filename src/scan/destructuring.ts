import { argumentsOf, calleeOf, childAt, nameOf, plainText, unwrap } from './access.js';
import type { SyntaxNode } from './syntax.js';

/** A name in a pattern, and the member of `value` that it takes. */
export interface PatternName {
  /** '' where the pattern binds no name to the member. */
  readonly name: string;
  /** Where it is written, from its key on. */
  readonly node: SyntaxNode;
  readonly value: SyntaxNode | null;
  readonly key: string | null;
}

/** Whether a node is a destructuring pattern, as in `const { data } = …`. */
export function isPattern({ type, children }: SyntaxNode): boolean {
  return children.length > 0 && (/pattern/.test(type) || type === 'list_literal');
}

/** The names of a pattern; `value`: what it destructures, null if the source does not show it. */
export function namesInPattern(pattern: SyntaxNode, value: SyntaxNode | null): readonly PatternName[] {
  const { type, children } = pattern;
  if (/^(dict_pattern|list_literal)$/.test(type) && children[0]?.kind === 'string') {
    return children.flatMap((key, at) => {
      const target = children[at + 1];
      return at % 2 === 0 && target !== undefined ? namesAt(key, target, value) : [];
    });
  }
  const elements = value === null ? [] : elementsOf(value);
  return children.flatMap((child, at): readonly PatternName[] => {
    if (/^(shorthand_property_identifier_pattern|object_assignment_pattern)$/.test(child.type)) {
      const node = child.children[0] ?? child;
      const name = nameOf(node);
      return [{ name, node, value, key: name }];
    }
    if (child.type === 'pair_pattern' || child.type === 'keyword_pattern') {
      const key = childAt(child, 'key');
      return key === undefined ? [] : namesAt(key, childAt(child, 'value') ?? key, value);
    }
    if (child.kind !== 'name') return [];
    return [{ name: nameOf(child), node: child, value: elements[at] ?? null, key: null }];
  });
}

function namesAt(key: SyntaxNode, given: SyntaxNode, value: SyntaxNode | null): readonly PatternName[] {
  const target = given.type === 'assignment_pattern' ? (childAt(given, 'left') ?? given) : given;
  const inner = target.type === 'case_pattern' ? innermost(target) : target;
  if (inner.type === 'object_pattern' && value !== null) {
    return namesInPattern(inner, memberNode(value, key));
  }
  const name = inner.kind === 'name' || inner.kind === 'symbol' ? nameOf(inner) : '';
  return [{ name, node: { ...inner, start: key.start }, value, key: plainText(key) }];
}

function innermost(node: SyntaxNode): SyntaxNode {
  const [first, ...more] = node.children;
  return first === undefined || more.length > 0 ? node : innermost(first);
}

/** A synthetic node for `value.key`, which a nested pattern destructures. */
function memberNode(value: SyntaxNode, key: SyntaxNode): SyntaxNode {
  return {
    ...value,
    kind: 'member',
    type: 'member_expression',
    children: [
      { ...value, field: 'object' },
      { ...key, field: 'property' },
    ],
  };
}

/** The elements of a list, also of the one in `Promise.all([…])` or `asyncio.gather(…)`. */
export function elementsOf(given: SyntaxNode): readonly SyntaxNode[] {
  const node = unwrap(given);
  if (node.kind === 'call') {
    if (!/^(all|allSettled|gather)$/.test(calleeOf(node).name)) return [];
    const values = argumentsOf(node).map(({ value }) => value);
    const [first] = values;
    return values.length === 1 && first?.kind === 'object' ? elementsOf(first) : values;
  }
  if (node.kind !== 'object') return [];
  const list = node.children.find(({ field, kind }) => field === 'body' && kind === 'object');
  if (list !== undefined) return elementsOf(list);
  return node.children.flatMap((child) => {
    const inner = child.type === 'array_element_initializer' ? (child.children[0] ?? child) : child;
    return inner.kind === 'comment' || (child.kind === 'pair' && child.children.length > 1)
      ? []
      : [unwrap(inner)];
  });
}
