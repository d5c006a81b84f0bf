import { type StaleReason, shownState } from '../domain.js';
import { outcomeKey, STATUSES } from '../reasons.js';
import { nameOfStream } from '../store/readiness.js';
import { must } from '../text/at.js';
import { countOf, formatShare, formatTime, groupDigits, listFirst } from '../text/numbers.js';
import { compare, sumOf } from '../text/rows.js';
import type { Column } from '../text/table.js';
import { cutText } from '../text/wrap.js';
import { sumStatuses } from './build-report.js';
import { addIds, type JudgedLimit } from './gate.js';
import {
  actionFor,
  describeIds,
  type LimitObstacle,
  listObstacles,
  titleOfKey,
  titleWithKey,
} from './next-steps.js';
import type { Report, RowCounts } from './report-schema.js';

/** What text, Markdown and HTML print. */
export interface ReportDocument {
  readonly outcome: Report['outcome'];
  readonly title: string;
  /** What follows the title; warnings apart. */
  readonly lead: readonly string[];
  readonly warnings: readonly string[];
  readonly sections: readonly Section[];
  /** What changes the verdict. */
  readonly next: string;
}

/** Has a table or items. */
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
  readonly columns: readonly Column[];
  /** The first rows. */
  readonly rows: readonly (readonly string[])[];
  /** The number of all rows. */
  readonly total: number;
}

export interface Item {
  readonly title: string;
  readonly text?: string;
  readonly action?: string;
}

export function buildDocument(report: Report): ReportDocument {
  return {
    outcome: report.outcome,
    title: titleOf(report),
    lead: [verdictSentence(report), ...scopeSentence(report), ...historySentences(report)],
    warnings: warningsOf(report),
    sections: buildSections(report),
    next: report.next,
  };
}

const TITLES: Readonly<Record<Report['outcome'], string>> = {
  pass: 'SAFE TO CUT OVER',
  fail: 'NOT SAFE TO CUT OVER',
  incomplete: 'NOT KNOWN YET: THE DATA ARE INCOMPLETE',
  not_ready: 'NOT READY: THERE IS NOTHING TO COMPARE',
};

/** Blockers of the remap come last: one at the head is the only one. */
function titleOf({ outcome, blockers: [first] }: Report): string {
  if (first?.code === 'remap_missing') return 'NOT KNOWN YET: THERE IS NO REMAP';
  if (first?.code === 'remap_stale') return 'NOT KNOWN YET: THE REMAP IS OUT OF DATE';
  return TITLES[outcome];
}

function verdictSentence({ outcome, totals, gate }: Report): string {
  const ids = sumStatuses(totals.v3ByStatus);
  const { matched } = totals.v3ByStatus;
  const part = `${groupDigits(matched)} of ${countOf(ids, 'V3 id')} ${matched === 1 ? 'has its V4 id' : 'have their V4 id'}`;
  switch (outcome) {
    case 'pass':
      return matched === ids
        ? `${part}.`
        : `${part}; the limits accept the other ${groupDigits(ids - matched)}.`;
    case 'fail': {
      const failed = gate.limits.filter(({ pass }) => !pass);
      const named = failed.map((limit) => `${nameOfLimit(limit)} (${describeLimit(limit)})`);
      return `${part}. ${failed.length === 1 ? 'Limit' : 'Limits'} exceeded: ${listFirst(named)}.`;
    }
    case 'incomplete':
      return ids === 0 ? 'Nothing is joined yet.' : `So far ${part}.`;
    case 'not_ready':
      return `V3 shows ${countOf(totals.v3Records, 'record')}, V4 shows ${countOf(totals.v4Records, 'record')}.`;
    default:
      return outcome satisfies never;
  }
}

