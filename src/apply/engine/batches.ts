import type { IdColumn } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { WriteResult } from '../context.js';
import { changesQuery, notWritten } from './change-list.js';
import { assertAgreed, openTableColumn } from './column-plans.js';
import type { Engine } from './dialect.js';
import { needsLookUp } from './earlier-runs.js';
import type { TableWrite } from './found-table.js';
import type { TableRun } from './ledger.js';
import { describeWritten, findRecordedRun, finishRun, insertRun, lastEntry, readRun } from './ledger-runs.js';
import { keyMatch } from './ledger-tables.js';
import { addColumns } from './platform-columns.js';
import { writesPlatformId, writtenColumn } from './platform-ids.js';

/**
 * Rewrites a table in place, in batches: records all changes in the ledger in one transaction, then carries them
 * out, each batch together with its progress in one transaction. A stopped run continues where it stopped.
 *
 * @throws SvcError `bad_input` before anything is written, `apply_stopped`, `locked`, `interrupted`
 */
export async function writeInBatches(engine: Engine, write: TableWrite): Promise<WriteResult> {
  const { found } = write;
  const { context, session, dialect } = engine;
  const { batchRows } = context.tuning;
  const unfinished = found.runs.find(({ state }) => state === 'working');
  const unit = unfinished?.unit ?? (await recordChanges(engine, write));
  // An interruption may have left the run recorded but its columns missing.
  if (dialect.ddlCommits) await session.retry(() => addColumns(engine, found, true));
  const read = () => session.retry(() => readRun(engine, found.ledger, unit));
  let now = await read();
  for (let batch = nextBatch(now, batchRows); batch !== null; batch = nextBatch(now, batchRows)) {
    await applyBatch(engine, now, batch, found.facts.triggers);
    now = await read();
    const done = now.done - now.first;
    context.onProgress({ kind: 'step', name: `rewriting ${now.table}`, done, total: now.last - now.first });
  }
  await session.transaction('latest', () => finishRun(engine, now));
  return session.retry(() => describeWritten(engine, found.ledger, unit));
}

/**
 * Records the run and all its changes, and checks that the data are as agreed. Returns the `unit` of the run, also if it
 * was already recorded.
 */
function recordChanges(engine: Engine, { found, plan, run }: TableWrite): Promise<string> {
  const { context, session, dialect } = engine;
  const { target, facts, handling, ledger, runs } = found;
  const { key } = handling;
  return session.transaction('snapshot', async () => {
    await dialect.lockLedger(ledger);
    const before = await findRecordedRun(engine, found, run);
    if (before !== null) return before;
    const unit = await insertRun(engine, run, found);
    for (const [col, id] of target.ids.entries()) {
      if (!needsLookUp(context, found, id)) continue;
      const work = openTableColumn(engine, id, facts);
      const columns = [{ id, work }];
      const query = await changesQuery(engine, { facts, key, columns, ledger, runs });
      const rowKey = dialect.keySql(key.map((_, at) => `q.k${at}`));
      await session.exec(
        `INSERT INTO ${ledger.entry}(id, unit, col, row_key, old, new)
         SELECT ${dialect.nextEntry(ledger)}, ${unit}, ${col}, ${rowKey}, q.o0, q.c0 FROM (${query}) AS q`,
      );
      assertAgreed(context, { plan, run }, work, found);
    }
    await session.query(
      `UPDATE ${ledger.run} SET last_entry = CASE WHEN first_entry > $1 THEN first_entry ELSE $1 END WHERE unit = $2`,
      [await lastEntry(engine, ledger), unit],
    );
    if (!dialect.ddlCommits) await addColumns(engine, found, false);
    return unit;
  });
}

