import { addFlags, escapeUnseen } from '../text/escape.js';
import { groupDigits } from '../text/numbers.js';
import { clipLines, displayWidth, layOutTable, wrapProse, wrapText } from '../text/text-layout.js';
import type {
  DocumentBlock,
  ListBlock,
  ListItem,
  NumbersBlock,
  Section,
  TableBlock,
  TableCell,
} from './blocks.js';
import type { CutoverVerdict, Obstacle } from './build-verdict.js';
import { buildDocument } from './document.js';
import type { Report } from './report-schema.js';

export interface TextOptions {
  /** Longest line, in columns. */
  readonly width: number;
  readonly color: boolean;
  /** Show all details, not only the first screen. */
  readonly verbose?: boolean;
  /** Options to add to the command at the end. */
  readonly flags?: string;
  /** The process that uses the database, and what to run once it has ended; null: what the report suggests. */
  readonly inUse?: { readonly by: string; readonly next: string | null };
}

/** The verdict, the biggest blocker and the next command take at most this number of lines. */
const LAST_LINES = 5;

const MAX_ROWS = 40;
const MAX_ITEMS = 5;

/** The report for a terminal: the verdict and what stands in the way, the numbers, and the verdict again. */
export function renderText(report: Report, options: TextOptions): string {
  const { outcome, verdict, lead, ids, sections } = buildDocument(report);
  const printed = sections.map((section) => ({ ...section, lines: printSection(section, options) }));
  const isFirst = ({ id }: Section) => id === 'obstacles';
  const title = wrapText(verdict.title, options.width).map((line) => paint(line, TONES[outcome], options));
  return joinBlocks([
    [...title, ...lead.flatMap((block) => printBlock(block, options))],
    ...printed.filter(isFirst).map(({ lines }) => lines),
    printBlock(ids, options),
    ...printed.filter((one) => !isFirst(one)).map(({ lines }) => lines),
    printFolded(sections, options),
    printEnd(report, verdict, options),
  ]);
}

/** What stands in the way, the files that were written, and the verdict. */
export function renderVerdict(report: Report, files: readonly string[], options: TextOptions): string {
  const { verdict, sections } = buildDocument(report);
  const obstacles = sections.filter(({ id }) => id === 'obstacles');
  const written = wrapProse(`Written: ${files.join(', ')}`, options.width);
  return joinBlocks([
    ...obstacles.map((section) => printSection(section, options)),
    [...written, ...printEnd(report, verdict, options)],
  ]);
}

function joinBlocks(blocks: readonly (readonly string[])[]): string {
  const shown = blocks.filter((block) => block.length > 0);
  return `${shown.map((block) => block.join('\n')).join('\n\n')}\n`;
}

const PAINT = { bold: '1', red: '1;31', green: '1;32', yellow: '1;33' } as const;
const TONES = { pass: 'green', fail: 'red', incomplete: 'yellow', not_ready: 'yellow' } as const;

function paint(text: string, tone: keyof typeof PAINT, options: TextOptions): string {
  return options.color ? `\u001b[${PAINT[tone]}m${text}\u001b[0m` : text;
}

/** A section; its title only where its first block has none. */
function printSection({ title, blocks }: Section, options: TextOptions): string[] {
  const lines = blocks.flatMap((block) => printBlock(block, options));
  return blocks[0]?.kind === 'list' ? [paint(title, 'bold', options), ...lines] : lines;
}

function printBlock(block: DocumentBlock, options: TextOptions): string[] {
  switch (block.kind) {
    case 'sentence': {
      const lines = wrapProse(block.text, options.width);
      return block.isWarning ? lines.map((line) => paint(line, 'yellow', options)) : lines;
    }
    case 'numbers':
      return printNumbers(block);
    case 'table':
      return printTable(block, options);
    case 'list':
      return printList(block, options);
    case 'fold': {
      if (options.verbose !== true || block.page === 'only') return [];
      const title = wrapProse(block.title, options.width).map((line) => paint(line, 'bold', options));
      return [...title, ...block.blocks.flatMap((one) => printBlock(one, options))];
    }
    case 'ages':
      return [];
    default:
      return block satisfies never;
  }
}

