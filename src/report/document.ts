import { type ReportLimit, shownState } from '../domain.js';
import { STATUSES } from '../reasons.js';
import { at, must } from '../text/at.js';
import { countOf, formatDuration, formatShare, formatTime, groupDigits } from '../text/numbers.js';
import { compare, sumOf } from '../text/rows.js';
import { cutText } from '../text/wrap.js';
import { nameOfStream } from './cannot-see.js';
import { listObstacles, type RefusedFindings, sumStatuses } from './counts.js';
import { actionFor, describeKey, stepOf, titleOfKey } from './next-steps.js';
import type { Counts, Report } from './report-schema.js';

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

export interface Section {
  readonly id: string;
  readonly title: string;
  readonly texts: readonly string[];
  readonly table?: DocumentTable;
  readonly items?: readonly Item[];
  /** The age of the records beside V4's history, which starts at `since`, if that is known. */
  readonly chart?: { readonly timeline: Report['timeline']; readonly since: string | null };
  /** Left out on a terminal without --verbose, folded in Markdown. */
  readonly isDetail: boolean;
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
  /** In a table that is too wide, columns without `keep` are left out first. */
  readonly keep?: boolean;
}

export interface Item {
  readonly title: string;
  readonly text: string;
  readonly action?: string;
}

const MAX_ROWS = 500;
const MAX_MODELS = 4;

const TITLES: Readonly<Record<Report['outcome'], string>> = {
  pass: 'SAFE TO CUT OVER',
  fail: 'NOT SAFE TO CUT OVER',
  incomplete: 'NOT KNOWN YET: THE DATA ARE INCOMPLETE',
  not_ready: 'NOT READY: THERE IS NOTHING TO COMPARE',
};

const BLOCKERS: Readonly<Record<Report['blockers'][number]['code'], string>> = {
  v3_not_exported: 'V3 is not exported',
  v4_not_exported: 'V4 is not exported',
  stream_unfinished: 'Not everything was read',
  remap_missing: 'There is no remap',
  remap_stale: 'The remap is out of date',
  no_v3_records: 'V3 is empty',
  no_v4_records: 'V4 is empty',
  no_common_key: 'V3 and V4 have nothing in common',
};

export function buildDocument(report: Report): ReportDocument {
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
  return {
    outcome: report.outcome,
    title: titleOf(report),
    lead: [verdictSentence(report), ...scopeSentence(report), ...historySentences(report)],
    warnings: warningsOf(report),
    sections: sections.filter((section) => section !== null),
    next: report.next,
  };
}

/** Blockers of the remap come last: one at the head is the only one. */
function titleOf({ outcome, blockers: [first] }: Report): string {
  if (outcome !== 'incomplete' || first?.code.startsWith('remap_') !== true) return TITLES[outcome];
  return `NOT KNOWN YET: ${BLOCKERS[first.code].toUpperCase()}`;
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
      const names = failed.slice(0, MAX_MODELS).map(nameOfLimit);
      const more = failed.length > names.length ? [`${failed.length - names.length} more`] : [];
      return `${part}; ${countOf(failed.length, 'limit is', 'limits are')} exceeded (${[...names, ...more].join(', ')}).`;
    }
    case 'incomplete':
      return ids === 0 ? 'Nothing is joined yet.' : `So far ${part}.`;
    case 'not_ready':
      return `V3 shows ${countOf(totals.v3Records, 'record')}, V4 shows ${countOf(totals.v4Records, 'record')}.`;
    default:
      return outcome satisfies never;
  }
}

/** What the verdict is of, if not of everything. */
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
  const inferred = windows
    .filter(({ source }) => source === 'inferred')
    .sort((a, b) => compare(must(a.since), must(b.since)));
  const unknown = windows.length - inferred.length;
  const ends = inferred.length > 1 ? [at(inferred, 0), at(inferred, -1)] : inferred;
  const named = ends.map(({ model, since, v4SvcId }) => `${dayOf(since)} (${model}, from V4 id ${v4SvcId})`);
  const parts = [
    ...(named.length === 0
      ? []
      : [`inferred for ${countOf(inferred.length, 'model')}: ${named.join(' to ')}`]),
    ...(unknown === 0 ? [] : [`unknown for ${countOf(unknown, 'model')}`]),
  ];
  return [`Start of V4's history: ${parts.join('; ')}.`];
}

