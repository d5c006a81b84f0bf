import { columnLabel, type IdColumn, newColumnOf, type PostgresTarget } from '../../config/apply-targets.js';
import { blocks, type ColumnWork, checkColumn, openColumn } from '../column-work.js';
import type { ApplyContext, SurveyOptions } from '../context.js';
import type { LeftCount } from '../left.js';
import { type ColumnPlan, type Earlier, NO_EARLIER, type Note, type TargetPlan } from '../plan.js';
import { RowNames } from '../row-names.js';
import { quoteName } from '../sql-names.js';
import { addHeld, type Held } from '../tables/held.js';
import { type Judgement, judgeTable, type Rewritten } from '../tables/judge-table.js';
import { type CellSource, keyOf, type OnLeft, tellRow, watchLeft } from '../tables/left-cells.js';
import { mergedNotes, partsOf } from '../tables/merged-column.js';
import { noRoomNote } from '../tables/parking.js';
import { columnOf } from '../tables/table-facts.js';
import {
  addLeft,
  buildColumnPlans,
  buildTablePlan,
  changedRows,
  countedNotes,
  isUnreadable,
  largestFinal,
  leftOfWork,
  sameColumnNotes,
  watchFinals,
} from '../tables/table-plan.js';
import { rivalNotes, sharedNewColumnNotes, sharedTableNotes, writtenNotes } from '../tables/twice.js';
import {
  earlierNotes,
  findEarlier,
  finishedPlaces,
  isOpen,
  newColumnNotes,
  otherKeyNotes,
  pathNotes,
  rowKeyNotes,
} from '../tables/units.js';
import { compareFilled } from './pg-compare-filled.js';
import { type PgFacts, privilegeNotes } from './pg-facts.js';
import {
  buildGroupJudge,
  type GroupJudge,
  groupSql,
  groupTerms,
  judgeGroup,
  unenteredRows,
} from './pg-groups.js';
import { readHeld } from './pg-held.js';
import { keyMatch, listLedgers, readUnits, type Unit } from './pg-ledger.js';
import { ledgerNotes } from './pg-ledger-check.js';
import { obstacleNotes } from './pg-obstacles.js';
import { parkingTerm } from './pg-parking.js';
import type { Cells, PgSession } from './pg-session.js';
import { ColumnTrial } from './pg-trial.js';

const ROWS_PER_SECOND = 50_000;
/** PostgreSQL cuts longer names off. */
const MAX_NAME_BYTES = 63;

/** A table as it was found, and how it is to be handled. */
export interface Found {
  readonly target: PostgresTarget;
  readonly facts: PgFacts;
  readonly judgement: Judgement;
  /** Types of the key's columns and of the id columns. */
  readonly keyTypes: readonly string[];
  readonly types: readonly string[];
  /** Runs that touched it. */
  readonly units: readonly Unit[];
  readonly earlier: Earlier;
  readonly notes: readonly Note[];
}

/** Looks at a table without reading its rows (but for counting those that came since a finished run). */
export async function findTable(
  context: ApplyContext,
  session: PgSession,
  target: PostgresTarget,
  facts: PgFacts,
  rewritten: readonly Rewritten[],
): Promise<Found> {
  const judgement = judgeTable(facts, target, context.policy, rewritten);
  const typeOf = (name: string) => columnOf(facts, name)?.type ?? 'text';
  const base = {
    target,
    facts,
    judgement,
    keyTypes: judgement.handling.key.map(typeOf),
    types: target.ids.map((id) => typeOf(id.column)),
  };
  const foreign = await ledgerNotes(session, target.ledgerSchema, facts.table);
  const units = foreign.length > 0 ? [] : await readUnits(session, target.ledgerSchema, facts.table);
  const notes = [
    ...foreign,
    ...judgement.notes,
    ...(await privilegeNotes(session, facts, target, context.policy.mode, judgement.handling.isAtomic)),
    ...(await obstacleNotes(
      session,
      facts,
      target.ids.map((id) => id.column),
      context.policy.mode,
    )),
    ...sameColumnNotes(target),
    ...rivalNotes(target.name, facts.table, target.ids, rewritten),
    ...sharedNewColumnNotes(context.policy.mode, target.name, facts.table, target.ids, rewritten),
    ...sharedTableNotes(target.name, facts.table, judgement, rewritten),
    ...writtenNotes(context.policy.mode, target.ids, units),
    ...target.ids.flatMap(mergedNotes),
    ...target.ids.flatMap(partsOf).flatMap((id) => [...checkColumn(context.remap, id), ...pathNotes(id)]),
    ...earlierNotes(context, target, units),
    ...rowKeyNotes(context, target, units),
    ...otherKeyNotes(judgement.handling.key, units),
    ...newColumnNotes(context, (name) => columnOf(facts, name) !== undefined, target, units),
    ...newNameNotes(context, target),
    ...(await otherLedgerNotes(session, facts, target)),
  ];
  const found = { ...base, units, notes, earlier: NO_EARLIER };
  return { ...found, earlier: isUnreadable(notes) ? NO_EARLIER : await earlierOf(context, session, found) };
}

