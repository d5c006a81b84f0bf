import { type IdColumn, newColumnOf, type TableTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { RunFacts } from '../context.js';
import { isUnreadable, openTableColumn } from '../engine/column-plans.js';
import { type Engine, findColumn } from '../engine/dialect.js';
import { type FoundTable, findTables, refresh } from '../engine/found-table.js';
import { hasLedger, type TableRun } from '../engine/ledger-tables.js';
import { writesPlatformId } from '../engine/platform-ids.js';
import { columnOf, type TableFacts } from '../engine/table-facts.js';
import { addEmptyColumns } from '../engine/write-new-columns.js';
import { toId } from '../ids/model-ids.js';
import { blocks, blocksOf, type Note } from '../plan.js';
import { installSync, listCrosswalk } from './install-sync.js';
import {
  createdObjects,
  dropObjects,
  type Installed,
  listRecorded,
  nameOfObject,
  readInstalled,
  type SyncObject,
  staleObjects,
} from './installed.js';
import {
  NOTHING_SYNCED,
  type RecordedCells,
  type SyncColumn,
  type SyncedTable,
  syncColumn,
} from './sync-table.js';

/** A request to keep new columns filled by triggers, or to stop that. */
export interface SyncRequest {
  readonly turn: 'on' | 'off';
  /** The run to record if a new column is made; null: only plan. */
  readonly run: RunFacts | null;
}

/**
 * Plans or carries out `--sync` for the tables of one database.
 *
 * @throws SvcError `bad_input`, `locked`, `interrupted`
 */
export async function syncTables(
  engine: Engine,
  targets: readonly TableTarget[],
  { turn, run }: SyncRequest,
): Promise<SyncedTable[]> {
  const { session, dialect } = engine;
  const synced: SyncedTable[] = [];
  if (turn === 'on' && run !== null) {
    for (const target of targets) await dialect.ensureLedger(dialect.ledgerOf(target));
  }
  for (const found of await session.retry(() => findTables(engine, targets))) {
    if (turn === 'off') synced.push(await turnOff(engine, found, run !== null));
    else if (run === null) synced.push(await session.retry(() => planOn(engine, found)));
    else synced.push(await turnOn(engine, await session.retry(() => refresh(engine, found)), run));
  }
  return synced;
}

const isTrigger = ({ what }: SyncObject) => what === 'trigger';

/** Whether a run fills a new column of the target. */
function isOwnRun({ target }: FoundTable, run: TableRun): boolean {
  const names = target.ids.map(newColumnOf);
  return run.mode === 'new' && run.target.ids.some((id) => names.includes(newColumnOf(id)));
}

/** The columns of a target. `nextUnit`: the unit of the run that will create those that are missing. */
function columnsOf({ context, dialect }: Engine, found: FoundTable, nextUnit: string): SyncColumn[] {
  return found.target.ids.map((id, at) => {
    const isSame = (other: IdColumn) => newColumnOf(other) === newColumnOf(id);
    const run = found.runs.findLast(({ mode, target }) => mode === 'new' && target.ids.some(isSame));
    // What the run decided about deleted records holds for its triggers too.
    const policy = { ...context.policy, ...run?.policy };
    // Names follow the run, because the target may list its columns in another order now.
    const place = { unit: run?.unit ?? nextUnit, at: run?.target.ids.findIndex(isSame) ?? at };
    return syncColumn(dialect, id, { ...found, ...place, policy });
  });
}

async function planOn(engine: Engine, found: FoundTable): Promise<SyncedTable> {
  const { session, dialect } = engine;
  const { target, facts, ledger } = found;
  if (isUnreadable(found.notes)) return describe(engine, found, {});
  const hasRuns = await hasLedger(engine, ledger);
  const columns = columnsOf(engine, found, hasRuns ? await nextUnit(engine, found) : '1');
  const units = columns.map(({ unit }) => unit);
  const others = found.runs.map(({ unit }) => unit).filter((unit) => !units.includes(unit));
  const installed = await readInstalled(engine, facts.table, ledger, units, others);
  const stale = columns.flatMap((column) => staleObjects(engine, column, installed.objects));
  const counted = columns.map((column) => countIds(engine, found, column));
  const isThere = new Set(installed.objects.map(nameOfObject));
  const fresh = target.ids.map(newColumnOf).filter((name) => findColumn(engine, facts, name) === undefined);
  return describe(engine, found, {
    installed,
    columns: counted.map(({ notes: _, ...one }) => one),
    makes: [
      ...(hasRuns ? [] : [`the ledger ${ledger.prefix}run and its other tables`]),
      ...fresh.map((name) => `column ${name}`),
      ...columns.flatMap((column) => createdObjects(engine, column)).filter((name) => !isThere.has(name)),
    ],
    notes: [
      ...installed.foreign.map((name) => {
        const text = `The ${name} was not created by svc-migrate: rename or drop it first.`;
        return blocks('sync_foreign', text);
      }),
      ...stale.map((one) => {
        const text = `The ${nameOfObject(one)} was made for another target or by another version: apply --sync off first.`;
        return blocks('sync_changed', text);
      }),
      ...counted.flatMap(({ notes }) => notes),
      ...target.ids.flatMap((id) => columnNotes(facts, id)),
      ...(await dialect.sync.readNotes(session, facts, target.ids)),
    ],
  });
}

/** What prevents triggers on a column, besides what prevents new columns. */
function columnNotes(facts: TableFacts, id: IdColumn): Note[] {
  const name = newColumnOf(id);
  const column = columnOf(facts, name);
  const generated = [id.modelColumn, id.regionColumn, id.companyColumn].find(
    (one) => one !== undefined && columnOf(facts, one)?.isGenerated === true,
  );
  const isConstrained =
    facts.uniques.some(({ isPlain, columns }) => isPlain && columns.includes(name)) ||
    facts.foreignKeys.some(({ direction, columns }) => direction === 'out' && columns.includes(name));
  const place = id.path === undefined ? 'text' : 'JSON';
  return blocksOf({
    sync_in_text:
      (id.path !== undefined || id.pattern !== undefined) &&
      `${id.column}: triggers cannot find ids inside ${place}.`,
    sync_generated:
      generated !== undefined && `${generated} is generated, and triggers run before it has its value.`,
    sync_not_null:
      column?.isNullable === false &&
      `${name} is NOT NULL: rows without a V4 id could no longer be inserted.`,
    sync_constraint:
      isConstrained &&
      `${name} is in a unique key or foreign key, which could refuse rows of the application.`,
  });
}

async function turnOn(engine: Engine, planned: FoundTable, run: RunFacts): Promise<SyncedTable> {
  const { session } = engine;
  const plan = await session.retry(() => planOn(engine, planned));
  const stop = plan.notes.find(({ level }) => level === 'blocks');
  if (stop !== undefined)
    throw new SvcError('bad_input', `${plan.target}: ${stop.text} Nothing was written.`);
  let found = planned;
  if (found.target.ids.some((id) => findColumn(engine, found.facts, newColumnOf(id)) === undefined)) {
    await addEmptyColumns(engine, found, run);
    [found = planned] = await session.retry(() => findTables(engine, [planned.target]));
  }
  const columns = columnsOf(engine, found, '');
  return { ...plan, refreshed: await installSync(engine, columns, found.ledger) };
}

/** Removes everything that `--sync on` created, whatever the remap and the notes say. */
async function turnOff(engine: Engine, found: FoundTable, isWrite: boolean): Promise<SyncedTable> {
  const { session, dialect } = engine;
  const { facts, ledger, runs } = found;
  if (facts.notes.some(({ code }) => code === 'unknown_table')) return describe(engine, found, {});
  const step = async () => {
    const own = runs.filter((run) => isOwnRun(found, run)).map(({ unit }) => unit);
    const others = runs.map(({ unit }) => unit).filter((unit) => !own.includes(unit));
    const installed = await readInstalled(engine, facts.table, ledger, own, others);
    // The triggers go first, so that nothing is recorded after the list is read.
    if (isWrite) await dropObjects(engine, facts.table, installed.objects.filter(isTrigger));
    const recorded = await readRecorded(engine, found, installed);
    if (isWrite)
      await dropObjects(
        engine,
        facts.table,
        installed.objects.filter((one) => !isTrigger(one)),
      );
    return describe(engine, found, { installed, ...recorded, removes: installed.objects.map(nameOfObject) });
  };
  return isWrite && !dialect.ddlCommits ? session.transaction('latest', step) : session.retry(step);
}

async function readRecorded(
  engine: Engine,
  found: FoundTable,
  { objects }: Installed,
): Promise<RecordedCells> {
  const names = new Set(objects.map(({ name }) => name));
  const columns = found.runs
    .filter((run) => isOwnRun(found, run))
    .flatMap(({ unit, target }) => columnsOf(engine, { ...found, target }, unit))
    .filter(({ unmapped }) => names.has(unmapped))
    // Without the new column, all recorded cells are listed: none can be compared with its row.
    .map((one) => (findColumn(engine, found.facts, one.newColumn) === undefined ? { ...one, key: [] } : one));
  const all: RecordedCells[] = [];
  for (const column of columns) all.push(await listRecorded(engine, column));
  return {
    unmapped: all.flatMap(({ unmapped }) => unmapped),
    unmappedCount: all.reduce((sum, { unmappedCount }) => sum + unmappedCount, 0),
  };
}

async function describe(
  { dialect }: Engine,
  { target, facts, notes }: FoundTable,
  { installed, ...more }: Partial<SyncedTable> & { readonly installed?: Installed },
): Promise<SyncedTable> {
  return {
    target: target.name,
    place: `${await dialect.place()}, table ${facts.table}`,
    ...NOTHING_SYNCED,
    wasOn: installed?.objects.some(isTrigger) === true,
    ...more,
    notes: [...notes, ...(more.notes ?? [])],
  };
}

async function nextUnit(engine: Engine, { ledger }: FoundTable): Promise<string> {
  return (await engine.session.one(`SELECT coalesce(max(unit), 0) + 1 FROM ${ledger.run}`)) ?? '1';
}

/** Counts the ids of a crosswalk, and notes those that do not fit into the column. */
function countIds(engine: Engine, { facts }: FoundTable, { id, newColumn, policy }: SyncColumn) {
  const { finals } = openTableColumn(engine, id, facts);
  let [mapped, missing] = [0, 0];
  for (const { v4 } of listCrosswalk(engine.context, id, policy)) {
    if (v4 === null) missing += 1;
    else {
      mapped += 1;
      finals?.add(writesPlatformId(id) ? v4 : toId(v4));
    }
  }
  return { column: id.column, newColumn, mapped, missing, notes: finals?.notes() ?? [] };
}
