import type { ReportLimit } from '../domain.js';
import { STATUSES } from '../reasons.js';
import { countOf, formatDuration, formatShare, formatTime, groupDigits } from '../text/numbers.js';
import { groupBy } from '../text/rows.js';
import { cutText } from '../text/wrap.js';
import { nameOfStream } from './cannot-see.js';
import { actionFor, describeKey, titleOfKey } from './next-steps.js';
import { listObstacles, type RefusedFindings } from './obstacles.js';
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
  readonly chart?: Report['timeline'];
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
}

export interface Item {
  readonly title: string;
  readonly text: string;
  readonly action?: string;
}

/** Rows of a long table that are passed on to the printers. */
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
    settingSection(report),
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
  const ids = sum(totals.v3ByStatus);
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

function scopeSentence({ scope: { models, companies } }: Report): string[] {
  const parts = [
    ...(models === null ? [] : [`models ${models.join(', ')}`]),
    ...(companies === null ? [] : [`companies ${companies.join(', ')}`]),
  ];
  return parts.length === 0 ? [] : [`Only ${parts.join(' and ')}.`];
}

/** What is known about the start of V4's history, and whether it is doubtful. */
function historySentences({ windows }: Report): string[] {
  const [first] = windows;
  if (first === undefined) return [];
  if (first.source === 'configured')
    return [`V4's history starts ${formatTime(first.since ?? '')}, as configured.`];
  const inferred = windows.filter(({ source }) => source === 'inferred');
  const unknown = windows.length - inferred.length;
  const dates = inferred.flatMap(({ since }) => since ?? []).sort();
  const span =
    dates[0]?.slice(0, 10) === dates.at(-1)?.slice(0, 10)
      ? dates[0]?.slice(0, 10)
      : `${dates[0]?.slice(0, 10)} to ${dates.at(-1)?.slice(0, 10)}`;
  const parts = [
    ...(inferred.length === 0 ? [] : [`inferred for ${countOf(inferred.length, 'model')} (${span})`]),
    ...(unknown === 0 ? [] : [`unknown for ${countOf(unknown, 'model')}`]),
  ];
  return [`Start of V4's history: ${parts.join(', ')}.`];
}

