import type { IdColumn } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { ColumnWork } from '../column-work.js';
import { type Engine, findColumn } from './dialect.js';
import { buildMap, mapMatch } from './id-maps.js';
import type { Ledger, TableRun } from './ledger.js';
import { rowKeysWithEntry, rowsWithoutEntry } from './ledger-tables.js';
import { parkingTerm, readIntegers } from './parking.js';
import { rewrittenLabels, writesPlatformId, writtenColumn } from './platform-ids.js';
import type { TableColumn, TableFacts } from './table-facts.js';

/** A column whose cells are to change. */
export interface ChangeColumn {
  readonly id: IdColumn;
  /** Null if its cells stay. */
  readonly work: ColumnWork | null;
}

/** A table to change, and the runs whose rows are left out. */
export interface ChangeSource {
  readonly facts: TableFacts;
  readonly key: readonly string[];
  readonly columns: readonly ChangeColumn[];
  readonly ledger: Ledger;
  readonly runs: readonly TableRun[];
}

/**
 * A query of every row that changes: `k…` (the key), `o…` and `c…` (each column before and after, as the ledger stores
 * it; for a platform_id, `o…` is the id it belongs to) and `r…` (whether the column is rewritten). Each cell is looked
 * up and counted once. Call inside the transaction that runs the query.
 */
export async function changesQuery(
  engine: Engine,
  { facts, key, columns, ledger, runs }: ChangeSource,
): Promise<string> {
  const { session, dialect } = engine;
  const { table } = facts;
  const cell = (column: string) => `t.${dialect.quote(column)}`;
  const isThere = (column: string) => findColumn(engine, facts, column) !== undefined;
  const joins: string[] = [];
  const terms = [
    ...key.map((column, at) => `${cell(column)} AS k${at}`),
    ...columns.map(({ id }, at) => `${dialect.asEntry(cell(id.column))} AS o${at}`),
  ];
  const isChanged: string[] = [];
  for (const [at, { id, work }] of columns.entries()) {
    const platformId = writesPlatformId(id) ? writtenColumn(id) : null;
    const isNone = platformId !== null && !isThere(platformId);
    const present = isNone ? 'NULL' : dialect.asEntry(cell(platformId ?? id.column));
    if (work === null) {
      terms.push(`${present} AS c${at}`);
      isChanged.push('FALSE');
      continue;
    }
    const recordedKeys = rowKeysWithEntry(dialect, ledger, runs, rewrittenLabels(id));
    const { join, where: isOpen } = rowsWithoutEntry(dialect, table, key, recordedKeys, at);
    const where =
      platformId !== null && isThere(platformId) ? `${isOpen} AND ${cell(platformId)} IS NULL` : isOpen;
    const map = buildMap(dialect, facts, id, {
      table: dialect.temporary(`svc_migrate_map_${at}`),
      isKept: false,
    });
    await session.exec(dialect.createMap(map).join(';'));
    const from = `${dialect.tableSql(table)} AS t ${join}`;
    await dialect.loadMap(map, { work, mode: 'in_place', from, where, fill: 1 });
    joins.push(join, `LEFT JOIN ${map.table} AS m${at} ON ${mapMatch(dialect, map, `m${at}`)} AND ${where}`);
    isChanged.push(`m${at}.old IS NOT NULL`);
    terms.push(
      `CASE WHEN ${isChanged[at]} THEN ${dialect.asEntry(`m${at}.new`)} ELSE ${present} END AS c${at}`,
    );
  }
  terms.push(...isChanged.map((term, at) => `${term} AS r${at}`));
  return `SELECT ${terms.join(', ')} FROM ${dialect.tableSql(table)} AS t ${joins.join(' ')} WHERE ${isChanged.join(' OR ')}`;
}

/**
 * A temporary table of rows to change in one transaction: key (`k…`), value before (`o…`) and after (`c…`), whether the
 * column is rewritten (`r…`; an id may map to itself), a number (`row_no`), and whether the row gets a temporary value
 * first (`parked`). Values are as the ledger stores them. No statement names the table twice, which not every database
 * allows for temporary tables.
 */
export interface ChangeList {
  /** As `TableFacts.table`. */
  readonly table: string;
  readonly key: readonly string[];
  readonly columns: readonly string[];
  /** Types of `columns`; empty if they are not needed. */
  readonly types: readonly string[];
  /** Columns under unique constraints, where rows whose ids swap need temporary values. */
  readonly parked: readonly TableColumn[];
}

const LIST = 'svc_migrate_work';
const TAKEN = 'svc_migrate_taken';

/** The list's table, as SQL. */
export function changeListTable({ dialect }: Engine): string {
  return dialect.temporary(LIST);
}

/** Creates the list from a query of `k…, o…, c…, r…`. */
export async function createChangeList(
  engine: Engine,
  { key, columns }: ChangeList,
  query: string,
): Promise<void> {
  const numbered = (letter: string, items: readonly string[]) => items.map((_, at) => `${letter}${at}`);
  const names = [numbered('k', key), ...['o', 'c', 'r'].map((letter) => numbered(letter, columns))].flat();
  await engine.dialect.createList(LIST, names, query);
}

/** Call in the transaction that created the list, or after it. */
export async function dropChangeList(engine: Engine): Promise<void> {
  await engine.session.exec(engine.dialect.dropTemporary(changeListTable(engine)));
}

/**
 * Changes every row of the list. A row whose current value is the new value of another row first gets a temporary
 * value.
 *
 * @throws SvcError `bad_input` if there are no free temporary values, or a row does not hold its new value afterwards;
 * the caller rolls back
 */
