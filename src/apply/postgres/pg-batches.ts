import type { IdColumn } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { type ApplyContext, NAMED_ROWS, type RunFacts, type Written } from '../context.js';
import type { TargetPlan } from '../plan.js';
import { quoteName } from '../sql-names.js';
import { assertRecount } from '../tables/assert-agreed.js';
import { type Batch, nextBatch } from '../tables/batches.js';
import { notWritten } from '../tables/not-written.js';
import { isOpen } from '../tables/units.js';
import { unenteredRows } from './pg-groups.js';
import { insertUnit, keyMatch, keySql, lockLedger, readUnit, readUnits, type Unit } from './pg-ledger.js';
import { copyMap, mapMatch } from './pg-map.js';
import { BEGIN_LATEST, BEGIN_SNAPSHOT, type PgSession } from './pg-session.js';
import type { Found } from './pg-survey.js';

/**
 * Rewrites a table in place, in batches: enters all changes in the ledger in one transaction, then carries them
 * out, each batch with its progress in one transaction. A run that was stopped goes on where it was.
 *
 * @throws SvcError `bad_input` before anything is written, `apply_stopped`, `locked`, `interrupted`
 */
export async function writeInBatches(
  context: ApplyContext,
  session: PgSession,
  found: Found,
  agreed: TargetPlan,
  run: RunFacts,
): Promise<Written> {
  const { ledgerSchema } = found.target;
  const open = found.units.find(({ state }) => state === 'working');
  const unit = open?.unit ?? (await begin(context, session, found, agreed, run));
  const { batchRows } = context.tuning;
  let at = await session.retry(() => readUnit(session, ledgerSchema, unit));
  for (let batch = nextBatch(at, batchRows); batch !== null; batch = nextBatch(at, batchRows)) {
    const [current, own] = [at, batch];
    await session.retry(() => carryOutBatch(session, current, own, found.facts.triggers));
    at = await session.retry(() => readUnit(session, ledgerSchema, unit));
    const done = at.done - at.first;
    context.onProgress({ kind: 'step', name: `rewriting ${at.table}`, done, total: at.last - at.first });
  }
  await session.retry(() => finishUnit(context, session, ledgerSchema, unit));
  return session.retry(async () => describeWritten(session, await readUnit(session, ledgerSchema, unit)));
}

/** Enters every change; checks on the way that the data are what was agreed to. Knows a unit that it entered before. */
function begin(
  context: ApplyContext,
  session: PgSession,
  found: Found,
  agreed: TargetPlan,
  run: RunFacts,
): Promise<string> {
  const { target, facts, judgement, keyTypes, types } = found;
  const { key, isAtomic } = judgement.handling;
  return session.transaction(BEGIN_SNAPSHOT, async () => {
    await lockLedger(session, target.ledgerSchema);
    const before = await findEntered(session, found, run);
    if (before !== null) return before;
    const unit = await insertUnit(session, context, run, {
      target,
      table: facts.table,
      key,
      keyTypes,
      types,
      isAtomic,
    });
    for (const [col, id] of target.ids.entries()) {
      if (isOpen(context, found, id))
        await enterColumn(context, session, found, agreed, run, { ...unit, col, id });
    }
    const s = quoteName(target.ledgerSchema);
    await session.exec(`UPDATE ${s}.run SET last_entry = greatest(first_entry, (SELECT coalesce(max(id), 0) FROM ${s}.entry))
      WHERE unit = ${unit.unit}`);
    return unit.unit;
  });
}

/**
 * The unit of this run, where a connection was lost right after it was entered.
 *
 * @throws SvcError `locked` where another process began meanwhile
 */
export async function findEntered(session: PgSession, found: Found, run: RunFacts): Promise<string | null> {
  const units = await readUnits(session, found.target.ledgerSchema, found.facts.table);
  const before = new Set(found.units.map(({ unit }) => unit));
  const came = units.filter(({ unit }) => !before.has(unit));
  const ours = came.find((unit) => unit.run === run.run && unit.target.name === found.target.name);
  if (ours !== undefined) return ours.unit;
  if (came.length === 0 && units.length === found.units.length) return null;
  throw new SvcError('locked', `Another svc-migrate is rewriting ${found.facts.table}.`, {
    hint: 'Wait until it has finished.',
  });
}

interface EnterWhat {
  readonly unit: string;
  readonly base: number;
  readonly col: number;
  readonly id: IdColumn;
}

async function enterColumn(
  context: ApplyContext,
  session: PgSession,
  found: Found,
  agreed: TargetPlan,
  run: RunFacts,
  { unit, col, id }: EnterWhat,
): Promise<void> {
  const { facts, judgement, target, units } = found;
  const rows = unenteredRows(facts, judgement.handling.key, units, target.ledgerSchema, id);
  const { map, work } = await copyMap(context, session, found, id, { ...rows, at: col, dropAtCommit: true });
  assertRecount(context, { agreed, run, work, table: { facts, handling: judgement.handling } });
  const s = quoteName(target.ledgerSchema);
  const value = `t.${quoteName(id.column)}::text`;
  await session.exec(
    `INSERT INTO ${s}.entry(id, unit, col, row_key, old, new)
     SELECT (SELECT coalesce(max(id), 0) FROM ${s}.entry) + row_number() OVER (), ${unit}, ${col},
       ${keySql(judgement.handling.key, (name) => `t.${quoteName(name)}`)}, ${value}, m.new
     FROM ${rows.from} JOIN ${map.table} AS m ON ${mapMatch(id, 't', 'm')} ${rows.where}`,
  );
}