/** A ledger under another name knows what was rewritten as well. */
async function otherLedgerNotes(session: PgSession, facts: PgFacts, target: PostgresTarget): Promise<Note[]> {
  for (const schema of await listLedgers(session)) {
    if (schema === target.ledgerSchema) continue;
    // Anybody can make such tables.
    if ((await ledgerNotes(session, schema, facts.table)).length > 0) continue;
    const [unit] = await readUnits(session, schema, facts.table);
    if (unit === undefined) continue;
    const text = `Run ${unit.run} on this table is in the ledger of schema ${schema}: name that as the ledger's schema.`;
    return [blocks('other_ledger', text)];
  }
  return [];
}

function newNameNotes({ policy }: ApplyContext, target: PostgresTarget): Note[] {
  if (policy.mode !== 'new') return [];
  return target.ids
    .map(newColumnOf)
    .filter((name) => Buffer.byteLength(name) > MAX_NAME_BYTES)
    .map((name) => blocks('new_column_name', `"${name}" is too long for a column: set "newColumn".`));
}

async function earlierOf(context: ApplyContext, session: PgSession, found: Found): Promise<Earlier> {
  const { earlier, covered } = findEarlier(context, found.target, found.units);
  if (context.policy.mode === 'new' && earlier.run !== null) {
    let left = 0;
    for (const id of found.target.ids) left += await countUnfilled(session, found.facts, id);
    return { ...earlier, left };
  }
  let since = 0;
  if (found.judgement.handling.key.length === 0) return earlier;
  const held: Held[] = [];
  for (const id of covered) {
    since += await countSince(session, found, id);
    held.push(...(await readHeld(session, found.units, found.judgement.handling.key, id)));
  }
  return addHeld(earlier, since, held);
}

/** Cells with a value and without one in the new column. */
async function countUnfilled(session: PgSession, facts: PgFacts, id: IdColumn): Promise<number> {
  if (columnOf(facts, newColumnOf(id)) === undefined) return 0;
  return Number(
    await session.one(
      `SELECT count(*) FROM ${facts.table} WHERE ${quoteName(id.column)} IS NOT NULL AND ${quoteName(newColumnOf(id))} IS NULL`,
    ),
  );
}

/** Cells with a value and without an entry. */
async function countSince(session: PgSession, found: Found, id: IdColumn): Promise<number> {
  const { key } = found.judgement.handling;
  const { from, where } = unenteredRows(found.facts, key, found.units, found.target.ledgerSchema, id);
  return Number(
    await session.one(`SELECT count(*) FROM ${from} ${where} AND t.${quoteName(id.column)} IS NOT NULL`),
  );
}

/** The same table after something was done to it in this run. */
export async function refresh(context: ApplyContext, session: PgSession, found: Found): Promise<Found> {
  const units = await readUnits(session, found.target.ledgerSchema, found.facts.table);
  const now = { ...found, units };
  return { ...now, earlier: await earlierOf(context, session, now) };
}

