import { type IdColumn, newColumnOf, type PostgresTarget } from '../../config/apply-targets.js';
import { blocks, checkColumn, openColumn } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import { type ColumnPlan, type Earlier, NO_EARLIER, type Note, type TargetPlan } from '../plan.js';
import { quoteName } from '../sql-names.js';
import { addHeld, type Held } from '../tables/held.js';
import { type Judgement, judgeTable, type Rewritten } from '../tables/judge-table.js';
import { columnOf } from '../tables/table-facts.js';
import {
  buildColumnPlan,
  buildTablePlan,
  countedNotes,
  isUnreadable,
  sameColumnNotes,
  watchFinals,
} from '../tables/table-plan.js';
import { rivalNotes, sharedNewColumnNotes, sharedTableNotes, writtenNotes } from '../tables/twice.js';
import {
  earlierNotes,
  findEarlier,
  isOpen,
  newColumnNotes,
  otherKeyNotes,
  pathNotes,
  rowKeyNotes,
} from '../tables/units.js';
import { type PgFacts, privilegeNotes } from './pg-facts.js';
import { buildGroupJudge, groupSql, judgeGroup, unenteredRows } from './pg-groups.js';
import { readHeld } from './pg-held.js';
import { listLedgers, readUnits, type Unit } from './pg-ledger.js';
import type { PgSession } from './pg-session.js';

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
  const units = await readUnits(session, target.ledgerSchema, facts.table);
  const notes = [
    ...judgement.notes,
    ...(await privilegeNotes(session, facts, target, context.policy.mode)),
    ...sameColumnNotes(target),
    ...rivalNotes(target.name, facts.table, target.ids, rewritten),
    ...sharedNewColumnNotes(context.policy.mode, target.name, facts.table, target.ids, rewritten),
    ...sharedTableNotes(target.name, facts.table, judgement, rewritten),
    ...writtenNotes(context.policy.mode, target.ids, units),
    ...target.ids.flatMap((id) => [...checkColumn(context.remap, id), ...pathNotes(id)]),
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
): Promise<TargetPlan> {
  const { target, facts, notes, earlier } = found;
  const place = `${await session.place()}, table ${facts.table}`;
  const base = { target, place, earlier, rowsPerSecond: ROWS_PER_SECOND };
  if (isUnreadable(notes)) return buildTablePlan({ ...base, rows: 0, columns: [], notes });
  const rows = Number(await session.one(`SELECT count(*) FROM ${facts.table}`));
  const columns: ColumnPlan[] = [];
  const counted: Note[] = [];
  for (const id of target.ids) {
    const work = watchFinals(openColumn(context, id, context.policy), facts, context.policy.mode);
    if (isOpen(context, found, id)) {
      const judge = buildGroupJudge(work, context.policy.mode);
      const units = context.policy.mode === 'new' ? [] : found.units;
      const { from, where } = unenteredRows(
        facts,
        found.judgement.handling.key,
        units,
        target.ledgerSchema,
        id,
      );
      let done = 0;
      for await (const groups of session.read(groupSql(from, where, id))) {
        for (const group of groups) judgeGroup(judge, group);
        done += groups.length;
        context.onProgress({ kind: 'step', name: `reading ${facts.table}`, done, total: null });
      }
    }
    const plan = buildColumnPlan(work, context.policy.mode);
    columns.push(plan);
    counted.push(...countedNotes(context, facts, found.judgement.handling, work, plan));
  }
  return buildTablePlan({ ...base, rows, columns, notes: [...notes, ...counted] });
}
