import type { Dialect } from './dialect.js';
import type { Ledger, TableRun } from './ledger-tables.js';

/** A subquery of the `row_key`s that have an entry under one of the labels; null if no run has any. */
export function enteredRows(
  dialect: Pick<Dialect, 'inPairs'>,
  ledger: Ledger,
  runs: readonly Pick<TableRun, 'unit' | 'labels'>[],
  labels: readonly string[],
): string | null {
  const pairs = runs.flatMap((run) =>
    labels.flatMap((label) => {
      const at = run.labels.indexOf(label);
      return at < 0 ? [] : [`(${run.unit}, ${at})`];
    }),
  );
  if (pairs.length === 0) return null;
  const distinct = labels.length > 1 ? 'DISTINCT ' : '';
  return `(SELECT ${distinct}row_key FROM ${ledger.entry} WHERE (unit, col) IN ${dialect.inPairs(pairs)})`;
}

/** SQL for the rows of a table that have no entry for a column. */
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

/** A condition that finds row `t` by its key in the ledger. */
export function keyMatch(
  dialect: Pick<Dialect, 'isKey' | 'keyPart' | 'quote'>,
  run: Pick<TableRun, 'key' | 'keyTypes'>,
  rowKey: string,
): string {
  return run.key
    .map((column, at) => dialect.isKey(`t.${dialect.quote(column)}`, dialect.keyPart(run, rowKey, at)))
    .join(' AND ');
}

/** `FROM` and `WHERE` for the entries `e` of a column that were carried out, with their rows `t`. */
export function enteredCells(dialect: Dialect, run: TableRun, col: number, join = 'JOIN'): string {
  return `${run.ledger.entry} AS e ${join} ${dialect.tableSql(run.table)} AS t ON ${keyMatch(dialect, run, 'e.row_key')}
    WHERE e.unit = ${run.unit} AND e.col = ${col} AND e.id <= ${run.done}`;
}
