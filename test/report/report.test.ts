import { describe, expect, it } from 'vitest';
import { buildDocument } from '../../src/report/document.js';
import { renderHtml } from '../../src/report/render-html.js';
import { renderJunit } from '../../src/report/render-junit.js';
import { renderMarkdown } from '../../src/report/render-markdown.js';
import { renderText } from '../../src/report/render-text.js';
import { reportSchema } from '../../src/report/report-schema.js';
import { CLEAN, INVOICES, MIXED, NOW, type Scene, withScene } from './support.js';

const NONE = { matched: 0, unmatched: 0, deleted: 0, ambiguous: 0 };

describe('the report', () => {
  it('is valid and the same for the same database at another time', async () => {
    await withScene(MIXED, ({ report }) => {
      const first = reportSchema.parse(report());
      expect({ ...report({}, NOW + 1000), generatedAt: '' }).toEqual({ ...first, generatedAt: '' });
    });
  });

  it('counts records and line items apart, for all, by model and by company', async () => {
    await withScene(MIXED, ({ report }) => {
      const { totals, models, companies } = report();
      expect(totals).toEqual({
        v3Records: 4,
        v3Children: 2,
        v4Records: 2,
        v4Children: 1,
        rejected: 0,
        uniqueIdConflicts: 0,
        merged: 0,
        byStatus: { matched: 2, unmatched: 3, deleted: 1, ambiguous: 0, v4_only: 1 },
        v3ByStatus: { matched: 2, unmatched: 3, deleted: 1, ambiguous: 0 },
        v3RecordsByStatus: { ...NONE, matched: 1, unmatched: 2, deleted: 1 },
        v3ChildrenByStatus: { ...NONE, matched: 1, unmatched: 1 },
        recordsByReason: {
          'unmatched/outside_backfill_window': 1,
          'unmatched/unexplained': 1,
          'deleted/deleted_not_in_v4': 1,
          'v4_only/unexplained': 1,
        },
        childrenByReason: { 'unmatched/parent_outside_backfill_window': 1 },
      });
      expect(models[0]).toEqual({ model: INVOICES, v4Model: 'invoices', ...totals });
      const { v3Records, v3Children, v4Records, v4Children, rejected, ...rows } = totals;
      const company = { region: 'default', v3CompanyId: '1', v4CompanyId: '1', matchedBy: 'overlap' };
      expect(companies).toEqual([{ ...company, ...rows }]);
    });
  });

  it('judges every row and says what to ask the operator for', async () => {
    await withScene(MIXED, ({ report }) => {
      const { gate, reasons, fullSync, outcome, exitCode } = report();
      expect([outcome, exitCode]).toEqual(['fail', 1]);
      expect(gate.limits.map(({ name, actual, unit, pass }) => [name, actual, unit, pass])).toEqual([
        ['matched', 2, 'v3_ids', true],
        ['unmatched', 3, 'v3_ids', false],
        ['deleted', 1, 'v3_ids', true],
        ['v4_only/unexplained', 1, 'v4_ids', false],
        ['maxAge', 2, 'hours', true],
      ]);
      expect(reasons[0]).toMatchObject({
        key: 'unmatched/outside_backfill_window',
        v3: { records: 1, lineItems: 1 },
      });
      const date = '2026-01-05T00:00:00.000Z';
      const row = { region: 'default', v3CompanyId: '1', v4CompanyId: '1', model: INVOICES };
      expect(fullSync).toEqual([{ ...row, records: 1, children: 1, earliest: date, latest: date }]);
    });
  });

  it('narrows to models and companies', async () => {
    await withScene(MIXED, ({ report }) => {
      expect(report({ models: ['payments/orders'] }).totals.v3Records).toBe(0);
      expect(report({ companies: [1n] }).totals.byStatus.matched).toBe(2);
      expect(report({ companies: [9n] }).totals.v3Records).toBe(0);
    });
  });

  it('shows the first findings of each reason, without the line items of findings', async () => {
    const ids = Array.from({ length: 8 }, (_, at): [number, null] => [100 + at, null]);
    const rows = [...MIXED.rows, { status: 'unmatched' as const, reason: 'no_platform_id', ids }];
    await withScene({ ...MIXED, rows }, ({ report }) => {
      const { findings } = report();
      expect(findings.total).toBe(13);
      expect(findings.samples.map((row) => row.v3_svc_id ?? row.v4_svc_id)).toEqual([
        '2',
        '3',
        '4',
        '3',
        '100',
        '101',
        '102',
        '103',
        '104',
      ]);
    });
  });

  it('adds records up by month, and beyond 60 months in one', async () => {
    const rows = [
      ...MIXED.rows,
      {
        status: 'matched' as const,
        ids: [
          [201, 202],
          [203, 204],
        ] as const,
        day: '2015-03-01',
      },
      { status: 'matched' as const, ids: [[205, 206]] as const, day: '2099-01-01' },
    ];
    await withScene({ ...MIXED, rows }, ({ report }) => {
      expect(report().timeline).toEqual({
        months: [
          { month: 'before 2021-12', matched: 2, unmatched: 0, other: 0 },
          { month: '2026-01', matched: 0, unmatched: 1, other: 0 },
          { month: '2026-09', matched: 0, unmatched: 0, other: 1 },
          { month: '2026-10', matched: 1, unmatched: 1, other: 0 },
          { month: 'after 2026-11', matched: 1, unmatched: 0, other: 0 },
        ],
        undated: 0,
      });
    });
  });
});

