import type { IdColumn } from '../config/apply-targets.js';
import { SvcError } from '../errors.js';
import { at } from '../text/at.js';
import { endWithSuggestion } from '../text/suggest.js';
import {
  type ColumnIds,
  type CrosswalkColumn,
  describeColumn,
  findColumn,
  groupIds,
  isOwnTable,
} from './crosswalk.js';
import type { ColumnFacts, Database, ListedTable, Obstacle, TableFacts } from './db/database.js';
import { type ColumnState, deleteStateSql, findState, readStates, type StoredState } from './state.js';

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
  const states = await readStates(db);
  const now = await introspect(db, target.table);
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
    uniqueColumns: [],
    cascades: [],
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
  return { name, type: '', holds: 'any', isGenerated: false, isNullable: true, isUnsigned: false };
}

async function introspect(db: Database, table: string): Promise<TableFacts> {
  const facts = await db.introspect(table);
  if (facts !== null) return facts;
  const names = (await db.listTables()).map((each) => each.name);
  throw new SvcError(
    'bad_input',
    `There is no table "${table}" in ${db.place}${endWithSuggestion(table, names)}`,
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

type Part = 'table' | 'column' | 'v3' | 'v4' | 'crosswalk';

/** What the statements of a column read while it is in a state. */
const NEEDED: Readonly<Record<ColumnState, readonly Part[]>> = {
  writing: ['table', 'column'],
  written: ['table', 'column', 'v4', 'crosswalk'],
  switching: ['table', 'column', 'v4', 'crosswalk'],
  switched: ['table', 'column', 'v3', 'v4', 'crosswalk'],
  undoing: ['table', 'column'],
  dropping: ['table', 'column'],
};

/** A recorded column and its table as they are now; no columns: the table is gone. */
export interface Recorded {
  readonly db: Database;
  readonly facts: TableFacts;
  readonly column: CrosswalkColumn & { readonly state: StoredState | null };
}

export const isTableGone = ({ columns }: TableFacts): boolean => columns.length === 0;

export async function assertWhole(recorded: Recorded): Promise<void> {
  const { state } = recorded.column;
  const gone = state === null ? undefined : (await findGone(recorded, NEEDED[state.state]))[0];
  if (gone === undefined) return;
  const canWrite = state?.state !== 'switched' && (gone === 'v4' || gone === 'crosswalk');
  throw new SvcError('bad_input', describeGone(recorded, gone), {
    hint: canWrite
      ? 'Restore its name, or run `svc-migrate apply write` again: it adds what is missing.'
      : 'Restore its name, or see what `svc-migrate apply undo` can undo without it.',
  });
}

/**
 * Only COLUMN_v3 has the V3 ids of a switched column, so it stays unless they can be put back: where COLUMN still is what
 * COLUMN_v4, or the crosswalk, says.
 *
 * @throws SvcError `bad_input`
 */
export async function assertRestorable(recorded: Recorded): Promise<void> {
  const parts = await findGone(recorded, ['column', 'v3', 'v4', 'crosswalk']);
  const gone = parts.filter((part) => part === 'column' || part === 'v3');
  const missing = gone[0] ?? (parts.length === 2 ? parts[0] : undefined);
  if (missing === undefined) return;
  const { v3, v4, crosswalk } = recorded.column;
  throw new SvcError(
    'bad_input',
    `${describeGone(recorded, missing)} Nothing was undone, because ${v3} may hold the only V3 ids.`,
    {
      hint: `Restore it, or its name, and run the same command again. To keep the column as it is, drop ${v3}, ${v4} and ${crosswalk} yourself, then: ${deleteStateSql(recorded.db, recorded.column)};`,
    },
  );
}

async function findGone({ db, facts, column }: Recorded, parts: readonly Part[]): Promise<Part[]> {
  if (isTableGone(facts)) return ['table'];
  const hasTable = parts.includes('crosswalk') && (await hasCrosswalk(db, column));
  return parts.filter((part) => {
    if (part === 'table') return false;
    if (part === 'crosswalk') return !hasTable;
    return findColumn(db, facts, part === 'column' ? column.column.name : column[part]) === undefined;
  });
}

function describeGone({ column }: Recorded, part: Part): string {
  const { table } = column.table;
  const names: Readonly<Record<Part, string>> = {
    table: `table ${table}`,
    column: `column ${table}.${column.column.name}`,
    v3: `column ${table}.${column.v3}`,
    v4: `column ${table}.${column.v4}`,
    crosswalk: `crosswalk ${column.crosswalk}`,
  };
  return `The ${names[part]} is gone: it was dropped or renamed.`;
}

export async function hasCrosswalk(
  db: Database,
  { crosswalk, table: { schema } }: CrosswalkColumn,
): Promise<boolean> {
  return (await db.listTables()).some((each) => each.name === crosswalk && each.schema === schema);
}

/**
 * Tells a table that was dropped from one that was renamed: another table has what was added to it.
 *
 * @throws SvcError `bad_input` if there is such a table
 */
export async function assertDropped({ db, column }: Recorded): Promise<void> {
  const states = await readStates(db);
  for (const listed of await db.listTables()) {
    if (listed.obstacle !== null || isOwnTable(listed.name)) continue;
    const facts = await db.introspect(tableName(listed));
    if (facts === null) continue;
    const added = [column.v3, column.v4].find((name) => isAdded(db, facts, column.column.name, name, states));
    if (added === undefined) continue;
    throw new SvcError(
      'bad_input',
      `The table ${column.table.table} is gone, and ${facts.table} has a column ${added}: it may have been renamed. Nothing was undone.`,
      {
        hint: `Restore its name, then run the same command again. If ${column.table.table} was dropped: ${deleteStateSql(db, column)};`,
      },
    );
  }
}

const tableName = ({ schema, name }: ListedTable) => (schema === null ? name : `${schema}.${name}`);

function isAdded(
  db: Database,
  facts: TableFacts,
  column: string,
  added: string,
  states: readonly StoredState[],
): boolean {
  const isRecorded = states.some((state) => state.table === facts.table && state.column === column);
  return !isRecorded && findColumn(db, facts, added) !== undefined;
}

/** Why nothing new can be written to a table: what is recorded contradicts it, or the column is one that was added. */
async function findContradictions(
  db: Database,
  facts: TableFacts,
  states: readonly StoredState[],
): Promise<Obstacle[]> {
  const stops = (code: string, text: string, column?: string): Obstacle => ({
    stops: 'write',
    code,
    text,
    ...(column === undefined ? {} : { column }),
  });
  if (isOwnTable(facts.name)) return [stops('own_table', `${facts.table} is a table of svc-migrate.`)];
  const here = states.filter(({ table }) => table === facts.table);
  const added = here.flatMap(({ column }) =>
    [`${column}_v3`, `${column}_v4`].flatMap((name) => findColumn(db, facts, name)?.name ?? []),
  );
  const gone = here.filter(({ column }) => findColumn(db, facts, column) === undefined);
  const tables = new Set((await db.listTables()).map(tableName));
  const renamed = states.find(
    ({ table, column }) =>
      !tables.has(table) &&
      [`${column}_v3`, `${column}_v4`].some((name) => isAdded(db, facts, column, name, states)),
  );
  return [
    ...added.map((name) =>
      stops(
        'own_column',
        `svc-migrate added ${facts.table}.${name} itself: name the column beside it.`,
        name,
      ),
    ),
    ...gone.map(({ column }) =>
      stops(
        'column_gone',
        `The column ${facts.table}.${column} is gone, for which svc-migrate wrote V4 ids: restore its name, or run apply undo.`,
      ),
    ),
    ...(renamed === undefined
      ? []
      : [
          stops(
            'table_gone',
            `${facts.table} seems to be ${renamed.table}, renamed after svc-migrate wrote to it: restore the name, or run apply undo.`,
          ),
        ]),
  ];
}