export async function applyChangeList(
  engine: Engine,
  changes: ChangeList,
  triggers: readonly string[],
): Promise<void> {
  const { session, dialect } = engine;
  await dialect.beforeUpdate(triggers, [], false);
  const parking = await parkRows(engine, changes);
  const changed = await session.query(
    dialect.updateFrom({
      table: changes.table,
      set: changes.columns.map((column, at) => [column, newValue(engine, changes, at)]),
      from: `${changeListTable(engine)} AS w`,
      where: rowMatch(engine, changes, parking),
    }),
  );
  const total = await countListed(engine);
  if (changed.count !== total || (await countChanged(engine, changes)) !== total) {
    throw notWritten(changes.table, triggers);
  }
}

/** The error for rows that do not hold what was just written to them; the caller rolls back. */
export function notWritten(table: string, triggers: readonly string[]): SvcError {
  if (triggers.length === 0) {
    return new SvcError('internal', `Not every row of ${table} was found again by its key.`);
  }
  const names = triggers.join(', ');
  return new SvcError('bad_input', `Rows of ${table} did not keep the ids written to them: ${names}.`, {
    hint: `Disable ${names} while ids are rewritten.`,
    facts: { table, triggers: names },
  });
}

/** SQL for the value of a column of row `w` after the change. */
export function newValue({ dialect }: Engine, { types }: Pick<ChangeList, 'types'>, at: number): string {
  return dialect.fromEntry(`w.c${at}`, types[at] ?? '');
}

/** Counts the rows that hold their new values; a trigger may have changed others back. */
async function countChanged(engine: Engine, changes: ChangeList): Promise<number> {
  const { session, dialect } = engine;
  const sql = `SELECT count(*) FROM ${changeListTable(engine)} AS w
    JOIN ${dialect.tableSql(changes.table)} AS t ON ${isWritten(engine, changes).join(' AND ')}`;
  return Number(await session.one(sql));
}

/** Conditions on rows `w` and `t`: `t` is the listed row after the change, and holds its new values. */
export function isWritten(engine: Engine, changes: Omit<ChangeList, 'parked'>): string[] {
  const { dialect } = engine;
  const cell = (column: string) => `t.${dialect.quote(column)}`;
  return [
    ...changes.key.map((column, at) => dialect.isKey(cell(column), newKeyTerm(engine, changes, column, at))),
    ...changes.columns.map((column, at) => dialect.isSame(cell(column), `w.c${at}`)),
  ];
}

/** For each parked column, SQL for the temporary value of a row of the list. */
type Parking = ReadonlyMap<string, string>;

async function parkRows(engine: Engine, changes: ChangeList): Promise<Parking> {
  const { session, dialect } = engine;
  const list = changeListTable(engine);
  const taken = dialect.temporary(TAKEN);
  const parking = new Map<string, string>();
  for (const column of changes.parked) {
    const at = changes.columns.indexOf(column.name);
    if (at < 0) continue;
    // Emptied cells take no value.
    const values = `SELECT c${at} AS value FROM ${list} WHERE c${at} IS NOT NULL`;
    await session.exec(`${dialect.dropTemporary(taken)}; ${dialect.createValues(TAKEN, values)}`);
    const marked = await session.query(dialect.markParked(list, taken, at));
    await session.exec(dialect.dropTemporary(taken));
    if (marked.count > 0) parking.set(column.name, await parkedTerm(engine, changes, column, at));
  }
  if (parking.size === 0) return parking;
  await session.exec(
    dialect.updateFrom({
      table: changes.table,
      set: [...parking],
      from: `${list} AS w`,
      where: `w.parked AND ${rowMatch(engine, changes, new Map())}`,
    }),
  );
  return parking;
}

async function parkedTerm(
  engine: Engine,
  { table }: ChangeList,
  column: TableColumn,
  at: number,
): Promise<string> {
  const rows = BigInt(await countListed(engine));
  const isNumber = column.holds === 'integer' || column.holds === 'any';
  const highest = isNumber ? (await readIntegers(engine, `c${at}`, changeListTable(engine))).highest : 0n;
  const term = await parkingTerm(engine, table, column, at, { highest, rows });
  if (term !== null) return term;
  const text = `${column.name} (${column.type}) has no free values for rows to hold while their ids swap.`;
  throw new SvcError('bad_input', text, {
    hint: 'Widen the column, or rewrite into a new one (without --in-place).',
  });
}

/** A condition that finds a row by its key, or by the temporary value of a parked key column. */
function rowMatch({ dialect }: Engine, { key }: ChangeList, parking: Parking): string {
  return key
    .map((column, at) => {
      const parked = parking.get(column);
      const value = parked === undefined ? `w.k${at}` : `CASE WHEN w.parked THEN ${parked} ELSE w.k${at} END`;
      return dialect.isKey(`t.${dialect.quote(column)}`, value);
    })
    .join(' AND ');
}

/** SQL for one key column of a listed row after the change. */
function newKeyTerm(
  engine: Engine,
  changes: Pick<ChangeList, 'columns' | 'types'>,
  keyColumn: string,
  at: number,
): string {
  const column = changes.columns.indexOf(keyColumn);
  return column < 0 ? `w.k${at}` : newValue(engine, changes, column);
}

/** The keys of the listed rows as the ledger keeps them, before or after the change. */
export function listedKey(
  engine: Engine,
  changes: Omit<ChangeList, 'parked'>,
  when: 'before' | 'after',
): string {
  return engine.dialect.keySql(
    changes.key.map((column, at) =>
      when === 'before' ? `w.k${at}` : newKeyTerm(engine, changes, column, at),
    ),
  );
}

async function countListed(engine: Engine): Promise<number> {
  return Number(await engine.session.one(`SELECT count(*) FROM ${changeListTable(engine)}`));
}
