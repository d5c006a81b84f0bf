import { SvcError } from '../../errors.js';
import { blocks, type Note } from '../plan.js';
import { type compileRewrite, type Direction, NO_PARKING, type Parking, type Range } from './compile.js';
import { type Engine, findColumn } from './dialect.js';
import { readRun } from './ledger-runs.js';
import type { ForeignKey, TableColumn, TableFacts, TableOfRun, TableRun } from './table-facts.js';

/** A run on a table whose rows are listed. */
export interface ListedRun {
  readonly run: TableRun;
  readonly facts: TableFacts;
  readonly sql: ReturnType<typeof compileRewrite>;
}

/** How rows of a list are moved. */
export interface Move {
  readonly direction: Direction;
  readonly range: Range;
  /** Columns under unique constraints, where rows whose ids swap get temporary values. */
  readonly parked: readonly string[];
  /** Whether cells that another program changed are left alone; otherwise they stop the run. */
  readonly canSkip: boolean;
}

/**
 * In an `exclusive` transaction: locks out writers, and defers foreign key checks to the end. Returns the check to call
 * there; it throws SvcError `bad_input` if a key is broken. Sorted, to avoid deadlocks.
 */
export async function lockTables(
  { session, dialect }: Engine,
  tables: readonly Pick<TableOfRun, 'table' | 'target'>[],
): Promise<() => Promise<void>> {
  const names = [...new Set(tables.map(({ table }) => table))].sort();
  for (const statement of dialect.lockTables(names.map(dialect.tableSql))) await session.exec(statement);
  return dialect.deferForeignKeys(tables);
}

/**
 * Moves listed rows between their ids before and after the run. First all of them at once; if some do not hold what they
 * should, these are marked, and the others are moved. Call inside a transaction.
 *
 * @throws SvcError `bad_input` if rows do not keep what is written to them; the caller rolls back
 */
export async function moveRows(engine: Engine, { run, facts, sql }: ListedRun, move: Move): Promise<void> {
  const { session, dialect } = engine;
  const { direction, range, parked, canSkip } = move;
  const keyTypes = facts.columns.filter(({ name }) => run.key.includes(name)).map(({ type }) => type);
  await dialect.beforeUpdate(facts.triggers, keyTypes, range !== null);
  const moveAll = async () => {
    const parking = parked.length === 0 ? NO_PARKING : await parkRows(engine, { run, facts, sql }, move);
    const moved = await session.query(sql.move(range, direction, parking));
    return moved.count === Number(await session.one(sql.countOurs(range)));
  };
  const flagAll = async () => {
    for (const flag of sql.flag(range, direction)) await session.exec(flag);
  };
  // Among unique ids, a row that stays as it is could stand in the way of others.
  if (canSkip && range === null) await flagAll();
  await session.exec('SAVEPOINT svc_migrate_move');
  if (!(await moveAll())) {
    await session.exec('ROLLBACK TO SAVEPOINT svc_migrate_move');
    const lock = sql.lock(range, direction);
    if (lock !== null) await session.one(lock);
    if (canSkip) await flagAll();
    if (!canSkip || !(await moveAll())) throw notWritten(facts);
  }
  if (facts.triggers.length === 0 && range !== null) return;
  const held = await session.one(sql.countMoved(range, direction));
  if (held !== (await session.one(sql.countOurs(range)))) throw notWritten(facts);
}

/** The error for rows that do not hold what was just written to them. */
function notWritten({ table, triggers }: TableFacts): SvcError {
  if (triggers.length === 0) {
    return new SvcError('internal', `Not every row of ${table} was found again by its key.`);
  }
  const names = triggers.join(', ');
  return new SvcError('bad_input', `Rows of ${table} did not keep the ids written to them: ${names}.`, {
    hint: `Disable ${names} while ids are rewritten.`,
    facts: { table, triggers: names },
  });
}

/**
 * Sets the cells of columns under unique constraints to temporary values, where ids swap: checks and foreign keys may refuse these.
 *
 * @throws SvcError `bad_input` if there are no free values
 */
async function parkRows(
  engine: Engine,
  { facts, sql }: ListedRun,
  { direction, parked }: Move,
): Promise<Parking> {
  const { session } = engine;
  const parking = new Map<string, string>();
  const rows = BigInt((await session.one(`SELECT coalesce(max(id), 0) FROM ${sql.list}`)) ?? '0');
  for (const written of sql.columns.filter(({ name }) => parked.includes(name))) {
    const { at, name } = written;
    const column = findColumn(engine, facts, name);
    if (column === undefined || (await session.one(sql.findSwap(written, direction))) === null) continue;
    const [present, other] = direction === 'forth' ? ['o', 'n'] : ['n', 'o'];
    const isNumber = column.holds === 'integer' || column.holds === 'any';
    const { highest } = isNumber
      ? await readIntegers(engine, `w.${other}${at}`, `${sql.list} AS w`)
      : { highest: 0n };
    const own = `w.${present}${at}`;
    const term = await parkingTerm(engine, facts.table, column, { own, highest, rows });
    if (term === null) throw new SvcError('bad_input', noRoomNote(column).text);
    parking.set(name, term);
  }
  if (parking.size > 0) await session.exec(sql.park(parking, direction));
  return parking;
}

