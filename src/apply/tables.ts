import type { IdColumn } from '../config/apply-targets.js';
import { SvcError } from '../errors.js';
import { at } from '../text/at.js';
import { didYouMeanClause } from '../text/suggest.js';
import { type ColumnIds, type CrosswalkColumn, describeColumn, findColumn, groupIds } from './crosswalk.js';
import type { ColumnFacts, Database, TableFacts } from './db/database.js';
import { findContradictions } from './gone.js';
import { findState, readStates, type StoredState } from './state.js';

/** A column of a table, and what was done to it; `state`: null if nothing was. */
export interface TableColumn extends CrosswalkColumn {
  readonly state: StoredState | null;
}

export interface ApplyTable {
  /** The target's name, or the table's where no target names it. */
  readonly target: string;
  readonly db: Database;
  readonly facts: TableFacts;
  readonly columns: readonly TableColumn[];
}

export async function openTable(
  db: Database,
  target: { readonly name: string; readonly table: string; readonly ids: readonly IdColumn[] },
): Promise<ApplyTable> {
  const now = await introspect(db, target.table);
  const states = await readStates(db);
  const contradictions = await findContradictions(db, now, states);
  const facts = { ...now, obstacles: [...contradictions, ...now.obstacles] };
  const columns = groupIds(target.ids).map((ids) => {
    const column = describeColumn(db, facts, ids);
    const state = findState(states, facts, column.column.name) ?? null;
    if (state !== null) assertSameScope(column, state);
    return { ...column, state };
  });
  return { target: target.name, db, facts, columns };
}

/**
 * The tables in which something was written, by what the target itself says, whatever the configuration does.
 *
 * @param table only this one; null: all
 */
export async function openWrittenTables(
  db: Database,
  table: string | null,
  name: string | null = null,
): Promise<ApplyTable[]> {
  const states = await readStates(db);
  const there = table === null ? null : ((await db.introspect(table))?.table ?? null);
  // A table that is gone may have been named without its schema.
  const isNamed = (state: StoredState) =>
    table === null || (there === null ? [state.table, nameOf(state)].includes(table) : state.table === there);
  const tables: ApplyTable[] = [];
  for (const each of new Set(states.filter(isNamed).map((state) => state.table))) {
    const written = states.filter((state) => state.table === each);
    const facts = (await db.introspect(each)) ?? goneTable(at(written, 0));
    const columns = written.map((state) => describeWritten(db, facts, state));
    tables.push({ target: name ?? facts.table, db, facts, columns });
  }
  return tables;
}

function nameOf({ table, schema }: StoredState): string {
  return schema === null ? table : table.slice(schema.length + 1);
}

/** A table that was dropped since it was written: undo still has to drop what is ours. */
function goneTable(state: StoredState): TableFacts {
  return {
    table: state.table,
    schema: state.schema,
    name: nameOf(state),
    columns: [],
    key: [],
    uniques: [],
    foreignKeys: [],
    triggers: [],
    obstacles: [],
  };
}

function describeWritten(db: Database, facts: TableFacts, state: StoredState): TableColumn {
  const { ids, crosswalk, column } = state;
  const [{ modelColumn, regionColumn }] = ids;
  const names = [column, modelColumn, regionColumn].filter((name) => name !== undefined);
  const gone = names.filter((name) => findColumn(db, facts, name) === undefined);
  const columns = [...facts.columns, ...gone.map(goneColumn)];
  return { ...describeColumn(db, { ...facts, columns }, ids), table: facts, crosswalk, state };
}

function goneColumn(name: string): ColumnFacts {
  return { name, type: '', holds: 'any', isNullable: true, isGenerated: false, isUnsigned: false };
}

async function introspect(db: Database, table: string): Promise<TableFacts> {
  const facts = await db.introspect(table);
  if (facts !== null) return facts;
  const names = (await db.listTables()).map((each) => each.name);
  throw new SvcError(
    'bad_input',
    `There is no table "${table}" in ${db.place}${didYouMeanClause(table, names)}.`,
    { hint: 'Check the name of the table.' },
  );
}

function assertSameScope({ ids, table }: CrosswalkColumn, state: StoredState): void {
  const scopeOf = ([{ modelColumn, regionColumn }]: ColumnIds) => JSON.stringify([modelColumn, regionColumn]);
  if (scopeOf(ids) === scopeOf(state.ids)) return;
  throw new SvcError(
    'bad_input',
    `${table.table}.${state.column} was written with another modelColumn or regionColumn.`,
    { hint: 'Take it back first: `svc-migrate apply undo`.' },
  );
}

export function hasColumn({ db, facts }: Pick<ApplyTable, 'db' | 'facts'>, name: string): boolean {
  return findColumn(db, facts, name) !== undefined;
}

export async function refresh(table: ApplyTable): Promise<ApplyTable> {
  return { ...table, facts: await introspect(table.db, table.facts.table) };
}

export async function refreshIfThere(table: ApplyTable): Promise<ApplyTable> {
  const facts = await table.db.introspect(table.facts.table);
  return { ...table, facts: facts ?? { ...table.facts, columns: [] } };
}
