import type { WriteResult } from '../context.js';
import {
  applyChangeList,
  type ChangeList,
  changeListTable,
  changesQuery,
  createChangeList,
  dropChangeList,
  listedKey,
} from './change-list.js';
import { assertAgreed, openTableColumn } from './column-plans.js';
import type { Engine } from './dialect.js';
import { needsLookUp } from './earlier-runs.js';
import type { TableWrite } from './found-table.js';
import type { Ledger } from './ledger.js';
import { describeWritten, findRecordedRun, finishRun, insertRun, lastEntry } from './ledger-runs.js';
import { addColumns } from './platform-columns.js';
import { writtenColumn } from './platform-ids.js';
import { columnOf } from './table-facts.js';

/**
 * Rewrites tables in place in one transaction: all of them or none. Other writers wait; deferrable foreign keys are
 * checked at the end.
 *
 * @throws SvcError `bad_input`, `locked`, `interrupted`: nothing was written
 */
export async function writeAtOnce(engine: Engine, tables: readonly TableWrite[]): Promise<WriteResult[]> {
  const { session, dialect } = engine;
  const [first] = tables;
  if (first === undefined) return [];
  const { ledger } = first.found;
  const names = tables.map(({ found }) => found.facts.table);
  const add = async () => {
    for (const { found } of tables) await addColumns(engine, found, dialect.ddlCommits);
  };
  if (dialect.ddlCommits) await session.retry(add);
  const units = await session.transaction('exclusive', async () => {
    await dialect.lockLedger(ledger);
    await dialect.lockTables(names);
    if (!dialect.ddlCommits) await add();
    const units: string[] = [];
    for (const table of tables) units.push(await writeTable(engine, table));
    await dialect.checkForeignKeys(names);
    return units;
  });
  const written: WriteResult[] = [];
  for (const unit of units) written.push(await session.retry(() => describeWritten(engine, ledger, unit)));
  return written;
}

async function writeTable(engine: Engine, { found, plan, run }: TableWrite): Promise<string> {
  const { context } = engine;
  const { target, facts, handling, ledger, types, runs } = found;
  const { key } = handling;
  const before = await findRecordedRun(engine, found, run);
  if (before !== null) return before;
  const unit = await insertRun(engine, run, found);
  const parked = handling.parked.flatMap((name) => columnOf(facts, name) ?? []);
  const changes = { table: facts.table, key, columns: target.ids.map(writtenColumn), types, parked };
  const columns = target.ids.map((id) => ({
    id,
    work: needsLookUp(context, found, id) ? openTableColumn(engine, id, facts) : null,
  }));
  const query = await changesQuery(engine, { facts, key, columns, ledger, runs });
  await createChangeList(engine, changes, query);
  for (const { work } of columns) {
    if (work !== null) assertAgreed(context, { plan, run }, work, found);
  }
  await applyChangeList(engine, changes, facts.triggers);
  await recordRows(engine, ledger, unit, changes);
  await finishRun(engine, { ledger, unit });
  await dropChangeList(engine);
  return unit;
}

/** Records the changes in the ledger, under the new keys of the rows. */
async function recordRows(engine: Engine, ledger: Ledger, unit: string, changes: ChangeList): Promise<void> {
  const { session, dialect } = engine;
  for (const at of changes.columns.keys()) {
    await session.exec(
      `INSERT INTO ${ledger.entry}(id, unit, col, row_key, old, new)
       SELECT ${dialect.nextEntry(ledger)}, ${unit}, ${at}, ${listedKey(engine, changes, 'after')}, w.o${at}, w.c${at}
       FROM ${changeListTable(engine)} AS w WHERE w.r${at}`,
    );
  }
  const end = 'CASE WHEN first_entry > $1 THEN first_entry ELSE $1 END';
  await session.query(`UPDATE ${ledger.run} SET last_entry = ${end}, done_entry = ${end} WHERE unit = $2`, [
    await lastEntry(engine, ledger),
    unit,
  ]);
}
