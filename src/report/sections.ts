import { shownState } from '../domain.js';
import { outcomeKey, STATUSES } from '../reasons.js';
import { countOf, formatDuration, formatShare, formatTime, groupDigits, listFirst } from '../text/numbers.js';
import { sumOf } from '../text/rows.js';
import { cutText } from '../text/wrap.js';
import { sumStatuses } from './build-report.js';
import { nameOfStream } from './cannot-see.js';
import type { JudgedLimit } from './gate.js';
import {
  actionFor,
  describeIds,
  listObstacles,
  type Refusal,
  titleOfKey,
  titleWithKey,
} from './next-steps.js';
import type { Report, RowCounts } from './report-schema.js';

export interface Section {
  readonly id: string;
  readonly title: string;
  readonly texts?: readonly string[];
  readonly table?: DocumentTable;
  readonly items?: readonly Item[];
  /** The age of the records beside V4's history, which starts at `since`, if that is known. */
  readonly chart?: { readonly months: Report['timeline']['months']; readonly since: string | null };
  /** Left out on a terminal without --verbose, folded in Markdown. */
  readonly isDetail?: boolean;
}

export interface DocumentTable {
  readonly columns: readonly DocumentColumn[];
  /** The first rows. */
  readonly rows: readonly (readonly string[])[];
  /** The number of all rows. */
  readonly total: number;
}

export interface DocumentColumn {
  readonly title: string;
  readonly numeric: boolean;
}

export interface Item {
  readonly title: string;
  readonly text?: string;
  readonly action?: string;
}

type Cell = string | number | null;

const MAX_ROWS = 500;

/**
 * A table without empty cells; nothing if it has no rows.
 *
 * @param omitted rows that the report does not hold
 */
export function tableOf(
  titles: readonly string[],
  rows: readonly (readonly Cell[])[],
  omitted = 0,
): { table?: DocumentTable } {
  if (rows.length === 0) return {};
  const columns = titles.map((title, index) => ({
    title,
    numeric: title.startsWith('%') || rows.every((row) => typeof row[index] !== 'string'),
  }));
  const shown = rows.slice(0, MAX_ROWS).map((row) => row.map(cellOf));
  return { table: { columns, rows: shown, total: rows.length + omitted } };
}

/** A section with a table; null if the table has no rows. */
function tableSection(
  head: Omit<Section, 'table'>,
  titles: readonly string[],
  rows: readonly (readonly Cell[])[],
  omitted = 0,
): Section | null {
  const { table } = tableOf(titles, rows, omitted);
  return table === undefined ? null : { ...head, table };
}

function cellOf(value: Cell): string {
  return typeof value === 'number' ? groupDigits(value) : (value ?? '–');
}

export function buildSections(report: Report): Section[] {
  const sections: readonly (Section | null)[] = [
    obstacleSection(report),
    idSection(report),
    v4Section(report),
    historySection(report),
    modelSection(report),
    limitSection(report),
    reasonSection(report),
    pairSection(report),
    fullSyncSection(report),
    decisionSection(report),
    ageSection(report),
    companySection(report),
    sampleSection(report),
    listSection(report),
    limitationSection(report),
    evidenceSection(report),
  ];
  return sections.filter((section) => section !== null);
}

function obstacleSection({ blockers, gate, windows }: Report): Section | null {
  const items = [
    ...blockers.map(({ text: title, next: action }): Item => ({ title, action })),
    ...obstacleItems(gate.limits, windows),
  ];
  return items.length === 0 ? null : { id: 'obstacles', title: 'What stands in the way', items };
}

/** What failed limits refuse, and what changes that. */
export function obstacleItems(limits: readonly JudgedLimit[], windows: Report['windows']): Item[] {
  return listObstacles(limits).map((obstacle) => {
    const { key, limit } = obstacle;
    const action = actionFor(key, windows, limit.model);
    return { title: titleOfKey(key), text: describeObstacle(obstacle), action };
  });
}

/** `3 V3 records, 1 V3 line item: crm/companies 4 (limit unmatched: 7 V3 ids found, 0 allowed)` */
function describeObstacle({ models, limit, ...sides }: Refusal): string {
  const named = listFirst(models.map(([model, found]) => `${model} ${groupDigits(found)}`));
  const ids = describeIds(sides);
  const where = [ids, named].filter((part) => part !== '').join(': ');
  const judged = limit.detail ?? `limit ${nameOfLimit(limit)}: ${describeLimit(limit)}`;
  return where === '' ? judged : `${where} (${judged})`;
}

