import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { openColumn } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import type {
  ChangeSource,
  ColumnFill,
  FillRange,
  JudgedCells,
  JudgeSource,
  TableStatements,
} from '../engine/dialect.js';
import type { TableFacts } from '../engine/table-facts.js';
import { quoteName } from '../sql-names.js';
import { carryOut, takeBack } from './sqlite-batch.js';
import {
  buildCellJudge,
  type Cell,
  exactSql,
  judgeCell,
  judgeSql,
  KEEP_SQL,
  registerJudge,
  resultSql,
  rowScopes,
  scopeSql,
} from './sqlite-cells.js';
import { rowidName } from './sqlite-facts.js';
import { integerSql, parkingTerm } from './sqlite-parking.js';
import type { SqliteSession, UserDb } from './sqlite-session.js';

const ROWS_PER_BREATH = 50_000;
const ROWS_PER_PIECE = 1_000;

export function buildStatements(context: ApplyContext, session: SqliteSession): TableStatements {
  const { db } = session;
  return {
    judge: (source) => judgeCells(session, source),
    changesQuery: async (source) => changesQuery(db, source),
    createList: async (name, columns, query) => {
      db.exec(`DROP TABLE IF EXISTS temp.${name};
        CREATE TEMP TABLE ${name}(row_no INTEGER PRIMARY KEY, ${columns.join(', ')}, parked);
        INSERT INTO temp.${name}(${columns.join(', ')}) ${query}`);
    },
    largestInteger: async (term, from) => {
      const sql = `SELECT max(${term}) FROM ${from} WHERE typeof(${term}) = 'integer'`;
      return BigInt((await session.one(sql)) ?? '0');
    },
    parkingTerm: async (table, { name }, at, toPark) => parkingTerm(db, table, name, at, toPark),
    carryOut: async (run, batch, col, triggers) => carryOut(db, { run, batch, col, triggers }),
    takeBack: async (run, batch, col, triggers) => takeBack(db, { run, batch, col, triggers }),
    openFill: async (facts, id) => openFill(context, db, facts, id),
  };
}

/** Reads rows and looks their cells up in JavaScript. Rows of which nothing else is asked are only counted. */
async function* judgeCells(session: SqliteSession, source: JudgeSource): AsyncGenerator<JudgedCells[]> {
  const { work, mode, from, extra = [], onRow } = source;
  const id = work.column;
  const cell = source.value ?? `t.${quoteName(id.column)}`;
  const scopes = scopeSql(id, 't');
  const isPlain = extra.length === 0;
  const terms = [exactSql(id, cell), ...scopes, ...(isPlain ? [] : [`typeof(${cell}) = 'text'`, ...extra])];
  const judge = buildCellJudge(work, mode);
  const rows = session.db
    .prepare<[], Cell[]>(`SELECT ${terms.join(', ')} FROM ${from}`)
    .raw()
    .iterate();
  let [piece, count]: [JudgedCells[], number] = [[], 0];
  for (const [value = null, ...rest] of rows) {
    const others = isPlain ? [] : rest.slice(scopes.length + 1).map(textOf);
    onRow?.(others);
    const isText = isPlain ? typeof value === 'string' : rest[scopes.length] === 1;
    const result = judgeCell(judge, value, isText, rowScopes(id, rest));
    count += 1;
    if (!isPlain) piece.push({ group: [textOf(value)], ...describeResult(result), rows: 1, extra: others });
    if (count % (isPlain ? ROWS_PER_BREATH : ROWS_PER_PIECE) !== 0) continue;
    yield isPlain ? [countedOnly(ROWS_PER_BREATH)] : piece;
    piece = [];
    await session.throwIfInterrupted();
  }
  if (!isPlain) yield piece;
}

function countedOnly(rows: number): JudgedCells {
  return { group: [], result: undefined, exact: undefined, rows, extra: [] };
}

function textOf(value: Cell | bigint): string | null {
  return value === null ? null : String(value);
}

/** A result as text, and as `exactText` writes the same value. */
function describeResult(result: Cell | bigint | undefined): Pick<JudgedCells, 'result' | 'exact'> {
  if (result === undefined || result === null) return { result, exact: result };
  const text = String(result);
  return {
    result: text,
    exact: typeof result === 'bigint' || typeof result === 'number' ? `i${text}` : `t${text}`,
  };
}