/** What the verdict is restricted to; empty if it covers everything. */
export function scopeSentence({ scope: { models, companies, settings } }: Report): string[] {
  const parts = [
    ...(models === null ? [] : [`only models ${listFirst(models)}`]),
    ...(companies === null ? [] : [`only companies ${listFirst(companies)}`]),
    ...settings.map(({ name, companies: ids }) => {
      const how = name === 'companies.exclude' ? 'without' : 'only';
      const side = name.startsWith('v3') ? 'V3 ' : name.startsWith('v4') ? 'V4 ' : '';
      return `${how} ${side}companies ${listFirst(ids)} ("${name}")`;
    }),
  ];
  return parts.length === 0 ? [] : [`Judged: ${parts.join('; ')}.`];
}

/** What is known about the start of V4's history, and from which records it was inferred. */
function historySentences({ windows }: Report): string[] {
  const [first] = windows;
  if (first === undefined) return [];
  if (first.source === 'configured') {
    return [`V4's history starts ${formatTime(must(first.since))}, as configured.`];
  }
  const inferred = windows.filter(({ source }) => source === 'inferred');
  const [earliest] = inferred.toSorted((a, b) => compare(must(a.since), must(b.since)));
  const unknown = windows.length - inferred.length;
  const parts = [
    ...(earliest === undefined
      ? []
      : [
          `inferred for ${countOf(inferred.length, 'model')}, the earliest is ${dayOf(earliest.since)} (${earliest.model}, from V4 id ${earliest.v4SvcId})`,
        ]),
    ...(unknown === 0 ? [] : [`unknown for ${countOf(unknown, 'model')}`]),
  ];
  return [`Start of V4's history: ${parts.join('; ')}.`];
}

function dayOf(time: string | null): string {
  return time?.slice(0, 10) ?? '–';
}

function warningsOf({ windows, cannotSee, evidence }: Report): string[] {
  const warnings = [
    historyWarning(windows),
    contradictionWarning(windows),
    cannotSee.find(({ code }) => code === 'absent_in_v3')?.text,
    evidence.remap?.stale && `The remap is out of date: ${evidence.remap.changed.join('; ')}.`,
  ];
  return warnings.filter((text) => typeof text === 'string');
}

/** Where one old record makes the start doubtful, and what is unexplained because it is unknown. */
function historyWarning(windows: Report['windows']): string | null {
  const doubtful = windows.filter((window) => window.doubtful > 0);
  const unknown = windows.filter((window) => window.doubtful === 0 && window.unexplained > 0);
  const ids = sumOf(unknown, (window) => window.unexplained);
  const parts = [
    ...doubtful.slice(0, 1).map(({ model, since, v4SvcId, nineTenthsSince }) => {
      const number = countOf(doubtful.length, 'model');
      return `The start of V4's history is doubtful in ${number}: in ${model} it is ${dayOf(since)} because of one record (V4 id ${v4SvcId}), and nine in ten are from ${dayOf(nineTenthsSince)} on.`;
    }),
    ...(ids === 0
      ? []
      : [
          `${countOf(ids, 'V3 id')} of ${listFirst(unknown.map(({ model }) => model))} cannot be explained: V4 has too few records there to infer its start.`,
        ]),
  ];
  return parts.length === 0 ? null : `${parts.join(' ')} Set "backfill.since" to what the operator says.`;
}

/** Where V4 holds many records from before the configured start, older ids may be missing for another reason. */
function contradictionWarning(windows: Report['windows']): string | null {
  const contradicted = windows.filter((window) => window.contradicted > 0);
  if (contradicted.length === 0) return null;
  const ids = countOf(
    sumOf(contradicted, (window) => window.contradicted),
    'V3 id',
  );
  const models = listFirst(contradicted.map(({ model }) => model));
  return `${ids} of ${models} may be lost: they count as older than "backfill.since", but V4 holds many records from before it there. To make the gate fail on these ids, set "outside_backfill_window": 0 for the model in "limits.models".`;
}

/** The next step is in every head, so its item does not repeat it. */
function obstacleSection(report: Report): Section {
  const { blockers, gate, next } = report;
  const items = [
    ...blockers.map(({ text: title, next: action }): Item => ({ title, action })),
    ...obstacleItems(gate.limits, report),
  ];
  return {
    id: 'obstacles',
    title: 'What stands in the way',
    items: items.map(({ action = next, ...item }) => (action === next ? item : { ...item, action })),
  };
}

