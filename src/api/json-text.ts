import { at } from '../text/at.js';

/*
 * The text of the parts of a JSON document, which JSON.parse does not keep. All functions expect text that JSON.parse
 * accepted.
 */

const SPACE = /[\t\n\r ]*/y;
const SEPARATOR = /[\t\n\r ,:]*/y;
const SCALAR = /[^\t\n\r ,\]}]+/y;
const UNTIL_BRACKET = /[^"[\]{}]*/y;

/** The texts of the items of an array; empty for any other text. */
export function itemTexts(text: string): string[] {
  return startsWith(text, '[') ? [...partsOf(text)] : [];
}

/** The text of the value at this path of members, the last of several with the same name; null if there is none. */
export function memberText(text: string, path: readonly string[]): string | null {
  let part = text;
  for (const name of path) {
    const parts = startsWith(part, '{') ? [...partsOf(part)] : [];
    const index = parts.findLastIndex((each, turn) => turn % 2 === 0 && JSON.parse(each) === name);
    if (index < 0) return null;
    part = at(parts, index + 1);
  }
  return part;
}

function startsWith(text: string, bracket: '[' | '{'): boolean {
  return text[endOf(SPACE, text, 0)] === bracket;
}

/** The texts of the items of an array, or of the names and values of an object in turn. */
function* partsOf(text: string): Generator<string> {
  let start = endOf(SEPARATOR, text, endOf(SPACE, text, 0) + 1);
  while (text[start] !== ']' && text[start] !== '}') {
    const end = endOfValue(text, start);
    yield text.slice(start, end);
    start = endOf(SEPARATOR, text, end);
  }
}

function endOfValue(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return endOfString(text, start);
  if (first !== '{' && first !== '[') return endOf(SCALAR, text, start);
  let depth = 0;
  let end = start;
  do {
    end = endOf(UNTIL_BRACKET, text, end);
    const mark = text[end];
    if (mark === '"') {
      end = endOfString(text, end);
      continue;
    }
    depth += mark === '{' || mark === '[' ? 1 : -1;
    end += 1;
  } while (depth > 0);
  return end;
}

function endOfString(text: string, start: number): number {
  let end = start;
  do end = text.indexOf('"', end + 1);
  while (isEscaped(text, end));
  return end + 1;
}

function isEscaped(text: string, index: number): boolean {
  let start = index;
  while (text[start - 1] === '\\') start -= 1;
  return (index - start) % 2 === 1;
}

function endOf(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  const match = pattern.exec(text);
  if (match === null) throw new Error(`The JSON text is not valid at ${start}.`);
  return start + match[0].length;
}
