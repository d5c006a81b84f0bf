import { describe, expect, it } from 'vitest';
import {
  brief,
  configOf,
  type Exported,
  INVOICES,
  modelOf,
  openExported,
  remapOf,
  remapRows,
  rowsOf,
  type Thing,
  things,
} from './exported.js';

/** Same ids pair company 1 with company 1: nothing is comparable. */
const since = { backfill: { sinceMs: Date.parse('2026-08-20T00:00:00Z'), dateFields: ['created_at'] } };
const OLD = '2026-01-01T00:00:00Z';
const NEW = '2026-10-01T00:00:00Z';
const FUTURE = '2099-01-01T00:00:00Z';

/** The table of the product contract, a case or more for each of its rows. */
const CASES = rowsOf(`
  a live pair matches | 1 a | 9 a | 1→9 matched
  keys are compared exactly | 1 a | 9 b | 1→- unmatched/unexplained, -→9 v4_only/unexplained
  a live record whose twin is deleted | 1 a | 9 a deleted | 1→9 deleted/deleted_in_v4
  a deleted record whose twin is live | 1 a deleted | 9 a | 1→9 deleted/deleted_in_v3
  both deleted | 1 a deleted | 9 a deleted | 1→9 deleted/deleted_in_both
  deleted without twin | 1 a deleted | nothing | 1→- deleted/deleted_not_in_v4
  deleted without key | 1 - deleted | nothing | 1→- deleted/no_platform_id
  live without key | 1 - | nothing | 1→- unmatched/no_platform_id
  a deleted record beside a live one of its key | 1 a deleted; 2 a | 9 a | 1→- deleted/superseded_in_v3, 2→9 matched
  superseded though nothing is in V4 | 1 a deleted; 2 a | nothing | 1→- deleted/superseded_in_v3, 2→-
    unmatched/unexplained
  several deleted ones share the twin | 1 a deleted; 2 a deleted | 9 a | 1→9 deleted/deleted_in_v3, 2→9
    deleted/deleted_in_v3
  two live V3 records, no unique ids | 1 a; 2 a | 9 a | 1→9 matched merged, 2→9 matched merged
  two live V3 records, one with the unique id | 1 a uid=u; 2 a | 9 a uid=u | 1→9 matched by uid merged, 2→9 matched merged
  two live V3 records with one unique id between them | 1 a uid=u; 2 a uid=u | 9 a uid=u | 1→9 matched by uid merged, 2→9
    matched by uid merged
  two live V3 records, one with another unique id | 1 a uid=u; 2 a uid=v | 9 a uid=u | 1→9 matched by uid, 2→-
    ambiguous/duplicate_platform_id_v3
  two live V3 records with other unique ids | 1 a uid=u; 2 a uid=v | 9 a uid=w | 1→- ambiguous/duplicate_platform_id_v3,
    2→- ambiguous/duplicate_platform_id_v3, -→9 ambiguous/duplicate_platform_id_v3
  two live V3 records and two candidates, one unique id | 1 a uid=u; 2 a uid=u | 8 a uid=u; 9 a uid=v | 1→8 matched by
    uid merged, 2→8 matched by uid merged, -→9 ambiguous/duplicate_platform_id_v3
  two live V3 records beside a deleted one | 1 a; 2 a; 3 a deleted | 9 a | 1→9 matched merged, 2→9 matched merged, 3→-
    deleted/superseded_in_v3
  two live V3 records whose twin is deleted | 1 a; 2 a | 9 a deleted | 1→9 deleted/deleted_in_v4 merged, 2→9
    deleted/deleted_in_v4 merged
  children of a V4 parent two live records became | 1 a [11 x, 12 z]; 2 a [21 x] | 9 a [19 x, 18 y] | 1→9 matched merged,
    child 11→19 matched, child 12→- unmatched/unexplained, child -→18 v4_only/unexplained, 2→9 matched merged, child
    21→19 matched
  two pairs told apart by unique id | 1 a uid=u; 2 a uid=v | 8 a uid=v; 9 a uid=u | 1→9 matched by uid, 2→8 matched by
    uid
  two live V3 records and nothing in V4 are unmatched | 1 a; 2 a | nothing | 1→- unmatched/unexplained, 2→-
    unmatched/unexplained
  two V4 candidates | 1 a | 8 a; 9 a | 1→- ambiguous/duplicate_platform_id_v4, -→8 ambiguous/duplicate_platform_id_v4,
    -→9 ambiguous/duplicate_platform_id_v4
  two V4 candidates, one with the unique id | 1 a uid=u | 8 a uid=u; 9 a | 1→8 matched by uid, -→9
    ambiguous/duplicate_platform_id_v4
  two V4 candidates with the same unique id | 1 a uid=u | 8 a uid=u; 9 a uid=u | 1→-
    ambiguous/duplicate_platform_id_v4, -→8 ambiguous/duplicate_platform_id_v4, -→9 ambiguous/duplicate_platform_id_v4
  null unique ids never tell apart | 1 a | 8 a; 9 a uid=x | 1→- ambiguous/duplicate_platform_id_v4, -→8
    ambiguous/duplicate_platform_id_v4, -→9 ambiguous/duplicate_platform_id_v4
  a deleted V4 record beside the live twin | 1 a | 8 a deleted; 9 a | 1→9 matched, -→8 deleted/superseded_in_v4
  two deleted V4 candidates | 1 a | 8 a deleted; 9 a deleted | 1→- ambiguous/duplicate_platform_id_v4, -→8
    ambiguous/duplicate_platform_id_v4, -→9 ambiguous/duplicate_platform_id_v4
  a deleted V3 record and two V4 candidates | 1 a deleted | 8 a; 9 a | 1→- ambiguous/duplicate_platform_id_v4, -→8
    ambiguous/duplicate_platform_id_v4, -→9 ambiguous/duplicate_platform_id_v4
  both sides doubled, unique ids on one pair only | 1 a uid=u; 2 a | 8 a uid=u; 9 a | 1→8 matched by uid, 2→-
    ambiguous/duplicate_platform_id_v3, -→9 ambiguous/duplicate_platform_id_v3
  differing unique ids keep the pair | 1 a uid=u | 9 a uid=v | 1→9 matched
  V4 only, live | nothing | 9 a | -→9 v4_only/unexplained
  V4 only, deleted | nothing | 9 a deleted | -→9 deleted/deleted_v4_only
  V4 only, deleted beside a live one | nothing | 8 a; 9 a deleted | -→8 v4_only/unexplained, -→9
    deleted/superseded_in_v4
  V4 only, without key | nothing | 9 - | -→9 v4_only/no_platform_id
  V4 only, deleted and without key | nothing | 9 - deleted | -→9 deleted/deleted_v4_only
  V4 only, created when V3 was read | nothing | 9 a created=2026-11-01T00:00:00Z | -→9 v4_only/unexplained
  V4 only, created after the export | nothing | 9 a created=FUTURE | -→9 v4_only/created_after_export
  older than the window | 1 a latest=OLD | 9 z | 1→- unmatched/outside_backfill_window, -→9 v4_only/unexplained
  inside the window | 1 a latest=NEW | 9 z | 1→- unmatched/unexplained, -→9 v4_only/unexplained
  without any date the window explains nothing | 1 a | 9 z | 1→- unmatched/unexplained, -→9 v4_only/unexplained
  a key that folds to the same | 1 " 007A " latest=OLD | 9 7a | 1→- unmatched/key_changed, -→9 v4_only/key_changed
  NFC and NFD twins are different keys | 1 café | 9 café | 1→- unmatched/key_changed, -→9 v4_only/key_changed
  a changed key with the same unique id | 1 a uid=u | 9 b uid=u | 1→- unmatched/key_changed, -→9 v4_only/key_changed
  a V4 record without key but with the unique id | 1 a uid=u | 9 - uid=u | 1→- unmatched/key_changed, -→9
    v4_only/no_platform_id
  a V4 record that has its twin is no changed key | 1 a uid=u; 2 b | 9 b uid=u | 1→- unmatched/unexplained, 2→9
    matched
  a deleted record is no changed key | 1 - uid=u deleted | 9 b uid=u | 1→- deleted/no_platform_id, -→9
    v4_only/unexplained
  no key is not the key null | 1 null; 2 b [11 null] | 8 -; 9 b [19 -] | 1→- unmatched/unexplained, 2→9 matched, child
    11→- unmatched/unexplained, child -→19 v4_only/no_platform_id, -→8 v4_only/no_platform_id
  children match inside a pair | 1 a [11 x] | 9 a [19 x] | 1→9 matched, child 11→19 matched
  children of different parents never match | 1 a [11 x]; 2 b | 8 a; 9 b [19 x] | 1→8 matched, child 11→-
    unmatched/unexplained, 2→9 matched, child -→19 v4_only/unexplained
  children of an unmatched parent | 1 a latest=OLD [11 x, 12 -] | 9 z | 1→- unmatched/outside_backfill_window, child
    11→- unmatched/parent_outside_backfill_window, child 12→- unmatched/parent_outside_backfill_window, -→9
    v4_only/unexplained
  children of a deleted pair | 1 a deleted [11 x, 12 y] | 9 a [19 x, 18 w] | 1→9 deleted/deleted_in_v3, child 11→19
    deleted/parent_deleted_in_v3, child 12→- deleted/parent_deleted_in_v3, child -→18 deleted/parent_deleted_in_v3
  children of an ambiguous parent | 1 a uid=u [11 x]; 2 a uid=v | 9 a uid=w [19 x] | 1→- ambiguous/duplicate_platform_id_v3,
    child 11→- ambiguous/parent_duplicate_platform_id_v3, 2→- ambiguous/duplicate_platform_id_v3, -→9
    ambiguous/duplicate_platform_id_v3, child -→19 ambiguous/parent_duplicate_platform_id_v3
  children of a V4-only parent | nothing | 9 a [19] | -→9 v4_only/unexplained, child -→19 v4_only/parent_unexplained
  children: duplicates, deletions, changed keys | 1 a [11 x, 12 x, 13 y deleted, 14 " Z", 15 -] | 9 a [19 x, 18 y, 17
    z] | 1→9 matched, child 11→19 matched merged, child 12→19 matched merged, child 13→18 deleted/deleted_in_v3, child 14→- unmatched/key_changed, child 15→- unmatched/no_platform_id, child
    -→17 v4_only/key_changed
  children of a V4 parent two deleted records became | 1 a deleted [11 x]; 2 a deleted | 9 a [19 x] | 1→9
    deleted/deleted_in_v3, child 11→19 deleted/parent_deleted_in_v3, 2→9 deleted/deleted_in_v3
  a child that its record shows twice | 1 a [11 x] | 9 a [19 x, 19 x] | 1→9 matched, child 11→-
    ambiguous/duplicate_platform_id_v4, child -→19 ambiguous/duplicate_platform_id_v4, child -→19
    ambiguous/duplicate_platform_id_v4
`);

