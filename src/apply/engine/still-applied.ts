import type { IdColumn } from '../../config/apply-targets.js';
import { NAMED_ROWS } from '../context.js';
import type { Engine } from './dialect.js';
import { enteredCells, keyMatch, type TableRun } from './ledger.js';
import { type StillApplied, type WrittenPlace, writtenPlaces } from './written-places.js';

/** Told of a cell that holds something else by now, with the values of its row's key. */
type OnChanged = (value: string, key: readonly (string | null)[]) => void;

/** Looks at every row that runs rewrote in a column; rows that are gone or empty by now hold no id. */
export async function readStillApplied(
  engine: Engine,
  runs: readonly TableRun[],
  key: readonly string[],
  id: IdColumn,
  onChanged: OnChanged | null = null,
): Promise<StillApplied[]> {
  const all: StillApplied[] = [];
  for (const place of writtenPlaces(runs, key, id)) all.push(await readPlace(engine, place, id, onChanged));
  return all;
}

async function readPlace(
  { session, dialect }: Engine,
  place: WrittenPlace<TableRun>,
  { column }: IdColumn,
  onChanged: OnChanged | null,
): Promise<StillApplied> {
  const { unit: run, col, later } = place;
  const cell = `t.${dialect.quote(column)}`;
  const wroteLater =
    later.length === 0
      ? 'FALSE'
      : `e.row_key IN (SELECT l.row_key FROM ${run.ledger.entry} AS l
          JOIN ${dialect.tableSql(run.table)} AS t ON ${keyMatch(dialect, run, 'l.row_key')}
          WHERE (l.unit, l.col) IN ${dialect.inPairs(later)} AND ${dialect.isSame(cell, 'l.new')})`;
  const from = `${enteredCells(dialect, run, col)} AND (${cell} IS NOT NULL OR e.new IS NULL)`;
  const isApplied = `(${dialect.isSame(cell, 'e.new')} OR ${wroteLater})`;
  const { rows: counts } = await session.query(
    `SELECT count(CASE WHEN ${isApplied} THEN 1 END), count(*) FROM ${from}`,
  );
  const [applied = null, total = null] = counts[0] ?? [];
  const changed = Number(total) - Number(applied);
  if (changed === 0) return { applied: Number(applied), changed, named: [] };
  const parts = run.key.map((_, at) => dialect.asText(dialect.keyPart(run, 'e.row_key', at)));
  const terms = [dialect.keyName('e.row_key'), dialect.asText(cell), ...parts];
  const { rows } = await session.query(
    `SELECT ${terms.join(', ')} FROM ${from} AND NOT ${isApplied}
     ORDER BY e.id ${onChanged === null ? `LIMIT ${NAMED_ROWS}` : ''}`,
  );
  if (onChanged !== null) for (const [, value, ...values] of rows) onChanged(value ?? '', values);
  const named = rows.slice(0, NAMED_ROWS).map(([name]) => `row ${name ?? ''}`);
  return { applied: Number(applied), changed, named };
}
