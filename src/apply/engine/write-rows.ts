import { columnLabel, newColumnOf } from '../../config/apply-targets.js';
import { MAX_NAMED_ROWS, type WriteResult } from '../context.js';
import { addColumns } from './added-columns.js';
import { assertAgreed, openTableColumn, type TableWrite } from './column-plans.js';
import { compileRewrite, type ListedColumn } from './compile.js';
import { type Engine, findColumn, type IdMap } from './dialect.js';
import { needsLookUp } from './earlier-runs.js';
import { rowsToLookUp } from './found-table.js';
import { writesPlatformId } from './id-columns.js';
import { buildMap, keptMaps, mapMatch, nextFill } from './id-maps.js';
import { countCells } from './judge-cells.js';
import { findRecordedRun, insertRun, ledgerPolicy, newSuffix, readRun } from './ledger-runs.js';
import { type ListedRun, lockTables, moveBatch, moveRows } from './move-rows.js';
import { createLists, replaceView } from './own-tables.js';
import type { FoundTable, TableFacts, TableRun } from './table-facts.js';

/**
 * Rewrites a table in place, in batches: lists all changes in one transaction, then carries them out, each batch
 * together with its progress in one transaction. A stopped run continues where it stopped.
 *
 * @throws SvcError `bad_input` before anything is written, `apply_stopped`, `locked`, `interrupted`
 */
export async function writeInBatches(engine: Engine, write: TableWrite): Promise<WriteResult> {
  const { found } = write;
  const { context, session, dialect } = engine;
  const unfinished = found.runs.find(({ state }) => state === 'working');
  if (dialect.ddlCommits && unfinished === undefined) await createLists(engine, [write]);
  const { unit } = unfinished ?? (await session.transaction('snapshot', () => recordBatches(engine, write)));
  // An interruption may have left the run recorded but its columns missing.
  if (dialect.ddlCommits) await session.retry(() => addColumns(engine, found, true));
  const read = () => session.retry(() => readRun(engine, { ledger: found.ledger, unit }));
  let listed = describeList(engine, found, await read());
  for (let { run } = listed; run.done < run.total; { run } = listed) {
    const to = Math.min(run.done + context.tuning.batchRows, run.total);
    await moveBatch(engine, listed, 'forth', { from: run.done, to });
    listed = { ...listed, run: await read() };
    const { done, total, table } = listed.run;
    context.onProgress({ kind: 'step', name: `rewriting ${table}`, done, total });
  }
  await session.transaction('latest', () => finishRun(engine, listed));
  return session.retry(() => describeWritten(engine, listed));
}

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
  if (dialect.ddlCommits) {
    await createLists(engine, tables);
    await session.retry(add);
  }
  const all = await session.transaction('exclusive', async () => {
    await dialect.lockLedger(ledger);
    const checkForeignKeys = await lockTables(engine, names);
    if (!dialect.ddlCommits) await add();
    const all: ListedRun[] = [];
    for (const table of tables) all.push(await writeTable(engine, table));
    if (!dialect.ddlCommits) await replaceView(engine, ledger);
    await checkForeignKeys();
    return all;
  });
  const written: WriteResult[] = [];
  for (const listed of all) written.push(await session.retry(() => describeWritten(engine, listed)));
  return written;
}

async function writeTable(engine: Engine, write: TableWrite): Promise<ListedRun> {
  const { found, run } = write;
  const before = await findRecordedRun(engine, found, run);
  if (before !== null) return describeList(engine, found, await readRun(engine, { ...found, unit: before }));
  const listed = await listRows(engine, write);
  const { parked } = found.handling;
  await moveRows(engine, listed, { direction: 'forth', range: null, parked, canSkip: false });
  await engine.session.exec(`UPDATE ${found.ledger.run} SET done = total WHERE unit = ${listed.run.unit}`);
  await finishRun(engine, listed);
  return listed;
}

/** Records the run and lists its changes. Returns the run, also if it was already recorded. */
async function recordBatches(engine: Engine, write: TableWrite): Promise<Pick<TableRun, 'unit'>> {
  const { dialect } = engine;
  const { found, run } = write;
  await dialect.lockLedger(found.ledger);
  const unit = await findRecordedRun(engine, found, run);
  if (unit !== null) return { unit };
  const listed = await listRows(engine, write);
  if (!dialect.ddlCommits) {
    await addColumns(engine, found, false);
    await replaceView(engine, found.ledger);
  }
  return listed.run;
}

function describeList({ dialect }: Engine, { facts }: Pick<FoundTable, 'facts'>, run: TableRun): ListedRun {
  return { run, facts, sql: compileRewrite(dialect, run, { facts }) };
}

