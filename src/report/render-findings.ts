import { describeOutcome } from '../reasons.js';
import { listV4Candidates, type OutcomeCount } from '../store/finding-rows.js';
import type { RemapRow } from '../store/remap-rows.js';
import { escapeJson, shellLine } from '../text/escape.js';
import { countOf, groupDigits } from '../text/numbers.js';
import { countReasons, describeIds, sumIds } from '../text/reason-counts.js';
import { groupBy } from '../text/rows.js';
import { cutText, wrapLines } from '../text/text-layout.js';

/**
 * Findings for a terminal, by status and reason, each group with its meaning, and the next command; if not all are shown,
 * also how many there are of these reasons. `rows`: the first of them, without the line items that are findings because their records are, unless
 * all are listed singly.
 */
export function renderFindings(
  rows: readonly RemapRow[],
  counts: readonly OutcomeCount[],
  isFolded: boolean,
  width: number,
): string {
  const total = counts.reduce((sum, { n }) => sum + Number(n), 0);
  if (total === 0) return 'No findings.\nNext: svc-migrate check\n';
  const groups = groupBy(rows, ({ status, reason }) => `${status}/${reason ?? ''}`);
  const blocks = [...groups].map(([key, own]) => {
    const [status = '', reason = null] = key.split('/');
    const { title, meaning } = describeOutcome(status, reason);
    return wrapLines([`${title} (${key})`, `  ${meaning}`, ...own.flatMap(linesOf)], width);
  });
  const reasons = countReasons(toRowCounts(counts)).sort((a, b) => sumIds(b) - sumIds(a));
  const folded = isFolded
    ? reasons.reduce((sum, { v3, v4 }) => sum + v3.theirLineItems + v4.theirLineItems, 0)
    : 0;
  const all = countOf(total - folded, 'finding');
  const isAll = rows.length === total - folded;
  const shown = [
    ...(isAll ? [`${all}.`] : [`${groupDigits(rows.length)} of ${all} shown.`]),
    ...(folded === 0
      ? []
      : [
          `With ${countOf(folded, 'line item')} of these records, which --verbose lists, ${groupDigits(total)} ids of V3 or V4 are findings.`,
        ]),
    ...(isAll
      ? []
      : ['Narrow them with --reason, --status, --model or --company, or show all with --limit 0.']),
  ];
  const ofShown = reasons.filter(({ key }) => groups.has(key));
  const byReason = ofShown.flatMap((one) => {
    const [status = '', reason = null] = one.key.split('/');
    return [`  ${describeOutcome(status, reason).title} (${one.key})`, `    ${describeIds(one)}`];
  });
  const others = reasons.length - ofShown.length;
  const more =
    others === 0 ? [] : [`  and ${countOf(others, 'other reason')}: svc-migrate report counts all`];
  const end = isAll ? [] : [wrapLines(['Findings of these reasons:', ...byReason, ...more], width)];
  const text = [...blocks, ...end, wrapLines(shown, width)].join('\n');
  return `${text}Next: ${nextFor(rows, reasons[0]?.key ?? '')}\n`;
}

function toRowCounts(counts: readonly OutcomeCount[]): Parameters<typeof countReasons>[0] {
  return counts.flatMap(({ status, reason, isChild, v3, n }) => {
    const [ofV3, ofV4] =
      isChild === 1n ? (['v3_line_item', 'v4_line_item'] as const) : (['v3_record', 'v4_record'] as const);
    const row = { model: '', status, reason };
    return [
      { ...row, unit: ofV3, count: Number(v3) },
      { ...row, unit: ofV4, count: Number(n - v3) },
    ];
  });
}

/** The command that settles or explains the most frequent kind of finding, a `status/reason`. */
function nextFor(rows: readonly RemapRow[], most: string): string {
  const [status, reason] = most.split('/');
  if (reason === 'company_ambiguous') return 'svc-migrate findings --write-companies companies-draft.csv';
  if (status === 'ambiguous' || reason === 'key_changed')
    return 'svc-migrate findings --write-decisions decisions-draft.csv';
  const row = rows.find((one) => one.status === status && one.reason === reason) ?? rows[0];
  const id = row?.v3_svc_id ?? row?.v4_svc_id;
  return row === undefined || id == null
    ? 'svc-migrate report'
    : shellLine(['svc-migrate', 'explain', row.model, String(id)]);
}

function linesOf(row: RemapRow): string[] {
  const name = row.path === '' ? row.model : `${row.model} ${row.path}`;
  const id = row.v3_svc_id === null ? `V4 ${row.v4_svc_id}` : `V3 ${row.v3_svc_id}`;
  const twin = row.v3_svc_id !== null && row.v4_svc_id !== null ? ` (V4 ${row.v4_svc_id})` : '';
  const candidates = listV4Candidates(row.evidence).map(String);
  const more = candidates.length === 0 ? '' : `; V4 candidates ${candidates.join(', ')}`;
  return [`  ${name} ${id}${twin}: ${placeOf(row)}${more}`];
}

