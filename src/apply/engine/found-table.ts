import type { IdColumn, TableTarget } from '../../config/apply-targets.js';
import { checkColumn } from '../column-work.js';
import { NO_EARLIER, type Note } from '../plan.js';
import { isUnreadable } from './column-plans.js';
import { type Engine, findColumn } from './dialect.js';
import {
  earlierRunNotes,
  findEarlier,
  newColumnNotes,
  otherTargetNotes,
  rewrittenNotes,
} from './earlier-runs.js';
import {
  mergedNotes,
  partsOf,
  pathNotes,
  sameColumnNotes,
  sourceColumns,
  writesPlatformId,
} from './id-columns.js';
import { judgeTable, type TableIds } from './judge-table.js';
import { ledgerNotes, readRunsOfTable } from './ledger-runs.js';
import { countCells } from './own-tables.js';
import { platformColumnNotes } from './platform-columns.js';
import { addStillApplied, readStillApplied, rowsToLookUp, type StillApplied } from './still-applied.js';
import type { FoundTable, TableFacts } from './table-facts.js';

/** Reads what the catalog and the ledger say about tables. Of their rows it only counts those added since a finished run. */
export async function findTables(engine: Engine, targets: readonly TableTarget[]): Promise<FoundTable[]> {
  const tables = [];
  for (const target of targets) tables.push({ target, facts: await engine.dialect.readFacts(target) });
  const all = tables.map(({ target: { name, ids }, facts: { table } }) => ({ name, table, ids }));
  const found: FoundTable[] = [];
  for (const { target, facts } of tables) found.push(await findTable(engine, target, facts, all));
  return found;
}

async function findTable(
  engine: Engine,
  target: TableTarget,
  facts: TableFacts,
  all: readonly TableIds[],
): Promise<FoundTable> {
  const { context, dialect } = engine;
  const judged = judgeTable(facts, target, context.policy, all);
  const { handling } = judged;
  const ledger = dialect.ledgerOf(target);
  const foreign = await ledgerNotes(engine, ledger, facts.table);
  const runs = foreign.length > 0 ? [] : await readRunsOfTable(engine, ledger, facts.table);
  const notes = [
    ...foreign,
    ...judged.notes,
    ...targetNotes(engine, { target, facts, handling, runs }, all),
    ...(await platformColumnNotes(engine, { ids: target.ids, facts, runs })),
    ...(await dialect.obstacleNotes(target, facts, handling)),
  ];
  const found = {
    target,
    facts,
    handling,
    ledger,
    runs,
    earlier: NO_EARLIER,
    fullyRecorded: [],
    notes,
  };
  return isUnreadable(notes) ? found : { ...found, ...(await readEarlier(engine, found)) };
}

/** Notes that other targets and earlier runs put on a target. */
function targetNotes(
  engine: Engine,
  { target, facts, handling, runs }: Pick<FoundTable, 'target' | 'facts' | 'handling' | 'runs'>,
  all: readonly TableIds[],
): Note[] {
  const { context, dialect } = engine;
  const { mode } = context.policy;
  const { name, ids } = target;
  const sources = sourceColumns(ids);
  const { isAtomic, key } = handling;
  return [
    ...sameColumnNotes(ids),
    ...otherTargetNotes(mode, { name, table: facts.table, ids }, isAtomic, all),
    ...rewrittenNotes(mode, ids, runs),
    ...sources.flatMap(mergedNotes),
    ...sources.flatMap(partsOf).flatMap((id) => [...checkColumn(context, id), ...pathNotes(id)]),
    ...earlierRunNotes(context, target, key, runs),
    ...newColumnNotes(context, target, runs, {
      hasColumn: (column) => findColumn(engine, facts, column) !== undefined,
      isToMake: dialect.ddlCommits,
    }),
  ];
}

/** Reads the runs on a table again, after this run may have changed it. */
export async function refresh(engine: Engine, found: FoundTable): Promise<FoundTable> {
  const now = { ...found, runs: await readRunsOfTable(engine, found.ledger, found.facts.table) };
  return { ...now, ...(await readEarlier(engine, now)) };
}

async function readEarlier(
  engine: Engine,
  found: FoundTable,
): Promise<Pick<FoundTable, 'earlier' | 'fullyRecorded'>> {
  const { target, runs, handling } = found;
  const { session, dialect, context } = engine;
  const { earlier, covered, open } = findEarlier(context, target, runs);
  const { key } = handling;
  if (open !== undefined) {
    const left = await countCells(engine, open, `w.id > ${open.done}`);
    return { earlier: { ...earlier, left }, fullyRecorded: [] };
  }
  if (context.policy.mode === 'new' || key.length === 0) return { earlier, fullyRecorded: [] };
  let since = 0;
  const fullyRecorded: IdColumn[] = [];
  const applied: StillApplied[] = [];
  for (const id of covered) {
    const own = await readStillApplied(engine, found, id);
    // Only ids count as rewritten.
    applied.push(...own.map((one) => (writesPlatformId(id) ? { ...one, applied: 0 } : one)));
    if (writesPlatformId(id)) continue;
    const cell = `t.${dialect.quote(id.column)}`;
    const { rows } = await session.query(
      `SELECT count(*), count(${cell}) FROM ${rowsToLookUp(engine, found, id).sql}`,
    );
    const [unrecorded = 0, filled = 0] = (rows[0] ?? []).map(Number);
    since += filled;
    if (unrecorded === 0) fullyRecorded.push(id);
  }
  return { earlier: addStillApplied(earlier, since, applied), fullyRecorded };
}
