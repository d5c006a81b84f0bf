import { escapeMarkup } from '../text/escape.js';

/** Escaped HTML. Only `html` and `trusted` create it. */
export interface Html {
  readonly markup: string;
}

/** A template tag that escapes all values except HTML. */
export function html(
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

export function trusted(markup: string): Html {
  return { markup };
}
