import type { Dialect } from './dialect.js';
import type { Ledger, TableRun } from './ledger-tables.js';

/** Rows that have an entry for a column, as a subquery with the one column `row_key`; null: none. */
export function enteredRows(
  dialect: Pick<Dialect, 'inPairs'>,
  ledger: Ledger,
  runs: readonly Pick<TableRun, 'unit' | 'labels'>[],
  label: string,
): string | null {
  const pairs = runs.flatMap((run) => {
    const at = run.labels.indexOf(label);
    return at < 0 ? [] : [`(${run.unit}, ${at})`];
  });
  if (pairs.length === 0) return null;
  return `(SELECT row_key FROM ${ledger.entry} WHERE (unit, col) IN ${dialect.inPairs(pairs)})`;
}

/** A table's rows that no run has entered for a column: what follows FROM, and a condition. */
export function unenteredRows(
  dialect: Pick<Dialect, 'tableSql' | 'keySql' | 'quote'>,
  table: string,
  key: readonly string[],
  entered: string | null,
  at = 0,
): { readonly join: string; readonly where: string; readonly sql: string } {
  const rowKey = dialect.keySql(key.map((column) => `t.${dialect.quote(column)}`));
  const join = entered === null ? '' : `LEFT JOIN ${entered} AS e${at} ON e${at}.row_key = ${rowKey}`;
  const where = entered === null ? 'TRUE' : `e${at}.row_key IS NULL`;
  return { join, where, sql: `${dialect.tableSql(table)} AS t ${join} WHERE ${where}` };
}

/** A condition by which rows `t` are found from a ledger key. */
export function keyMatch(
  dialect: Pick<Dialect, 'isKey' | 'keyPart' | 'quote'>,
  run: Pick<TableRun, 'key' | 'keyTypes'>,
  rowKey: string,
): string {
  return run.key
    .map((column, at) => dialect.isKey(`t.${dialect.quote(column)}`, dialect.keyPart(run, rowKey, at)))
    .join(' AND ');
}

/** Entries of a column that are carried out, and their rows `t`: FROM and WHERE. */
export function enteredCells(dialect: Dialect, run: TableRun, col: number, join = 'JOIN'): string {
  return `${run.ledger.entry} AS e ${join} ${dialect.tableSql(run.table)} AS t ON ${keyMatch(dialect, run, 'e.row_key')}
    WHERE e.unit = ${run.unit} AND e.col = ${col} AND e.id <= ${run.done}`;
}
