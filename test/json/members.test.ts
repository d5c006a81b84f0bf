import { describe, expect, it } from 'vitest';
import { JsonScanner } from '../../src/json/json-scanner.js';
import { KeyTable, Members } from '../../src/json/members.js';

/** Where `name` was found in each of the objects of a list, as the value says. */
function valuesOf(name: string, objects: readonly string[]): (string | null)[] {
  const bytes = Buffer.from(`[${objects.join(',')}]`);
  const scanner = new JsonScanner(bytes);
  const members = new Members(new KeyTable([name]), scanner);
  const found: (string | null)[] = [];
  for (let i = scanner.enter(0); scanner.more; i = scanner.nextItem(i)) {
    i = members.read(i, 1, null);
    found.push(members.isAbsent(0) ? null : bytes.toString('latin1', members.start(0), members.end(0)));
  }
  return found;
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

describe('a key like the one before it', () => {
  it.each(Array.from({ length: 24 }, (_, length) => length))('of %d letters is the same or not', (length) => {
    const name = LETTERS.slice(0, length);
    const others = Array.from({ length }, (_, at) => `${name.slice(0, at)}X${name.slice(at + 1)}`);
    for (const other of [...others, `${name}X`, `X${name}`]) {
      const objects = [
        `{"${name}":1}`,
        `{"${other}":2}`,
        `{"${name}" : 3}`,
        `{"${name}":4}`,
        `{"${name}":\n\t6}`,
        `{"${other}":5}`,
      ];
      expect(valuesOf(name, objects)).toEqual(['1', null, '3', '4', '6', null]);
      expect(valuesOf(name, [...objects].reverse())).toEqual([null, '6', '4', '3', null, '1']);
    }
  });
});
