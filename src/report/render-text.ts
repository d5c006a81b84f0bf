import { STATUSES } from '../reasons.js';
import { escapeUnseen } from '../text/escape.js';
import { countOf, formatDuration, formatShare, formatTime, groupDigits } from '../text/numbers.js';
import { type Column, layOutTable, wrapText } from '../text/text-layout.js';
import { describeBaseline } from './describe-baseline.js';
import { describeDecisions } from './describe-decisions.js';
import { describeDrift } from './describe-drift.js';
import { describeSince } from './describe-since.js';
import type { Report } from './schema.js';
import { buildVerdict, countV3Ids, describeAllowed, type Obstacle, type Verdict } from './verdict.js';

export interface TextOptions {
  /** Columns that lines may take. */
  readonly width: number;
  readonly color: boolean;
}

const MODELS = 40;
const OBSTACLES = 12;
const DECISIONS = 5;

/** The summary for a terminal: the verdict first, then what it rests on. */
export function renderText(report: Report, options: TextOptions): string {
  const verdict = buildVerdict(report);
  const blocks = [
    verdictBlock(report, verdict, options),
    obstacleBlock(verdict, options),
    totalsBlock(report),
    modelBlock(report, options),
    limitBlock(report, options),
    baselineBlock(report, options),
    decisionBlock(report, options),
    fullSyncBlock(report, options),
    driftBlock(report, options),
    sinceBlock(report, options),
    evidenceBlock(report, options),
    nextBlock(verdict, options),
  ];
  return `${blocks
    .filter((block) => block.length > 0)
    .map((block) => block.join('\n'))
    .join('\n\n')}\n`;
}

const PAINT = { bold: '1', red: '1;31', green: '1;32', yellow: '1;33', dim: '2' } as const;
const TONES = { pass: 'green', fail: 'red', incomplete: 'yellow', not_ready: 'yellow' } as const;

function paint(text: string, tone: keyof typeof PAINT, options: TextOptions): string {
  return options.color ? `\u001b[${PAINT[tone]}m${text}\u001b[0m` : text;
}

function heading(text: string, options: TextOptions): string {
  return paint(text, 'bold', options);
}

function verdictBlock(report: Report, verdict: Verdict, options: TextOptions): string[] {
  const title = wrapText(verdict.title, options.width).map((line) =>
    paint(line, TONES[report.outcome], options),
  );
  const { models, companies } = report.scope;
  const parts = [
    ...(models === null ? [] : [`models ${models.join(', ')}`]),
    ...(companies === null ? [] : [`companies ${companies.join(', ')}`]),
  ];
  const scope = parts.length === 0 ? [] : wrapText(`Only ${parts.join(' and ')}.`, options.width);
  return [...title, ...wrapText(verdict.sentence, options.width), ...scope, ...absentLines(report, options)];
}

/** V3 models that answered 404: what a user may hold of them is not checked. */
function absentLines(report: Report, options: TextOptions): string[] {
  const absent = report.completeness.filter((one) => one.generation === 'v3' && one.state === 'absent');
  if (absent.length === 0) return [];
  const names = [...new Set(absent.map((one) => one.model))].join(', ');
  const text = `Warning: V3 answered 404 for ${names}; ids of it are not checked.`;
  return wrapText(text, options.width).map((line) => paint(line, 'yellow', options));
}

function obstacleBlock(verdict: Verdict, options: TextOptions): string[] {
  if (verdict.obstacles.length === 0) return [];
  const shown = verdict.obstacles.slice(0, OBSTACLES).flatMap((one) => obstacleLines(one, options));
  const more = verdict.obstacles.length - OBSTACLES;
  const rest = more > 0 ? [`  … and ${groupDigits(more)} more, see --json`] : [];
  return [heading('What stands in the way', options), ...shown, ...rest];
}

function obstacleLines(obstacle: Obstacle, options: TextOptions): string[] {
  const { width } = options;
  const title = obstacle.numbers === '' ? obstacle.name : `${obstacle.name}: ${obstacle.numbers}`;
  const models = obstacle.models.map(({ model, count }) => `${model} ${groupDigits(count)}`);
  const few = models.length > 4 ? [...models.slice(0, 4), `${models.length - 4} more models`] : models;
  const details = [few.join(', '), obstacle.meaning].filter((text) => text !== '');
  return [
    ...wrapText(escapeUnseen(title), width, '  ').map((line) => paint(line, 'bold', options)),
    ...details.flatMap((text) => wrapText(escapeUnseen(text), width, '    ')),
    ...wrapText(escapeUnseen(`→ ${obstacle.action}`), width, '    '),
  ];
}

function totalsBlock(report: Report): string[] {
  const { totals } = report;
  const rows = Object.values(totals.byStatus).reduce((sum, n) => sum + n, 0);
  const v4Alone = rows - countV3Ids(report);
  const lines = [
    ['V3 ids', groupDigits(countV3Ids(report)), childrenOf(totals.v3Records, totals.v3Children)],
    [
      'V4 ids',
      groupDigits(totals.v4Records + totals.v4Children),
      childrenOf(totals.v4Records, totals.v4Children),
    ],
    ...(v4Alone > 0 ? [['rows', groupDigits(rows), `${groupDigits(v4Alone)} of them only in V4`]] : []),
    ...STATUSES.map((status) => [
      status,
      groupDigits(totals.byStatus[status]),
      formatShare(totals.byStatus[status], rows),
    ]),
    ...(totals.rejected > 0
      ? [['rejected', groupDigits(totals.rejected), 'objects without a usable id']]
      : []),
    ...(totals.uniqueIdConflicts > 0
      ? [['unique id conflicts', groupDigits(totals.uniqueIdConflicts), 'pairs']]
      : []),
  ];
  const columns: Column[] = [
    { title: 'Ids', align: 'left' },
    { title: '', align: 'right' },
    { title: '', align: 'left' },
  ];
  return layOutTable(columns, lines, 60).slice(1);
}

