import { createHash } from 'node:crypto';
import { at, must } from '../text/at.js';
import { escapeMarkup } from '../text/escape.js';
import { formatTime, groupDigits } from '../text/numbers.js';
import type { DocumentTable, Item, ReportDocument, Section } from './document.js';
import type { Report } from './report-schema.js';

/** Tables with more columns or more texts become a list of labelled values on narrow screens. */
const MAX_NARROW_COLUMNS = 5;
const MAX_NARROW_TEXTS = 2;

/** The report as one HTML page without scripts and external resources. */
export function renderHtml(report: ReportDocument, { evidence, generatedAt, tool }: Report): string {
  const { outcome, title, lead, warnings, sections, next } = report;
  const origin = `Report of ${formatTime(generatedAt)} · database ${evidence.database} · ${tool.name} ${tool.version}`;
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy()}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title} – svc-migrate report</title>
<style>${trusted(STYLE)}</style>
</head>
<body>
<header>
<p class="origin">${origin}</p>
<div class="verdict ${outcome}"><h1>${title}</h1>
${lead.map((text) => html`<p>${inline(text)}</p>\n`)}${warnings.map((text) => html`<p class="warning"><strong>Warning:</strong> ${inline(text)}</p>\n`)}<p><strong>Next:</strong> ${inline(next)}</p></div>
<nav aria-label="Sections"><ul>${sections.map((section) => html`<li><a href="#${section.id}">${section.title}</a></li>`)}</ul></nav>
</header>
<main>
${sections.map(renderSection)}</main>
</body>
</html>
`.markup;
}

/** Forbids loading and sending anything, and allows this style sheet alone. */
function policy(): string {
  const digest = createHash('sha256').update(STYLE).digest('base64');
  return `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'`;
}

function renderSection({ id, title, texts = [], table, items = [], chart }: Section): Html {
  const shown = table === undefined ? html`` : renderTable(table, title);
  return html`<section id="${id}"><h2>${title}</h2>
${texts.map((text) => html`<p>${inline(text)}</p>\n`)}${chart === undefined ? shown : renderChart(chart, shown)}${
  items.length === 0 ? html`` : html`<ul class="items">${items.map(renderItem)}</ul>\n`
}</section>
`;
}

function renderTable({ columns, rows, total }: DocumentTable, caption: string): Html {
  const classOf = (index: number) => trusted(columns[index]?.numeric ? ' class="n"' : '');
  const head = columns.map(({ title }, index) => html`<th scope="col"${classOf(index)}>${title}</th>`);
  const body = rows.map(
    (row) =>
      html`<tr>${row.map((cell, index) => html`<td${classOf(index)} data-title="${columns[index]?.title ?? ''}">${cell}</td>`)}</tr>
`,
  );
  const more = total - rows.length;
  const texts = columns.filter(({ numeric }) => !numeric).length;
  const isWide = columns.length > MAX_NARROW_COLUMNS || texts > MAX_NARROW_TEXTS;
  return html`<table${trusted(isWide ? ' class="wide"' : '')} aria-label="${caption}"><thead><tr>${head}</tr></thead><tbody>
${body}</tbody></table>
${more > 0 ? html`<p>${groupDigits(more)} more: see the JSON report.</p>\n` : html``}`;
}

function renderItem({ title, text, action }: Item): Html {
  const head = text === undefined ? inline(title) : html`<strong>${inline(title)}</strong>: ${inline(text)}`;
  return html`<li>${head}${action === undefined ? html`` : html`<br>→ ${inline(action)}`}</li>
`;
}

/** Text in which backticks mark commands. */
function inline(text: string): Html {
  const parts = text.split('`');
  return html`${parts.map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))}`;
}

type Chart = NonNullable<Section['chart']>;

const WIDTH = 560;
const LEFT = 52;
const RIGHT = WIDTH - 8;
const TOP = 34;
const BASE = 220;

const PARTS = [
  { name: 'matched', title: 'matched' },
  { name: 'other', title: 'deleted or ambiguous' },
  { name: 'unmatched', title: 'unmatched' },
] as const;

/** Bars of months in front of the time that V4's history covers, and the table of their numbers. */
function renderChart({ months, since }: Chart, table: Html): Html {
  const first = placeOf(at(months, 0).month);
  const step = (RIGHT - LEFT) / (placeOf(at(months, -1).month) - first + 1);
  const xOf = (place: number) => Math.max(LEFT, LEFT + (place - first) * step);
  const top = Math.max(...months.map(({ matched, unmatched, other }) => matched + unmatched + other));
  const bars = months.map((month) => renderMonth(month, xOf(placeOf(month.month)), step, top));
  const lines = [TOP, BASE].map(
    (
      y,
    ) => html`<line class="axis" x1="${LEFT}" x2="${RIGHT}" y1="${y}" y2="${y}"/><text x="${LEFT - 6}" y="${y + 5}" text-anchor="end">${y === BASE ? '0' : groupDigits(top)}</text>
`,
  );
  const key = PARTS.map(({ name, title }) => html`<li><span class="swatch s-${name}"></span>${title}</li>`);
  return html`<ul class="key">${key}<li><span class="swatch s-window"></span>V4's history</li></ul>
<svg class="chart" viewBox="0 0 ${WIDTH} ${BASE + 30}" role="img" aria-label="V3 records by month and V4's history; the table below has the numbers.">
${since === null ? html`` : renderWindow(since, xOf(placeOf(since.slice(0, 7)) + (Number(since.slice(8, 10)) - 1) / 31))}${lines}${bars}<text x="${LEFT}" y="${BASE + 20}">${at(months, 0).month}</text><text x="${RIGHT}" y="${BASE + 20}" text-anchor="end">${at(months, -1).month}</text>
</svg>
<details><summary>The numbers in this chart</summary>${table}</details>
`;
}

