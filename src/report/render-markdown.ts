import { STATUSES } from '../reasons.js';
import { escapeMarkdown } from '../text/escape.js';
import { countOf, formatShare, formatTime, groupDigits } from '../text/numbers.js';
import { describeBaseline } from './describe-baseline.js';
import { describeDecisions } from './describe-decisions.js';
import { describeDrift } from './describe-drift.js';
import { describeKey } from './describe-key.js';
import { describeSince } from './describe-since.js';
import { STATUS_NAMES } from './html-charts.js';
import { nameOfCompany, totalFindings } from './people.js';
import type { Report } from './schema.js';
import { buildVerdict, describeAllowed, type Verdict } from './verdict.js';

/** So that the whole fits a pull request comment (65,536 characters) even where names are long. */
const ROWS = {
  obstacles: 10,
  limits: 20,
  reasons: 12,
  models: 40,
  companies: 40,
  fullSync: 60,
  decisions: 20,
} as const;
const CELL_CHARS = 120;

const MARKS = { pass: '✅', fail: '❌', incomplete: '⏳', not_ready: '⏳' } as const;

/** The report for a job summary or a pull request. */
export function renderMarkdown(report: Report): Iterable<string> {
  const verdict = buildVerdict(report);
  const blocks = [
    `## ${MARKS[report.outcome]} ${verdict.title}`,
    plain(verdict.sentence),
    ...obstacleBlocks(verdict),
    `**Next:** ${plain(verdict.next)}`,
    statusTable(report),
    gateTable(report),
    ...reasonBlocks(report),
    ...detailBlocks(report),
    footer(report),
  ];
  return [`${blocks.join('\n\n')}\n`];
}

/** A sentence; what stands between backticks is code. */
function plain(text: string): string {
  const short = [...text].length > CELL_CHARS * 4 ? `${[...text].slice(0, CELL_CHARS * 4).join('')}…` : text;
  const parts = short.split('`').map(escapeMarkdown);
  return parts.map((part, at) => (at % 2 === 0 ? part : `<code>${part}</code>`)).join('');
}

function cell(text: string): string {
  const chars = [...text];
  return escapeMarkdown(chars.length > CELL_CHARS ? `${chars.slice(0, CELL_CHARS).join('')}…` : text);
}

interface MarkdownColumn {
  readonly title: string;
  readonly right?: true;
}

function table(columns: readonly MarkdownColumn[], rows: readonly (readonly string[])[]): string {
  const lines = [
    columns.map(({ title }) => title),
    columns.map(({ right }) => (right ? '---:' : '---')),
    ...rows.map((row) => row.map(cell)),
  ];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}

function details(summary: string, body: string): string {
  return `<details><summary>${escapeMarkdown(summary)}</summary>\n\n${body}\n\n</details>`;
}

function more(all: number, shown: number): string {
  return all > shown ? `\n\n${groupDigits(all - shown)} more: see the JSON report.` : '';
}

function obstacleBlocks({ obstacles }: Verdict): string[] {
  if (obstacles.length === 0) return [];
  const lines = obstacles.slice(0, ROWS.obstacles).map((one) => {
    const numbers = one.numbers === '' ? '' : `: ${plain(one.numbers)}`;
    return `- **${plain(one.name)}**${numbers}. ${plain(one.meaning)} → ${plain(one.action)}`;
  });
  return [`### What stands in the way`, lines.join('\n') + more(obstacles.length, ROWS.obstacles)];
}

function statusTable(report: Report): string {
  const { totals } = report;
  const all = totals.byStatus.matched + totalFindings(totals);
  const rows = STATUSES.map((status) => [
    STATUS_NAMES[status],
    groupDigits(totals.byStatus[status]),
    formatShare(totals.byStatus[status], all),
  ]);
  return table([{ title: 'Status' }, { title: 'Rows', right: true }, { title: 'Share', right: true }], rows);
}

function gateTable({ gate }: Report): string {
  const limits = gate.limits.filter((limit) => limit.allowed !== null);
  const rows = limits
    .slice(0, ROWS.limits)
    .map((limit) => [
      limit.pass ? '✅' : '❌',
      limit.model === null ? limit.name : `${limit.name} for ${limit.model}`,
      limit.actual === null
        ? 'not measured'
        : `${groupDigits(limit.actual)}${limit.unit === 'hours' ? ' h' : ''}`,
      describeAllowed(limit),
    ]);
  const columns = [
    { title: '' },
    { title: 'Limit' },
    { title: 'Found', right: true } as const,
    { title: 'Allowed', right: true } as const,
  ];
  return `### Limits\n\n${table(columns, rows)}${more(limits.length, ROWS.limits)}`;
}

