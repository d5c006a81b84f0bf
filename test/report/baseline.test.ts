import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  applyBaseline,
  parseBaseline,
  readBaseline,
  renderBaseline,
  withoutAccepted,
} from '../../src/report/baseline.js';
import { EVERYTHING, readAllFindings, type Scope } from '../../src/store/remap-rows.js';
import { INVOICES } from '../support/exported.js';
import { MIXED, NOW, SINCE, withDatabase } from './support.js';

const ENTRY = {
  model: INVOICES,
  v3_svc_id: '3',
  reason: 'unexplained',
  note: 'the customer deleted it',
  expires: '2026-11-01',
};
const fileOf = (...entries: readonly object[]) => JSON.stringify({ schemaVersion: 1, entries });

describe('a baseline file', () => {
  it('holds entries that name one finding each', () => {
    expect(parseBaseline(`\uFEFF${fileOf(ENTRY)}`)).toEqual({
      entries: [{ ...ENTRY, path: '', v3_svc_id: 3n }],
      problems: [],
    });
  });

  const { v3_svc_id: _, ...nameless } = ENTRY;
  const cases: [string, string, string[]][] = [
    ['no JSON', '{', [expect.stringMatching(/^is not JSON \(/)]],
    ['another version', '{"schemaVersion":2,"entries":[]}', ['schemaVersion must be 1']],
    ['no entries', '{"schemaVersion":1}', ['entries must be a list']],
    [
      'a reason that is none',
      fileOf({ ...ENTRY, reason: 'unexplaned' }),
      ['entry 1: reason is not a known reason; did you mean "unexplained"?'],
    ],
    [
      'a date that is none',
      fileOf(ENTRY, { ...ENTRY, expires: '2026-02-30' }),
      ['entry 2: expires must be a date such as "2027-01-31"'],
    ],
    [
      'no date',
      fileOf({ ...ENTRY, expires: undefined }),
      ['entry 1: expires must be a date such as "2027-01-31"'],
    ],
    ['an empty note', fileOf({ ...ENTRY, note: '' }), ['entry 1: note must say why the finding is accepted']],
    [
      'ids as numbers, which lose digits',
      fileOf({ ...ENTRY, v3_svc_id: 3 }),
      ['entry 1: v3_svc_id must be a 64-bit integer as digits in quotes'],
    ],
    [
      'an id beyond 64 bits',
      fileOf({ ...ENTRY, v3_svc_id: '9223372036854775808' }),
      ['entry 1: v3_svc_id must be a 64-bit integer as digits in quotes'],
    ],
    ['nothing that names a row', fileOf(nameless), ['entry 1: needs platform_id, v3_svc_id or v4_svc_id']],
    [
      'a status that needs no accepting',
      fileOf({ ...ENTRY, status: 'matched' }),
      ['entry 1: status must be one of unmatched, deleted, ambiguous, v4_only'],
    ],
    ['a misspelt field', fileOf({ ...ENTRY, platfrom_id: 'x' }), ['entry 1: platfrom_id is not known here']],
  ];
  it.each(cases)('is refused with %s', (_, content, problems) => {
    expect(parseBaseline(content).problems).toEqual(problems);
  });

  it('is refused as bad input, naming the file', async () => {
    await withDatabase(MIXED, {}, ({ folder }) => {
      const file = join(folder, 'baseline.json');
      expect(() => readBaseline(file)).toThrow(expect.objectContaining({ code: 'bad_input' }));
      writeFileSync(file, fileOf({ ...ENTRY, note: 7 }, { ...ENTRY, path: null }));
      expect(() => readBaseline(file)).toThrow(
        expect.objectContaining({
          code: 'bad_input',
          message: `The baseline ${file}: entry 1: note must be text in quotes\n  entry 2: path must be text in quotes.`,
        }),
      );
    });
  });
});

/** Which entries accept, and what is said about the others, against `MIXED`. */
async function apply(entries: readonly object[], scope: Scope = EVERYTHING, nowMs = NOW) {
  return withDatabase(MIXED, { backfill: SINCE }, ({ write }) => {
    const baseline = { file: 'baseline.json', entries: parseBaseline(fileOf(...entries)).entries };
    expect(baseline.entries).toHaveLength(entries.length);
    const found: ReturnType<typeof applyBaseline>[] = [];
    write((db) => found.push(applyBaseline(db, baseline, scope, nowMs)));
    const [accepted] = found;
    if (accepted === undefined) throw new Error('nothing was applied');
    const problems = (['expired', 'unused', 'ambiguous'] as const).flatMap((kind) =>
      accepted.section[kind].map(({ entry, problem }) => `${kind} ${entry}: ${problem}`),
    );
    return { accepted: accepted.section.accepted, byReason: accepted.section.byReason, problems };
  });
}

describe('a baseline accepts', () => {
  it('the one finding that has all the entry says', async () => {
    expect(
      await apply([ENTRY, { ...ENTRY, v3_svc_id: undefined, v4_svc_id: '3', status: 'v4_only' }]),
    ).toEqual({
      accepted: 2,
      byReason: { 'unmatched/unexplained': 1, 'v4_only/unexplained': 1 },
      problems: [],
    });
    expect(await apply([{ ...ENTRY, v3_svc_id: undefined, platform_id: 'c' }])).toMatchObject({
      accepted: 1,
    });
  });

  const misses: [string, object][] = [
    ['another reason', { reason: 'key_changed' }],
    ['another status', { status: 'deleted' }],
    ['another path', { path: 'line_items' }],
    ['another model', { model: 'crm/companies' }],
    ['another platform_id', { platform_id: 'C' }],
    ['another id', { v3_svc_id: '5' }],
    ['another company', { v3_company_id: '2' }],
    ['another region', { region: 'eu' }],
  ];
  it.each(misses)('nothing where the entry has %s', async (_, other) => {
    expect(await apply([{ ...ENTRY, ...other }])).toEqual({
      accepted: 0,
      byReason: {},
      problems: ['unused 1: names no finding'],
    });
  });

  it('no matched row', async () => {
    expect(await apply([{ ...ENTRY, v3_svc_id: '1' }])).toMatchObject({ accepted: 0 });
  });

  it('through the whole last day, and not after', async () => {
    const midnight = Date.parse('2026-11-02T00:00:00Z');
    expect(await apply([ENTRY], EVERYTHING, midnight - 1)).toMatchObject({ accepted: 1, problems: [] });
    expect(await apply([ENTRY], EVERYTHING, midnight)).toMatchObject({
      accepted: 0,
      problems: ['expired 1: expired on 2026-11-01'],
    });
  });

  it('a finding once, however often it is named', async () => {
    expect(await apply([ENTRY, { ...ENTRY, platform_id: 'c' }])).toMatchObject({
      accepted: 1,
      problems: ['unused 2: names the same finding as entry 1'],
    });
  });

  it('nothing where a name fits several findings', async () => {
    const twins = {
      v3: [
        { id: 1, key: 'x' },
        { id: 2, key: 'x' },
      ],
      v4: [{ id: 9, key: 'x' }],
    };
    await withDatabase(twins, {}, ({ write }) => {
      write((db) => {
        const [row] = [...readAllFindings(db, EVERYTHING)];
        const byKey = { ...ENTRY, v3_svc_id: undefined, platform_id: 'x', reason: row?.reason };
        const { entries } = parseBaseline(fileOf(byKey, { ...byKey, v3_svc_id: '2' }));
        const { section } = applyBaseline(db, { file: 'b', entries }, EVERYTHING, NOW);
        expect(section.ambiguous.map(({ entry }) => entry)).toEqual([1]);
        expect(section).toMatchObject({ accepted: 1, unused: [] });
      });
    });
  });

  it('nothing outside the scope, and then says nothing of it either', async () => {
    const nothing = { accepted: 0, problems: [] };
    expect(await apply([ENTRY], { models: ['crm/companies'], companies: null })).toMatchObject(nothing);
    expect(await apply([ENTRY], { models: null, companies: [77n] })).toMatchObject(nothing);
  });
});

it('what is accepted is taken from what limits judge', () => {
  const row = { model: 'a/b', status: 'unmatched', reason: 'unexplained', count: 5 } as const;
  const other = { ...row, model: 'c/d' };
  expect(withoutAccepted([row, other], [{ ...row, count: 2 }])).toEqual([{ ...row, count: 3 }, other]);
  expect(withoutAccepted([row, other], [row])).toEqual([other]);
});

it('a written baseline accepts exactly the findings it was written from', async () => {
  await withDatabase(MIXED, { backfill: SINCE }, ({ write }) => {
    write((db) => {
      const findings = [...readAllFindings(db, EVERYTHING)];
      const written = [...renderBaseline(findings, '2026-12-01', 'why')].join('');
      const { entries, problems } = parseBaseline(written);
      expect(problems).toEqual([]);
      const { section } = applyBaseline(db, { file: 'b', entries }, EVERYTHING, NOW);
      expect(section).toMatchObject({ accepted: findings.length, expired: [], unused: [], ambiguous: [] });
      expect(JSON.parse(written).entries[0]).toEqual({
        model: INVOICES,
        path: '',
        region: 'default',
        v3_company_id: '1',
        v4_company_id: '1',
        platform_id: 'b',
        v3_svc_id: '2',
        status: 'unmatched',
        reason: 'outside_backfill_window',
        note: 'why',
        expires: '2026-12-01',
      });
    });
  });
});
