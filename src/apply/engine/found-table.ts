import { columnLabel, type IdColumn, newColumnOf, type TableTarget } from '../../config/apply-targets.js';
import { checkColumn } from '../column-work.js';
import { type Earlier, NO_EARLIER, type Note } from '../plan.js';
import { isUnreadable, sameColumnNotes } from './column-plans.js';
import type { Engine, Ledger } from './dialect.js';
import { rivalNotes, sharedNewColumnNotes, sharedTableNotes, writtenNotes } from './double-rewrite.js';
import {
  earlierNotes,
  findEarlier,
  newColumnNotes,
  otherKeyNotes,
  pathNotes,
  rowKeyNotes,
} from './earlier-runs.js';
import { mergedNotes, partsOf } from './json-columns.js';
import { type Judgement, judgeTable, type Rewritten } from './judge-table.js';
import { enteredRows, readRunsOfTable, type TableRun, unenteredRows } from './ledger.js';
import { readStillApplied } from './still-applied.js';
import { columnOf, type TableFacts } from './table-facts.js';
import { addStillApplied, type StillApplied } from './written-places.js';

/** A table as it was found, and how it is to be handled. */
export interface FoundTable {
  readonly target: TableTarget;
  readonly facts: TableFacts;
  readonly judgement: Judgement;
  readonly ledger: Ledger;
  /** Types of the key's columns and of the id columns. */
  readonly keyTypes: readonly string[];
  readonly types: readonly string[];
  /** Runs that touched it. */
  readonly units: readonly TableRun[];
  readonly earlier: Earlier;
  readonly notes: readonly Note[];
}

/** Looks at tables without reading their rows (but for counting those that came since a finished run). */
export async function findTables(engine: Engine, targets: readonly TableTarget[]): Promise<FoundTable[]> {
  const tables = [];
  for (const target of targets) tables.push({ target, facts: await engine.dialect.readFacts(target) });
  const rewritten = tables.map(
    ({ target, facts }): Rewritten => ({
      name: target.name,
      table: facts.table,
      ids: target.ids,
      columns: target.ids.map((id) => id.column),
    }),
  );
  const found: FoundTable[] = [];
  for (const { target, facts } of tables) found.push(await findTable(engine, target, facts, rewritten));
  return found;
}

async function findTable(
  engine: Engine,
  target: TableTarget,
  facts: TableFacts,
  rewritten: readonly Rewritten[],
): Promise<FoundTable> {
  const { context, dialect } = engine;
  const judgement = judgeTable(facts, target, context.policy, rewritten);
  const ledger = dialect.ledgerOf(target);
  const typeOf = (name: string) => columnOf(facts, name)?.type ?? 'text';
  const foreign = await dialect.ledgerNotes(ledger, facts.table);
  const units = foreign.length > 0 ? [] : await readRunsOfTable(engine, ledger, facts.table);
  const base = {
    target,
    facts,
    judgement,
    ledger,
    keyTypes: judgement.handling.key.map(typeOf),
    types: target.ids.map((id) => typeOf(id.column)),
    units,
    earlier: NO_EARLIER,
  };
  const notes = [
    ...foreign,
    ...judgement.notes,
    ...targetNotes(engine, base, rewritten),
    ...(await dialect.obstacleNotes(target, facts, judgement.handling)),
  ];
  const found = { ...base, notes };
  return isUnreadable(notes) ? found : { ...found, earlier: await earlierOf(engine, found) };
}

/** What other targets and earlier runs say against a target. */
function targetNotes(
  { context, dialect }: Engine,
  { target, facts, judgement, units }: Omit<FoundTable, 'notes'>,
  rewritten: readonly Rewritten[],
): Note[] {
  const { mode } = context.policy;
  const hasColumn = (name: string) => dialect.findColumn(facts, name) !== undefined;
  return [
    ...sameColumnNotes(target),
    ...rivalNotes(target.name, facts.table, target.ids, rewritten),
    ...sharedNewColumnNotes(mode, target.name, facts.table, target.ids, rewritten),
    ...sharedTableNotes(target.name, facts.table, judgement, rewritten),
    ...writtenNotes(mode, target.ids, units),
    ...target.ids.flatMap(mergedNotes),
    ...target.ids.flatMap(partsOf).flatMap((id) => [...checkColumn(context.remap, id), ...pathNotes(id)]),
    ...earlierNotes(context, target, units),
    ...rowKeyNotes(context, target, units),
    ...otherKeyNotes(judgement.handling.key, units),
    ...newColumnNotes(context, hasColumn, target, units),
  ];
}

/** The same table after something was done to it in this run. */
export async function refresh(engine: Engine, found: FoundTable): Promise<FoundTable> {
  const now = { ...found, units: await readRunsOfTable(engine, found.ledger, found.facts.table) };
  return { ...now, earlier: await earlierOf(engine, now) };
}

async function earlierOf(engine: Engine, found: FoundTable): Promise<Earlier> {
  const { target, units, judgement } = found;
  const { earlier, covered } = findEarlier(engine.context, target, units);
  if (engine.context.policy.mode === 'new' && earlier.run !== null) {
    let left = 0;
    for (const id of target.ids) left += await countUnfilled(engine, found, id);
    return { ...earlier, left };
  }
  const { key } = judgement.handling;
  if (key.length === 0) return earlier;
  let since = 0;
  const applied: StillApplied[] = [];
  for (const id of covered) {
    since += await countSince(engine, found, id);
    applied.push(...(await readStillApplied(engine, units, key, id)));
  }
  return addStillApplied(earlier, since, applied);
}

/** Cells with a value and without one in the new column. */
async function countUnfilled(
  { session, dialect }: Engine,
  { facts }: FoundTable,
  id: IdColumn,
): Promise<number> {
  if (dialect.findColumn(facts, newColumnOf(id)) === undefined) return 0;
  const sql = `SELECT count(*) FROM ${dialect.tableSql(facts.table)}
    WHERE ${dialect.quote(id.column)} IS NOT NULL AND ${dialect.quote(newColumnOf(id))} IS NULL`;
  return Number(await session.one(sql));
}

/** Cells with a value and without an entry. */
async function countSince({ session, dialect }: Engine, found: FoundTable, id: IdColumn): Promise<number> {
  const rows = openRows(dialect, found, id);
  return Number(
    await session.one(`SELECT count(*) FROM ${rows} AND t.${dialect.quote(id.column)} IS NOT NULL`),
  );
}

/** `FROM` and `WHERE` of a table's rows that no run has entered for a column. */
export function openRows(
  dialect: Engine['dialect'],
  { facts, judgement, units, ledger }: FoundTable,
  id: IdColumn,
): string {
  const entered = enteredRows(dialect, ledger, units, columnLabel(id));
  return unenteredRows(dialect, facts.table, judgement.handling.key, entered);
}
