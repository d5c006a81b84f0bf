import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { openColumn } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import type { ColumnFill, Engine, FillRange, LookUpSource, LookUpSql } from '../engine/dialect.js';
import { cellText, judgeCells, scopeTerms } from '../engine/judge-cells.js';
import { valueType } from '../engine/platform-columns.js';
import type { Cells } from '../engine/session.js';
import type { TableFacts } from '../engine/table-facts.js';
import type { Mode } from '../plan.js';
import { quoteName } from '../sql-names.js';
import type { PgSession } from './postgres-session.js';
import { POSTGRES_TEXT } from './postgres-text.js';

/** Columns of a map: the old value, the model, region and company of the row where other columns name them, and the new value. */
export function mapColumns(id: IdColumn): string[] {
  return ['old', ...scopeTerms(POSTGRES_TEXT, id).map((_, at) => `s${at}`), 'new'];
}

/** A condition that joins rows of the table with the row of the map for their value and scope. */
export function mapMatch(id: IdColumn, map: string): string {
  const scopes = scopeTerms(POSTGRES_TEXT, id).map(
    (term, at) => `${term} IS NOT DISTINCT FROM ${map}.s${at}`,
  );
  return [`t.${quoteName(id.column)}::text = ${map}.old`, ...scopes].join(' AND ');
}

/**
 * Looks up every distinct value of a column and copies those that change, with their new values, into a temporary
 * table of texts; returns its name. In place the table lasts until COMMIT, otherwise until the session ends. Call
 * inside a transaction.
 */
async function copyMap(
  engine: Engine,
  session: PgSession,
  { work, table, from, where, at }: LookUpSource,
  mode: Mode,
): Promise<string> {
  const names = mapColumns(work.column);
  const map = `pg_temp.svc_migrate_map_${at}`;
  const columns = names.map((name) => `${name} text`).join(', ');
  const onCommit = mode === 'in_place' ? 'ON COMMIT DROP' : '';
  await session.exec(
    `DROP TABLE IF EXISTS ${map}; CREATE TEMP TABLE svc_migrate_map_${at}(${columns}) ${onCommit}`,
  );
  let done = 0;
  const query = { work, mode, from: `${from} WHERE ${where}`, isGrouped: true };
  for await (const judged of judgeCells(engine, query)) {
    const rows = judged.flatMap(({ group, result }): Cells[] =>
      result === undefined ? [] : [[...group.map(cellText), result]],
    );
    if (rows.length > 0) await session.copyIn(map, names, rows);
    done += judged.length;
    engine.context.onProgress({ kind: 'step', name: `looking up ${table}`, done, total: null });
  }
  await session.exec(`ANALYZE ${map}`);
  return map;
}

/** Looks up the values before the query runs; the query joins a temporary table of the results. */
export async function lookUpInPostgres(
  engine: Engine,
  session: PgSession,
  source: LookUpSource,
): Promise<LookUpSql> {
  const { work, where, at } = source;
  const map = await copyMap(engine, session, source, 'in_place');
  return {
    join: `LEFT JOIN ${map} AS m${at} ON ${mapMatch(work.column, `m${at}`)} AND ${where}`,
    terms: [`m${at}.old IS NOT NULL AS f${at}`, `m${at}.new AS n${at}`],
    isChanged: `f${at}`,
    value: `n${at}`,
  };
}

/** Fills rows a range of pages at a time, then the rows that moved between pages meanwhile. */
export function openPostgresFill(
  engine: Engine,
  session: PgSession,
  facts: TableFacts,
  id: IdColumn,
  at: number,
): ColumnFill {
  const { context, dialect } = engine;
  const { table } = facts;
  const [old, fresh] = [`t.${quoteName(id.column)}`, quoteName(newColumnOf(id))];
  const type = valueType(dialect, facts, id) || 'text';
  let map: string | null = null;
  const makeMap = async () => {
    const work = openColumn(context, id, context.policy);
    const where = `${old} IS NOT NULL AND t.${fresh} IS NULL`;
    const made = await copyMap(engine, session, { work, table, from: `${table} AS t`, where, at }, 'new');
    // Only a hash index takes texts of any length.
    const isLong = id.path !== undefined || id.pattern !== undefined;
    await session.exec(`CREATE INDEX ON ${made} USING ${isLong ? 'hash' : 'btree'} (old)`);
    return made;
  };
  return {
    ranges: () => listRanges(context, session, table),
    fill: async (range) => {
      // Temporary tables are lost with the connection.
      const isThere = map !== null && (await session.one('SELECT to_regclass($1)', [map])) !== null;
      if (map === null || !isThere) map = await makeMap();
      // The cost of a range must depend on its own size: its rows use the index of the map.
      if (range.where !== 'true')
        await session.exec('SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off');
      const filled = await session.query(
        `UPDATE ${range.table} AS t SET ${fresh} = m.new::${type} FROM ${map} AS m
         WHERE ${range.where} AND t.${fresh} IS NULL AND m.new IS NOT NULL AND ${mapMatch(id, 'm')}`,
      );
      return filled.count;
    },
  };
}

/** The first version of PostgreSQL with TID range scans, which read only the pages of a range. */
const TID_RANGE_VERSION = 140_000;

/** Used where the planner has no statistics. */
const ROWS_PER_PAGE_UNKNOWN = 100;

/** Page ranges of about one batch for the table or each of its partitions; the last range of each covers all its pages. */
async function* listRanges(
  { tuning }: ApplyContext,
  session: PgSession,
  name: string,
): AsyncGenerator<FillRange> {
  const { rows } = await session.retry(() =>
    session.query(
      `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), pg_relation_size(c.oid) / current_setting('block_size')::bigint,
         greatest(c.reltuples, 0)::bigint, current_setting('server_version_num')
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE c.relkind = 'r' AND (c.oid = $1::regclass OR c.oid IN (SELECT relid FROM pg_partition_tree($1::regclass) WHERE isleaf))`,
      [name],
    ),
  );
  for (const [part, pages, tuples, version] of rows) {
    const count = Number(version) < TID_RANGE_VERSION ? 0 : Number(pages);
    const perPage =
      Number(tuples) > 0 && count > 0 ? Math.ceil(Number(tuples) / count) : ROWS_PER_PAGE_UNKNOWN;
    const step = Math.max(1, Math.floor(tuning.batchRows / perPage));
    const ranges: string[] = [];
    for (let page = 0; page < count; page += step) {
      ranges.push(`t.ctid >= '(${page},0)'::tid AND t.ctid < '(${page + step},0)'::tid`);
    }
    for (const [at, where] of [...ranges, 'true'].entries()) {
      yield { table: `ONLY ${part ?? ''}`, where, done: at + 1, total: ranges.length + 1 };
    }
  }
}
