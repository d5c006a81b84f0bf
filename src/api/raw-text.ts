/*
 * The text of the parts of a JSON document, which JSON.parse does not keep. All functions expect text that JSON.parse
 * accepted, and a position where a value begins or space before it.
 */

const SPACE = /[\t\n\r ]*/y;
const SCALAR = /[^\t\n\r ,\]}]+/y;
const UNTIL_BRACKET = /[^"[\]{}]*/y;

/** The texts of the items of the array at `start`. */
export function* itemTexts(text: string, start: number): Generator<string> {
  let at = skip(SPACE, text, start);
  if (text[at] !== '[') return;
  at = skip(SPACE, text, at + 1);
  while (text[at] !== ']') {
    const end = endOfValue(text, at);
    yield text.slice(at, end);
    at = skip(SPACE, text, end);
    if (text[at] === ',') at = skip(SPACE, text, at + 1);
  }
}

/** Where the value of a member of the object at `start` begins; of several with the name, the last. Null if it has none. */
function memberStart(text: string, start: number, name: string): number | null {
  let at = skip(SPACE, text, start);
  if (text[at] !== '{') return null;
  let last: number | null = null;
  at = skip(SPACE, text, at + 1);
  while (text[at] !== '}') {
    const keyEnd = endOfString(text, at);
    const key: unknown = JSON.parse(text.slice(at, keyEnd));
    const value = skip(SPACE, text, skip(SPACE, text, keyEnd) + 1);
    if (key === name) last = value;
    at = skip(SPACE, text, endOfValue(text, value));
    if (text[at] === ',') at = skip(SPACE, text, at + 1);
  }
  return last;
}

/** Where the value at this path of members begins; null if there is none. */
export function valueStart(text: string, path: readonly string[], start = 0): number | null {
  let at: number | null = start;
  for (const name of path) at = at === null ? null : memberStart(text, at, name);
  return at;
}

/** The text of a member of the object that the text begins with; null if it has none. */
export function valueText(text: string, name: string): string | null {
  const start = memberStart(text, 0, name);
  return start === null ? null : text.slice(start, endOfValue(text, start));
}

function endOfValue(text: string, at: number): number {
  const first = text[at];
  if (first === '"') return endOfString(text, at);
  if (first !== '{' && first !== '[') return skip(SCALAR, text, at);
  let depth = 0;
  let end = at;
  do {
    end = skip(UNTIL_BRACKET, text, end);
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

function isEscaped(text: string, at: number): boolean {
  let start = at;
  while (text[start - 1] === '\\') start -= 1;
  return (at - start) % 2 === 1;
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  const match = pattern.exec(text);
  if (match === null) throw new Error(`The JSON text is not valid at ${at}.`);
  return at + match[0].length;
}
