import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { ColumnTally, type ColumnWork, openColumn } from '../../../src/apply/column-work.js';
import { Copier, passThrough } from '../../../src/apply/files/stream-file.js';
import { type DialectRequest, detectDialect } from '../../../src/apply/text/csv-dialect.js';
import { buildCsvScanner } from '../../../src/apply/text/record-scanner.js';
import type { IdColumn } from '../../../src/config/apply-targets.js';
import { campaign } from '../../support/campaign.js';
import { makeFolder } from '../support/folder.js';
import { IN_PLACE, INVOICES, openIds, pairs, seeded } from '../support/remap.js';

const folder = makeFolder();
/** Two id spaces that overlap: 1…400 → a rotation of themselves; 401…420 have no twin. */
const twinOf = (id: number): number =>
  id > 400 ? -1 : ((id * 7) % 401) + (id % 5 === 0 ? 1_000_000_000_000 : 0);
const remap = openIds([
  ...pairs(Array.from({ length: 400 }, (_, at) => [at + 1, twinOf(at + 1)] as const)),
  ...Array.from({ length: 20 }, (_, at) => ({ v3: 401 + at })),
]);

/** Looks up invoices; its ids are loaded once for all files. */
const OPENED = openColumn(remap, { column: 'id', model: INVOICES }, IN_PLACE);

interface Rewritten {
  readonly bytes: Buffer;
  readonly works: readonly ColumnWork[];
}

async function rewrite(
  file: string,
  ids: readonly IdColumn[],
  request: Partial<DialectRequest> = {},
  chunkBytes = 1024 * 1024,
  missing: 'keep' | 'null' = 'keep',
): Promise<Rewritten> {
  const works = ids.map((column) => ({
    ...OPENED,
    tally: new ColumnTally(OPENED.resolver),
    column,
    missing,
  }));
  const parts: Buffer[] = [];
  const copier = new Copier((bytes) => parts.push(Buffer.from(bytes)));
  const { scanner } = await passThrough({
    file,
    chunkBytes,
    copier,
    buildScanner: (head) => {
      const columns = ids.map(({ column }) => column);
      return buildCsvScanner(
        detectDialect(head, { file, delimiter: 'auto', header: true, columns, ...request }),
        works,
      );
    },
    signal: new AbortController().signal,
    onBytes: () => {},
  });
  expect(scanner.found().defects.map(({ code }) => code)).not.toContain('unfinished_quote');
  return { bytes: Buffer.concat(parts), works };
}

async function rewriteText(text: string | Buffer, column: string, request: Partial<DialectRequest> = {}) {
  const file = join(folder, 'one.csv');
  writeFileSync(file, text);
  const { bytes, works } = await rewrite(file, [{ column, model: INVOICES }], request);
  return { text: bytes.toString('latin1'), counts: works[0]?.tally.result().counts ?? never() };
}

function never(): never {
  throw new Error('no column');
}

const FILES = campaign({ small: 150, full: 2000, soak: 50_000 });
const ID_FORMS = [
  '42',
  '7',
  '1',
  '400',
  '401',
  '99999',
  '42.0',
  ' 42',
  '0x2a',
  '',
  '007',
  '"',
  '9007199254740993',
];
const OTHER_CELLS = [
  '',
  'x',
  'Ünïcode',
  'a,b;c\td|e',
  'say ""hi""',
  'two\nlines',
  'cr\r\nlf',
  '42',
  '1',
  '=1+1',
];

interface Sample {
  readonly delimiter: ',' | ';' | '\t' | '|';
  readonly eol: string;
  readonly encoding: 'utf8' | 'latin1';
  readonly input: Buffer;
  readonly expected: Buffer;
  readonly ids: readonly IdColumn[];
  readonly header: boolean;
}

