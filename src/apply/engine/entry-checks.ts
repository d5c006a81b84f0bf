import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import type { Verified } from '../context.js';
import { NamedRows } from '../context.js';

/** What a row holds, compared with its ledger entry and with the remap. */
export type EntryVerdict =
  | 'right'
  /** The remap maps the old id to another one than the entry says. */
  | 'remap'
  /** The row holds its old id again. */
  | 'undone'
  /** The row holds something else than the run wrote. */
  | 'changed'
  | 'gone';

const SAYS: Readonly<Record<Exclude<EntryVerdict, 'right'>, string>> = {
  remap: ': the remap gives another id',
  undone: ': holds its old id again',
  changed: ': holds something else than the run wrote',
  gone: ' is gone',
};

/** A column that a run filled, compared with the column it was filled from. */
export interface FilledColumn {
  readonly checked: number;
  /** Values that are not what the remap gives. */
  readonly foreign: NamedRows;
  /** Cells that are empty though the remap gives an id. */
  readonly unfilled: NamedRows;
}

/** `invoice_id 9: invoice_id_v4 is empty`. */
export function nameUnfilled(id: IdColumn, value: string): string {
  return `${id.column} ${value}: ${newColumnOf(id)} is empty`;
}

/** Collects what verification says of a unit. */
export class EntryChecks {
  readonly #wrong = new NamedRows();
  readonly #changed = new NamedRows();
  #checked = 0;

  addEntry(key: string, verdict: EntryVerdict): void {
    this.#checked += 1;
    if (verdict === 'right') return;
    const rows = verdict === 'remap' || verdict === 'undone' ? this.#wrong : this.#changed;
    rows.add(`row ${key}${SAYS[verdict]}`);
  }

  addFilled({ checked, foreign, unfilled }: FilledColumn): void {
    this.#checked += checked;
    this.#wrong.merge(foreign);
    this.#changed.merge(unfilled);
  }

  addWrong(text: string): void {
    this.#wrong.add(text);
  }

  result(): Pick<Verified, 'checked' | 'wrong' | 'wrongCount' | 'changedSince' | 'changedSinceCount'> {
    return {
      checked: this.#checked,
      wrong: this.#wrong.names,
      wrongCount: this.#wrong.count,
      changedSince: this.#changed.names,
      changedSinceCount: this.#changed.count,
    };
  }
}
