import { addFlags, escapeMarkdown } from '../text/escape.js';
import { countOf, groupDigits } from '../text/numbers.js';
import { cutText } from '../text/text-layout.js';
import type {
  DocumentBlock,
  ListBlock,
  ListItem,
  NumbersBlock,
  Section,
  TableBlock,
  TableCell,
} from './blocks.js';
import { buildDocument } from './document.js';
import type { Report } from './report-schema.js';

/** Most rows and items, so that the report fits a pull request comment (65,536 characters) even with long names. */
const MAX_ROWS = 40;
const MAX_ITEMS = 12;
const MAX_CELL_CHARS = 120;

const MARKS = { pass: '✅', fail: '❌', incomplete: '⏳', not_ready: '⏳' } as const;

/** The report for a job summary or a pull request. `flags`: options to add to the command to run next. */
export function renderMarkdown(report: Report, flags = ''): Iterable<string> {
  const { outcome, verdict, lead, ids, sections } = buildDocument(report);
  const isFirst = ({ id }: Section) => id === 'obstacles';
  const blocks = [
    `## ${MARKS[outcome]} ${verdict.title}`,
    ...lead.flatMap(printBlock),
    ...sections.filter(isFirst).flatMap(printSection),
    `**Next:** ${escapeMarkdown(addFlags(verdict.next, flags))}`,
    ...printBlock(ids),
    ...sections.filter((one) => !isFirst(one)).flatMap(printSection),
  ];
  return [`${blocks.join('\n\n')}\n`];
}

/** Escapes a sentence; text between backticks becomes code. */
function printInline(text: string): string {
  const parts = cutText(text, MAX_CELL_CHARS * 4)
    .split('`')
    .map(escapeMarkdown);
  return parts.map((part, at) => (at % 2 === 0 ? part : `<code>${part}</code>`)).join('');
}

/** A section; one that is folded as a whole needs no heading. */
function printSection({ title, blocks }: Section): string[] {
  const printed = blocks.flatMap(printBlock);
  const needsTitle = printed.length > 0 && blocks[0]?.kind !== 'fold';
  return needsTitle ? [`### ${title}`, ...printed] : printed;
}

function printBlock(block: DocumentBlock): string[] {
  switch (block.kind) {
    case 'sentence':
      return [printInline(block.text)];
    case 'numbers':
      return [printNumbers(block)];
    case 'table':
      return [printTable(block)];
    case 'list':
      return [printList(block)];
    case 'fold': {
      if (block.page === 'only') return [];
      const body = block.blocks.flatMap(printBlock).join('\n\n');
      return [`<details><summary>${printInline(block.title)}</summary>\n\n${body}\n\n</details>`];
    }
    case 'ages':
      return [];
    default:
      return block satisfies never;
  }
}

function printNumbers({ rows }: NumbersBlock): string {
  const lines = rows.map(({ name, count, note, status }) =>
    [status === null ? name : `– ${name}`, groupDigits(count), note].map(escapeMarkdown),
  );
  return printLines([['', 'Count', 'Unit'], ['---', '---:', '---'], ...lines]);
}

function printTable({ columns, rows, total }: TableBlock): string {
  const isShown = (_: unknown, at: number) => columns[at]?.only !== 'page';
  const shown = columns.filter(isShown);
  const lines = [
    shown.map(({ title }) => title),
    shown.map((column) => (column.numeric ? '---:' : '---')),
    ...rows.slice(0, MAX_ROWS).map((row) => row.filter(isShown).map(printCell)),
  ];
  return printLines(lines) + printMore(total, Math.min(rows.length, MAX_ROWS));
}

function printLines(lines: readonly (readonly string[])[]): string {
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}

function printCell(cell: TableCell): string {
  const cut = (text: string) => escapeMarkdown(cutText(text, MAX_CELL_CHARS));
  if (typeof cell === 'string') return cut(cell);
  if ('text' in cell) return cut(cell.text);
  return cell.kind === 'bar' ? '' : cell.pass ? '✅' : '❌';
}

function printMore(all: number, shown: number): string {
  return all > shown ? `\n\n${countOf(all - shown, 'more row')}: see the JSON report.` : '';
}

function printList({ items, total }: ListBlock): string {
  const shown = items.slice(0, MAX_ITEMS);
  return shown.map(printItem).join('\n') + printMore(total, shown.length);
}

function printItem(item: ListItem): string {
  const { title, code = null, numbers = '', lines = [], meaning = '', action = '' } = item;
  const name = printInline(code === null ? title : `${title} (${code})`);
  const sentences = [numbers, ...lines, meaning].filter((text) => text !== '');
  if (sentences.length === 0) return `- ${name}`;
  const rest = [
    ...sentences.map((text) => printInline(text).replace(/\.?$/, '.')),
    ...(action === '' ? [] : [`→ ${printInline(action)}`]),
  ];
  return `- **${name}**: ${rest.join(' ')}`;
}