function childrenOf(records: number, children: number): string {
  return `${countOf(records, 'record')}, ${countOf(children, 'child', 'children')}`;
}

function modelBlock(report: Report, options: TextOptions): string[] {
  const models = report.models.slice(0, MODELS);
  if (models.length === 0) return [];
  const statuses = STATUSES.filter(
    (status) => status === 'matched' || models.some((model) => model.byStatus[status] > 0),
  );
  const columns: Column[] = [
    { title: 'Model', align: 'left' },
    { title: 'V3 ids', align: 'right' },
    ...statuses.map((title): Column => ({ title, align: 'right' })),
  ];
  const rows = models.map((model) => [
    model.model,
    groupDigits(model.v3Records + model.v3Children),
    ...statuses.map((status) => groupDigits(model.byStatus[status])),
  ]);
  const more = report.models.length - models.length;
  const [head = '', ...lines] = layOutTable(columns, rows, options.width);
  return [heading(head, options), ...lines, ...(more > 0 ? [`  … and ${more} more models, see --json`] : [])];
}

function limitBlock(report: Report, options: TextOptions): string[] {
  const limits = report.gate.limits.filter((limit) => limit.allowed !== null && limit.unit !== 'hours');
  if (limits.length === 0) return [];
  const columns: Column[] = [
    { title: 'Limit', align: 'left' },
    { title: 'found', align: 'right' },
    { title: 'allowed', align: 'right' },
    { title: '', align: 'left' },
  ];
  const rows = limits.map((limit) => [
    limit.model === null ? limit.name : `${limit.name} for ${limit.model}`,
    limit.actual === null ? 'not measured' : groupDigits(limit.actual),
    describeAllowed(limit),
    limit.pass ? 'ok' : 'EXCEEDED',
  ]);
  const [head = '', ...lines] = layOutTable(columns, rows, options.width);
  return [heading(head, options), ...lines];
}

function fullSyncBlock(report: Report, options: TextOptions): string[] {
  if (report.fullSync.length === 0) return [];
  const records = report.fullSync.reduce((sum, one) => sum + one.records, 0);
  const companies = new Set(report.fullSync.map((one) => `${one.v3CompanyId} ${one.region}`)).size;
  const text = `${countOf(records, 'record')} of ${countOf(companies, 'company', 'companies')} outside the backfill window: ask the operator for a full sync (section fullSync of --json).`;
  return wrapText(text, options.width);
}

function baselineBlock({ baseline }: Report, options: TextOptions): string[] {
  return baseline === null ? [] : wrapText(escapeUnseen(describeBaseline(baseline)), options.width);
}

function decisionBlock({ decisions }: Report, { width }: TextOptions): string[] {
  if (decisions === null) return [];
  const [head = '', ...lines] = describeDecisions(decisions, DECISIONS).map(escapeUnseen);
  return [...wrapText(head, width), ...lines.flatMap((line) => wrapText(line, width, '  '))];
}

function sinceBlock({ since }: Report, { width }: TextOptions): string[] {
  if (since === null) return [];
  const [head = '', ...lines] = describeSince(since).map(escapeUnseen);
  return [...wrapText(head, width), ...lines.flatMap((line) => wrapText(line, width, '  '))];
}

function driftBlock({ drift }: Report, options: TextOptions): string[] {
  const sentence = describeDrift(drift);
  return sentence === null ? [] : wrapText(escapeUnseen(sentence), options.width);
}

function evidenceBlock(report: Report, options: TextOptions): string[] {
  const { evidence, completeness } = report;
  const states = ['complete', 'short', 'absent', 'running', 'failed'] as const;
  const counts = states
    .map((state) => ({ state, n: completeness.filter((one) => one.state === state).length }))
    .filter(({ n }) => n > 0)
    .map(({ state, n }) => `${groupDigits(n)} ${state}`);
  const ageMs =
    evidence.oldestReadAt === null
      ? null
      : Date.parse(report.generatedAt) - Date.parse(evidence.oldestReadAt);
  const lines = [
    `Lists read: ${counts.length === 0 ? 'none' : counts.join(', ')}.`,
    ...(ageMs === null ? [] : [`Oldest evidence: ${formatDuration(ageMs)} old.`]),
    ...(evidence.remap === null
      ? []
      : [`Remap of ${formatTime(evidence.remap.builtAt)}, sha256 ${evidence.remap.sha256.slice(0, 12)}….`]),
    `Findings: ${groupDigits(report.findings.total)}; the full list: svc-migrate report --ndjson FILE.`,
    `What this cannot see (spelled out in --json): ${report.cannotSee.map((one) => one.name).join('; ')}.`,
  ];
  return lines.flatMap((line) => wrapText(escapeUnseen(line), options.width));
}

function nextBlock(verdict: Verdict, options: TextOptions): string[] {
  return wrapText(escapeUnseen(`Next: ${verdict.next}`), options.width).map((line) =>
    paint(line, 'bold', options),
  );
}
