import { blocks } from '../column-work.js';
import type { Note } from '../plan.js';
import type { Engine } from './dialect.js';
import type { TableColumn } from './table-facts.js';

/** Smallest and largest of a 64-bit integer. */
export const INT64: readonly [bigint, bigint] = [-(2n ** 63n), 2n ** 63n - 1n];

/** Values that no row of a column holds: integers `base ± n` and texts `n` with an ending, with n from 1. */
export interface FreeValues {
  /** Null: the column holds no integers. */
  readonly integers: { readonly base: bigint; readonly sign: '+' | '-' } | null;
  /** Null: the column holds no texts. */
  readonly ending: string | null;
}

export interface ToPark {
  /** The largest id that comes into the column. */
  readonly highest: bigint;
  /** How many rows may have to step aside. */
  readonly rows: bigint;
}

/**
 * Where ids swap under a unique constraint, rows hold another value for a moment: a term for values that no row of the
 * column holds, different for each `w.row_no` from 1 to `rows`, of the type of the row's own value `w.o…`; null where
 * there are none. Integers lie above those that are taken, or else below.
 */
export async function parkingTerm(
  engine: Engine,
  table: string,
  column: TableColumn,
  at: number,
  toPark: ToPark,
): Promise<string | null> {
  const { dialect } = engine;
  const from = `${dialect.tableSql(table)} AS t`;
  let integers: FreeValues['integers'] = null;
  if (column.holds === 'integer' || column.holds === 'any') {
    const range = column.range ?? INT64;
    const taken = await readIntegers(engine, `t.${dialect.quote(column.name)}`, from);
    const highest = taken.highest > toPark.highest ? taken.highest : toPark.highest;
    if (highest + toPark.rows <= range[1]) integers = { base: highest, sign: '+' };
    else if (taken.lowest - toPark.rows >= range[0]) integers = { base: taken.lowest, sign: '-' };
    else return null;
  }
  const ending = column.holds === 'integer' ? null : await findEnding(engine, column, from);
  const chars = String(toPark.rows).length + (ending ?? '').length;
  if (ending !== null && column.maxChars !== null && chars > column.maxChars) return null;
  return dialect.parkedValue(column, at, { integers, ending });
}

/** The integers of a term: at most 0 the smallest, at least 0 the largest. */
export async function readIntegers(
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

/** An ending that no text of the column has. */
async function findEnding({ session, dialect }: Engine, column: TableColumn, from: string): Promise<string> {
  const cell = `t.${dialect.quote(column.name)}`;
  for (let ending = '~svc'; ; ending = `~${ending}`) {
    const isTaken = `SELECT 1 FROM ${from} WHERE ${dialect.endsWith(column, cell, ending)} LIMIT 1`;
    if ((await session.one(isTaken)) === null) return ending;
  }
}

/** What the plan says where no value is free. */
export function noRoomNote({ name, type }: TableColumn): Note {
  return blocks(
    'no_room',
    `${name} (${type}) is unique and has no free values for rows to hold while their ids swap: widen the column, or rewrite into a new one (without --in-place).`,
  );
}
