/**
 * Adds a search over all rows and columns to sort by to the page, which is complete without it. It has no "less than" and
 * no ampersand, so that it needs no escaping; it fetches nothing.
 */
export const SCRIPT = `
(() => {
  'use strict';
  const make = (name, more) => Object.assign(document.createElement(name), more);
  const tables = [...document.querySelectorAll('main table')];
  const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
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
      fold.open = query === '' ? before[at] : fold.querySelector('tbody tr:not([hidden])') !== null;
    });
    for (const section of document.querySelectorAll('main section')) {
      section.hidden = query !== '' ? section.querySelector('tbody tr:not([hidden])') === null : false;
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
