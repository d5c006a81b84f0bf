import { type Generation, isUnfinished, STREAM_STATES, shownState } from '../domain.js';
import { escapeUnseen } from '../text/escape.js';
import { countOf, formatBytes, formatTime, groupDigits } from '../text/numbers.js';
import { sumOf } from '../text/rows.js';
import { wrapText } from '../text/wrap.js';
import { nameOfStream } from './cannot-see.js';
import { buildDocument, scopeSentence } from './document.js';
import type { Report, ReportStream } from './report-schema.js';

const MAX_UNFINISHED = 10;

interface ShownStatus {
  readonly report: Report;
  readonly database: { readonly file: string; readonly bytes: number };
  readonly width: number;
  readonly verbose: boolean;
}

/** The state of the database for a terminal: lists, what is unfinished, the remap, and what `check` would say. */
export function renderStatus({ report, database, width, verbose }: ShownStatus): string {
  const { completeness, evidence, lists } = report;
  const { title, lead, next } = buildDocument(report);
  const scope = scopeSentence(report);
  const unfinished = completeness.filter(isUnfinished);
  const shown = verbose ? unfinished : unfinished.slice(0, MAX_UNFINISHED);
  const more = sumOf(lists.filter(isUnfinished), (group) => group.lists) - shown.length;
  const age =
    evidence.oldestReadAt === null
      ? []
      : [`Oldest list: read ${formatTime(evidence.oldestReadAt)}, ${evidence.ageHours ?? 0} h ago`];
  const lines = [
    `Database: ${database.file} (${formatBytes(database.bytes)})`,
    describeLists(lists, 'v3'),
    describeLists(lists, 'v4'),
    ...age,
    ...(unfinished.length === 0 ? [] : ['Unfinished:']),
    ...shown.map((list) => `  ${describeList(list)}`),
    ...(more > 0 ? [`  … and ${groupDigits(more)} more`] : []),
    ...describeRemap(report),
    `Verdict: ${[`${title}: ${lead[0]}`, ...scope].join(' ')}`,
    `Next: ${next}`,
  ];
  return lines.map((line) => `${wrapLine(escapeUnseen(line), width)}\n`).join('');
}

function wrapLine(line: string, width: number): string {
  const indent = line.startsWith('  ') ? '  ' : '';
  return wrapText(line.trimStart(), width, indent).join('\n');
}

function describeLists(all: Report['lists'], generation: Generation): string {
  const groups = all.filter((group) => group.generation === generation);
  const name = generation.toUpperCase();
  if (groups.length === 0) return `${name}: not exported yet`;
  const count = (rows: Report['lists']) => sumOf(rows, ({ lists }) => lists);
  const named = STREAM_STATES.map((state) => ({
    state,
    lists: count(groups.filter((group) => group.state === state)),
  }))
    .filter(({ lists }) => lists > 0)
    .map(({ state, lists }) => `${groupDigits(lists)} ${state}`);
  const records = sumOf(groups, (group) => group.records);
  const rejected = sumOf(groups, (group) => group.rejected);
  return `${name}: ${countOf(count(groups), 'list')} (${named.join(', ')}), ${countOf(records, 'record')}${rejected === 0 ? '' : `, ${groupDigits(rejected)} rejected`}`;
}

function describeList(list: ReportStream): string {
  const { state, pages, uniqueRecords, totalCountLast, endReason } = list;
  const shown = shownState(state, pages > 0);
  const name = nameOfStream(list);
  if (shown === 'not started') return `${name}: not started`;
  const total = totalCountLast === null ? '' : ` of ${groupDigits(totalCountLast)}`;
  const why = endReason === null ? '' : ` (${endReason})`;
  return `${name}: ${shown}${why} after ${countOf(pages, 'page')}, ${groupDigits(uniqueRecords)}${total} records`;
}

function describeRemap({ evidence: { remap }, totals }: Report): string[] {
  if (remap === null) return ['Remap: none yet'];
  const state = remap.stale ? `stale: changed since: ${remap.changed.join(', ')}` : 'current';
  const { matched, unmatched, deleted, ambiguous } = totals.v3ByStatus;
  const ids = matched + unmatched + deleted + ambiguous;
  const alone = remap.rows - ids;
  const counts = { matched, unmatched, deleted, ambiguous };
  const named = Object.entries(counts).map(([status, count]) => `${groupDigits(count)} ${status}`);
  return [
    `Remap: built ${formatTime(remap.builtAt)}, ${state}`,
    `  ${countOf(ids, 'V3 id')}: ${named.join(', ')}`,
    ...(alone === 0 ? [] : [`  ${countOf(alone, 'V4 id')} without a V3 id`]),
  ];
}