function reasonBlocks({ totals }: Report): string[] {
  const reasons = Object.entries(totals.byReason).sort(([, a], [, b]) => b - a);
  if (reasons.length === 0) return [];
  const rows = reasons.slice(0, ROWS.reasons).map(([key, count]) => {
    const { title, meaning } = describeKey(key);
    return [title, key, groupDigits(count), meaning];
  });
  const columns = [
    { title: 'Reason' },
    { title: 'Status / reason' },
    { title: 'Rows', right: true } as const,
    { title: 'What it means' },
  ];
  return [`### Top reasons`, table(columns, rows) + more(reasons.length, ROWS.reasons)];
}

const STATUS_COLUMNS = STATUSES.map((status) => ({ title: STATUS_NAMES[status], right: true }) as const);

function detailBlocks(report: Report): string[] {
  return [
    ...modelBlocks(report),
    ...companyBlocks(report),
    ...fullSyncBlocks(report),
    ...driftBlocks(report),
    ...baselineBlocks(report),
    ...decisionBlocks(report),
    ...sinceBlocks(report),
    blindBlock(report),
  ];
}

function modelBlocks({ models }: Report): string[] {
  if (models.length === 0) return [];
  const rows = models
    .slice(0, ROWS.models)
    .map((model) => [
      model.model,
      model.v4Model ?? '–',
      ...STATUSES.map((status) => groupDigits(model.byStatus[status])),
    ]);
  const body =
    table([{ title: 'Model' }, { title: 'V4' }, ...STATUS_COLUMNS], rows) + more(models.length, ROWS.models);
  return [details(`Models (${groupDigits(models.length)})`, body)];
}

function companyBlocks({ companies }: Report): string[] {
  if (companies.length === 0) return [];
  const sorted = [...companies].sort((a, b) => totalFindings(b) - totalFindings(a));
  const rows = sorted
    .slice(0, ROWS.companies)
    .map((company) => [
      nameOfCompany(company),
      company.matchedBy ?? '–',
      ...STATUSES.map((status) => groupDigits(company.byStatus[status])),
    ]);
  const head = [{ title: 'Company' }, { title: 'Paired by' }, ...STATUS_COLUMNS];
  const body = table(head, rows) + more(companies.length, ROWS.companies);
  return [details(`Companies (${groupDigits(companies.length)})`, body)];
}

function fullSyncBlocks({ fullSync }: Report): string[] {
  if (fullSync.length === 0) return [];
  const rows = fullSync
    .slice(0, ROWS.fullSync)
    .map((one) => [
      `${one.v3CompanyId} in ${one.region}`,
      one.v4CompanyId ?? '–',
      one.model,
      groupDigits(one.records),
      `${one.earliest?.slice(0, 10) ?? '–'} to ${one.latest?.slice(0, 10) ?? '–'}`,
    ]);
  const head = [
    { title: 'V3 company' },
    { title: 'V4 company' },
    { title: 'Model' },
    { title: 'Records', right: true } as const,
    { title: 'Dates' },
  ];
  const body = table(head, rows) + more(fullSync.length, ROWS.fullSync);
  const records = fullSync.reduce((sum, one) => sum + one.records, 0);
  return [details(`Full sync to ask the operator for (${countOf(records, 'record')})`, body)];
}

function baselineBlocks({ baseline }: Report): string[] {
  return baseline === null ? [] : [plain(describeBaseline(baseline))];
}

function decisionBlocks({ decisions }: Report): string[] {
  if (decisions === null) return [];
  const [head = '', ...lines] = describeDecisions(decisions, ROWS.decisions);
  return [plain(head), ...(lines.length === 0 ? [] : [lines.map((line) => `- ${plain(line)}`).join('\n')])];
}

function sinceBlocks({ since }: Report): string[] {
  if (since === null) return [];
  const [head = '', ...lines] = describeSince(since);
  return [plain(head), ...(lines.length === 0 ? [] : [lines.map((line) => `- ${plain(line)}`).join('\n')])];
}

function driftBlocks({ drift }: Report): string[] {
  const sentence = describeDrift(drift);
  return sentence === null ? [] : [plain(sentence)];
}

function blindBlock({ cannotSee }: Report): string {
  const lines = cannotSee.map((one) => `- **${escapeMarkdown(one.name)}**: ${plain(one.text)}`);
  return details('What this check cannot see', lines.join('\n'));
}

function footer(report: Report): string {
  const { evidence } = report;
  const remap = evidence.remap === null ? 'no remap' : `remap ${evidence.remap.sha256.slice(0, 12)}`;
  const read =
    evidence.oldestReadAt === null ? 'nothing read' : `oldest evidence ${formatTime(evidence.oldestReadAt)}`;
  return `<sub>${escapeMarkdown(`svc-migrate ${report.tool.version}, ${remap}, ${read}, exit code ${report.exitCode}`)}</sub>`;
}
