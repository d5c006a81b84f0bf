import { newColumnOf } from '../../config/apply-targets.js';
import { MAX_NAMED_ROWS, type UndoResult } from '../context.js';
import { dropColumnSql, dropPlatformColumns, droppedColumns } from './added-columns.js';
import { compileRewrite } from './compile.js';
import { type Engine, findColumn } from './dialect.js';
import { assertNoDependent } from './earlier-runs.js';
import { writesPlatformId } from './id-columns.js';
import { markUndone, readRun, readRunsOfTable } from './ledger-runs.js';
import { type ListedRun, lockTables, moveBatch, moveRows } from './move-rows.js';
import { endUndo } from './own-tables.js';
import type { TableRun } from './table-facts.js';
import { compareWithMaps } from './verify-run.js';

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

/** The list of a run, without columns for platform_ids that somebody dropped since. */
async function openList(engine: Engine, run: TableRun): Promise<ListedRun> {
  const { dialect } = engine;
  const facts = await dialect.readFacts(run.target);
  const gone = droppedColumns(engine, facts, run);
  return { run, facts, sql: compileRewrite(dialect, run, { facts, gone }) };
}

async function undoInBatches(engine: Engine, run: TableRun): Promise<UndoResult> {
  const { context, session } = engine;
  const opened = await session.retry(() => openList(engine, run));
  await session.transaction('latest', () => beginUndo(engine, opened));
  const read = () => session.retry(() => readRun(engine, run));
  let listed = { ...opened, run: await read() };
  for (let { done } = listed.run; done > 0; { done } = listed.run) {
    await moveBatch(engine, listed, 'back', {
      from: Math.max(0, done - context.tuning.batchRows),
      to: done,
    });
    listed = { ...listed, run: await read() };
    const { total, table } = listed.run;
    context.onProgress({ kind: 'step', name: `undoing ${table}`, done: total - listed.run.done, total });
  }
  let last: UndoResult | null = null;
  return endUndo(engine, run.ledger, 'latest', async () => {
    const now = await readRun(engine, run);
    // Only the answer to COMMIT was lost.
    if (last !== null && now.state !== 'undoing') return last;
    last = await finishUndo(engine, { ...listed, run: now });
    return last;
  });
}

/** Forgets rows that were listed but not changed. */
async function beginUndo({ session }: Engine, { run, sql }: ListedRun): Promise<void> {
  const { ledger, unit } = run;
  const isOpen = "CASE WHEN state = 'working' THEN";
  const skipped = `(SELECT ${sql.countIn('skipped')} FROM ${sql.list} AS w)`;
  await session.exec(
    `UPDATE ${ledger.run} SET total = ${isOpen} done ELSE total END, skipped = ${isOpen} ${skipped} ELSE skipped END, state = 'undoing'
     WHERE unit = ${unit};
     DELETE FROM ${sql.list} WHERE id > (SELECT total FROM ${ledger.run} WHERE unit = ${unit})`,
  );
}

/** Undoes several table runs in one transaction, last one first. */
async function undoAtOnce(engine: Engine, runs: readonly TableRun[]): Promise<UndoResult[]> {
  const [first] = runs;
  if (first === undefined) return [];
  const tables = runs.map(({ table }) => table);
  const last = new Map<string, UndoResult>();
  return endUndo(engine, first.ledger, 'exclusive', async () => {
    const checkForeignKeys = await lockTables(engine, tables);
    for (const run of runs) assertNoDependent(run, await readRunsOfTable(engine, run.ledger, run.table));
    const undone: UndoResult[] = [];
    for (const { ledger, unit } of [...runs].reverse()) {
      const run = await readRun(engine, { ledger, unit });
      const before = last.get(unit);
      // Only the answer to COMMIT was lost.
      const isKnown = before !== undefined && run.state === 'undone';
      const now = isKnown ? before : await undoTable(engine, run);
      const result = before !== undefined && now.restored === 0 ? before : now;
      last.set(unit, result);
      undone.push(result);
    }
    await checkForeignKeys();
    return undone;
  });
}

async function undoTable(engine: Engine, run: TableRun): Promise<UndoResult> {
  const listed = await openList(engine, run);
  // If it is partly undone, only its columns for platform_ids are left.
  if (run.state !== 'undoing') {
    const isUnique = (name: string) => listed.facts.uniques.some(({ columns }) => columns.includes(name));
    const parked = listed.sql.columns.map(({ name }) => name).filter(isUnique);
    await moveRows(engine, listed, { direction: 'back', range: null, parked, canSkip: true });
  }
  return finishUndo(engine, listed);
}

/**
 * Rows that another program changed since stay in the list, so that they are never rewritten again. Only deleted rows
 * leave it, after they are reported once.
 */
async function finishUndo(engine: Engine, { run, sql }: ListedRun): Promise<UndoResult> {
  const { session } = engine;
  const count = async (state: 'ours' | 'changedSince') =>
    Number(await session.one(`SELECT ${sql.countIn(state)} FROM ${sql.list} AS w`));
  const restored = await count('ours');
  const left = await count('changedSince');
  const isChanged = sql.isIn('changedSince');
  const { rows } = await session.query(
    `SELECT ${sql.keyName}, CASE WHEN ${sql.isGone} THEN ' (gone)' ELSE '' END FROM ${sql.list} AS w
     WHERE ${isChanged} ORDER BY w.id LIMIT ${MAX_NAMED_ROWS}`,
  );
  if (left > 0) {
    await session.exec(sql.dropGone);
    for (const statement of sql.forget) await session.exec(statement);
  }
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
 * Drops the new columns of a run. If a column holds a value that its map does not give, another program wrote it: then
 * nothing is dropped and the rows are reported.
 */
async function undoNewColumns(engine: Engine, run: TableRun): Promise<UndoResult> {
  const { session, dialect } = engine;
  const before = await session.retry(() => dialect.readFacts(run.target));
  const names = run.target.ids.map(newColumnOf);
  const hadNone = names.every((name) => findColumn(engine, before, name) === undefined);
  return endUndo(engine, run.ledger, 'latest', async () => {
    const none = { target: run.target.name, changedSince: [], changedSinceCount: 0 };
    const now = await readRun(engine, run);
    // Only the answer to COMMIT was lost.
    if (now.state === 'undone') return { ...none, restored: run.changed };
    const { foreign, gone } = await compareWithMaps(engine, run);
    const found = { ...none, changedSince: foreign.names, changedSinceCount: foreign.count };
    if (foreign.count > 0) return { ...found, restored: 0 };
    for (const name of names) {
      if (gone.includes(name)) continue;
      await session.exec(dropColumnSql(engine, run.table, name));
    }
    await markUndone(engine, run);
    return { ...found, restored: hadNone ? 0 : run.changed };
  });
}