function dayOf(time: string | null): string {
  return time?.slice(0, 10) ?? '–';
}

function warningsOf({ windows, lists, evidence }: Report): string[] {
  const doubtful = windows.filter((window) => window.doubtful > 0);
  const [worst] = doubtful;
  const absent = lists.filter(({ generation, state }) => generation === 'v3' && state === 'absent');
  const models = [...new Set(absent.map(({ model }) => model))];
  return [
    ...(worst === undefined
      ? []
      : [
          `Doubtful start of V4's history (${listFirst(doubtful.map(({ model }) => model))}): for ${worst.model} it is ${dayOf(worst.since)} because of one record (V4 id ${worst.v4SvcId}), but nine in ten records are from ${dayOf(worst.nineTenthsSince)} on. Set "backfill.since" to what the operator says.`,
        ]),
    ...(models.length === 0
      ? []
      : [`V3 answered 404 for ${listFirst(models)}: V3 ids of these models are not checked.`]),
    ...(evidence.remap?.stale ? [`The remap is out of date: ${evidence.remap.changed.join('; ')}.`] : []),
  ];
}

function listFirst(names: readonly string[]): string {
  const shown = names.slice(0, MAX_MODELS);
  return [...shown, ...(names.length > shown.length ? [`${names.length - shown.length} more`] : [])].join(
    ', ',
  );
}

function obstacleSection({ blockers, gate, windows, evidence }: Report): Section | null {
  const obstacles = listObstacles(gate.limits);
  if (blockers.length === 0 && obstacles.length === 0) return null;
  const blocking = blockers.map((blocker) => ({
    title: BLOCKERS[blocker.code],
    text: blocker.text,
    action: stepOf(blocker),
  }));
  const items = obstacles.map((obstacle) => ({
    title: describeKey(obstacle.key).title || obstacle.key,
    text: obstacle.limit.unit === 'hours' ? ageText(obstacle.limit, evidence) : modelsText(obstacle),
    action: actionFor(obstacle.key, windows, obstacle.limit.model),
  }));
  const rows = obstacles.filter(({ limit }) => limit.unit !== 'hours').flatMap(obstacleRows);
  const columns = [
    ...numbers('Records', 'Line items'),
    ...texts('Of'),
    ...numbers('Allowed'),
    ...texts('Finding'),
  ];
  return {
    ...section('obstacles', 'What stands in the way'),
    items: [...blocking, ...items],
    ...(rows.length === 0 ? {} : { table: tableOf(columns, rows) }),
  };
}

function titled(key: string): string {
  const { title } = describeKey(key);
  return title === '' ? key : `${title} (${key})`;
}

const UNIT_NAMES: Readonly<Record<ReportLimit['unit'], string>> = {
  ids: 'V3 and V4 ids',
  v3_ids: 'V3 ids',
  v4_ids: 'V4 ids',
  pairs: 'pairs',
  objects: 'objects',
  streams: 'lists',
  decisions: 'decisions',
  hours: 'hours',
};

/** One row for each side; a counter has a single number. */
function obstacleRows({ key, limit, v3, v4, count }: RefusedFindings): string[][] {
  const allowed = describeAllowed(limit);
  const name = titled(key);
  const sides = [
    { side: 'V3', ids: v3 },
    { side: 'V4', ids: v4 },
  ].filter(({ ids }) => ids.records + ids.lineItems > 0);
  if (sides.length === 0) {
    const actual = limit.contributors.length === 0 ? limit.actual : count;
    return [[actual === null ? '–' : groupDigits(actual), '–', UNIT_NAMES[limit.unit], allowed, name]];
  }
  return sides.map(({ side, ids }) => [
    groupDigits(ids.records),
    groupDigits(ids.lineItems),
    side,
    allowed,
    name,
  ]);
}

