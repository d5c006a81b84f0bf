import { createHash } from 'node:crypto';
import { columnLabel, type IdColumn, modelLabel } from '../config/apply-targets.js';
import { SvcError } from '../errors.js';
import type { ColumnFacts, Database, TableFacts } from './db/database.js';

/** The table that records at the target which columns were written and switched. */
export const STATE_TABLE = 'svc_migrate_state';

/** The ids of one column; several for the paths of a JSON column. */
export type ColumnIds = readonly [IdColumn, ...IdColumn[]];

export interface CrosswalkColumn {
  readonly table: TableFacts;
  readonly ids: ColumnIds;
  readonly column: ColumnFacts;
  /** Columns that name model and region of each row; null if all rows have the same. */
  readonly model: ColumnFacts | null;
  readonly region: ColumnFacts | null;
  readonly v3: string;
  readonly v4: string;
  readonly crosswalk: string;
  /** Whether a unique key depends on it, so that ids may have to swap places. */
  readonly isUnique: boolean;
}

/** Groups the ids of a target by column: the paths of a JSON column are judged together. */
export function groupIds(ids: readonly IdColumn[]): ColumnIds[] {
  const groups = new Map<string, [IdColumn, ...IdColumn[]]>();
  for (const id of ids) {
    const group = groups.get(id.column.toLowerCase());
    if (group === undefined) groups.set(id.column.toLowerCase(), [id]);
    else group.push(id);
  }
  return [...groups.values()];
}

/** `svc_migrate_orders_invoice_id_1f3a`: the same for the same table and column, and short enough for every database. */
function crosswalkName(table: string, column: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([table, column]))
    .digest('hex')
    .slice(0, 6);
  const words = `${table.split('.').at(-1)}_${column}`.toLowerCase().replace(/[^a-z0-9_]/g, '');
  return `svc_migrate_${words.slice(0, 40)}_${digest}`;
}

/** Tables of svc-migrate, whatever became of what they record. */
export function isOwnTable(name: string): boolean {
  return name === STATE_TABLE || /^svc_migrate_[a-z0-9_]*_[0-9a-f]{6}$/.test(name);
}

/** Finds a column as the database compares names: SQLite and MySQL ignore case. */
export function findColumn(
  db: Pick<Database, 'kind'>,
  { columns }: Pick<TableFacts, 'columns'>,
  name: string,
): ColumnFacts | undefined {
  const fold = (text: string) => (db.kind === 'postgres' ? text : text.toLowerCase());
  return columns.find((column) => fold(column.name) === fold(name));
}

/** @throws SvcError `bad_input` if the table lacks a column or it cannot hold ids */
export function describeColumn(db: Database, table: TableFacts, ids: ColumnIds): CrosswalkColumn {
  const [{ column: name, modelColumn, regionColumn }] = ids;
  const find = (wanted: string) => mustFind(db, table, wanted);
  const column = find(name);
  if (column.holds === 'other' || column.isGenerated) {
    const what = column.isGenerated ? 'is generated' : `has the type ${column.type}`;
    throw new SvcError('bad_input', `The column ${name} of ${table.table} ${what}, so it cannot hold ids.`, {
      hint: 'Name another column in "ids".',
    });
  }
  return {
    table,
    ids,
    column,
    model: modelColumn === undefined ? null : find(modelColumn),
    region: regionColumn === undefined ? null : find(regionColumn),
    v3: `${column.name}_v3`,
    v4: `${column.name}_v4`,
    crosswalk: crosswalkName(table.table, column.name),
    isUnique: table.uniqueColumns.includes(column.name),
  };
}

function mustFind(db: Database, table: TableFacts, name: string): ColumnFacts {
  const column = findColumn(db, table, name);
  if (column !== undefined) return column;
  throw new SvcError('bad_input', `The table ${table.table} has no column "${name}".`, {
    hint: `Its columns: ${table.columns.map((each) => each.name).join(', ')}.`,
  });
}

export function labelOf(ids: ColumnIds): { readonly column: string; readonly model: string } {
  return { column: ids.map(columnLabel).join(', '), model: [...new Set(ids.map(modelLabel))].join(', ') };
}
