import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { openColumn } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import type { ColumnFill, FillRange } from '../engine/dialect.js';
import { columnOf, type TableFacts } from '../engine/table-facts.js';
import { quoteName } from '../sql-names.js';
import { copyMap, mapMatch } from './postgres-map.js';
import type { PgSession } from './postgres-session.js';

/** The first PostgreSQL that finds a range of pages without reading the whole table. */
const TID_RANGE_VERSION = 140_000;

/** Where the planner has no figures yet. */
const ROWS_PER_PAGE_UNKNOWN = 100;

interface FillWhat {
  readonly facts: TableFacts;
  readonly id: IdColumn;
  readonly at: number;
}

/** Fills rows some pages at a time, then what moved between pages meanwhile. */
export function openFill(context: ApplyContext, session: PgSession, what: FillWhat): ColumnFill {
  const { facts, id } = what;
  let map: string | null = null;
  return {
    ranges: () => fillRanges(context, session, facts.table),
    fill: async (range) => {
      if (map === null || !(await hasTable(session, map))) map = await makeMap(context, session, what);
      // A piece must cost what it holds: its rows look their ids up in the map's index.
      if (range.where !== 'true')
        await session.exec('SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off');
      const fresh = quoteName(newColumnOf(id));
      const type = columnOf(facts, id.column)?.type ?? 'text';
      const filled = await session.query(
        `UPDATE ${range.table} AS t SET ${fresh} = m.new::${type} FROM ${map} AS m
         WHERE ${range.where} AND t.${fresh} IS NULL AND m.new IS NOT NULL AND ${mapMatch(id, 't', 'm')}`,
      );
      return filled.count;
    },
  };
}

async function makeMap(
  context: ApplyContext,
  session: PgSession,
  { facts: { table }, id, at }: FillWhat,
): Promise<string> {
  const from = `${table} AS t WHERE t.${quoteName(id.column)} IS NOT NULL AND t.${quoteName(newColumnOf(id))} IS NULL`;
  const work = openColumn(context, id, context.policy);
  const map = await copyMap(context, session, { work, mode: 'new', table, from, at, dropAtCommit: false });
  await session.exec(`CREATE INDEX ON ${map}(old)`);
  return map;
}

async function* fillRanges(
  context: ApplyContext,
  session: PgSession,
  name: string,
): AsyncGenerator<FillRange> {
  for (const { table, ranges } of await session.retry(() => listRanges(context, session, name))) {
    for (const [at, where] of ranges.entries()) yield { table, where, done: at + 1, total: ranges.length };
  }
}

/** A lost connection takes its temporary tables along. */
async function hasTable(session: PgSession, table: string): Promise<boolean> {
  return (await session.one('SELECT to_regclass($1)', [table])) !== null;
}

interface Ranges {
  /** `ONLY` and the name of one table with rows of its own. */
  readonly table: string;
  /** Conditions on `t`, the last of them without a range. */
  readonly ranges: readonly string[];
}

/** The pages of the table, or of its partitions, in pieces of about a batch. */
async function listRanges({ tuning }: ApplyContext, session: PgSession, table: string): Promise<Ranges[]> {
  const version = Number(await session.one('SHOW server_version_num'));
  const { rows } = await session.query(
    `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), pg_relation_size(c.oid) / current_setting('block_size')::bigint,
       greatest(c.reltuples, 0)::bigint
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind = 'r' AND (c.oid = $1::regclass OR c.oid IN (SELECT relid FROM pg_partition_tree($1::regclass) WHERE isleaf))`,
    [table],
  );
  return rows.map(([name, pages, tuples]) => {
    const count = version < TID_RANGE_VERSION ? 0 : Number(pages);
    const perPage =
      Number(tuples) > 0 && count > 0 ? Math.ceil(Number(tuples) / count) : ROWS_PER_PAGE_UNKNOWN;
    const step = Math.max(1, Math.floor(tuning.batchRows / perPage));
    const ranges: string[] = [];
    for (let page = 0; page < count; page += step) {
      ranges.push(`t.ctid >= '(${page},0)'::tid AND t.ctid < '(${page + step},0)'::tid`);
    }
    return { table: `ONLY ${name ?? ''}`, ranges: [...ranges, 'true'] };
  });
}