/** Judges every cell by a function of JavaScript, while the query runs. */
function changesQuery(db: UserDb, { table, key, columns }: ChangeSource): string {
  const joins: string[] = [];
  const rowKey = key.map((column) => `+t.${quoteName(column)}`).join(', ');
  const results = columns.map(({ id, work, entered }, at) => {
    if (work === null) return KEEP_SQL;
    const name = `svc_migrate_judge_${at}`;
    registerJudge(db, name, buildCellJudge(work, 'in_place'));
    if (entered === null) return judgeSql(name, id, 't');
    const own = key.length === 1 ? rowKey : `json_array(${rowKey})`;
    joins.push(`LEFT JOIN ${entered} AS e${at} ON e${at}.row_key = ${own}`);
    return `iif(e${at}.row_key IS NULL, ${judgeSql(name, id, 't')}, ${KEEP_SQL})`;
  });
  const inner = [
    ...key.map((column, at) => `t.${quoteName(column)} AS k${at}`),
    ...columns.map(({ id }, at) => `t.${quoteName(id.column)} AS o${at}`),
    ...results.map((result, at) => `${result} AS n${at}`),
  ];
  const isChanged = columns.map((_, at) => `n${at} IS NOT ${KEEP_SQL}`);
  const outer = [
    ...key.map((_, at) => `k${at}`),
    ...columns.map((_, at) => `o${at}`),
    ...columns.map(({ id }, at) => `iif(${isChanged[at]}, ${resultSql(id, `n${at}`)}, o${at}) AS c${at}`),
    ...isChanged.map((term, at) => `${term} AS r${at}`),
  ];
  // LIMIT keeps the subquery apart, so that each cell is judged, and counted, once.
  return `SELECT ${outer.join(', ')} FROM (
    SELECT ${inner.join(', ')} FROM ${quoteName(table)} AS t ${joins.join(' ')} LIMIT -1
  ) WHERE ${isChanged.join(' OR ')}`;
}

function openFill(context: ApplyContext, db: UserDb, facts: TableFacts, id: IdColumn): ColumnFill {
  const rowid = rowidName(db, facts.table);
  const work = openColumn(context, id, context.policy);
  registerJudge(db, 'svc_migrate_judge', buildCellJudge(work, 'new'));
  const handle = rowid === null ? (facts.keys[0] ?? []).map(quoteName) : [rowid];
  return {
    ranges: () => fillRanges(context, db, facts.table, rowid),
    fill: async ({ table, where }) => {
      const fresh = quoteName(newColumnOf(id));
      const parts = handle.map((part, at) => `t.${part} AS h${at}`).join(', ');
      return db
        .prepare(
          `UPDATE ${table} AS u SET ${fresh} = ${resultSql(id, 'x.n')} FROM (
             SELECT ${parts}, ${judgeSql('svc_migrate_judge', id, 't')} AS n
             FROM ${table} AS t WHERE ${where} AND t.${quoteName(id.column)} IS NOT NULL AND t.${fresh} IS NULL LIMIT -1
           ) AS x WHERE ${handle.map((part, at) => `u.${part} = x.h${at}`).join(' AND ')} AND x.n IS NOT ${KEEP_SQL} AND x.n IS NOT NULL`,
        )
        .run().changes;
    },
  };
}

/** Rows by their rowids, a batch at a time; a table without them at once. */
async function* fillRanges(
  { tuning }: ApplyContext,
  db: UserDb,
  name: string,
  rowid: string | null,
): AsyncGenerator<FillRange> {
  const table = quoteName(name);
  let from: bigint | null = null;
  for (let done = 0; rowid !== null; ) {
    const until = endOfBatch(db, table, rowid, from, tuning.batchRows);
    if (until === null) break;
    done += tuning.batchRows;
    const where = `${afterSql(rowid, from)} AND t.${rowid} < ${integerSql(until)}`;
    yield { table, where, done, total: null };
    from = until;
  }
  yield { table, where: rowid === null ? 'TRUE' : afterSql(rowid, from), done: 0, total: null };
}

function afterSql(rowid: string, from: bigint | null): string {
  return from === null ? 'TRUE' : `t.${rowid} >= ${integerSql(from)}`;
}

/** The first rowid after a batch; null where the batch holds all that is left. */
function endOfBatch(
  db: UserDb,
  table: string,
  rowid: string,
  from: bigint | null,
  rows: number,
): bigint | null {
  const sql = `SELECT ${rowid} FROM ${table} AS t WHERE ${afterSql(rowid, from)} ORDER BY ${rowid} LIMIT 1 OFFSET ${rows}`;
  return db.prepare<[], bigint>(sql).safeIntegers().pluck().get() ?? null;
}
