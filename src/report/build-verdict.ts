import type { Outcome, ReportLimit, RowUnit } from '../domain.js';
import { describeOutcome, LIMITS } from '../reasons.js';
import { shellLine } from '../text/escape.js';
import { countOf, formatDuration, formatTime, groupDigits } from '../text/numbers.js';
import { bareKey, describeIds, groupByReason } from '../text/reason-counts.js';
import { compare, groupBy } from '../text/rows.js';
import type { ListItem } from './blocks.js';
import type { Report } from './report-schema.js';

/** The verdict, the same in every format for people. */
export interface CutoverVerdict {
  readonly title: string;
  readonly sentence: string;
  readonly obstacles: readonly Obstacle[];
  /** The command to run next. */
  readonly next: string;
}

/** One obstacle to the cutover. */
export interface Obstacle
  extends Required<Pick<ListItem, 'title' | 'numbers' | 'lines' | 'meaning' | 'action'>> {
  /** A blocker's or limit's name, or `status/reason`. */
  readonly key: string;
  /** The key, if the user can write it: in limits, or as an option. */
  readonly code: string | null;
  /** The number found, without the one allowed; '' if it is not of ids. */
  readonly found: string;
  /** The number of rows, to sort by. */
  readonly count: number;
}

const TITLES: Readonly<Record<Outcome, string>> = {
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

const MAX_NAMED_LIMITS = 3;

/** Builds the verdict from a report. */
export function buildVerdict(report: Report): CutoverVerdict {
  const blockers = report.blockers.map(({ code, text, next }) => ({
    ...{ key: code, title: BLOCKERS[code], code: null, ...NO_ROWS },
    ...{ numbers: '', meaning: text, action: next },
  }));
  const obstacles = [...blockers, ...obstaclesOfGate(report)];
  const [first] = obstacles;
  const blocker = report.blockers[0]?.next;
  const next = first === undefined ? 'svc-migrate verify' : (blocker ?? commandFor(first.key, report));
  return {
    title: titleOf(report),
    sentence: sentenceOf(report),
    obstacles,
    next,
  };
}

/** Blockers of the remap come last: one at the head is the only one. */
function titleOf({ outcome, blockers: [first] }: Report): string {
  if (outcome !== 'incomplete' || !first?.code.startsWith('remap_')) return TITLES[outcome];
  return `NOT KNOWN YET: ${BLOCKERS[first.code].toUpperCase()}`;
}

function sentenceOf(report: Report): string {
  const ids = report.evidence.conservation.v3Rows;
  const { matched } = report.totals.byStatus;
  const found = `${groupDigits(matched)} of ${countOf(ids, 'V3 id')} ${matched === 1 ? 'has its V4 id' : 'have their V4 id'}`;
  switch (report.outcome) {
    case 'pass':
      return matched === ids
        ? `${found}.`
        : `${found}; the limits accept the other ${groupDigits(ids - matched)}.`;
    case 'fail': {
      const failed = report.gate.limits.filter((limit) => !limit.pass).map(nameOfLimit);
      const more = failed.length - MAX_NAMED_LIMITS;
      const names = [...failed.slice(0, MAX_NAMED_LIMITS), ...(more > 0 ? [`${more} more`] : [])].join(', ');
      return `${found}; ${countOf(failed.length, 'limit is', 'limits are')} exceeded (${names}).`;
    }
    case 'incomplete':
      return ids === 0 ? 'Nothing is joined yet.' : `So far ${found}.`;
    case 'not_ready':
      return `V3 shows ${countOf(report.totals.v3Records, 'record')}, V4 shows ${countOf(report.totals.v4Records, 'record')}.`;
    default:
      return report.outcome satisfies never;
  }
}

function obstaclesOfGate(report: Report): Obstacle[] {
  const failed = report.gate.limits.filter((limit) => !limit.pass);
  const found = failed.flatMap((limit) =>
    limit.contributors.length === 0 ? [obstacleOfLimit(limit, report)] : obstaclesOfRows(limit),
  );
  return found.sort((a, b) => b.count - a.count || compare(a.key, b.key));
}

/** Of an obstacle that is not of rows. */
const NO_ROWS = { found: '', count: 0, lines: [] } as const;

function obstacleOfLimit(limit: ReportLimit, report: Report): Obstacle {
  const head = { ...headOf(limit.name, limit), ...NO_ROWS };
  if (limit.unit === 'hours') return { ...head, numbers: describeAge(limit, report) };
  const { meaning } = head;
  const withDetail = limit.detail === null ? meaning : `${meaning} Here: ${limit.detail}.`;
  return { ...head, numbers: describeLimit(limit), meaning: withDetail };
}

function headOf(
  key: string,
  { model }: ReportLimit,
): Pick<Obstacle, 'key' | 'title' | 'code' | 'meaning' | 'action'> {
  const { title, meaning, action } = describeKey(key, model);
  return { key, title: title === '' ? key : title, code: title === '' ? null : key, meaning, action };
}

function describeAge(limit: ReportLimit, { evidence }: Report): string {
  if (limit.detail !== null) return limit.detail;
  return `read at ${formatTime(evidence.oldestReadAt ?? '')}; accepted for ${formatDuration(Number(limit.allowed) * 3_600_000)}`;
}

const UNIT_NAMES: Readonly<Record<ReportLimit['unit'], readonly [one: string, more: string]>> = {
  ids: ['id of V3 or V4', 'ids of V3 and V4'],
  v3_ids: ['V3 id', 'V3 ids'],
  v4_ids: ['V4 id', 'V4 ids'],
  pairs: ['pair', 'pairs'],
  objects: ['object', 'objects'],
  streams: ['list', 'lists'],
  decisions: ['decision', 'decisions'],
  hours: ['h', 'h'],
};

/** What a limit found, with its unit: `1,204 V3 ids`. */
export function describeFound({ actual, unit }: ReportLimit): string {
  return actual === null ? 'not measured' : countOf(actual, ...UNIT_NAMES[unit]);
}

/** `12 objects found, 0 allowed`. */
export function describeLimit(limit: ReportLimit): string {
  const found = limit.actual === null ? 'not measured' : `${describeFound(limit)} found`;
  return `${found}, ${describeAllowed(limit)} allowed`;
}

/** The allowed value of a limit, for people. */
export function describeAllowed(limit: ReportLimit): string {
  if (limit.allowed === null) return 'any number';
  if (typeof limit.allowed === 'string') return `${limit.allowed} of ${countOf(limit.base ?? 0, 'V3 id')}`;
  return limit.unit === 'hours' ? formatDuration(limit.allowed * 3_600_000) : groupDigits(limit.allowed);
}

/** Models that are named with their counts. */
const MAX_MODELS = 4;

/** Obstacles by reason; line items of a record without a twin count under its reason. */
function obstaclesOfRows(limit: ReportLimit): Obstacle[] {
  const byKey = groupBy(limit.contributors, ({ key }) => bareKey(key));
  return [...byKey].map(([key, rows]) => {
    const [ids] = groupByReason(rows);
    const found = ids === undefined ? '' : describeIds(ids);
    const numbers = `${found === '' ? describeFound(limit) : found}; ${describeExcess(limit, byKey.size === 1)}`;
    // Ids of V3 and of V4 stand apart.
    const lines = [...groupBy(rows, ({ unit }) => unitOf(unit, limit))].map(
      ([unit, own]) => `${unit}: ${listModels(countModels(own), MAX_MODELS)}`,
    );
    return { ...headOf(key, limit), numbers, found, count: sumCounts(rows), lines };
  });
}

function unitOf(unit: RowUnit | null, limit: ReportLimit): string {
  if (unit === null) return UNIT_NAMES[limit.unit][1];
  return unit === 'v3_record' || unit === 'v3_line_item' ? 'V3 ids' : 'V4 ids';
}

/** By model, highest count first. */
function countModels(rows: ReportLimit['contributors']) {
  return [...groupBy(rows, ({ model }) => model)]
    .map(([model, own]) => ({ model, count: sumCounts(own) }))
    .sort((a, b) => b.count - a.count || compare(a.model, b.model));
}

function sumCounts(rows: ReportLimit['contributors']): number {
  return rows.reduce((sum, { count }) => sum + count, 0);
}

/** `the default allows 0`; `of 150 V4 ids, where limit v4_only allows 100`: a part must not look like less than allowed. */
function describeExcess(limit: ReportLimit, isWhole: boolean): string {
  const allows = `${limitName(limit)} allows ${describeAllowed(limit)}`;
  return isWhole || limit.allowed === 0 ? allows : `of ${describeFound(limit)}, where ${allows}`;
}

/** `limit unmatched for crm/companies`, `the default`. */
function limitName(limit: ReportLimit): string {
  return limit.configured ? `limit ${nameOfLimit(limit)}` : 'the default';
}

/** `unmatched for crm/companies`. */
export function nameOfLimit({ name, model }: ReportLimit): string {
  return model === null ? name : `${name} for ${model}`;
}

/** What settles a finding or a failed limit: a command, by `status/reason`, reason or the name of the limit. */
const COMMANDS: Readonly<Record<string, (key: string, report: Report) => readonly string[]>> = {
  company_ambiguous: () => ['findings', '--write-companies', 'companies-draft.csv'],
  duplicate_platform_id_v3: () => ['findings', '--write-decisions', 'decisions-draft.csv'],
  duplicate_platform_id_v4: () => ['findings', '--write-decisions', 'decisions-draft.csv'],
  key_changed: () => ['findings', '--write-decisions', 'decisions-draft.csv'],
  model_not_in_v4: () => ['doctor'],
  scope_incomplete: () => ['run'],
  unexplained: explainSample,
  unique_id_conflict: () => ['dump', '--output', 'remap.csv'],
  drift: (_, { drift, gate: { limits } }) => {
    if (!drift.measured) return ['run', '--restart'];
    const limitOf = (model: string | null) =>
      limits.find((limit) => limit.name === 'drift' && limit.model === model);
    const isOver = (model: string) => (limitOf(model) ?? limitOf(null))?.pass === false;
    const first = drift.models.find(({ model, sample }) => sample !== null && isOver(model));
    return first?.sample == null ? ['report', '--verbose'] : ['explain', first.model, first.sample];
  },
  rejected: () => ['doctor'],
  short: () => ['status'],
  decision_stale: () => ['remap'],
  maxAge: () => ['run'],
};

/** The command to run next for an obstacle to the cutover, as it can be typed. */
export function commandFor(key: string, report: Report): string {
  const reason = key.split('/').at(-1) ?? key;
  const words = (COMMANDS[reason] ?? findingsCommand)(key, report);
  const isNarrowed = ['findings', 'report', 'dump'].some((command) => command === words[0]);
  return shellLine(['svc-migrate', ...words, ...(isNarrowed ? scopeOptions(report.scope) : [])]);
}

/** Options that select the same models and companies. */
export function scopeOptions({
  models,
  companies,
}: Readonly<Record<'models' | 'companies', readonly string[] | null>>): string[] {
  return [
    ...(models ?? []).flatMap((model) => ['--model', model]),
    ...(companies ?? []).flatMap((id) => ['--company', id]),
  ];
}

function findingsCommand(key: string): readonly string[] {
  const [status = key, reason] = key.split('/');
  return ['findings', '--status', status, ...(reason === undefined ? [] : ['--reason', reason])];
}

function explainSample(key: string, report: Report): readonly string[] {
  const sample = report.findings.samples.find((one) => `${one.status}/${one.reason}` === key);
  const id = sample?.v3_svc_id ?? sample?.v4_svc_id;
  if (sample === undefined || id == null) return findingsCommand(key);
  return ['explain', sample.path === '' ? sample.model : `${sample.model}#${sample.path}`, id];
}

/** The meaning of a status and reason or of a limit, and what to do about it. */
export interface KeyText {
  /** A few plain words; '' if the key needs none. */
  readonly title: string;
  readonly meaning: string;
  readonly action: string;
}

const BY_LIMIT: Readonly<Record<string, KeyText>> = {
  rejected: {
    title: 'Objects without a usable id',
    meaning: 'Objects that could not be read as a record; the table rejected holds them as received.',
    action: `Look at the table rejected and report them to the operator, or accept them in ${LIMITS}.`,
  },
  short: {
    title: 'Lists shorter than their count',
    meaning: 'A list was read to its end twice and the service counts more than it shows.',
    action: `Ask the operator about total_count of this list, or accept it in ${LIMITS}.`,
  },
  unique_id_conflict: {
    title: 'Pairs with different platform_unique_ids',
    meaning: 'Two paired records have the same platform_id and different platform_unique_ids.',
    action: 'Compare the pairs: `svc-migrate explain MODEL ID`.',
  },
  decision_stale: {
    title: 'Decisions that the data do not support',
    meaning: 'Lines of decisions.csv that the data do not support; nothing was changed for them.',
    action: 'Correct these lines or take them out, then run `svc-migrate remap`: the report lists them.',
  },
  drift: {
    title: 'Pairs with different fields',
    meaning: 'Fields of a matched pair differ.',
    action:
      'Compare them: `svc-migrate report --ndjson findings.ndjson` lists the pairs with both values. Pairs whose contents were not stored, or deleted since, are compared after `svc-migrate run --restart` with "payload": "full".',
  },
  maxAge: {
    title: 'Evidence too old',
    meaning: 'The evidence is older than the configuration accepts.',
    action: 'Run `svc-migrate run` again.',
  },
};

/** The text for `status`, `status/reason`, or the name of a limit such as `short`. `model`: the limit that judges is of this one. */
export function describeKey(key: string, model: string | null = null): KeyText {
  const [status = '', reason = null] = key.split('/');
  const text = BY_LIMIT[key] ?? describeOutcome(status, reason);
  if (model === null) return text;
  return { ...text, action: text.action.replace(LIMITS, () => `"limits.models" under "${model}"`) };
}

/** `crm/stages 3, crm/companies 2, 5 more models`. */
export function listModels(
  models: readonly { readonly model: string; readonly count: number }[],
  shown: number,
): string {
  const names = models.slice(0, shown).map(({ model, count }) => `${model} ${groupDigits(count)}`);
  if (models.length > shown) names.push(countOf(models.length - shown, 'more model'));
  return names.join(', ');
}
