import { UNKNOWN } from './parse-url.js';
import type { SourceFile } from './source-file.js';
import type { Expression } from './value-resolver.js';

/** A part of a text: literal, with its position in the source, or unknown. */
export type Piece =
  | {
      readonly kind: 'literal';
      readonly text: string;
      readonly file: Pick<SourceFile, 'path' | 'source'>;
      readonly start: number;
      readonly end: number;
    }
  /** `expression`: null in text that is not parsed. */
  | { readonly kind: 'unknown'; readonly expression: Expression | null };

/** The text of an expression, as far as the source shows it. */
export type TextValue = readonly Piece[];

/** The literal piece at a range of positions. */
export function literal(file: SourceFile, start: number, end: number): Piece {
  return { kind: 'literal', text: file.source.slice(start, end), file, start, end };
}

/** Two parts of a path with a slash between them. */
export function joined(before: TextValue, after: TextValue): TextValue {
  const [last, first] = [before.at(-1), after[0]];
  if (first?.kind === 'literal' && /^(\w+:)?\/\//.test(first.text)) return after;
  const hasSlash =
    (last?.kind === 'literal' && last.text.endsWith('/')) ||
    (first?.kind === 'literal' && /^[/?]/.test(first.text));
  if (hasSlash || last === undefined) return [...before, ...after];
  const at = last.kind === 'literal' ? last : null;
  const file = at?.file ?? (last.kind === 'unknown' ? (last.expression?.file ?? null) : null);
  if (file === null) return [...before, ...after];
  const position = at?.end ?? 0;
  return [...before, { kind: 'literal', text: '/', file, start: position, end: position }, ...after];
}

/** Whether any piece is literal. */
export function hasText(text: TextValue | null): boolean {
  return text?.some(({ kind }) => kind === 'literal') ?? false;
}

/** A literal cut at every match; the matches are strings. */
export function split(piece: Extract<Piece, { kind: 'literal' }>, pattern: RegExp): (Piece | string)[] {
  const parts: (Piece | string)[] = [];
  let from = 0;
  for (const { 0: found, index } of piece.text.matchAll(pattern)) {
    if (index > from) parts.push(cut(piece, from, index));
    parts.push(found);
    from = index + found.length;
  }
  if (from < piece.text.length) parts.push(cut(piece, from, piece.text.length));
  return parts;
}

function cut(piece: Extract<Piece, { kind: 'literal' }>, from: number, to: number): Piece {
  return { ...piece, text: piece.text.slice(from, to), start: piece.start + from, end: piece.start + to };
}

/** The text with `UNKNOWN` for every piece that is unknown. */
export function flatten(text: TextValue): string {
  return text.map((piece) => (piece.kind === 'literal' ? piece.text : UNKNOWN)).join('');
}

/** The piece at a position of the flattened text, and the position within it. */
export function pieceAt(text: TextValue, position: number): { piece: Piece; offset: number } | null {
  let from = 0;
  for (const piece of text) {
    const length = piece.kind === 'literal' ? piece.text.length : 1;
    if (position < from + length) return { piece, offset: position - from };
    from += length;
  }
  return null;
}
