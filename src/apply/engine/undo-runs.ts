import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { MAX_NAMED_ROWS, type UndoResult } from '../context.js';
import { undoBatches, undoColumn } from './batches.js';
import {
  applyChangeList,
  type ChangeList,
  changeListTable,
  createChangeList,
  dropChangeList,
  listedKey,
} from './change-list.js';
import { type Engine, findColumn } from './dialect.js';
import { assertNoDependent } from './earlier-runs.js';
import { compareWithMaps } from './filled-columns.js';
import { keptMapTable } from './id-maps.js';
import type { TableRun } from './ledger.js';
import { readRunsOfTable, setState } from './ledger-runs.js';
import { keyMatch } from './ledger-tables.js';
import { dropColumnSql, dropPlatformColumns, droppedColumns } from './platform-columns.js';
import { writesPlatformId, writtenColumn } from './platform-ids.js';
import type { TableFacts } from './table-facts.js';

/** Undoes the tables of a run, last one first. Tables written in one transaction are undone in one, at the end. */
export async function undoRuns(engine: Engine, runs: readonly TableRun[]): Promise<UndoResult[]> {
  const isAtOnce = (run: TableRun) => run.mode === 'in_place' && run.isAtomic;
  const undone: UndoResult[] = [];
  for (const run of runs.filter((one) => !isAtOnce(one)).reverse()) {
    undone.push(await (run.mode === 'new' ? undoNewColumns(engine, run) : undoInBatches(engine, run)));
  }
  const all = [...undone, ...(await undoAtOnce(engine, runs.filter(isAtOnce)))];
  for (const run of runs.filter(({ mode }) => mode === 'in_place')) {
    const kept = await dropPlatformColumns(engine, run);
    const at = all.findIndex(({ target }) => target === run.target.name);
    const one = all[at];
    if (one === undefined || kept.count === 0) continue;
    const changedSince = [...one.changedSince, ...kept.names];
    all[at] = { ...one, changedSince, changedSinceCount: one.changedSinceCount + kept.count };
  }
  return all;
}

/** Undoes the batches of a run in their order; each entry is deleted together with its change. */
async function undoInBatches(engine: Engine, run: TableRun): Promise<UndoResult> {
  const { context, session, dialect } = engine;
  await session.transaction('latest', () => setState(engine, run, 'undoing'));
  const total = await session.retry(() => countEntries(engine, run));
  const facts = await session.retry(() => dialect.readFacts(run.target));
  const { triggers } = facts;
  const columns = restorableColumns(engine, facts, run);
  for (const batch of undoBatches(run, context.tuning.batchRows)) {
    // Safe to repeat: an entry exists only as long as its change does.
    await session.transaction('latest', async () => {
      await dialect.beforeUpdate(triggers, run.keyTypes, true);
      for (const [col, id] of columns) await undoColumn(engine, { run, batch, col, id, triggers });
    });
    const done = batch.until - run.first;
    context.onProgress({ kind: 'step', name: `undoing ${run.table}`, done, total: run.done - run.first });
  }
  return session.transaction('latest', () => finishUndo(engine, run, total));
}

/** Undoes several table runs in one transaction, last one first. */
async function undoAtOnce(engine: Engine, runs: readonly TableRun[]): Promise<UndoResult[]> {
  const { session, dialect } = engine;
  const [first] = runs;
  if (first === undefined) return [];
  const totals = new Map<string, number>();
  for (const run of runs) totals.set(run.unit, await session.retry(() => countEntries(engine, run)));
  const tables = runs.map(({ table }) => table);
  return session.transaction('exclusive', async () => {
    await dialect.lockLedger(first.ledger);
    await dialect.lockTables(tables);
    for (const run of runs) assertNoDependent(run, await readRunsOfTable(engine, run.ledger, run.table));
    const undone: UndoResult[] = [];
    for (const run of [...runs].reverse()) {
      await undoTable(engine, run);
      undone.push(await finishUndo(engine, run, totals.get(run.unit) ?? 0));
    }
    await dialect.checkForeignKeys(tables);
    return undone;
  });
}

async function undoTable(engine: Engine, run: TableRun): Promise<void> {
  const { session, dialect } = engine;
  const facts = await dialect.readFacts(run.target);
  const restored = restorableColumns(engine, facts, run);
  const columns = restored.map(([, id]) => writtenColumn(id));
  const isUnique = (column: string) => facts.uniques.some((unique) => unique.columns.includes(column));
  const parked = columns.filter(isUnique).flatMap((name) => findColumn(engine, facts, name) ?? []);
  const types = restored.map(([col]) => run.types[col] ?? '');
  const changes: ChangeList = { table: facts.table, key: run.key, columns, types, parked };
  await createChangeList(engine, changes, restoredRowsQuery(engine, run, restored, facts.table));
  await applyChangeList(engine, changes, facts.triggers);
  for (const [at, [col]] of restored.entries()) {
    const isRestored = `e.row_key IN (SELECT ${listedKey(engine, changes, 'before')} FROM ${changeListTable(engine)} AS w WHERE w.r${at})`;
    const where = `e.unit = ${run.unit} AND e.col = ${col} AND ${isRestored}`;
    await session.exec(dialect.deleteEntries(run.ledger.entry, where));
  }
  await dropChangeList(engine);
}

