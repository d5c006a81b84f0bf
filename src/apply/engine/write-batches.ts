import { SvcError } from '../../errors.js';
import type { RunFacts, Written } from '../context.js';
import type { TargetPlan } from '../plan.js';
import { type Batch, carryOutColumn, isReverted, nextBatch, notWritten } from './batches.js';
import { assertAgreed, openTableColumn } from './column-plans.js';
import type { Engine } from './dialect.js';
import { isOpen } from './earlier-runs.js';
import { type FoundTable, newRunOf } from './found-table.js';
import { describeWritten, findEntered, finishRun, insertRun, lastEntry, readRun } from './ledger-runs.js';
import type { TableRun } from './ledger-tables.js';
import { addColumns } from './platform-columns.js';
import { changesQuery } from './work-list.js';

/**
 * Rewrites a table in place, in batches: records all changes in the ledger in one transaction, then carries them
 * out, each batch together with its progress in one transaction. A stopped run continues where it was.
 *
 * @throws SvcError `bad_input` before anything is written, `apply_stopped`, `locked`, `interrupted`
 */
export async function writeInBatches(
  engine: Engine,
  found: FoundTable,
  plan: TargetPlan,
  run: RunFacts,
): Promise<Written> {
  const { context, session, dialect } = engine;
  const { batchRows } = context.tuning;
  const open = found.runs.find(({ state }) => state === 'working');
  const unit = open?.unit ?? (await enterChanges(engine, found, plan, run));
  // An interruption may have left the run recorded but its columns missing.
  if (dialect.ddlCommits) await session.retry(() => addColumns(engine, found, true));
  const read = () => session.retry(() => readRun(engine, found.ledger, unit));
  let at = await read();
  for (let batch = nextBatch(at, batchRows); batch !== null; batch = nextBatch(at, batchRows)) {
    await carryOutBatch(engine, at, batch, found.facts.triggers);
    at = await read();
    const done = at.done - at.first;
    context.onProgress({ kind: 'step', name: `rewriting ${at.table}`, done, total: at.last - at.first });
  }
  await session.transaction('latest', () => finishRun(engine, at));
  return session.retry(() => describeWritten(engine, found.ledger, unit));
}

/** Records every change and checks that the data are as agreed; returns the `unit`. A run already recorded is reused. */
function enterChanges(engine: Engine, found: FoundTable, plan: TargetPlan, run: RunFacts): Promise<string> {
  const { context, session, dialect } = engine;
  const { target, facts, judgement, ledger, runs } = found;
  const { handling } = judgement;
  const { key } = handling;
  return session.transaction('snapshot', async () => {
    await dialect.lockLedger(ledger);
    const before = await findEntered(engine, found, run);
    if (before !== null) return before;
    const unit = await insertRun(engine, run, newRunOf(found));
    for (const [col, id] of target.ids.entries()) {
      if (!isOpen(context, found, id)) continue;
      const work = openTableColumn(engine, id, facts);
      const columns = [{ id, work }];
      const query = await changesQuery(engine, { facts, key, columns, ledger, runs });
      const rowKey = dialect.keySql(key.map((_, at) => `q.k${at}`));
      await session.exec(
        `INSERT INTO ${ledger.entry}(id, unit, col, row_key, old, new)
         SELECT ${dialect.nextEntry(ledger)}, ${unit}, ${col}, ${rowKey}, q.o0, q.c0 FROM (${query}) AS q`,
      );
      assertAgreed(context, { plan, run }, work, { facts, handling });
    }
    await session.query(
      `UPDATE ${ledger.run} SET last_entry = CASE WHEN first_entry > $1 THEN first_entry ELSE $1 END WHERE unit = $2`,
      [await lastEntry(engine, ledger), unit],
    );
    if (!dialect.ddlCommits) await addColumns(engine, found, false);
    return unit;
  });
}

/** Safe to repeat: the progress in the ledger tells whether the batch was carried out. */
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
    await dialect.beforeUpdate(triggers, run.keyTypes, true);
    const columns = run.target.ids.map((_, col) => ({ run, batch, col, triggers }));
    for (const column of columns) await carryOutColumn(engine, column);
    for (const column of triggers.length > 0 ? columns : []) {
      if (await isReverted(engine, column)) throw notWritten(run.table, triggers);
    }
    return true;
  });
  if (isOurs) return;
  const now = await session.retry(() => readRun(engine, run.ledger, run.unit));
  if (now.done >= batch.until && now.state === 'working') return;
  throw new SvcError('locked', `Run ${run.run} is being continued or undone by another process.`, {
    hint: 'Wait until it has finished.',
  });
}
