import { newColumnOf } from '../../config/apply-targets.js';
import { MAX_NAMED_ROWS, NamedRows, type UndoResult } from '../context.js';
import { countFilled, dropColumnSql, droppedColumns } from './added-columns.js';
import { compileRewrite } from './compile.js';
import { type Engine, findColumn } from './dialect.js';
import { addedColumns, writesPlatformId } from './id-columns.js';
import { assertNoDependent } from './judge-table.js';
import { endUndo, markUndone, readRun, readRunsOfTable } from './ledger-runs.js';
import { type ListedRun, lockTables, moveBatch, moveRows } from './move-rows.js';
import type { TableRun } from './table-facts.js';
import { compareWithMaps } from './verify-run.js';

/** Undoes the tables of a run, last one first. Tables written in one transaction are undone in one, at the end. */
export async function undoRuns(engine: Engine, runs: readonly TableRun[]): Promise<UndoResult[]> {
  const isAtOnce = (run: TableRun) => run.mode === 'in_place' && run.isAtomic;
  const undone: UndoResult[] = [];
  for (const run of runs.filter((one) => !isAtOnce(one)).reverse()) {
    if (run.mode === 'in_place') await moveBack(engine, run);
    undone.push(...(await finishAll(engine, [run], false)));
  }
  return [...undone, ...(await finishAll(engine, runs.filter(isAtOnce).reverse(), true))];
}

/** The list of a run, without columns for platform_ids that somebody dropped since. */
async function openList(engine: Engine, run: TableRun): Promise<ListedRun> {
  const { dialect } = engine;
  const facts = await dialect.readFacts(run.target);
  const gone = droppedColumns(engine, facts, run);
  return { run, facts, sql: compileRewrite(dialect, run, { facts, gone }) };
}

/** Moves the rows of a run back in batches. Those that were listed but not changed are forgotten first. */
async function moveBack(engine: Engine, run: TableRun): Promise<void> {
  const { context, session, dialect } = engine;
  const { ledger, unit } = run;
  const opened = await session.retry(() => openList(engine, run));
  const { list, countIn } = opened.sql;
  const isOpen = "CASE WHEN state = 'working' THEN";
  const skipped = `(SELECT ${countIn('skipped')} FROM ${list} AS w)`;
  await session.transaction('latest', async () => {
    await dialect.lockLedger(ledger);
    if ((await readRun(engine, run)).state === 'undone') return;
    await session.exec(
      `UPDATE ${ledger.run} SET total = ${isOpen} done ELSE total END, skipped = ${isOpen} ${skipped} ELSE skipped END, state = 'undoing'
       WHERE unit = ${unit};
       DELETE FROM ${list} WHERE id > (SELECT total FROM ${ledger.run} WHERE unit = ${unit})`,
    );
  });
  for (;;) {
    const now = await session.retry(() => readRun(engine, run));
    const { done, total, table } = now;
    context.onProgress({ kind: 'step', name: `undoing ${table}`, done: total - done, total });
    if (done === 0) return;
    const range = { from: Math.max(0, done - context.tuning.batchRows), to: done };
    await moveBatch(engine, { ...opened, run: now }, 'back', range);
  }
}

/** Ends the undo of table runs in one transaction, and moves rows back that are not moved in batches. */
async function finishAll(
  engine: Engine,
  runs: readonly TableRun[],
  isAtOnce: boolean,
): Promise<UndoResult[]> {
  const [first] = runs;
  if (first === undefined) return [];
  const last = new Map<string, UndoResult>();
  const finish = async (given: TableRun): Promise<UndoResult> => {
    const run = await readRun(engine, given);
    const before = last.get(run.unit);
    // Only the answer to COMMIT was lost, or another process undid it.
    if (run.state === 'undone')
      return (
        before ?? { target: run.target.name, restored: run.changed, changedSince: [], changedSinceCount: 0 }
      );
    if (before !== undefined && run.mode === 'in_place' && !isAtOnce && run.state !== 'undoing')
      return before;
    const now = await (run.mode === 'new' ? dropNewColumns(engine, run) : finishInPlace(engine, run));
    const result = before !== undefined && now.restored === 0 ? before : now;
    last.set(run.unit, result);
    return result;
  };
  return endUndo(engine, first.ledger, isAtOnce ? 'exclusive' : 'latest', async () => {
    const checkForeignKeys = isAtOnce ? await lockTables(engine, runs) : null;
    if (isAtOnce)
      for (const run of runs) assertNoDependent(run, await readRunsOfTable(engine, run.ledger, run.table));
    const undone: UndoResult[] = [];
    for (const run of runs) undone.push(await finish(run));
    await checkForeignKeys?.();
    // Where DDL commits, the rows are back by then, and the state says that these columns are left.
    for (const [at, run] of runs.entries()) {
      const kept = await dropPlatformColumns(engine, run);
      const one = undone[at];
      if (one === undefined || kept.count === 0) continue;
      const changedSince = [...one.changedSince, ...kept.names];
      undone[at] = { ...one, changedSince, changedSinceCount: one.changedSinceCount + kept.count };
    }
    return undone;
  });
}