/** The columns of a run by their numbers, without those for platform_ids that somebody dropped since. */
function restorableColumns(engine: Engine, facts: TableFacts, run: TableRun): [col: number, IdColumn][] {
  const gone = droppedColumns(engine, facts, run);
  return [...run.target.ids.entries()].filter(([, id]) => !gone.includes(writtenColumn(id)));
}

/** A query of every row with a cell that holds what the run wrote. */
function restoredRowsQuery(
  { dialect }: Engine,
  run: TableRun,
  restored: readonly (readonly [col: number, IdColumn])[],
  table: string,
): string {
  const cell = (column: string) => `t.${dialect.quote(column)}`;
  const columns = restored.map(([col, id]) => ({ col, column: writtenColumn(id), id }));
  const rowKey = dialect.keySql(run.key.map(cell));
  const joins = columns.map(
    ({ col, column }, at) => `LEFT JOIN (SELECT row_key, old, new FROM ${run.ledger.entry}
        WHERE unit = ${run.unit} AND col = ${col}) AS e${at}
      ON e${at}.row_key = ${rowKey} AND ${dialect.isSame(cell(column), `e${at}.new`)}`,
  );
  const isOurs = columns.map((_, at) => `e${at}.row_key IS NOT NULL`);
  const terms = [
    ...run.key.map((column, at) => `${cell(column)} AS k${at}`),
    ...columns.map(({ column }, at) => `${dialect.asEntry(cell(column))} AS o${at}`),
    ...columns.map(
      ({ column, id }, at) =>
        `CASE WHEN ${isOurs[at]} THEN ${writesPlatformId(id) ? 'NULL' : `e${at}.old`} ELSE ${dialect.asEntry(cell(column))} END AS c${at}`,
    ),
    ...isOurs.map((term, at) => `${term} AS r${at}`),
  ];
  return `SELECT ${terms.join(', ')} FROM ${dialect.tableSql(table)} AS t ${joins.join(' ')} WHERE ${isOurs.join(' OR ')}`;
}

async function countEntries({ session }: Engine, { ledger, unit, done }: TableRun): Promise<number> {
  const sql = `SELECT count(*) FROM ${ledger.entry} WHERE unit = $1 AND id <= $2`;
  return Number(await session.one(sql, [unit, String(done)]));
}

/**
 * The entries left are those of rows changed since. They stay, so that these rows are never rewritten again. Only entries
 * of deleted rows are removed, after they are reported once.
 */
async function finishUndo(engine: Engine, run: TableRun, total: number): Promise<UndoResult> {
  const { session, dialect } = engine;
  const { entry } = run.ledger;
  await session.exec(`DELETE FROM ${entry} WHERE unit = ${run.unit} AND id > ${run.done}`);
  const there = restorableColumns(engine, await dialect.readFacts(run.target), run);
  await session.exec(
    `DELETE FROM ${entry} WHERE unit = ${run.unit} AND col NOT IN (${there.map(([col]) => col).join(', ')})`,
  );
  const left = await countEntries(engine, run);
  const isGone = `NOT EXISTS (SELECT 1 FROM ${dialect.tableSql(run.table)} AS t WHERE ${keyMatch(dialect, run, 'e.row_key')})`;
  const { rows } = await session.query(
    `SELECT ${dialect.keyName('e.row_key')}, CASE WHEN ${isGone} THEN ' (gone)' ELSE '' END
     FROM ${entry} AS e WHERE e.unit = $1 ORDER BY e.id LIMIT ${MAX_NAMED_ROWS}`,
    [run.unit],
  );
  await session.exec(dialect.deleteEntries(entry, `e.unit = ${run.unit} AND ${isGone}`));
  const undone = run.target.ids.some(writesPlatformId) ? 'undoing' : 'undone';
  await setState(engine, run, (await countEntries(engine, run)) === 0 ? undone : 'done');
  const changedSince = rows.map(([key, gone]) => `row ${key ?? ''}${gone ?? ''}`);
  return { target: run.target.name, restored: total - left, changedSince, changedSinceCount: left };
}

/**
 * Drops the new columns of a run and their maps. If a column holds a value that its map does not give, another program
 * wrote it: then nothing is dropped and the rows are reported.
 */
async function undoNewColumns(engine: Engine, run: TableRun): Promise<UndoResult> {
  const { session, dialect } = engine;
  const before = await session.retry(() => dialect.readFacts(run.target));
  const names = run.target.ids.map(newColumnOf);
  const hadNone = names.every((name) => findColumn(engine, before, name) === undefined);
  return session.transaction('latest', async () => {
    const { foreign, gone } = await compareWithMaps(engine, run);
    const found = { target: run.target.name, changedSince: foreign.names, changedSinceCount: foreign.count };
    if (foreign.count > 0) return { ...found, restored: 0 };
    for (const name of names) {
      if (gone.includes(name)) continue;
      await session.exec(dropColumnSql(engine, run.table, name));
    }
    await setState(engine, run, 'undone');
    for (const at of names.keys())
      await session.exec(`DROP TABLE IF EXISTS ${keptMapTable(engine, run, at)}`);
    return { ...found, restored: hadNone ? 0 : run.changed };
  });
}