/** What failed limits refuse, largest first, and what changes that. */
export function obstacleItems(limits: readonly JudgedLimit[], report: Report): Item[] {
  return listObstacles(limits).map((obstacle) => {
    const { key, limit } = obstacle;
    const action = actionFor(key, report, limit.model);
    return { title: titleOfKey(key), text: describeObstacle(obstacle), action };
  });
}

/** `3 V3 records, 1 V3 line item in crm/companies (limit unmatched)` */
function describeObstacle({ models: [model, ...others], limit, count, ...ids }: LimitObstacle): string {
  if (model === undefined) return limit.detail ?? `limit ${nameOfLimit(limit)}: ${describeLimit(limit)}`;
  const amount = describeIds(ids) || countOf(count, UNIT_NAMES[limit.unit]);
  const where = others.length === 0 ? model : `${others.length + 1} models, most in ${model}`;
  return `${amount} in ${where} (limit ${nameOfLimit(limit)})`;
}

const UNIT_NAMES: Readonly<Record<JudgedLimit['unit'], string>> = {
  ids: 'V3 or V4 id',
  v3_ids: 'V3 id',
  v4_ids: 'V4 id',
  pairs: 'pair',
  objects: 'object',
  streams: 'list',
  decisions: 'decision',
  hours: 'hour',
};

function describeAllowed({ allowed, unit, base }: JudgedLimit): string {
  if (allowed === null) return 'any';
  if (typeof allowed === 'string') return `${allowed} of ${countOf(base ?? 0, 'V3 id')}`;
  return groupDigits(unit === 'hours' ? Number(allowed.toFixed(2)) : allowed);
}

/** `unmatched for crm/companies`. */
function nameOfLimit({ name, model }: JudgedLimit): string {
  return model === null ? name : `${name} for ${model}`;
}

/** `12 V3 ids found, 0 allowed`. */
export function describeLimit(limit: JudgedLimit): string {
  const { actual, unit } = limit;
  const number = actual === null ? 'not measured' : `${countOf(actual, UNIT_NAMES[unit])} found`;
  return `${number}, ${describeAllowed(limit)} allowed`;
}

function buildSections(report: Report): Section[] {
  const sections = [
    obstacleSection(report),
    idSection(report),
    v4Section(report),
    modelSection(report),
    reasonSection(report),
    fullSyncSection(report),
    decisionSection(report),
    listSection(report),
    historySection(report),
    limitSection(report),
    ageSection(report),
    companySection(report),
    sampleSection(report),
    limitationSection(report),
    evidenceSection(report),
  ];
  return sections.filter(({ table, items = [] }) => table !== undefined || items.length > 0);
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
): Pick<Section, 'table'> {
  if (rows.length === 0) return {};
  const columns = titles.map((title, index) => ({
    title,
    numeric: title.startsWith('%') || rows.every((row) => typeof row[index] !== 'string'),
  }));
  const shown = rows.slice(0, MAX_ROWS).map((row) => row.map(cellOf));
  return { table: { columns, rows: shown, total: rows.length + omitted } };
}

