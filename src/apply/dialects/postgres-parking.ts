import type { ToPark } from '../engine/dialect.js';
import { freeIntegers, INT64 } from '../engine/parking.js';
import type { TableColumn } from '../engine/table-facts.js';
import { quoteName } from '../sql-names.js';
import type { PgSession } from './postgres-session.js';

/**
 * A term for values that no row of a unique column holds, different for each `w.row_no` from 1 to `rows`; null where
 * there are none.
 */
export function parkingTerm(
  session: PgSession,
  table: string,
  column: TableColumn,
  toPark: ToPark,
): Promise<string | null> {
  return column.holds === 'integer'
    ? integerTerm(session, table, column, toPark)
    : textTerm(session, table, column, toPark.rows);
}

async function integerTerm(
  session: PgSession,
  table: string,
  column: TableColumn,
  toPark: ToPark,
): Promise<string | null> {
  const value = `t.${quoteName(column.name)}::numeric`;
  // NaN is above infinity.
  const isNumber = `${value} > '-Infinity' AND ${value} < 'Infinity'`;
  const { rows } = await session.query(
    `SELECT coalesce(ceil(max(${value})), 0)::text, coalesce(floor(min(${value})), 0)::text FROM ${table} AS t WHERE ${isNumber}`,
  );
  const [top, bottom] = rows[0] ?? [];
  const own = BigInt(top ?? '0');
  const highest = own > toPark.highest ? own : toPark.highest;
  const taken = { highest, lowest: BigInt(bottom ?? '0') };
  const [free] = freeIntegers(column.range ?? INT64, taken, toPark.rows);
  return free === undefined ? null : `((${free.base})::numeric ${free.sign} w.row_no)::${column.type}`;
}

async function textTerm(
  session: PgSession,
  table: string,
  column: TableColumn,
  rows: bigint,
): Promise<string | null> {
  const isJson = column.holds === 'json';
  const value = `${quoteName(column.name)}::text`;
  let ending = '~svc';
  const isTaken = async () => {
    const end = isJson ? `${ending}"` : ending;
    const sql = `SELECT 1 FROM ${table} WHERE right(${value}, length($1)) = $1 LIMIT 1`;
    return (await session.query(sql, [end])).rows.length > 0;
  };
  while (await isTaken()) ending = `~${ending}`;
  if (column.maxChars !== null && String(rows).length + ending.length > column.maxChars) return null;
  const text = `(w.row_no || '${ending}')`;
  return `${isJson ? `to_json(${text})` : text}::${column.type}`;
}
