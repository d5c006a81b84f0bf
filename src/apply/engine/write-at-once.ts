import { columnLabel } from '../../config/apply-targets.js';
import { openColumn } from '../column-work.js';
import type { RunFacts, Written } from '../context.js';
import type { TargetPlan } from '../plan.js';
import { assertRecount } from './assert-agreed.js';
import { watchFinals } from './column-plans.js';
import type { ChangeColumn, Engine, Ledger } from './dialect.js';
import { isOpen } from './earlier-runs.js';
import type { FoundTable } from './found-table.js';
import { enteredRows, insertRun, readRun } from './ledger.js';
import { columnOf } from './table-facts.js';
import { describeWritten, findEntered, finishRun, newRunOf } from './table-run.js';
import { changeWork, createWork, dropWork, type WorkList, workKey, workTable } from './work-list.js';

/** A table with what was agreed for it. */
export interface AgreedTable {
  readonly found: FoundTable;
  readonly agreed: TargetPlan;
}

/**
 * Rewrites tables in place in one transaction: all of them or none. Writers wait meanwhile; foreign keys that can
 * be are checked at its end.
 *
 * @throws SvcError `bad_input`, `locked`, `interrupted`; nothing was written then
 */
export async function writeAtOnce(
  engine: Engine,
  tables: readonly AgreedTable[],
  run: RunFacts,
): Promise<Written[]> {
  const { session, dialect } = engine;
  const [first] = tables;
  if (first === undefined) return [];
  const { ledger } = first.found;
  const units = await session.transaction('snapshot', async () => {
    await dialect.lockLedger(ledger);
    await dialect.lockTables(tables.map(({ found }) => found.facts.table));
    const written: string[] = [];
    for (const table of tables) written.push(await writeTable(engine, table, run));
    return written;
  });
  const written: Written[] = [];
  for (const unit of units) {
    written.push(
      await session.retry(async () => describeWritten(engine, await readRun(engine, ledger, unit))),
    );
  }
  return written;
}

async function writeTable(engine: Engine, { found, agreed }: AgreedTable, run: RunFacts): Promise<string> {
  const { context, dialect } = engine;
  const { target, facts, judgement, ledger, types } = found;
  const { handling } = judgement;
  const before = await findEntered(engine, found, run);
  if (before !== null) return before;
  const unit = await insertRun(engine, run, newRunOf(found));
  const { key } = handling;
  const parked = handling.parked.flatMap((name) => columnOf(facts, name) ?? []);
  const work = { table: facts.table, key, columns: target.ids.map((id) => id.column), types, parked };
  const columns = columnsOf(engine, found);
  await createWork(engine, work, await dialect.changesQuery({ table: facts.table, key, columns }));
  for (const column of columns) {
    if (column.work !== null)
      assertRecount(context, { agreed, run, work: column.work, table: { facts, handling } });
  }
  await changeWork(engine, work, facts.triggers);
  await enterRows(engine, ledger, unit, work);
  await finishRun(engine, { ledger, unit });
  await dropWork(engine);
  return unit;
}

function columnsOf({ context, dialect }: Engine, found: FoundTable): ChangeColumn[] {
  return found.target.ids.map((id) => ({
    id,
    work: isOpen(context, found, id)
      ? watchFinals(openColumn(context, id, context.policy), found.facts, 'in_place')
      : null,
    entered: enteredRows(dialect, found.ledger, found.units, columnLabel(id)),
  }));
}

/** Enters the changes under the keys the rows have now. */
async function enterRows(engine: Engine, ledger: Ledger, unit: string, work: WorkList): Promise<void> {
  const { session, dialect } = engine;
  for (const at of work.columns.keys()) {
    await session.exec(
      `INSERT INTO ${ledger.entry}(id, unit, col, row_key, old, new)
       SELECT ${dialect.nextEntry(ledger)}, ${unit}, ${at}, ${workKey(engine, work, 'after')}, w.o${at}, w.c${at}
       FROM ${workTable(engine)} AS w WHERE w.r${at}`,
    );
  }
  const last = (await session.one(`SELECT coalesce(max(id), 0) FROM ${ledger.entry}`)) ?? '0';
  const end = 'CASE WHEN first_entry > $1 THEN first_entry ELSE $1 END';
  await session.query(`UPDATE ${ledger.run} SET last_entry = ${end}, done_entry = ${end} WHERE unit = $2`, [
    last,
    unit,
  ]);
}
