import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ColumnTally, openColumn } from '../../../src/apply/column-work.js';
import { Copier, passThrough } from '../../../src/apply/files/stream-file.js';
import { buildNdjsonScanner } from '../../../src/apply/text/record-scanner.js';
import { campaign } from '../../support/campaign.js';
import { makeFolder } from '../support/folder.js';
import { IN_PLACE, INVOICES, openIds, pairs, seeded } from '../support/remap.js';

const FILES = campaign({ small: 150, full: 2000, soak: 50_000 });
/** Not in the order of the members of a line. */
const PATHS = ['$.refs[*]', '$.lines[*].invoice_id', '$.invoice_id', "$['odd key'].id", '$.*.deep_id'];

const BIG = 9_007_199_254_740_993n;
const twinOf = (id: bigint): bigint => (id === BIG ? BIG + 2n : (id % 300n) + 1n);

const folder = makeFolder();
const remap = openIds([
  ...pairs(Array.from({ length: 300 }, (_, at) => [BigInt(at + 1), twinOf(BigInt(at + 1))] as const)),
  ...pairs([[BIG, twinOf(BIG)]]),
]);
const OPENED = openColumn(remap, { column: '$', model: INVOICES }, IN_PLACE);

async function rewrite(input: Buffer, bom: number, chunkBytes: number): Promise<Buffer> {
  const file = join(folder, 'random.ndjson');
  writeFileSync(file, input);
  const works = PATHS.map((column) => ({
    ...OPENED,
    tally: new ColumnTally(OPENED.resolver),
    column: { column, model: INVOICES },
    missing: 'keep' as const,
  }));
  const parts: Buffer[] = [];
  const scanner = buildNdjsonScanner(works, bom);
  await passThrough({
    file,
    chunkBytes,
    copier: new Copier((bytes) => parts.push(Buffer.from(bytes))),
    buildScanner: () => scanner,
    signal: new AbortController().signal,
    onBytes: () => {},
  });
  // Blank lines are none.
  expect(scanner.found().defects).toEqual([]);
  return Buffer.concat(parts);
}

/** Text with what must become of it, written side by side. */
type Pair = readonly [before: string, after: string];

class Writer {
  ids = 0;
  readonly #random: (max: number) => number;

  constructor(random: (max: number) => number) {
    this.#random = random;
  }

  pick<T>(items: readonly [T, ...T[]]): T {
    return items[this.#random(items.length)] ?? items[0];
  }

  /** A line: an object with ids in the places that the paths name and in others that look like them. */
  line(): Pair {
    const members = [
      this.#member('invoice_id', this.id()),
      this.#member(
        'lines',
        this.#list(() => this.#object([this.#member('invoice_id', this.id())])),
      ),
      this.#member(
        'refs',
        this.#list(() => this.id()),
      ),
      this.#member(
        'odd key',
        this.#object([this.#member('id', this.id()), this.#member('ref', this.other())]),
      ),
      this.#member(
        'other',
        this.#object([this.#member('deep_id', this.id()), this.#member('id', this.other())]),
      ),
      this.#member('invoice_ids', this.other()),
      this.#member('Invoice_id', this.other()),
      this.#member('nested', this.#object([this.#member('invoice_id', this.other())])),
      this.#member('text', ['"\\"invoice_id\\":1,\\u00e9 {[\\\\"', '"\\"invoice_id\\":1,\\u00e9 {[\\\\"']),
    ];
    return this.#object(members.filter(() => this.#random(4) > 0));
  }

  /** An id where a path points: as number, as text, without twin, or odd. */
  id(): Pair {
    const digits = String(1 + this.#random(300));
    switch (this.#random(8)) {
      case 0:
        return this.#mapped(`"${digits}"`, `"${twinOf(BigInt(digits))}"`);
      case 1:
        return this.#mapped(String(BIG), String(twinOf(BIG)));
      case 2:
        return same(
          this.pick(['null', '""', '9999', '1.0', '1e2', '"007"', '" 7"', 'true', '{"a":1}', '[1]', '"x"']),
        );
      default:
        return this.#mapped(digits, String(twinOf(BigInt(digits))));
    }
  }

  #mapped(before: string, after: string): Pair {
    this.ids += 1;
    return [before, after];
  }

  /** What looks like an id, where no path points. */
  other(): Pair {
    return same(
      this.pick([
        String(1 + this.#random(300)),
        String(BIG),
        '"7"',
        '{"id":7}',
        '[7, 8]',
        '1.50',
        '-0',
        'null',
      ]),
    );
  }

  #member(name: string, [before, after]: Pair): Pair {
    const key = this.#random(6) === 0 ? escaped(name) : JSON.stringify(name);
    const [a, b] = [this.#space(), this.#space()];
    return [`${key}${a}:${b}${before}`, `${key}${a}:${b}${after}`];
  }

  #object(members: readonly Pair[]): Pair {
    return this.#join(members, '{', '}');
  }

  #list(item: () => Pair): Pair {
    return this.#join(Array.from({ length: this.#random(4) }, item), '[', ']');
  }

  #join(items: readonly Pair[], open: string, close: string): Pair {
    const spaces = Array.from({ length: items.length + 1 }, () => this.#space());
    const write = (side: 0 | 1) =>
      items.map((item, at) => `${at === 0 ? '' : ','}${spaces[at]}${item[side]}`).join('') + spaces.at(-1);
    return [open + write(0) + close, open + write(1) + close];
  }

  #space(): string {
    return this.#random(4) === 0 ? this.pick([' ', '\t', '  ', ' \t ', '\r']) : '';
  }
}

