import { createHash } from 'node:crypto';
import { STATUSES } from '../reasons.js';
import { countOf, formatTime, groupDigits } from '../text/numbers.js';
import {
  type Block,
  type Cell,
  type FoldBlock,
  type ListBlock,
  type ListItem,
  type NumbersBlock,
  type Section,
  STATUS_NAMES,
  type TableBlock,
} from './blocks.js';
import { renderAges, renderKey, renderStatusBar } from './charts.js';
import { buildDocument, type ReportDocument } from './document.js';
import { asCode, type Html, html, printInline, trusted, withWordBreaks } from './html.js';
import { SCRIPT, STYLE } from './page-assets.js';
import type { Report } from './report-schema.js';

/** Rows of a table that are shown at once; the others are folded. */
const OPEN_ROWS = 20;

/** The report as one HTML file without external resources. It is complete without its script, which searches and sorts. */
export function renderHtml(report: Report): Iterable<string> {
  const document = buildDocument(report);
  const { verdict, ids } = document;
  const isEvidence = ({ id }: Section) => id === 'evidence';
  const sections = document.sections.filter((one) => !isEvidence(one));
  const links = sections.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`);
  const evidence = document.sections
    .filter(isEvidence)
    .map(({ title, blocks }) => html`<footer><h2>${title}</h2>\n${blocks.map(printBlock)}</footer>\n`);
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
${printOrigin(report)}${printVerdict(document)}${printNumbers(ids)}<nav aria-label="Sections"><ul>${links}</ul></nav>
</header>
<main>
${sections.map(printSection)}</main>
${evidence}<script>${trusted(SCRIPT)}</script>
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
function printOrigin({ evidence, generatedAt, tool }: Report): Html {
  const hosts = (side: string) =>
    Object.entries(evidence.fingerprint)
      .filter(([name]) => name === `${side}.baseUrl` || name.startsWith(`${side}.regions.`))
      .map(([, address]) => address)
      .join(', ');
  const parts = [
    `Migration from V3 (${hosts('v3')}) to V4 (${hosts('v4')})`,
    `report of ${formatTime(generatedAt)}`,
    `database ${evidence.database}`,
    `${tool.name} ${tool.version}`,
  ];
  return html`<p class="meta origin">${parts.join(' · ')}</p>
`;
}

function printVerdict({ outcome, verdict, lead }: ReportDocument): Html {
  const { next } = verdict;
  const step = next.startsWith('svc-migrate ') ? asCode(next) : printInline(next);
  return html`<div class="verdict ${outcome}"><h1>${verdict.title}</h1>
${lead.map(printBlock)}<p><strong>Next:</strong> ${step}</p></div>
`;
}

function printSection({ id, title, blocks }: Section): Html {
  return html`<section id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>
${blocks.map(printBlock)}</section>
`;
}

function printBlock(block: Block): Html {
  switch (block.kind) {
    case 'sentence':
      return html`<p>${printInline(block.text)}</p>
`;
    case 'numbers':
      return printNumbers(block);
    case 'table':
      return printTable(block);
    case 'list':
      return printList(block);
    case 'fold':
      return printFold(block);
    case 'ages':
      return renderAges(block.timeline);
    default:
      return block satisfies never;
  }
}

function printNumbers({ rows }: NumbersBlock): Html {
  const boxes = rows.map(({ name, count, note, status }) => {
    const color = status === null ? null : html` class="${status}"`;
    return html`<div${color}><dt>${name}</dt><dd>${groupDigits(count)} <small>${note}</small></dd></div>
`;
  });
  return html`<dl class="numbers">
${boxes}</dl>
`;
}

function printFold({ title, code, id, blocks, page }: FoldBlock): Html {
  const body = blocks.map(printBlock);
  if (page !== undefined) return html`${body}`;
  const name = code === undefined ? null : html` <code class="key-name">${withWordBreaks(code)}</code>`;
  // A link to something inside a closed part opens that part.
  const content = id === undefined ? html`${body}` : html`<div id="${id}">${body}</div>`;
  return html`<details><summary>${printInline(title)}${name}</summary>
${content}</details>
`;
}

const STATUS_KEY = STATUSES.map((status) => [status, STATUS_NAMES[status]] as const);

/** A table; its rows after the first are folded where there are many. */
function printTable(block: TableBlock): Html {
  const { caption, rows, total } = block;
  const key = rows.some((row) => row.some(isBar)) ? renderKey(STATUS_KEY) : null;
  const rest = rows.slice(OPEN_ROWS);
  const more =
    rest.length === 0
      ? null
      : html`<details><summary>${countOf(rest.length, 'more row')}</summary>
${printRows({ ...block, caption: `Continued: ${caption}`, rows: rest })}</details>
`;
  const missing = total - rows.length;
  const note =
    missing > 0
      ? html`<p>${countOf(missing, 'more row')}: see the JSON report.</p>
`
      : null;
  return html`${key}${printRows({ ...block, rows: rows.slice(0, OPEN_ROWS) })}${more}${note}`;
}

function isBar(cell: Cell): boolean {
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

function printCell(cell: Cell): Html {
  if (typeof cell === 'string') return html`${cell}`;
  switch (cell.kind) {
    case 'code':
      return html`<code>${cell.text}</code>`;
    case 'reason':
      return html`<code class="key-name">${withWordBreaks(cell.text)}</code>`;
    case 'inline':
      return printInline(cell.text);
    case 'sentences':
      return html`${cell.texts.map((text) => html`<p>${text}</p>`)}`;
    case 'judged':
      return cell.pass ? html`<span class="ok">ok</span>` : html`<span class="over">exceeded</span>`;
    case 'bar':
      return renderStatusBar(cell.parts);
    default:
      return cell satisfies never;
  }
}

function printList({ items, total, isOrdered }: ListBlock): Html {
  const lines = items.map((item) => (isOrdered ? printStep(item) : printItem(item)));
  const missing = total - items.length;
  const note =
    missing > 0
      ? html`<p>${groupDigits(missing)} more: see the JSON report.</p>
`
      : null;
  return isOrdered ? html`<ol class="obstacles">${lines}</ol>${note}` : html`<ul>${lines}</ul>${note}`;
}

function printItem({ title, meaning = '' }: ListItem): Html {
  if (meaning === '')
    return html`<li>${printInline(title)}</li>
`;
  return html`<li><strong>${title}</strong>: ${printInline(meaning)}</li>
`;
}

function printStep({
  title,
  code = null,
  numbers = '',
  lines = [],
  meaning = '',
  action = '',
  links = [],
}: ListItem): Html {
  const name = code === null ? null : html` <code class="key-name">${withWordBreaks(code)}</code>`;
  const anchors = links.map(({ id, text }, at) => html`${at === 0 ? '' : ' · '}<a href="#${id}">${text}</a>`);
  return html`<li><h3>${title}${name}${numbers === '' ? '' : `: ${numbers}`}</h3>
<p>${printInline(meaning)} <strong>${printInline(action)}</strong></p>
${lines.map((line) => html`<p class="meta">${line}</p>`)}${anchors.length === 0 ? null : html`<p>${anchors}</p>`}</li>
`;
}