/** Records the run and the list of all rows that it changes, and checks that the data are as agreed. */
async function listRows(engine: Engine, { found, plan, run }: TableWrite): Promise<ListedRun> {
  const { context, session, dialect } = engine;
  const { target, facts, handling, ledger } = found;
  const suffix = await newSuffix(engine, ledger, run, 0);
  const { key } = handling;
  const sql = compileRewrite(dialect, { table: facts.table, ledger, suffix, key, target }, { facts });
  if (!dialect.ddlCommits) await session.exec(sql.create.join(';'));
  const unit = await insertRun(engine, run, found, suffix);
  const joins: string[] = [];
  const columns: ListedColumn[] = [];
  for (const [at, id] of target.ids.entries()) {
    const isThere = !writesPlatformId(id) || findColumn(engine, facts, columnLabel(id)) !== undefined;
    if (!needsLookUp(context, found, id)) {
      columns.push({ map: null, where: '', isThere });
      continue;
    }
    const { join, where } = rowsToLookUp(engine, found, id, at);
    const map = buildMap(dialect, facts, id, {
      table: `svc_migrate_map_${at}`,
      isKept: false,
    });
    const work = openTableColumn(engine, id, facts);
    await session.exec(dialect.createMap(map).join(';'));
    const from = `${dialect.tableSql(facts.table)} AS t ${join}`;
    await dialect.loadMap(map, { work, mode: 'in_place', from, where, fill: 1 });
    assertAgreed(context, { plan, run }, work, found);
    columns.push({ map, where, isThere });
    joins.push(join);
  }
  if (columns.some(({ map }) => map !== null)) await session.exec(sql.insert(columns, joins));
  for (const statement of sql.loaded) await session.exec(statement);
  const last = `(SELECT coalesce(max(id), 0) FROM ${sql.list})`;
  await session.exec(`UPDATE ${ledger.run} SET total = ${last} WHERE unit = ${unit}`);
  return { run: await readRun(engine, { ledger, unit }), facts, sql };
}

/** Marks an in-place run as done and records its counts. */
async function finishRun({ context, session }: Engine, { run, sql }: ListedRun): Promise<void> {
  const count = (state: 'ours' | 'skipped') => `(SELECT ${sql.countIn(state)} FROM ${sql.list} AS w)`;
  await session.query(
    `UPDATE ${run.ledger.run} SET state = 'done', finished_at = $1, changed = ${count('ours')}, skipped = ${count('skipped')}
     WHERE unit = $2 AND state = 'working'`,
    [new Date(context.now()).toISOString(), run.unit],
  );
}

async function describeWritten(engine: Engine, { run, sql }: ListedRun): Promise<WriteResult> {
  const { changed, skipped } = await readRun(engine, run);
  const { rows } = await engine.session.query(
    `SELECT ${sql.keyName} FROM ${sql.list} AS w WHERE ${sql.isIn('skipped')} ORDER BY w.id LIMIT ${MAX_NAMED_ROWS}`,
  );
  return {
    target: run.target.name,
    run: run.run,
    changed,
    skipped: rows.map(([key]) => `row ${key ?? ''}`),
    skippedCount: skipped,
    alreadyDone: false,
  };
}

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

/** Ranges of the rows of a table, one batch each: a condition on `t`, and how many rows come before its end. */
async function* readRanges({ context, session, dialect }: Engine, facts: TableFacts) {
  const { batchRows } = context.tuning;
  const key = dialect.batchKey(facts);
  const terms = key.map(({ column }) => `t.${dialect.quote(column)}`);
  const query = `SELECT ${terms.map(dialect.asText).join(', ')} FROM ${dialect.tableSql(facts.table)} AS t`;
  let after = 'TRUE';
  for (let done = batchRows; key.length > 0; done += batchRows) {
    const first = `WHERE ${after} ORDER BY ${terms.join(', ')} LIMIT 1 OFFSET ${batchRows}`;
    // The first key after the batch; none after the last batch.
    const [next] = (await session.retry(() => session.query(`${query} ${first}`))).rows;
    if (next === undefined) break;
    const values = next.map((value, at) => key[at]?.valueSql(value ?? '') ?? '');
    yield { where: `${after} AND ${compareKeys(terms, '<', values)}`, done };
    after = compareKeys(terms, '>=', values);
  }
  yield { where: after, done: null };
}

/** Compares keys by their first part, then by the next ones where that is equal. */
function compareKeys(
  [term, ...terms]: readonly string[],
  operator: '<' | '>=',
  [value, ...values]: readonly string[],
): string {
  if (terms.length === 0) return `${term} ${operator} ${value}`;
  return `(${term} ${operator[0]} ${value} OR ${term} = ${value} AND ${compareKeys(terms, operator, values)})`;
}

async function fillColumn(
  engine: Engine,
  { facts, ledger }: FoundTable,
  unit: string,
  { map, fill }: { readonly map: IdMap; readonly fill: number },
): Promise<void> {
  const { context, session, dialect } = engine;
  const column = newColumnOf(map.id);
  const where = `${mapMatch(dialect, map, 'm')} AND m.fill = ${fill} AND m.new IS NOT NULL AND t.${dialect.quote(column)} IS NULL`;
  for await (const range of readRanges(engine, facts)) {
    await session.transaction('latest', async () => {
      await dialect.beforeUpdate(facts.triggers, [], range.where !== 'TRUE');
      const filled = await session.query(
        dialect.updateFrom({
          table: dialect.tableSql(facts.table),
          autoUpdated: facts.autoUpdated,
          set: [[column, 'm.new']],
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
    if (range.done !== null)
      context.onProgress({ kind: 'step', name: `filling ${column}`, done: range.done, total: null });
  }
}
