import { argumentsOf, calleeOf, childAt, type Member, memberOf, plainText } from './access.js';
import type { SyntaxNode } from './syntax.js';

/** The members of a V3 envelope. */
export const ENVELOPE_MEMBERS = /^(data|next|prev|total_?count)$/i;
/** Methods that read the member that their argument names. */
export const GETTER_METHODS =
  /^(get|path|at|opt\w*|fetch|dig|getJSONArray|getJSONObject|getString|getInt|getLong|getAsJsonArray|getAsJsonObject|getJsonArray|getJsonObject|GetProperty|TryGetProperty|getAsString|findValue|with\w*|Value|required|has|SelectToken|json|getList|containsKey)$/;

/** What a node reads if it reads `data`, `next`, `prev` or `total_count`, as a member, by index or by a getter. */
export function envelopeMember(node: SyntaxNode): Member | null {
  if (node.kind === 'member' || node.kind === 'index') {
    const member = memberOf(node);
    return member !== null && ENVELOPE_MEMBERS.test(member.name) && !isCalled(node) ? member : null;
  }
  if (node.kind !== 'call') return null;
  const { receiver, name } = calleeOf(node);
  const given = argumentsOf(node);
  const first = given[0]?.value;
  if (receiver === null) return null;
  const second = given[1]?.value;
  if (first !== undefined && second?.kind === 'string' && /^(GetBytes|Get|data_get|get)$/.test(name)) {
    const key = plainText(second);
    if (key !== null && ENVELOPE_MEMBERS.test(key)) return { object: first, name: key, nameNode: second };
  }
  if (first !== undefined && GETTER_METHODS.test(name)) {
    const key = first.kind === 'string' || first.kind === 'symbol' ? plainText(first) : null;
    return key !== null && ENVELOPE_MEMBERS.test(key)
      ? { object: receiver, name: key, nameNode: first }
      : null;
  }
  const accessor = name.replace(/^get(?=[A-Z])/, '');
  const property =
    childAt(node, 'name', 'method') ??
    childAt(childAt(node, 'function') ?? node, 'property', 'name', 'field', 'attribute');
  const isAccessor = given.length === 0 && ENVELOPE_MEMBERS.test(accessor) && property !== undefined;
  return isAccessor ? { object: receiver, name: accessor, nameNode: property } : null;
}

/** Whether a member is the function of a call, as in `it.next()`. */
function isCalled({ field, parent }: SyntaxNode): boolean {
  return field === 'function' && parent?.kind === 'call';
}

/** Whether a member is written rather than read. */
export function isAssigned(node: SyntaxNode): boolean {
  return node.field === 'left' && node.parent?.kind === 'assign';
}
