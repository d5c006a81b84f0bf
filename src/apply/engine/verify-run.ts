import { newColumnOf } from '../../config/apply-targets.js';
import { type ColumnWork, openColumn } from '../column-work.js';
import { NamedRows, type RunVerification } from '../context.js';
import { droppedColumns } from './added-columns.js';
import { CELL, compileRewrite, type RewrittenColumn } from './compile.js';
import { type Engine, findColumn, type IdMap } from './dialect.js';
import { writesPlatformId } from './id-columns.js';
import { holdsMapped, keptMaps, mapKey, mapMatch } from './id-maps.js';
import { buildCellJudge, cellText, judgeCell, judgeCells } from './judge-cells.js';
import { lostSource } from './judge-table.js';
import { readRunsOfTable } from './ledger-runs.js';
import type { TableRun } from './table-facts.js';

/** Rows found wrong, and rows that other programs changed. */
interface Findings {
  checked: number;
  readonly wrong: NamedRows;
  readonly changed: NamedRows;
  cameSince: number;
}

/** Recomputes a finished run: every listed row from the remap and in the table or, in a new column, from its map. */
export async function verifyRun(engine: Engine, run: TableRun): Promise<RunVerification> {
  const { session } = engine;
  const runs = await session.retry(() => readRunsOfTable(engine, run.ledger, run.table));
  const notChecked = lostSource(run, runs);
  const found: Findings = { checked: 0, wrong: new NamedRows(), changed: new NamedRows(), cameSince: 0 };
  if (notChecked === null && run.mode === 'new') {
    await session.transaction('read', async () => {
      const { checked, foreign, emptied, maps, gone } = await compareWithMaps(engine, run);
      found.checked = checked;
      found.wrong.merge(foreign);
      found.wrong.merge(await judgeMapsAgain(engine, run, maps));
      found.changed.merge(emptied);
      found.cameSince = await countCameSince(engine, run, maps);
      for (const name of gone) found.wrong.add(`column ${name} is gone`);
    });
  } else if (notChecked === null) {
    const facts = await session.retry(() => engine.dialect.readFacts(run.target));
    const gone = droppedColumns(engine, facts, run);
    for (const name of gone) found.wrong.add(`column ${name} is gone`);
    const sql = compileRewrite(engine.dialect, run, { facts, gone });
    for (const column of sql.columns)
      await session.transaction('read', () => verifyColumn(engine, run, sql, column, found));
  }
  return {
    target: run.target.name,
    run: run.run,
    notChecked,
    checked: found.checked,
    wrong: found.wrong.names,
    wrongCount: found.wrong.count,
    changedSince: found.changed.names,
    changedSinceCount: found.changed.count,
    cameSince: found.cameSince,
    byLedgerAlone: run.mode === 'new' && !isOfRemap(engine, run),
  };
}

/** Model, region and company are read from the current row; deleted rows are only reported as gone. */
async function verifyColumn(
  engine: Engine,
  run: TableRun,
  sql: ReturnType<typeof compileRewrite>,
  column: RewrittenColumn,
  found: Findings,
): Promise<void> {
  const { context, dialect } = engine;
  const { at, id } = column;
  const old = `w.o${(sql.sourceOf(column) ?? column).at}`;
  const source = {
    work: openColumn(context, id, { ...context.policy, ...run.policy }),
    mode: 'in_place' as const,
    from: `${sql.list} AS w LEFT JOIN ${dialect.tableSql(run.table)} AS t ON ${sql.isRow} WHERE w.r${at} = ${CELL.ours}`,
    value: old,
    extra: [
      sql.keyName,
      `CASE WHEN t.${dialect.quote(run.key[0] ?? '')} IS NULL THEN 'gone' WHEN ${sql.holds(column, 'n')} THEN 'new'
        WHEN ${sql.holds(column, 'o')} THEN 'old' ELSE 'other' END`,
      dialect.exactText(`w.n${at}`),
      dialect.exactText(writesPlatformId(id) ? "''" : old),
    ],
  };
  for await (const rows of judgeCells(engine, source)) {
    for (const { result, extra } of rows) {
      const [key, holds, written, like] = extra;
      found.checked += 1;
      if (holds === 'gone') found.changed.add(`row ${key} is gone`);
      else if (exactResult(result, like) !== written)
        found.wrong.add(`row ${key}: the remap gives another id`);
      else if (holds === 'old') found.wrong.add(`row ${key}: holds its old id again`);
      else if (holds !== 'new')
        found.changed.add(`row ${key}: holds something other than what the run wrote`);
    }
  }
}

