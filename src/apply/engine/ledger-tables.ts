import { SvcError } from '../../errors.js';
import { blocks, type Note } from '../plan.js';
import type { Dialect, Engine, LedgerText } from './dialect.js';
import type { Ledger, LedgerColumnType, TableRun } from './ledger.js';

const TABLES = {
  run: {
    unit: 'number',
    run: 'text',
    target: 'text',
    table_name: 'text',
    column_names: 'json',
    definition: 'json',
    key_columns: 'json',
    key_types: 'json',
    column_types: 'json',
    mode: 'text',
    is_atomic: 'boolean',
    policy: 'json',
    remap_sha256: 'text',
    plan_sha256: 'text',
    maps: 'text',
    state: 'text',
    first_entry: 'number',
    last_entry: 'number',
    done_entry: 'number',
    changed: 'number',
    skipped: 'number',
    started_at: 'text',
    finished_at: 'text',
    tool: 'text',
  },
  entry: { id: 'number', unit: 'number', col: 'column', row_key: 'rowKey', old: 'value', new: 'value' },
  skipped: { unit: 'number', col: 'column', row_key: 'rowKey', old: 'value', new: 'value' },
} as const satisfies Record<string, Record<string, LedgerColumnType>>;

const PRIMARY_KEYS: Readonly<Record<string, string>> = { run: 'unit', entry: 'id' };
const MAY_BE_NULL = new Set(['finished_at', 'new']);
const CONSTRAINTS: Readonly<Record<string, string>> = {
  state: " CHECK (state IN ('working', 'done', 'undoing', 'undone'))",
  changed: ' DEFAULT 0',
  skipped: ' DEFAULT 0',
};

type TableName = keyof typeof TABLES;
/** The columns of `run`. */
export const RUN_COLUMNS: Readonly<Record<string, LedgerColumnType>> = TABLES.run;

const TABLE_NAMES: readonly TableName[] = ['run', 'entry', 'skipped'];

/** Columns of a table with their types. */
function columnsOf({ ledgerTypes, keepsTypes }: LedgerText, table: TableName): [string, string][] {
  return Object.entries<LedgerColumnType>(TABLES[table])
    .filter(([name]) => keepsTypes || (name !== 'key_types' && name !== 'column_types'))
    .map(([name, type]) => [name, ledgerTypes[type]]);
}

/** Statements that create the missing parts of a ledger: its tables, then its view. */
export function createLedgerSql(dialect: LedgerText, ledger: Ledger): string[] {
  const tables = TABLE_NAMES.map((table) => {
    const columns = columnsOf(dialect, table).map(([name, type]) => {
      if (PRIMARY_KEYS[table] === name) return `${name} ${type} PRIMARY KEY`;
      return `${name} ${type}${MAY_BE_NULL.has(name) ? '' : ' NOT NULL'}${CONSTRAINTS[name] ?? ''}`;
    });
    const index = table === 'entry' ? dialect.entryIndex : '';
    return `CREATE TABLE IF NOT EXISTS ${ledger[table]}(${columns.join(', ')}${index})${dialect.tableOptions}`;
  });
  const view = `${dialect.createLedgerView} ${ledger.view} AS
    SELECT r.run, r.target, r.table_name, e.row_key, ${dialect.jsonItem('r.column_names', 'e.col')} AS column_name,
      e.old, e.new, r.remap_sha256
    FROM ${ledger.entry} e JOIN ${ledger.run} r ON r.unit = e.unit WHERE e.id <= r.done_entry`;
  return [...tables, view];
}

/** The first object with a name of the ledger but another definition; null if there is none. */
function findForeign(dialect: LedgerText, found: ReadonlyMap<string, string>): string | null {
  // Where each CREATE TABLE commits, an interruption may have left only the first tables.
  const isOurs = (table: TableName) =>
    !found.has(table) ||
    found.get(table) ===
      columnsOf(dialect, table)
        .map((column) => column.join(' '))
        .join(', ');
  const view = found.get('ledger') ?? 'view';
  return TABLE_NAMES.find((table) => !isOurs(table)) ?? (view === 'view' ? null : 'ledger');
}

/**
 * Whether the database holds a ledger.
 *
 * @throws SvcError `bad_input` if other tables have its names
 */
export async function hasLedger({ dialect }: Engine, ledger: Ledger): Promise<boolean> {
  const found = await dialect.readLedgerShape(ledger);
  const foreign = findForeign(dialect, found);
  if (foreign === null) return TABLE_NAMES.every((table) => found.has(table));
  throw new SvcError('bad_input', notALedger(ledger, foreign), {
    hint: dialect.foreignLedgerHint,
  });
}

function notALedger({ prefix }: Ledger, name: string): string {
  return `${prefix}${name} is not a ledger of this version of svc-migrate.`;
}

/** Notes that block keeping the ledger there: other tables have its names, or `ledgerObstacles`. */
export async function ledgerNotes({ dialect }: Engine, ledger: Ledger, table: string): Promise<Note[]> {
  const foreign = findForeign(dialect, await dialect.readLedgerShape(ledger));
  if (foreign === null) return dialect.ledgerObstacles(ledger, table);
  const text = `${notALedger(ledger, foreign)} ${dialect.foreignLedgerHint}`;
  return [blocks('foreign_ledger', text)];
}

/** A subquery of the `row_key`s that have an entry under one of the labels; null if no run has any. */
export function rowKeysWithEntry(
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
export function rowsWithoutEntry(
  dialect: Pick<Dialect, 'tableSql' | 'keySql' | 'quote'>,
  table: string,
  key: readonly string[],
  recordedKeys: string | null,
  at = 0,
): { readonly join: string; readonly where: string; readonly sql: string } {
  const rowKey = dialect.keySql(key.map((column) => `t.${dialect.quote(column)}`));
  const join =
    recordedKeys === null ? '' : `LEFT JOIN ${recordedKeys} AS e${at} ON e${at}.row_key = ${rowKey}`;
  const where = recordedKeys === null ? 'TRUE' : `e${at}.row_key IS NULL`;
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
export function appliedCells(dialect: Dialect, run: TableRun, col: number, join = 'JOIN'): string {
  return `${run.ledger.entry} AS e ${join} ${dialect.tableSql(run.table)} AS t ON ${keyMatch(dialect, run, 'e.row_key')}
    WHERE e.unit = ${run.unit} AND e.col = ${col} AND e.id <= ${run.done}`;
}
