import { newColumnOf } from '../../config/apply-targets.js';
import type { WriteResult } from '../context.js';
import { assertAgreed, openTableColumn, type TableWrite } from './column-plans.js';
import { type Engine, findColumn, type IdMap } from './dialect.js';
import { keptMaps, mapMatch, mapValue, nextFill } from './id-maps.js';
import { countCells } from './judge-cells.js';
import { findRecordedRun, insertRun, ledgerPolicy, newSuffix, readRun } from './ledger-runs.js';
import { addColumns } from './platform-columns.js';
import type { FoundTable } from './table-facts.js';

/**
 * Fills new columns with V4 ids; the old columns do not change. Fills rows that were added since an earlier run too, and
 * never changes a value that a new column already has. The crosswalk of each column stays in the database until the run
 * is undone, so that verifying and undoing it need nothing else.
 *
 * @throws SvcError `bad_input` before anything is written, `locked`, `interrupted`
 */
export async function writeNewColumns(engine: Engine, write: TableWrite): Promise<WriteResult> {
  const { found } = write;
  const { context, session, dialect } = engine;
  const { ledger } = found;
  // A map that an interruption left without its run is empty, and used by the next one.
  if (dialect.ddlCommits) await session.retry(() => createMaps(engine, write));
  const { unit, fill } = await recordRun(engine, write);
  // An interruption may have left the run recorded but its columns missing.
  if (dialect.ddlCommits) await session.retry(() => addColumns(engine, found, true));
  const { suffix } = await session.retry(() => readRun(engine, { ledger, unit }));
  for (const map of keptMaps(engine, found.facts, { ...found, suffix }))
    await fillColumn(engine, found, unit, { map, fill });
  await session.transaction('latest', async () => {
    await session.query(`UPDATE ${ledger.run} SET state = 'done', finished_at = $1 WHERE unit = $2`, [
      new Date(context.now()).toISOString(),
      unit,
    ]);
  });
  const { target, run, changed } = await session.retry(() => readRun(engine, { ledger, unit }));
  return { target: target.name, run, changed, skipped: [], skippedCount: 0, alreadyDone: false };
}

function openRunOf({ found, plan }: TableWrite) {
  return found.runs.find((one) => one.mode === 'new' && one.run === plan.earlier.run);
}

async function createMaps(engine: Engine, write: TableWrite): Promise<void> {
  if (openRunOf(write) !== undefined) return;
  const { found, run } = write;
  const suffix = await newSuffix(engine, found.ledger, run, 0);
  for (const map of keptMaps(engine, found.facts, { ...found, suffix }))
    await engine.session.exec(engine.dialect.createMap(map).join(';'));
}

/**
 * Records the run in the ledger and loads its maps: with every value of the columns, or with those of the cells that an
 * earlier write of the run left empty. First checks that the data are as agreed. Adds the columns too, if DDL is
 * transactional.
 */
function recordRun(
  engine: Engine,
  write: TableWrite,
): Promise<{ readonly unit: string; readonly fill: number }> {
  const { context, session, dialect } = engine;
  const { found, plan, run } = write;
  const { facts, ledger } = found;
  return session.transaction('snapshot', async () => {
    await dialect.lockLedger(ledger);
    const before = await findRecordedRun(engine, found, run);
    if (before !== null) return { unit: before, fill: 1 };
    const open = openRunOf(write);
    const suffix = open?.suffix ?? (await newSuffix(engine, ledger, run, 0));
    if (open === undefined && !dialect.ddlCommits) await createMaps(engine, write);
    const maps = keptMaps(engine, facts, { ...found, suffix });
    const fill = await nextFill(engine, maps);
    for (const map of maps) {
      const { id } = map;
      const work = openTableColumn(engine, id, facts);
      const isThere = findColumn(engine, facts, newColumnOf(id)) !== undefined;
      if (isThere) await countCells(engine, facts.table, { work, mode: 'new' });
      await dialect.loadMap(map, {
        work: isThere ? openTableColumn(engine, id, facts) : work,
        mode: 'new',
        from: `${dialect.tableSql(facts.table)} AS t`,
        where: isThere ? `t.${dialect.quote(newColumnOf(id))} IS NULL` : 'TRUE',
        fill,
      });
      assertAgreed(context, { plan, run }, work, null);
    }
    if (open !== undefined) {
      await session.query(
        `UPDATE ${ledger.run} SET state = 'working', remap_sha256 = $1, policy = $2 WHERE unit = $3`,
        [context.remapVersion.sha256, ledgerPolicy(context.policy), open.unit],
      );
      return { unit: open.unit, fill };
    }
    if (!dialect.ddlCommits) await addColumns(engine, found, false);
    return { unit: await insertRun(engine, run, found, suffix), fill };
  });
}

async function fillColumn(
  { context, session, dialect }: Engine,
  { facts, ledger }: FoundTable,
  unit: string,
  { map, fill }: { readonly map: IdMap; readonly fill: number },
): Promise<void> {
  const column = newColumnOf(map.id);
  const where = `${mapMatch(dialect, map, 'm')} AND m.fill = ${fill} AND m.new IS NOT NULL AND t.${dialect.quote(column)} IS NULL`;
  for await (const range of dialect.fillRanges(facts)) {
    await session.transaction('latest', async () => {
      await dialect.beforeUpdate(facts.triggers, [], range.where !== 'TRUE');
      const filled = await session.query(
        dialect.updateFrom({
          table: dialect.tableSql(facts.table),
          part: range.part,
          autoUpdated: facts.autoUpdated,
          set: [[column, mapValue({ dialect }, map)]],
          from: `${map.table} AS m`,
          where: `${range.where} AND ${where}`,
          isTableFirst: true,
        }),
      );
      await session.query(`UPDATE ${ledger.run} SET changed = changed + $1 WHERE unit = $2`, [
        String(filled.count),
        unit,
      ]);
    });
    const name = `filling ${column}`;
    context.onProgress({ kind: 'step', name, done: range.done, total: range.total });
  }
}
