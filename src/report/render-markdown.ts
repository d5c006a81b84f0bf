import { escapeMarkdown } from '../text/escape.js';
import { countOf, formatTime, groupDigits } from '../text/numbers.js';
import { cutText } from '../text/text-layout.js';
import { buildVerdict, type CutoverVerdict } from './build-verdict.js';
import { countIds, describeNotes } from './describe.js';
import type { Report } from './report-schema.js';
import {
  companyTable,
  fullSyncTable,
  limitTable,
  listStatuses,
  modelTable,
  numeric,
  type ReportTable,
  reasonTable,
  STATUS_NAMES,
} from './tables.js';

/** Most rows of each table, so that the report fits a pull request comment (65,536 characters) even with long names. */
const MAX_ROWS = {
  obstacles: 10,
  limits: 20,
  reasons: 12,
  models: 40,
  companies: 40,
  fullSync: 60,
  decisions: 20,
} as const;
const MAX_CELL_CHARS = 120;

const MARKS = { pass: '✅', fail: '❌', incomplete: '⏳', not_ready: '⏳' } as const;

/** The report for a job summary or a pull request. */
export function renderMarkdown(report: Report): Iterable<string> {
  const verdict = buildVerdict(report);
  const notes = describeNotes(report, MAX_ROWS.decisions);
  const blocks = [
    `## ${MARKS[report.outcome]} ${verdict.title}`,
    plain(verdict.sentence),
    ...obstacleBlocks(verdict),
    `**Next:** ${plain(verdict.next)}`,
    ...statusBlocks(report),
    ...limitBlocks(report),
    ...reasonBlocks(report),
    ...foldedTable('Models', modelTable(report), MAX_ROWS.models, report.models.length),
    ...companyBlocks(report),
    ...fullSyncBlocks(report),
    ...[notes.drift, notes.decisions, notes.code, notes.since].flatMap(noteBlocks),
    blindBlock(report),
    footer(report),
  ];
  return [`${blocks.join('\n\n')}\n`];
}

/** Escapes a sentence; text between backticks becomes code. */
function plain(text: string): string {
  const parts = cutText(text, MAX_CELL_CHARS * 4)
    .split('`')
    .map(escapeMarkdown);
  return parts.map((part, at) => (at % 2 === 0 ? part : `<code>${part}</code>`)).join('');
}

function table({ columns, rows }: ReportTable, shown: number, total = rows.length): string {
  const lines = [
    columns.map(({ title }) => title),
    columns.map((column) => (column.numeric ? '---:' : '---')),
    ...rows.slice(0, shown).map((row) => row.map((cell) => escapeMarkdown(cutText(cell, MAX_CELL_CHARS)))),
  ];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n') + more(total, shown);
}

/** Keeps only the columns at these indexes. */
function pick({ columns, rows }: ReportTable, places: readonly number[]): ReportTable {
  const isPicked = (_: unknown, at: number) => places.includes(at);
  return { columns: columns.filter(isPicked), rows: rows.map((row) => row.filter(isPicked)) };
}

function details(summary: string, body: string): string {
  return `<details><summary>${escapeMarkdown(summary)}</summary>\n\n${body}\n\n</details>`;
}

function more(all: number, shown: number): string {
  return all > shown ? `\n\n${groupDigits(all - shown)} more: see the JSON report.` : '';
}

function obstacleBlocks({ obstacles }: CutoverVerdict): string[] {
  if (obstacles.length === 0) return [];
  const lines = obstacles.slice(0, MAX_ROWS.obstacles).map((one) => {
    const numbers = one.numbers === '' ? '' : `: ${plain(one.numbers)}`;
    return `- **${plain(one.name)}**${numbers}. ${plain(one.meaning)} → ${plain(one.action)}`;
  });
  return [`### What stands in the way`, lines.join('\n') + more(obstacles.length, MAX_ROWS.obstacles)];
}

function statusBlocks({ totals }: Report): string[] {
  const { v3, v4Only } = countIds(totals);
  const statuses = listStatuses(totals).filter(({ share }) => share !== null);
  const rows = statuses.map(({ status, count, share }) => [
    STATUS_NAMES[status],
    groupDigits(count),
    share ?? '',
  ]);
  const columns = [{ title: 'Status' }, numeric('V3 ids'), numeric('Share of V3 ids')];
  const all = ['all', groupDigits(v3), v3 === 0 ? '–' : '100 %'];
  const apart =
    v4Only === 0 ? [] : [`${countOf(v4Only, 'more row is', 'more rows are')} only in V4, without a V3 id.`];
  return [table({ columns, rows: [...rows, all] }, STATUS_ROWS), ...apart];
}

const STATUS_ROWS = 5;

function limitBlocks({ gate }: Report): string[] {
  const limits = gate.limits.filter((limit) => limit.allowed !== null);
  const { columns, rows } = limitTable(limits);
  const marked = rows.map((row, at) => [limits[at]?.pass ? '✅' : '❌', ...row]);
  return [`### Limits`, table({ columns: [{ title: '' }, ...columns], rows: marked }, MAX_ROWS.limits)];
}

function reasonBlocks(report: Report): string[] {
  const byReason = Object.entries(report.totals.byReason).sort(([, a], [, b]) => b - a);
  if (byReason.length === 0) return [];
  const totals = { ...report.totals, byReason: Object.fromEntries(byReason) };
  return [`### Top reasons`, table(pick(reasonTable({ ...report, totals }), [0, 1, 2, 3]), MAX_ROWS.reasons)];
}

function foldedTable(name: string, content: ReportTable, shown: number, total: number): string[] {
  return total === 0 ? [] : [details(`${name} (${groupDigits(total)})`, table(content, shown, total))];
}

function companyBlocks(report: Report): string[] {
  const companies = companyTable(report, MAX_ROWS.companies);
  return foldedTable('Companies', companies, MAX_ROWS.companies, companies.total);
}

function fullSyncBlocks(report: Report): string[] {
  const { total, records, ...content } = fullSyncTable(report, MAX_ROWS.fullSync);
  if (total === 0) return [];
  const body = table(pick(content, [0, 1, 2, 3, 5]), MAX_ROWS.fullSync, total);
  return [details(`Full sync to ask the operator for (${countOf(records, 'record')})`, body)];
}

function noteBlocks([head, ...lines]: readonly string[]): string[] {
  if (head === undefined) return [];
  const list = lines.map((line) => `- ${plain(line)}`).join('\n');
  return list === '' ? [plain(head)] : [plain(head), list];
}

function blindBlock({ cannotSee }: Report): string {
  const lines = cannotSee.map((one) => `- **${escapeMarkdown(one.name)}**: ${plain(one.text)}`);
  return details('What this check cannot see', lines.join('\n'));
}

function footer({ evidence, tool, exitCode }: Report): string {
  const remap = evidence.remap === null ? 'no remap' : `remap ${evidence.remap.sha256.slice(0, 12)}`;
  const read =
    evidence.oldestReadAt === null ? 'nothing read' : `oldest evidence ${formatTime(evidence.oldestReadAt)}`;
  return `<sub>${escapeMarkdown(`svc-migrate ${tool.version}, ${remap}, ${read}, exit code ${exitCode}`)}</sub>`;
}