function modelsText({ key, models, limit }: RefusedFindings): string {
  const named = models.slice(0, MAX_MODELS).map(({ model, count }) => `${model} ${groupDigits(count)}`);
  const more = models.length > named.length ? [countOf(models.length - named.length, 'more model')] : [];
  const share = limit.actual !== null && models.length > 0 ? whereLimited(limit, key) : '';
  return `${[...named, ...more].join(', ')}${share}`;
}

/** Says that a limit judges more than these findings, so that a part does not look like less than allowed. */
function whereLimited(limit: ReportLimit, key: string): string {
  if (limit.allowed === 0 || limit.name === key) return '';
  return `; limit ${nameOfLimit(limit)} counted ${groupDigits(limit.actual ?? 0)}`;
}

function ageText(limit: ReportLimit, evidence: Report['evidence']): string {
  if (limit.detail !== null) return limit.detail;
  return `Read at ${formatTime(evidence.oldestReadAt ?? '')}; "maxAge" accepts ${describeAllowed(limit)}.`;
}

function describeAllowed({ allowed, unit }: ReportLimit): string {
  if (allowed === null) return 'any';
  if (typeof allowed === 'string') return allowed;
  return unit === 'hours' ? formatDuration(allowed * 3_600_000) : groupDigits(allowed);
}

/** `unmatched for crm/companies`. */
function nameOfLimit({ name, model }: Pick<ReportLimit, 'name' | 'model'>): string {
  return model === null ? name : `${name} for ${model}`;
}

/** `12 found, 0 allowed`. */
export function describeLimit(limit: ReportLimit): string {
  const base = typeof limit.allowed === 'string' ? ` of ${countOf(limit.base ?? 0, 'V3 id')}` : '';
  const actual =
    limit.actual === null ? 'not measured' : `${groupDigits(limit.actual)} ${UNIT_NAMES[limit.unit]} found`;
  return `${actual}, ${describeAllowed(limit)}${base} allowed`;
}

const V3_STATUSES = STATUSES.filter((status) => status !== 'v4_only');

function idSection({ totals }: Report): Section {
  const all = sumStatuses(totals.v3ByStatus);
  const rows = V3_STATUSES.map((status) => [
    status,
    groupDigits(totals.v3RecordsByStatus[status]),
    groupDigits(totals.v3ChildrenByStatus[status]),
    groupDigits(totals.v3ByStatus[status]),
    formatShare(totals.v3ByStatus[status], all),
  ]);
  const total = [totals.v3RecordsByStatus, totals.v3ChildrenByStatus, totals.v3ByStatus].map((counts) =>
    groupDigits(sumStatuses(counts)),
  );
  const columns = [...texts('Status'), ...numbers('Records', 'Line items', 'V3 ids', '% of V3 ids')];
  return {
    ...section('v3-ids', 'V3 ids'),
    table: tableOf(columns, [...rows, ['all', ...total, all === 0 ? '–' : '100 %']]),
  };
}

function v4Section({ totals, reasons }: Report): Section | null {
  if (totals.v4Records + totals.v4Children === 0) return null;
  const rows = reasons
    .filter(({ v4 }) => v4.records + v4.lineItems > 0)
    .map(({ key, v4 }) => [groupDigits(v4.records), groupDigits(v4.lineItems), titled(key)]);
  const exported = `${countOf(totals.v4Records, 'V4 record')} with ${countOf(totals.v4Children, 'line item')} exported`;
  const columns = [...numbers('Records', 'Line items'), ...texts('Reason')];
  return {
    ...section('v4-ids', 'V4 ids without a V3 id'),
    texts: [rows.length === 0 ? `None; ${exported}.` : `${exported}.`],
    ...(rows.length === 0 ? {} : { table: tableOf(columns, rows) }),
  };
}

