import { describe, expect, it } from 'vitest';
import { buildDocument } from '../../src/report/document.js';
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
        byReason: {
          'unmatched/outside_backfill_window': 1,
          'unmatched/parent_outside_backfill_window': 1,
          'unmatched/unexplained': 1,
          'deleted/deleted_not_in_v4': 1,
          'v4_only/unexplained': 1,
        },
        recordsByReason: {
          'unmatched/outside_backfill_window': 1,
          'unmatched/unexplained': 1,
          'deleted/deleted_not_in_v4': 1,
          'v4_only/unexplained': 1,
        },
        childrenByReason: { 'unmatched/parent_outside_backfill_window': 1 },
      });
      expect(models[0]).toEqual({ model: INVOICES, v4Model: 'invoices', ...totals });
      const company = { region: 'default', v3CompanyId: '1', v4CompanyId: '1', matchedBy: 'overlap' };
      expect(companies).toEqual([{ ...company, ...totals }]);
    });
  });

  it('judges every row and says what to ask the operator for', async () => {
    await withScene(MIXED, ({ report }) => {
      const { gate, reasons, fullSync, outcome, exitCode } = report();
      expect([outcome, exitCode]).toEqual(['fail', 1]);
      expect(gate.limits.map(({ name, actual, unit, pass }) => [name, actual, unit, pass])).toEqual([
        ['unmatched', 3, 'v3_ids', false],
        ['v4_only/unexplained', 1, 'v4_ids', false],
        ['deleted', 1, 'v3_ids', true],
        ['matched', 2, 'v3_ids', true],
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

  it('adds records up by month', async () => {
    await withScene(MIXED, ({ report }) => {
      const { months } = report().timeline;
      expect(months.map(({ month }) => month).at(0)).toBe('2026-01');
      expect(months.length).toBe(10);
      expect(months.at(-1)).toEqual({ month: '2026-10', matched: 1, unmatched: 1, other: 0 });
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