/** A random file, and what must become of it: written cell by cell, quotes and all, by its own rules. */
function makeSample(seed: number): Sample {
  const random = seeded(seed);
  const pick = <T>(items: readonly T[]): T => items[random(items.length)] ?? never();
  const delimiter = pick([',', ';', '\t', '|'] as const);
  const eol = pick(['\n', '\r\n', '\n', '\r\n', '\r']);
  const header = random(4) > 0;
  const width = 2 + random(5);
  const idPlaces = new Set([random(width), random(width)]);
  const encoding = pick(['utf8', 'latin1'] as const);
  const nasty = (text: string) => /[\r\n"]/.test(text) || text.includes(delimiter);
  const cell = (text: string, quoted: boolean) => (quoted ? `"${text}"` : text);
  const rows: string[] = [];
  const expected: string[] = [];
  const names = Array.from({ length: width }, (_, at) => (idPlaces.has(at) ? `id_${at}` : `name ${at}`));
  if (header) {
    const line = names.map((name) => cell(name, random(3) === 0)).join(delimiter);
    rows.push(line);
    expected.push(line);
  }
  for (let row = random(30) + (header ? 0 : 1); row > 0; row -= 1) {
    const before: string[] = [];
    const after: string[] = [];
    // The first row tells how many cells there are; others may have fewer or more.
    const cells = rows.length > 0 && random(8) === 0 ? 1 + random(width + 2) : width;
    for (let at = 0; at < cells; at += 1) {
      const isId = idPlaces.has(at);
      const text = isId ? (random(3) === 0 ? pick(ID_FORMS) : String(1 + random(420))) : pick(OTHER_CELLS);
      const escaped = text === '"' ? '""' : text;
      const quoted = nasty(escaped) || random(4) === 0 || (cells === 1 && text === '');
      before.push(cell(escaped, quoted));
      after.push(cell(isId && isMapped(text) ? String(twinOf(Number(text))) : escaped, quoted));
    }
    rows.push(before.join(delimiter));
    expected.push(after.join(delimiter));
  }
  const bom = encoding === 'utf8' && random(3) === 0 ? Buffer.from([0xef, 0xbb, 0xbf]) : Buffer.alloc(0);
  const end = random(3) > 0 ? eol : '';
  const blank = random(5) === 0 && end !== '' ? eol : '';
  const bytes = (lines: readonly string[]) =>
    Buffer.concat([bom, Buffer.from(lines.join(eol) + end + blank, encoding)]);
  const ids = [...idPlaces].map((at) => ({ column: header ? `id_${at}` : `#${at + 1}`, model: INVOICES }));
  return { delimiter, eol, encoding, input: bytes(rows), expected: bytes(expected), ids, header };
}

describe('CSV fidelity', () => {
  it(`changes nothing but the mapped cells, in ${FILES} random files of every dialect`, async () => {
    let cells = 0;
    let different = 0;
    const file = join(folder, 'random.csv');
    for (let seed = 1; seed <= FILES; seed += 1) {
      const sample = makeSample(seed);
      writeFileSync(file, sample.input);
      // Without a header a single odd first row can fit several separators; then the user names one.
      const request = sample.header ? {} : { header: false, delimiter: sample.delimiter };
      const chunkBytes = 16 + (seed % 97);
      const head = sample.header ? sample.input.indexOf('\n') : 0;
      const { bytes, works } = await rewrite(file, sample.ids, request, Math.max(chunkBytes, 2 * head + 64));
      if (!bytes.equals(sample.expected)) {
        expect({ seed, text: bytes.toString('latin1') }).toEqual({
          seed,
          text: sample.expected.toString('latin1'),
        });
      }
      assertCells(sample, bytes);
      cells += works.reduce(
        (sum, work) => sum + work.tally.result().counts.reduce((sum, { rows }) => sum + rows, 0),
        0,
      );
      different += sample.input.equals(sample.expected) ? 0 : 1;
    }
    process.stderr.write(`CSV fidelity: ${FILES} files, ${cells} id cells, ${different} files changed\n`);
    expect(different).toBeGreaterThan(0.6 * FILES);
  });
});

/** What csv-parse reads in the new file is what it reads in the old one, but for the ids that have a twin. */
function assertCells(sample: Sample, output: Buffer): void {
  const options = {
    delimiter: sample.delimiter,
    record_delimiter: sample.eol,
    encoding: sample.encoding,
    bom: true,
    relax_column_count: true,
    skip_empty_lines: true,
  };
  const before: string[][] = parse(sample.input, options);
  const after: string[][] = parse(output, options);
  const names = sample.header ? (before[0] ?? []) : [];
  const isId = (at: number) =>
    sample.ids.some(({ column }) => column === (sample.header ? names[at] : `#${at + 1}`));
  const expected = before.map((row, line) => {
    if (line === 0 && sample.header) return row;
    return row.map((text, at) => (isId(at) && isMapped(text) ? String(twinOf(Number(text))) : text));
  });
  if (JSON.stringify(after) !== JSON.stringify(expected)) expect(after).toEqual(expected);
}

const isMapped = (text: string) => /^[1-9]\d{0,2}$/.test(text) && Number(text) <= 400;

describe('CSV dialects', () => {
  it('reads names with quotes, separators and accents in Latin-1', async () => {
    const input = Buffer.from('"my ""id"", here";r\xe9f\n2;3\n', 'latin1');
    expect((await rewriteText(input, 'my "id", here')).text).toContain(`\n${twinOf(2)};3\n`);
    expect((await rewriteText(input, 'réf')).text).toContain(`\n2;${twinOf(3)}\n`);
  });

  it.each(['', '\n', ';;\n1;2;3\n'])('says of a file that names no column (%j) only that', async (text) => {
    const refused = rewriteText(text, 'id');
    await expect(refused).rejects.toMatchObject({ code: 'bad_input' });
    await expect(refused).rejects.toThrow('has no columns: its header row is empty');
  });

  it('does not take a CR inside an LF file for a record end', async () => {
    const { text } = await rewriteText('id,n\n2,a\rb\n3,c\n', 'id');
    expect(text).toBe(`id,n\n${twinOf(2)},a\rb\n${twinOf(3)},c\n`);
  });

  it('counts odd forms and leaves them alone', async () => {
    const odd = 'id,n\n42.0,a\n0042,b\n0x2A,c\n 42,d\n42\r,d\n,e\n401,f\n';
    const { text, counts } = await rewriteText(`${odd}2,g\n`, 'id');
    expect(text).toBe(`${odd}${twinOf(2)},g\n`);
    expect(counts.map(({ name, rows }) => [name, rows])).toEqual([
      ['empty', 1],
      ['mapped', 1],
      ['unknown/decimal', 1],
      ['unknown/hex', 1],
      ['unknown/leading_zeros', 1],
      ['unknown/spaces_around', 2],
      ['unmatched/unexplained', 1],
    ]);
  });

  it('empties ids without a twin when told to, and nothing else', async () => {
    const file = join(folder, 'null.csv');
    writeFileSync(file, 'id,n\n401,a\n"402",b\n99999,c\n4.0,d\n');
    const { bytes } = await rewrite(file, [{ column: 'id', model: INVOICES }], {}, 1024, 'null');
    expect(bytes.toString()).toBe('id,n\n,a\n"",b\n99999,c\n4.0,d\n');
  });

  it.each([
    ['UTF-16', Buffer.from('\ufeffid,n\n1,2\n', 'utf16le'), 'id'],
    ['not a text file', Buffer.from('id,n\0\n'), 'id'],
    ['no column', Buffer.from('invoice_id,n\n1,2\n'), 'invoiceid'],
    ['two columns named', Buffer.from('id,id\n1,2\n'), 'id'],
    ['no column', Buffer.from('1,2\n'), '#3'],
  ])('refuses a file: %s', async (why, input, column) => {
    const refused = rewriteText(input, column, { header: !column.startsWith('#') });
    await expect(refused).rejects.toMatchObject({
      code: 'bad_input',
      message: expect.stringContaining(why),
    });
  });

  it('suggests the column that was meant', async () => {
    await expect(rewriteText('invoice_id,n\n1,2\n', 'invoiceid')).rejects.toThrow(
      /did you mean "invoice_id"/,
    );
  });

  it('gives up on a quote that is never closed instead of reading on for ever', async () => {
    const file = join(folder, 'open.csv');
    writeFileSync(file, `id,n\n1,"${'x'.repeat(70 * 1024 * 1024)}`);
    const outcome = rewrite(file, [{ column: 'id', model: INVOICES }]).then(
      () => 'read on',
      (error: unknown) => String(error),
    );
    expect(await outcome).toMatch(/64 MiB/);
  });

  it('stays within constant memory', async () => {
    mkdirSync(folder, { recursive: true });
    const file = join(folder, 'large.csv');
    writeFileSync(file, `id,n\n${'2,some text that makes the line longer\n'.repeat(400_000)}`);
    const before = process.memoryUsage().rss;
    const works = [openColumn(remap, { column: 'id', model: INVOICES }, IN_PLACE)];
    let bytes = 0;
    await passThrough({
      file,
      copier: new Copier((part) => {
        bytes += part.length;
      }),
      buildScanner: (head) =>
        buildCsvScanner(
          detectDialect(head, { file, delimiter: 'auto', header: true, columns: ['id'] }),
          works,
        ),
      signal: new AbortController().signal,
      onBytes: () => {},
    });
    expect(bytes).toBeGreaterThan(readFileSync(file).length);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
  });
});