/**
 * Rows that another program changed since stay in the list, so that they are never rewritten again. Only deleted rows
 * leave it, after they are reported once.
 */
async function finishInPlace(engine: Engine, run: TableRun): Promise<UndoResult> {
  const { session } = engine;
  const listed = await openList(engine, run);
  const { sql, facts } = listed;
  if (run.state !== 'undoing') {
    const isUnique = (name: string) => facts.uniques.some(({ columns }) => columns.includes(name));
    const parked = sql.columns.map(({ name }) => name).filter(isUnique);
    await moveRows(engine, listed, { direction: 'back', range: null, parked, canSkip: true });
  }
  const count = async (state: 'ours' | 'changedSince') =>
    Number(await session.one(`SELECT ${sql.countIn(state)} FROM ${sql.list} AS w`));
  const restored = await count('ours');
  const left = await count('changedSince');
  const { rows } = await session.query(
    `SELECT ${sql.keyName}, CASE WHEN ${sql.isGone} THEN ' (gone)' ELSE '' END FROM ${sql.list} AS w
     WHERE ${sql.isIn('changedSince')} ORDER BY w.id LIMIT ${MAX_NAMED_ROWS}`,
  );
  if (left > 0) for (const statement of [sql.dropGone, ...sql.forget]) await session.exec(statement);
  const isUndone = left === 0 || (await count('ours')) === 0;
  const state = !isUndone ? 'done' : run.target.ids.some(writesPlatformId) ? 'undoing' : 'undone';
  const done = isUndone ? '0' : 'total';
  await session.exec(
    `UPDATE ${run.ledger.run} SET state = '${state}', done = ${done} WHERE unit = ${run.unit}`,
  );
  const changedSince = rows.map(([key, gone]) => `row ${key ?? ''}${gone ?? ''}`);
  return { target: run.target.name, restored, changedSince, changedSinceCount: left };
}

/**
 * Drops the columns that an in-place run added for platform_ids, unless another run or another program filled them too.
 * Returns the columns that other programs filled, each as a sentence.
 */
async function dropPlatformColumns(engine: Engine, given: TableRun): Promise<NamedRows> {
  const { session, dialect } = engine;
  const kept = new NamedRows();
  const run = await readRun(engine, given);
  const { ledger, unit, table, target, mode } = run;
  if (run.state !== 'undoing') return kept;
  const facts = await dialect.readFacts(target);
  const others = (await readRunsOfTable(engine, ledger, table)).filter((one) => one.unit !== unit);
  for (const name of addedColumns(mode, target.ids)) {
    const isShared = others.some((one) => one.mode === 'in_place' && one.labels.includes(name));
    if (isShared || findColumn(engine, facts, name) === undefined) continue;
    const filled = await countFilled(engine, table, name);
    if (filled > 0) kept.add(`column ${name} stays: other programs filled it`, filled);
    else
      for (const sql of [...dialect.checkKeys, dropColumnSql(engine, table, name)]) await session.exec(sql);
  }
  await markUndone(engine, run);
  return kept;
}

/**
 * Drops the new columns of a run. If a column holds a value that its map does not give, another program wrote it: then
 * nothing is dropped and the rows are reported.
 */
async function dropNewColumns(engine: Engine, run: TableRun): Promise<UndoResult> {
  const { foreign, gone } = await compareWithMaps(engine, run);
  const names = run.target.ids.map(newColumnOf);
  const found = { target: run.target.name, changedSince: foreign.names, changedSinceCount: foreign.count };
  if (foreign.count > 0) return { ...found, restored: 0 };
  for (const name of names)
    if (!gone.includes(name)) await engine.session.exec(dropColumnSql(engine, run.table, name));
  await markUndone(engine, run);
  return { ...found, restored: names.every((name) => gone.includes(name)) ? 0 : run.changed };
}
