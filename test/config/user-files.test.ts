import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { digestInputFiles } from '../../src/config/config.js';
import {
  COMPANIES_HEADER,
  DECISIONS_HEADER,
  parseCompanies,
  parseDecisions,
  readCompaniesFile,
  readDecisionsFile,
} from '../../src/config/user-files.js';
import { sampleConfig } from './sample.js';

const REGIONS = ['eu', 'us'];
const PLACES = {
  models: [
    { v3: 'accounting/invoices', children: ['line_items'] },
    { v3: 'crm/companies', children: [] },
  ],
  regions: REGIONS,
};

const folder = mkdtempSync(join(tmpdir(), 'svc-answers-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The lines that have a problem. */
function badLines({ problems }: { readonly problems: readonly string[] }): number[] {
  return problems.map((problem) => Number(/^line (\d+): /.exec(problem)?.[1]));
}

describe('companies.csv', () => {
  const parse = (...lines: string[]) => parseCompanies([COMPANIES_HEADER, ...lines].join('\n'), REGIONS);

  it('is read with quotes, blank lines, CRLF and the byte order mark of UTF-8', () => {
    const text = `\uFEFF${COMPANIES_HEADER}\r\neu,1,10\r\n\r\n"us","1","9223372036854775807"\r\nus,2,\r\n`;
    expect(parseCompanies(text, REGIONS)).toEqual({
      rows: [
        { line: 2, region: 'eu', v3CompanyId: 1n, v4CompanyId: 10n },
        { line: 4, region: 'us', v3CompanyId: 1n, v4CompanyId: 9223372036854775807n },
        { line: 5, region: 'us', v3CompanyId: 2n, v4CompanyId: null },
      ],
      problems: [],
    });
  });

  it('has comments, also above the header, that count as lines', () => {
    const text = `# drafted on Monday, "so far\n${COMPANIES_HEADER}\n# eu,1,?\n  # indented\n"# a, b"\neu,1,10\n#eu,2,10\nus,2,10\n`;
    const { rows, problems } = parseCompanies(text, REGIONS);
    expect([rows.map(({ line }) => line), badLines({ problems })]).toEqual([[6], [8]]);
  });

  it.each([
    ['\n', '\r\n', '\r\n'],
    ['\r\n', '\n', '\n'],
    ['\r', '\r\n', '\n'],
  ])('may end its lines in several ways: %j, %j, %j', (first, second, third) => {
    const text = `# by hand${first}${COMPANIES_HEADER}${second}eu,1,10${third}us,2,`;
    const { rows, problems } = parseCompanies(text, REGIONS);
    expect([rows.map(({ line }) => line), problems]).toEqual([[3, 4], []]);
  });

  it('names every problem with its line', () => {
    const lines = [
      'eu,1,10',
      'us,2,10',
      'eu,1,11',
      'en,3,12',
      'eu,4',
      'eu,5,13,x',
      'eu,x,14',
      'eu,7,',
      'us,7,',
    ];
    expect(badLines(parse(...lines, `eu,6,${2n ** 63n}`, 'us,1,15'))).toEqual([3, 4, 5, 6, 7, 8, 11]);
  });

  it.each([
    ['another header', 'v3,v4\n1,2\n', 'the header must be'],
    ['no header', 'eu,1,2\n', 'the header must be'],
    ['nothing', '', 'the header must be'],
    ['the line that Excel adds', `sep=;\n${COMPANIES_HEADER}\n`, 'sep='],
    ['semicolons', `\uFEFF${COMPANIES_HEADER.replaceAll(',', ';')}\neu;1;2\n`, 'semicolons'],
    ['tabs', `${COMPANIES_HEADER.replaceAll(',', '\t')}\neu\t1\t2\n`, 'tabs'],
    ['UTF-16', Buffer.from(`\uFEFF${COMPANIES_HEADER}\n`, 'utf16le').toString('utf8'), 'UTF-16'],
  ])('with %s is refused and says so', (_, text, word) => {
    const { rows, problems } = parseCompanies(text, REGIONS);
    expect([rows, problems]).toEqual([[], [expect.stringContaining(word)]]);
  });
});

const GOOD = 'accounting/invoices,,eu,1,10,20,by hand';
const DECIDED = {
  line: 2,
  model: 'accounting/invoices',
  path: '',
  region: 'eu',
  v3CompanyId: 1n,
  v3SvcId: 10n,
  v4SvcId: 20n,
  note: 'by hand',
  until: null,
};

describe('decisions.csv', () => {
  const parse = (...lines: string[]) => parseDecisions([DECISIONS_HEADER, ...lines].join('\n'), PLACES);

  const TAKEN: readonly (readonly [name: string, line: string, expected: object])[] = [
    ['a V3 id and the V4 id it became', GOOD, {}],
    ['a V3 id that became nothing', 'accounting/invoices,,eu,1,10,,by hand', { v4SvcId: null }],
    ['a V4 id without a V3 record', 'accounting/invoices,,eu,1,,20,by hand', { v3SvcId: null }],
    ['a child', 'accounting/invoices,line_items,eu,1,10,20,by hand', { path: 'line_items' }],
    ['no note', 'accounting/invoices,,eu,1,10,20', { note: '' }],
    [
      'quotes in a note',
      'accounting/invoices,,eu,1,10,20,"yes, ""Bob"" said #so"',
      { note: 'yes, "Bob" said #so' },
    ],
    ['a quote in a note', 'accounting/invoices,,eu,1,10,20,27" screen', { note: '27" screen' }],
    ['a note like a formula', 'accounting/invoices,,eu,1,10,20,=1+1', { note: '=1+1' }],
    ['cells in quotes and space', ' "accounting/invoices" , , "eu" ,1, "10" ,20,by hand', {}],
    ['the day from which it no longer holds', `${GOOD},2027-01-31`, { until: '2027-01-31' }],
    ['empty cells that a spreadsheet added', `${GOOD},,,`, {}],
    [
      'the largest ids',
      `accounting/invoices,,eu,${2n ** 63n - 1n},${2n ** 63n - 1n},-${2n ** 63n},by hand`,
      { v3CompanyId: 2n ** 63n - 1n, v3SvcId: 2n ** 63n - 1n, v4SvcId: -(2n ** 63n) },
    ],
  ];
  it.each(TAKEN)('takes %s', (_, line, expected) => {
    expect(parse(line)).toEqual({ rows: [{ ...DECIDED, ...expected }], problems: [] });
  });

  const REFUSED: readonly (readonly [name: string, lines: readonly string[], bad: readonly number[]])[] = [
    ['an unknown model', ['accounting/invoice,,eu,1,10,20,'], [2]],
    ['an unknown field', ['accounting/invoices,line_item,eu,1,10,20,'], [2]],
    ['an unknown region', ['accounting/invoices,,en,1,10,20,'], [2]],
    ['no company', ['accounting/invoices,,eu,,10,20,'], [2]],
    ['too few values', ['accounting/invoices,,eu,1,10'], [2]],
    ['too many values', [`${GOOD},,and more`], [2]],
    ['a day that does not exist', [`${GOOD},2027-02-30`], [2]],
    ['a time', [`${GOOD},2027-01-31T00:00Z`], [2]],
    ['an open quote', ['accounting/invoices,,eu,1,10,20,"by hand'], [2]],
    ['a quote that takes lines in', ['accounting/invoices,,eu,1,10,20,"by', 'x', 'hand"'], [4]],
    ['an undecided line', ['accounting/invoices,,eu,1,10,?,'], [2]],
    ['neither id', ['accounting/invoices,,eu,1,,,'], [2]],
    ['an id that a spreadsheet rounded', ['accounting/invoices,,eu,1,1.23E+18,20,'], [2]],
    ['another spelling of an id', ['accounting/invoices,,eu,1,10,020,'], [2]],
    ['an id beyond 64 bits', [`accounting/invoices,,eu,1,10,${2n ** 63n},`], [2]],
    ['a pair with and without an end', [GOOD, `${GOOD},2027-01-31`], [3]],
    ['a V3 id with and without a V4 id', [GOOD, 'accounting/invoices,,eu,1,10,,'], [3]],
    ['a V3 id with two V4 ids', [GOOD, 'accounting/invoices,,eu,1,10,21,'], [3]],
    ['a V3 id in two companies', [GOOD, 'accounting/invoices,,eu,2,10,21,'], [3]],
    ['a V4 id with and without a V3 record', [GOOD, 'accounting/invoices,,eu,1,,20,'], [3]],
    ['a V4 id without and with a V3 record', ['accounting/invoices,,eu,1,,20,', GOOD], [3]],
    ['several at once', ['x,,eu,1,10,20,', GOOD, 'accounting/invoices,,eu,1,11,?,'], [2, 4]],
  ];
  it.each(REFUSED)('refuses %s', (_, lines, bad) => {
    expect(badLines(parse(...lines))).toEqual(bad);
  });

  it('takes several V3 ids of one V4 id, and the same ids in other places', () => {
    const { rows, problems } = parse(
      GOOD,
      'accounting/invoices,,eu,1,11,20,',
      'crm/companies,,eu,1,10,20,',
      'accounting/invoices,line_items,eu,1,10,20,',
      'accounting/invoices,,us,1,10,20,',
      'accounting/invoices,,eu,2,12,20,',
    );
    expect([rows.length, problems]).toEqual([6, []]);
  });

  it.each([
    ['a pair', GOOD, 'accounting/invoices,,eu,1,10,20,again'],
    ['a V3 id that became nothing', 'accounting/invoices,,eu,1,10,,a', 'accounting/invoices,,eu,1,10,,b'],
    ['a V4 id without a V3 record', 'accounting/invoices,,eu,1,,20,a', 'accounting/invoices,,eu,1,,20,b'],
  ])('takes %s once where it is on two lines', (_, line, again) => {
    const { rows, problems } = parse(line, again);
    expect([rows.map((row) => row.line), problems]).toEqual([[2], []]);
  });

  it('may lack the column until', () => {
    const header = DECISIONS_HEADER.replace(',until', '');
    expect(parseDecisions(`${header}\n${GOOD}`, PLACES)).toEqual({ rows: [DECIDED], problems: [] });
  });

  it('has comments, blank lines and what a spreadsheet makes of them', () => {
    const text = `\uFEFF# before, the header\r\n${DECISIONS_HEADER}\r\n#x,,eu,1,10,?,\r\n  # a\r\n"# b, c"\r\n,,,,,,\r\n\r\n${GOOD}\r\n`;
    expect(parseDecisions(text, PLACES)).toEqual({ rows: [{ ...DECIDED, line: 8 }], problems: [] });
  });

  it('keeps every note that is written in quotes', () => {
    const note = fc.string().map((text) => text.replace(/[\r\n]/g, ' '));
    fc.assert(
      fc.property(note, (text) => {
        const { rows } = parse(`accounting/invoices,,eu,1,10,20,"${text.replaceAll('"', '""')}"`);
        expect(rows[0]?.note).toBe(text);
      }),
      { numRuns: 300, seed: 20261120 },
    );
  });
});

describe('the files', () => {
  it('that are missing or hold problems are errors of exit code 6, with all problems', async () => {
    const file = join(folder, 'decisions.csv');
    const lines = Array.from({ length: 30 }, (_, index) => `accounting/invoices,,default,1,${index},?,`);
    writeFileSync(file, [DECISIONS_HEADER, ...lines].join('\n'));
    await expect(readDecisionsFile(sampleConfig({ decisions: file }))).rejects.toMatchObject({
      exitCode: 6,
      message: expect.stringMatching(/line 2:[\s\S]*line 31:/),
    });
    await expect(readDecisionsFile(sampleConfig({ decisions: '/nowhere' }))).rejects.toMatchObject({
      exitCode: 6,
    });
    const companies = { match: { file: '/nowhere' } };
    await expect(readCompaniesFile(sampleConfig({ companies }))).rejects.toMatchObject({ exitCode: 6 });
  });

  it('are empty where the configuration names none', async () => {
    expect(await readDecisionsFile(sampleConfig())).toEqual([]);
    expect(await readCompaniesFile(sampleConfig())).toEqual([]);
  });

  it('have digests that change with what they hold', () => {
    const file = join(folder, 'companies.csv');
    const config = sampleConfig({ companies: { match: { file } }, decisions: '/nowhere' });
    writeFileSync(file, 'a');
    const before = digestInputFiles(config);
    writeFileSync(file, 'b');
    const after = digestInputFiles(config);
    expect(before['companies.match.file']).not.toBe(after['companies.match.file']);
    expect([before['decisions'], Object.keys(digestInputFiles(sampleConfig()))]).toEqual(['', []]);
  });
});
