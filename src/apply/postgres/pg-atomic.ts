import { columnLabel } from '../../config/apply-targets.js';
import type { ColumnWork } from '../column-work.js';
import type { ApplyContext, RunFacts, Written } from '../context.js';
import type { TargetPlan } from '../plan.js';
import { quoteName } from '../sql-names.js';
import { assertRecount } from '../tables/assert-agreed.js';
import { columnOf } from '../tables/table-facts.js';
import { isOpen } from '../tables/units.js';
import { describeWritten, findEntered, finishUnit } from './pg-batches.js';
import { unenteredRows } from './pg-groups.js';
import { enteredRows, insertUnit, keySql, lockLedger, readUnit } from './pg-ledger.js';
import { copyMap, mapMatch, type ValueMap } from './pg-map.js';
import { BEGIN_SNAPSHOT, type PgSession } from './pg-session.js';
import type { Found } from './pg-survey.js';
import { changeWork, createWork, newKeyTerm, WORK, type WorkList } from './pg-work.js';

/** A table with what was agreed for it. */
export interface Agreed {
  readonly found: Found;
  readonly agreed: TargetPlan;
}

/**
 * Rewrites tables in place in one transaction: all of them or none. Writers wait meanwhile; foreign keys that can
 * be are checked at its end.
 *
 * @throws SvcError `bad_input`, `locked`, `interrupted`; nothing was written then
 */
export async function writeAtOnce(
  context: ApplyContext,
  session: PgSession,
  tables: readonly Agreed[],
  run: RunFacts,
): Promise<Written[]> {
  const [first] = tables;
  if (first === undefined) return [];
  const schema = first.found.target.ledgerSchema;
  const units = await session.transaction(BEGIN_SNAPSHOT, async () => {
    await lockLedger(session, schema);
    await lockTables(
      session,
      tables.map(({ found }) => found.facts.table),
    );
    await session.exec('SET CONSTRAINTS ALL DEFERRED');
    const written: string[] = [];
    for (const table of tables) written.push(await writeTable(context, session, table, run));
    return written;
  });
  const written: Written[] = [];
  for (const unit of units) {
    written.push(
      await session.retry(async () => describeWritten(session, await readUnit(session, schema, unit))),
    );
  }
  return written;
}

/** Before the first query, so that its snapshot holds what the last writer wrote; in one order, against deadlocks. */
export async function lockTables(session: PgSession, tables: readonly string[]): Promise<void> {
  const names = [...new Set(tables)].sort();
  await session.exec(`LOCK TABLE ${names.join(', ')} IN SHARE ROW EXCLUSIVE MODE`);
}

async function writeTable(
  context: ApplyContext,
  session: PgSession,
  { found, agreed }: Agreed,
  run: RunFacts,
): Promise<string> {
  const { target, facts, judgement, keyTypes, types } = found;
  const { key, isAtomic, parked } = judgement.handling;
  const before = await findEntered(session, found, run);
  if (before !== null) return before;
  const { unit } = await insertUnit(session, context, run, {
    target,
    table: facts.table,
    key,
    keyTypes,
    types,
    isAtomic,
  });
  const work: WorkList = {
    table: facts.table,
    key,
    columns: target.ids.map((id) => id.column),
    parked: parked.flatMap((name) => columnOf(facts, name) ?? []),
  };
  const maps = await copyMaps(context, session, found, agreed, run);
  await createWork(session, work, listQuery(found, maps));
  await changeWork(session, work, facts.triggers);
  await enterRows(session, target.ledgerSchema, unit, work);
  await finishUnit(context, session, target.ledgerSchema, unit);
  return unit;
}

/** The map of each column; null for one that a run has been through. */
async function copyMaps(
  context: ApplyContext,
  session: PgSession,
  found: Found,
  agreed: TargetPlan,
  run: RunFacts,
): Promise<(ValueMap | null)[]> {
  const { target, facts, judgement, units } = found;
  const maps: (ValueMap | null)[] = [];
  for (const [at, id] of target.ids.entries()) {
    if (!isOpen(context, found, id)) {
      maps.push(null);
      continue;
    }
    const rows = unenteredRows(facts, judgement.handling.key, units, target.ledgerSchema, id);
    const { map, work } = await copyMap(context, session, found, id, { ...rows, at, dropAtCommit: true });
    maps.push(map);
    assertColumn(context, found, agreed, run, work);
  }
  return maps;
}

function assertColumn(
  context: ApplyContext,
  { facts, judgement }: Found,
  agreed: TargetPlan,
  run: RunFacts,
  work: ColumnWork,
): void {
  assertRecount(context, { agreed, run, work, table: { facts, handling: judgement.handling } });
}

/** Every row of which a cell changes. */
function listQuery(
  { facts, judgement, target, types, units }: Found,
  maps: readonly (ValueMap | null)[],
): string {
  const { key } = judgement.handling;
  const value = (column: string) => `t.${quoteName(column)}`;
  const joins = maps.flatMap((map, at) => {
    const id = target.ids[at];
    if (map === null || id === undefined) return [];
    const entered = enteredRows(units, target.ledgerSchema, columnLabel(id));
    const isFree = entered === null ? '' : `AND e${at}.row_key IS NULL`;
    return [
      ...(entered === null
        ? []
        : [`LEFT JOIN ${entered} AS e${at} ON e${at}.row_key = ${keySql(key, value)}`]),
      `LEFT JOIN ${map.table} AS m${at} ON ${mapMatch(id, 't', `m${at}`)} ${isFree}`,
    ];
  });
  const results = target.ids.map(({ column }, at) =>
    maps[at] === null
      ? value(column)
      : `CASE WHEN m${at}.old IS NULL THEN ${value(column)} ELSE m${at}.new::${types[at]} END`,
  );
  const isRewritten = maps.map((map, at) => (map === null ? 'false' : `m${at}.old IS NOT NULL`));
  return `SELECT ${[...key.map(value), ...target.ids.map(({ column }) => value(column)), ...results, ...isRewritten].join(', ')}
    FROM ${facts.table} AS t ${joins.join(' ')} WHERE ${isRewritten.join(' OR ')}`;
}

/** Enters the changes under the keys the rows have now. */
async function enterRows(session: PgSession, schema: string, unit: string, work: WorkList): Promise<void> {
  const s = quoteName(schema);
  const places = new Map(work.key.map((column, at) => [column, at]));
  const rowKey = keySql(work.key, (column) => newKeyTerm(work, column, places.get(column) ?? 0));
  for (const at of work.columns.keys()) {
    await session.exec(
      `INSERT INTO ${s}.entry(id, unit, col, row_key, old, new)
       SELECT (SELECT coalesce(max(id), 0) FROM ${s}.entry) + row_number() OVER (), ${unit}, ${at}, ${rowKey}, w.o${at}::text, w.c${at}::text
       FROM ${WORK} AS w WHERE w.r${at}`,
    );
  }
  await session.exec(
    `UPDATE ${s}.run SET last_entry = greatest(first_entry, (SELECT coalesce(max(id), 0) FROM ${s}.entry)),
       done_entry = greatest(first_entry, (SELECT coalesce(max(id), 0) FROM ${s}.entry)) WHERE unit = ${unit}`,
  );
}