function historySection({ windows }: Report): Section | null {
  if (windows.length === 0 || windows[0]?.source === 'configured') return null;
  const rows = windows.map(({ model, source, companies, since, nineTenthsSince, v4SvcId, doubtful }) => [
    model,
    source === 'inferred' ? dayOf(since) : 'unknown',
    dayOf(nineTenthsSince),
    groupDigits(doubtful),
    groupDigits(companies.unknown),
    v4SvcId === null ? '–' : v4SvcId,
  ]);
  const columns = [
    ...texts('Model', 'Start', '9 of 10 from'),
    ...numbers('Doubtful', 'Unknown'),
    ...texts('From V4 id'),
  ];
  return {
    ...section('history', "Start of V4's history", true),
    texts: [
      'Inferred for each model and company: the oldest of its V4 records, if there are at least 20. Shown is the most doubtful company of each model, with the record that it was inferred from and the day from which nine in ten of its records are; then how many companies are doubtful or unknown. "backfill.since" in the configuration replaces it.',
    ],
    table: tableOf(columns, rows),
  };
}

function modelSection({ models }: Report): Section | null {
  if (models.length === 0) return null;
  return {
    ...section('models', 'Models'),
    table: tableOf(
      countColumns(['Model']),
      models.map((model) => [model.model, ...countCells(model)]),
    ),
  };
}

function countColumns(names: readonly string[]): DocumentColumn[] {
  return [...texts(...names), ...numbers('Records', 'matched', 'Line items', 'matched', 'Only V4')];
}

/** V3 records and line items, and those that are matched; ids of V4 without a V3 id. */
function countCells({ v3RecordsByStatus, v3ChildrenByStatus, byStatus, v3ByStatus }: Counts): string[] {
  return [
    sumStatuses(v3RecordsByStatus),
    v3RecordsByStatus.matched,
    sumStatuses(v3ChildrenByStatus),
    v3ChildrenByStatus.matched,
    sumStatuses(byStatus) - sumStatuses(v3ByStatus),
  ].map(groupDigits);
}

function limitSection({ gate }: Report): Section {
  const shown = gate.limits.filter(({ allowed }) => allowed !== null);
  const rows = shown.map((limit) => [
    limit.actual === null ? '–' : groupDigits(limit.actual),
    UNIT_NAMES[limit.unit],
    typeof limit.allowed === 'string' && limit.base !== null
      ? `${limit.allowed} of ${groupDigits(limit.base)}`
      : describeAllowed(limit),
    limit.pass ? 'ok' : 'EXCEEDED',
    `${nameOfLimit(limit)}${limit.configured ? '' : ' (default)'}`,
  ]);
  const columns = [...numbers('Found'), ...texts('Of'), ...numbers('Allowed'), ...texts('Verdict', 'Limit')];
  return { ...section('limits', 'Limits', true), table: tableOf(columns, rows) };
}

function reasonSection({ reasons }: Report): Section | null {
  const rows = reasons
    .filter(({ v3 }) => v3.records + v3.lineItems > 0)
    .map(({ key, v3 }) => [groupDigits(v3.records), groupDigits(v3.lineItems), titled(key)]);
  if (rows.length === 0) return null;
  const columns = [...numbers('Records', 'Line items'), ...texts('Reason')];
  return { ...section('reasons', 'V3 ids that are not matched, by reason'), table: tableOf(columns, rows) };
}

function pairSection({ ambiguousCompanies: all, omitted }: Report): Section | null {
  if (all.length === 0) return null;
  const rows = all
    .slice(0, MAX_ROWS)
    .map(({ region, v3CompanyId, candidates }) => [
      `${v3CompanyId} in ${region}`,
      candidates
        .map(
          ({ v4CompanyId, agreeingKeys, comparableKeys }) =>
            `${v4CompanyId} (${groupDigits(agreeingKeys)} of ${countOf(comparableKeys, 'key')} agree)`,
        )
        .join(', ') || 'no candidate',
    ]);
  return {
    ...section('pair', 'Companies to pair by hand'),
    texts: ['`svc-migrate findings --write-companies companies.csv` drafts a line for each.'],
    table: tableOf(
      texts('V3 company', 'V4 companies that it may be'),
      rows,
      all.length + omitted.ambiguousCompanies,
    ),
  };
}

