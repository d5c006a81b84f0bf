import type { IdColumn } from '../../config/apply-targets.js';
import { NAMED_ROWS } from '../context.js';
import { quoteName } from '../sql-names.js';
import { type Held, type HeldPlace, heldPlaces } from '../tables/held.js';
import { keyMatch, type Unit } from './pg-ledger.js';
import type { PgSession } from './pg-session.js';

/** Looks at every row that runs rewrote in a column; rows that are gone or empty by now hold no id. */
export async function readHeld(
  session: PgSession,
  units: readonly Unit[],
  key: readonly string[],
  id: IdColumn,
  onChanged: OnChanged | null = null,
): Promise<readonly Held[]> {
  const all: Held[] = [];
  for (const place of heldPlaces(units, key, id)) all.push(await readPlace(session, place, id, onChanged));
  return all;
}

/** Told of a cell that holds something else by now, with the values of its row's key. */
type OnChanged = (value: string | null, ...key: readonly (string | null)[]) => void;

async function readPlace(
  session: PgSession,
  { unit, col, later }: HeldPlace<Unit>,
  { column }: IdColumn,
  onChanged: OnChanged | null,
): Promise<Held> {
  const entries = `${quoteName(unit.target.ledgerSchema)}.entry`;
  const cell = `t.${quoteName(column)}`;
  const match = (entry: string) =>
    keyMatch(unit.key, unit.keyTypes, (part) => `t.${quoteName(part)}`, `${entry}.row_key`);
  const wroteLater =
    later.length === 0
      ? 'false'
      : `e.row_key IN (SELECT l.row_key FROM ${entries} AS l JOIN ${unit.table} AS t ON ${match('l')}
          WHERE (l.unit, l.col) IN (${later.join(', ')}) AND ${cell}::text IS NOT DISTINCT FROM l.new)`;
  const from = `${entries} AS e JOIN ${unit.table} AS t ON ${match('e')}
    WHERE e.unit = ${unit.unit} AND e.col = ${col} AND e.id <= ${unit.done} AND (${cell} IS NOT NULL OR e.new IS NULL)`;
  const isHeld = `(${cell}::text IS NOT DISTINCT FROM e.new OR ${wroteLater})`;
  const counts = await session.query(
    `SELECT count(*) FILTER (WHERE ${isHeld}), count(*) FILTER (WHERE NOT ${isHeld}) FROM ${from}`,
  );
  const [held = null, changed = null] = counts.rows[0] ?? [];
  if (Number(changed) === 0) return { held: Number(held), changed: 0, named: [] };
  const parts = unit.key.map((_, at) => `e.row_key[${at + 1}]`).join(', ');
  const { rows } = await session.query(
    `SELECT array_to_string(e.row_key, ', '), ${cell}::text, ${parts} FROM ${from} AND NOT ${isHeld}
     ORDER BY e.id ${onChanged === null ? `LIMIT ${NAMED_ROWS}` : ''}`,
  );
  if (onChanged !== null) for (const [, value = null, ...values] of rows) onChanged(value, ...values);
  return {
    held: Number(held),
    changed: Number(changed),
    named: rows.slice(0, NAMED_ROWS).map(([name]) => `row ${name ?? ''}`),
  };
}
