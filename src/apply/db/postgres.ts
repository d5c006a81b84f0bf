import { finished } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { SvcError } from '../../errors.js';
import { at } from '../../text/at.js';
import type { ColumnFacts, Database, ListedTable, Obstacle, TableFacts, Value } from './database.js';
import {
  assertParameters,
  CONSTRAINT_HINT,
  chooseTls,
  connectTimeout,
  type Parameters,
  POOL_PARAMETERS,
  parseAddress,
  REFUSED_HINT,
  readTls,
  SERVER_ERRORS,
  type ServerOptions,
} from './server.js';

const EXAMPLE = 'postgres://user:password@host:5432/database';
const FETCH_ROWS = 1000;

const PARAMETERS: Parameters = {
  ...POOL_PARAMETERS,
  schema: /^.+$/,
  application_name: /^[\x20-\x7e]*$/,
  host: /^.+$/,
  port: /^\d+$/,
  user: /^.+$/,
  password: /^.*$/,
  sslmode: /^(?:disable|allow|prefer|require|verify-ca|verify-full|no-verify)$/,
  ssl: /^(?:0|1|true|false|no-verify)$/,
  sslrootcert: /^.+$/,
  sslcert: /^.+$/,
  sslkey: /^.+$/,
  channel_binding: /^(?:disable|prefer)$/,
  target_session_attrs: /^any$/,
  client_encoding: /^(?:utf-?8|auto)$/i,
};

/**
 * Opens a PostgreSQL database. Poolers hand sessions on, so every statement runs in a transaction, and every setting is
 * local to it.
 *
 * @throws SvcError `config`, `bad_input`, `locked`, `interrupted`
 */
export async function openPostgres(options: ServerOptions): Promise<Database> {
  const url = parseAddress(options, ['postgres:', 'postgresql:'], EXAMPLE);
  assertParameters(url, options.name, PARAMETERS);
  const session = new PostgresSession(options, url);
  await session.connect();
  return {
    kind: 'postgres',
    place: session.place,
    supportsTransactionalDdl: true,
    ...POSTGRES_SQL,
    introspect: (table) => session.run((query) => introspectPostgres(query, table)),
    listTables: () => session.run(listPostgresTables),
    query: (sql) => session.run(async (query) => query(sql)),
    execute: (sql) => session.run(() => session.execute(sql), 'write'),
    read: (sql) => session.read(sql),
    insert: (table, columns, rows) => session.run(() => session.insert(table, columns, rows), 'write'),
    transaction: (mode, work) => session.transaction(mode, work),
    close: () => session.close(),
  };
}

type Mode = 'read' | 'write';

/**
 * Values have the same text in every session; a policy that hides rows is an error; no time limit but that for locks.
 * Constraints are checked at the end, so that ids may swap places under deferrable ones.
 */
const SETTINGS = `set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local intervalstyle = 'postgres';
set local bytea_output = 'hex'; set local extra_float_digits = 1; set local client_encoding = 'UTF8';
set local standard_conforming_strings = on; set local row_security = off; set local xmloption = 'content';
set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0;
select pg_catalog.set_config(name, '0', true) from pg_catalog.pg_settings where name = 'transaction_timeout';`;

const BEGIN: Readonly<Record<Mode, string>> = {
  read: 'begin isolation level repeatable read read only;',
  write: 'begin isolation level read committed read write; set constraints all deferred;',
};

const INTEGERS = new Set([20, 21, 23, 26, 1700]);

/** Integers as `bigint`, everything else as text. */
const TYPES = {
  getTypeParser: (oid: number) => (value: string | Buffer) => {
    const text = String(value);
    return INTEGERS.has(oid) && /^-?\d+$/.test(text) ? BigInt(text) : text;
  },
};

class PostgresSession {
  readonly place: string;
  readonly #options: ServerOptions;
  readonly #client: pg.Client;
  readonly #begin: string;
  readonly #schema: string | null;
  readonly #stop = () => this.#client.connection.stream.destroy();
  #isInTransaction = false;
  #cursors = 0;

  constructor(options: ServerOptions, url: URL) {
    this.#options = options;
    const { client, place } = buildClient(options, url);
    this.#client = client;
    this.place = place;
    this.#schema = url.searchParams.get('schema');
    this.#begin = `${SETTINGS} set local lock_timeout = ${options.lockTimeoutMs}; ${searchPath(url)}`;
    this.#client.on('error', () => {});
  }

