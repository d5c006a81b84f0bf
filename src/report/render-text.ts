import { prepareDescribeAmbiguous } from '../text/describe-evidence.js';
import { addFlags, escapeUnseen } from '../text/escape.js';
import { countOf, formatDuration, formatTime, groupDigits } from '../text/numbers.js';
import { type Column, clipText, displayWidth, layOutTable, wrapText } from '../text/text-layout.js';
import { buildVerdict, type CutoverVerdict, type Obstacle } from './build-verdict.js';
import {
  countFullSync,
  countIds,
  describeKey,
  describeNotes,
  describeScope,
  listModels,
} from './describe.js';
import type { Report } from './report-schema.js';
import { limitTable, listStatuses, modelTable, type ReportTable, STATUS_NAMES } from './tables.js';

export interface TextOptions {
  /** Longest line, in columns. */
  readonly width: number;
  readonly color: boolean;
  /** Show all obstacles and limits, not only the first. */
  readonly verbose?: boolean;
  /** Options to add to the command at the end. */
  readonly flags?: string;
  /** What the command has to say before the verdict, and what to run next instead of what the report suggests. */
  readonly closing?: { readonly lines: readonly string[]; readonly next: string };
}

const MAX_MODELS = 40;
const MAX_OBSTACLES = 5;
const MAX_OBSTACLE_MODELS = 4;
const MAX_DECISIONS = 5;
const MAX_COMPANIES = 5;

/** The summary for a terminal: the verdict and what stands in the way, the evidence, and the verdict again. */
export function renderText(report: Report, options: TextOptions): string {
  const { width } = options;
  const verdict = buildVerdict(report);
  const notes = describeNotes(report, MAX_DECISIONS);
  const blocks = [
    verdictBlock(report, verdict, options),
    obstacleBlock(verdict, options),
    totalsBlock(report),
    modelBlock(report, options),
    // Where limits fail, the obstacles say by how much.
    options.verbose === true || report.gate.pass ? limitBlock(report, options) : [],
    ambiguousBlock(report, options),
    noteBlock(notes.decisions, width),
    fullSyncBlock(report, width),
    noteBlock(notes.drift, width),
    noteBlock(notes.code, width),
    noteBlock(notes.since, width),
    evidenceBlock(report, width),
    [...(options.closing?.lines ?? [])],
    endBlock(report, verdict, options),
  ];
  return joinBlocks(blocks);
}

/** What stands in the way, the files that were written, and the verdict. */
export function renderVerdict(report: Report, files: readonly string[], options: TextOptions): string {
  const verdict = buildVerdict(report);
  const written = wrapText(escapeUnseen(`Written: ${files.join(', ')}`), options.width);
  const blocks = [obstacleBlock(verdict, options), [...written, ...endBlock(report, verdict, options)]];
  return joinBlocks(blocks);
}

function joinBlocks(blocks: readonly (readonly string[])[]): string {
  return `${blocks
    .filter((block) => block.length > 0)
    .map((block) => block.join('\n'))
    .join('\n\n')}\n`;
}

const PAINT = { bold: '1', red: '1;31', green: '1;32', yellow: '1;33' } as const;
const TONES = { pass: 'green', fail: 'red', incomplete: 'yellow', not_ready: 'yellow' } as const;

function paint(text: string, tone: keyof typeof PAINT, options: TextOptions): string {
  return options.color ? `\u001b[${PAINT[tone]}m${text}\u001b[0m` : text;
}

function verdictBlock(report: Report, verdict: CutoverVerdict, options: TextOptions): string[] {
  const { width } = options;
  const lines = (text: string | null) => (text === null ? [] : wrapText(text, width));
  // Ids of these models that the user may have stored are not checked.
  const absent = new Set<string>();
  for (const { generation, state, model } of report.completeness) {
    if (generation === 'v3' && state === 'absent') absent.add(model);
  }
  const names = [...absent].join(', ');
  const warning =
    names === '' ? null : `Warning: V3 answered 404 for ${names}; V3 ids of these lists are not checked.`;
  return [
    ...lines(verdict.title).map((line) => paint(line, TONES[report.outcome], options)),
    ...lines(verdict.sentence),
    ...lines(describeScope(report.scope)),
    ...lines(warning).map((line) => paint(line, 'yellow', options)),
  ];
}

