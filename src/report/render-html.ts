import { createHash } from 'node:crypto';
import { STATUSES } from '../reasons.js';
import { addFlags, escapeMarkup } from '../text/escape.js';
import { countOf, formatTime, groupDigits } from '../text/numbers.js';
import {
  type DocumentBlock,
  type ListItem,
  type NumbersBlock,
  type Section,
  STATUS_NAMES,
  type StatusCount,
  type TableBlock,
  type TableCell,
} from './blocks.js';
import { buildDocument } from './document.js';
import { SCRIPT, STYLE } from './page-assets.js';
import type { Report } from './report-schema.js';

/** Rows of a table that are shown at once; the others are folded. */
const OPEN_ROWS = 20;

/**
 * The report as one HTML file without external resources. It is complete without its script, which searches and sorts.
 * `flags`: options to add to the command to run next.
 */
export function renderHtml(report: Report, flags = ''): Iterable<string> {
  const { outcome, verdict, lead, ids, sections: all } = buildDocument(report);
  const sections = all.filter(({ id }) => id !== 'evidence');
  const evidence = all.filter(({ id }) => id === 'evidence');
  const page = html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy()}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${verdict.title} – svc-migrate report</title>
<style>${trusted(STYLE)}</style>
</head>
<body>
<header>
<p class="meta origin">${describeOrigin(report)}</p>
<div class="verdict ${outcome}"><h1>${verdict.title}</h1>
${lead.map(printBlock)}<p><strong>Next:</strong> ${printCommand(addFlags(verdict.next, flags))}</p></div>
${printNumbers(ids)}<nav aria-label="Sections"><ul>${sections.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul></nav>
</header>
<main>
${sections.map(printSection)}</main>
${evidence.map(({ title, blocks }) => html`<footer><h2>${title}</h2>\n${blocks.map(printBlock)}</footer>\n`)}<script>${trusted(SCRIPT)}</script>
</body>
</html>
`;
  return [page.markup];
}

/** A Content-Security-Policy that forbids loading and sending anything, and allows only this style sheet and this script. */
function policy(): string {
  const digestOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  return `default-src 'none'; style-src ${digestOf(STYLE)}; script-src ${digestOf(SCRIPT)}; base-uri 'none'; form-action 'none'`;
}

/** What the report is about, for readers who did not run it. */
function describeOrigin({ evidence, generatedAt, tool }: Report): string {
  const hosts = (side: string) =>
    Object.entries(evidence.fingerprint)
      .filter(([name]) => name === `${side}.baseUrl` || name.startsWith(`${side}.regions.`))
      .map(([, address]) => address)
      .join(', ');
  const sides = `Migration from V3 (${hosts('v3')}) to V4 (${hosts('v4')})`;
  const report = `report of ${formatTime(generatedAt)}`;
  return [sides, report, `database ${evidence.database}`, `${tool.name} ${tool.version}`].join(' · ');
}

function printCommand(text: string): Html {
  return text.startsWith('svc-migrate ')
    ? html`<code>${withWhole(HYPHENATED, text)}</code>`
    : printInline(text);
}

function printSection({ id, title, blocks }: Section): Html {
  return html`<section id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>
${blocks.map(printBlock)}</section>
`;
}

function printBlock(block: DocumentBlock): Html {
  switch (block.kind) {
    case 'sentence':
      return html`<p>${printInline(block.text)}</p>
`;
    case 'numbers':
      return printNumbers(block);
    case 'table':
      return printTable(block);
    case 'list': {
      const { items, total, isOrdered } = block;
      const missing = total - items.length;
      const more = missing > 0 ? html`<p>${groupDigits(missing)} more: see the JSON report.</p>\n` : null;
      return isOrdered
        ? html`<ol class="obstacles">${items.map(printStep)}</ol>${more}`
        : html`<ul>${items.map(printItem)}</ul>${more}`;
    }
    case 'fold': {
      const { title, code, id, blocks, page } = block;
      const body = html`${blocks.map(printBlock)}`;
      if (page !== undefined) return body;
      // A link to something inside a closed part opens that part.
      const content = id === undefined ? body : html`<div id="${id}">${body}</div>`;
      return html`<details><summary>${printInline(title)}${printKey(code)}</summary>
${content}</details>
`;
    }
    case 'ages':
      return renderAges(block.timeline);
    default:
      return block satisfies never;
  }
}

function printNumbers({ rows }: NumbersBlock): Html {
  const boxes = rows.map(
    ({ name, count, note, status }) =>
      html`<div${status === null ? null : html` class="${status}"`}><dt>${name}</dt><dd>${groupDigits(count)} <small>${note}</small></dd></div>
`,
  );
  return html`<dl class="numbers">
${boxes}</dl>
`;
}

const STATUS_KEY = STATUSES.map((status) => [status, STATUS_NAMES[status]] as const);

/** A table; its rows after the first are folded where there are many. */
function printTable(block: TableBlock): Html {
  const { caption, rows, total } = block;
  const key = rows.some((row) => row.some(isBar));
  const [first, rest] = [rows.slice(0, OPEN_ROWS), rows.slice(OPEN_ROWS)];
  const more = html`<details><summary>${countOf(rest.length, 'more row')}</summary>
${printRows({ ...block, caption: `Continued: ${caption}`, rows: rest })}</details>
`;
  const missing = html`<p>${countOf(total - rows.length, 'more row')}: see the JSON report.</p>
`;
  return html`${key ? renderKey(STATUS_KEY) : null}${printRows({ ...block, rows: first })}${rest.length > 0 ? more : null}${total > rows.length ? missing : null}`;
}

function isBar(cell: TableCell): boolean {
  return typeof cell !== 'string' && cell.kind === 'bar';
}

/** Scrollable if it is wide; the first cell of each row is its heading. */
function printRows({ caption, columns, rows }: TableBlock): Html {
  const head = columns.map(({ title, numeric, unordered }) => {
    const more = html`${numeric ? html` class="n"` : null}${unordered ? html` data-unordered=""` : null}`;
    return html`<th scope="col"${more}>${title}</th>`;
  });
  const body = rows.map(
    (row) => html`<tr>${row.map((cell, at) => {
      if (at === 0) return html`<th scope="row">${printCell(cell)}</th>`;
      return columns[at]?.numeric
        ? html`<td class="n">${printCell(cell)}</td>`
        : html`<td>${printCell(cell)}</td>`;
    })}</tr>
`,
  );
  return html`<div class="scroll" role="region" tabindex="0" aria-label="${caption}"><table><caption>${caption}</caption>
<thead><tr>${head}</tr></thead>
<tbody>
${body}</tbody></table></div>
`;
}

function printCell(cell: TableCell): Html {
  if (typeof cell === 'string') return html`${cell}`;
  switch (cell.kind) {
    case 'code':
      return html`<code>${cell.text}</code>`;
    case 'key':
      return html`${printKey(cell.text)}`;
    case 'inline':
      return printInline(cell.text);
    case 'judged':
      return cell.pass ? html`<span class="ok">ok</span>` : html`<span class="over">exceeded</span>`;
    case 'bar':
      return renderStatusBar(cell.parts);
    default:
      return cell satisfies never;
  }
}

function printKey(code: string | null | undefined): Html | null {
  return code == null ? null : html` <code class="key-name">${withBreaks(code)}</code>`;
}

function printItem({ title, meaning = '' }: ListItem): Html {
  if (meaning === '') return html`<li>${printInline(title)}</li>\n`;
  return html`<li><strong>${title}</strong>: ${printInline(meaning)}</li>\n`;
}

function printStep(item: ListItem): Html {
  const { title, code, numbers = '', lines = [], meaning = '', action = '', links = [] } = item;
  const anchors = links.map(({ id, text }, at) => html`${at === 0 ? '' : ' · '}<a href="#${id}">${text}</a>`);
  return html`<li><h3>${title}${printKey(code)}${numbers === '' ? '' : `: ${numbers}`}</h3>
<p>${printInline(meaning)} <strong>${printInline(action)}</strong></p>
${lines.map((line) => html`<p class="meta">${line}</p>`)}${anchors.length === 0 ? null : html`<p>${anchors}</p>`}</li>
`;
}

/** A legend of the colours. */
function renderKey(names: readonly (readonly [string, string])[]): Html {
  return html`<ul class="key">${names.map(
    ([name, label]) =>
      html`<li><svg viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" class="s-${name}"/></svg>${label}</li>`,
  )}</ul>
`;
}

const BAR_WIDTH = 1000;
/** Least width of a part, so that it stays visible. */
const MIN_PART_WIDTH = 6;

/** A stacked bar of statuses, in which every part that is not empty is visible. */
function renderStatusBar(counts: readonly StatusCount[]): Html {
  const parts = counts.filter(({ count }) => count > 0);
  const total = parts.reduce((sum, { count }) => sum + count, 0);
  const room = BAR_WIDTH - parts.length * MIN_PART_WIDTH;
  let x = 0;
  const rects = parts.map(({ status, count }) => {
    const width = round(MIN_PART_WIDTH + (count / total) * room);
    const rect = html`<rect x="${x}" width="${width}" height="10" class="s-${status}"/>`;
    x = round(x + width);
    return rect;
  });
  const label = parts.map(({ status, count }) => `${STATUS_NAMES[status]} ${groupDigits(count)}`).join(', ');
  return html`<svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label="${label === '' ? 'no rows' : label}">${rects}</svg>`;
}

const CHART = { width: 960, height: 260, left: 64, right: 32, top: 28, bottom: 34 } as const;
const PLOT_WIDTH = CHART.width - CHART.left - CHART.right;
const PLOT_HEIGHT = CHART.height - CHART.top - CHART.bottom;
const BASE_Y = CHART.top + PLOT_HEIGHT;

type Month = Report['timeline']['months'][number];

const AGE_KEY = [
  ['matched', 'matched'],
  ['unmatched', 'unmatched'],
  ['other', 'deleted or ambiguous'],
] as const;

/** V3 records by month of their latest date, against the start of V4's history. */
function renderAges(timeline: Report['timeline']): Html {
  const months = [timeline.earlier, ...timeline.months, timeline.later].filter((month) => month !== null);
  const top = niceTop(Math.max(...months.map((month) => month.matched + month.unmatched + month.other)));
  const step = PLOT_WIDTH / months.length;
  const bars = months.map((month, at) => renderMonth(month, CHART.left + at * step, step, top));
  const every = Math.max(1, Math.ceil(months.length / 12));
  const labels = months.map((month, at) =>
    at % every === 0
      ? html`<text x="${round(CHART.left + (at + 0.5) * step)}" y="${BASE_Y + 20}" text-anchor="middle">${month.month.replace('before ', '< ')}</text>`
      : html``,
  );
  const label = `V3 records by month, ${months[0]?.month} to ${months.at(-1)?.month}; the table below has the numbers.`;
  const parts = html`${bars}${labels}${renderWindow(timeline, months, step)}`;
  return html`${renderKey(AGE_KEY)}<div class="scroll" role="region" tabindex="0" aria-label="Chart of the ages"><svg class="chart" viewBox="0 0 ${CHART.width} ${CHART.height}" role="img" aria-label="${label}">
${renderAxis(top)}${parts}</svg></div>
`;
}

function renderMonth(month: Month, x: number, step: number, top: number): Html {
  const gap = Math.min(4, step * 0.15);
  let y = BASE_Y;
  const parts = (['matched', 'other', 'unmatched'] as const).map((name) => {
    const height = month[name] === 0 ? 0 : Math.max(2, (month[name] / top) * PLOT_HEIGHT);
    y -= height;
    return height === 0
      ? html``
      : html`<rect x="${round(x + gap / 2)}" y="${round(y)}" width="${round(step - gap)}" height="${round(height)}" class="s-${name}"/>`;
  });
  const title = `${month.month}: ${groupDigits(month.matched)} matched, ${groupDigits(month.unmatched)} unmatched, ${groupDigits(month.other)} other`;
  return html`<g><title>${title}</title>${parts}</g>
`;
}

function renderAxis(top: number): Html {
  const lines = [0, 0.5, 1].map((share) => {
    const y = round(BASE_Y - share * PLOT_HEIGHT);
    return html`<line class="axis" x1="${CHART.left}" x2="${CHART.width - CHART.right}" y1="${y}" y2="${y}"/><text x="${CHART.left - 8}" y="${y + 4}" text-anchor="end">${groupDigits(Math.round(top * share))}</text>
`;
  });
  return html`${lines}`;
}

/** A line at the start of the window, if that is within the months shown. */
function renderWindow({ window }: Report['timeline'], months: readonly Month[], step: number): Html {
  if (window.since === null) return html``;
  const at = months.findIndex((month) => month.month === window.since?.slice(0, 7));
  if (at < 0) return html``;
  const date = new Date(window.since);
  const length = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  const x = round(CHART.left + (at + (date.getUTCDate() - 1) / length) * step);
  const anchor = x > CHART.width / 2 ? 'end' : 'start';
  return html`<line class="window" x1="${x}" x2="${x}" y1="${CHART.top - 8}" y2="${BASE_Y}"/><text class="window-label" x="${anchor === 'end' ? x - 6 : x + 6}" y="${CHART.top - 12}" text-anchor="${anchor}">V4's history from ${window.since.slice(0, 10)}</text>
`;
}

/** The next round number, where the axis ends. */
function niceTop(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((one) => one * power >= value) ?? 10;
  return factor * power;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Escaped HTML. Only `html` and `trusted` create it. */
interface Html {
  readonly markup: string;
}

type Part = string | number | Html | null | readonly Html[];

/** A template tag that escapes all values except HTML; null becomes ''. */
function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let markup = texts[0] ?? '';
  for (const [at, part] of parts.entries()) markup += markupOf(part) + (texts[at + 1] ?? '');
  return { markup };
}

function markupOf(part: Part): string {
  if (part === null) return '';
  if (typeof part === 'string') return escapeMarkup(part);
  if (typeof part === 'number') return String(part);
  return 'markup' in part ? part.markup : part.map((one) => one.markup).join('');
}

/** Renders text in which backticks mark commands and names. A browser would break options such as `--wait` at their hyphens. */
function printInline(text: string): Html {
  const parts = text
    .split('`')
    .map((part, at) =>
      at % 2 === 0 ? withWhole(OPTION, part) : html`<code>${withWhole(HYPHENATED, part)}</code>`,
    );
  return html`${parts}`;
}

const OPTION = /(?<!\S)(--[a-z][a-z-]*)/;
const HYPHENATED = /(\S*-\S*)/;

function withWhole(words: RegExp, text: string): Html {
  const parts = text.split(words);
  return html`${parts.map((part, at) => (at % 2 === 0 ? html`${part}` : html`<span class="word">${part}</span>`))}`;
}

/** A code such as `unmatched/key_changed`, which may wrap between its words. */
function withBreaks(code: string): Html {
  return html`${code.split(/(?<=[/_])/).map((part, at) => html`${at === 0 ? null : html`<wbr/>`}${part}`)}`;
}

/** Markup that is known to be safe, such as our own style sheet. */
function trusted(markup: string): Html {
  return { markup };
}