describe('the start of the history of V4', () => {
  const withWindow = (since: string, nineTenths: string): Scene => ({
    ...CLEAN,
    windows: [{ source: 'inferred', since, nineTenths, v4SvcId: 77 }],
  });

  it('is doubtful where one old record stands alone, and the first lines say what to set', async () => {
    await withScene(withWindow('2026-01-05', '2026-09-10'), ({ report }) => {
      const doubtful = report();
      expect(doubtful.windows).toMatchObject([{ source: 'inferred', v4SvcId: '77', doubtful: 1 }]);
      const text = renderText(buildDocument(doubtful), { width: 80, color: false, verbose: false });
      expect(text.split('\n').slice(0, 8).join(' ')).toMatch(/V4 id 77.*2026-09-10.*backfill\.since/);
    });
  });

  it('is believed where records are spread', async () => {
    await withScene(withWindow('2026-09-01', '2026-09-08'), ({ report }) => {
      expect(report().windows).toMatchObject([{ doubtful: 0 }]);
    });
  });

  it('is contradicted by V4 records from before the configured start, where ids count as older', async () => {
    const window = { source: 'configured' as const, since: '2026-09-01' };
    const older = {
      status: 'unmatched' as const,
      reason: 'outside_backfill_window',
      ids: [[9, null]] as const,
    };
    const sceneOf = (nineTenths: string, reason = older.reason): Scene => ({
      rows: [...CLEAN.rows, { ...older, reason }],
      windows: [{ ...window, nineTenths }],
    });
    await withScene(sceneOf('2026-01-05'), ({ report }) => {
      expect(report().windows).toMatchObject([{ contradicted: 1 }]);
      const text = renderText(buildDocument(report()), { width: 80, color: false, verbose: false });
      expect(text.split('\n').slice(0, 10).join(' ')).toMatch(/1 V3 id of accounting\/invoices may be lost/);
    });
    for (const scene of [sceneOf('2026-09-02'), sceneOf('2026-01-05', 'key_changed')])
      await withScene(scene, ({ report }) => {
        expect(report().windows).toMatchObject([{ contradicted: 0 }]);
      });
  });

  it('is the next step for unexplained records if it is doubtful', async () => {
    const rows = [
      ...CLEAN.rows,
      { status: 'unmatched' as const, reason: 'unexplained', ids: [[9, null]] as const },
    ];
    await withScene({ ...withWindow('2026-01-05', '2026-09-10'), rows }, ({ report }) => {
      expect(report().next).toContain('"backfill"');
    });
    await withScene({ ...withWindow('2026-09-01', '2026-09-08'), rows }, ({ report }) => {
      expect(report().next).toContain('"unexplained"');
    });
  });
});

describe('an unknown start of the history of V4', () => {
  const windows = [
    { source: 'unknown' as const },
    { source: 'inferred' as const, v4Company: 2, since: '2026-09-01', nineTenths: '2026-09-08', v4SvcId: 7 },
  ];
  const sceneOf = (v4Company: number): Scene => ({
    rows: [
      ...CLEAN.rows,
      { status: 'unmatched', reason: 'unexplained', v4Company, ids: [[9, null]] },
      { path: 'line_items', status: 'unmatched', reason: 'parent_unexplained', v4Company, ids: [[19, null]] },
    ],
    windows,
  });

  it('is what to set where records are unexplained for lack of it', async () => {
    await withScene(sceneOf(1), ({ report }) => {
      const unknown = report();
      expect(unknown.windows).toMatchObject([{ source: 'inferred', unknown: 1, unexplained: 2 }]);
      expect(unknown.next).toContain('"backfill"');
      const text = renderText(buildDocument(unknown), { width: 80, color: false, verbose: false });
      const head = text.split('\n').slice(0, 10).join(' ');
      expect(head).toMatch(/2 V3 ids.*accounting\/invoices.*backfill\.since/);
    });
  });

  it('is not where they are of a company whose start is known', async () => {
    await withScene(sceneOf(2), ({ report }) => {
      expect(report().next).not.toContain('"backfill"');
      expect(buildDocument(report()).warnings).toEqual([]);
    });
  });
});

