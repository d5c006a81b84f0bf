import { readTopic, TOPICS } from '../docs/topics.js';
import { SvcError } from '../errors.js';
import { writeText } from '../runtime/write-output.js';
import { escapeLines } from '../text/escape.js';
import { didYouMean } from '../text/suggest.js';
import { displayWidth, layOutTable, wrapText } from '../text/text-layout.js';
import type { Given, Io } from './command.js';

/** Widest text, in columns: longer lines are hard to read. */
const MAX_WIDTH = 100;

/** `help`: prints a page of the reference. */
export async function run(
  { options, commands }: Given<{ readonly topic: readonly string[] }>,
  io: Io,
): Promise<number> {
  const { stdout, width } = io;
  const topic = options.topic.join(' ');
  const markdown = readTopic(topic);
  if (markdown === null) {
    const names = [...commands, ...TOPICS].map(({ name }) => name);
    throw new SvcError('usage', `There is no command or topic "${topic}".`, {
      hint: didYouMean(topic, names) ?? 'Run `svc-migrate help` for the list.',
    });
  }
  await writeText(stdout, [renderTopic(markdown, Math.min(width, MAX_WIDTH))]);
  return 0;
}

const INDENT = '  ';

/**
 * Renders a reference page from Markdown to plain text: headings at the margin, the rest indented and wrapped to
 * `width` columns. Blocks must be separated by blank lines. Code is not wrapped, but comments move above lines that are
 * too long with them.
 */
export function renderTopic(markdown: string, width: number): string {
  const visible = escapeLines(markdown.replace(/<!--[\s\S]*?-->/g, ''));
  const blocks = visible.match(/^```[\s\S]*?^```$|^(?!```).+(?:\n(?!```).+)*/gm) ?? [];
  return `${blocks.map((block) => renderBlock(block, width).join('\n')).join('\n\n')}\n`;
}

function renderBlock(block: string, width: number): string[] {
  const lines = block.split('\n');
  const [first = ''] = lines;
  if (first.startsWith('```')) return lines.slice(1, -1).flatMap((line) => renderCode(line, width));
  if (first.startsWith('#')) return [renderHeading(first)];
  if (first.startsWith('|')) return renderTable(lines, width);
  if (/^(-|\d+\.) /.test(first)) return renderList(block, width);
  return wrapText(renderInline(lines.join(' ')), width, INDENT);
}

function renderCode(line: string, width: number): string[] {
  const whole = `${INDENT}${INDENT}${line}`.trimEnd();
  const [, indent = '', code, comment] = /^(\s*)(\S.*?)\s+((?:#|\/\/) .*)$/.exec(whole) ?? [];
  if (displayWidth(whole) <= width || code === undefined) return [whole];
  return [`${indent}${comment}`, `${indent}${code}`];
}

function renderHeading(line: string): string {
  const text = renderInline(line.replace(/^#+ /, ''));
  return line.startsWith('# ') ? text.toUpperCase() : text;
}

function renderList(block: string, width: number): string[] {
  return block.split(/\n(?=(?:-|\d+\.) )/).flatMap((item) => {
    const [mark = ''] = /^\S+ /.exec(item) ?? [];
    const text = renderInline(item.slice(mark.length).replace(/\s*\n\s*/g, ' '));
    const hanging = INDENT + ' '.repeat(mark.length);
    const [first = '', ...rest] = wrapText(text, width, hanging);
    return [INDENT + mark + first.slice(hanging.length), ...rest];
  });
}

/** Wraps the last column if at least half of the width is left for it; otherwise renders one paragraph per row. */
function renderTable(lines: readonly string[], width: number): string[] {
  const [titles = [], , ...rows] = lines.map(splitRow);
  const columns = titles.slice(0, -1).map((title) => ({ title }));
  const table = layOutTable(columns, rows, Number.MAX_SAFE_INTEGER, INDENT);
  const leadWidth = Math.max(...table.map(displayWidth)) + 2;
  if (leadWidth > width / 2) {
    return rows.flatMap((row, at) => [...(at === 0 ? [] : ['']), ...renderStacked(titles, row, width)]);
  }
  return [titles, ...rows].flatMap((row, at) => {
    const [first = '', ...rest] = wrapText(row.at(-1) ?? '', width, ' '.repeat(leadWidth));
    return [(table[at] ?? '').padEnd(leadWidth) + first.slice(leadWidth), ...rest].map((line) =>
      line.trimEnd(),
    );
  });
}

function renderStacked(titles: readonly string[], row: readonly string[], width: number): string[] {
  const [first = '', ...cells] = row;
  // A number says nothing without its title.
  const term = /^[\d.,]+$/.test(first) ? `${titles[0] ?? ''}: ${first}` : first;
  const isLabelled = cells.length > 1;
  const texts = cells.flatMap((cell, at) => {
    const title = titles[at + 1] ?? '';
    if (cell === '') return [];
    return [isLabelled && title !== '' ? `${title}: ${cell}` : cell];
  });
  return [
    ...wrapText(term, width, INDENT),
    ...texts.flatMap((text) => wrapText(text, width, INDENT.repeat(3))),
  ];
}

function splitRow(line: string): string[] {
  const cells = line
    .replace(/^\|/, '')
    .replace(/\|$/, '')
    .split(/(?<!\\)\|/);
  return cells.map((cell) => renderInline(cell.trim()));
}

/** Renders inline Markdown; a link to another page becomes the command that prints that page. */
function renderInline(text: string): string {
  return text
    .replace(/\[([^\]]+)\]\(([^)]+)\)/g, (_, label: string, target: string) => {
      const [, page] = /^([\w-]+)\.md(?:#.*)?$/.exec(target) ?? [];
      if (page !== undefined) return `${label} (\`svc-migrate help ${page}\`)`;
      return target.startsWith('#') ? label : `${label} (${target})`;
    })
    .replaceAll('**', '')
    .replaceAll('\\|', '|')
    .replaceAll('&lt;', '<');
}