/** Carries out a batch. Safe to repeat: the progress in the ledger shows whether it was carried out already. */
async function applyBatch(
  engine: Engine,
  run: TableRun,
  batch: Batch,
  triggers: readonly string[],
): Promise<void> {
  const { session, dialect } = engine;
  const isApplied = await session.transaction('latest', async () => {
    const moved = await session.query(
      `UPDATE ${run.ledger.run} SET done_entry = $1 WHERE unit = $2 AND done_entry = $3 AND state = 'working'`,
      [String(batch.until), run.unit, String(batch.from)],
    );
    if (moved.count !== 1) return false;
    await dialect.beforeUpdate(triggers, run.keyTypes, true);
    const columns = run.target.ids.map((id, col) => ({ run, batch, col, id, triggers }));
    for (const column of columns) await applyColumn(engine, column);
    for (const column of triggers.length > 0 ? columns : []) {
      if (await isReverted(engine, column)) throw notWritten(run.table, triggers);
    }
    return true;
  });
  if (isApplied) return;
  const now = await session.retry(() => readRun(engine, run.ledger, run.unit));
  if (now.done >= batch.until && now.state === 'working') return;
  throw new SvcError('locked', `Run ${run.run} is being continued or undone by another process.`, {
    hint: 'Wait until it has finished.',
  });
}

/** Ledger entries handled in one transaction: ids above `from`, up to and including `until`. */
interface Batch {
  readonly from: number;
  readonly until: number;
}

/** The next batch of a run; null if none is left. */
export function nextBatch(
  { done, last }: { readonly done: number; readonly last: number },
  batchRows: number,
): Batch | null {
  return done < last ? { from: done, until: Math.min(done + batchRows, last) } : null;
}

/** The batches to undo: every entry that was carried out, in the same order. */
export function undoBatches(
  { first, done }: { readonly first: number; readonly done: number },
  batchRows: number,
): Batch[] {
  const count = Math.ceil((done - first) / batchRows);
  return Array.from({ length: count }, (_, at) => {
    const from = first + at * batchRows;
    return { from, until: Math.min(from + batchRows, done) };
  });
}

/** One column of a batch. */
interface BatchColumn {
  readonly run: TableRun;
  readonly batch: Batch;
  readonly col: number;
  readonly id: IdColumn;
  readonly triggers: readonly string[];
}

/** SQL fragments that the statements on one column of a batch share. */
function describeColumn({ dialect }: Engine, { run, batch, col, id }: BatchColumn) {
  const column = writtenColumn(id);
  /** The cell before and after, as SQL. A cell for a platform_id was NULL: its entry's `old` is the id it belongs to. */
  const cells = { old: writesPlatformId(id) ? 'NULL' : 'e.old', new: 'e.new' };
  const table = `${dialect.tableSql(run.table)} AS t`;
  const isRow = keyMatch(dialect, run, 'e.row_key');
  const holds = (which: 'old' | 'new') => dialect.isSame(`t.${dialect.quote(column)}`, cells[which]);
  return {
    column,
    cells,
    table,
    isRow,
    holds,
    entries: `${run.ledger.entry} AS e`,
    /** A condition: entry `e` belongs to this column of the batch. */
    isInBatch: `e.id > ${batch.from} AND e.id <= ${batch.until} AND e.unit = ${run.unit} AND e.col = ${col}`,
    rowHolds: (which: 'old' | 'new') => `EXISTS (SELECT 1 FROM ${table} WHERE ${isRow} AND ${holds(which)})`,
  };
}

/** Changes the rows of a batch from the value `guard` to the other one; returns how many held `guard` and changed. */
async function changeRows(
  { session, dialect }: Engine,
  { run, col }: BatchColumn,
  { column, cells, entries, isInBatch, isRow, holds }: ReturnType<typeof describeColumn>,
  guard: 'old' | 'new',
): Promise<number> {
  const value = cells[guard === 'old' ? 'new' : 'old'];
  const sql = dialect.updateFrom({
    table: run.table,
    set: [[column, dialect.fromEntry(value, run.types[col] ?? '')]],
    from: entries,
    where: `${isInBatch} AND ${isRow} AND ${holds(guard)}`,
  });
  return (await session.query(sql)).count;
}

