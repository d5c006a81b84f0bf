import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { openColumn } from '../column-work.js';
import type { ApplyContext, RunFacts, Written } from '../context.js';
import type { TargetPlan } from '../plan.js';
import { quoteName } from '../sql-names.js';
import { assertRecount } from '../tables/assert-agreed.js';
import { columnOf } from '../tables/table-facts.js';
import { watchFinals } from '../tables/table-plan.js';
import {
  buildCellJudge,
  type Cell,
  cellSql,
  judgeCell,
  judgeSql,
  KEEP_SQL,
  registerJudge,
  resultSql,
  rowScopes,
  scopeSql,
} from './cells.js';
import { ensureLedger, insertUnit, readUnit } from './ledger.js';
import { assertSameUnits, describeWritten } from './sqlite-batches.js';
import type { SqliteFacts } from './sqlite-facts.js';
import type { Found } from './sqlite-survey.js';
import { inTransaction, type UserDb } from './user-db.js';

/**
 * Fills new columns with V4 ids; the old ones stay as they are. Rows that came since an earlier filling are
 * filled now; a new column's value is never changed once it is there.
 *
 * @throws SvcError `bad_input` before anything is written, `locked`, `interrupted`
 */
export async function writeNewColumns(
  context: ApplyContext,
  db: UserDb,
  found: Found,
  agreed: TargetPlan,
  run: RunFacts,
): Promise<Written> {
  const unit = await inTransaction(context, db, () => begin(context, db, found, agreed, run));
  const { facts, target } = found;
  for (const id of target.ids) {
    const work = openColumn(context, id, context.policy);
    registerJudge(db, 'svc_migrate_judge', buildCellJudge(work, 'new'));
    for (let from = MIN_ROWID; ; ) {
      const until = endOfBatch(context, db, facts, from);
      await inTransaction(context, db, () =>
        fill(db, facts, id, unit, until === null ? null : [from, until]),
      );
      if (until === null) break;
      context.onProgress({
        kind: 'step',
        name: `filling ${newColumnOf(id)}`,
        done: Number(until),
        total: null,
      });
      from = until;
    }
  }
  await inTransaction(context, db, () => finish(context, db, unit));
  return describeWritten(db, readUnit(db, unit));
}

const MIN_ROWID = -(2n ** 63n);

/** The last rowid of the batch that begins at `from`; null where what is left, or has no rowid, goes at once. */
function endOfBatch({ tuning }: ApplyContext, db: UserDb, facts: SqliteFacts, from: bigint): bigint | null {
  if (facts.rowid === null) return null;
  const { rowid } = facts;
  const found = db
    .prepare<[bigint, number], bigint>(
      `SELECT ${rowid} FROM ${quoteName(facts.table)} WHERE ${rowid} >= ? ORDER BY ${rowid} LIMIT 1 OFFSET ?`,
    )
    .safeIntegers()
    .pluck()
    .get(from, tuning.batchRows);
  return found ?? null;
}

function begin(context: ApplyContext, db: UserDb, found: Found, agreed: TargetPlan, run: RunFacts): number {
  ensureLedger(db);
  assertSameUnits(db, found);
  const { target, facts } = found;
  for (const id of target.ids) assertColumnAgreed(context, db, found, agreed, run, id);
  const open = found.units.find((unit) => unit.mode === 'new' && unit.run === agreed.earlier.run);
  if (open !== undefined) {
    db.prepare("UPDATE svc_migrate_run SET state = 'working' WHERE unit = ?").run(open.unit);
    return open.unit;
  }
  for (const id of target.ids) {
    const type = columnOf(facts, id.column)?.type ?? '';
    const declared = type === 'without type' ? '' : type;
    db.exec(`ALTER TABLE ${quoteName(facts.table)} ADD COLUMN ${quoteName(newColumnOf(id))} ${declared}`);
  }
  return insertUnit(db, context, run, { target, table: facts.table, key: [], isAtomic: false });
}

/** Counts once more, in the transaction that adds the column. */
function assertColumnAgreed(
  context: ApplyContext,
  db: UserDb,
  found: Found,
  agreed: TargetPlan,
  run: RunFacts,
  id: IdColumn,
): void {
  const work = watchFinals(openColumn(context, id, context.policy), found.facts, 'new');
  const judge = buildCellJudge(work, 'new');
  const sql = `SELECT ${[cellSql(id, 't'), ...scopeSql(id, 't')].join(', ')} FROM ${quoteName(found.facts.table)} AS t`;
  for (const [cell = null, ...scope] of db.prepare<[], Cell[]>(sql).raw().iterate()) {
    judgeCell(judge, cell, typeof cell === 'string', rowScopes(id, scope));
  }
  assertRecount(context, { agreed, run, work, table: null });
}

/** Fills rows that have an id and no V4 id yet: those from the first rowid up to the second, or all. */
function fill(
  db: UserDb,
  facts: SqliteFacts,
  id: IdColumn,
  unit: number,
  range: readonly [bigint, bigint] | null,
): void {
  const table = quoteName(facts.table);
  const fresh = quoteName(newColumnOf(id));
  const handle = facts.rowid === null ? (facts.keys[0] ?? []).map(quoteName) : [facts.rowid];
  const where = range === null ? 'TRUE' : `t.${facts.rowid} >= ? AND t.${facts.rowid} < ?`;
  const changed = db
    .prepare(
      `UPDATE ${table} AS u SET ${fresh} = ${resultSql(id, 'x.n')} FROM (
         SELECT ${handle.map((part, at) => `t.${part} AS h${at}`).join(', ')}, ${judgeSql('svc_migrate_judge', id, 't')} AS n
         FROM ${table} AS t WHERE ${where} AND t.${quoteName(id.column)} IS NOT NULL AND t.${fresh} IS NULL LIMIT -1
       ) AS x WHERE ${handle.map((part, at) => `u.${part} = x.h${at}`).join(' AND ')} AND x.n IS NOT ${KEEP_SQL} AND x.n IS NOT NULL`,
    )
    .run(...(range ?? [])).changes;
  db.prepare('UPDATE svc_migrate_run SET changed = changed + ? WHERE unit = ?').run(changed, unit);
}

function finish({ now }: ApplyContext, db: UserDb, unit: number): void {
  db.prepare("UPDATE svc_migrate_run SET state = 'done', finished_at = ? WHERE unit = ?").run(
    new Date(now()).toISOString(),
    unit,
  );
}