function fullSyncSection({ fullSync, omitted, reasons }: Report): Section | null {
  const outside = reasons.find(({ key }) => key === 'unmatched/outside_backfill_window');
  if (outside === undefined) return null;
  const { records, lineItems } = outside.v3;
  const rows = fullSync
    .slice(0, MAX_ROWS)
    .map((row) => [
      `${row.v3CompanyId} in ${row.region} → ${row.v4CompanyId ?? 'none'}`,
      groupDigits(row.records),
      groupDigits(row.children),
      [...new Set([row.earliest, row.latest].map((time) => time?.slice(0, 7) ?? '–'))].join('–'),
      row.model,
    ]);
  const columns = [
    ...texts('V3 → V4 company'),
    ...numbers('Records', 'Line items'),
    ...texts('Dates'),
    { title: 'Model', numeric: false, keep: true },
  ];
  return {
    ...section('full-sync', 'Full sync to ask for, most records first'),
    texts: [
      `Older than V4's history: ${countOf(records, 'record')} with ${countOf(lineItems, 'line item')}, by company and model.`,
    ],
    table: tableOf(columns, rows, fullSync.length + omitted.fullSync),
  };
}

function decisionSection({ decisions }: Report): Section | null {
  if (decisions === null) return null;
  const { file, taken, stale, notNeeded, idle } = decisions;
  const rows = idle
    .slice(0, MAX_ROWS)
    .map((line) => [
      groupDigits(line.line),
      line.path === '' ? line.model : `${line.model} ${line.path}`,
      line.v3_svc_id ?? 'none',
      line.v4_svc_id ?? 'none',
      line.text,
    ]);
  const columns = [...numbers('Line'), ...texts('Model', 'V3 id', 'V4 id', 'What became of it')];
  return {
    ...section('decisions', 'Decisions'),
    texts: [
      `${countOf(taken, 'line')} of ${file} taken, ${stale} not supported by the data, ${notNeeded} not needed.`,
    ],
    ...(rows.length === 0 ? {} : { table: tableOf(columns, rows, stale + notNeeded) }),
  };
}

function ageSection({ timeline, windows }: Report): Section | null {
  const months = [timeline.earlier, ...timeline.months, timeline.later].filter((month) => month !== null);
  if (months.length === 0) return null;
  const [since = null] = windows.flatMap((window) => window.since ?? []).sort();
  const start =
    since === null ? "The start of V4's history is unknown." : `V4's history starts ${dayOf(since)}.`;
  const undated =
    timeline.undated === 0 ? '' : ` ${countOf(timeline.undated, 'record')} without a readable date.`;
  const rows = months.map(({ month, matched, unmatched, other }) => [
    month,
    ...[matched, unmatched, other].map(groupDigits),
  ]);
  return {
    ...section('ages', 'Age of the V3 records', true),
    texts: [`By the month of their latest date. ${start}${undated}`],
    chart: { timeline, since },
    table: tableOf([...texts('Month'), ...numbers('matched', 'unmatched', 'deleted or ambiguous')], rows),
  };
}

function companySection({ companies, omitted }: Report): Section | null {
  if (companies.length === 0) return null;
  const rows = companies.slice(0, MAX_ROWS).map((company) => {
    const { v3CompanyId: v3, v4CompanyId: v4, region, matchedBy } = company;
    const name = v3 === null ? `V4 ${v4}` : `${v3} in ${region} → ${v4 ?? 'none'}`;
    return [name, ...countCells(company), matchedBy];
  });
  const columns = [...countColumns(['V3 → V4 company']), ...texts('Paired by')];
  return {
    ...section('companies', 'Companies, most findings first', true),
    table: tableOf(columns, rows, companies.length + omitted.companies),
  };
}

const MAX_CHARS = 200;

