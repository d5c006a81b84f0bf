import { escapeUnseen } from '../text/escape.js';
import { groupDigits } from '../text/numbers.js';
import { renderTable } from '../text/table.js';
import { wrapText } from '../text/wrap.js';
import type { DocumentTable, Item, ReportDocument, Section } from './document.js';

export interface TextStyle {
  /** Columns of the longest line. */
  readonly width: number;
  readonly color: boolean;
  /** Print every section and row. */
  readonly verbose: boolean;
}

/** Longer tables and lists begin with this many rows. */
const MAX_ROWS = 10;
const FIRST_ROWS = 5;
const MAX_ITEMS = 4;
/** Lines that a screen shows. */
const SCREEN = 24;

const CODES = { bold: '1', red: '1;31', green: '1;32', yellow: '1;33' } as const;
const TONES = { pass: 'green', fail: 'red', incomplete: 'yellow', not_ready: 'yellow' } as const;

/** The report for a terminal: the verdict, the next step, what stands in the way, then the numbers. */
export function renderText(report: ReportDocument, style: TextStyle): string {
  const { title, outcome, lead, warnings, sections, next } = report;
  const verdict = paint([title], TONES[outcome], style);
  const step = paint(wrap(`Next: ${next}`, style), 'bold', style);
  const details = style.verbose ? [] : sections.filter(({ isDetail }) => isDetail);
  const shown = sections.filter((section) => !details.includes(section));
  const body = [
    ...shown.map((section) => renderSection(section, style)),
    ...(details.length === 0
      ? []
      : [wrap(`With --verbose: ${details.map((section) => section.title).join('; ')}.`, style)]),
  ];
  const blocks = [
    [
      ...verdict,
      ...lead.flatMap((text) => wrap(text, style)),
      ...warnings.flatMap((text) => paint(wrap(`Warning: ${text}`, style), 'yellow', style)),
      ...step,
    ],
    ...body,
    ...(body.flat().length > SCREEN ? [[...verdict, ...step]] : []),
  ];
  return `${blocks.map((block) => block.join('\n')).join('\n\n')}\n`;
}

export function renderSection({ title, texts = [], table, items = [] }: Section, style: TextStyle): string[] {
  const shown = style.verbose ? items : items.slice(0, MAX_ITEMS);
  return [
    ...paint([title], 'bold', style),
    ...texts.flatMap((text) => wrap(text, style, '  ')),
    ...(table === undefined ? [] : renderRows(table, style)),
    ...shown.flatMap((item) => renderItem(item, style)),
    ...renderMore(items.length - shown.length, style),
  ];
}

function renderRows({ columns, rows, total }: DocumentTable, style: TextStyle): string[] {
  const isShort = style.verbose || rows.length <= MAX_ROWS;
  const shown = isShort ? rows : rows.slice(0, FIRST_ROWS);
  const cells = shown.map((row) => row.map(escapeUnseen));
  return [...renderTable(columns, cells, style.width), ...renderMore(total - shown.length, style)];
}

function renderMore(count: number, style: TextStyle): string[] {
  return count > 0
    ? wrap(`… and ${groupDigits(count)} more: see --verbose, or --json FILE`, style, '  ')
    : [];
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