/** May be run again: the progress it moves tells whether it was carried out. */
async function carryOutBatch(
  session: PgSession,
  unit: Unit,
  batch: Batch,
  triggers: readonly string[],
): Promise<void> {
  const s = quoteName(unit.target.ledgerSchema);
  await session.exec(BEGIN_LATEST);
  const moved = await session.query(
    `UPDATE ${s}.run SET done_entry = $1::bigint WHERE unit = $2::bigint AND done_entry = $3::bigint AND state = 'working'`,
    [String(batch.until), unit.unit, String(batch.from)],
  );
  if (moved.count === 1) {
    await session.exec(USE_KEY_INDEX);
    if (triggers.length > 0 || hasOwnTypes(unit.keyTypes)) await session.useUserPath();
    let skipped = 0;
    for (const [col, { column }] of unit.target.ids.entries())
      skipped += await changeRows(session, unit, batch, col, column);
    if (triggers.length > 0 && (await isSpoilt(session, unit, batch, skipped > 0))) {
      throw notWritten(unit.table, triggers);
    }
  }
  await session.exec('COMMIT');
  if (moved.count === 1) return;
  const now = await readUnit(session, unit.target.ledgerSchema, unit.unit);
  if (now.done >= batch.until && now.state === 'working') return;
  throw new SvcError('locked', `Run ${unit.run} is being carried on or taken back by another process.`, {
    hint: 'Wait until it has finished.',
  });
}

/** Whether types are not the catalog's own: so are the operators that their indexes know. */
export function hasOwnTypes(types: readonly string[]): boolean {
  return types.some((type) => type.includes('.'));
}

/** A batch must cost what it changes, not what the table holds. */
const USE_KEY_INDEX =
  'SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_bitmapscan = off';

/** Changes the rows of a batch, each only while it holds its old value; entries of the others leave the ledger. Returns how many. */
async function changeRows(
  session: PgSession,
  unit: Unit,
  batch: Batch,
  col: number,
  column: string,
): Promise<number> {
  const s = quoteName(unit.target.ledgerSchema);
  const name = quoteName(column);
  const skipped = await session.query(
    `WITH b AS MATERIALIZED (
       SELECT id, row_key, old, new FROM ${s}.entry WHERE id > $1::bigint AND id <= $2::bigint AND unit = $3::bigint AND col = ${col}
     ), u AS (
       UPDATE ${unit.table} AS t SET ${name} = b.new::${unit.types[col]} FROM b
       WHERE ${keyMatch(unit.key, unit.keyTypes, (part) => `t.${quoteName(part)}`, 'b.row_key')} AND t.${name}::text = b.old
       RETURNING b.id
     ), gone AS (
       DELETE FROM ${s}.entry AS e USING (SELECT id FROM b EXCEPT SELECT id FROM u) AS x WHERE e.id = x.id
       RETURNING e.unit, e.col, e.row_key, e.old, e.new
     )
     INSERT INTO ${s}.skipped SELECT * FROM gone`,
    [String(batch.from), String(batch.until), unit.unit],
  );
  return skipped.count;
}

/**
 * Whether triggers had their way: a row of the batch does not hold what was written to it, or was skipped and holds
 * its old id still.
 */
async function isSpoilt(session: PgSession, unit: Unit, batch: Batch, hasSkipped: boolean): Promise<boolean> {
  const s = quoteName(unit.target.ledgerSchema);
  const match = keyMatch(unit.key, unit.keyTypes, (part) => `t.${quoteName(part)}`, 'e.row_key');
  for (const [col, { column }] of unit.target.ids.entries()) {
    const cell = `t.${quoteName(column)}::text`;
    const found = await session.one(
      `SELECT EXISTS (SELECT 1 FROM ${s}.entry AS e JOIN ${unit.table} AS t ON ${match}
           WHERE e.id > $1::bigint AND e.id <= $2::bigint AND e.unit = $3::bigint AND e.col = ${col} AND ${cell} IS DISTINCT FROM e.new)
         OR ${hasSkipped} AND EXISTS (SELECT 1 FROM ${s}.skipped AS e JOIN ${unit.table} AS t ON ${match}
           WHERE e.unit = $3::bigint AND e.col = ${col} AND ${cell} = e.old)`,
      [String(batch.from), String(batch.until), unit.unit],
    );
    if (found === 't') return true;
  }
  return false;
}

/** Marks a unit as done and counts what it did. */
export async function finishUnit(
  { now }: Pick<ApplyContext, 'now'>,
  session: PgSession,
  schema: string,
  unit: string,
): Promise<void> {
  const s = quoteName(schema);
  await session.query(
    `UPDATE ${s}.run AS r SET state = 'done', finished_at = $1,
       changed = (SELECT count(*) FROM ${s}.entry AS e WHERE e.unit = r.unit AND e.id > r.first_entry AND e.id <= r.last_entry),
       skipped = (SELECT count(*) FROM ${s}.skipped AS k WHERE k.unit = r.unit)
     WHERE unit = $2::bigint AND state = 'working'`,
    [new Date(now()).toISOString(), unit],
  );
}

export async function describeWritten(session: PgSession, unit: Unit): Promise<Written> {
  const s = quoteName(unit.target.ledgerSchema);
  const { rows } = await session.query(
    `SELECT array_to_string(row_key, ', ') FROM ${s}.skipped WHERE unit = $1::bigint LIMIT ${NAMED_ROWS}`,
    [unit.unit],
  );
  return {
    target: unit.target.name,
    run: unit.run,
    changed: unit.changed,
    skipped: rows.map(([key]) => `row ${key ?? ''}`),
    skippedCount: unit.skipped,
    alreadyDone: false,
  };
}