/** A result in the form of `exactText`, with the type of the cell `like`, which is in that form; undefined if the cell stays. */
function exactResult(result: string | null | undefined, like: string | null | undefined) {
  if (result === null || result === undefined) return result;
  return `${like?.startsWith('i') ? 'i' : 't'}${result}`;
}

/** New columns, compared with the maps of the run that filled them. */
interface ComparedColumns {
  readonly checked: number;
  /** Values that no map gives for the id beside them. */
  readonly foreign: NamedRows;
  /** Empty cells for which a map has a value. */
  readonly emptied: NamedRows;
  /** Columns that were dropped since, and the maps of the others. */
  readonly gone: readonly string[];
  readonly maps: readonly IdMap[];
}

/** Compares every column that a run filled with its maps. Needs no remap. Call inside a transaction. */
export async function compareWithMaps(engine: Engine, run: TableRun): Promise<ComparedColumns> {
  const facts = await engine.dialect.readFacts(run.target);
  const found = { foreign: new NamedRows(), emptied: new NamedRows() };
  const isThere = ({ id }: IdMap) => findColumn(engine, facts, newColumnOf(id)) !== undefined;
  const all = keptMaps(engine, facts, run);
  const maps = all.filter(isThere);
  const gone = all.filter((map) => !isThere(map)).map(({ id }) => newColumnOf(id));
  let checked = 0;
  for (const map of maps) checked += await compareColumn(engine, run.table, map, found);
  return { ...found, checked, maps, gone };
}

/** A condition: a map has a row for the value beside, which meets another condition on `m`. */
function inMap(dialect: Engine['dialect'], map: IdMap, condition: string): string {
  return `EXISTS (SELECT 1 FROM ${map.table} AS m WHERE ${mapMatch(dialect, map, 'm')} AND ${condition})`;
}

/** A condition: the new column of row `t` holds a value that its map does not give. */
export function isForeign(dialect: Engine['dialect'], map: IdMap): string {
  const name = newColumnOf(map.id);
  return `t.${dialect.quote(name)} IS NOT NULL AND NOT ${inMap(dialect, map, holdsMapped(dialect, map, name))}`;
}

/** Returns the number of cells that hold a value. */
async function compareColumn(
  { session, dialect }: Engine,
  table: string,
  map: IdMap,
  { foreign, emptied }: Pick<ComparedColumns, 'foreign' | 'emptied'>,
): Promise<number> {
  const name = newColumnOf(map.id);
  const [cell, fresh] = [`t.${dialect.quote(map.id.column)}`, `t.${dialect.quote(name)}`];
  const from = `${dialect.tableSql(table)} AS t`;
  const group = async (found: NamedRows, where: string) => {
    const sql = `SELECT ${dialect.asText(cell)}, ${dialect.asText(fresh)}, count(*) FROM ${from} WHERE ${where} GROUP BY 1, 2`;
    for await (const rows of session.read(sql)) {
      for (const [id, value, count] of rows) {
        const holds = value === null ? 'is empty' : `holds ${value}`;
        found.add(`${map.id.column} ${id ?? 'NULL'}: ${name} ${holds}`, Number(count));
      }
    }
  };
  await group(foreign, isForeign(dialect, map));
  await group(emptied, `${fresh} IS NULL AND ${inMap(dialect, map, 'm.new IS NOT NULL')}`);
  return Number(await session.one(`SELECT count(${fresh}) FROM ${from}`));
}