function sampleSection({ findings }: Report): Section | null {
  if (findings.samples.length === 0) return null;
  const rows = findings.samples
    .slice(0, MAX_ROWS)
    .map((row) => [
      row.path === '' ? row.model : `${row.model} ${row.path}`,
      row.v3_svc_id ?? '–',
      row.v4_svc_id ?? '–',
      titleOfKey(row.reason === null ? row.status : `${row.status}/${row.reason}`),
      cutText(row.platform_id ?? '–', MAX_CHARS),
      cutText(JSON.stringify(row.evidence), MAX_CHARS),
    ]);
  const columns = texts('Model', 'V3 id', 'V4 id', 'Finding', 'platform_id', 'Evidence');
  return {
    ...section('samples', 'Samples: the first findings of each reason', true),
    texts: [
      `${groupDigits(findings.total)} ids of V3 or V4 are findings. All of them: ${findings.fullList}.`,
    ],
    table: tableOf(columns, rows),
  };
}

/** Lists that are not complete; lists of a model that ended in the same way are one row. */
function listSection({ lists }: Report): Section | null {
  const open = lists.filter(({ state }) => state !== 'complete');
  if (open.length === 0) return null;
  const rows = open
    .slice(0, MAX_ROWS)
    .map((group) => [
      nameOfStream(group),
      groupDigits(group.lists),
      groupDigits(group.records),
      group.counted === null ? '–' : groupDigits(group.counted),
      shownState(group.state, group.pages > 0),
      group.endReason ?? '–',
    ]);
  const columns = [
    ...texts('List'),
    ...numbers('Lists', 'Records', 'Counted'),
    ...texts('State', 'Ended by'),
  ];
  return {
    ...section('lists', 'Lists that were not read completely'),
    table: tableOf(columns, rows, open.length),
  };
}

function limitationSection({ cannotSee }: Report): Section {
  return {
    ...section('cannot-see', 'What this check cannot see', true),
    items: cannotSee.map(({ name, text }) => ({ title: name, text })),
  };
}

function evidenceSection({ evidence, tool, generatedAt, findings, lists }: Report): Section {
  const { remap, conservation, oldestReadAt } = evidence;
  const count = (rows: Report['lists']) => sumOf(rows, (group) => group.lists);
  const complete = count(lists.filter(({ state }) => state === 'complete'));
  const rows = [
    ['Generated', `${formatTime(generatedAt)} by ${tool.name} ${tool.version}`],
    ['Database', evidence.database],
    ['Lists', `${groupDigits(complete)} of ${groupDigits(count(lists))} read completely`],
    ['Oldest list', oldestReadAt === null ? 'nothing read yet' : `read ${formatTime(oldestReadAt)}`],
    ...(remap === null
      ? [['Remap', 'none']]
      : [
          ['Remap', `built ${formatTime(remap.builtAt)}, ${groupDigits(remap.rows)} rows`],
          ['SHA-256', remap.sha256],
        ]),
    ...(conservation === null ? [] : describeConservation(conservation)),
    ['Findings', `${groupDigits(findings.total)} ids; all of them: ${findings.fullList}`],
  ];
  return { ...section('evidence', 'Evidence', true), table: tableOf(texts('What', 'Value'), rows) };
}

function describeConservation(all: NonNullable<Report['evidence']['conservation']>): string[][] {
  return [
    ['V3 ids', `${groupDigits(all.v3Exported)} exported, ${groupDigits(all.v3Rows)} in exactly one row`],
    ['V4 ids', `${groupDigits(all.v4Exported)} exported, ${groupDigits(all.v4Seen)} in at least one row`],
  ];
}

function section(id: string, title: string, isDetail = false): Section {
  return { id, title, texts: [], isDetail };
}

function tableOf(
  columns: readonly DocumentColumn[],
  rows: readonly (readonly string[])[],
  total = rows.length,
): DocumentTable {
  return { columns, rows, total };
}

function texts(...titles: readonly string[]): DocumentColumn[] {
  return titles.map((title) => ({ title, numeric: false }));
}

function numbers(...titles: readonly string[]): DocumentColumn[] {
  return titles.map((title) => ({ title, numeric: true }));
}