/** Locks the rows of a batch, so that several statements see the same values. */
async function lockRows(
  { session, dialect }: Engine,
  { table, entries, isInBatch, isRow }: ReturnType<typeof describeColumn>,
): Promise<void> {
  if (dialect.lockRows === null) return;
  await session.one(
    `SELECT count(*) FROM (SELECT 1 AS one FROM ${entries} JOIN ${table} ON ${isRow} WHERE ${isInBatch} ${dialect.lockRows}) AS q`,
  );
}

/**
 * Changes every row of a batch. A row whose value changed since it was recorded is skipped: it is not touched, and its
 * entry moves to the ledger's `skipped`. Returns the number of skipped rows.
 *
 * @throws SvcError as `notWritten`
 */
async function applyColumn(engine: Engine, batch: BatchColumn): Promise<number> {
  const { session, dialect } = engine;
  const { entry, skipped } = batch.run.ledger;
  const sql = describeColumn(engine, batch);
  const changesAll = async () => {
    const total = await session.one(`SELECT count(*) FROM ${sql.entries} WHERE ${sql.isInBatch}`);
    return (await changeRows(engine, batch, sql, 'old')) === Number(total);
  };
  await session.exec('SAVEPOINT svc_migrate_batch');
  if (await changesAll()) return 0;
  await session.exec('ROLLBACK TO SAVEPOINT svc_migrate_batch');
  await lockRows(engine, sql);
  const isOther = `${sql.isInBatch} AND NOT ${sql.rowHolds('old')}`;
  await session.exec(
    `INSERT INTO ${skipped} SELECT e.unit, e.col, e.row_key, e.old, e.new FROM ${sql.entries} WHERE ${isOther}`,
  );
  const { count } = await session.query(dialect.deleteEntries(entry, isOther));
  if (await changesAll()) return count;
  throw notWritten(batch.run.table, batch.triggers);
}

/**
 * Restores the rows of a batch and deletes their entries. Rows whose value changed since are not touched and keep
 * their entries.
 *
 * @throws SvcError as `notWritten`
 */
export async function undoColumn(engine: Engine, batch: BatchColumn): Promise<void> {
  const { session, dialect } = engine;
  const sql = describeColumn(engine, batch);
  const back = dialect.temporary('svc_migrate_back');
  await lockRows(engine, sql);
  await session.exec(
    `${dialect.dropTemporary(back)};
     CREATE TEMPORARY TABLE svc_migrate_back(id ${dialect.ledgerTypes.number} PRIMARY KEY);
     INSERT INTO ${back} SELECT e.id FROM ${sql.entries} WHERE ${sql.isInBatch} AND ${sql.rowHolds('new')}`,
  );
  await changeRows(engine, batch, sql, 'new');
  const reverted = `SELECT 1 FROM ${sql.entries} JOIN ${back} AS b ON b.id = e.id WHERE ${sql.isInBatch} AND NOT ${sql.rowHolds('old')} LIMIT 1`;
  if ((await session.one(reverted)) !== null) throw notWritten(batch.run.table, batch.triggers);
  await session.exec(
    `${dialect.deleteEntries(batch.run.ledger.entry, `${sql.isInBatch} AND e.id IN (SELECT id FROM ${back})`)};
     ${dialect.dropTemporary(back)}`,
  );
}

/** Whether a row of the batch lacks its new value, because a trigger restored the old one. */
async function isReverted(engine: Engine, batch: BatchColumn): Promise<boolean> {
  const { entries, isInBatch, rowHolds } = describeColumn(engine, batch);
  const sql = `SELECT 1 FROM ${entries} WHERE ${isInBatch} AND NOT ${rowHolds('new')} LIMIT 1`;
  return (await engine.session.one(sql)) !== null;
}
