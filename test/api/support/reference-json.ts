import {
  assertUtf8,
  JsonScanner,
  JsonSyntaxError,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../../../src/json/json-scanner.js';

export type Reading = { readonly accepted: true; readonly value: unknown } | { readonly accepted: false };

/** What `JSON.parse` makes of bytes that must be UTF-8. */
export function readByJsonParse(bytes: Uint8Array): Reading {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return { accepted: true, value: JSON.parse(text) };
  } catch {
    return { accepted: false };
  }
}

/** The same through the scanner: values rebuilt from the places it tells. */
export function readByScanner(bytes: Uint8Array): Reading {
  try {
    assertUtf8(bytes);
    const scanner = new JsonScanner(bytes);
    const start = scanner.skipSpace(0);
    const end = scanner.skipValue(start);
    scanner.expectEnd(end);
    const walked = rebuild(scanner, start);
    return walked.end === end ? { accepted: true, value: walked.value } : { accepted: false };
  } catch (error) {
    // whatever else is thrown shows that the scanner let something pass
    if (error instanceof JsonSyntaxError) return { accepted: false };
    throw error;
  }
}

interface Walked {
  readonly value: unknown;
  readonly end: number;
}

function rebuild(scanner: JsonScanner, at: number): Walked {
  const first = scanner.bytes[at];
  if (first === OPEN_ARRAY) return rebuildArray(scanner, at);
  if (first === OPEN_OBJECT) return rebuildObject(scanner, at);
  const end = scanner.skipValue(at);
  if (first === QUOTE) return { value: scanner.text(at + 1, end - 1, scanner.escaped), end };
  return { value: JSON.parse(scanner.ascii(at, end)), end };
}

function rebuildArray(scanner: JsonScanner, at: number): Walked {
  const items: unknown[] = [];
  let i = scanner.enter(at);
  while (scanner.more) {
    const item = rebuild(scanner, i);
    items.push(item.value);
    i = scanner.nextItem(item.end);
  }
  return { value: items, end: i };
}

function rebuildObject(scanner: JsonScanner, at: number): Walked {
  const entries: [string, unknown][] = [];
  let i = scanner.enter(at);
  while (scanner.more) {
    const keyEnd = scanner.skipString(i + 1);
    const key = scanner.text(i + 1, keyEnd - 1, scanner.escaped);
    const member = rebuild(scanner, scanner.skipColon(keyEnd));
    entries.push([key, member.value]);
    i = scanner.nextMember(member.end);
  }
  // like JSON.parse: the last of a repeated key, and `__proto__` a key like any other
  return { value: Object.fromEntries(entries), end: i };
}