  async connect(): Promise<void> {
    const { signal } = this.#options;
    if (signal.aborted) throw SERVER_ERRORS.interrupted();
    // Only closing the connection stops a running statement at once; the server rolls its transaction back.
    signal.addEventListener('abort', this.#stop);
    await this.#guard(() =>
      this.#client.connect().catch((error: unknown) => {
        throw connectError(error, this.place);
      }),
    );
    if (this.#schema !== null) await this.#assertSchema(this.#schema);
  }

  async #assertSchema(schema: string): Promise<void> {
    const rows = await this.run((query) =>
      query('select nspname from pg_catalog.pg_namespace where nspname = $1', [schema]),
    );
    if (rows.length > 0) return;
    throw new SvcError('config', `There is no schema "${schema}" in ${this.place}.`, {
      hint: `Correct "schema" in ${this.#options.name}.`,
    });
  }

  run<T>(work: (query: PostgresQuery) => Promise<T>, mode: Mode = 'read'): Promise<T> {
    const query: PostgresQuery = (sql, values) => this.#query(sql, values);
    return this.#isInTransaction ? this.#guard(() => work(query)) : this.transaction(mode, () => work(query));
  }

  transaction<T>(mode: Mode, work: () => Promise<T>): Promise<T> {
    return this.#guard(async () => {
      await this.#client.query(BEGIN[mode] + this.#begin);
      this.#isInTransaction = true;
      try {
        const result = await work();
        await this.#client.query('commit');
        return result;
      } catch (error) {
        await this.#client.query('rollback').catch(() => {});
        throw error;
      } finally {
        this.#isInTransaction = false;
      }
    });
  }

  async execute(sql: string): Promise<number> {
    // A table with deferred checks cannot be altered.
    if (/^alter table/i.test(sql)) await this.#client.query('set constraints all immediate');
    return (await this.#client.query(sql)).rowCount ?? 0;
  }

  async *read(sql: string): AsyncGenerator<Value[][]> {
    if (!this.#isInTransaction) {
      // The cursor needs a transaction, which ends with the reading.
      await this.#guard(() => this.#client.query(BEGIN.read + this.#begin));
      this.#isInTransaction = true;
      try {
        yield* this.read(sql);
      } finally {
        this.#isInTransaction = false;
        await this.#client.query('rollback').catch(() => {});
      }
      return;
    }
    this.#cursors += 1;
    const cursor = `svc_migrate_${this.#cursors}`;
    await this.#guard(() => this.#client.query(`declare ${cursor} no scroll cursor for ${sql}`));
    for (;;) {
      const rows = await this.#guard(() => this.#query(`fetch forward ${FETCH_ROWS} from ${cursor}`));
      if (rows.length > 0) yield rows;
      if (rows.length < FETCH_ROWS) break;
    }
    await this.#guard(() => this.#client.query(`close ${cursor}`));
  }

  async insert(
    table: string,
    columns: readonly string[],
    rows: readonly (readonly Value[])[],
  ): Promise<void> {
    if (rows.length === 0) return;
    const stream = this.#client.query(
      copyFrom(`copy ${table} (${columns.map(quote).join(', ')}) from stdin`),
    );
    stream.end(rows.map(copyLine).join(''));
    await finished(stream);
  }

  async close(): Promise<void> {
    this.#options.signal.removeEventListener('abort', this.#stop);
    await this.#client.end().catch(() => {});
  }

  async #query(sql: string, values: readonly string[] = []): Promise<Value[][]> {
    const query = { text: sql, rowMode: 'array' as const, types: TYPES };
    const { rows } = await this.#client.query<Value[]>(
      values.length === 0 ? query : { ...query, values: [...values] },
    );
    return rows;
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (this.#options.signal.aborted) throw SERVER_ERRORS.interrupted();
      throw postgresError(error, this.place);
    }
  }
}

