import { escapeMarkup } from '../text/escape.js';
import type { ReportColumn } from './tables.js';

/** Escaped HTML. Only `html` and `trusted` create it. */
export interface Html {
  readonly markup: string;
}

type Part = string | number | Html | null | readonly Html[];

/** A template tag that escapes all values except HTML; null becomes ''. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
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

/** Renders text in which backticks mark commands and names. */
export function withCode(text: string): Html {
  return html`${text.split('`').map((part, at) => (at % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))}`;
}

/** Markup that is known to be safe, such as our own style sheet. */
export function trusted(markup: string): Html {
  return { markup };
}

/** A table with a caption, scrollable if it is wide; the first cell of each row is its heading. */
export function htmlTable(
  caption: string,
  columns: readonly ReportColumn[],
  rows: readonly (readonly (string | Html)[])[],
): Html {
  const head = columns.map(({ title, numeric, unordered }) => {
    const more = html`${numeric ? html` class="n"` : null}${unordered ? html` data-unordered=""` : null}`;
    return html`<th scope="col"${more}>${title}</th>`;
  });
  const body = rows.map(
    (row) => html`<tr>${row.map((cell, at) => {
      if (at === 0) return html`<th scope="row">${cell}</th>`;
      return columns[at]?.numeric ? html`<td class="n">${cell}</td>` : html`<td>${cell}</td>`;
    })}</tr>
`,
  );
  return html`<div class="scroll" role="region" tabindex="0" aria-label="${caption}"><table><caption>${caption}</caption>
<thead><tr>${head}</tr></thead>
<tbody>
${body}</tbody></table></div>
`;
}