const UNIT_NAMES: Readonly<Record<JudgedLimit['unit'], string>> = {
  ids: 'V3 and V4 ids',
  v3_ids: 'V3 ids',
  v4_ids: 'V4 ids',
  pairs: 'pairs',
  objects: 'objects',
  streams: 'lists',
  decisions: 'decisions',
  hours: 'hours',
};

function describeAllowed({ allowed, unit, base }: JudgedLimit): string {
  if (allowed === null) return 'any';
  if (typeof allowed === 'string') return `${allowed} of ${groupDigits(base ?? 0)}`;
  return unit === 'hours' ? formatDuration(allowed * 3_600_000) : groupDigits(allowed);
}

/** `unmatched for crm/companies`. */
export function nameOfLimit({ name, model }: JudgedLimit): string {
  return model === null ? name : `${name} for ${model}`;
}

/** `12 V3 ids found, 0 allowed`. */
export function describeLimit(limit: JudgedLimit): string {
  const { actual, unit } = limit;
  const number = actual === null ? 'not measured' : `${groupDigits(actual)} ${UNIT_NAMES[unit]} found`;
  return `${number}, ${describeAllowed(limit)} allowed`;
}

const V3_STATUSES = STATUSES.filter((status) => status !== 'v4_only');

function idSection({ totals }: Report): Section {
  const sides = [totals.v3RecordsByStatus, totals.v3ChildrenByStatus, totals.v3ByStatus] as const;
  const all = sumStatuses(totals.v3ByStatus);
  const rows = V3_STATUSES.map((status) => [
    status,
    ...sides.map((side) => side[status]),
    formatShare(totals.v3ByStatus[status], all),
  ]);
  const sums = ['all', ...sides.map(sumStatuses), formatShare(all, all)];
  const titles = ['Status', 'Records', 'Line items', 'V3 ids', '% of V3 ids'];
  return { id: 'v3-ids', title: 'V3 ids', ...tableOf(titles, [...rows, sums]) };
}

const REASON_TITLES = ['Records', 'Line items', 'Reason'];

/** Findings of one side by reason. */
function reasonRows(reasons: Report['reasons'], side: 'v3' | 'v4'): Cell[][] {
  return reasons
    .map((reason) => ({ ...reason[side], key: reason.key }))
    .filter(({ records, lineItems }) => records + lineItems > 0)
    .map(({ records, lineItems, key }) => [records, lineItems, titleWithKey(key)]);
}

function v4Section({ totals, reasons }: Report): Section | null {
  if (totals.v4Records + totals.v4Children === 0) return null;
  const exported = `${countOf(totals.v4Records, 'V4 record')} with ${countOf(totals.v4Children, 'line item')} exported.`;
  const rows = reasonRows(reasons, 'v4');
  const texts = [rows.length === 0 ? `None; ${exported}` : exported];
  return { id: 'v4-ids', title: 'V4 ids without a V3 id', texts, ...tableOf(REASON_TITLES, rows) };
}

function reasonSection({ reasons }: Report): Section | null {
  const head = { id: 'reasons', title: 'V3 ids that are not matched, by reason' };
  return tableSection(head, REASON_TITLES, reasonRows(reasons, 'v3'));
}

function dayOf(time: string | null): string | null {
  return time?.slice(0, 10) ?? null;
}

function historySection({ windows }: Report): Section | null {
  if (windows.length === 0 || windows[0]?.source === 'configured') return null;
  const rows = windows.map(({ model, source, since, nineTenthsSince, doubtful, unknown, v4SvcId }) => {
    const start = source === 'inferred' ? dayOf(since) : 'unknown';
    return [model, start, dayOf(nineTenthsSince), doubtful, unknown, v4SvcId];
  });
  return {
    id: 'history',
    title: "Start of V4's history",
    texts: [
      'Inferred for each model and company: the oldest of its V4 records, if there are at least 20. Shown is the most doubtful company of each model, with the record that it was inferred from and the day from which nine in ten of its records are; then how many companies are doubtful or unknown. "backfill.since" in the configuration replaces it.',
    ],
    ...tableOf(['Model', 'Start', '9 of 10 from', 'Doubtful', 'Unknown', 'From V4 id'], rows),
    isDetail: true,
  };
}

const COUNT_TITLES = ['Records', 'matched', 'Line items', 'matched', 'Only V4'];

/** V3 records and line items, and those that are matched; ids of V4 without a V3 id. */
function countCells({ v3RecordsByStatus, v3ChildrenByStatus, byStatus, v3ByStatus }: RowCounts): number[] {
  return [
    sumStatuses(v3RecordsByStatus),
    v3RecordsByStatus.matched,
    sumStatuses(v3ChildrenByStatus),
    v3ChildrenByStatus.matched,
    sumStatuses(byStatus) - sumStatuses(v3ByStatus),
  ];
}