/** Moves a batch, together with the progress of the run. Safe to repeat: the progress shows whether it was moved already. */
export async function moveBatch(
  engine: Engine,
  listed: ListedRun,
  direction: Direction,
  range: { readonly from: number; readonly to: number },
): Promise<void> {
  const { session } = engine;
  const { run } = listed;
  const isForth = direction === 'forth';
  const [before, after] = isForth ? [range.from, range.to] : [range.to, range.from];
  const state = isForth ? 'working' : 'undoing';
  const isMoved = await session.transaction('latest', async () => {
    const moved = await session.query(
      `UPDATE ${run.ledger.run} SET done = $1 WHERE unit = $2 AND done = $3 AND state = '${state}'`,
      [String(after), run.unit, String(before)],
    );
    if (moved.count !== 1) return false;
    await moveRows(engine, listed, { direction, range, parked: [], canSkip: true });
    return true;
  });
  if (isMoved) return;
  const now = await session.retry(() => readRun(engine, run));
  if (!isForth && now.state === 'undone') return;
  if (now.state === state && (isForth ? now.done >= after : now.done <= after)) return;
  throw new SvcError('locked', `Run ${run.run} is being continued or undone by another process.`, {
    hint: 'Wait until it has finished.',
  });
}

/** Smallest and largest 64-bit integer. */
const INT64: readonly [bigint, bigint] = [-(2n ** 63n), 2n ** 63n - 1n];

/** An integer literal. SQLite would parse the smallest 64-bit integer, written in decimal, as a real. */
export function integerSql(value: bigint): string {
  return value === INT64[0] ? '(-9223372036854775807 - 1)' : `(${value})`;
}

interface ParkingNeeds {
  /** SQL for the value of a row. */
  readonly own: string;
  /** The largest new id. */
  readonly highest: bigint;
  /** Maximum number of rows that need a temporary value. */
  readonly rows: bigint;
}

/**
 * SQL for the temporary values that rows `w` hold while their ids swap under a unique constraint. No row of the column
 * holds them; they differ for each `w.id` from 1 to `rows` and have the type of its own value.
 * Integers lie above those in use, or else below. Null if there are not enough free values.
 */
export async function parkingTerm(
  engine: Engine,
  table: string,
  column: TableColumn,
  { own, highest: highestNew, rows }: ParkingNeeds,
): Promise<string | null> {
  const { dialect } = engine;
  const from = `${dialect.tableSql(table)} AS t`;
  let integer: string | null = null;
  if (column.holds === 'integer' || column.holds === 'any') {
    const range = column.range ?? INT64;
    // Servers add 64-bit integers as such: a decimal point makes a decimal of one.
    const isWide = range[0] < INT64[0] || range[1] > INT64[1];
    const termOf = (base: bigint) => (isWide ? `(${base}.)` : integerSql(base));
    const taken = await readIntegers(engine, `t.${dialect.quote(column.name)}`, from);
    const highest = taken.highest > highestNew ? taken.highest : highestNew;
    if (highest + rows <= range[1]) integer = `(${termOf(highest)} + w.id)`;
    else if (taken.lowest - rows >= range[0]) integer = `(${termOf(taken.lowest)} - w.id)`;
    else return null;
  }
  const suffix = column.holds === 'integer' ? null : await findSuffix(engine, column, from);
  const chars = String(rows).length + (suffix ?? '').length;
  if (suffix !== null && column.maxChars !== null && chars > column.maxChars) return null;
  return dialect.parkedValue(column, own, integer, suffix);
}

/** Smallest and largest integer of a term; `lowest` is at most 0, `highest` at least 0. */
async function readIntegers(
  { session, dialect }: Engine,
  term: string,
  from: string,
): Promise<{ readonly lowest: bigint; readonly highest: bigint }> {
  const sql = dialect.integersOf(term);
  const { rows } = await session.query(
    `SELECT ${sql.lowest}, ${sql.highest} FROM ${from} WHERE ${sql.where}`,
  );
  const [lowest, highest] = (rows[0] ?? []).map((cell) => BigInt(cell ?? '0'));
  return {
    lowest: lowest === undefined || lowest > 0n ? 0n : lowest,
    highest: highest === undefined || highest < 0n ? 0n : highest,
  };
}

/** Finds a suffix that no string of the column has. */
async function findSuffix({ session, dialect }: Engine, column: TableColumn, from: string): Promise<string> {
  const cell = `t.${dialect.quote(column.name)}`;
  for (let suffix = '~svc'; ; suffix = `~${suffix}`) {
    const end = column.holds === 'json' ? `${suffix}"` : suffix;
    const isTaken = `SELECT 1 FROM ${from} WHERE ${dialect.asText(cell)} LIKE '%${end}' LIMIT 1`;
    if ((await session.one(isTaken)) === null) return suffix;
  }
}

/** The plan's note if a foreign key refuses temporary values. */
export function heldNote({ name }: TableColumn, { name: key, otherTable, isDeferrable }: ForeignKey): Note {
  const fix =
    isDeferrable === false
      ? `make it deferrable first (ALTER TABLE … ALTER CONSTRAINT ${key} DEFERRABLE)`
      : `drop ${key} first and add it again afterwards`;
  return blocks(
    'foreign_key',
    `${name} is unique and ids swap in it, so rows hold other values meanwhile, which ${key} looks for in ${otherTable} at once: ${fix}.`,
  );
}

/** The plan's note if there are not enough free values. */
export function noRoomNote({ name, type }: TableColumn): Note {
  return blocks(
    'no_room',
    `${name} (${type}) is unique and has no free values for rows to hold while their ids swap: widen the column, or rewrite into a new one (without --in-place).`,
  );
}