function buildClient(
  options: ServerOptions,
  url: URL,
): { readonly client: pg.Client; readonly place: string } {
  const { searchParams } = url;
  const given = (name: string) => searchParams.get(name);
  const host = given('host') ?? decodeURIComponent(url.hostname).replace(/^\[|\]$/g, '');
  const port = given('port') ?? url.port;
  const mode = chooseTls(host, given('sslmode') ?? sslmodeOf(given('ssl')), options);
  const files = { ca: given('sslrootcert'), cert: given('sslcert'), key: given('sslkey') };
  const database = decodeURIComponent(url.pathname.slice(1));
  const user = given('user') ?? decodeURIComponent(url.username);
  const password = given('password') ?? decodeURIComponent(url.password);
  const client = new pg.Client({
    ...(host === '' ? {} : { host }),
    ...(port === '' ? {} : { port: Number(port) }),
    ...(user === '' ? {} : { user }),
    ...(password === '' ? {} : { password }),
    ...(database === '' ? {} : { database }),
    application_name: given('application_name') ?? 'svc-migrate',
    connectionTimeoutMillis: connectTimeout(url),
    keepAlive: true,
    enableChannelBinding: given('channel_binding') === 'prefer',
    ssl: mode === 'plain' ? false : readTls(mode, files),
  });
  const server = client.host.startsWith('/') ? 'the local socket' : `${client.host}:${client.port}`;
  return { client, place: `${server}, database ${client.database ?? ''}` };
}

function sslmodeOf(ssl: string | null): string | null {
  if (ssl === null || ssl === 'no-verify') return ssl;
  return ssl === '0' || ssl === 'false' ? 'disable' : 'verify-full';
}

/** The schema of the address holds in each transaction, not for the session. */
function searchPath({ searchParams }: URL): string {
  const schema = searchParams.get('schema');
  return schema === null
    ? ''
    : `select pg_catalog.set_config('search_path', ${literal(quote(schema))}, true);`;
}

const COPY_ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
};

function copyLine(row: readonly Value[]): string {
  const fields = row.map((cell) =>
    cell === null ? '\\N' : String(cell).replace(/[\\\t\n\r]/g, (char) => COPY_ESCAPES[char] ?? char),
  );
  return `${fields.join('\t')}\n`;
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Escapes control characters, so that no program that reads a script can misread them. */
function literal(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'bigint')
    return value === -(2n ** 63n) ? "'-9223372036854775808'::bigint" : String(value);
  const text = value.replaceAll("'", "''");
  if (!/[\\\u0000-\u001f\u007f]/.test(text)) return `'${text}'`;
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replace(/[\u0000-\u001f\u007f]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return `E'${escaped}'`;
}

const asText = (term: string) => `(${term})::text collate "C"`;

type Column = Pick<ColumnFacts, 'holds' | 'type'>;

const exact = ({ holds, type }: Column, term: string) =>
  holds !== 'integer'
    ? asText(term)
    : /^(?:smallint|integer|bigint)$/.test(type)
      ? term
      : `(${term})::bigint`;

const POSTGRES_SQL: Pick<
  Database,
  'quote' | 'literal' | 'exact' | 'stored' | 'isOld' | 'isSame' | 'createTable' | 'updateFrom' | 'lockTable'
> = {
  quote,
  literal,
  exact,
  // A cast to varchar(n) would cut; an assignment refuses.
  stored: ({ type }, term) => (/^(?:json|jsonb|numeric)\b/.test(type) ? `(${term})::${type}` : term),
  isOld: (_, old, cell) => `${old} = ${cell}`,
  isSame: (column, a, b) => `${exact(column, a)} is not distinct from ${exact(column, b)}`,
  createTable: ({ table, columns, key }) => {
    const isLong = key.some((name) =>
      columns.some((column) => column.name === name && column.type === 'text'),
    );
    const list = columns.map(({ name, type, isNullable }) => {
      const declared = type === 'integer' ? 'bigint' : 'text collate "C"';
      return `${quote(name)} ${declared}${isNullable ? '' : ' not null'}`;
    });
    if (!isLong) list.push(`primary key (${key.map(quote).join(', ')})`);
    const create = `create table if not exists ${table}(${list.join(', ')})`;
    if (!isLong) return [create];
    // Only a hash index takes texts of any length. Publications need an identity of rows without a key.
    const name = (/"((?:[^"]|"")+)"$/.exec(table)?.[1] ?? '').replaceAll('""', '"');
    const [old = ''] = key;
    return [
      create,
      `create index if not exists ${quote(`${name}_old`)} on ${table} using hash (${quote(old)})`,
      `alter table ${table} replica identity full`,
    ];
  },
  updateFrom: ({ table, from, on, set, where }) => {
    const changes = set.map(([column, term]) => `${quote(column)} = ${term}`).join(', ');
    return `update ${table} as t set ${changes} from ${from} as m where ${on} and ${where}`;
  },
  lockTable: (table) => [`lock table ${table} in share row exclusive mode`, 'set constraints all deferred'],
};