function modelSection({ models }: Report): Section {
  const rows = models.map((model) => [model.model, ...countCells(model)]);
  return { id: 'models', title: 'Models', ...tableOf(['Model', ...COUNT_TITLES], rows) };
}

function companySection({ companies, omitted }: Report): Section | null {
  const nameOf = ({ region, v3CompanyId, v4CompanyId }: Report['companies'][number]) =>
    v3CompanyId === null ? `V4 ${v4CompanyId}` : `${v3CompanyId} in ${region} → ${v4CompanyId ?? 'none'}`;
  const rows = companies.map((company) => [nameOf(company), ...countCells(company), company.matchedBy]);
  const head = { id: 'companies', title: 'Companies, most findings first', isDetail: true };
  return tableSection(head, ['V3 → V4 company', ...COUNT_TITLES, 'Paired by'], rows, omitted.companies);
}

function limitSection({ gate }: Report): Section {
  const rows = gate.limits
    .filter(({ allowed }) => allowed !== null)
    .map((limit) => [
      limit.actual,
      UNIT_NAMES[limit.unit],
      describeAllowed(limit),
      limit.pass ? 'ok' : 'EXCEEDED',
      `${nameOfLimit(limit)}${limit.configured ? '' : ' (default)'}`,
    ]);
  const titles = ['Found', 'Of', 'Allowed', 'Verdict', 'Limit'];
  return { id: 'limits', title: 'Limits', ...tableOf(titles, rows), isDetail: true };
}

function pairSection({ ambiguousCompanies, omitted }: Report): Section | null {
  const rows = ambiguousCompanies.map(({ region, v3CompanyId, candidates }) => {
    const named = candidates.map(
      ({ v4CompanyId, agreeingKeys, comparableKeys }) =>
        `${v4CompanyId} (${groupDigits(agreeingKeys)} of ${countOf(comparableKeys, 'key')} agree)`,
    );
    return [`${v3CompanyId} in ${region}`, named.join(', ') || 'no candidate'];
  });
  const titles = ['V3 company', 'V4 companies that it may be'];
  const texts = ['`svc-migrate findings --write-companies companies.csv` drafts a line for each.'];
  const head = { id: 'pair', title: 'Companies to pair by hand', texts };
  return tableSection(head, titles, rows, omitted.ambiguousCompanies);
}

function fullSyncSection({ fullSync, omitted, reasons }: Report): Section | null {
  const outside = reasons.find(({ key }) => key === 'unmatched/outside_backfill_window');
  if (outside === undefined) return null;
  const { records, lineItems } = outside.v3;
  const rows = fullSync.map((row) => {
    const months = [row.earliest, row.latest].map((time) => time?.slice(0, 7) ?? '–');
    const company = `${row.v3CompanyId} in ${row.region} → ${row.v4CompanyId ?? 'none'}`;
    return [company, row.records, row.children, [...new Set(months)].join('–'), row.model];
  });
  return {
    id: 'full-sync',
    title: 'Full sync to ask for, most records first',
    texts: [
      `Older than V4's history: ${countOf(records, 'record')} with ${countOf(lineItems, 'line item')}, by company and model.`,
    ],
    ...tableOf(['V3 → V4 company', 'Records', 'Line items', 'Dates', 'Model'], rows, omitted.fullSync),
  };
}

const WHY_STALE: Readonly<
  Record<NonNullable<NonNullable<Report['decisions']>['idle'][number]['why']>, string>
> = {
  expired: 'its date in the column until has come',
  company_not_paired: 'its V3 company has no V4 company',
  v3_not_exported: 'V3 shows no such id in this model, path, region and company',
  v4_not_exported: 'V4 shows no such id in this model, path and company (for a child: in the same record)',
  v3_several: 'several records hold a V3 child with this id',
  v4_several: 'several records hold a V4 child with this id',
  parents_not_matched: 'the records that hold the child are not matched',
  v3_deleted: 'the V3 record is deleted',
  v4_deleted: 'the V4 record is deleted',
  v3_paired: 'the V3 record is in a pair that the data prove',
  v4_paired: 'the V4 record is in a pair that the data prove',
  not_read_in_full: 'a list that may hold the counterpart was not read in full',
};

