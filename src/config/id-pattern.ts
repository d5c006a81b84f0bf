/** A reference to a V3 model, or to the children in one of its fields. */
export const MODEL_REF = /^[A-Za-z0-9_-]+\/[A-Za-z0-9_-]+(?:#[A-Za-z_][A-Za-z0-9_]*)?$/;

/** A part of a pattern: fixed text, an id, or `any` text. */
export type PatternPart =
  | { readonly kind: 'text'; readonly text: string }
  /** `model`: the model reference in the braces; null for `{id}`, the model of the column. */
  | { readonly kind: 'id'; readonly model: string | null }
  | { readonly kind: 'any' };

const TOKEN = /\{\{|\}\}|\{[^{}]*\}|[{}*…]|[^{}*…]+/g;

/**
 * Parses a pattern such as `invoice:{id}` or `*\/{crm/companies}/{id}?*`. `{{`, `}}` and `{*}` stand for `{`, `}` and `*`.
 * Returns the problem, as a clause, if it is not valid.
 */
export function parseIdPattern(text: string): readonly PatternPart[] | string {
  const parts: PatternPart[] = [];
  for (const token of text.match(TOKEN) ?? []) {
    const part = parseToken(token);
    if (typeof part === 'string') return part;
    const last = parts.at(-1);
    if (part.kind === 'text' && last?.kind === 'text') {
      parts[parts.length - 1] = { kind: 'text', text: last.text + part.text };
    } else if (part.kind !== 'any' || last?.kind !== 'any') {
      parts.push(part);
    }
  }
  return findProblem(parts) ?? parts;
}

function parseToken(token: string): PatternPart | string {
  if (token === '*' || token === '…') return { kind: 'any' };
  if (token === '{{' || token === '}}') return { kind: 'text', text: token.slice(1) };
  if (token === '{' || token === '}')
    return `has a single "${token}": write "${token}${token}" for the character`;
  if (!token.startsWith('{')) return { kind: 'text', text: token };
  const name = token.slice(1, -1);
  if (name === '*' || name === '…') return { kind: 'text', text: name };
  if (name === 'id') return { kind: 'id', model: null };
  if (MODEL_REF.test(name)) return { kind: 'id', model: name };
  return `has ${token}: write {id}, or a V3 model such as {accounting/invoices}`;
}

function findProblem(parts: readonly PatternPart[]): string | null {
  if (!parts.some(({ kind }) => kind === 'id')) return 'names no id: write {id} where it stands';
  for (const [at, part] of parts.entries()) {
    const next = parts[at + 1];
    if (part.kind !== 'id' && next?.kind !== 'id') continue;
    if (part.kind === 'id' && next?.kind === 'id') return 'has two ids with nothing between them';
    const isDigit =
      (part.kind === 'text' && /\d$/.test(part.text)) || (next?.kind === 'text' && /^\d/.test(next.text));
    if (isDigit) return 'has a digit beside an id: where the id begins or ends would be a guess';
  }
  return null;
}