/** The last lines on the screen. `Next` is not wrapped, so that it can be copied. */
function endBlock(report: Report, verdict: CutoverVerdict, options: TextOptions): string[] {
  const { width, closing, flags = '' } = options;
  const [biggest] = verdict.obstacles;
  const next = addFlags(closing?.next ?? verdict.next, flags);
  return [
    ...wrapText(`${verdict.title}: ${verdict.sentence}`, width).map((line) =>
      paint(line, TONES[report.outcome], options),
    ),
    ...(biggest === undefined ? [] : [describeBiggest(biggest, width)]),
    paint(`Next: ${escapeUnseen(next)}`, 'bold', options),
  ];
}

/** One line, with as many of the models as fit. */
function describeBiggest(biggest: Obstacle, width: number): string {
  const lines = [MAX_OBSTACLE_MODELS, 3, 2, 1, 0].map(
    (most) => `Biggest blocker: ${summarise(biggest, most)}`,
  );
  return lines.find((line) => displayWidth(line) <= width) ?? clipText(lines.at(-1) ?? '', width);
}

function summarise({ key, numbers, models, meaning }: Obstacle, most: number): string {
  if (numbers === '') return escapeUnseen(meaning);
  const total = models.reduce((sum, { count }) => sum + count, 0);
  const where = most === 0 ? '' : ` (${listModels(models, most)})`;
  const found = total === 0 ? numbers : `${countOf(total, 'id')}${where}`;
  return escapeUnseen(`${describeKey(key).title || key}: ${found}`);
}

function obstacleBlock(verdict: CutoverVerdict, options: TextOptions): string[] {
  if (verdict.obstacles.length === 0) return [];
  const most = options.verbose === true ? verdict.obstacles.length : MAX_OBSTACLES;
  const shown = verdict.obstacles.slice(0, most).flatMap((one) => obstacleLines(one, options));
  const more = verdict.obstacles.length - most;
  const rest = more > 0 ? [`  … and ${groupDigits(more)} more: --verbose lists them`] : [];
  return [paint('What stands in the way', 'bold', options), ...shown, ...rest];
}

function obstacleLines(obstacle: Obstacle, options: TextOptions): string[] {
  const lines = (text: string, indent: string) => wrapText(escapeUnseen(text), options.width, indent);
  const title = obstacle.numbers === '' ? obstacle.name : `${obstacle.name}: ${obstacle.numbers}`;
  // With numbers, the title alone says what it means.
  const isKnown = obstacle.numbers !== '' && obstacle.models.length > 0 && options.verbose !== true;
  const details = [listModels(obstacle.models, MAX_OBSTACLE_MODELS), isKnown ? '' : obstacle.meaning];
  return [
    ...lines(title, '  ').map((line) => paint(line, 'bold', options)),
    ...details.filter((text) => text !== '').flatMap((text) => lines(text, '    ')),
    ...lines(`→ ${obstacle.action}`, '    '),
  ];
}

/** V3 ids by status, then V4 ids; shares are of the V3 ids. */
function totalsBlock({ totals }: Report): string[] {
  const idsIn = (records: number, children: number) =>
    `${countOf(records, 'record')}, ${countOf(children, 'child', 'children')}`;
  const { v3, v4Only } = countIds(totals);
  const v4Ids = groupDigits(totals.v4Records + totals.v4Children);
  const ifAny = (name: string, count: number, what: string) =>
    count === 0 ? [] : [[name, groupDigits(count), what]];
  const lines = [
    ['V3 ids', groupDigits(v3), idsIn(totals.v3Records, totals.v3Children)],
    ...listStatuses(totals).flatMap(({ status, count, share }) =>
      share === null ? [] : [[`  ${STATUS_NAMES[status]}`, groupDigits(count), `${share} of V3 ids`]],
    ),
    ['V4 ids', v4Ids, idsIn(totals.v4Records, totals.v4Children)],
    ...ifAny('  only in V4', v4Only, 'without a V3 id'),
    ...ifAny('rejected', totals.rejected, 'objects without a usable id'),
    ...ifAny(
      'unique id conflicts',
      totals.uniqueIdConflicts,
      totals.uniqueIdConflicts === 1 ? 'pair' : 'pairs',
    ),
  ];
  const columns: Column[] = [
    { title: 'Ids', align: 'left' },
    { title: '', align: 'right' },
    { title: '', align: 'left' },
  ];
  return layOutTable(columns, lines, 60).slice(1);
}

function modelBlock(report: Report, options: TextOptions): string[] {
  const more = report.models.length - MAX_MODELS;
  const { columns, rows } = modelTable({ ...report, models: report.models.slice(0, MAX_MODELS) });
  // The V4 names, and statuses that no model has, are left out.
  const isShown = (_: unknown, at: number) => at !== 1 && (at < 4 || rows.some((row) => row[at] !== '0'));
  const table = { columns: columns.filter(isShown), rows: rows.map((row) => row.filter(isShown)) };
  const rest = more > 0 ? [`  … and ${countOf(more, 'more model')}, in the files of report`] : [];
  return [...tableBlock(table, options), ...rest];
}