/** Reads a table and says what apply would do to it. Call inside a read-only transaction. */
export async function surveyTable(
  context: ApplyContext,
  session: PgSession,
  found: Found,
  { onLeft }: SurveyOptions = {},
): Promise<TargetPlan> {
  const { target, facts, notes } = found;
  const place = `${await session.place()}, table ${facts.table}`;
  const base = { target, place, rowsPerSecond: ROWS_PER_SECOND };
  if (isUnreadable(notes)) {
    return buildTablePlan({ ...base, earlier: found.earlier, rows: 0, columns: [], notes });
  }
  const rows = Number(await session.one(`SELECT count(*) FROM ${facts.table}`));
  const columns: ColumnPlan[] = [];
  const counted: Note[] = [];
  for (const id of target.ids) {
    const work = watchFinals(openColumn(context, id, context.policy), facts, context.policy.mode);
    const trial = context.policy.mode === 'new' ? null : await ColumnTrial.of(session, facts, id);
    const left: LeftCount[][] = [];
    for (const source of cellSources(context, found, id)) {
      const own = source.state === 'open' ? work : openColumn(context, id, source.policy);
      await tallyCells(context, session, found, own, {
        source,
        trial: source.state === 'open' ? trial : null,
      });
      if (own !== work) addLeft(left, leftOfWork(own, source));
      if (onLeft !== undefined) await listCells(context, session, found, id, { source, onLeft });
    }
    if (onLeft !== undefined && context.policy.mode === 'in_place')
      await listChanged(session, found, id, onLeft);
    const plans = buildColumnPlans(work, context.policy.mode, left);
    columns.push(...plans);
    counted.push(
      ...plans.flatMap((plan) => countedNotes(context, facts, found.judgement.handling, work, plan)),
      ...(await roomNotes(session, found, work, plans, trial)),
      ...(trial?.notes() ?? []),
    );
  }
  const earlier = await compareEarlier(context, session, found, onLeft);
  return buildTablePlan({ ...base, earlier, rows, columns, notes: [...notes, ...counted] });
}

/**
 * What a plan looks at in one column: what is to be rewritten, or, of a column that runs went through, what they left
 * and what came since.
 */
function cellSources(context: ApplyContext, found: Found, id: IdColumn): CellSource[] {
  const { facts, judgement, units, target, earlier } = found;
  const { policy } = context;
  const { key } = judgement.handling;
  const value = `t.${quoteName(id.column)}::text`;
  if (policy.mode === 'new') return [{ state: 'open', policy, from: `${facts.table} AS t`, value }];
  if (earlier.state === 'unfinished') return [];
  const rows = unenteredRows(facts, key, units, target.ledgerSchema, id);
  const state = isOpen(context, found, id) ? 'open' : 'unentered';
  const entered = finishedPlaces(units, key, id).map(({ unit, col }): CellSource => {
    const match = keyMatch(unit.key, unit.keyTypes, (part) => `t.${quoteName(part)}`, 'e.row_key');
    // Only JSON has several ids in a cell: some were rewritten, others kept.
    const hasRest = id.path === undefined ? 'AND e.new IS NULL' : '';
    return {
      state: 'entered',
      policy: { ...policy, ...unit.policy },
      from: `${quoteName(target.ledgerSchema)}.entry AS e JOIN ${unit.table} AS t ON ${match}
        WHERE e.unit = ${unit.unit} AND e.col = ${col} AND e.id <= ${unit.done} AND ${value} IS NOT DISTINCT FROM e.new ${hasRest}`,
      value: 'e.old',
    };
  });
  return [{ state, policy, from: `${rows.from} ${rows.where}`, value }, ...entered];
}

async function tallyCells(
  context: ApplyContext,
  session: PgSession,
  { facts }: Found,
  work: ColumnWork,
  { source, trial }: { readonly source: CellSource; readonly trial: ColumnTrial | null },
): Promise<void> {
  const judge = buildGroupJudge(work, context.policy.mode);
  let done = 0;
  for await (const groups of session.read(groupSql(source.from, '', work.column, source.value))) {
    await judgeAll(judge, groups, trial);
    done += groups.length;
    context.onProgress({ kind: 'step', name: `reading ${facts.table}`, done, total: null });
  }
}

