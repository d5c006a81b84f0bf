import type { ReportLimit } from '../domain.js';
import { STATUSES, type Status } from '../reasons.js';
import { formatShare, groupDigits } from '../text/numbers.js';
import { firstInOrder } from '../text/rows.js';
import { describeAllowed, nameOfLimit } from './build-verdict.js';
import { countIds, describeKey, nameOfCompany, nameOfRange, sumFindings } from './describe.js';
import type { Counts, Report } from './report-schema.js';

/** A section of the report as a table, for every format. */
export interface ReportTable {
  readonly columns: readonly ReportColumn[];
  /** A cell of text for each column. */
  readonly rows: readonly (readonly string[])[];
}

export interface ReportColumn {
  readonly title: string;
  readonly numeric?: true;
  /** Whether sorting by it would be meaningless, as with charts, sentences and mixed units. */
  readonly unordered?: true;
}

/** Display names of the statuses. */
export const STATUS_NAMES: Readonly<Record<Status, string>> = {
  matched: 'matched',
  unmatched: 'unmatched',
  deleted: 'deleted',
  ambiguous: 'ambiguous',
  v4_only: 'only in V4',
};

export function numeric(title: string): ReportColumn {
  return { title, numeric: true };
}

function plain(...titles: readonly string[]): ReportColumn[] {
  return titles.map((title) => ({ title }));
}

export function unordered(title: string): ReportColumn {
  return { title, unordered: true };
}

/** Count of one status of V3 ids, or of the V4 ids without a V3 id. */
export interface StatusCount {
  readonly status: Status;
  readonly count: number;
  /** Share of the V3 ids; null for `v4_only`. */
  readonly share: string | null;
}

/** Rows with a V3 id by status, then all rows without one, of any status, as `v4_only`. */
export function listStatuses(counts: Pick<Counts, 'byStatus' | 'v3ByStatus'>): readonly StatusCount[] {
  const { v3, v4Only } = countIds(counts);
  return STATUSES.map((status) => {
    if (status === 'v4_only') return { status, count: v4Only, share: null };
    const count = counts.v3ByStatus[status];
    return { status, count, share: formatShare(count, v3) };
  });
}

const COUNT_COLUMNS = ['V3 ids', ...STATUSES.map((status) => STATUS_NAMES[status])].map(numeric);

function countCells(counts: Counts): string[] {
  const statuses = listStatuses(counts).map(({ count }) => count);
  return [countIds(counts).v3, ...statuses].map(groupDigits);
}

/** A row for each model: its names and its counts by status. */
export function modelTable({ models }: Report): ReportTable {
  return {
    columns: [...plain('Model', 'V4'), ...COUNT_COLUMNS],
    rows: models.map((one) => [one.model, one.v4Model ?? '–', ...countCells(one)]),
  };
}

/** The companies with the most findings, as a table and as counts, and the number of all. */
export function companyTable(
  { companies }: Report,
  most: number,
): ReportTable & { readonly counts: readonly Counts[]; readonly total: number } {
  const { shown, total } = firstInOrder(companies, most, (a, b) => sumFindings(b) - sumFindings(a));
  return {
    columns: [...plain('Company', 'Paired by'), ...COUNT_COLUMNS],
    rows: shown.map((one) => [nameOfCompany(one), one.matchedBy ?? '–', ...countCells(one)]),
    counts: shown,
    total,
  };
}

/** A row for each limit: its name, what it judged and what it allows. */
export function limitTable(limits: readonly ReportLimit[]): ReportTable {
  return {
    columns: [...plain('Limit'), numeric('Found'), { ...numeric('Allowed'), unordered: true }],
    rows: limits.map((limit) => [
      nameOfLimit(limit),
      limit.actual === null
        ? 'not measured'
        : `${groupDigits(limit.actual)}${limit.unit === 'hours' ? ' h' : ''}`,
      describeAllowed(limit),
    ]),
  };
}

/** A row for each `status/reason`: title, code, count, meaning and action. */
export function reasonTable({ totals }: Report): ReportTable {
  return {
    columns: [
      ...plain('Reason', 'Status / reason'),
      numeric('Rows'),
      ...['What it means', 'What to do'].map(unordered),
    ],
    rows: Object.entries(totals.byReason).map(([key, count]) => {
      const { title, meaning, action } = describeKey(key);
      return [title, key, groupDigits(count), meaning, action];
    }),
  };
}

/** The first rows of what to ask the operator for, the number of all, and that of their records. */
export function fullSyncTable(
  { fullSync }: Report,
  most: number,
): ReportTable & { readonly total: number; readonly records: number } {
  const rows: string[][] = [];
  let [total, records] = [0, 0];
  for (const one of fullSync) {
    total += 1;
    records += one.records;
    if (total > most) continue;
    rows.push([
      `${one.v3CompanyId} in ${one.region}`,
      one.v4CompanyId ?? '–',
      one.model,
      groupDigits(one.records),
      groupDigits(one.children),
      nameOfRange(one),
    ]);
  }
  const columns = [
    ...plain('V3 company', 'V4 company', 'Model'),
    numeric('Records'),
    numeric('Children'),
    ...plain('Dates'),
  ];
  return { columns, rows, total, records };
}
