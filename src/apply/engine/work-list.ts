import { SvcError } from '../../errors.js';
import type { Engine } from './dialect.js';
import { notWritten } from './not-written.js';
import type { TableColumn } from './table-facts.js';

/**
 * A list of rows to change, all in one transaction: keys as they are (`k…`), values as they are (`o…`) and as they
 * shall be (`c…`), whether this is the run's doing (`r…`: ids may map to themselves), a number (`row_no`) and
 * whether the row steps aside first (`parked`). Lives in a temporary table; values are as the ledger has them.
 */
export interface WorkList {
  /** As `TableFacts` has it. */
  readonly table: string;
  readonly key: readonly string[];
  readonly columns: readonly string[];
  /** Types of `columns`; empty where they are not needed. */
  readonly types: readonly string[];
  /** Columns under unique constraints: rows in each other's way step aside first. */
  readonly parked: readonly TableColumn[];
}

const LIST = 'svc_migrate_work';

/** The list's table, as SQL. */
export function workTable({ dialect }: Engine): string {
  return dialect.temporary(LIST);
}

/** Makes the list from a query of `k…, o…, c…, r…`. */
export async function createWork(engine: Engine, { key, columns }: WorkList, query: string): Promise<void> {
  const names = [
    ...key.map((_, at) => `k${at}`),
    ...columns.map((_, at) => `o${at}`),
    ...columns.map((_, at) => `c${at}`),
    ...columns.map((_, at) => `r${at}`),
  ];
  await engine.dialect.createList(LIST, names, query);
}

/** Call in the transaction that made it, or after it. */
export async function dropWork(engine: Engine): Promise<void> {
  await engine.session.exec(`DROP TABLE IF EXISTS ${workTable(engine)}`);
}

/**
 * Changes every row of the list. Where a value is still held by another row of the list, that row first gets a
 * value nobody has.
 *
 * @throws SvcError `bad_input` where there is no room to step aside, or a row does not hold then what it shall; the
 * caller rolls back
 */
export async function changeWork(engine: Engine, work: WorkList, triggers: readonly string[]): Promise<void> {
  const { session, dialect } = engine;
  await dialect.beforeUpdate(triggers, []);
  const parking = await parkRows(engine, work);
  const changed = await session.query(
    dialect.updateFrom({
      table: work.table,
      set: work.columns.map((column, at) => [column, newValue(engine, work, at)]),
      from: `${workTable(engine)} AS w`,
      where: rowMatch(engine, work, parking),
    }),
  );
  const total = await countWork(engine);
  if (changed.count !== total || (await countChanged(engine, work)) !== total) {
    throw notWritten(work.table, triggers);
  }
}

function newValue({ dialect }: Engine, { types }: WorkList, at: number): string {
  return dialect.fromEntry(`w.c${at}`, types[at] ?? '');
}

/** Rows that hold what the list says; a trigger may have had its way with the others. */
async function countChanged(engine: Engine, work: WorkList): Promise<number> {
  const { session, dialect } = engine;
  const cell = (column: string) => `t.${dialect.quote(column)}`;
  const isThere = work.key.map((column, at) =>
    dialect.isKey(cell(column), newKeyTerm(engine, work, column, at)),
  );
  const isChanged = work.columns.map((column, at) => dialect.isSame(cell(column), `w.c${at}`));
  const sql = `SELECT count(*) FROM ${workTable(engine)} AS w
    JOIN ${dialect.tableSql(work.table)} AS t ON ${[...isThere, ...isChanged].join(' AND ')}`;
  return Number(await session.one(sql));
}

/** Term for each parked column: the value a row of the list has while it stands aside. */
type Parking = ReadonlyMap<string, string>;

async function parkRows(engine: Engine, work: WorkList): Promise<Parking> {
  const { session, dialect } = engine;
  const list = workTable(engine);
  const parking = new Map<string, string>();
  for (const column of work.parked) {
    const at = work.columns.indexOf(column.name);
    if (at < 0) continue;
    const marked = await session.query(
      `UPDATE ${list} SET parked = TRUE WHERE o${at} IN (SELECT c${at} FROM ${list})`,
    );
    if (marked.count > 0) parking.set(column.name, await parkedValue(engine, work, column, at));
  }
  if (parking.size === 0) return parking;
  await session.exec(
    dialect.updateFrom({
      table: work.table,
      set: [...parking],
      from: `${list} AS w`,
      where: `w.parked AND ${rowMatch(engine, work, new Map())}`,
    }),
  );
  return parking;
}

async function parkedValue(
  engine: Engine,
  { table }: WorkList,
  column: TableColumn,
  at: number,
): Promise<string> {
  const { dialect } = engine;
  const rows = BigInt(await countWork(engine));
  const isNumber = column.holds === 'integer' || column.holds === 'any';
  const highest = isNumber ? await dialect.largestInteger(`c${at}`, workTable(engine)) : 0n;
  const term = await dialect.parkingTerm(table, column, at, { highest, rows });
  if (term !== null) return term;
  const text = `${column.name} (${column.type}) has no free values for rows to hold while their ids swap.`;
  throw new SvcError('bad_input', text, {
    hint: 'Widen the column, or rewrite into a new one (without --in-place).',
  });
}

/** Finds a row by its key; a key column that is parked has its parked value. */
function rowMatch({ dialect }: Engine, { key }: WorkList, parking: Parking): string {
  return key
    .map((column, at) => {
      const parked = parking.get(column);
      const value = parked === undefined ? `w.k${at}` : `CASE WHEN w.parked THEN ${parked} ELSE w.k${at} END`;
      return dialect.isKey(`t.${dialect.quote(column)}`, value);
    })
    .join(' AND ');
}

/** One column of a listed row's key after the change. */
function newKeyTerm(engine: Engine, work: WorkList, keyColumn: string, at: number): string {
  const column = work.columns.indexOf(keyColumn);
  return column < 0 ? `w.k${at}` : newValue(engine, work, column);
}

/** The keys of the listed rows as the ledger keeps them, before or after the change. */
export function workKey(engine: Engine, work: WorkList, when: 'before' | 'after'): string {
  return engine.dialect.keySql(
    work.key.map((column, at) => (when === 'before' ? `w.k${at}` : newKeyTerm(engine, work, column, at))),
  );
}

async function countWork(engine: Engine): Promise<number> {
  return Number(await engine.session.one(`SELECT count(*) FROM ${workTable(engine)}`));
}
