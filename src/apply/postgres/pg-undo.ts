import { newColumnOf } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { type ApplyContext, NAMED_ROWS, type Undone } from '../context.js';
import { RowNames } from '../row-names.js';
import { quoteName } from '../sql-names.js';
import { type Batch, undoBatches } from '../tables/batches.js';
import type { FilledColumn } from '../tables/entry-checks.js';
import { columnOf } from '../tables/table-facts.js';
import { assertNoDependent } from '../tables/units.js';
import { lockTables } from './pg-atomic.js';
import { hasOwnTypes } from './pg-batches.js';
import { compareFilled } from './pg-compare-filled.js';
import { readPgFacts } from './pg-facts.js';
import { keyMatch, keySql, lockLedger, readUnits, type Unit } from './pg-ledger.js';
import { BEGIN_LATEST, BEGIN_READ_ONLY, BEGIN_SNAPSHOT, type PgSession } from './pg-session.js';
import { changeWork, createWork, WORK, type WorkList } from './pg-work.js';

/** Takes the batches of a unit back, in the order they came; entries leave the ledger with their change. */
export async function undoInBatches(context: ApplyContext, session: PgSession, unit: Unit): Promise<Undone> {
  await session.retry(() => setState(session, unit, 'undoing'));
  const total = await session.retry(() => countEntries(session, unit));
  const { triggers } = await session.retry(() => readPgFacts(session, unit.target));
  for (const batch of undoBatches(unit, context.tuning.batchRows)) {
    await session.transaction(BEGIN_LATEST, async () => {
      if (triggers.length > 0 || hasOwnTypes(unit.keyTypes)) await session.useUserPath();
      await undoBatch(session, unit, batch);
    });
    context.onProgress({
      kind: 'step',
      name: `taking back ${unit.table}`,
      done: batch.until - unit.first,
      total: unit.done - unit.first,
    });
  }
  return session.transaction(BEGIN_LATEST, () => finishUndo(session, unit, total));
}

/** May be run again: an entry is there only as long as its change is. */
async function undoBatch(session: PgSession, unit: Unit, batch: Batch): Promise<void> {
  const s = quoteName(unit.target.ledgerSchema);
  await session.exec(
    'SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_bitmapscan = off',
  );
  for (const [col, { column }] of unit.target.ids.entries()) {
    const name = quoteName(column);
    await session.query(
      `WITH b AS MATERIALIZED (
         SELECT id, row_key, old, new FROM ${s}.entry WHERE id > $1::bigint AND id <= $2::bigint AND unit = $3::bigint AND col = ${col}
       ), u AS (
         UPDATE ${unit.table} AS t SET ${name} = b.old::${unit.types[col]} FROM b
         WHERE ${keyMatch(unit.key, unit.keyTypes, (part) => `t.${quoteName(part)}`, 'b.row_key')}
           AND t.${name}::text IS NOT DISTINCT FROM b.new
         RETURNING b.id, t.${name}::text IS NOT DISTINCT FROM b.old AS is_back
       )
       DELETE FROM ${s}.entry WHERE id IN (SELECT id FROM u WHERE is_back)`,
      [String(batch.from), String(batch.until), unit.unit],
    );
  }
}

/** Takes several units back in one transaction, the last one first. */
export async function undoAtOnce(session: PgSession, units: readonly Unit[]): Promise<Undone[]> {
  const [first] = units;
  if (first === undefined) return [];
  const totals = new Map<string, number>();
  for (const unit of units) totals.set(unit.unit, await session.retry(() => countEntries(session, unit)));
  return session.transaction(BEGIN_SNAPSHOT, async () => {
    await lockLedger(session, first.target.ledgerSchema);
    await lockTables(
      session,
      units.map(({ table }) => table),
    );
    await session.exec('SET CONSTRAINTS ALL DEFERRED');
    for (const unit of units)
      assertNoDependent(unit, await readUnits(session, unit.target.ledgerSchema, unit.table));
    const undone: Undone[] = [];
    for (const unit of [...units].reverse()) {
      await undoTable(session, unit);
      undone.push(await finishUndo(session, unit, totals.get(unit.unit) ?? 0));
    }
    return undone;
  });
}

async function undoTable(session: PgSession, unit: Unit): Promise<void> {
  const facts = await readPgFacts(session, unit.target);
  const columns = unit.target.ids.map((id) => id.column);
  const isUnique = (column: string) => facts.uniques.some((unique) => unique.columns.includes(column));
  const parked = columns.filter(isUnique).flatMap((column) => columnOf(facts, column) ?? []);
  const work: WorkList = { table: facts.table, key: unit.key, columns, parked };
  const s = quoteName(unit.target.ledgerSchema);
  const value = (column: string) => `t.${quoteName(column)}`;
  const joins = columns.map(
    (column, at) => `LEFT JOIN ${s}.entry AS e${at} ON e${at}.unit = ${unit.unit} AND e${at}.col = ${at}
      AND e${at}.row_key = ${keySql(unit.key, value)} AND ${value(column)}::text IS NOT DISTINCT FROM e${at}.new`,
  );
  const results = columns.map(
    (column, at) =>
      `CASE WHEN e${at}.id IS NULL THEN ${value(column)} ELSE e${at}.old::${unit.types[at]} END`,
  );
  const isOurs = columns.map((_, at) => `e${at}.id IS NOT NULL`);
  await createWork(
    session,
    work,
    `SELECT ${[...unit.key.map(value), ...columns.map(value), ...results, ...isOurs].join(', ')} FROM ${facts.table} AS t
     ${joins.join(' ')} WHERE ${isOurs.join(' OR ')}`,
  );
  await changeWork(session, work, facts.triggers);
  const rowKey = keySql(
    unit.key.map((_, at) => `k${at}`),
    (name) => `w.${name}`,
  );
  for (const at of columns.keys()) {
    await session.exec(`DELETE FROM ${s}.entry WHERE unit = ${unit.unit} AND col = ${at} AND row_key IN (
      SELECT ${rowKey} FROM ${WORK} AS w WHERE w.r${at})`);
  }
}

