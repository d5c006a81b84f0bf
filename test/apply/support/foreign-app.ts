/** One write of an application that goes on using a table while its ids are rewritten. */
export type Write =
  | { readonly kind: 'insert'; readonly k: number; readonly id: number }
  | { readonly kind: 'set_id'; readonly k: number; readonly id: number }
  | { readonly kind: 'set_note'; readonly k: number; readonly note: string }
  | { readonly kind: 'delete'; readonly k: number };

export interface ForeignRow {
  readonly id: number;
  readonly note: string;
}

/** Rows by their key. */
export type ForeignTable = ReadonlyMap<number, ForeignRow>;

const FOREIGN_ROWS = 300;
/** Old ids are 1…50, each held by several rows; new ones are the same numbers, turned by one. */
export const FOREIGN_IDS = 50;
export const twinOf = (id: number): number => (id <= FOREIGN_IDS ? (id % FOREIGN_IDS) + 1 : id);
const oldIdOf = (k: number): number => (k % FOREIGN_IDS) + 1;

/** The table before; with `isMapped` as it must be after, had nobody else written. */
export function foreignTable(isMapped: boolean): ForeignTable {
  const keys = Array.from({ length: FOREIGN_ROWS }, (_, at) => at + 1);
  return new Map(keys.map((k) => [k, { id: isMapped ? twinOf(oldIdOf(k)) : oldIdOf(k), note: `note ${k}` }]));
}

/** An application that never writes to a row again once it has changed its id or removed it. */
export class ForeignApp {
  readonly log: Write[] = [];
  readonly #random: (max: number) => number;
  readonly #free = [...foreignTable(false).keys()];
  #next = FOREIGN_ROWS;

  constructor(random: (max: number) => number) {
    this.#random = random;
  }

  /** The next write; `commit` it once it was carried out. */
  next(): Write {
    const random = this.#random;
    const k = this.#free[random(this.#free.length)] ?? 0;
    switch (random(4)) {
      case 0:
        // An old id: this application does not know of new ones yet.
        this.#next += 1;
        return { kind: 'insert', k: this.#next, id: 1 + random(FOREIGN_IDS) };
      case 1:
        return { kind: 'set_id', k, id: this.#otherId(k) };
      case 2:
        return { kind: 'set_note', k, note: `changed ${k}` };
      default:
        return random(2) === 0 ? { kind: 'delete', k } : { kind: 'set_id', k, id: 1000 + random(1000) };
    }
  }

  commit(write: Write): void {
    this.log.push(write);
    if (write.kind === 'set_id' || write.kind === 'delete') this.#free.splice(this.#free.indexOf(write.k), 1);
  }

  /** Another old id than the row's own, and not the one it becomes. */
  #otherId(k: number): number {
    const own = oldIdOf(k);
    return ((own + 2 + this.#random(FOREIGN_IDS - 5)) % FOREIGN_IDS) + 1;
  }
}

/** The table after an application's writes. */
export function replay(table: ForeignTable, log: readonly Write[]): Map<number, ForeignRow> {
  const rows = new Map(table);
  for (const write of log) {
    const row = rows.get(write.k);
    if (write.kind === 'delete') rows.delete(write.k);
    else if (write.kind === 'insert') rows.set(write.k, { id: write.id, note: 'inserted' });
    else if (row !== undefined) rows.set(write.k, { ...row, ...changeOf(write) });
  }
  return rows;
}

function changeOf(write: Extract<Write, { kind: 'set_id' | 'set_note' }>): Partial<ForeignRow> {
  return write.kind === 'set_id' ? { id: write.id } : { note: write.note };
}

/** A write as SQL with `?` for its values. */
export function sqlOf(write: Write): { readonly sql: string; readonly values: readonly (string | number)[] } {
  switch (write.kind) {
    case 'insert':
      return { sql: "INSERT INTO t VALUES (?, ?, 'inserted')", values: [write.k, write.id] };
    case 'set_id':
      return { sql: 'UPDATE t SET svc_id = ? WHERE k = ?', values: [write.id, write.k] };
    case 'set_note':
      return { sql: 'UPDATE t SET note = ? WHERE k = ?', values: [write.note, write.k] };
    case 'delete':
      return { sql: 'DELETE FROM t WHERE k = ?', values: [write.k] };
  }
}
