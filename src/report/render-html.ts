import { createHash } from 'node:crypto';
import { escapeMarkup } from '../text/escape.js';
import { formatTime, groupDigits } from '../text/numbers.js';
import type { DocumentTable, Item, ReportDocument, Section } from './document.js';
import type { Report } from './report-schema.js';

/** Tables with more columns become a list of labelled values on narrow screens. */
const MAX_NARROW_COLUMNS = 5;

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
  const parts = [
    ...texts.map((text) => html`<p>${inline(text)}</p>\n`),
    ...(chart === undefined ? [] : [renderAgeChart(chart.months, chart.since)]),
    ...(table === undefined ? [] : [chart === undefined ? renderTable(table, title) : fold(table, title)]),
    ...(items.length === 0 ? [] : [html`<ul class="items">${items.map(renderItem)}</ul>\n`]),
  ];
  return html`<section id="${id}"><h2>${title}</h2>
${parts}</section>
`;
}

function fold(table: DocumentTable, title: string): Html {
  return html`<details><summary>The numbers in this chart</summary>${renderTable(table, title)}</details>
`;
}

function renderTable({ columns, rows, total }: DocumentTable, caption: string): Html {
  const classOf = (index: number) => trusted(columns[index]?.numeric ? ' class="n"' : '');
  const head = columns.map(({ title }, index) => html`<th scope="col"${classOf(index)}>${title}</th>`);
  const body = rows.map(
    (row) =>
      html`<tr>${row.map((cell, index) => html`<td${classOf(index)} data-title="${columns[index]?.title ?? ''}">${breakable(cell)}</td>`)}</tr>
`,
  );
  const more = total - rows.length;
  return html`<table${trusted(columns.length > MAX_NARROW_COLUMNS ? ' class="wide"' : '')} aria-label="${caption}"><thead><tr>${head}</tr></thead><tbody>
${body}</tbody></table>
${more > 0 ? html`<p>${groupDigits(more)} more: see the JSON report.</p>\n` : html``}`;
}

function renderItem({ title, text, action }: Item): Html {
  const head = text === undefined ? inline(title) : html`<strong>${inline(title)}</strong>: ${inline(text)}`;
  return html`<li>${head}${action === undefined ? html`` : html`<br>→ ${inline(action)}`}</li>
`;
}

/** Text that may break between the words of a code such as `unmatched/key_changed`. */
function breakable(text: string): Html {
  const parts = text.split(/(?<=[a-z][/_])(?=[a-z])/);
  return html`${parts.map((part, index) => (index === 0 ? html`${part}` : html`<wbr>${part}`))}`;
}

/** Text in which backticks mark commands. */
function inline(text: string): Html {
  const parts = text.split('`');
  return html`${parts.map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))}`;
}

type Month = Report['timeline']['months'][number];

const CHART = { width: 560, height: 250, left: 52, right: 8, top: 34, bottom: 30 };
const BASE_Y = CHART.height - CHART.bottom;
const PLOT_HEIGHT = BASE_Y - CHART.top;
const PLOT_WIDTH = CHART.width - CHART.left - CHART.right;
const MAX_LABELS = 6;

const PARTS = [
  { name: 'matched', title: 'matched' },
  { name: 'other', title: 'deleted or ambiguous' },
  { name: 'unmatched', title: 'unmatched' },
] as const;

/** @param since where V4's history starts, ISO 8601; null if it is unknown */
function renderAgeChart(months: readonly Month[], since: string | null): Html {
  const step = PLOT_WIDTH / months.length;
  const top = roundUp(
    Math.max(...months.map(({ matched, unmatched, other }) => matched + unmatched + other)),
  );
  const bars = months.map((month, index) => renderMonth(month, CHART.left + index * step, step, top));
  const every = Math.ceil(months.length / MAX_LABELS);
  const labels = months.map((month, index) =>
    index % every === 0
      ? html`<text x="${round(CHART.left + (index + 0.5) * step)}" y="${BASE_Y + 20}" text-anchor="middle">${month.month.replace('before ', '< ').replace('after ', '> ')}</text>`
      : html``,
  );
  const key = PARTS.map(({ name, title }) => html`<li><span class="swatch s-${name}"></span>${title}</li>`);
  return html`<ul class="key">${key}<li><span class="swatch s-window"></span>V4's history</li></ul>
<svg class="chart" viewBox="0 0 ${CHART.width} ${CHART.height}" role="img" aria-label="V3 records by month and V4's history; the table below has the numbers.">
${renderWindow(since, months, step)}${renderAxis(top)}${bars}${labels}</svg>
`;
}

function renderMonth(month: Month, x: number, step: number, top: number): Html {
  const gap = Math.min(4, step * 0.15);
  let y = BASE_Y;
  const parts = PARTS.map(({ name }) => {
    const height = month[name] === 0 ? 0 : Math.max(2, (month[name] / top) * PLOT_HEIGHT);
    y -= height;
    return height === 0
      ? html``
      : html`<rect x="${round(x + gap / 2)}" y="${round(y)}" width="${round(step - gap)}" height="${round(height)}" class="s-${name}"/>`;
  });
  const numbers = PARTS.map(({ name, title }) => `${groupDigits(month[name])} ${title}`).join(', ');
  return html`<g><title>${month.month}: ${numbers}</title>${parts}</g>
`;
}

