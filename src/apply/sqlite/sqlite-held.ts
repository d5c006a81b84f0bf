import type { IdColumn } from '../../config/apply-targets.js';
import { RowNames } from '../row-names.js';
import { quoteName } from '../sql-names.js';
import { type Held, type HeldPlace, heldPlaces } from '../tables/held.js';
import { keyMatch, type Unit } from './ledger.js';
import type { UserDb } from './user-db.js';

/** Looks at every row that runs rewrote in a column; rows that are gone or empty by now hold no id. */
export function readHeld(
  db: UserDb,
  units: readonly Unit[],
  key: readonly string[],
  id: IdColumn,
  onChanged: OnChanged = () => {},
): readonly Held[] {
  return heldPlaces(units, key, id).map((place) => readPlace(db, place, id, onChanged));
}

/** Told of a cell that holds something else by now, with its row's key as the ledger has it. */
type OnChanged = (rowKey: string, value: string) => void;

function readPlace(
  db: UserDb,
  { unit, col, later }: HeldPlace<Unit>,
  { column }: IdColumn,
  onChanged: OnChanged,
): Held {
  const table = `${quoteName(unit.table)} AS t`;
  const cell = `t.${quoteName(column)}`;
  const match = (entry: string) => keyMatch(unit.key, (name) => `t.${quoteName(name)}`, `${entry}.row_key`);
  const wroteLater =
    later.length === 0
      ? 'FALSE'
      : `e.row_key IN (SELECT l.row_key FROM svc_migrate_entry AS l JOIN ${table} ON ${match('l')}
          WHERE (l.unit, l.col) IN (VALUES ${later.join(', ')}) AND ${cell} IS l.new COLLATE BINARY)`;
  const rows = db
    .prepare<[], { row_key: string; value: string; is_held: number }>(
      `SELECT CAST(e.row_key AS TEXT) AS row_key, ifnull(CAST(${cell} AS TEXT), '') AS value, ${cell} IS e.new COLLATE BINARY OR ${wroteLater} AS is_held
       FROM svc_migrate_entry AS e JOIN ${table} ON ${match('e')}
       WHERE e.unit = ${unit.unit} AND e.col = ${col} AND e.id <= ${unit.done}
         AND (${cell} IS NOT NULL OR e.new IS NULL) ORDER BY e.id`,
    )
    .iterate();
  let held = 0;
  const changed = new RowNames();
  for (const row of rows) {
    if (row.is_held === 1) held += 1;
    else {
      changed.add(`row ${row.row_key}`);
      onChanged(row.row_key, row.value);
    }
  }
  return { held, changed: changed.count, named: changed.names };
}