/** Whether the last write of a run used the remap that is there now. */
function isOfRemap({ context }: Engine, run: TableRun): boolean {
  return run.remapSha256 === context.remapVersion.sha256;
}

/** Judges the values of a run's last write again, if the remap is the one that it used; returns those it does not give. */
async function judgeMapsAgain(engine: Engine, run: TableRun, maps: readonly IdMap[]): Promise<NamedRows> {
  const wrong = new NamedRows();
  if (!isOfRemap(engine, run)) return wrong;
  for (const map of maps)
    wrong.merge(await judgeMap(engine, run, map, `m.fill = (SELECT max(fill) FROM ${map.table})`));
  return wrong;
}

/** By the policy of the run; ids of deleted records that it kept are other ids where they are to be mapped now. */
function openMapColumn({ context }: Engine, { policy }: TableRun, map: IdMap): ColumnWork {
  const mapDeleted = policy.mapDeleted || context.policy.mapDeleted;
  return openColumn(context, map.id, { ...context.policy, ...policy, mapDeleted });
}

/** The values of a map for which the remap gives another id, or none. */
async function judgeMap(engine: Engine, run: TableRun, map: IdMap, where: string): Promise<NamedRows> {
  const { session, dialect } = engine;
  const judge = buildCellJudge(openMapColumn(engine, run, map), 'new');
  const found = new NamedRows();
  const [old = '', ...scopes] = mapKey(map, dialect).map((name) => `m.${name}`);
  const terms = [dialect.asCell(map.id, old), ...scopes.map(dialect.asText), dialect.asText('m.new')];
  const sql = `SELECT ${terms.join(', ')} FROM ${map.table} AS m WHERE m.keep = 0 AND ${where}`;
  for await (const rows of session.read(sql)) {
    for (const [cell = null, ...others] of rows) {
      const result = judgeCell(judge, cell, others.slice(0, -1));
      if (result === undefined || cellText(result) !== others.at(-1))
        found.add(`${map.id.column} ${cellText(cell)}: the remap gives another id`);
    }
  }
  return found;
}

/** Rows whose new column holds what its map gives, but the remap does not: value, what they hold, and the terms `extra`. */
export async function* readOutdated(engine: Engine, run: TableRun, map: IdMap, extra: readonly string[]) {
  const { dialect } = engine;
  if ((await judgeMap(engine, run, map, 'TRUE')).count === 0) return;
  const name = newColumnOf(map.id);
  const isGiven = inMap(dialect, map, `m.keep = 0 AND ${holdsMapped(dialect, map, name)}`);
  const judged = judgeCells(engine, {
    work: openMapColumn(engine, run, map),
    mode: 'new',
    from: `${dialect.tableSql(run.table)} AS t WHERE ${isGiven}`,
    extra: [dialect.asText(`t.${dialect.quote(name)}`), ...extra],
  });
  for await (const rows of judged) {
    for (const { group, result, extra } of rows) {
      if (result !== extra[0]) yield [cellText(group[0]), ...extra];
    }
  }
}

/** The number of empty cells of new columns whose ids no write of the run saw, and for which the remap gives an id. */
async function countCameSince(engine: Engine, run: TableRun, maps: readonly IdMap[]): Promise<number> {
  const { dialect } = engine;
  let came = 0;
  for (const map of maps) {
    const cell = (name: string) => `t.${dialect.quote(name)}`;
    const isOpen = `${cell(newColumnOf(map.id))} IS NULL AND ${cell(map.id.column)} IS NOT NULL`;
    const judged = judgeCells(engine, {
      work: openMapColumn(engine, run, map),
      mode: 'new',
      from: `${dialect.tableSql(run.table)} AS t WHERE ${isOpen} AND NOT ${inMap(dialect, map, 'm.keep = 0')}`,
      isGrouped: true,
    });
    for await (const rows of judged)
      came += rows.reduce((sum, { result, rows }) => sum + (typeof result === 'string' ? rows : 0), 0);
  }
  return came;
}
