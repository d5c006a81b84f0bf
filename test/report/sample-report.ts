import type { LimitValue } from '../../src/config/settings.js';
import type { Status } from '../../src/reasons.js';
import { judge, type RowCount } from '../../src/report/gate.js';
import type { Counts, WrittenReport } from '../../src/report/report-schema.js';
import { countReasons } from '../../src/text/reason-counts.js';

export const HOSTILE_TEXT =
  '</script><script>alert(1)</script><img src=x onerror=alert(1)> "quoted" \'single\' & | `code` **bold** [x](http://evil.example) @team #1 www.evil.example =1+1 \u001b[31m \u0000 \u0007 \u202egnp.exe \u2066 \ufffe \ufeff \ud800 ]]> <!-- --> __proto__\n# heading\r\n|---|';

/** How many of what a made-up report holds. */
export interface ReportSize {
  readonly models: number;
  readonly companies: number;
  /** Text that stands where data of the service can stand. */
  readonly text?: string;
}

/** A made-up failing report whose numbers add up. */
export function makeReport({ models, companies, text = 'INV-1' }: ReportSize): WrittenReport {
  const names = Array.from(
    { length: models },
    (_, at) => `accounting/model_${String(at + 1).padStart(2, '0')}`,
  );
  const perModel = names.map((_, at) => countsOf(at + 1));
  const rows: RowCount[] = names.flatMap((model, at) => [
    {
      model,
      status: 'matched' as const,
      reason: null,
      unit: 'v3_record' as const,
      count: perModel[at]?.byStatus.matched ?? 0,
    },
    ...Object.entries(perModel[at]?.byReason ?? {}).map(([key, count]) => rowOf(model, key, count)),
  ]);
  const v3Rows = new Map(names.map((name, at) => [name, idsOf(perModel[at])]));
  const none = new Map<string, number>();
  const counts = {
    rows,
    v3Rows,
    rejected: none,
    shortStreams: none,
    uniqueIdConflicts: none,
    drift: null,
    staleDecisions: none,
  };
  const limit: LimitValue = { kind: 'percent', percent: 100, text: '100%' };
  const gate = judge(
    { ...counts, ageMs: 7_380_000 },
    { global: { connection_inert: limit }, models: {} },
    86_400_000,
  );
  const totals = addUp(perModel);
  return {
    schemaVersion: 1,
    tool: { name: 'svc-migrate', version: '0.0.0' },
    generatedAt: '2026-11-01T02:03:00.000Z',
    outcome: 'fail',
    exitCode: 1,
    scope: { models: null, companies: null },
    blockers: [],
    gate,
    totals,
    models: names.map((model, at) => ({ model, v4Model: model.slice(11), ...countsOf(at + 1) })),
    companies: Array.from({ length: companies }, (_, at) => ({
      region: at % 2 === 0 ? 'eu' : 'us',
      v3CompanyId: String(1000 + at),
      v4CompanyId: at % 7 === 3 ? null : String(5000 + at),
      matchedBy: at % 7 === 3 ? ('none' as const) : ('overlap' as const),
      ...countsOf(at),
    })),
    ambiguousCompanies: [],
    reasons: countReasons(rows),
    completeness: listStreams(names, text),
    fullSync: names.slice(0, 12).map((model, at) => ({
      region: 'eu',
      v3CompanyId: String(1000 + at),
      v4CompanyId: String(5000 + at),
      model,
      records: 40 + at,
      children: 3,
      earliest: '2024-02-01T00:00:00.000Z',
      latest: '2026-08-01T00:00:00.000Z',
    })),
    findings: { total: totals.byStatus.unmatched, samples: listSamples(names, text), fullList: 'remap' },
    drift: makeDrift(),
    decisions: makeDecisions(text),
    cannotSee: [
      {
        code: 'ghosts',
        name: 'ghosts (V3 records whose source record is gone)',
        text: 'Records that V3 still shows though their source deleted them.',
      },
    ],
    timeline: makeTimeline(),
    evidence: {
      database: 'svc-migrate.db',
      oldestReadAt: '2026-11-01T00:00:00.000Z',
      newestReadAt: '2026-11-01T01:00:00.000Z',
      ageHours: 2,
      fingerprint: { 'v4.baseUrl': 'https://api.example', 'models.accounting/model_01': text },
      remap: { sha256: 'b'.repeat(64), builtAt: '2026-11-01T01:30:00.000Z', rows: 12_345, stale: false },
      conservation: { v3Exported: idsOf(totals), v3Rows: idsOf(totals), holds: true },
    },
  };
}

function rowOf(model: string, key: string, count: number): RowCount {
  const [status = '', reason = ''] = key.split('/');
  const known: readonly Status[] = ['unmatched', 'deleted', 'ambiguous', 'v4_only'];
  const unit = status === 'v4_only' ? 'v4_record' : 'v3_record';
  return { model, status: known.find((one) => one === status) ?? 'unmatched', reason, unit, count };
}

