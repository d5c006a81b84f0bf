import { childAt } from '../access.js';
import type { SyntaxNode } from '../syntax.js';

/** Tests of the position of a node, which decides what happens to its value. */

/** Whether a text becomes a part of a longer one. The sides of `a || b` do not. */
export function isPartOfText(node: SyntaxNode, parent: SyntaxNode, source: string): boolean {
  if (parent.kind === 'string' || parent.kind === 'concat') return true;
  const [first, last] = [parent.children[0], parent.children.at(-1)];
  if (parent.kind !== 'binary' || first === undefined || last === undefined) return false;
  const operator = source.slice(first.end, last.start).trim();
  return operator === '+' || operator === '.' || (operator === '%' && node === first);
}

export function isReceiver(node: SyntaxNode, parent: SyntaxNode): boolean {
  if (parent.kind === 'member' || parent.kind === 'index') return parent.children[0] === node;
  return parent.kind === 'call' && (node.field === 'object' || node.field === 'receiver');
}

/** The call of a method of `node`; null where a member is only read. */
export function callOn(node: SyntaxNode, parent: SyntaxNode): SyntaxNode | null {
  if (parent.kind === 'call') return node.field === 'object' || node.field === 'receiver' ? parent : null;
  return parent.field === 'function' && parent.parent?.kind === 'call' ? parent.parent : null;
}

/** Whether a name stands inside a string without braces, which PHP allows. */
export function isInText(node: SyntaxNode): boolean {
  for (let at = node.parent; at !== null && at.kind !== 'function'; at = at.parent)
    if (at.type === 'encapsed_string' || at.type === 'heredoc_body') return true;
  return false;
}

export function patternOf(node: SyntaxNode): SyntaxNode | null {
  let found: SyntaxNode | null = null;
  for (let at: SyntaxNode | null = node; at !== null && /pattern|^identifier$/.test(at.type); at = at.parent)
    if (/^(object|array)_pattern$/.test(at.type)) found = at;
  return found ?? parentPattern(node);
}

/** The pattern of a renamed member, whose node is a copy with the pair as its parent. */
function parentPattern({ parent }: SyntaxNode): SyntaxNode | null {
  if (parent?.type === 'object_pattern') return parent;
  return parent?.type === 'pair_pattern' && parent.parent?.type === 'object_pattern' ? parent.parent : null;
}

export function isTypedTarget({ parent }: SyntaxNode): boolean {
  return parent !== null && childAt(parent, 'type') !== undefined;
}

/** The declared type of a variable as it is written; '' without one. */
export function declaredType(node: SyntaxNode, source: string): string {
  const { parent } = node;
  if (parent === null || parent.kind !== 'assign') return '';
  const type =
    childAt(parent, 'type') ?? (parent.parent === null ? undefined : childAt(parent.parent, 'type'));
  return type === undefined || type === node ? '' : source.slice(type.start, type.end);
}
