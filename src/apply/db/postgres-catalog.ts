import { at } from '../../text/at.js';
import type { ColumnFacts, ForeignKey, ListedTable, Obstacle, TableFacts, Value } from './database.js';

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
  const uniques = (await read(UNIQUES)).map(([index, names]) => ({
    name: String(index),
    columns: parseNames(names),
  }));
  const [key] = await read(KEY);
  return {
    table: `${schema}.${name}`,
    schema: String(schema),
    name: String(name),
    columns,
    key: parseNames(key?.[0]),
    uniques,
    foreignKeys: (await read(FOREIGN_KEYS)).flatMap(describeForeignKey),
    triggers: (await read(TRIGGERS)).map(([trigger]) => String(trigger)),
    obstacles:
      kind === 'r' || kind === 'p'
        ? [...describeObstacles(at(await read(OBSTACLES), 0), `${schema}.${name}`), ...longNames(columns)]
        : [stop('write', 'not_a_table', `${schema}.${name} is not a table: name the table behind it.`)],
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
    coalesce(b.typname, t.typname), a.attnotnull, a.attgenerated <> '' or a.attidentity = 'a'
  from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
    left join pg_catalog.pg_type b on b.oid = t.typbasetype and t.typtype = 'd'
  where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped order by a.attnum`;

function describeColumn([name, type, base, isNotNull, isGenerated]: readonly Value[]): ColumnFacts {
  return {
    name: String(name),
    type: String(type),
    holds: holdsOf(String(base), String(type)),
    isNullable: isNotNull === 'f',
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

const KEY = `
  select json_agg(a.attname order by k.at) from pg_catalog.pg_index i
    cross join lateral unnest(i.indkey::int2[]) with ordinality as k(attnum, at)
    join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
  where i.indrelid = $1::oid and i.indisunique and i.indisvalid and i.indpred is null and k.at <= i.indnkeyatts
  group by i.indexrelid, i.indisprimary, i.indnkeyatts having bool_and(a.attnotnull) and count(*) = i.indnkeyatts
  order by i.indisprimary desc, i.indnkeyatts, i.indexrelid limit 1`;

/** Unique indexes and exclusion constraints, with the columns of their expressions and conditions. */
const UNIQUES = `
  select c.relname,
    coalesce((select json_agg(distinct a.attname) from pg_catalog.pg_attribute a where a.attrelid = i.indrelid and a.attnum > 0 and (
      a.attnum = any (i.indkey::int2[]) or a.attnum in (
        select d.refobjsubid from pg_catalog.pg_depend d where d.classid = 'pg_class'::regclass and d.objid = i.indexrelid
          and d.refclassid = 'pg_class'::regclass and d.refobjid = i.indrelid))), '[]')
  from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid
  where i.indrelid = $1::oid and (i.indisunique or i.indisexclusion) order by c.relname`;

function parseNames(json: Value | undefined): string[] {
  const names: unknown = JSON.parse(String(json ?? '[]'));
  return Array.isArray(names) ? names.map(String) : [];
}

const namesOf = (relation: string, keys: string) =>
  `(select json_agg(a.attname order by k.at) from unnest(${keys}) with ordinality as k(attnum, at)
    join pg_catalog.pg_attribute a on a.attrelid = ${relation} and a.attnum = k.attnum)`;

const FOREIGN_KEYS = `
  select f.conname, f.conrelid = $1::oid, f.confrelid = $1::oid, ${namesOf('f.conrelid', 'f.conkey')},
    ${namesOf('f.confrelid', 'f.confkey')}, f.confupdtype, n.nspname || '.' || c.relname
  from pg_catalog.pg_constraint f left join pg_catalog.pg_constraint p on p.oid = f.conparentid and $1::oid in (p.conrelid, p.confrelid)
    join pg_catalog.pg_class c on c.oid = case when f.conrelid = $1::oid then f.confrelid else f.conrelid end
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where f.contype = 'f' and p.oid is null and $1::oid in (f.conrelid, f.confrelid) order by f.conname`;

const ON_UPDATE: Readonly<Record<string, ForeignKey['onUpdate']>> = { c: 'cascade', n: 'set', d: 'set' };

function describeForeignKey([name, isOut, isIn, from, to, onUpdate, other]: readonly Value[]): ForeignKey[] {
  const key = (direction: ForeignKey['direction'], columns: Value | undefined): ForeignKey => ({
    name: String(name),
    direction,
    columns: parseNames(columns),
    otherTable: String(other),
    onUpdate: ON_UPDATE[String(onUpdate)] ?? 'none',
  });
  return [...(isOut === 't' ? [key('out', from)] : []), ...(isIn === 't' ? [key('in', to)] : [])];
}

const TRIGGERS = `
  select tgname from pg_catalog.pg_trigger
  where tgrelid = $1::oid and not tgisinternal and tgenabled <> 'D' and tgtype & 16 <> 0 order by 1`;

const OBSTACLES = `
  select pg_is_in_recovery(), has_table_privilege(c.oid, 'SELECT'), has_table_privilege(c.oid, 'UPDATE'),
    pg_has_role(c.relowner, 'USAGE'), has_schema_privilege(c.relnamespace, 'CREATE'), row_security_active(c.oid),
    c.relispartition, c.reloftype <> 0, current_user,
    exists (select 1 from pg_catalog.pg_inherits h join pg_catalog.pg_class i on i.oid = h.inhrelid where h.inhparent = c.oid and not i.relispartition),
    exists (select 1 from pg_catalog.pg_rewrite where ev_class = c.oid and ev_type = '2' and rulename <> '_RETURN'),
    (select max(attnum)::int from pg_catalog.pg_attribute where attrelid = c.oid),
    current_setting('server_encoding')
  from pg_catalog.pg_class c where c.oid = $1::oid`;

const MOST_ATTRIBUTES = 1600n;

function describeObstacles(row: readonly Value[], table: string): Obstacle[] {
  const [standby, mayRead, mayUpdate, isOwner, mayCreate, hidesRows, isPartition, isTyped, user, ...others] =
    row;
  const [hasChildren, hasRules, attributes, encoding] = others;
  const lacks: readonly (readonly [boolean, string, string])[] = [
    [standby === 't', 'read_only_server', 'This server is a standby: connect to the primary.'],
    [mayRead === 'f', 'no_select', `User ${user} may not read ${table}: GRANT SELECT.`],
    [mayUpdate === 'f', 'privilege', `User ${user} may not update ${table}: GRANT UPDATE.`],
    [
      isOwner === 'f',
      'privilege',
      `User ${user} does not own ${table} and cannot add a column: connect as its owner.`,
    ],
    [
      mayCreate === 'f',
      'privilege',
      `User ${user} may not create a table beside ${table}: GRANT CREATE ON SCHEMA.`,
    ],
    [hidesRows === 't', 'row_security', `Row-level security hides rows of ${table}: connect as its owner.`],
    [isPartition === 't', 'partition', `${table} is a partition: name the partitioned table.`],
    [isTyped === 't', 'typed_table', `${table} is a typed table, to which no column can be added.`],
    [hasChildren === 't', 'inheritance', `Other tables inherit from ${table}, and would be written with it.`],
    [hasRules === 't', 'rules', `A rule rewrites updates of ${table}: drop it first.`],
    [
      BigInt(attributes ?? 0) + 2n > MOST_ATTRIBUTES,
      'too_many_columns',
      `${table} has no room for two more columns: PostgreSQL allows 1,600, dropped ones included.`,
    ],
  ];
  return [
    ...lacks.flatMap(([applies, code, text]) => (applies ? [stop('write', code, text)] : [])),
    ...(encoding === 'SQL_ASCII'
      ? [
          stop(
            'none',
            'sql_ascii',
            'The database has the encoding SQL_ASCII: text that is not UTF-8 cannot be read exactly.',
          ),
        ]
      : []),
  ];
}

const MAX_NAME_BYTES = 63;

function longNames(columns: readonly ColumnFacts[]): Obstacle[] {
  return columns
    .filter(({ name }) => Buffer.byteLength(`${name}_v4`) > MAX_NAME_BYTES)
    .map(({ name }) => ({
      ...stop('write', 'long_name', `"${name}_v4" is too long for a column.`),
      column: name,
    }));
}

function stop(stops: Obstacle['stops'], code: string, text: string): Obstacle {
  return { stops, code, text };
}