function same(text: string): Pair {
  return [text, text];
}

/** A member name of which every character is written as an escape. */
function escaped(name: string): string {
  const units = [...name].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `"${units.join('')}"`;
}

it(`changes nothing in NDJSON but the mapped ids, in ${FILES} random files`, async () => {
  let ids = 0;
  let changed = 0;
  for (let seed = 1; seed <= FILES; seed += 1) {
    const random = seeded(seed);
    const writer = new Writer(random);
    const eol = writer.pick(['\n', '\r\n']);
    const lines = Array.from(
      { length: random(12) },
      (): Pair => (random(9) === 0 ? same(' ') : writer.line()),
    );
    const bom = random(4) === 0 ? '\ufeff' : '';
    const end = random(3) === 0 ? '' : eol;
    const write = (side: 0 | 1) => Buffer.from(bom + lines.map((line) => line[side]).join(eol) + end);
    const [input, expected] = [write(0), write(1)];
    // the first chunk holds the whole byte order mark, as a file's first MiB does
    const output = await rewrite(input, bom === '' ? 0 : 3, 3 + (seed % 101));
    if (!output.equals(expected))
      expect({ seed, text: output.toString() }).toEqual({ seed, text: expected.toString() });
    assertValues(input, output, seed);
    ids += writer.ids;
    changed += input.equals(output) ? 0 : 1;
  }
  process.stderr.write(`NDJSON fidelity: ${FILES} files, ${ids} ids mapped, ${changed} files changed\n`);
  expect(changed).toBeGreaterThan(FILES / 2);
});

/** What JSON.parse reads in the new file is the old one with the ids at the named places mapped. */
function assertValues(input: Buffer, output: Buffer, seed: number): void {
  const parse = (bytes: Buffer) =>
    bytes
      .toString()
      .replace(/^\ufeff/, '')
      .split('\n')
      .filter((line) => line.trim() !== '')
      // What JSON.parse would take for another number is compared as text; no string here holds such.
      .map((line): unknown =>
        JSON.parse(line.replace(/\d{16,}/g, '"$&"').replace(/1\.0|1e2/g, '"as is: $&"')),
      );
  const [found, expected] = [parse(output), parse(input).map((one) => mapped(one, []))];
  if (JSON.stringify(found) !== JSON.stringify(expected))
    expect({ seed, found }).toEqual({ seed, found: expected });
}

function mapped(value: unknown, path: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => mapped(item, [...path, '*']));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, mapped(item, [...path, key])]),
    );
  }
  return isNamed(path) ? mappedId(value) : value;
}

function isNamed(path: readonly string[]): boolean {
  return ['invoice_id', 'lines.*.invoice_id', 'refs.*', 'odd key.id', 'other.deep_id'].includes(
    path.join('.'),
  );
}

function mappedId(value: unknown): unknown {
  const text = String(value);
  if (!/^[1-9]\d*$/.test(text) || (BigInt(text) > 300n && BigInt(text) !== BIG)) return value;
  const twin = twinOf(BigInt(text));
  return typeof value === 'string' ? String(twin) : Number(twin);
}
