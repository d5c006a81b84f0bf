import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { openColumn } from '../column-work.js';
import type { RunFacts, Written } from '../context.js';
import type { TargetPlan } from '../plan.js';
import { assertRecount } from './assert-agreed.js';
import { watchFinals } from './column-plans.js';
import type { Engine } from './dialect.js';
import type { FoundTable } from './found-table.js';
import { insertRun, readRun, setState } from './ledger.js';
import { columnOf } from './table-facts.js';
import { describeWritten, findEntered, newRunOf } from './table-run.js';

/**
 * Fills new columns with V4 ids; the old ones stay as they are. Rows that came since an earlier filling are
 * filled now; a new column's value is never changed once it is there.
 *
 * @throws SvcError `bad_input` before anything is written, `locked`, `interrupted`
 */
export async function writeNewColumns(
  engine: Engine,
  found: FoundTable,
  agreed: TargetPlan,
  run: RunFacts,
): Promise<Written> {
  const { context, session } = engine;
  const { ledger } = found;
  const unit = await begin(engine, found, agreed, run);
  for (const [at, id] of found.target.ids.entries()) await fillColumn(engine, found, unit, id, at);
  await session.transaction('latest', async () => {
    await session.query(`UPDATE ${ledger.run} SET state = 'done', finished_at = $1 WHERE unit = $2`, [
      new Date(context.now()).toISOString(),
      unit,
    ]);
  });
  return session.retry(async () => describeWritten(engine, await readRun(engine, ledger, unit)));
}

/** Adds the columns and the run that says so, once; checks before that the data are what was agreed to. */
function begin(engine: Engine, found: FoundTable, agreed: TargetPlan, run: RunFacts): Promise<string> {
  const { session, dialect } = engine;
  const { target, facts, ledger, units } = found;
  return session.transaction('snapshot', async () => {
    await dialect.lockLedger(ledger);
    const before = await findEntered(engine, found, run);
    if (before !== null) return before;
    for (const id of target.ids) await assertColumnAgreed(engine, found, agreed, run, id);
    const open = units.find((unit) => unit.mode === 'new' && unit.run === agreed.earlier.run);
    if (open !== undefined) {
      await setState(engine, open, 'working');
      return open.unit;
    }
    for (const id of target.ids) {
      const type = dialect.declaredType(columnOf(facts, id.column)?.type ?? '');
      await session.exec(
        `ALTER TABLE ${dialect.tableSql(facts.table)} ADD COLUMN ${dialect.quote(newColumnOf(id))} ${type}`,
      );
    }
    return insertRun(engine, run, { ...newRunOf(found), key: [], isAtomic: false });
  });
}

/** Counts once more, in the transaction that adds the column. */
async function assertColumnAgreed(
  { context, dialect }: Engine,
  { facts }: FoundTable,
  agreed: TargetPlan,
  run: RunFacts,
  id: IdColumn,
): Promise<void> {
  const work = watchFinals(openColumn(context, id, context.policy), facts, 'new');
  const from = `${dialect.tableSql(facts.table)} AS t`;
  for await (const _ of dialect.judge({ work, mode: 'new', from, isGrouped: true })) {
    // Looking them up counts them.
  }
  assertRecount(context, { agreed, run, work, table: null });
}

async function fillColumn(
  { context, session, dialect }: Engine,
  { facts, ledger }: FoundTable,
  unit: string,
  id: IdColumn,
  at: number,
): Promise<void> {
  const filling = await dialect.openFill(facts, id, at);
  for await (const range of filling.ranges()) {
    await session.transaction('latest', async () => {
      await dialect.beforeUpdate(facts.triggers, []);
      const filled = await filling.fill(range);
      await session.query(`UPDATE ${ledger.run} SET changed = changed + $1 WHERE unit = $2`, [
        String(filled),
        unit,
      ]);
    });
    const name = `filling ${newColumnOf(id)}`;
    context.onProgress({ kind: 'step', name, done: range.done, total: range.total });
  }
}