function placeOf({ region, v3_company_id: v3, v4_company_id: v4, platform_id: key }: RemapRow): string {
  const company = v3 === null ? `V4 company ${v4}` : `company ${v3} in ${region}`;
  return `${company}, platform_id ${key === null ? '(none)' : cutText(key, MAX_VALUE_CHARS)}`;
}

/** Most characters of a value in a line for people. */
const MAX_VALUE_CHARS = 200;

/** A V4 record that a V3 id may have become. */
export interface Candidate {
  readonly svcId: bigint;
  readonly platformId: string | null;
  readonly uniqueId: string | null;
  readonly deleted: boolean;
  /** Latest date, ms since 1970. */
  readonly latestMs: number | null;
  /** The V3 id that became it. */
  readonly v3Id: bigint | null;
}

interface UnpairedCompany {
  readonly region: string | null;
  readonly v3_company_id: bigint | null;
  readonly v3_keys: bigint;
  readonly note: string;
}

/** A V3 id to decide, with the V4 records that it may have become. */
export interface Undecided {
  readonly row: RemapRow;
  readonly candidates: readonly Candidate[];
  /** Whether the V3 record is deleted. */
  readonly isDeleted: boolean;
}

/**
 * A draft of `decisions.csv`: every line is commented out and has `?` in place of the V4 id, so that it decides nothing
 * until it is edited.
 */
export function* renderDecisionsDraft(header: string, undecided: Iterable<Undecided>): Generator<string> {
  yield `${header}\n`;
  yield '# Each V3 id below is open. To decide one: remove the # before its line; replace ? by the V4 id that it became (or by\n';
  yield '# nothing if it became none) and say why at the end. Then run: svc-migrate remap\n';
  for (const { row, candidates, isDeleted } of undecided) {
    yield `#\n# V3 ${row.v3_svc_id}${row.path === '' ? '' : ` (${row.path})`} | ${row.status}/${row.reason} | platform_id ${quoteValue(row.platform_id)}\n`;
    if (isDeleted) {
      yield '#   deleted in V3: cannot be decided; a limit accepts it\n';
      continue;
    }
    if (candidates.length === 0) yield '#   no V4 candidate is known\n';
    for (const one of candidates) yield `#   ${describeCandidate(one)}\n`;
    yield `#${[row.model, row.path, row.region, row.v3_company_id, row.v3_svc_id, '?', ''].join(',')}\n`;
  }
}

/** What to do about ambiguous V3 ids whose record is deleted in V3; nothing if there are none. */
export function describeDeleted(count: number): string[] {
  return count === 0
    ? []
    : [
        `Deleted in V3, so not to be decided: ${countOf(count, 'ambiguous V3 id')}. A count for "ambiguous" in "limits" accepts them.`,
      ];
}

function describeCandidate({ svcId, platformId, uniqueId, deleted, latestMs, v3Id }: Candidate): string {
  return [
    `V4 ${svcId}`,
    `platform_id ${quoteValue(platformId)}`,
    ...(uniqueId === null ? [] : [`platform_unique_id ${quoteValue(uniqueId)}`]),
    ...(latestMs === null ? [] : [`latest date ${new Date(latestMs).toISOString().slice(0, 10)}`]),
    ...(deleted
      ? ['deleted: cannot be decided']
      : v3Id === null
        ? []
        : [`V3 ${v3Id} became it: cannot be decided`]),
  ].join(' | ');
}

/** A draft of `companies.csv`, commented out in the same way. */
export function* renderCompaniesDraft(
  header: string,
  companies: Iterable<UnpairedCompany>,
): Generator<string> {
  yield `${header}\n`;
  yield '# Each V3 company below could not be paired beyond doubt. To pair one: remove the # before its line and replace ? by the\n';
  yield '# V4 company that it is; each V4 company once. Then name this file in companies.match.file and run: svc-migrate remap\n';
  for (const { region, v3_company_id: id, v3_keys: keys, note } of companies) {
    yield `#\n# V3 company ${id} in ${region} | ${keys} keys\n`;
    const candidates = candidatesIn(note);
    if (candidates.length === 0) yield '#   no V4 candidate is known\n';
    for (const one of candidates) yield `#   ${one}\n`;
    yield `#${region},${id},?\n`;
  }
}

/** The candidates in a note, with their numbers; empty if the note holds none. */
function candidatesIn(note: string): string[] {
  const parsed: unknown = JSON.parse(note);
  if (!Array.isArray(parsed)) return [];
  return parsed.map((one: unknown) => {
    const { v4_company_id: id, ...numbers } = { v4_company_id: '', ...(typeof one === 'object' ? one : {}) };
    const parts = Object.entries(numbers).map(
      ([name, value]) => `${name.replaceAll('_', ' ')} ${quoteValue(value)}`,
    );
    return [`V4 company ${String(id)}`, ...parts].join(' | ');
  });
}

/**
 * A value for a comment: as JSON, so that it stays on its line, with commas and semicolons escaped, which would start a
 * new cell in a spreadsheet.
 */
function quoteValue(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  const text = typeof value === 'string' ? cutText(value, MAX_VALUE_CHARS) : value;
  return escapeJson(JSON.stringify(text) ?? '')
    .replaceAll(',', '\\u002c')
    .replaceAll(';', '\\u003b');
}
