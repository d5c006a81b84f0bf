import { escapeMarkup } from '../text/escape.js';

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

/** Renders text in which backticks mark commands and names. Options such as `--wait` are not broken. */
export function printInline(text: string): Html {
  return html`${text.split('`').map((part, at) => (at % 2 === 0 ? withWholeOptions(part) : asCode(part)))}`;
}

function withWholeOptions(text: string): Html {
  const parts = text.split(/(?<!\S)(--[a-z][a-z-]*)/);
  return html`${parts.map((part, at) => (at % 2 === 0 ? html`${part}` : html`<span class="word">${part}</span>`))}`;
}

/** A command or name that wraps between words only: a browser would also break `--in-place` at its hyphens. */
export function asCode(text: string): Html {
  const words = text
    .split(' ')
    .map((word) => (word.includes('-') ? html`<span class="word">${word}</span>` : html`${word}`));
  return html`<code>${words.map((word, at) => html`${at === 0 ? '' : ' '}${word}`)}</code>`;
}

/** A code such as `unmatched/key_changed` that wraps between its words. */
export function withWordBreaks(code: string): Html {
  return html`${code.split(/(?<=[/_])/).map((part, at) => (at === 0 ? html`${part}` : html`<wbr/>${part}`))}`;
}

/** Markup that is known to be safe, such as our own style sheet. */
export function trusted(markup: string): Html {
  return { markup };
}
