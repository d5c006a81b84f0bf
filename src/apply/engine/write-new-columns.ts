import { newColumnOf } from '../../config/apply-targets.js';
import type { WriteResult } from '../context.js';
import { assertAgreed, openTableColumn } from './column-plans.js';
import type { ColumnFill, Engine } from './dialect.js';
import type { FoundTable, TableWrite } from './found-table.js';
import { countCells } from './judge-cells.js';
import { describeWritten, findRecordedRun, insertRun, setState } from './ledger-runs.js';
import { addColumns } from './platform-columns.js';

/**
 * Fills new columns with V4 ids; the old columns do not change. Fills rows that were added since an earlier run too, and
 * never changes a value that a new column already has.
 *
 * @throws SvcError `bad_input` before anything is written, `locked`, `interrupted`
 */
export async function writeNewColumns(engine: Engine, write: TableWrite): Promise<WriteResult> {
  const { found } = write;
  const { context, session, dialect } = engine;
  const { ledger, target } = found;
  const { unit, isLookedUp } = await recordRun(engine, write);
  // An interruption may have left the run recorded but its columns missing.
  if (dialect.ddlCommits) await session.retry(() => addColumns(engine, found, true));
  for (const [at, id] of target.ids.entries()) {
    const filling = await dialect.openFill(found.facts, id, at, isLookedUp);
    await fillColumn(engine, found, unit, newColumnOf(id), filling);
  }
  await session.transaction('latest', async () => {
    await session.query(`UPDATE ${ledger.run} SET state = 'done', finished_at = $1 WHERE unit = $2`, [
      new Date(context.now()).toISOString(),
      unit,
    ]);
  });
  return session.retry(() => describeWritten(engine, ledger, unit));
}

interface RecordedRun {
  readonly unit: string;
  /** Whether `lookUpFill` was called for all columns in this session. */
  readonly isLookedUp: boolean;
}

/**
 * Checks that the data are as agreed, and records the run in the ledger. Adds the columns too, if DDL is transactional.
 */
function recordRun(engine: Engine, { found, plan, run }: TableWrite): Promise<RecordedRun> {
  const { context, session, dialect } = engine;
  const { target, facts, ledger, runs } = found;
  return session.transaction('snapshot', async () => {
    await dialect.lockLedger(ledger);
    const before = await findRecordedRun(engine, found, run);
    if (before !== null) return { unit: before, isLookedUp: false };
    const open = runs.find((one) => one.mode === 'new' && one.run === plan.earlier.run);
    for (const [at, id] of target.ids.entries()) {
      const work = openTableColumn(engine, id, facts);
      // The rows still to fill, usually few, are looked up again later.
      if (open === undefined) await dialect.lookUpFill(facts, work, at);
      else await countCells(engine, facts.table, { work, mode: 'new' });
      assertAgreed(context, { plan, run }, work, null);
    }
    if (open !== undefined) {
      await setState(engine, open, 'working');
      return { unit: open.unit, isLookedUp: false };
    }
    if (!dialect.ddlCommits) await addColumns(engine, found, false);
    const unit = await insertRun(engine, run, found);
    return { unit, isLookedUp: true };
  });
}

async function fillColumn(
  { context, session, dialect }: Engine,
  { facts, ledger }: FoundTable,
  unit: string,
  column: string,
  filling: ColumnFill,
): Promise<void> {
  for await (const range of filling.ranges()) {
    await session.transaction('latest', async () => {
      await dialect.beforeUpdate(facts.triggers, [], false);
      const filled = await filling.fill(range);
      await session.query(`UPDATE ${ledger.run} SET changed = changed + $1 WHERE unit = $2`, [
        String(filled),
        unit,
      ]);
    });
    const name = `filling ${column}`;
    context.onProgress({ kind: 'step', name, done: range.done, total: range.total });
  }
}