function renderAxis(top: number): Html {
  const lines = [0, 0.5, 1].map((share) => {
    const y = round(BASE_Y - share * PLOT_HEIGHT);
    const label = share === 0.5 && top % 2 === 1 ? '' : groupDigits(top * share);
    return html`<line class="axis" x1="${CHART.left}" x2="${CHART.width - CHART.right}" y1="${y}" y2="${y}"/><text x="${CHART.left - 6}" y="${y + 5}" text-anchor="end">${label}</text>
`;
  });
  return html`${lines}`;
}

/** The time that V4's history covers. */
function renderWindow(since: string | null, months: readonly Month[], step: number): Html {
  if (since === null) return html``;
  const index = months.findIndex(({ month }) => month === since.slice(0, 7));
  const isBefore = since.slice(0, 7) < (months.find(({ month }) => !month.startsWith('before'))?.month ?? '');
  if (index < 0 && !isBefore) return html``;
  const day = Number(since.slice(8, 10));
  const x = index < 0 ? CHART.left : round(CHART.left + (index + (day - 1) / 31) * step);
  const right = CHART.width - CHART.right;
  const isLate = x > CHART.left + PLOT_WIDTH / 2;
  return html`<rect class="s-window" x="${x}" y="${CHART.top - 6}" width="${round(right - x)}" height="${PLOT_HEIGHT + 6}"/><line class="start" x1="${x}" x2="${x}" y1="${CHART.top - 6}" y2="${BASE_Y}"/><text class="start-label" x="${isLate ? right : x}" y="${CHART.top - 13}" text-anchor="${isLate ? 'end' : 'start'}">V4's history from ${since.slice(0, 10)}</text>
`;
}

function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 3, 4, 5, 6, 8, 10].find((candidate) => candidate * power >= value) ?? 10;
  return factor * power;
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

/** Light and dark, wide and narrow, screen and print. It has no url(), so nothing is fetched. */
const STYLE = `
:root {
  color-scheme: light dark;
  --page: #fff; --panel: #f4f6f8; --ink: #17212b; --soft: #4a5866; --line: #cfd7df; --link: #0b57a4;
  --matched: #1f7a55; --unmatched: #c03a10; --other: #7c8896; --window: #2268c926;
  --good: #14603f; --bad: #a52a05; --wait: #7a4a00; --good-bg: #e3f4eb; --bad-bg: #fdeae3; --wait-bg: #fff3d6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12181f; --panel: #1b232c; --ink: #e8edf2; --soft: #aab6c2; --line: #36424e; --link: #8cc0ff;
    --matched: #46b583; --unmatched: #ff7d52; --other: #8593a1; --window: #6aa5f533;
    --good: #6fd6a5; --bad: #ff9a78; --wait: #f3c566; --good-bg: #14301f; --bad-bg: #3a1a10; --wait-bg: #352a0d;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 0 1.25rem 2rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere; }
a { color: var(--link); }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem; padding-top: .4rem; border-top: 1px solid var(--line); }
p { margin: .4rem 0; }
code { font: .92em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.origin { color: var(--soft); font-size: .9rem; }
.verdict { border-left: .5rem solid; border-radius: .3rem; padding: 1rem 1.2rem; margin: 1rem 0; }
.pass { background: var(--good-bg); border-color: var(--good); } .pass h1 { color: var(--good); }
.fail { background: var(--bad-bg); border-color: var(--bad); } .fail h1 { color: var(--bad); }
.incomplete, .not_ready { background: var(--wait-bg); border-color: var(--wait); }
.incomplete h1, .not_ready h1 { color: var(--wait); }
nav ul, .key { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: 0; font-size: .92rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; overflow-wrap: normal; } td:not(:last-child) { overflow-wrap: break-word; }
summary { cursor: pointer; color: var(--link); }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th.n { white-space: normal; }
.items { padding-left: 1.2rem; } .items li { margin-bottom: .6rem; }
.chart { display: block; width: 100%; max-width: 44rem; height: auto; }
.chart text { fill: var(--soft); font-size: 14px; font-family: inherit; }
.chart .axis { stroke: var(--line); } .chart .start { stroke: var(--ink); stroke-width: 2; stroke-dasharray: 6 4; }
.chart .start-label { fill: var(--ink); font-weight: 600; }
.swatch { display: inline-block; width: .9rem; height: .9rem; margin-right: .4rem; vertical-align: -.1rem; }
.s-matched { fill: var(--matched); background: var(--matched); } .s-unmatched { fill: var(--unmatched); background: var(--unmatched); }
.s-other { fill: var(--other); background: var(--other); } .s-window { fill: var(--window); background: var(--window); }
@media screen and (max-width: 40rem) {
  body { font-size: 15px; padding: 0 .8rem 2rem; } h1 { font-size: 1.3rem; }
  th, td { padding-right: .5rem; }
  .wide, .wide tbody, .wide tr, .wide td { display: block; } .wide thead { display: none; }
  .wide tr { border-bottom: 1px solid var(--line); padding: .4rem 0; }
  .wide td, .wide td.n { display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .05rem 0; text-align: right; white-space: normal; }
  .wide td::before { content: attr(data-title); color: var(--soft); text-align: left; overflow-wrap: normal; }
}
@media print {
  :root { --page: #fff; --ink: #000; --soft: #333; --line: #999; --panel: #eee; }
  body { font-size: 10pt; max-width: none; padding: 0; } nav { display: none; } h2 { break-after: avoid; }
  tr, .verdict, .chart { break-inside: avoid; } thead { display: table-header-group; }
  svg, .swatch, .verdict { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
`;
