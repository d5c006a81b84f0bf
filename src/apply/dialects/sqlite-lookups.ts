import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { openColumn } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import type { ColumnFill, FillRange, LookUpSource, LookUpSql } from '../engine/dialect.js';
import { buildCellJudge, judgeCell, scopeTerms } from '../engine/judge-cells.js';
import { writesPlatformId } from '../engine/platform-ids.js';
import type { Cell } from '../engine/session.js';
import type { TableFacts } from '../engine/table-facts.js';
import type { Mode } from '../plan.js';
import { quoteName } from '../sql-names.js';
import { rowidName } from './sqlite-catalog.js';
import type { UserDb } from './sqlite-session.js';
import { integerSql, SQLITE_TEXT } from './sqlite-text.js';

/** Means that a cell stays as it is: no id is an empty blob. */
const KEEP = "x''";

/**
 * SQL that looks up a cell of table `t` through a JavaScript function. Select `call AS name` in a subquery that
 * evaluates it once; outside the subquery, `isChanged` tells whether the cell changes, and `value` is its new value in
 * the type of the column.
 */
export function registerLookUp(
  db: UserDb,
  name: string,
  work: LookUpSource['work'],
  mode: Mode,
): { readonly call: string; readonly isChanged: string; readonly value: string } {
  const id = work.column;
  const judge = buildCellJudge(work, mode);
  const keep = Buffer.alloc(0);
  db.function(
    name,
    { directOnly: true, varargs: true },
    (cell: Cell, isText: number, ...scope: unknown[]) => {
      const result = judgeCell(judge, cell, scope);
      if (result === undefined) return keep;
      // The new id has the type of the old one: text or integer. A platform_id is text.
      return typeof result === 'string' && isText === 0 && !writesPlatformId(id) ? BigInt(result) : result;
    },
  );
  const cell = `t.${quoteName(id.column)}`;
  const terms = [SQLITE_TEXT.asCell(id, cell), `typeof(${cell}) = 'text'`, ...scopeTerms(SQLITE_TEXT, id)];
  return {
    call: `${name}(${terms.join(', ')})`,
    isChanged: `${name} IS NOT ${KEEP}`,
    value: id.path === undefined ? name : `CAST(${name} AS TEXT)`,
  };
}

export function lookUpInSqlite(db: UserDb, { work, where, at }: LookUpSource): LookUpSql {
  const name = `svc_migrate_n${at}`;
  const { call, isChanged, value } = registerLookUp(db, name, work, 'in_place');
  return { join: '', terms: [`iif(${where}, ${call}, ${KEEP}) AS ${name}`], isChanged, value };
}

export function openSqliteFill(
  context: ApplyContext,
  db: UserDb,
  facts: TableFacts,
  id: IdColumn,
): ColumnFill {
  const rowid = rowidName(db, facts.table);
  const work = openColumn(context, id, context.policy);
  const { call, isChanged, value } = registerLookUp(db, 'svc_migrate_new', work, 'new');
  const handle = rowid === null ? (facts.keys[0] ?? []).map(quoteName) : [rowid];
  const fresh = quoteName(newColumnOf(id));
  return {
    ranges: () => fillRanges(db, facts.table, rowid, context.tuning.batchRows),
    fill: async ({ table, where }) => {
      const parts = handle.map((part, at) => `t.${part} AS h${at}`).join(', ');
      return db
        .prepare(
          `UPDATE ${table} AS u SET ${fresh} = ${value} FROM (
             SELECT ${parts}, ${call} AS svc_migrate_new
             FROM ${table} AS t WHERE ${where} AND t.${quoteName(id.column)} IS NOT NULL AND t.${fresh} IS NULL LIMIT -1
           ) AS x WHERE ${handle.map((part, at) => `u.${part} = x.h${at}`).join(' AND ')} AND ${isChanged} AND svc_migrate_new IS NOT NULL`,
        )
        .run().changes;
    },
  };
}

/** Ranges of rowids, one batch each; a table without rowids is a single range. */
async function* fillRanges(
  db: UserDb,
  name: string,
  rowid: string | null,
  batchRows: number,
): AsyncGenerator<FillRange> {
  const table = quoteName(name);
  let after = 'TRUE';
  for (let done = 0; rowid !== null; ) {
    // The first rowid after the batch; none after the last batch.
    const next = `SELECT ${rowid} FROM ${table} AS t WHERE ${after} ORDER BY ${rowid} LIMIT 1 OFFSET ${batchRows}`;
    const until = db.prepare<[], bigint>(next).safeIntegers().pluck().get();
    if (until === undefined) break;
    done += batchRows;
    yield { table, where: `${after} AND t.${rowid} < ${integerSql(until)}`, done, total: null };
    after = `t.${rowid} >= ${integerSql(until)}`;
  }
  yield { table, where: after, done: 0, total: null };
}