function cellOf(value: Cell): string {
  return typeof value === 'number' ? groupDigits(value) : (value ?? '–');
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

/** Findings of one side by reason, most first. */
function reasonRows(reasons: Report['reasons'], side: 'v3' | 'v4'): Cell[][] {
  return reasons
    .map((reason) => ({ ...reason[side], key: reason.key }))
    .filter(({ records, lineItems }) => records + lineItems > 0)
    .sort((a, b) => b.records + b.lineItems - a.records - a.lineItems)
    .map(({ records, lineItems, key }) => [records, lineItems, titleWithKey(key)]);
}

function v4Section({ totals, reasons }: Report): Section {
  const exported = `Of ${countOf(totals.v4Records, 'V4 record')} and ${countOf(totals.v4Children, 'line item')}.`;
  const table = tableOf(REASON_TITLES, reasonRows(reasons, 'v4'));
  return { id: 'v4-ids', title: 'V4 ids without a V3 id', texts: [exported], ...table };
}

function reasonSection({ reasons }: Report): Section {
  const table = tableOf(REASON_TITLES, reasonRows(reasons, 'v3'));
  return { id: 'reasons', title: 'V3 ids that are not matched, by reason', ...table };
}

function historySection({ windows }: Report): Section {
  const inferred = windows.filter(({ source }) => source !== 'configured');
  const rows = inferred.map(({ model, source, since, nineTenthsSince, doubtful, unknown, v4SvcId }) => {
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
const COUNT_TEXT = 'Of V3; "Only V4" counts V4 records and line items without a V3 id.';

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
  return { id: 'models', title: 'Models', texts: [COUNT_TEXT], ...tableOf(['Model', ...COUNT_TITLES], rows) };
}

function companySection({ companies, omitted }: Report): Section {
  const rows = companies.map((row) => [nameOfPair(row), ...countCells(row), row.matchedBy]);
  const titles = ['V3 → V4 company', ...COUNT_TITLES, 'Paired by'];
  return {
    id: 'companies',
    title: 'Companies, most findings first',
    texts: [COUNT_TEXT],
    ...tableOf(titles, rows, omitted.companies),
    isDetail: true,
  };
}

type CompanyPair = Pick<Report['companies'][number], 'region' | 'v3CompanyId' | 'v4CompanyId'>;

function nameOfPair({ region, v3CompanyId, v4CompanyId }: CompanyPair): string {
  return v3CompanyId === null
    ? `V4 ${v4CompanyId}`
    : `${v3CompanyId} in ${region} → ${v4CompanyId ?? 'none'}`;
}

function limitSection({ gate }: Report): Section {
  const rows = gate.limits
    .filter(({ allowed }) => allowed !== null)
    .map((limit) => [
      limit.actual,
      `${UNIT_NAMES[limit.unit]}s`,
      describeAllowed(limit),
      limit.pass ? 'ok' : 'EXCEEDED',
      `${nameOfLimit(limit)}${limit.configured ? '' : ' (default)'}`,
    ]);
  const titles = ['Found', 'Of', 'Allowed', 'Verdict', 'Limit'];
  return { id: 'limits', title: 'Limits', ...tableOf(titles, rows), isDetail: true };
}

function fullSyncSection({ fullSync, omitted, reasons }: Report): Section {
  const outside = reasons.find(({ key }) => key === 'unmatched/outside_backfill_window');
  const { records = 0, lineItems = 0 } = outside?.v3 ?? {};
  const rows = fullSync.map((row) => {
    const months = [row.earliest, row.latest].map((time) => time?.slice(0, 7) ?? '–');
    return [nameOfPair(row), row.records, row.children, [...new Set(months)].join('–'), row.model];
  });
  return {
    id: 'full-sync',
    title: 'Full sync to ask for, most records first',
    texts: [
      `Older than V4's history: ${countOf(records, 'V3 record')} with ${countOf(lineItems, 'line item')}, by company and model.`,
    ],
    ...tableOf(['V3 → V4 company', 'Records', 'Line items', 'Dates', 'Model'], rows, omitted.fullSync),
  };
}

const WHY_STALE: Readonly<Record<StaleReason, string>> = {
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

function decisionSection({ decisions }: Report): Section {
  const { stale = 0, notNeeded = 0, idle = [] } = decisions ?? {};
  const rows = idle.map(({ line, why, ...row }) => {
    const outcome = why === null ? 'not needed: the data prove it' : `not taken: ${WHY_STALE[why]}`;
    return [String(line), nameOfPath(row), row.v3_svc_id ?? 'none', row.v4_svc_id ?? 'none', outcome];
  });
  return {
    id: 'decisions',
    title: 'Decisions that changed nothing',
    ...tableOf(['Line', 'Model', 'V3 id', 'V4 id', 'Why'], rows, stale + notNeeded - idle.length),
  };
}

/** `accounting/invoices line_items` */
export function nameOfPath({ model, path }: { readonly model: string; readonly path: string }): string {
  return path === '' ? model : `${model} ${path}`;
}

function ageSection({ timeline: { months, undated }, windows }: Report): Section {
  const [since = null] = windows.flatMap((window) => window.since ?? []).sort();
  const which = windows[0]?.source === 'configured' ? '' : ' in the model where it starts first';
  const start =
    since === null ? "The start of V4's history is unknown." : `V4's history starts ${dayOf(since)}${which}.`;
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

function sampleSection({ findings, reasons }: Report): Section {
  const rows = findings.samples.map((row) => {
    const company =
      row.v3_company_id === null ? `V4 ${row.v4_company_id}` : `${row.v3_company_id} in ${row.region}`;
    const title = titleOfKey(outcomeKey(row.status, row.reason));
    const key = cutText(row.platform_id ?? '–', MAX_CHARS);
    return [nameOfPath(row), row.v3_svc_id, row.v4_svc_id, company, title, key];
  });
  return {
    id: 'samples',
    title: 'Samples: the first findings of each reason',
    texts: [`Findings: ${describeIds(addIds(reasons))}. All of them: ${findings.fullList}.`],
    ...tableOf(['Model', 'V3 id', 'V4 id', 'Company', 'Finding', 'platform_id'], rows),
    isDetail: true,
  };
}

/** Lists that are not complete; lists of a model that ended in the same way are one row. */
function listSection({ lists }: Report): Section {
  const rows = lists
    .filter(({ state }) => state !== 'complete')
    .map((group) => {
      const state = shownState(group.state, group.pages > 0);
      return [nameOfStream(group), group.lists, group.records, group.counted, state, group.endReason];
    });
  const titles = ['List', 'Lists', 'Records', 'Counted', 'State', 'Ended by'];
  return { id: 'lists', title: 'Lists that were not read completely', ...tableOf(titles, rows) };
}

function limitationSection({ cannotSee }: Report): Section {
  const items = cannotSee.map(({ text }) => ({ title: text }));
  return { id: 'cannot-see', title: 'What this check cannot see', items, isDetail: true };
}

function describeDecisions({ file, taken, stale, notNeeded }: NonNullable<Report['decisions']>): string {
  return `${countOf(taken, 'line')} of ${file} taken, ${stale} not supported by the data, ${notNeeded} not needed`;
}

function evidenceSection({ evidence, decisions, tool, generatedAt, lists }: Report): Section {
  const { remap, conservation: ids, oldestReadAt } = evidence;
  const ofRecords = lists.filter(({ model }) => model !== 'core/companies');
  const complete = sumOf(ofRecords, (group) => (group.state === 'complete' ? group.lists : 0));
  const all = sumOf(ofRecords, (group) => group.lists);
  const rows = [
    ['Generated', `${formatTime(generatedAt)} by ${tool.name} ${tool.version}`],
    ['Database', evidence.database],
    ['Lists', `${groupDigits(complete)} of ${groupDigits(all)} read completely`],
    ['Oldest list', oldestReadAt && `read ${formatTime(oldestReadAt)}`],
    ['Remap', remap && `built ${formatTime(remap.builtAt)}, ${groupDigits(remap.rows)} rows`],
    ['Decisions', decisions && describeDecisions(decisions)],
    ['SHA-256', remap?.sha256 ?? null],
    ['V3 ids', ids && `${groupDigits(ids.v3Exported)} exported, ${groupDigits(ids.v3Rows)} in one row each`],
    ['V4 ids', ids && `${groupDigits(ids.v4Exported)} exported, ${groupDigits(ids.v4Seen)} in a row`],
  ];
  return { id: 'evidence', title: 'Evidence', ...tableOf(['What', 'Value'], rows), isDetail: true };
}