/** Deadlock, serialization failure, lock timeout; two sessions that create or alter one table. */
const BUSY = new Set(['40P01', '40001', '55P03', '42P07', '42701', 'XX000']);
const SERVER_GONE = /^(?:08|57P0[123])/;
const SOCKET_GONE =
  /^(?:ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH|EAI_AGAIN|ERR_STREAM.*)$/;
const DRIVER_GONE =
  /connection (?:terminated|ended)|timeout exceeded|client (?:was closed|has encountered)|not queryable|timeout expired/i;

/** A failure to connect that comes neither from the server nor from the network: TLS, certificates, a missing password. */
function connectError(error: unknown, place: string): unknown {
  if (!(error instanceof Error) || error instanceof pg.DatabaseError || isLost(error)) return error;
  return new SvcError('config', `Cannot connect to ${place}: ${error.message}.`, {
    hint: 'Check certificates, sslmode and the password in the connection string.',
    cause: error,
  });
}

/** Whether the connection was lost, so that the last statement may or may not have been carried out. */
function isLost(error: Error): boolean {
  const code = 'code' in error ? String(error.code) : '';
  if (error instanceof pg.DatabaseError) return SERVER_GONE.test(code);
  return SOCKET_GONE.test(code) || DRIVER_GONE.test(error.message);
}

/** Errors of the driver and the server as SvcErrors, without the connection string; others unchanged. */
function postgresError(error: unknown, place: string): unknown {
  if (error instanceof SvcError || !(error instanceof Error)) return error;
  const code = 'code' in error ? String(error.code) : '';
  if (isLost(error)) return SERVER_ERRORS.lost(place, code === '' ? error.message : code);
  if (!(error instanceof pg.DatabaseError)) return error;
  if (code === '22021') {
    const what = `${place} holds text that is not UTF-8, as a database with the encoding SQL_ASCII may`;
    return new SvcError('bad_input', `${what}: it cannot be read exactly.`, {
      hint: 'Convert the database to UTF8: pg_dump, iconv, createdb -E UTF8.',
      facts: { sqlstate: code },
      cause: error,
    });
  }
  const detail = error.detail === undefined ? '' : ` (${error.detail})`;
  const sentence = `PostgreSQL: ${error.message}${detail}.`;
  const isCatalog = code === '23505' && error.constraint?.startsWith('pg_') === true;
  if (isCatalog || (BUSY.has(code) && !(code === 'XX000' && !/concurrently/.test(error.message))))
    return SERVER_ERRORS.busy(sentence, error);
  return new SvcError('bad_input', sentence, { hint: hintOf(code), facts: { sqlstate: code }, cause: error });
}

function hintOf(code: string): string {
  if (code === '42501' || code.startsWith('28'))
    return 'Check the user and its password, or grant it the rights for this.';
  if (code.startsWith('23')) return CONSTRAINT_HINT;
  if (code === '2BP01') return 'Drop what uses the column, then run the same command again.';
  if (code === '25006') return 'This server is read-only: connect to the primary.';
  return REFUSED_HINT;
}

type PostgresQuery = (sql: string, values?: readonly string[]) => Promise<Value[][]>;

async function listPostgresTables(query: PostgresQuery): Promise<ListedTable[]> {
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
async function introspectPostgres(query: PostgresQuery, table: string): Promise<TableFacts | null> {
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
    coalesce(b.typname, t.typname), a.attgenerated <> '' or a.attidentity = 'a', not (a.attnotnull or t.typnotnull)
  from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
    left join pg_catalog.pg_type b on b.oid = t.typbasetype and t.typtype = 'd'
  where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped order by a.attnum`;

function describeColumn([name, type, base, isGenerated, isNullable]: readonly Value[]): ColumnFacts {
  return {
    name: String(name),
    type: String(type),
    holds: holdsOf(String(base), String(type)),
    isGenerated: isGenerated === 't',
    isNullable: isNullable === 't',
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