function decisionSection({ decisions }: Report): Section | null {
  if (decisions === null) return null;
  const { file, taken, stale, notNeeded, idle } = decisions;
  const rows = idle.map(({ line, why, ...row }) => {
    const outcome = why === null ? 'not needed: the data prove it' : `not taken: ${WHY_STALE[why]}`;
    return [String(line), nameOfPath(row), row.v3_svc_id ?? 'none', row.v4_svc_id ?? 'none', outcome];
  });
  const titles = ['Line', 'Model', 'V3 id', 'V4 id', 'What became of it'];
  return {
    id: 'decisions',
    title: 'Decisions',
    texts: [
      `${countOf(taken, 'line')} of ${file} taken, ${stale} not supported by the data, ${notNeeded} not needed.`,
    ],
    ...tableOf(titles, rows, stale + notNeeded - idle.length),
  };
}

/** `accounting/invoices line_items` */
export function nameOfPath({ model, path }: { readonly model: string; readonly path: string }): string {
  return path === '' ? model : `${model} ${path}`;
}

function ageSection({ timeline: { months, undated }, windows }: Report): Section | null {
  if (months.length === 0) return null;
  const [since = null] = windows.flatMap((window) => window.since ?? []).sort();
  const start =
    since === null ? "The start of V4's history is unknown." : `V4's history starts ${dayOf(since)}.`;
  const rest = undated === 0 ? '' : ` ${countOf(undated, 'record')} without a readable date.`;
  const rows = months.map(({ month, matched, unmatched, other }) => [month, matched, unmatched, other]);
  return {
    id: 'ages',
    title: 'Age of the V3 records',
    texts: [`By the month of their latest date. ${start}${rest}`],
    chart: { months, since },
    ...tableOf(['Month', 'matched', 'unmatched', 'deleted or ambiguous'], rows),
    isDetail: true,
  };
}

const MAX_CHARS = 200;

function sampleSection({ findings }: Report): Section | null {
  const rows = findings.samples.map(({ v3_svc_id, v4_svc_id, status, reason, platform_id, ...row }) => {
    const key = cutText(platform_id ?? '–', MAX_CHARS);
    const evidence = cutText(JSON.stringify(row.evidence), MAX_CHARS);
    return [nameOfPath(row), v3_svc_id, v4_svc_id, titleOfKey(outcomeKey(status, reason)), key, evidence];
  });
  const all = `${groupDigits(findings.total)} ids of V3 or V4 are findings. All of them: ${findings.fullList}.`;
  const title = 'Samples: the first findings of each reason';
  const titles = ['Model', 'V3 id', 'V4 id', 'Finding', 'platform_id', 'Evidence'];
  return tableSection({ id: 'samples', title, texts: [all], isDetail: true }, titles, rows);
}

/** Lists that are not complete; lists of a model that ended in the same way are one row. */
function listSection({ lists }: Report): Section | null {
  const rows = lists
    .filter(({ state }) => state !== 'complete')
    .map((group) => {
      const state = shownState(group.state, group.pages > 0);
      return [nameOfStream(group), group.lists, group.records, group.counted, state, group.endReason];
    });
  const head = { id: 'lists', title: 'Lists that were not read completely' };
  return tableSection(head, ['List', 'Lists', 'Records', 'Counted', 'State', 'Ended by'], rows);
}

function limitationSection({ cannotSee }: Report): Section {
  const items = cannotSee.map(({ text }) => ({ title: text }));
  return { id: 'cannot-see', title: 'What this check cannot see', items, isDetail: true };
}

function evidenceSection({ evidence, tool, generatedAt, lists }: Report): Section {
  const { remap, conservation: ids, oldestReadAt } = evidence;
  const complete = sumOf(lists, (group) => (group.state === 'complete' ? group.lists : 0));
  const all = sumOf(lists, (group) => group.lists);
  const rows = [
    ['Generated', `${formatTime(generatedAt)} by ${tool.name} ${tool.version}`],
    ['Database', evidence.database],
    ['Lists', `${groupDigits(complete)} of ${groupDigits(all)} read completely`],
    ['Oldest list', oldestReadAt && `read ${formatTime(oldestReadAt)}`],
    ['Remap', remap && `built ${formatTime(remap.builtAt)}, ${groupDigits(remap.rows)} rows`],
    ['SHA-256', remap?.sha256 ?? null],
    ['V3 ids', ids && `${groupDigits(ids.v3Exported)} exported, ${groupDigits(ids.v3Rows)} in one row each`],
    ['V4 ids', ids && `${groupDigits(ids.v4Exported)} exported, ${groupDigits(ids.v4Seen)} in a row`],
  ];
  return { id: 'evidence', title: 'Evidence', ...tableOf(['What', 'Value'], rows), isDetail: true };
}