function limitBlock(report: Report, options: TextOptions): string[] {
  const limits = report.gate.limits.filter((limit) => limit.allowed !== null && limit.unit !== 'hours');
  const { columns, rows } = limitTable(limits);
  const verdicts = limits.map((limit) => (limit.pass ? 'ok' : 'EXCEEDED'));
  const table = {
    columns: [...columns, { title: '' }],
    rows: rows.map((row, at) => [...row, verdicts[at] ?? '']),
  };
  return tableBlock(table, options);
}

function tableBlock({ columns, rows }: ReportTable, options: TextOptions): string[] {
  if (rows.length === 0) return [];
  const aligned = columns.map(
    ({ title, numeric }) => ({ title, align: numeric ? 'right' : 'left' }) as const,
  );
  const [head = '', ...lines] = layOutTable(aligned, rows, options.width);
  return [paint(head, 'bold', options), ...lines];
}

/** A sentence, with its detail lines indented. */
function noteBlock([head, ...lines]: readonly string[], width: number): string[] {
  if (head === undefined) return [];
  return [
    ...wrapText(escapeUnseen(head), width),
    ...lines.flatMap((line) => wrapText(escapeUnseen(line), width, '  ')),
  ];
}

/** The companies that only a person can pair, with the evidence for each candidate. */
function ambiguousBlock({ ambiguousCompanies: all }: Report, { width, verbose }: TextOptions): string[] {
  if (all.length === 0) return [];
  const shown = all
    .slice(0, verbose === true ? all.length : MAX_COMPANIES)
    .map(prepareDescribeAmbiguous(all));
  const more = all.length - shown.length;
  const rest =
    more > 0
      ? [`… and ${groupDigits(more)} more: findings --write-companies FILE drafts a line for each`]
      : [];
  return noteBlock(['Companies to pair by hand', ...shown, ...rest], width);
}

function fullSyncBlock({ fullSync }: Report, width: number): string[] {
  const { companies, records } = countFullSync(fullSync);
  if (companies === 0) return [];
  const text = `${countOf(records, 'record')} of ${countOf(companies, 'company', 'companies')} outside the backfill window: ask the operator for a full sync; report --full-sync FILE writes the letter.`;
  return wrapText(text, width);
}

const STATES = ['complete', 'short', 'absent', 'running', 'failed'] as const;

function evidenceBlock(report: Report, width: number): string[] {
  const { evidence, completeness } = report;
  const counts = { complete: 0, short: 0, absent: 0, running: 0, failed: 0 };
  let byCompany = 0;
  for (const { state, readBy } of completeness) {
    counts[state] += 1;
    if (readBy === 'companies') byCompany += 1;
  }
  const divided = byCompany === 0 ? '' : `; ${groupDigits(byCompany)} of V3 company by company`;
  const lists = STATES.filter((state) => counts[state] > 0).map(
    (state) => `${groupDigits(counts[state])} ${state}`,
  );
  const { oldestReadAt, remap } = evidence;
  const lines = [`Lists read: ${lists.length === 0 ? 'none' : lists.join(', ')}${divided}.`];
  if (oldestReadAt !== null) {
    const ageMs = Date.parse(report.generatedAt) - Date.parse(oldestReadAt);
    lines.push(`Oldest evidence: ${formatDuration(ageMs)} old.`);
  }
  if (report.codeUses !== null) {
    const ageMs = Date.parse(report.generatedAt) - Date.parse(report.codeUses.scannedAt);
    lines.push(`Scan of the code: ${formatDuration(ageMs)} old.`);
  }
  if (remap !== null)
    lines.push(`Remap of ${formatTime(remap.builtAt)}, sha256 ${remap.sha256.slice(0, 12)}….`);
  const { differing } = report.drift;
  const also =
    differing === 0
      ? ''
      : `, and report --ndjson FILE also lists the ${countOf(differing, 'matched record')} that ${differing === 1 ? 'differs' : 'differ'}`;
  lines.push(
    `Findings: ${groupDigits(report.findings.total)}; findings --limit 0 lists them all${also}.`,
    `What no report can see (svc-migrate help guarantees): ${report.cannotSee.map((one) => one.name).join('; ')}.`,
  );
  return lines.flatMap((line) => wrapText(escapeUnseen(line), width));
}
