import { NAMED_ROWS } from './context.js';

/** Counts rows and keeps the names of the first few. */
export class RowNames {
  #names: readonly string[] = [];
  #count = 0;

  get names(): readonly string[] {
    return this.#names;
  }

  get count(): number {
    return this.#count;
  }

  /** `rows` of them go by this name. */
  add(name: string, rows = 1): void {
    this.merge({ names: [name], count: rows });
  }

  merge({ names, count }: Pick<RowNames, 'names' | 'count'>): void {
    this.#count += count;
    if (this.#names.length < NAMED_ROWS) this.#names = [...this.#names, ...names].slice(0, NAMED_ROWS);
  }
}
