/** A V3 model, or the children one of its fields holds: `accounting/invoices`, `accounting/invoices#line_items`. */
export interface ModelRef {
  readonly model: string;
  /** '' for the records themselves. */
  readonly path: string;
}

export const MODEL_REF = /^[A-Za-z0-9_-]+\/[A-Za-z0-9_-]+(?:#[A-Za-z_][A-Za-z0-9_]*)?$/;

/** Takes `category/model` or `category/model#children` apart. */
export function parseModelRef(text: string): ModelRef {
  const at = text.indexOf('#');
  return at < 0 ? { model: text, path: '' } : { model: text.slice(0, at), path: text.slice(at + 1) };
}

export function formatModelRef({ model, path }: ModelRef): string {
  return path === '' ? model : `${model}#${path}`;
}
