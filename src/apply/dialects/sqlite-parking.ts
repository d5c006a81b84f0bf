import type { ToPark } from '../engine/dialect.js';
import { freeIntegers, INT64 } from '../engine/parking.js';
import { quoteName } from '../sql-names.js';
import type { UserDb } from './sqlite-session.js';

/**
 * A term for values that no row of a unique column holds, different for each `w.row_no` from 1 to `rows`, of the
 * type that the row's own value `w.o…` has; null where there are none.
 */
export function parkingTerm(
  db: UserDb,
  table: string,
  column: string,
  at: number,
  toPark: ToPark,
): string | null {
  const name = quoteName(column);
  const integers = `FROM ${quoteName(table)} WHERE typeof(${name}) = 'integer'`;
  const edge = (aggregate: 'min' | 'max') =>
    db.prepare<[], bigint | null>(`SELECT ${aggregate}(${name}) ${integers}`).safeIntegers().pluck().get() ??
    null;
  const [lowest, own] = [edge('min'), edge('max')];
  const highest = own !== null && own > toPark.highest ? own : toPark.highest;
  const [free] = freeIntegers(INT64, { highest, lowest: lowest ?? 0n }, toPark.rows);
  // A column without integers needs none.
  if (free === undefined && own !== null) return null;
  const { base, sign } = free ?? { base: 0n, sign: '-' };
  return `iif(typeof(w.o${at}) = 'text', w.row_no || '${freeEnding(db, table, name)}', ${integerSql(base)} ${sign} w.row_no)`;
}

/** SQLite reads the smallest integer as a real where it is written in decimal. */
export function integerSql(value: bigint): string {
  return value === INT64[0] ? '(-9223372036854775807 - 1)' : `(${value})`;
}

/** An ending that no text of the column has. */
function freeEnding(db: UserDb, table: string, name: string): string {
  let ending = '~svc';
  const taken = db.prepare(
    `SELECT 1 FROM ${quoteName(table)} WHERE typeof(${name}) = 'text' AND substr(${name}, -length(?)) = ? LIMIT 1`,
  );
  while (taken.get(ending, ending) !== undefined) ending = `~${ending}`;
  return ending;
}