async function countEntries(session: PgSession, unit: Unit): Promise<number> {
  const sql = `SELECT count(*) FROM ${quoteName(unit.target.ledgerSchema)}.entry WHERE unit = $1::bigint AND id <= $2::bigint`;
  return Number(await session.one(sql, [unit.unit, String(unit.done)]));
}

async function setState(session: PgSession, unit: Unit, state: Unit['state']): Promise<void> {
  const sql = `UPDATE ${quoteName(unit.target.ledgerSchema)}.run SET state = $1 WHERE unit = $2::bigint`;
  await session.query(sql, [state, unit.unit]);
}

/**
 * What is left over are rows changed since: their entries stay, so that they are never rewritten again. Rows that
 * are gone are named once.
 */
async function finishUndo(session: PgSession, unit: Unit, total: number): Promise<Undone> {
  const s = quoteName(unit.target.ledgerSchema);
  await session.exec(`DELETE FROM ${s}.entry WHERE unit = ${unit.unit} AND id > ${unit.done}`);
  const left = await countEntries(session, unit);
  const match = keyMatch(unit.key, unit.keyTypes, (part) => `t.${quoteName(part)}`, 'e.row_key');
  const isGone = `NOT EXISTS (SELECT 1 FROM ${unit.table} AS t WHERE ${match})`;
  const { rows } = await session.query(
    `SELECT array_to_string(row_key, ', ') || CASE WHEN ${isGone} THEN ' (gone)' ELSE '' END FROM ${s}.entry AS e
     WHERE unit = $1::bigint ORDER BY id LIMIT ${NAMED_ROWS}`,
    [unit.unit],
  );
  await session.exec(`DELETE FROM ${s}.entry AS e WHERE unit = ${unit.unit} AND ${isGone}`);
  await setState(session, unit, (await countEntries(session, unit)) === 0 ? 'undone' : 'done');
  const changedSince = rows.map(([key]) => `row ${key ?? ''}`);
  return { target: unit.target.name, restored: total - left, changedSince, changedSinceCount: left };
}

/**
 * Takes new columns back by dropping them. A value that is not what the remap gives was put there by someone else:
 * then nothing is dropped and the rows are named.
 *
 * @throws SvcError `bad_input` where the remap is another one, so that this cannot be told
 */
export async function undoNewColumns(context: ApplyContext, session: PgSession, unit: Unit): Promise<Undone> {
  const names = unit.target.ids.map(newColumnOf);
  if (unit.remapSha256 !== context.facts.sha256) {
    throw new SvcError(
      'bad_input',
      `Run ${unit.run} used another remap: whether its new columns were changed cannot be told.`,
      {
        hint: `Drop ${names.join(', ')} of ${unit.table} by hand.`,
      },
    );
  }
  const base = { target: unit.target.name };
  const { compared, gone } = await compareAllFilled(context, session, unit);
  const foreign = new RowNames();
  for (const one of compared) foreign.merge(one.foreign);
  if (foreign.count > 0) {
    return { ...base, restored: 0, changedSince: foreign.names, changedSinceCount: foreign.count };
  }
  await session.transaction(BEGIN_LATEST, async () => {
    for (const name of names) {
      await session.exec(`ALTER TABLE ${unit.table} DROP COLUMN IF EXISTS ${quoteName(name)}`);
    }
    await setState(session, unit, 'undone');
  });
  const restored = gone.length === names.length ? 0 : unit.changed;
  return { ...base, restored, changedSince: [], changedSinceCount: 0 };
}

/** Compares the columns that a run filled with what the remap gives for those beside them; `gone` were dropped by hand. */
export async function compareAllFilled(
  context: ApplyContext,
  session: PgSession,
  unit: Unit,
): Promise<{ readonly compared: readonly FilledColumn[]; readonly gone: readonly string[] }> {
  const facts = await session.retry(() => readPgFacts(session, unit.target));
  const compared: FilledColumn[] = [];
  const gone: string[] = [];
  for (const id of unit.target.ids) {
    if (columnOf(facts, newColumnOf(id)) === undefined) gone.push(newColumnOf(id));
    else
      compared.push(
        await session.transaction(BEGIN_READ_ONLY, () => compareFilled(context, session, unit, id)),
      );
  }
  return { compared, gone };
}