function countsOf(seed: number): Counts {
  const matched = 500 + ((seed * 7919) % 4000);
  const outside = seed % 3 === 0 ? 40 + seed : 0;
  const unexplained = seed % 5 === 0 ? seed : 0;
  const inert = seed % 11 === 0 ? 25 : 0;
  const deleted = (seed * 31) % 120;
  const ambiguous = seed % 9 === 0 ? 4 : 0;
  const v4Only = seed % 4 === 0 ? 9 : 0;
  const ids = matched + outside + unexplained + inert + deleted + ambiguous;
  const reasons: [string, number][] = [
    ['unmatched/connection_inert', inert],
    ['unmatched/outside_backfill_window', outside],
    ['unmatched/unexplained', unexplained],
    ['deleted/deleted_in_v4', deleted],
    ['ambiguous/duplicate_platform_id_v4', ambiguous],
    ['v4_only/created_after_export', v4Only],
  ];
  return {
    v3Records: ids,
    v3Children: 0,
    v4Records: matched + deleted + v4Only,
    v4Children: 0,
    rejected: 0,
    uniqueIdConflicts: 0,
    byStatus: { matched, unmatched: outside + unexplained + inert, deleted, ambiguous, v4_only: v4Only },
    v3ByStatus: { matched, unmatched: outside + unexplained + inert, deleted, ambiguous },
    byReason: Object.fromEntries(reasons.filter(([, n]) => n > 0)),
  };
}

function idsOf(counts: Counts | undefined): number {
  return counts === undefined ? 0 : counts.v3Records + counts.v3Children;
}

function addUp(all: readonly Counts[]): Counts {
  const sum = countsOf(0);
  const byStatus = { matched: 0, unmatched: 0, deleted: 0, ambiguous: 0, v4_only: 0 };
  const byReason: Record<string, number> = {};
  const v3ByStatus = { matched: 0, unmatched: 0, deleted: 0, ambiguous: 0 };
  const totals = { ...sum, v3Records: 0, v4Records: 0, byStatus, v3ByStatus, byReason };
  for (const one of all) {
    totals.v3Records += one.v3Records;
    totals.v4Records += one.v4Records;
    for (const [key, n] of Object.entries(one.byReason)) byReason[key] = (byReason[key] ?? 0) + n;
    byStatus.matched += one.byStatus.matched;
    byStatus.unmatched += one.byStatus.unmatched;
    byStatus.deleted += one.byStatus.deleted;
    byStatus.ambiguous += one.byStatus.ambiguous;
    byStatus.v4_only += one.byStatus.v4_only;
    for (const status of ['matched', 'unmatched', 'deleted', 'ambiguous'] as const) {
      v3ByStatus[status] += one.v3ByStatus[status];
    }
  }
  return totals;
}

function listStreams(models: readonly string[], text: string): WrittenReport['completeness'] {
  return models.flatMap((model, at) =>
    (['v3', 'v4'] as const).map((generation) => ({
      generation,
      region: generation === 'v3' ? 'eu' : '',
      model,
      v4Model: model.slice(11),
      readBy: 'list' as const,
      companyId: generation === 'v3' ? null : '5000',
      state:
        at === 1
          ? ('short' as const)
          : at === 2 && generation === 'v3'
            ? ('absent' as const)
            : ('complete' as const),
      endReason: at === 1 ? text : null,
      pages: 10,
      records: 5000,
      uniqueRecords: 5000,
      duplicates: 0,
      rejected: 0,
      totalCountFirst: 5000,
      totalCountLast: 5000 + (at === 1 ? 3 : 0),
      startedAt: '2026-11-01T00:00:00.000Z',
      finishedAt: '2026-11-01T01:00:00.000Z',
    })),
  );
}

function listSamples(models: readonly string[], text: string): WrittenReport['findings']['samples'] {
  return models.slice(0, 6).map((model, at) => ({
    model,
    path: at % 2 === 0 ? '' : 'line_items',
    region: 'eu',
    v3_company_id: '1000',
    v4_company_id: '5000',
    platform_id: text,
    parent_platform_id: at % 2 === 0 ? null : text,
    v3_svc_id: '9223372036854775807',
    v4_svc_id: null,
    status: 'unmatched' as const,
    reason: at % 2 === 0 ? 'unexplained' : 'parent_key_changed',
    matched_by: null,
    evidence: { note: text },
  }));
}

function makeDecisions(text: string): WrittenReport['decisions'] {
  return {
    file: 'decisions.csv',
    sha256: 'd'.repeat(64),
    taken: 12,
    notNeeded: 0,
    stale: 1,
    idle: [
      {
        line: 7,
        model: 'accounting/model_01',
        path: '',
        region: 'eu',
        v3_company_id: '1000',
        v3_svc_id: '5',
        v4_svc_id: null,
        note: text,
        until: null,
        outcome: 'stale',
        why: 'v3_deleted',
        text: 'not taken: the V3 record is deleted',
      },
    ],
  };
}

function makeDrift(): WrittenReport['drift'] {
  const counts = { pairs: 900, compared: 900, differing: 2 };
  return {
    measured: true,
    ...counts,
    models: [{ model: 'accounting/model_01', ...counts, sample: '9007199254740993' }],
  };
}

function makeTimeline(): WrittenReport['timeline'] {
  const months = Array.from({ length: 30 }, (_, at) => {
    const date = new Date(Date.UTC(2024, 5 + at, 1)).toISOString().slice(0, 7);
    const inside = at >= 26;
    return {
      month: date,
      matched: inside ? 900 + at * 10 : 12,
      unmatched: inside ? 8 : 300 + at * 17,
      other: 25,
    };
  });
  return {
    window: { since: '2026-08-20T00:00:00.000Z', source: 'configured' },
    months,
    earlier: { month: 'before 2024-06', matched: 3, unmatched: 800, other: 4 },
    later: null,
    undated: 7,
  };
}
