import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { DECISIONS_HEADER, parseDecisions, readDecisionsFile } from '../../src/config/user-files.js';
import { sampleConfig } from './sample.js';

const PLACES = {
  models: [
    { v3: 'accounting/invoices', children: ['line_items'] },
    { v3: 'crm/companies', children: [] },
  ],
  regions: ['eu', 'us'],
};

const folder = mkdtempSync(join(tmpdir(), 'svc-migrate-decisions-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const parse = (...lines: string[]) => parseDecisions([DECISIONS_HEADER, ...lines].join('\n'), PLACES);
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

/** What a line says. */
const TAKEN: readonly (readonly [name: string, line: string, expected: object])[] = [
  ['a V3 id and the V4 id it became', GOOD, {}],
  ['a V3 id that became nothing', 'accounting/invoices,,eu,1,10,,by hand', { v4SvcId: null }],
  ['a V4 id without a V3 record', 'accounting/invoices,,eu,1,,20,by hand', { v3SvcId: null }],
  ['a child', 'accounting/invoices,line_items,eu,1,10,20,by hand', { path: 'line_items' }],
  ['no note', 'accounting/invoices,,eu,1,10,20,', { note: '' }],
  ['the note left out', 'accounting/invoices,,eu,1,10,20', { note: '' }],
  [
    'a note in quotes',
    'accounting/invoices,,eu,1,10,20,"yes, ""Bob"" said #so"',
    { note: 'yes, "Bob" said #so' },
  ],
  ['a note with a quote in it', 'accounting/invoices,,eu,1,10,20,27" screen', { note: '27" screen' }],
  ['a note that begins like a formula', 'accounting/invoices,,eu,1,10,20,=1+1', { note: '=1+1' }],
  ['cells in quotes and space', ' "accounting/invoices" , , "eu" ,1, "10" ,20,by hand', {}],
  ['the day from which it no longer holds', `${GOOD},2027-01-31`, { until: '2027-01-31' }],
  ['empty cells that a spreadsheet added', `${GOOD},,,`, {}],
  [
    'the largest ids',
    `accounting/invoices,,eu,${2n ** 63n - 1n},${2n ** 63n - 1n},-${2n ** 63n},by hand`,
    {
      v3CompanyId: 2n ** 63n - 1n,
      v3SvcId: 2n ** 63n - 1n,
      v4SvcId: -(2n ** 63n),
    },
  ],
];

/** What is wrong with a line. */
const REFUSED: readonly (readonly [name: string, lines: readonly string[], problems: readonly string[]])[] = [
  [
    'an unknown model',
    ['accounting/invoice,,eu,1,10,20,'],
    ['line 2: "accounting/invoice" is not a configured model; did you mean "accounting/invoices"?'],
  ],
  [
    'an unknown field',
    ['accounting/invoices,line_item,eu,1,10,20,'],
    ['line 2: "line_item" is not a field with children of accounting/invoices; did you mean "line_items"?'],
  ],
  [
    'an unknown region',
    ['accounting/invoices,,en,1,10,20,'],
    ['line 2: "en" is not a configured region; did you mean "eu"?'],
  ],
  ['no company', ['accounting/invoices,,eu,,10,20,'], ['line 2: v3_company_id "" is not an id']],
  ['too few values', ['accounting/invoices,,eu,1,10'], ['line 2: needs seven or eight values']],
  ['too many values', [`${GOOD},,and more`], ['line 2: needs seven or eight values']],
  [
    'a day that is none',
    [`${GOOD},2027-02-30`],
    ['line 2: until "2027-02-30" is not a date such as 2027-01-31'],
  ],
  [
    'a time',
    [`${GOOD},2027-01-31T00:00Z`],
    ['line 2: until "2027-01-31T00:00Z" is not a date such as 2027-01-31'],
  ],
  [
    'an open quote',
    ['accounting/invoices,,eu,1,10,20,"by hand'],
    ['line 2: a quotation mark is not closed or not doubled'],
  ],
  [
    'text behind a quote',
    ['accounting/invoices,,eu,1,10,20,"by" hand'],
    ['line 2: a quotation mark is not closed or not doubled'],
  ],
  [
    'nobody decided',
    ['accounting/invoices,,eu,1,10,?,'],
    ['line 2: "?" is not a decision: write the id, leave it empty for none, or begin the line with #'],
  ],
  ['neither id', ['accounting/invoices,,eu,1,,,'], ['line 2: names neither a V3 id nor a V4 id']],
  [
    'an id that a spreadsheet rounded',
    ['accounting/invoices,,eu,1,1.23E+18,20,'],
    ['line 2: v3_svc_id "1.23E+18" is not an id'],
  ],
  [
    'another spelling of an id',
    ['accounting/invoices,,eu,1,10,020,'],
    ['line 2: v4_svc_id "020" is not an id'],
  ],
  [
    'an id beyond 64 bits',
    [`accounting/invoices,,eu,1,10,${2n ** 63n},`],
    [`line 2: v4_svc_id "${2n ** 63n}" is not an id`],
  ],
  ['a repeated line', [GOOD, GOOD], ['line 3: V3 id 10 is decided on line 2 already']],
  [
    'a V3 id with two V4 ids',
    [GOOD, 'accounting/invoices,,eu,1,10,21,'],
    ['line 3: V3 id 10 is decided on line 2 already'],
  ],
  [
    'a V3 id in two companies',
    [GOOD, 'accounting/invoices,,eu,2,10,21,'],
    ['line 3: V3 id 10 is decided on line 2 already'],
  ],
  [
    'a V4 id for two V3 ids',
    [GOOD, 'accounting/invoices,,eu,1,11,20,'],
    ['line 3: V4 id 20 is decided on line 2 already'],
  ],
  [
    'a V4 id with and without a V3 record',
    [GOOD, 'accounting/invoices,,eu,1,,20,'],
    ['line 3: V4 id 20 is decided on line 2 already'],
  ],
  [
    'several at once',
    ['x,,eu,1,10,20,', GOOD, 'accounting/invoices,,eu,1,11,?,', '"'],
    [
      'line 2: "x" is not a configured model; known: accounting/invoices, crm/companies',
      'line 4: "?" is not a decision: write the id, leave it empty for none, or begin the line with #',
      'line 5: a quotation mark is not closed or not doubled',
    ],
  ],
];

describe('parseDecisions', () => {
  it.each(TAKEN)('takes %s', (_, line, expected) => {
    expect(parse(line)).toEqual({ rows: [{ ...DECIDED, ...expected }], problems: [] });
  });

  it.each(REFUSED)('refuses %s', (_, lines, problems) => {
    expect(parse(...lines).problems).toEqual(problems);
  });

  it('takes the same ids in other models, fields, regions and companies', () => {
    const found = parse(
      GOOD,
      'crm/companies,,eu,1,10,20,',
      'accounting/invoices,line_items,eu,1,10,20,',
      'accounting/invoices,,us,1,10,20,',
      'accounting/invoices,,eu,2,11,20,',
    );
    expect([found.rows.length, found.problems]).toEqual([5, []]);
  });

  it('takes a file without the column until', () => {
    const header = DECISIONS_HEADER.replace(',until', '');
    expect(parseDecisions(`${header}\n${GOOD}`, PLACES)).toEqual({ rows: [DECIDED], problems: [] });
  });

  it('skips comments, blank lines and what a spreadsheet makes of them', () => {
    const text = `\uFEFF# before, the header\r\n${DECISIONS_HEADER}\r\n#x,,eu,1,10,?,\r\n  # a\r\n"# b, c"\r\n,,,,,,\r\n\r\n${GOOD}\r\n`;
    expect(parseDecisions(text, PLACES)).toEqual({ rows: [{ ...DECIDED, line: 8 }], problems: [] });
  });

  it.each(['', '# nothing', 'model,v3,v4', GOOD])('refuses a file without the header: %j', (text) => {
    expect(parseDecisions(text, PLACES).problems).toEqual([`line 1: the header must be ${DECISIONS_HEADER}`]);
  });

  it('reads back every note that is written in quotes', () => {
    const note = fc.string().map((text) => text.replace(/[\r\n]/g, ' '));
    fc.assert(
      fc.property(note, (text) => {
        const [decision] = parse(`accounting/invoices,,eu,1,10,20,"${text.replaceAll('"', '""')}"`).rows;
        expect(decision?.note).toBe(text);
      }),
      { numRuns: 500, seed: 20261120 },
    );
  });
});

describe('readDecisionsFile', () => {
  it('says that a file is missing', () => {
    const config = sampleConfig({ decisions: '/nowhere/decisions.csv' });
    expect(() => readDecisionsFile(config)).toThrow(expect.objectContaining({ code: 'bad_input' }));
  });

  it('names all problems in one message', () => {
    const file = join(folder, 'decisions.csv');
    const lines = Array.from({ length: 30 }, (_, at) => `accounting/invoices,,default,1,${at},?,`);
    writeFileSync(file, [DECISIONS_HEADER, ...lines].join('\n'));
    const problem = expect.objectContaining({
      code: 'bad_input',
      message: expect.stringMatching(/line 2:[\s\S]*line 31:/),
    });
    expect(() => readDecisionsFile(sampleConfig({ decisions: file }))).toThrow(problem);
  });
});
