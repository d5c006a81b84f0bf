import { blocks, type Note } from '../plan.js';
import type { Engine, FreeValues, RowTerms } from './dialect.js';
import type { TableColumn } from './table-facts.js';

/** Smallest and largest 64-bit integer. */
export const INT64: readonly [bigint, bigint] = [-(2n ** 63n), 2n ** 63n - 1n];

export interface ParkingNeeds {
  /** The largest new id. */
  readonly highest: bigint;
  /** Maximum number of rows that need a temporary value. */
  readonly rows: bigint;
}

/**
 * SQL for the temporary values that rows hold while their ids swap under a unique constraint. No row of the column
 * holds them; they differ for each number of a row from 1 to `rows` and have the type of its own value.
 * Integers lie above those in use, or else below. Null if there are not enough free values.
 */
export async function parkingTerm(
  engine: Engine,
  table: string,
  column: TableColumn,
  row: RowTerms,
  needs: ParkingNeeds,
): Promise<string | null> {
  const { dialect } = engine;
  const from = `${dialect.tableSql(table)} AS t`;
  let integers: FreeValues['integers'] = null;
  if (column.holds === 'integer' || column.holds === 'any') {
    const range = column.range ?? INT64;
    const taken = await readIntegers(engine, `t.${dialect.quote(column.name)}`, from);
    const highest = taken.highest > needs.highest ? taken.highest : needs.highest;
    if (highest + needs.rows <= range[1]) integers = { base: highest, sign: '+' };
    else if (taken.lowest - needs.rows >= range[0]) integers = { base: taken.lowest, sign: '-' };
    else return null;
  }
  const suffix = column.holds === 'integer' ? null : await findSuffix(engine, column, from);
  const chars = String(needs.rows).length + (suffix ?? '').length;
  if (suffix !== null && column.maxChars !== null && chars > column.maxChars) return null;
  return dialect.parkedValue(column, row, { integers, suffix });
}

/** Smallest and largest integer of a term; `lowest` is at most 0, `highest` at least 0. */
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

/** Finds a suffix that no string of the column has. */
async function findSuffix({ session, dialect }: Engine, column: TableColumn, from: string): Promise<string> {
  const cell = `t.${dialect.quote(column.name)}`;
  for (let suffix = '~svc'; ; suffix = `~${suffix}`) {
    const isTaken = `SELECT 1 FROM ${from} WHERE ${dialect.endsWith(column, cell, suffix)} LIMIT 1`;
    if ((await session.one(isTaken)) === null) return suffix;
  }
}

/** The plan's note if there are not enough free values. */
export function noRoomNote({ name, type }: TableColumn): Note {
  return blocks(
    'no_room',
    `${name} (${type}) is unique and has no free values for rows to hold while their ids swap: widen the column, or rewrite into a new one (without --in-place).`,
  );
}