/** Months since the year 0; `before` and `after` a month are its neighbours. */
function placeOf(month: string): number {
  const [year, number] = [month.slice(-7, -3), month.slice(-2)].map(Number);
  return (
    must(year) * 12 + must(number) + (month.startsWith('before') ? -1 : month.startsWith('after') ? 1 : 0)
  );
}

function renderMonth(month: Chart['months'][number], x: number, step: number, top: number): Html {
  const gap = Math.min(4, step * 0.15);
  let y = BASE;
  const parts = PARTS.filter(({ name }) => month[name] > 0).map(({ name }) => {
    const height = Math.max(2, (month[name] / top) * (BASE - TOP));
    y -= height;
    return html`<rect x="${round(x + gap / 2)}" y="${round(y)}" width="${round(step - gap)}" height="${round(height)}" class="s-${name}"/>`;
  });
  const numbers = PARTS.map(({ name, title }) => `${groupDigits(month[name])} ${title}`).join(', ');
  return html`<g><title>${month.month}: ${numbers}</title>${parts}</g>
`;
}

/** The time that V4's history covers. */
function renderWindow(since: string, start: number): Html {
  const x = round(start);
  if (x >= RIGHT) return html``;
  const isLate = x > WIDTH / 2;
  return html`<rect class="s-window" x="${x}" y="${TOP - 6}" width="${round(RIGHT - x)}" height="${BASE - TOP + 6}"/><line class="start" x1="${x}" x2="${x}" y1="${TOP - 6}" y2="${BASE}"/><text class="start-label" x="${isLate ? RIGHT : x}" y="${TOP - 13}" text-anchor="${isLate ? 'end' : 'start'}">V4's history from ${since.slice(0, 10)}</text>
`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Escaped HTML. Only `html` and `trusted` create it. */
interface Html {
  readonly markup: string;
}

/** A template tag that escapes all values except HTML. */
function html(
  texts: TemplateStringsArray,
  ...parts: readonly (string | number | Html | readonly Html[])[]
): Html {
  return { markup: texts.map((text, index) => text + markupOf(parts[index] ?? '')).join('') };
}

function markupOf(part: string | number | Html | readonly Html[]): string {
  if (typeof part === 'string') return escapeMarkup(part);
  if (typeof part === 'number') return String(part);
  return 'markup' in part ? part.markup : part.map(({ markup }) => markup).join('');
}

function trusted(markup: string): Html {
  return { markup };
}

/** Wide and narrow, screen and print. It has no url(), so nothing is fetched. */
const STYLE = `
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 0 1.25rem 2rem; background: #fff; color: #17212b;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere; }
a, summary { color: #0b57a4; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem; padding-top: .4rem; border-top: 1px solid #cfd7df; break-after: avoid; }
p { margin: .4rem 0; }
code { font: .92em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.origin, th, .wide td::before { color: #4a5866; }
.verdict { border-left: .5rem solid #7a4a00; background: #fff3d6; padding: 1rem 1.2rem; margin: 1rem 0; }
.pass { border-color: #14603f; background: #e3f4eb; }
.fail { border-color: #a52a05; background: #fdeae3; }
nav ul, .key { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: 0; font-size: .92rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #cfd7df; }
th { font-weight: 600; overflow-wrap: normal; } td:not(:last-child) { overflow-wrap: break-word; }
td:last-child:not(.n) { min-width: 8rem; }
.n { text-align: right; font-variant-numeric: tabular-nums; } td.n { white-space: nowrap; }
.items { padding-left: 1.2rem; } .items li { margin-bottom: .6rem; }
.chart { display: block; width: 100%; max-width: 44rem; height: auto; }
.chart text { fill: #17212b; font-size: 14px; font-family: inherit; }
.axis { stroke: #cfd7df; } .start { stroke: #17212b; stroke-width: 2; stroke-dasharray: 6 4; }
.swatch { display: inline-block; width: .9rem; height: .9rem; margin-right: .4rem; vertical-align: -.1rem; }
.s-matched { fill: #1f7a55; background: #1f7a55; } .s-unmatched { fill: #c03a10; background: #c03a10; }
.s-other { fill: #7c8896; background: #7c8896; } .s-window { fill: #2268c926; background: #2268c926; }
@media screen and (max-width: 50rem) {
  body { font-size: 15px; padding: 0 .8rem 2rem; } h1 { font-size: 1.3rem; }
  th, td { padding-right: .5rem; }
  .wide, .wide tbody, .wide tr, .wide td { display: block; } .wide thead { display: none; }
  .wide tr { border-bottom: 1px solid #cfd7df; padding: .4rem 0; }
  .wide td, .wide td.n { display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .05rem 0; text-align: right; white-space: normal; }
  .wide td::before { content: attr(data-title); text-align: left; overflow-wrap: normal; }
}
@media print {
  body { font-size: 10pt; max-width: none; padding: 0; } nav { display: none; } table { font-size: 8.5pt; }
  tr, .verdict, .chart { break-inside: avoid; } thead { display: table-header-group; }
  svg, .swatch, .verdict { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
`;
