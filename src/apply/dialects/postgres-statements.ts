import type { ApplyContext } from '../context.js';
import type { Batch } from '../engine/batches.js';
import type { ChangeSource, JudgedCells, JudgeSource, TableStatements } from '../engine/dialect.js';
import type { TableRun } from '../engine/ledger.js';
import { keyMatch } from '../engine/ledger.js';
import { quoteName } from '../sql-names.js';
import { openFill } from './postgres-fill.js';
import { buildGroupJudge, groupTerms, judgeGroup } from './postgres-groups.js';
import { copyMap, mapMatch } from './postgres-map.js';
import { parkingTerm } from './postgres-parking.js';
import type { PgSession } from './postgres-session.js';
import { POSTGRES_TEXT } from './postgres-text.js';

export function buildStatements(context: ApplyContext, session: PgSession): TableStatements {
  return {
    judge: (source) => judgeCells(session, source),
    changesQuery: (source) => changesQuery(context, session, source),
    createList: (name, columns, query) =>
      session.exec(
        `DROP TABLE IF EXISTS pg_temp.${name};
         CREATE TEMP TABLE ${name} ON COMMIT DROP AS
           SELECT q.*, row_number() OVER () AS row_no, false AS parked FROM (${query}) AS q(${columns.join(', ')});
         ANALYZE pg_temp.${name}`,
      ),
    largestInteger: async (term, from) => {
      const value = `${term}::numeric`;
      // NaN is above infinity.
      const sql = `SELECT coalesce(ceil(max(${value})), 0)::text FROM ${from} WHERE ${value} > '-Infinity' AND ${value} < 'Infinity'`;
      return BigInt((await session.one(sql)) ?? '0');
    },
    parkingTerm: (table, column, _, toPark) => parkingTerm(session, table, column, toPark),
    carryOut: (run, batch, col) => carryOut(session, run, batch, col),
    takeBack: (run, batch, col) => takeBack(session, run, batch, col),
    openFill: async (facts, id, at) => openFill(context, session, { facts, id, at }),
  };
}

/** Looks every distinct value up once, however many rows hold it; or row by row. */
async function* judgeCells(session: PgSession, source: JudgeSource): AsyncGenerator<JudgedCells[]> {
  const { work, mode, from, value, extra = [], isGrouped = false, onRow } = source;
  const id = work.column;
  const group = groupTerms(id, 't', value === undefined ? undefined : `${value}::text`);
  const terms = [...group, ...extra];
  const places = terms.map((_, at) => at + 1).join(', ');
  const sql = isGrouped
    ? `SELECT ${terms.join(', ')}, count(*) FROM ${from} GROUP BY ${places}`
    : `SELECT ${terms.join(', ')}, 1 FROM ${from}`;
  const judge = buildGroupJudge(work, mode);
  for await (const rows of session.read(sql)) {
    yield rows.map((cells) => {
      const [own, others] = [cells.slice(0, group.length), cells.slice(group.length, -1)];
      onRow?.(others);
      const result = judgeGroup(judge, [...own, cells.at(-1) ?? null]);
      return { group: own, result, exact: result, rows: Number(cells.at(-1)), extra: others };
    });
  }
}

/** Looks the values up first and copies what they become to the server. */
async function changesQuery(
  context: ApplyContext,
  session: PgSession,
  { table, key, columns }: ChangeSource,
): Promise<string> {
  const name = (column: string) => `t.${quoteName(column)}`;
  const rowKey = POSTGRES_TEXT.keySql(key.map(name));
  const joins: string[] = [];
  for (const [at, { id, work, entered }] of columns.entries()) {
    if (work === null) continue;
    const join = entered === null ? '' : `LEFT JOIN ${entered} AS e${at} ON e${at}.row_key = ${rowKey}`;
    const isOpen = entered === null ? 'true' : `e${at}.row_key IS NULL`;
    const from = `${table} AS t ${join} WHERE ${isOpen}`;
    const map = await copyMap(context, session, {
      work,
      table,
      from,
      at,
      mode: 'in_place',
      dropAtCommit: true,
    });
    joins.push(join, `LEFT JOIN ${map} AS m${at} ON ${mapMatch(id, 't', `m${at}`)} AND ${isOpen}`);
  }
  const old = columns.map(({ id }) => `${name(id.column)}::text`);
  const isChanged = columns.map(({ work }, at) => (work === null ? 'false' : `m${at}.old IS NOT NULL`));
  const terms = [
    ...key.map((column, at) => `${name(column)} AS k${at}`),
    ...old.map((term, at) => `${term} AS o${at}`),
    ...columns.map(({ work }, at) =>
      work === null
        ? `${old[at]} AS c${at}`
        : `CASE WHEN ${isChanged[at]} THEN m${at}.new ELSE ${old[at]} END AS c${at}`,
    ),
    ...isChanged.map((term, at) => `${term} AS r${at}`),
  ];
  return `SELECT ${terms.join(', ')} FROM ${table} AS t ${joins.join(' ')} WHERE ${isChanged.join(' OR ')}`;
}

/** A batch must cost what it changes, not what the table holds. */
const USE_KEY_INDEX =
  'SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_bitmapscan = off';

/** A batch's entries of one column, as the common table expression `b`. */
function batchSql({ ledger, unit }: TableRun, { from, until }: Batch, col: number): string {
  return `b AS MATERIALIZED (
    SELECT id, row_key, old, new FROM ${ledger.entry} WHERE id > ${from} AND id <= ${until} AND unit = ${unit} AND col = ${col}
  )`;
}

/** Changes each row only while it holds its old value; entries of the others leave the ledger. Returns how many. */
async function carryOut(session: PgSession, run: TableRun, batch: Batch, col: number): Promise<number> {
  await session.exec(USE_KEY_INDEX);
  const name = quoteName(run.target.ids[col]?.column ?? '');
  const skipped = await session.query(
    `WITH ${batchSql(run, batch, col)}, u AS (
       UPDATE ${run.table} AS t SET ${name} = b.new::${run.types[col]} FROM b
       WHERE ${keyMatch(POSTGRES_TEXT, run, 'b.row_key')} AND t.${name}::text = b.old
       RETURNING b.id
     ), gone AS (
       DELETE FROM ${run.ledger.entry} AS e USING (SELECT id FROM b EXCEPT SELECT id FROM u) AS x WHERE e.id = x.id
       RETURNING e.unit, e.col, e.row_key, e.old, e.new
     )
     INSERT INTO ${run.ledger.skipped} SELECT * FROM gone`,
  );
  return skipped.count;
}

async function takeBack(session: PgSession, run: TableRun, batch: Batch, col: number): Promise<void> {
  await session.exec(USE_KEY_INDEX);
  const name = quoteName(run.target.ids[col]?.column ?? '');
  await session.query(
    `WITH ${batchSql(run, batch, col)}, u AS (
       UPDATE ${run.table} AS t SET ${name} = b.old::${run.types[col]} FROM b
       WHERE ${keyMatch(POSTGRES_TEXT, run, 'b.row_key')} AND t.${name}::text IS NOT DISTINCT FROM b.new
       RETURNING b.id, t.${name}::text IS NOT DISTINCT FROM b.old AS is_back
     )
     DELETE FROM ${run.ledger.entry} WHERE id IN (SELECT id FROM u WHERE is_back)`,
  );
}