const listed = { v4Companies: [1] };
/** Anything V4 holds keeps its connection from being inert. */
const alive: Thing = { id: 999, model: 'crm/stages', key: 'alive' };
/** Anything V3 holds makes the company known there. */
const known: Thing = { id: 998, model: 'crm/stages', key: 'alive' };

describe('the matching table', () => {
  const config = configOf({ ...since, models: [modelOf(INVOICES), modelOf('crm/stages')] });
  const thingsOf = (text: string) =>
    text === 'nothing' ? [] : things(text.replace('OLD', OLD).replace('NEW', NEW).replace('FUTURE', FUTURE));
  it.each(CASES)('%s', (_, v3 = '', v4 = '', expected = '') => {
    const rows = remapRows(config, {
      v3: [...thingsOf(v3), known],
      v4: [...thingsOf(v4), alive],
      ...listed,
    }).filter(({ v4_svc_id }) => v4_svc_id !== 999n);
    expect(rows.map(brief).join(', ')).toBe(expected);
  });
});

describe('reasons that come from the scope', () => {
  const scoped: (readonly [string, Exported, ReturnType<typeof configOf>, string[]])[] = [
    [
      'an unread V4 stream explains nothing',
      {
        v3: things('1 a; 2 b deleted; 3 - deleted'),
        v4: [],
        ...listed,
        states: { [`v4 ${INVOICES} 1`]: 'running' },
      },
      configOf({ ...since, companies: sameId() }),
      ['1→- unmatched/scope_incomplete', '2→- unmatched/scope_incomplete', '3→- deleted/no_platform_id'],
    ],
    [
      'an unread V3 stream explains nothing',
      { v3: [], v4: [{ id: 8 }, { id: 9, deleted: true }], states: { [`v3 default ${INVOICES}`]: 'failed' } },
      configOf({ ...since, companies: sameId() }),
      ['-→8 v4_only/scope_incomplete', '-→9 v4_only/scope_incomplete'],
    ],
    [
      'a company is not paired by id while its streams are unread',
      { v3: [{ id: 1, key: 'a' }], v4: [{ id: 9, key: 'a' }], states: { [`v4 ${INVOICES} 1`]: 'running' } },
      configOf(),
      ['1→- unmatched/scope_incomplete', '-→9 v4_only/scope_incomplete'],
    ],
    [
      'no V4 company',
      {
        v3: [
          { id: 1, company: 2 },
          { id: 2, company: 2, deleted: true },
          { id: 3, company: 2, key: null },
        ],
        v4: [
          { id: 9, company: 3 },
          { id: 10, company: 3, deleted: true },
        ],
      },
      configOf(),
      [
        '1→- unmatched/company_not_in_v4',
        '2→- deleted/company_not_in_v4',
        '3→- unmatched/no_platform_id',
        '-→9 v4_only/company_not_in_v3',
        '-→10 deleted/deleted_v4_only',
      ],
    ],
    [
      'no V4 company, and a V3 list of another model that was not read in full',
      {
        v3: [{ id: 1, company: 2 }],
        v4: [{ id: 9, company: 3 }],
        states: { 'v3 default crm/stages': 'running' },
      },
      configOf({ models: [modelOf(INVOICES), modelOf('crm/stages')] }),
      ['1→- unmatched/scope_incomplete', '-→9 v4_only/scope_incomplete'],
    ],
    [
      'no V4 company at all',
      { v3: [{ id: 1, company: 2 }], v4: [] },
      configOf(),
      ['1→- unmatched/scope_incomplete'],
    ],
    [
      'a company list that was read to its end and is empty',
      { v3: [{ id: 1, company: 2 }], v4: [], states: { 'v4 companies': 'complete' } },
      configOf(),
      ['1→- unmatched/company_not_in_v4'],
    ],
    [
      'no V3 company, and a deleted record beside a live one of its key',
      { v3: [], v4: things('9 a company=3; 10 a company=3 deleted') },
      configOf(),
      ['-→9 v4_only/company_not_in_v3', '-→10 deleted/superseded_in_v4'],
    ],
    [
      'no V4 company, and a company list that was not read in full',
      {
        v3: [{ id: 1, company: 2 }],
        v4: [{ id: 9, company: 3 }],
        states: { 'v4 companies': 'failed' },
      },
      configOf(),
      ['1→- unmatched/scope_incomplete', '-→9 v4_only/scope_incomplete'],
    ],
    [
      'no V4 company, and a company list whose count is disputed',
      {
        v3: [{ id: 1, company: 2 }],
        v4: [{ id: 9, company: 3 }],
        states: { 'v4 companies': 'short' },
      },
      configOf(),
      ['1→- unmatched/company_not_in_v4', '-→9 v4_only/company_not_in_v3'],
    ],
    [
      'a model V4 does not have',
      { v3: [{ id: 1 }, { id: 2, deleted: true }], v4: [], ...listed },
      configOf({ models: [modelOf(INVOICES, null)] }),
      ['1→- unmatched/model_not_in_v4', '2→- deleted/model_not_in_v4'],
    ],
    [
      'a model V4 answers 404 for',
      { v3: [{ id: 1 }], v4: [], ...listed, states: { [`v4 ${INVOICES} 1`]: 'absent' } },
      configOf(),
      ['1→- unmatched/model_not_in_v4'],
    ],
    [
      'a model V4 answers 404 for, with a record that it had shown',
      { v3: [{ id: 1, key: 'a' }], v4: [{ id: 9, key: 'a' }], states: { [`v4 ${INVOICES} 1`]: 'absent' } },
      configOf({ companies: sameId() }),
      ['1→- unmatched/model_not_in_v4', '-→9 v4_only/unexplained'],
    ],
    [
      'an inert connection',
      {
        v3: [
          { id: 1, latest: OLD },
          { id: 2, deleted: true },
        ],
        v4: [],
        ...listed,
      },
      configOf(since),
      ['1→- unmatched/connection_inert', '2→- deleted/deleted_not_in_v4'],
    ],
  ];
  const twoModels = configOf({ companies: sameId(), models: [modelOf(INVOICES), modelOf('crm/stages')] });
  scoped.push(
    [
      'a connection of which a list is unread',
      { v3: [{ id: 1 }], v4: [], ...listed, states: { 'v4 crm/stages 1': 'running' } },
      twoModels,
      ['1→- unmatched/unexplained'],
    ],
    [
      'V3 lists that are split by company',
      { v3: [{ id: 1, key: 'a' }], v4: things('8 a; 9 b created=2099-01-01T00:00:00Z'), v3Split: [1] },
      configOf({ companies: sameId() }),
      ['1→8 matched', '-→9 v4_only/created_after_export'],
    ],
  );
  for (const [name, exported, config, expected] of scoped) {
    it(name, () => expect(remapRows(config, exported).map(brief)).toEqual(expected));
  }

  it('marks a pair of an incomplete stream as provisional', () => {
    const config = configOf({ companies: sameId() });
    const [row] = remapRows(config, {
      v3: [{ id: 1, key: 'a' }],
      v4: [{ id: 9, key: 'a' }],
      states: { [`v4 ${INVOICES} 1`]: 'running' },
    });
    expect([row?.status, row?.evidence]).toEqual(['matched', '{"provisional":true}']);
  });

  it.each([
    ['nothing is unread', true, {}, '{}'],
    ['the V3 list is unread', true, { [`v3 default ${INVOICES}`]: 'running' }, '{"provisional":true}'],
    ['the V4 list is unread', true, { [`v4 ${INVOICES} 1`]: 'running' }, '{"provisional":true}'],
    [
      'another list may pair the company anew',
      false,
      { 'v4 payments/orders 1': 'running' },
      '{"provisional":true}',
    ],
    ['another list is unread and a file pairs', true, { 'v4 payments/orders 1': 'running' }, '{}'],
  ] as const)('says whether a pair is provisional where %s', (_, isNamed, states, evidence) => {
    const config = configOf({ models: [modelOf(INVOICES), modelOf('payments/orders')] });
    const [v3, v4] = ['1 a [11 x, 12 y]', '9 a [19 x]'].map((text) =>
      things(text).map((own) => ({ ...own, facts: 'x=1' })),
    );
    const named = isNamed ? [{ line: 2, region: 'default', v3CompanyId: 1n, v4CompanyId: 1n }] : [];
    const rows = remapRows(config, { v3: v3 ?? [], v4: v4 ?? [], states }, named);
    expect(rows.map((row) => row.evidence)).toEqual([evidence, evidence, '{}']);
  });

  it('keeps ids beyond 2^53 exact', () => {
    const [v3, v4] = [9007199254740993n, 9223372036854775807n];
    const rows = remapRows(configOf(), {
      v3: [
        {
          id: v3,
          key: 'a',
          kids: [
            { id: v3, key: '[\\"[' },
            { id: v3 + 2n, key: 'm' },
          ],
        },
        { id: -5n, key: 'b' },
      ],
      v4: [
        { id: v4, key: 'a', kids: [{ id: v4, key: '[\\"[' }] },
        { id: -v3, key: 'b' },
      ],
    });
    expect(rows.map((row) => [row.v3_svc_id, row.v4_svc_id])).toEqual([
      [-5n, -v3],
      [v3, v4],
      [v3, v4],
      [v3 + 2n, null],
    ]);
  });

  it('tells companies beyond 2^53 apart', () => {
    const [company, other] = [9007199254740993n, 9007199254740992n];
    const own = (text: string) => things(text).map((one) => ({ ...one, company }));
    const rows = remapRows(configOf({ companies: sameId() }), {
      v3: [{ id: 1, key: 'a', company: other }, ...own('2 a; 3 b')],
      v4: own('8 b; 9 a'),
    });
    expect(rows.map(brief)).toEqual(['1→- unmatched/company_not_in_v4', '2→9 matched', '3→8 matched']);
  });

  it('tells companies of one id in two regions apart', () => {
    const named = (['eu', 'us'] as const).map((region, at) => {
      return { line: 2 + at, region, v3CompanyId: 1n, v4CompanyId: BigInt(1 + at) };
    });
    const v3: Thing[] = [
      { id: 1, key: 'a', region: 'eu' },
      { id: 2, key: 'a', region: 'us' },
    ];
    const rows = remapRows(
      configOf({ regions: ['eu', 'us'] }),
      { v3, v4: things('9 a; 8 a company=2') },
      named,
    );
    expect(rows.map(brief)).toEqual(['1→9 matched', '2→8 matched']);
  });

  it.each([
    ['v3', '-→9 v4_only/scope_incomplete'],
    ['v4', '1→- unmatched/scope_incomplete'],
  ])('does not take a list of %s that was never begun for an empty one', (generation, expected) => {
    const { db, close } = openExported(twoModels, { v3: [{ id: 1, key: 'a' }, known], v4: things('9 b') });
    db.exec(`delete from stream where generation = '${generation}' AND model = '${INVOICES}';
      DELETE FROM record WHERE stream_id NOT IN (SELECT id FROM stream)`);
    const rows = remapOf(db, twoModels).map(brief);
    close();
    expect(rows).toContain(expected);
  });

  it.each(['v3', 'v4'])(
    'says of no company that it has no pair while a list of %s was never begun',
    (generation) => {
      const { db, close } = openExported(twoModels, {
        v3: [{ id: 1, company: 2 }],
        v4: [{ id: 9, company: 3 }],
      });
      db.exec(`delete from stream where generation = '${generation}' and model = 'crm/stages'`);
      const rows = remapOf(db, twoModels).map(brief);
      close();
      expect(rows).toEqual(['1→- unmatched/scope_incomplete', '-→9 v4_only/scope_incomplete']);
    },
  );

  it('infers the window of each company and model, and says from which record', () => {
    const dated = (first: number, company: number, model: string, latest: string, count: number): Thing[] =>
      Array.from({ length: count }, (_, at) => ({
        id: first + at,
        key: `v${first + at}`,
        company,
        model,
        latest: at === 3 ? latest : NEW,
      }));
    const v4 = [
      ...dated(100, 2, INVOICES, '2026-05-01T12:00:00Z', 20),
      ...dated(200, 2, 'crm/stages', '2024-01-01T00:00:00Z', 20),
      ...dated(300, 1, INVOICES, '2025-01-01T00:00:00Z', 20),
      ...dated(400, 1, 'crm/stages', '2025-01-01T00:00:00Z', 19),
    ];
    const v3 = things('1 a company=2 latest=2026-06-01T00:00:00Z; 2 b company=2 latest=2026-01-01T00:00:00Z');
    const { db, close } = openExported(twoModels, { v3, v4 });
    const reasons = remapOf(db, twoModels).map(({ reason }) => reason);
    const windows = db
      .prepare(
        'select model, v4_company_id, source, since_ms, records, v4_svc_id, nine_tenths_ms from backfill_window',
      )
      .raw()
      .all();
    close();
    expect(reasons.slice(0, 2)).toEqual(['unexplained', 'outside_backfill_window']);
    const ms = (text: string) => BigInt(Date.parse(text));
    expect(windows).toEqual([
      [INVOICES, 1n, 'inferred', ms('2025-01-01'), 20n, 303n, ms('2026-10-01')],
      [INVOICES, 2n, 'inferred', ms('2026-05-01T12:00:00Z'), 20n, 103n, ms('2026-10-01')],
      ['crm/stages', 1n, 'unknown', null, 19n, null, ms('2026-10-01')],
      ['crm/stages', 2n, 'inferred', ms('2024-01-01'), 20n, 203n, ms('2026-10-01')],
    ]);
  });

  it.each([
    [19, 'platform', 'unexplained'],
    [20, 'platform', 'outside_backfill_window'],
    // V4's own dates are all recent
    [20, 'service', 'unexplained'],
  ] as const)(
    'infers the window from %i V4 records with dates of the %s: %s',
    (count, latestFrom, reason) => {
      const v4 = Array.from({ length: count }, (_, at): Thing => {
        return { id: 100 + at, key: `v${at}`, latest: NEW, latestFrom };
      });
      expect(remapRows(configOf(), { v3: [{ id: 1, key: 'a', latest: OLD }], v4 })[0]?.reason).toBe(reason);
    },
  );

  it.each([
    ['2026-08-01', '2026-08-19', 'configured'],
    ['2026-08-01', '2026-08-20', null],
    ['2026-09-10', '2026-08-19', 'configured'],
  ])(
    'takes a configured start whatever V4 holds: from %s, a date of %s is before the %s one',
    (inV4, latest, window) => {
      const v4 = Array.from(
        { length: 20 },
        (_, at): Thing => ({ id: 100 + at, key: `v${at}`, latest: inV4 }),
      );
      const v3: Thing[] = [{ id: 1, key: 'a', latest, latestFrom: 'service' }];
      const [row] = remapRows(configOf(since), { v3, v4 });
      const evidence = JSON.parse(row?.evidence ?? '');
      expect([row?.reason, evidence]).toEqual(
        window === null
          ? ['unexplained', {}]
          : [
              'outside_backfill_window',
              {
                latest_date: `${latest}T00:00:00.000Z`,
                latest_from: 'service',
                window_start: '2026-08-20T00:00:00.000Z',
                window,
              },
            ],
      );
    },
  );

  it('counts records by day, with the first and the last time of each', () => {
    const times = ['10', '08', '12', '09'].map((hour) => `1969-12-31T${hour}:00:00Z`);
    const dated = times.map((latest, id): Thing => ({ id, latest }));
    const { db, close } = openExported(configOf(), { v3: [...dated, { id: 9 }], v4: [] });
    remapOf(db, configOf());
    const days = db
      .prepare('select day, count, earliest_ms, latest_ms from remap_day order by 1')
      .raw()
      .all();
    close();
    const [, first = '', last = ''] = times;
    expect(days).toEqual([
      [null, 1n, null, null],
      [-1n, 4n, BigInt(Date.parse(first)), BigInt(Date.parse(last))],
    ]);
  });

  it('counts a pair whose unique ids differ', () => {
    const rows = remapRows(configOf(), {
      v3: things('1 a uid=u; 2 b uid=u; 3 c'),
      v4: things('9 a uid=v; 8 b uid=u; 7 c uid=w'),
    });
    expect(rows.map((row) => row.unique_id_conflict)).toEqual([1n, 0n, 0n]);
  });
});

function sameId() {
  return { match: 'same_id', include: [], exclude: [] } as const;
}
