import pg from 'pg';
import type { IdColumn } from '../../config/apply-targets.js';
import type { ApplyContext } from '../context.js';
import type { ColumnTrial, Engine, FillRange, IdMap, MapSource } from '../engine/dialect.js';
import { mapKey, mapMatch } from '../engine/id-maps.js';
import { cellText, judgeCells } from '../engine/judge-cells.js';
import type { Cells } from '../engine/session.js';
import type { TableFacts } from '../engine/table-facts.js';
import { blocksRefused } from '../plan.js';
import { quoteIdentifier } from '../sql-names.js';
import type { PgSession } from './postgres-session.js';
import { POSTGRES_TEXT } from './postgres-text.js';

/** Looks up every distinct value. */
export async function loadPostgresMap(
  engine: Engine,
  session: PgSession,
  map: IdMap,
  { work, mode, from, where, fill }: MapSource,
): Promise<void> {
  const names = [...mapKey(map, POSTGRES_TEXT), 'new', 'keep', 'fill'];
  let done = 0;
  const query = { work, mode, from: `${from} WHERE ${where}`, isGrouped: true };
  for await (const judged of judgeCells(engine, query)) {
    const rows = judged.flatMap(({ group, result }): Cells[] =>
      result === undefined || (mode === 'new' && result === null)
        ? []
        : [[...group.map(cellText), result, '0', String(fill)]],
    );
    if (rows.length > 0) await session.copyIn(map.table, names, rows);
    done += judged.length;
    engine.context.onProgress({ kind: 'step', name: `looking up ${map.id.column}`, done, total: null });
  }
  await session.exec(POSTGRES_TEXT.indexMap(map).join(';'));
}

/** The first version of PostgreSQL with TID range scans, which read only the pages of a range. */
const TID_RANGE_VERSION = 140_000;

/** Used where the planner has no statistics. */
const ROWS_PER_PAGE_UNKNOWN = 100;

/** Page ranges of about one batch for the table or each of its partitions; the last range of each covers all its pages. */
export async function* postgresFillRanges(
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
    for (const [at, where] of [...ranges, 'TRUE'].entries()) {
      yield { part: `ONLY ${part ?? ''}`, where, done: at + 1, total: ranges.length + 1 };
    }
  }
}

/** A condition that every row must meet after the rewrite; `sql` uses the column names of the table. */
interface Condition {
  readonly name: string;
  readonly sql: string;
}

const ITS_TYPE: Condition = { name: 'its type', sql: 'true' };

/**
 * Tries new ids of a column against the conditions of its table, while the plan is made. Null if no check constraint,
 * partition key or domain involves the column.
 */
export async function openTrial(
  session: PgSession,
  { table, columns }: TableFacts,
  id: IdColumn,
): Promise<ColumnTrial | null> {
  const conditions = await readConditions(session, table, id.column);
  const column = columns.find(({ name }) => name === id.column);
  if (conditions.length === 0 && column?.isDomain !== true) return null;
  const broken = new Set<string>();
  const tryTerm = async (term: string, source: string, values: readonly string[]): Promise<void> => {
    const open = [...conditions, ITS_TYPE].filter(({ name }) => !broken.has(name));
    const tried = { session, table, columns, id, conditions: open };
    for (const name of await refusedBy(tried, term, source, values)) broken.add(name);
  };

  return {
    add: async (judged) => {
      const changed = judged.filter(({ result }) => result !== undefined);
      const rows = new Map(
        changed.map(({ group, result = null }) => [JSON.stringify(group), [...group.map(cellText), result]]),
      );
      if (rows.size === 0) return;
      const names = [...mapKey({ id }, POSTGRES_TEXT), 'new'];
      const lists = names.map((_, at) => [...rows.values()].map((row) => row[at] ?? null));
      const arrays = names.map((_, at) => `ARRAY(SELECT json_array_elements_text($${at + 1}::json))`);
      const match = mapMatch(POSTGRES_TEXT, { id, column: { type: 'text' } }, 'm');
      const source = `JOIN unnest(${arrays.join(', ')}) AS m(${names.join(', ')}) ON ${match}`;
      await tryTerm(
        'm.new',
        source,
        lists.map((list) => JSON.stringify(list)),
      );
    },
    finish: async (parked) => {
      const source = 'JOIN LATERAL (SELECT row_number() OVER () AS row_no) AS w ON true';
      if (parked !== null) await tryTerm(parked, source, []);
      return [...broken].map((name) => blocksRefused(id.column, `violate ${name}`));
    },
  };
}

interface TriedColumn extends Pick<TableFacts, 'table' | 'columns'> {
  readonly session: PgSession;
  readonly id: IdColumn;
  readonly conditions: readonly Condition[];
}

/** The names of the conditions that refuse `term` as the column's value in the rows of `source`. */
async function refusedBy(
  { session, table, columns, id, conditions }: TriedColumn,
  term: string,
  source: string,
  values: readonly string[],
): Promise<string[]> {
  const cells = columns.map(({ name, type }) =>
    name === id.column ? `${term}::${type} AS ${quoteIdentifier(name)}` : `t.${quoteIdentifier(name)}`,
  );
  const broken: string[] = [];
  for (const condition of conditions) {
    // Counting the new value forces its evaluation: its type may refuse it.
    const sql = `SELECT count(*) FILTER (WHERE (${condition.sql}) IS FALSE), count(${quoteIdentifier(id.column)})
      FROM (SELECT ${cells.join(', ')} FROM ${table} AS t ${source}) AS q`;
    await session.exec('SAVEPOINT svc_migrate_trial');
    try {
      if (Number(await session.one(sql, values)) > 0) broken.push(condition.name);
    } catch (error) {
      // 22: the value does not fit the type; 23: the domain refuses it.
      if (!(error instanceof pg.DatabaseError) || !/^2[23]/.test(error.code ?? '')) throw error;
      broken.push(error.constraint ?? condition.name);
    }
    await session.exec('ROLLBACK TO SAVEPOINT svc_migrate_trial; RELEASE SAVEPOINT svc_migrate_trial');
  }
  return broken;
}

/** Check constraints on a column and, if the table is partitioned by it, the condition that a partition accepts the row. */
async function readConditions(session: PgSession, table: string, column: string): Promise<Condition[]> {
  const { rows } = await session.query(
    `SELECT k.conname, pg_get_expr(k.conbin, k.conrelid) FROM pg_constraint k
     WHERE k.conrelid = $1::regclass AND k.contype = 'c'
       AND EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey) AND a.attname = $2)
     UNION ALL
     SELECT 'the partitions of the table', string_agg('(' || coalesce(pg_get_partition_constraintdef(t.relid), 'true') || ')', ' OR ')
     FROM pg_partition_tree($1::regclass) AS t WHERE t.isleaf HAVING bool_or(EXISTS (
       SELECT 1 FROM pg_partition_ancestors(t.relid) AS anc JOIN pg_partitioned_table p ON p.partrelid = anc.relid
         LEFT JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = ANY (p.partattrs::int2[])
       WHERE a.attname = $2 OR p.partexprs IS NOT NULL))
     ORDER BY 1`,
    [table, column],
  );
  return rows.map(([name, sql]) => ({ name: name ?? '', sql: sql ?? 'true' }));
}