/** Names what was left out. */
function printFolded(sections: readonly Section[], options: TextOptions): string[] {
  const folds = sections.flatMap(({ blocks }) =>
    blocks.flatMap((block) => (block.kind === 'fold' && block.page !== 'only' ? [block.title] : [])),
  );
  return options.verbose === true || folds.length === 0
    ? []
    : wrapProse(`With --verbose: ${folds.join('; ')}.`, options.width);
}

function printNumbers({ rows }: NumbersBlock): string[] {
  const cells = rows.map(({ name, count, note, status }) => {
    return [status === null ? name : `  ${name}`, groupDigits(count), note];
  });
  return layOutTable([{ title: '' }, { title: '', numeric: true }, { title: '' }], cells, 60).slice(1);
}

function printTable({ columns, rows, total }: TableBlock, options: TextOptions): string[] {
  const isShown = (_: unknown, at: number) => columns[at]?.only === undefined;
  const shown = options.verbose === true ? rows : rows.slice(0, MAX_ROWS);
  const cells = shown.map((row) => row.filter(isShown).map(textOf));
  if (cells.length === 0) return [];
  const [head = '', ...lines] = layOutTable(columns.filter(isShown), cells, options.width);
  return [paint(head, 'bold', options), ...lines, ...printMore(total - shown.length)];
}

function textOf(cell: TableCell): string {
  if (typeof cell === 'string') return escapeUnseen(cell);
  if ('text' in cell) return escapeUnseen(cell.text);
  return cell.kind === 'bar' ? '' : cell.pass ? 'ok' : 'EXCEEDED';
}

function printList({ items, total, isOrdered }: ListBlock, options: TextOptions): string[] {
  const shown = options.verbose === true ? items : items.slice(0, MAX_ITEMS);
  return [
    ...shown.flatMap((item) => printItem(item, isOrdered, options)),
    ...printMore(total - shown.length),
  ];
}

function printMore(count: number): string[] {
  return count > 0 ? [`  … and ${groupDigits(count)} more: see --verbose, or the files of report`] : [];
}

function printItem(item: ListItem, isBold: boolean, options: TextOptions): string[] {
  const { title, code = null, numbers = '', lines = [], meaning = '', action = '' } = item;
  const name = code === null ? title : `${title} (${code})`;
  const head = wrapProse(numbers === '' ? name : `${name}: ${numbers}`, options.width, '  ');
  // With numbers and models, the title alone says what it means.
  const needsMeaning = options.verbose === true || numbers === '' || lines.length === 0;
  const details = [...lines, needsMeaning ? meaning : '', action === '' ? '' : `→ ${action}`];
  return [
    ...(isBold ? head.map((line) => paint(line, 'bold', options)) : head),
    ...details.filter((text) => text !== '').flatMap((text) => wrapProse(text, options.width, '    ')),
  ];
}

/** Says who uses the database, above the next command: a comment behind that would be taken for its arguments. */
export function describeUse(owner: string): string {
  return `In use: ${owner}. Run the next command once that process has ended.`;
}

/** The last lines on the screen. `Next` is not wrapped, so that it can be copied. */
function printEnd(report: Report, verdict: CutoverVerdict, options: TextOptions): string[] {
  const { width, inUse, flags = '' } = options;
  const [biggest] = verdict.obstacles;
  const next = addFlags(inUse?.next ?? verdict.next, flags);
  const owner = inUse === undefined ? [] : wrapProse(describeUse(inUse.by), width);
  const judged = wrapText(`${verdict.title}: ${verdict.sentence}`, width);
  const room = Math.max(1, LAST_LINES - judged.length - 1);
  return [
    ...owner,
    ...judged.map((line) => paint(line, TONES[report.outcome], options)),
    ...(biggest === undefined ? [] : clipLines(printBiggest(biggest, width), room, width)),
    paint(`Next: ${escapeUnseen(next)}`, 'bold', options),
  ];
}

/** The biggest blocker, with its models if they fit on the line. */
function printBiggest({ title, numbers, found, lines, meaning }: Obstacle, width: number): string[] {
  if (numbers === '') return wrapProse(`Biggest blocker: ${meaning}`, width);
  const head = `Biggest blocker: ${title}: ${found === '' ? numbers : found}`;
  const whole = lines.length === 1 ? `${head} (${lines[0]})` : head;
  return wrapProse(displayWidth(escapeUnseen(whole)) <= width ? whole : head, width);
}
