import { escapeUnseen } from '../text/escape.js';
import { groupDigits } from '../text/numbers.js';
import { renderTable } from '../text/table.js';
import { wrapText } from '../text/wrap.js';
import type { ReportDocument } from './document.js';
import type { DocumentTable, Item, Section } from './sections.js';

export interface TextStyle {
  /** Columns of the longest line. */
  readonly width: number;
  readonly color: boolean;
  /** Print every section and row. */
  readonly verbose: boolean;
}

const MAX_ROWS = 10;

const CODES = { bold: '1', red: '1;31', green: '1;32', yellow: '1;33' } as const;
const TONES = { pass: 'green', fail: 'red', incomplete: 'yellow', not_ready: 'yellow' } as const;

/** The report for a terminal: the verdict, what stands in the way, the numbers, and the verdict again. */
export function renderText(report: ReportDocument, style: TextStyle): string {
  const details = report.sections.filter(({ isDetail }) => isDetail);
  const shown = style.verbose ? report.sections : report.sections.filter(({ isDetail }) => !isDetail);
  const names = details.map(({ title }) => title).join('; ');
  const blocks = [
    [
      ...paint([report.title], TONES[report.outcome], style),
      ...report.lead.flatMap((text) => wrap(text, style)),
      ...report.warnings.flatMap((text) => paint(wrap(`Warning: ${text}`, style), 'yellow', style)),
      ...nextLines(report, style),
    ],
    ...shown.map((section) => renderSection(section, style)),
    style.verbose || details.length === 0 ? [] : wrap(`With --verbose: ${names}.`, style),
    renderEnd(report, style),
  ];
  return `${blocks
    .filter((block) => block.length > 0)
    .map((block) => block.join('\n'))
    .join('\n\n')}\n`;
}

function renderEnd(report: ReportDocument, style: TextStyle): string[] {
  const { title, outcome, lead } = report;
  return [...paint(wrap(`${title}: ${lead[0]}`, style), TONES[outcome], style), ...nextLines(report, style)];
}

function nextLines({ next }: ReportDocument, style: TextStyle): string[] {
  return paint(wrap(`Next: ${next}`, style), 'bold', style);
}

export function renderSection({ title, texts = [], table, items = [] }: Section, style: TextStyle): string[] {
  return [
    ...paint([title], 'bold', style),
    ...texts.flatMap((text) => wrap(text, style, '  ')),
    ...(table === undefined ? [] : renderRows(table, style)),
    ...items.flatMap((item) => renderItem(item, style)),
  ];
}

function renderRows({ columns, rows, total }: DocumentTable, style: TextStyle): string[] {
  const shown = style.verbose ? rows : rows.slice(0, MAX_ROWS);
  const cells = shown.map((row) => row.map(escapeUnseen));
  const more = total - shown.length;
  return [
    ...renderTable(columns, cells, style.width),
    ...(more > 0 ? wrap(`… and ${groupDigits(more)} more: see --verbose, or --json FILE`, style, '  ') : []),
  ];
}

function renderItem({ title, text, action }: Item, style: TextStyle): string[] {
  return [
    ...wrap(text === undefined ? title : `${title}: ${text}`, style, '  '),
    ...(action === undefined ? [] : wrap(`→ ${action}`, style, '    ')),
  ];
}

function wrap(text: string, { width }: TextStyle, indent = ''): string[] {
  return wrapText(escapeUnseen(text), width, indent);
}

function paint(lines: readonly string[], tone: keyof typeof CODES, { color }: TextStyle): string[] {
  return lines.map((line) => (color ? `\u001b[${CODES[tone]}m${line}\u001b[0m` : line));
}
