import type { Engine } from '../engine/dialect.js';
import { keyMatch } from '../engine/ledger-entries.js';
import type { SyncColumn } from './sync-table.js';

/** A cell that a trigger could not map. */
export interface RecordedCell {
  readonly column: string;
  /** Key of its row; null if the table has none. */
  readonly row: string | null;
  readonly value: string;
  /** Status and reason in the remap; `unknown` if it is no V3 id there, or names several. */
  readonly reason: string;
  readonly at: string;
}

export interface RecordedCells {
  /** The first ones. */
  readonly unmapped: readonly RecordedCell[];
  readonly unmappedCount: number;
}

const LISTED = 1000;

/** Lists the cells that triggers could not map and that still hold the same value without a V4 id. */
export async function listRecorded({ session, dialect }: Engine, column: SyncColumn): Promise<RecordedCells> {
  const cell = (name: string) => `t.${dialect.quote(name)}`;
  const isStill = [
    keyMatch(dialect, column, 'e.row_key'),
    dialect.isSame(cell(column.id.column), 'e.value'),
    `${cell(column.newColumn)} IS NULL`,
  ].join(' AND ');
  const join = column.key.length === 0 ? '' : `JOIN ${dialect.tableSql(column.table)} AS t ON ${isStill}`;
  const key = column.key.length === 0 ? 'NULL' : dialect.keyName('e.row_key');
  const terms = `${key} AS row_name, ${dialect.asText('e.value')} AS old, max(concat(e.at, ' ', e.reason)) AS last`;
  const query = `SELECT ${terms} FROM ${column.unmapped} AS e ${join} GROUP BY row_name, old`;
  const { rows } = await session.query(`${query} ORDER BY last, row_name LIMIT ${LISTED}`);
  const count =
    rows.length < LISTED ? rows.length : await session.one(`SELECT count(*) FROM (${query}) AS q`);
  return {
    unmapped: rows.map(([row, value, last]) => {
      const [at = '', reason = ''] = last?.split(' ') ?? [];
      return { column: column.id.column, row: row ?? null, value: value ?? '', reason, at };
    }),
    unmappedCount: Number(count),
  };
}
