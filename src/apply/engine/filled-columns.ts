import { newColumnOf } from '../../config/apply-targets.js';
import { openColumn } from '../column-work.js';
import { NamedRows } from '../context.js';
import { type Engine, findColumn, type IdMap } from './dialect.js';
import { holdsMapped, keptMaps, mapKey, mapMatch } from './id-maps.js';
import { buildCellJudge, cellText, judgeCell } from './judge-cells.js';
import type { TableRun } from './ledger.js';

/** New columns, compared with the maps of the run that filled them. */
export interface FilledColumns {
  readonly checked: number;
  /** Values that no map gives for the id beside them. */
  readonly foreign: NamedRows;
  /** Empty cells for which a map has a value. */
  readonly emptied: NamedRows;
  /** Columns that were dropped since. */
  readonly gone: readonly string[];
}

/** Compares every column that a run filled with its maps. Needs no remap. Call inside a transaction. */
export async function compareWithMaps(engine: Engine, run: TableRun): Promise<FilledColumns> {
  const facts = await engine.dialect.readFacts(run.target);
  const found = { foreign: new NamedRows(), emptied: new NamedRows() };
  const gone: string[] = [];
  let checked = 0;
  for (const map of keptMaps(engine, facts, run)) {
    if (findColumn(engine, facts, newColumnOf(map.id)) === undefined) gone.push(newColumnOf(map.id));
    else checked += await compareColumn(engine, run.table, map, found);
  }
  return { ...found, checked, gone };
}

/** Returns the number of cells that hold a value. */
async function compareColumn(
  { session, dialect }: Engine,
  table: string,
  map: IdMap,
  { foreign, emptied }: Pick<FilledColumns, 'foreign' | 'emptied'>,
): Promise<number> {
  const name = newColumnOf(map.id);
  const [cell, fresh] = [`t.${dialect.quote(map.id.column)}`, `t.${dialect.quote(name)}`];
  const from = `${dialect.tableSql(table)} AS t`;
  const given = (condition: string) =>
    `EXISTS (SELECT 1 FROM ${map.table} AS m WHERE ${mapMatch(dialect, map, 'm')} AND ${condition})`;
  const group = async (term: string, where: string, add: (value: string, rows: number) => void) => {
    const sql = `SELECT ${dialect.asText(term)}, count(*) FROM ${from} WHERE ${where} GROUP BY 1`;
    for await (const rows of session.read(sql))
      for (const [value, count] of rows) add(String(value), Number(count));
  };
  await group(
    fresh,
    `${fresh} IS NOT NULL AND NOT ${given(holdsMapped(dialect, map, name))}`,
    (value, rows) => foreign.add(`${name} ${value}`, rows),
  );
  await group(cell, `${fresh} IS NULL AND ${given('m.new IS NOT NULL')}`, (value, rows) =>
    emptied.add(`${map.id.column} ${value}: ${name} is empty`, rows),
  );
  return Number(await session.one(`SELECT count(${fresh}) FROM ${from}`));
}

/** Judges the values of a run's last write again, if the remap is the one that it used; returns those it does not give. */
export async function judgeMapsAgain(engine: Engine, run: TableRun): Promise<NamedRows> {
  const { context, session, dialect } = engine;
  const wrong = new NamedRows();
  if (run.remapSha256 !== context.remapVersion.sha256) return wrong;
  const facts = await dialect.readFacts(run.target);
  for (const map of keptMaps(engine, facts, run)) {
    const [old = '', ...scopes] = mapKey(map, dialect);
    const terms = [dialect.asCell(map.id, old), ...scopes.map(dialect.asText), dialect.asText('new')];
    const judge = buildCellJudge(openColumn(context, map.id, { ...context.policy, ...run.policy }), 'new');
    const sql = `SELECT ${terms.join(', ')} FROM ${map.table} WHERE keep = 0 AND fill = (SELECT max(fill) FROM ${map.table})`;
    for await (const rows of session.read(sql)) {
      for (const [cell = null, ...others] of rows) {
        const result = judgeCell(judge, cell, others.slice(0, -1));
        if (result !== undefined && cellText(result) === others.at(-1)) continue;
        wrong.add(`${map.id.column} ${String(cell)}: the remap gives another id`);
      }
    }
  }
  return wrong;
}
