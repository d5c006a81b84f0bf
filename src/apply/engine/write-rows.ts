import { columnLabel, newColumnOf } from '../../config/apply-targets.js';
import { MAX_NAMED_ROWS, type WriteResult } from '../context.js';
import { addColumns } from './added-columns.js';
import { assertAgreed, openTableColumn, type TableWrite } from './column-plans.js';
import { compileRewrite, type ListedColumn, tableOfRun } from './compile.js';
import { type Engine, findColumn, type IdMap } from './dialect.js';
import { rowsToLookUp } from './found-table.js';
import { writesPlatformId } from './id-columns.js';
import { buildMap, fillSql, keptMaps, nextFill } from './id-maps.js';
import { countCells } from './judge-cells.js';
import { needsLookUp } from './judge-table.js';
import { findRecordedRun, insertRun, ledgerPolicy, newSuffix, readRun, replaceView } from './ledger-runs.js';
import { lockTables, moveBatch, moveRows } from './move-rows.js';
import type { FoundTable, Ledger, TableFacts, TableOfRun, TableRun } from './table-facts.js';

/** A table with its run in the ledger. */
interface RecordedTable {
  readonly found: FoundTable;
  readonly unit: string;
  /** Of new columns: the number of this write of the run. */
  readonly fill: number;
}

/**
 * Writes tables of one ledger. The run and what it needs are recorded in one transaction: in place the list of all rows that
 * change, for new columns the crosswalk of each. The rows follow in batches, those in place each together with the progress of
 * the run; a stopped run continues where it stopped. New columns are filled where they are empty, and never changed.
 *
 * `isAtOnce`: everything is in that one transaction, all tables or none. Other writers wait; deferrable foreign keys are checked
 * at its end.
 *
 * @throws SvcError `bad_input` before anything is written, `apply_stopped`, `locked`, `interrupted`
 */
export async function writeTables(
  engine: Engine,
  writes: readonly TableWrite[],
  isAtOnce: boolean,
): Promise<WriteResult[]> {
  const { context, session, dialect } = engine;
  const [first] = writes;
  if (first === undefined) return [];
  const { ledger } = first.found;
  const open = first.found.runs.find(({ mode, state }) => mode === 'in_place' && state === 'working');
  const recorded =
    open === undefined || context.policy.mode === 'new'
      ? await recordTables(engine, ledger, writes, isAtOnce)
      : [{ found: first.found, unit: open.unit, fill: 1 }];
  // An interruption may have left the run recorded but its columns missing.
  if (dialect.ddlCommits && !isAtOnce) await session.retry(() => addColumns(engine, first.found));
  const written: WriteResult[] = [];
  for (const table of recorded) {
    if (!isAtOnce) await carryOut(engine, table);
    written.push(await session.retry(() => describeWritten(engine, table)));
  }
  return written;
}

/** Records runs with what they need. `isAtOnce`: carries them out in the same transaction. */
async function recordTables(
  engine: Engine,
  ledger: Ledger,
  writes: readonly TableWrite[],
  isAtOnce: boolean,
): Promise<RecordedTable[]> {
  const { session, dialect } = engine;
  const add = async () => {
    for (const { found } of writes) await addColumns(engine, found);
  };
  if (dialect.ddlCommits) {
    await createTables(engine, ledger, writes);
    if (isAtOnce) await session.retry(add);
  }
  return session.transaction(isAtOnce ? 'exclusive' : 'snapshot', async () => {
    await dialect.lockLedger(ledger);
    const own = writes.map(({ found: { facts, target } }) => ({ table: facts.table, target }));
    const checkForeignKeys = isAtOnce ? await lockTables(engine, own) : null;
    if (isAtOnce && !dialect.ddlCommits) await add();
    const tables: RecordedTable[] = [];
    for (const write of writes) {
      const known = await findRecordedRun(engine, write.found, write.run);
      const table = known === null ? await recordRun(engine, write) : { unit: known, fill: 1 };
      tables.push({ ...table, found: write.found });
      if (isAtOnce && known === null) await moveAtOnce(engine, write.found, table.unit);
    }
    if (!dialect.ddlCommits) {
      if (!isAtOnce) await add();
      await replaceView(engine, ledger);
    }
    await checkForeignKeys?.();
    return tables;
  });
}

/** The run whose new columns a write fills further. */
function openRunOf({ found, plan }: TableWrite): TableRun | undefined {
  return found.runs.find(({ mode, run }) => mode === 'new' && run === plan.earlier.run);
}

/** Statements that create the tables of a new run: the list of its rows, or a map for each new column. */
function createSql({ context, dialect }: Engine, found: FoundTable, run: TableOfRun): string[] {
  const { facts } = found;
  if (context.policy.mode === 'in_place') {
    const { list, create } = compileRewrite(dialect, run, { facts });
    return [`DROP TABLE IF EXISTS ${list}`, ...create];
  }
  const maps = keptMaps({ dialect }, facts, run);
  return maps.flatMap((map) => [`DROP TABLE IF EXISTS ${map.table}`, ...dialect.createMap(map)]);
}

/**
 * Creates the tables of new runs before the transaction that fills them, where DDL commits. Those that an interruption left
 * without their run are empty, and replaced.
 */
async function createTables(engine: Engine, ledger: Ledger, writes: readonly TableWrite[]): Promise<void> {
  const { session, dialect } = engine;
  const fresh = writes.filter((write) => openRunOf(write) === undefined);
  if (fresh.length === 0) return;
  await session.transaction('latest', async () => {
    await dialect.lockLedger(ledger);
    const made: TableOfRun[] = [];
    for (const { found, run } of fresh) {
      if ((await findRecordedRun(engine, found, run)) !== null) continue;
      const table = tableOfRun(found, await newSuffix(engine, ledger, run, made.length));
      await session.exec(createSql(engine, found, table).join(';'));
      made.push(table);
    }
    if (engine.context.policy.mode === 'in_place') await replaceView(engine, ledger, made);
  });
}