describe('a gate that the configuration narrows', () => {
  it.each([
    [{ companies: { include: [1] } }, 'companies.include', '1'],
    [{ companies: { exclude: [7, 8] } }, 'companies.exclude', '7'],
    [
      { v3: { regions: { default: { baseUrl: 'https://v3.example' } }, companies: [1, 3] } },
      'v3.companies',
      '3',
    ],
    [{ v4: { baseUrl: 'https://v4.example', companies: [1] } }, 'v4.companies', '1'],
  ])('says so in every format: %j', async (settings, name, company) => {
    await withScene({ ...CLEAN, settings }, ({ report }) => {
      const narrowed = report();
      expect(narrowed.scope.settings).toEqual([{ name, companies: expect.arrayContaining([company]) }]);
      const document = buildDocument(narrowed);
      const style = { width: 400, color: false, verbose: false };
      const formats = [
        renderText(document, style).split('\n').slice(0, 4).join(' '),
        renderMarkdown(document).split('<details>')[0] ?? '',
        renderHtml(document, narrowed).split('</header>')[0] ?? '',
        [...renderJunit(narrowed)].join(''),
      ];
      for (const text of formats)
        expect(text).toMatch(new RegExp(`(?:only|without).*${company}.*${name}`, 'i'));
    });
  });

  it('says nothing where all companies were read', async () => {
    await withScene(CLEAN, ({ report }) => {
      expect(report().scope).toEqual({ models: null, companies: null, settings: [] });
      expect([...renderJunit(report())].join('')).not.toContain('name="scope"');
    });
  });
});

describe('what the check cannot see', () => {
  it.each([
    { name: 'not after a walk', scene: MIXED, phase: 'walk', isNamed: false },
    { name: 'not after a sweep', scene: MIXED, phase: 'sweep', isNamed: false },
    { name: 'after a top-up, of live ids without a V4 id', scene: MIXED, phase: 'top_up', isNamed: true },
    { name: 'not where every live id has its V4 id', scene: CLEAN, phase: 'top_up', isNamed: false },
  ])('names records that vanished from V3: $name', async ({ scene, phase, isNamed }) => {
    const streams = [{ set: `phase = '${phase}'`, where: "generation = 'v3'" }];
    await withScene({ ...scene, streams }, ({ report }) => {
      const codes = report().cannotSee.map(({ code }) => code);
      expect(codes.includes('v3_vanished')).toBe(isNamed);
    });
  });
});

it('evidence that is too old is told in hours, not in records', async () => {
  await withScene(CLEAN, ({ report }) => {
    const old = report({}, NOW + 30 * 3_600_000);
    const text = renderText(buildDocument(old), { width: 80, color: false, verbose: false });
    expect(old.gate.limits.at(-1)).toMatchObject({ name: 'maxAge', actual: 33, pass: false });
    expect(text).toContain('Evidence too old: limit maxAge: 33 hours found, 24 allowed');
    expect(text).not.toMatch(/– +hours/);
  });
});

describe('long lists', () => {
  const MANY = 10_003;
  const numbers = `with recursive n(i) as (select 2 union all select i + 1 from n where i <= ${MANY})`;
  const scene: Scene = {
    rows: CLEAN.rows,
    sql: [
      `${numbers} insert into company select 'default', i, null, 'ambiguous', 0, 0, i, 0, '[]' from n`,
      `${numbers} insert into stream(generation, region, model, company_id, route, state, read_at)
       select 'v4', '', '${INVOICES}', i, 'invoices', 'complete', '2026-11-01T00:00:00.000Z' from n`,
      `${numbers} insert into remap_group(model, path, region, v3_company_id, status, reason, provisional, unique_id_conflict,
         merged, count, v3_count)
       select '${INVOICES}', '', 'default', i, 'unmatched', 'outside_backfill_window', 0, 0, 0, 1, 1 from n`,
      `${numbers} insert into remap_row(group_id, platform_id, v3_svc_id)
       select g.id, 'p', 1000 + g.id from remap_group as g where g.reason = 'outside_backfill_window'`,
      `insert into exported_count
       select 'v3', 'default', '${INVOICES}', v3_company_id, 1, 0, 0, 0 from remap_group where reason = 'outside_backfill_window'`,
    ],
  };

  it('end at 10,000 rows, and every format says how many there are', async () => {
    await withScene(scene, ({ report }) => {
      const long = report();
      const { companies, completeness, fullSync, omitted } = long;
      const lengths = [companies, completeness, fullSync].map(({ length }) => length);
      expect(lengths).toEqual([10_000, 10_000, 10_000]);
      expect(omitted).toEqual({ companies: 4, completeness: 8, fullSync: 3 });
      expect(long.totals.v3RecordsByStatus.unmatched).toBe(MANY);
      const text = renderText(buildDocument(long), { width: 80, color: false, verbose: true });
      const rest = text.split('\n').filter((line) => line.includes(' more: '));
      expect(rest.map((line) => /[\d,]+/.exec(line)?.[0])).toEqual(['9,503', '9,504']);
    });
  });
});
