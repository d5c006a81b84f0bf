/** The style sheet of the report: light and dark, screen and print. It has no url(), so nothing is fetched. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --page: #ffffff; --panel: #f4f6f8; --ink: #17212b; --soft: #4a5866; --line: #cfd7df; --link: #0b57a4;
  --matched: #1f7a55; --unmatched: #c03a10; --ambiguous: #7d3fc4; --deleted: #7c8896; --v4_only: #2268c9;
  --good: #14603f; --bad: #a52a05; --wait: #7a4a00; --good-bg: #e3f4eb; --bad-bg: #fdeae3; --wait-bg: #fff3d6; --shade: #0003;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12181f; --panel: #1b232c; --ink: #e8edf2; --soft: #aab6c2; --line: #36424e; --link: #8cc0ff;
    --matched: #46b583; --unmatched: #ff7d52; --ambiguous: #b98cf0; --deleted: #8593a1; --v4_only: #6aa5f5;
    --good: #6fd6a5; --bad: #ff9a78; --wait: #f3c566; --good-bg: #14301f; --bad-bg: #3a1a10; --wait-bg: #352a0d; --shade: #fff4;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
header, main, footer { max-width: 76rem; margin: 0 auto; padding: 0 1.25rem; }
a { color: var(--link); }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; padding-top: .4rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.2rem 0 .3rem; overflow-wrap: anywhere; }
p { margin: .4rem 0; max-width: 70ch; overflow-wrap: anywhere; }
code { font: .92em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; } .word { display: inline-block; }
.meta { color: var(--soft); font-size: .9rem; }
.verdict { border-left: .5rem solid; border-radius: .3rem; padding: 1rem 1.2rem; margin: 1.4rem 0 1rem; }
.verdict p { font-size: 1.05rem; color: var(--ink); }
.pass { background: var(--good-bg); border-color: var(--good); } .pass h1 { color: var(--good); }
.fail { background: var(--bad-bg); border-color: var(--bad); } .fail h1 { color: var(--bad); }
.incomplete, .not_ready { background: var(--wait-bg); border-color: var(--wait); }
.incomplete h1, .not_ready h1 { color: var(--wait); }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .6rem; margin: 1rem 0; padding: 0; }
.numbers div { background: var(--panel); border-radius: .3rem; padding: .6rem .8rem; border-top: .25rem solid var(--line); }
.numbers dt { color: var(--soft); font-size: .9rem; }
.numbers dd { margin: 0; font-size: 1.35rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.numbers small { font-size: .85rem; font-weight: 400; color: var(--soft); display: block; }
.numbers .matched { border-color: var(--matched); } .numbers .unmatched { border-color: var(--unmatched); }
.numbers .ambiguous { border-color: var(--ambiguous); } .numbers .deleted { border-color: var(--deleted); }
.numbers .v4_only { border-color: var(--v4_only); }
.scroll { overflow-x: auto; margin: .6rem 0 1rem; background:
  linear-gradient(to right, var(--page) 1.5rem, transparent) left / 3rem 100% local no-repeat,
  linear-gradient(to left, var(--page) 1.5rem, transparent) right / 3rem 100% local no-repeat,
  linear-gradient(to right, var(--shade), transparent) left / .9rem 100% scroll no-repeat,
  linear-gradient(to left, var(--shade), transparent) right / .9rem 100% scroll no-repeat; }
.key-name { color: var(--soft); } .origin { margin-top: 1rem; overflow-wrap: anywhere; max-width: none; }
.search { display: flex; flex-wrap: wrap; gap: .3rem .8rem; align-items: center; margin: .4rem 0; }
.search input { font: inherit; padding: .25rem .5rem; color: var(--ink); background: var(--page); border: 1px solid var(--soft); border-radius: .3rem; min-width: 14rem; }
thead button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; text-align: inherit; }
thead button::after { content: " ↕"; } [aria-sort=ascending] button::after { content: " ↑"; } [aria-sort=descending] button::after { content: " ↓"; }
.scroll:focus-visible, summary:focus-visible, a:focus-visible, button:focus-visible, input:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
caption { text-align: left; color: var(--soft); padding: 0 0 .3rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line); }
.n + :not(.n) { padding-left: .7rem; }
tbody th { font-weight: 500; overflow-wrap: break-word; }
thead th { color: var(--soft); font-weight: 600; white-space: nowrap; }
td { overflow-wrap: break-word; min-width: 4.5rem; } td:not(.n):last-child { min-width: 11rem; overflow-wrap: anywhere; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.ok { color: var(--good); font-weight: 600; } .over { color: var(--bad); font-weight: 700; white-space: nowrap; }
.obstacles { padding-left: 1.4rem; } .obstacles li { margin-bottom: .9rem; } .obstacles h3 { margin: 0; }
.bar { display: block; width: 100%; min-width: 6rem; max-width: 20rem; height: 1rem; background: var(--panel); }
.chart { display: block; width: 100%; min-width: 44rem; height: auto; }
.chart text { fill: var(--soft); font-size: 13px; font-family: inherit; }
.chart .axis { stroke: var(--line); stroke-width: 1; }
.chart .window { stroke: var(--ink); stroke-width: 2; stroke-dasharray: 6 4; }
.chart .window-label { fill: var(--ink); font-weight: 600; }
.s-matched { fill: var(--matched); } .s-unmatched { fill: var(--unmatched); } .s-ambiguous { fill: var(--ambiguous); }
.s-deleted, .s-other { fill: var(--deleted); } .s-v4_only { fill: var(--v4_only); }
.key { list-style: none; display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; padding: 0; margin: .4rem 0; font-size: .9rem; }
.key svg { width: .9rem; height: .9rem; margin-right: .4rem; vertical-align: -.1rem; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: 0; font-size: .92rem; }
summary { cursor: pointer; padding: .3rem 0; color: var(--link); }
footer { margin-top: 3rem; padding-bottom: 2rem; border-top: 1px solid var(--line); }
@media (max-width: 40rem) {
  body { font-size: 15px; } header, main, footer { padding: 0 .8rem; }
  h1 { font-size: 1.35rem; } .numbers { grid-template-columns: repeat(2, 1fr); }
}
@media print {
  :root { --page: #fff; --ink: #000; --soft: #333; --line: #999; --panel: #eee; }
  body { font-size: 10pt; } nav, .search { display: none; } .scroll { overflow: visible; } h2, h3, .key { break-after: avoid; }
  tr, .verdict, .chart { break-inside: avoid; } .chart { min-width: 0; } svg { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .numbers { grid-template-columns: repeat(4, 1fr); } table { font-size: .8em; } .bar { min-width: 3rem; } th, td { padding-right: .4rem; }
  thead { display: table-header-group; } thead th, thead .n { white-space: normal; vertical-align: bottom; }
  thead button { display: contents; } thead button::after { content: none; } /* buttons are missing where a head is repeated */
}
`;

/**
 * Adds a search over all rows, and sorting by column, to the page, which is complete without it. It has no "less than"
 * and no ampersand, so that it needs no escaping; it fetches nothing.
 */
export const SCRIPT = `
(() => {
  'use strict';
  const make = (name, more) => Object.assign(document.createElement(name), more);
  const tables = [...document.querySelectorAll('main table')];
  const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
  const titleOf = (row) => row.closest('details')?.querySelector('summary').textContent ?? '';
  const texts = new Map(rows.map((row) => [row, (row.textContent + ' ' + titleOf(row)).toLowerCase()]));
  const isFound = (part) => part.querySelector('tbody tr:not([hidden])') !== null;
  const folds = [...document.querySelectorAll('main details')];
  const box = make('input', { type: 'search', id: 'search', autocomplete: 'off' });
  const found = make('output', { className: 'meta' });
  const bar = make('form', { className: 'search' });
  bar.setAttribute('role', 'search');
  bar.append(make('label', { htmlFor: 'search', textContent: 'Search in all tables' }), box, found);
  bar.addEventListener('submit', (event) => event.preventDefault());
  document.querySelector('nav').after(bar);
  let before = null;
  box.addEventListener('input', () => {
    const query = box.value.trim().toLowerCase();
    before = before ?? folds.map((fold) => fold.open);
    let count = 0;
    for (const row of rows) {
      const hit = texts.get(row).includes(query);
      row.hidden = !hit;
      count += hit ? 1 : 0;
    }
    folds.forEach((fold, at) => {
      fold.open = query === '' ? before[at] : isFound(fold);
    });
    for (const part of document.querySelectorAll('main section, main details, main .scroll')) {
      part.hidden = query === '' ? false : !isFound(part);
    }
    if (query === '') before = null;
    found.textContent = query === '' ? '' : count === 1 ? '1 row' : count + ' rows';
  });
  const valueOf = (row, at) => {
    const text = row.cells[at].textContent.trim();
    return row.cells[at].className === 'n' ? Number(text.replace(/[^0-9.]/g, '')) : text;
  };
  const compare = (a, b) => (typeof a === 'number' ? a - b : a.localeCompare(b, 'en', { numeric: true }));
  for (const table of tables) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    if (2 > body.rows.length) continue;
    heads.forEach((head, at) => {
      if ('unordered' in head.dataset) return;
      const button = make('button', { type: 'button', textContent: head.textContent });
      head.replaceChildren(button);
      button.addEventListener('click', () => {
        const isUp = head.getAttribute('aria-sort') !== 'ascending';
        for (const other of heads) other.removeAttribute('aria-sort');
        head.setAttribute('aria-sort', isUp ? 'ascending' : 'descending');
        const sorted = [...body.rows].sort((a, b) => compare(valueOf(a, at), valueOf(b, at)));
        body.append(...(isUp ? sorted : sorted.reverse()));
      });
    });
  }
})();
`;
