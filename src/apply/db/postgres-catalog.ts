import { at } from '../../text/at.js';
import type { ColumnFacts, ListedTable, Obstacle, TableFacts, Value } from './database.js';

export type PostgresQuery = (sql: string, values?: readonly string[]) => Promise<Value[][]>;

export async function listPostgresTables(query: PostgresQuery): Promise<ListedTable[]> {
  const rows = await query(`
    select n.nspname, c.relname, c.relkind, has_table_privilege(c.oid, 'SELECT')
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition and n.nspname !~ '^pg_'
      and n.nspname <> 'information_schema' and has_schema_privilege(n.oid, 'USAGE')
    order by 1, 2`);
  return rows.map(([schema, name, kind, mayRead]) => ({
    schema: String(schema),
    name: String(name),
    obstacle:
      kind === 'f'
        ? 'a foreign table'
        : kind === 'v' || kind === 'm'
          ? 'a view'
          : mayRead === 't'
            ? null
            : 'not readable by this user',
  }));
}

/** Reads the catalog on a table; null if there is none of that name. */
export async function introspectPostgres(query: PostgresQuery, table: string): Promise<TableFacts | null> {
  const [place] = await query(FIND, [table]);
  if (place === undefined) return null;
  const [oid, schema, name, kind] = place.map(String);
  const read = (sql: string) => query(sql, [String(oid)]);
  const columns = (await read(COLUMNS)).map(describeColumn);
  const [key] = await read(KEY);
  return {
    table: `${schema}.${name}`,
    schema: String(schema),
    name: String(name),
    columns,
    key: parseNames(key?.[0]),
    uniqueColumns: (await read(UNIQUE_COLUMNS)).map(([column]) => String(column)),
    cascades: (await read(CASCADES)).map(([other, names]) => ({
      table: String(other),
      columns: parseNames(names),
    })),
    triggers: (await read(TRIGGERS)).map(([trigger]) => String(trigger)),
    obstacles:
      kind === 'r' || kind === 'p'
        ? [...describeObstacles(at(await read(OBSTACLES), 0), `${schema}.${name}`), ...longNames(columns)]
        : [stop('not_a_table', `${schema}.${name} is not a table: name the table behind it.`)],
  };
}

/** A name as SQL reads it, otherwise exactly as written; without a schema, along the search path. */
const FIND = `
  select c.oid::text, n.nspname, c.relname, c.relkind
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  cross join lateral (select array_position(current_schemas(true), n.nspname) as at) as path
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and (
    n.nspname || '.' || c.relname = $1 or quote_ident(n.nspname) || '.' || quote_ident(c.relname) = $1
    or path.at is not null and (c.relname in ($1, lower($1)) or quote_ident(c.relname) = $1))
  order by n.nspname || '.' || c.relname = $1 desc, c.relname = $1 desc, path.at limit 1`;

const COLUMNS = `
  select a.attname, coalesce(format_type(b.oid, t.typtypmod), format_type(a.atttypid, a.atttypmod)),
    coalesce(b.typname, t.typname), a.attgenerated <> '' or a.attidentity = 'a'
  from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
    left join pg_catalog.pg_type b on b.oid = t.typbasetype and t.typtype = 'd'
  where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped order by a.attnum`;

function describeColumn([name, type, base, isGenerated]: readonly Value[]): ColumnFacts {
  return {
    name: String(name),
    type: String(type),
    holds: holdsOf(String(base), String(type)),
    isGenerated: isGenerated === 't',
    isUnsigned: false,
  };
}

function holdsOf(base: string, type: string): ColumnFacts['holds'] {
  if (['int2', 'int4', 'int8'].includes(base)) return 'integer';
  const [, precision] = /^numeric\((\d+),0\)$/.exec(type) ?? [];
  if (precision !== undefined && Number(precision) <= 18) return 'integer';
  if (['text', 'varchar', 'bpchar', 'citext', 'numeric'].includes(base)) return 'text';
  return base === 'json' || base === 'jsonb' ? 'json' : 'other';
}

const namesOf = (relation: string, keys: string) =>
  `(select json_agg(a.attname order by k.at) from unnest(${keys}) with ordinality as k(attnum, at)
    join pg_catalog.pg_attribute a on a.attrelid = ${relation} and a.attnum = k.attnum)`;

const KEY = `
  select ${namesOf('c.conrelid', 'c.conkey')} from pg_catalog.pg_constraint c
  where c.conrelid = $1::oid and c.contype = 'p'`;

/** Columns of unique indexes and exclusion constraints, and of their expressions and conditions. */
const UNIQUE_COLUMNS = `
  select distinct a.attname from pg_catalog.pg_index i join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum > 0
  where i.indrelid = $1::oid and (i.indisunique or i.indisexclusion) and (a.attnum = any (i.indkey::int2[]) or a.attnum in (
    select d.refobjsubid from pg_catalog.pg_depend d where d.classid = 'pg_class'::regclass and d.objid = i.indexrelid
      and d.refclassid = 'pg_class'::regclass and d.refobjid = i.indrelid))`;

function parseNames(json: Value | undefined): string[] {
  const names: unknown = JSON.parse(String(json ?? '[]'));
  return Array.isArray(names) ? names.map(String) : [];
}

const CASCADES = `
  select n.nspname || '.' || c.relname, ${namesOf('f.confrelid', 'f.confkey')}
  from pg_catalog.pg_constraint f join pg_catalog.pg_class c on c.oid = f.conrelid
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where f.contype = 'f' and f.confrelid = $1::oid and f.confupdtype not in ('a', 'r') order by 1`;

const TRIGGERS = `
  select tgname from pg_catalog.pg_trigger
  where tgrelid = $1::oid and not tgisinternal and tgenabled <> 'D' and tgtype & 16 <> 0 order by 1`;

/** What would be changed or skipped silently. Missing rights and full rows are errors of the statements themselves. */
const OBSTACLES = `
  select
    exists (select 1 from pg_catalog.pg_inherits h join pg_catalog.pg_class i on i.oid = h.inhrelid where h.inhparent = c.oid and not i.relispartition),
    exists (select 1 from pg_catalog.pg_rewrite where ev_class = c.oid and ev_type = '2' and rulename <> '_RETURN')
  from pg_catalog.pg_class c where c.oid = $1::oid`;

function describeObstacles([hasChildren, hasRules]: readonly Value[], table: string): Obstacle[] {
  return [
    ...(hasChildren === 't'
      ? [stop('inheritance', `Other tables inherit from ${table}, and would be written with it.`)]
      : []),
    ...(hasRules === 't' ? [stop('rules', `A rule rewrites updates of ${table}: drop it first.`)] : []),
  ];
}

/** PostgreSQL cuts longer names silently. */
const MAX_NAME_BYTES = 63;

function longNames(columns: readonly ColumnFacts[]): Obstacle[] {
  return columns
    .filter(({ name }) => Buffer.byteLength(`${name}_v4`) > MAX_NAME_BYTES)
    .map(({ name }) => ({
      ...stop('long_name', `"${name}_v4" is too long for a column.`),
      column: name,
    }));
}

function stop(code: string, text: string): Obstacle {
  return { stops: 'write', code, text };
}
