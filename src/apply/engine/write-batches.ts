import { columnLabel, type IdColumn } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { openColumn } from '../column-work.js';
import type { RunFacts, Written } from '../context.js';
import type { TargetPlan } from '../plan.js';
import { assertRecount } from './assert-agreed.js';
import { type Batch, nextBatch } from './batches.js';
import { watchFinals } from './column-plans.js';
import type { Engine } from './dialect.js';
import { isOpen } from './earlier-runs.js';
import type { FoundTable } from './found-table.js';
import { enteredRows, insertRun, keyMatch, readRun, type TableRun } from './ledger.js';
import { notWritten } from './not-written.js';
import { describeWritten, findEntered, finishRun, newRunOf } from './table-run.js';

/**
 * Rewrites a table in place, in batches: enters all changes in the ledger in one transaction, then carries them
 * out, each batch with its progress in one transaction. A run that was stopped goes on where it was.
 *
 * @throws SvcError `bad_input` before anything is written, `apply_stopped`, `locked`, `interrupted`
 */
export async function writeInBatches(
  engine: Engine,
  found: FoundTable,
  agreed: TargetPlan,
  run: RunFacts,
): Promise<Written> {
  const { context, session } = engine;
  const { batchRows } = context.tuning;
  const open = found.units.find(({ state }) => state === 'working');
  const unit = open?.unit ?? (await begin(engine, found, agreed, run));
  const read = () => session.retry(() => readRun(engine, found.ledger, unit));
  let at = await read();
  for (let batch = nextBatch(at, batchRows); batch !== null; batch = nextBatch(at, batchRows)) {
    await carryOutBatch(engine, at, batch, found.facts.triggers);
    at = await read();
    const done = at.done - at.first;
    context.onProgress({ kind: 'step', name: `rewriting ${at.table}`, done, total: at.last - at.first });
  }
  await session.transaction('latest', () => finishRun(engine, at));
  return session.retry(async () => describeWritten(engine, await readRun(engine, found.ledger, unit)));
}

/** Enters every change; checks on the way that the data are what was agreed to. Knows a run that it entered before. */
function begin(engine: Engine, found: FoundTable, agreed: TargetPlan, run: RunFacts): Promise<string> {
  const { context, session, dialect } = engine;
  const { entry, run: runs } = found.ledger;
  return session.transaction('snapshot', async () => {
    await dialect.lockLedger(found.ledger);
    const before = await findEntered(engine, found, run);
    if (before !== null) return before;
    const unit = await insertRun(engine, run, newRunOf(found));
    for (const [col, id] of found.target.ids.entries()) {
      if (isOpen(context, found, id)) await enterColumn(engine, found, agreed, run, { unit, col, id });
    }
    const last = (await session.one(`SELECT coalesce(max(id), 0) FROM ${entry}`)) ?? '0';
    await session.query(
      `UPDATE ${runs} SET last_entry = CASE WHEN first_entry > $1 THEN first_entry ELSE $1 END WHERE unit = $2`,
      [last, unit],
    );
    return unit;
  });
}

interface EnterWhat {
  readonly unit: string;
  readonly col: number;
  readonly id: IdColumn;
}

async function enterColumn(
  { context, session, dialect }: Engine,
  { facts, judgement, units, ledger }: FoundTable,
  agreed: TargetPlan,
  run: RunFacts,
  { unit, col, id }: EnterWhat,
): Promise<void> {
  const { handling } = judgement;
  const { key } = handling;
  const work = watchFinals(openColumn(context, id, context.policy), facts, 'in_place');
  const entered = enteredRows(dialect, ledger, units, columnLabel(id));
  const query = await dialect.changesQuery({ table: facts.table, key, columns: [{ id, work, entered }] });
  const rowKey = dialect.keySql(key.map((_, at) => `q.k${at}`));
  await session.exec(
    `INSERT INTO ${ledger.entry}(id, unit, col, row_key, old, new)
     SELECT ${dialect.nextEntry(ledger)}, ${unit}, ${col}, ${rowKey}, q.o0, q.c0 FROM (${query}) AS q`,
  );
  assertRecount(context, { agreed, run, work, table: { facts, handling } });
}

/** May be run again: the progress it moves tells whether it was carried out. */
async function carryOutBatch(
  engine: Engine,
  run: TableRun,
  batch: Batch,
  triggers: readonly string[],
): Promise<void> {
  const { session, dialect } = engine;
  const isOurs = await session.transaction('latest', async () => {
    const moved = await session.query(
      `UPDATE ${run.ledger.run} SET done_entry = $1 WHERE unit = $2 AND done_entry = $3 AND state = 'working'`,
      [String(batch.until), run.unit, String(batch.from)],
    );
    if (moved.count !== 1) return false;
    await dialect.beforeUpdate(triggers, run.keyTypes);
    let skipped = 0;
    for (const col of run.target.ids.keys()) skipped += await dialect.carryOut(run, batch, col, triggers);
    if (triggers.length > 0 && (await isSpoilt(engine, run, batch, skipped > 0))) {
      throw notWritten(run.table, triggers);
    }
    return true;
  });
  if (isOurs) return;
  const now = await session.retry(() => readRun(engine, run.ledger, run.unit));
  if (now.done >= batch.until && now.state === 'working') return;
  throw new SvcError('locked', `Run ${run.run} is being carried on or taken back by another process.`, {
    hint: 'Wait until it has finished.',
  });
}

/**
 * Whether triggers had their way: a row of the batch does not hold what was written to it, or was skipped and holds
 * its old id still.
 */
async function isSpoilt(
  { session, dialect }: Engine,
  run: TableRun,
  batch: Batch,
  hasSkipped: boolean,
): Promise<boolean> {
  const rows = `${dialect.tableSql(run.table)} AS t WHERE ${keyMatch(dialect, run, 'e.row_key')}`;
  for (const [col, { column }] of run.target.ids.entries()) {
    const cell = `t.${dialect.quote(column)}`;
    const isOther = `SELECT 1 FROM ${run.ledger.entry} AS e
      WHERE e.id > ${batch.from} AND e.id <= ${batch.until} AND e.unit = ${run.unit} AND e.col = ${col}
        AND NOT EXISTS (SELECT 1 FROM ${rows} AND ${dialect.isSame(cell, 'e.new')}) LIMIT 1`;
    if ((await session.one(isOther)) !== null) return true;
    const isSkipped = `SELECT 1 FROM ${run.ledger.skipped} AS e WHERE e.unit = ${run.unit} AND e.col = ${col}
      AND EXISTS (SELECT 1 FROM ${rows} AND ${dialect.isSame(cell, 'e.old')}) LIMIT 1`;
    if (hasSkipped && (await session.one(isSkipped)) !== null) return true;
  }
  return false;
}