/** Records the run, unless it is continued, with what it needs; checks that the data are as agreed. */
async function recordRun(engine: Engine, write: TableWrite): Promise<Omit<RecordedTable, 'found'>> {
  const { context, session, dialect } = engine;
  const { found, run } = write;
  const { ledger } = found;
  const open = openRunOf(write);
  const isNew = context.policy.mode === 'new';
  const suffix = open?.suffix ?? (await newSuffix(engine, ledger, run, 0));
  const table = tableOfRun(found, suffix);
  if (open === undefined && !dialect.ddlCommits)
    await session.exec(createSql(engine, found, table).join(';'));
  const unit = open?.unit ?? (await insertRun(engine, run, found, suffix));
  if (!isNew) {
    await listRows(engine, write, { ...table, unit });
    return { unit, fill: 1 };
  }
  const fill = await loadMaps(engine, write, table);
  await session.query(
    `UPDATE ${ledger.run} SET state = 'working', remap_sha256 = $1, policy = $2 WHERE unit = $3`,
    [context.remapVersion.sha256, ledgerPolicy(context.policy), unit],
  );
  return { unit, fill };
}

/** Lists all rows that a run changes. */
async function listRows(
  engine: Engine,
  { found, plan, run }: TableWrite,
  { unit, ...table }: TableOfRun & Pick<TableRun, 'unit'>,
): Promise<void> {
  const { context, session, dialect } = engine;
  const { target, facts, ledger } = found;
  const sql = compileRewrite(dialect, table, { facts });
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
}

/** Loads the maps of new columns: with every value, or with those of the cells that earlier writes of the run left empty. Returns the number of this write. */
async function loadMaps(
  engine: Engine,
  { found, plan, run }: TableWrite,
  table: TableOfRun,
): Promise<number> {
  const { context, dialect } = engine;
  const { facts } = found;
  const maps = keptMaps(engine, facts, table);
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
  return fill;
}

/** Changes all listed rows within the transaction that listed them. */
async function moveAtOnce(
  engine: Engine,
  { facts, ledger, handling }: FoundTable,
  unit: string,
): Promise<void> {
  const run = await readRun(engine, { ledger, unit });
  const listed = { run, facts, sql: compileRewrite(engine.dialect, run, { facts }) };
  const { parked } = handling;
  await moveRows(engine, listed, { direction: 'forth', range: null, parked, canSkip: false });
  await engine.session.exec(`UPDATE ${ledger.run} SET done = total WHERE unit = ${unit}`);
  await finishRun(engine, run);
}

/** Changes the rows of a recorded run in batches. */
async function carryOut(engine: Engine, { found, unit, fill }: RecordedTable): Promise<void> {
  const { context, session, dialect } = engine;
  const { facts, ledger } = found;
  const read = () => session.retry(() => readRun(engine, { ledger, unit }));
  let run = await read();
  if (run.mode === 'new') {
    for (const map of keptMaps(engine, facts, run)) await fillColumn(engine, found, unit, { map, fill });
  } else {
    const sql = compileRewrite(dialect, run, { facts });
    while (run.done < run.total) {
      const to = Math.min(run.done + context.tuning.batchRows, run.total);
      await moveBatch(engine, { run, facts, sql }, 'forth', { from: run.done, to });
      run = await read();
      const { done, total, table } = run;
      context.onProgress({ kind: 'step', name: `rewriting ${table}`, done, total });
    }
  }
  await session.transaction('latest', () => finishRun(engine, run));
}

/** Marks a run as done and, in place, records its counts. */
async function finishRun({ context, session, dialect }: Engine, run: TableRun): Promise<void> {
  const { list, countIn } = compileRewrite(dialect, run);
  const count = (state: 'ours' | 'skipped') => `(SELECT ${countIn(state)} FROM ${list} AS w)`;
  const counts = run.mode === 'new' ? '' : `, changed = ${count('ours')}, skipped = ${count('skipped')}`;
  await session.query(
    `UPDATE ${run.ledger.run} SET state = 'done', finished_at = $1${counts} WHERE unit = $2 AND state = 'working'`,
    [new Date(context.now()).toISOString(), run.unit],
  );
}

async function describeWritten(engine: Engine, { found, unit }: RecordedTable): Promise<WriteResult> {
  const { ledger } = found;
  const { mode, ...run } = await readRun(engine, { ledger, unit });
  const { list, keyName, isIn } = compileRewrite(engine.dialect, run);
  const query = `SELECT ${keyName} FROM ${list} AS w WHERE ${isIn('skipped')} ORDER BY w.id LIMIT ${MAX_NAMED_ROWS}`;
  const rows = mode === 'new' ? [] : (await engine.session.query(query)).rows;
  return {
    target: run.target.name,
    run: run.run,
    changed: run.changed,
    skipped: rows.map(([key]) => `row ${key ?? ''}`),
    skippedCount: run.skipped,
    alreadyDone: false,
  };
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
  for await (const range of readRanges(engine, facts)) {
    await session.transaction('latest', async () => {
      await dialect.beforeUpdate(facts.triggers, [], range.where !== 'TRUE');
      const filled = await session.query(fillSql(dialect, facts, map, `${range.where} AND m.fill = ${fill}`));
      await session.query(`UPDATE ${ledger.run} SET changed = changed + $1 WHERE unit = $2`, [
        String(filled.count),
        unit,
      ]);
    });
    if (range.done !== null)
      context.onProgress({ kind: 'step', name: `filling ${column}`, done: range.done, total: null });
  }
}