interface ListWhat {
  readonly source: CellSource;
  readonly onLeft: OnLeft;
}

/** Reports every cell that is left, row by row. */
async function listCells(
  context: ApplyContext,
  session: PgSession,
  { target, facts, judgement }: Found,
  id: IdColumn,
  { source, onLeft }: ListWhat,
): Promise<void> {
  const key = rowKeyOf(facts, judgement.handling.key);
  const terms = [...groupTerms(id, 't', source.value), "'1'"];
  const keys = key.map((name) => `t.${quoteName(name)}::text`);
  let values: Cells = [];
  const work = openColumn(context, id, source.policy);
  const row = () => ({ key: keyOf(key, values) });
  const judge = buildGroupJudge(watchLeft(work, source, target.name, onLeft, row), context.policy.mode);
  for await (const rows of session.read(`SELECT ${[...terms, ...keys].join(', ')} FROM ${source.from}`)) {
    for (const cells of rows) {
      values = cells.slice(terms.length);
      judgeGroup(judge, cells.slice(0, terms.length));
    }
  }
}

/** How a row is named: by the key it is rewritten by, else by its first key or where it lies. */
function rowKeyOf({ keys }: PgFacts, key: readonly string[]): readonly string[] {
  return key.length > 0 ? key : (keys[0] ?? ['ctid']);
}

/** Reports every cell that a run wrote and that holds something else by now. */
async function listChanged(
  session: PgSession,
  { target, judgement, units }: Found,
  id: IdColumn,
  onLeft: OnLeft,
): Promise<void> {
  const { key } = judgement.handling;
  await readHeld(session, units, key, id, (value, ...values) =>
    tellRow(onLeft, target.name, id, {
      kind: 'changed_since',
      reason: 'changed',
      value: value ?? '',
      key: keyOf(key, values),
    }),
  );
}

/** Compares the new columns that runs filled with what they were filled from. */
async function compareEarlier(
  context: ApplyContext,
  session: PgSession,
  { target, facts, judgement, units, earlier }: Found,
  onLeft: OnLeft | undefined,
): Promise<Earlier> {
  if (context.policy.mode !== 'new' || earlier.run === null) return earlier;
  const key = rowKeyOf(facts, judgement.handling.key);
  const changed = new RowNames();
  let left = 0;
  for (const id of target.ids) {
    const unit = units.findLast((one) => one.mode === 'new' && one.labels.includes(columnLabel(id)));
    if (unit === undefined || columnOf(facts, newColumnOf(id)) === undefined) continue;
    const compared = await compareFilled(context, session, unit, id, { key, onLeft });
    left += compared.unfilled.count;
    changed.merge(compared.foreign);
  }
  return { ...earlier, left, changedSince: changed.count, changedRows: changed.names };
}

async function judgeAll(
  judge: GroupJudge,
  groups: readonly Cells[],
  trial: ColumnTrial | null,
): Promise<void> {
  const changed: Cells[] = [];
  for (const group of groups) {
    const now = judgeGroup(judge, group);
    if (now !== undefined && trial !== null) changed.push([...group.slice(0, -1), now]);
  }
  if (changed.length > 0) await trial?.tryValues(changed);
}

/** Ids that swap under a unique constraint need values that no row holds. */
async function roomNotes(
  session: PgSession,
  { facts, judgement }: Found,
  work: ColumnWork,
  plans: readonly ColumnPlan[],
  trial: ColumnTrial | null,
): Promise<Note[]> {
  const column = columnOf(facts, work.column.column);
  if (column === undefined || !judgement.handling.parked.includes(column.name)) return [];
  const toPark = { rows: changedRows(plans), highest: largestFinal(work) };
  if (toPark.rows === 0n || column.holds === 'other') return [];
  const term = await parkingTerm(session, facts.table, column, toPark);
  if (term === null) return [noRoomNote(column.name, column.type)];
  await trial?.tryParked(term);
  return [];
}
