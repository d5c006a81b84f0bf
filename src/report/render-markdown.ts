import { escapeMarkdown } from '../text/escape.js';
import { groupDigits } from '../text/numbers.js';
import { cutText } from '../text/wrap.js';
import type { DocumentTable, Item, ReportDocument, Section } from './document.js';

/** Most rows and items, so that the report fits a pull request comment (65,536 characters) even with long names. */
const MAX_ROWS = 25;
const MAX_CELL_CHARS = 120;
const MAX_TEXT_CHARS = 600;

const MARKS = { pass: '✅', fail: '❌', incomplete: '⏳', not_ready: '⏳' } as const;

export function renderMarkdown({ outcome, title, lead, warnings, sections, next }: ReportDocument): string {
  const blocks = [
    `## ${MARKS[outcome]} ${title}`,
    ...lead.map(inline),
    ...warnings.map((text) => `**Warning:** ${inline(text)}`),
    `**Next:** ${inline(next)}`,
    ...sections.map(renderSection),
  ];
  return `${blocks.join('\n\n')}\n`;
}

function renderSection({ title, texts = [], table, items = [], isDetail }: Section): string {
  const blocks = [
    ...texts.map(inline),
    ...(table === undefined ? [] : [renderTable(table)]),
    ...(items.length === 0 ? [] : [renderItems(items)]),
  ];
  return isDetail
    ? `<details><summary>${inline(title)}</summary>\n\n${blocks.join('\n\n')}\n\n</details>`
    : [`### ${inline(title)}`, ...blocks].join('\n\n');
}

function renderTable({ columns, rows, total }: DocumentTable): string {
  const shown = rows.slice(0, MAX_ROWS);
  const lines = [
    columns.map(({ title }) => inline(title)),
    columns.map(({ numeric }) => (numeric ? '---:' : '---')),
    ...shown.map((row) => row.map((cell) => escapeMarkdown(cutText(cell, MAX_CELL_CHARS)))),
  ];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n') + renderMore(total - shown.length);
}

function renderItems(items: readonly Item[]): string {
  const shown = items.slice(0, MAX_ROWS);
  const lines = shown.map(({ title, text, action }) => {
    const head = text === undefined ? `- ${inline(title)}` : `- **${inline(title)}**: ${inline(text)}`;
    return action === undefined ? head : `${head} → ${inline(action)}`;
  });
  return lines.join('\n') + renderMore(items.length - shown.length);
}

function renderMore(count: number): string {
  return count > 0 ? `\n\n${groupDigits(count)} more: see the JSON report.` : '';
}

function inline(text: string): string {
  return cutText(text, MAX_TEXT_CHARS)
    .split('`')
    .map((part, index) => (index % 2 === 0 ? escapeMarkdown(part) : `<code>${escapeMarkdown(part)}</code>`))
    .join('');
}