function warningsOf({ windows, completeness, evidence }: Report): string[] {
  const doubtful = windows.filter((window) => window.doubtful > 0);
  const [worst] = doubtful;
  const absent = completeness.filter(({ generation, state }) => generation === 'v3' && state === 'absent');
  const models = [...new Set(absent.map(({ model }) => model))];
  return [
    ...(worst === undefined
      ? []
      : [
          `Doubtful start of V4's history (${listFirst(doubtful.map(({ model }) => model))}): for ${worst.model} it is ${worst.since?.slice(0, 10)} because of one record (V4 id ${worst.v4SvcId}), but nine in ten records are from ${worst.nineTenthsSince?.slice(0, 10)} on. Set "backfill.since" to what the operator says.`,
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
  const blocking = blockers.map(({ code, text, next }) => ({
    title: BLOCKERS[code],
    text,
    action: next.startsWith('svc-migrate ') ? `Run \`${next}\`.` : next,
  }));
  const items = obstacles.map((obstacle) => ({
    title: describeKey(obstacle.key).title || obstacle.key,
    text: obstacle.limit.name === 'maxAge' ? ageText(obstacle.limit, evidence) : modelsText(obstacle),
    action: actionFor(obstacle.key, windows),
  }));
  const columns = [
    ...numbers('Records', 'Line items'),
    ...texts('Of'),
    ...numbers('Allowed'),
    ...texts('Finding'),
  ];
  return {
    ...section('obstacles', 'What stands in the way'),
    items: [...blocking, ...items],
    ...(obstacles.length === 0 ? {} : { table: tableOf(columns, obstacles.flatMap(obstacleRows)) }),
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
  const all = sum(totals.v3ByStatus);
  const rows = V3_STATUSES.map((status) => [
    status,
    groupDigits(totals.v3RecordsByStatus[status]),
    groupDigits(totals.v3ChildrenByStatus[status]),
    groupDigits(totals.v3ByStatus[status]),
    formatShare(totals.v3ByStatus[status], all),
  ]);
  const total = [totals.v3RecordsByStatus, totals.v3ChildrenByStatus, totals.v3ByStatus].map((counts) =>
    groupDigits(sum(counts)),
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
    .map(({ key, v4 }) => ({ key, records: v4.records, lineItems: v4.theirLineItems + v4.otherLineItems }))
    .filter(({ records, lineItems }) => records + lineItems > 0)
    .map(({ key, records, lineItems }) => [groupDigits(records), groupDigits(lineItems), titled(key)]);
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
    source === 'inferred' ? (since?.slice(0, 10) ?? '–') : 'unknown',
    nineTenthsSince?.slice(0, 10) ?? '–',
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
    sum(v3RecordsByStatus),
    v3RecordsByStatus.matched,
    sum(v3ChildrenByStatus),
    v3ChildrenByStatus.matched,
    sum(byStatus) - sum(v3ByStatus),
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
  return { ...section('limits', 'Limits'), table: tableOf(columns, rows) };
}

function reasonSection({ reasons }: Report): Section | null {
  const rows = reasons
    .filter(({ v3 }) => v3.records + v3.theirLineItems + v3.otherLineItems > 0)
    .map(({ key, v3 }) => [
      groupDigits(v3.records),
      groupDigits(v3.theirLineItems + v3.otherLineItems),
      titled(key),
    ]);
  if (rows.length === 0) return null;
  const columns = [...numbers('Records', 'Line items'), ...texts('Reason')];
  return { ...section('reasons', 'V3 ids that are not matched, by reason'), table: tableOf(columns, rows) };
}

function pairSection({ ambiguousCompanies: all }: Report): Section | null {
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
    table: tableOf(texts('V3 company', 'V4 companies that it may be'), rows, all.length),
  };
}

function fullSyncSection({ fullSync }: Report): Section | null {
  if (fullSync.length === 0) return null;
  const rows = fullSync
    .slice(0, MAX_ROWS)
    .map((row) => [
      `${row.v3CompanyId} in ${row.region}`,
      groupDigits(row.records),
      groupDigits(row.children),
      [row.earliest, row.latest].map((date) => date?.slice(0, 10) ?? '').join('–'),
      row.model,
      row.v4CompanyId ?? '–',
    ]);
  const companies = new Set(fullSync.map(({ region, v3CompanyId }) => `${v3CompanyId} ${region}`)).size;
  const all = (pick: 'records' | 'children') => fullSync.reduce((total, row) => total + row[pick], 0);
  const columns = [
    ...texts('V3 company'),
    ...numbers('Records', 'Line items'),
    ...texts('Dates', 'Model', 'V4 company'),
  ];
  return {
    ...section('full-sync', 'Full sync to ask for'),
    texts: [
      `Older than V4's history: ${countOf(all('records'), 'record')} with ${countOf(all('children'), 'line item')} of ${countOf(companies, 'company', 'companies')}.`,
    ],
    table: tableOf(columns, rows, fullSync.length),
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
    ...(rows.length === 0 ? {} : { table: tableOf(columns, rows, idle.length) }),
  };
}

function ageSection({ timeline }: Report): Section | null {
  const months = [timeline.earlier, ...timeline.months, timeline.later].filter((month) => month !== null);
  if (months.length === 0) return null;
  const { since, earliest, latest } = timeline.window;
  const start =
    since !== null
      ? `V4's history starts ${since.slice(0, 10)}.`
      : earliest === null || latest === null
        ? "The start of V4's history is unknown."
        : `V4's history starts ${earliest.slice(0, 10)}${earliest.slice(0, 10) === latest.slice(0, 10) ? '' : ` to ${latest.slice(0, 10)}, depending on model and company`}, as inferred.`;
  const undated =
    timeline.undated === 0 ? '' : ` ${countOf(timeline.undated, 'record')} without a readable date.`;
  const rows = months.map(({ month, matched, unmatched, other }) => [
    month,
    ...[matched, unmatched, other].map(groupDigits),
  ]);
  return {
    ...section('ages', 'Age of the V3 records', true),
    texts: [`By the month of their latest date. ${start}${undated}`],
    chart: timeline,
    table: tableOf([...texts('Month'), ...numbers('matched', 'unmatched', 'deleted or ambiguous')], rows),
  };
}

function companySection({ companies }: Report): Section | null {
  if (companies.length === 0) return null;
  const findings = ({ byStatus }: Counts) => sum(byStatus) - byStatus.matched;
  const rows = [...companies]
    .sort((a, b) => findings(b) - findings(a))
    .slice(0, MAX_ROWS)
    .map((company) => {
      const { v3CompanyId: v3, v4CompanyId: v4, region, matchedBy } = company;
      const name = v3 === null ? `V4 ${v4}` : `${v3} in ${region} → ${v4 ?? 'none'}`;
      return [name, ...countCells(company), matchedBy ?? '–'];
    });
  return {
    ...section('companies', 'Companies, most findings first', true),
    table: tableOf([...countColumns(['V3 → V4 company']), ...texts('Paired by')], rows, companies.length),
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
function listSection({ completeness }: Report): Section {
  const open = completeness.filter(({ state }) => state !== 'complete');
  const groups = groupBy(open, (list) =>
    JSON.stringify([list.generation, list.model, list.region, list.state, list.endReason]),
  );
  const rows = [...groups.values()].slice(0, MAX_ROWS).map((lists) => {
    const [first] = lists;
    if (first === undefined) return [];
    const name = lists.length === 1 ? nameOfStream(first) : nameOfStream({ ...first, companyId: null });
    const counts = lists.map(({ totalCountLast }) => totalCountLast).filter((count) => count !== null);
    return [
      name,
      groupDigits(lists.length),
      groupDigits(lists.reduce((total, { uniqueRecords }) => total + uniqueRecords, 0)),
      counts.length < lists.length ? '–' : groupDigits(sum(counts)),
      first.state === 'running' && first.pages === 0 ? 'not started' : first.state,
      first.endReason ?? '–',
    ];
  });
  const columns = [
    ...texts('List'),
    ...numbers('Lists', 'Records', 'Counted'),
    ...texts('State', 'Ended by'),
  ];
  const complete = completeness.length - open.length;
  return {
    ...section('lists', 'Lists'),
    texts: [`${groupDigits(complete)} of ${countOf(completeness.length, 'list')} read completely.`],
    ...(rows.length === 0 ? {} : { table: tableOf(columns, rows, groups.size) }),
  };
}

function limitationSection({ cannotSee }: Report): Section {
  return {
    ...section('cannot-see', 'What this check cannot see', true),
    items: cannotSee.map(({ name, text }) => ({ title: name, text })),
  };
}

function evidenceSection({ evidence, tool, generatedAt, findings }: Report): Section {
  const { remap, conservation: all, oldestReadAt } = evidence;
  const rows = [
    ['Generated', `${formatTime(generatedAt)} by ${tool.name} ${tool.version}`],
    ['Database', evidence.database],
    ['Oldest list', oldestReadAt === null ? 'nothing read yet' : `read ${formatTime(oldestReadAt)}`],
    [
      'Remap',
      remap === null ? 'none' : `built ${formatTime(remap.builtAt)}, ${groupDigits(remap.rows)} rows`,
    ],
    ['SHA-256', remap === null ? '–' : remap.sha256],
    ['V3 ids', `${groupDigits(all.v3Exported)} exported, ${groupDigits(all.v3Rows)} in exactly one row`],
    ['V4 ids', `${groupDigits(all.v4Exported)} exported, ${groupDigits(all.v4Seen)} in at least one row`],
    ['Findings', `${groupDigits(findings.total)} ids; all of them: ${findings.fullList}`],
  ];
  return { ...section('evidence', 'Evidence'), table: tableOf(texts('What', 'Value'), rows) };
}

/** What the export fixed: hosts, prefix, models and filters. */
function settingSection({ evidence }: Report): Section | null {
  const rows = Object.entries(evidence.fingerprint);
  if (rows.length === 0) return null;
  return {
    ...section('settings', 'Settings of the export', true),
    table: tableOf(texts('Setting', 'Value'), rows),
  };
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

function sum(counts: Readonly<Record<string, number>> | readonly number[]): number {
  return Object.values(counts).reduce((all, count) => all + count, 0);
}
