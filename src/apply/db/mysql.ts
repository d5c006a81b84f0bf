import { connect, type Socket } from 'node:net';
import mysql from 'mysql2';
import { z } from 'zod';
import { SvcError } from '../../errors.js';
import { inBatches } from '../../text/rows.js';
import {
  type ColumnFacts,
  type Database,
  type ListedTable,
  type Obstacle,
  type TableFacts,
  throwIfAborted,
  type Value,
} from './database.js';
import {
  assertParameters,
  CONSTRAINT_HINT,
  chooseTls,
  connectTimeout,
  isAddress,
  type Parameters,
  POOL_PARAMETERS,
  parseAddress,
  REFUSED_HINT,
  readTls,
  SERVER_ERRORS,
  type ServerOptions,
} from './server.js';

const EXAMPLE = 'mysql://user:password@host:3306/database';
const BATCH_ROWS = 1000;
const MAX_STATEMENT_BYTES = 1024 * 1024;

const PARAMETERS: Parameters = {
  ...POOL_PARAMETERS,
  'ssl-mode': /^(?:DISABLED|PREFERRED|REQUIRED|VERIFY_CA|VERIFY_IDENTITY)$/i,
  'ssl-ca': /^.+$/,
  'ssl-cert': /^.+$/,
  'ssl-key': /^.+$/,
  sslaccept: /^(?:strict|accept_invalid_certs)$/,
  socket: /^\/.+$/,
  charset: /^utf8mb4$/i,
};

/**
 * Opens a MySQL or MariaDB database. DDL commits there, and settings belong to the session, which is ours alone.
 *
 * @throws SvcError `config`, `bad_input`, `locked`, `interrupted`
 */
export async function openMysql(options: ServerOptions): Promise<Database> {
  const url = parseAddress(options, ['mysql:', 'mariadb:'], EXAMPLE);
  assertParameters(url, options.name, PARAMETERS);
  const server = connectionOptions(url, options);
  const session = new MysqlSession(options, server);
  await session.connect();
  const query: MysqlQuery = (sql) => session.query(sql);
  return {
    kind: 'mysql',
    place: session.place,
    supportsTransactionalDdl: false,
    ...mysqlSql(session.noPad),
    introspect: (table) => introspectMysql(query, table, literal),
    listTables: () => listMysqlTables(query),
    query,
    execute: (sql) => session.execute(sql),
    read: (sql) => session.read(sql),
    insert: (table, columns, rows) => session.insert(table, columns, rows),
    transaction: (mode, work) => session.transaction(mode, work),
    close: () => session.close(),
  };
}

const SSL_MODES: Readonly<Record<string, string>> = {
  DISABLED: 'disable',
  PREFERRED: 'prefer',
  REQUIRED: 'require',
  VERIFY_CA: 'verify-ca',
  VERIFY_IDENTITY: 'verify-full',
};

interface Server {
  readonly place: string;
  /** Whether the address allows one connection only. */
  readonly isAlone: boolean;
  readonly options: mysql.ConnectionOptions;
}

function connectionOptions(url: URL, options: ServerOptions): Server {
  const given = (name: string) => url.searchParams.get(name);
  const database = decodeURIComponent(url.pathname.slice(1));
  if (database === '') {
    throw new SvcError('config', `The connection string in ${options.name} names no database.`, {
      hint: `It must look like ${EXAMPLE}.`,
    });
  }
  const socketPath = given('socket');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? 3306 : Number(url.port);
  const name = host === '' ? '127.0.0.1' : host;
  return {
    isAlone: given('connection_limit') === '1',
    place: `${socketPath === null ? `${name}:${port}` : 'the local socket'}, database ${database}`,
    options: {
      ...(socketPath === null ? { host: name, port } : { socketPath }),
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
      database,
      connectTimeout: connectTimeout(url),
      ...tlsOptions(url, socketPath === null ? host : '', options),
    },
  };
}

function tlsOptions(
  { searchParams }: URL,
  host: string,
  options: ServerOptions,
): Pick<mysql.ConnectionOptions, 'ssl'> {
  const given = (name: string) => searchParams.get(name);
  const asked = given('ssl-mode');
  const accepts = given('sslaccept') === 'accept_invalid_certs' ? 'no-verify' : null;
  const mode = chooseTls(
    host,
    accepts ?? (asked === null ? null : (SSL_MODES[asked.toUpperCase()] ?? null)),
    options,
  );
  if (mode === 'plain') return {};
  // The driver compares host names only.
  if (mode === 'verified' && isAddress(host)) {
    throw new SvcError('config', `The certificate of ${host} cannot be verified by its address.`, {
      hint: 'Use the host name in the connection string, or set "tls": "unverified" for the target.',
    });
  }
  const files = { ca: given('ssl-ca'), cert: given('ssl-cert'), key: given('ssl-key') };
  return { ssl: { ...readTls(mode, files), verifyIdentity: mode === 'verified' } };
}

/** Makes the effect of statements and the text of values independent of the server's settings. */
const SETTINGS = `set session sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', autocommit = 1,
  completion_type = 0, foreign_key_checks = 1, unique_checks = 1, sql_safe_updates = 0, sql_select_limit = default,
  sql_big_selects = 1, sql_auto_is_null = 0, wait_timeout = 28800, net_write_timeout = 3600, net_read_timeout = 3600`;

const BEGIN = {
  read: 'set transaction isolation level repeatable read; start transaction with consistent snapshot, read only',
  write: 'set transaction isolation level read committed; start transaction read write',
} as const;

const LOCK = "concat('svc_migrate ', left(sha2(database(), 256), 40))";

const resultSchema = z.union([
  z.array(z.array(z.union([z.bigint(), z.string(), z.null()]))),
  z.object({ affectedRows: z.number() }).transform(({ affectedRows }) => affectedRows),
  z.array(z.unknown()).transform(() => 0),
]);

const INTEGERS = new Set(['TINY', 'SHORT', 'LONG', 'INT24', 'LONGLONG', 'NEWDECIMAL', 'DECIMAL']);

/** Integers as `bigint`, everything else as text. */
function typeCast(field: mysql.TypeCastField): Value {
  const text = field.string('utf8');
  return text !== null && INTEGERS.has(field.type) && /^-?\d+$/.test(text) ? BigInt(text) : text;
}

class MysqlSession {
  readonly place: string;
  readonly #options: ServerOptions;
  readonly #lockSeconds: number;
  readonly #isAlone: boolean;
  readonly #server: mysql.ConnectionOptions;
  readonly #sockets = new Set<Socket>();
  readonly #stop = () => {
    for (const socket of this.#sockets) socket.destroy();
  };
  #connection: mysql.Connection | null = null;
  #maxStatementBytes = MAX_STATEMENT_BYTES;
  noPad = 'utf8mb4_nopad_bin';

  constructor(options: ServerOptions, { place, options: server, isAlone }: Server) {
    this.#isAlone = isAlone;
    this.#options = options;
    this.#lockSeconds = Math.max(1, Math.ceil(options.lockTimeoutMs / 1000));
    this.#server = server;
    this.place = place;
  }

  async connect(): Promise<void> {
    throwIfAborted(this.#options);
    // Only closing the connection stops a running statement at once; the server rolls its transaction back.
    this.#options.signal.addEventListener('abort', this.#stop);
    this.#connection = await this.#guard(() => this.#open());
    const [row = []] = await this.query('select version(), @@max_allowed_packet');
    if (!String(row[0]).includes('MariaDB')) this.noPad = 'utf8mb4_0900_bin';
    this.#maxStatementBytes = Math.min(MAX_STATEMENT_BYTES, Number(row[1]) / 2);
  }

  query(sql: string): Promise<Value[][]> {
    return this.#guard(async () => {
      const result = await this.#send(sql);
      return typeof result === 'number' ? [] : result;
    });
  }

  execute(sql: string): Promise<number> {
    return this.#guard(async () => {
      const result = await this.#send(sql);
      return typeof result === 'number' ? result : 0;
    });
  }

  async transaction<T>(mode: 'read' | 'write', work: () => Promise<T>): Promise<T> {
    throwIfAborted(this.#options);
    if (mode === 'write') await this.#lock();
    try {
      await this.execute(BEGIN[mode]);
      const result = await work();
      await this.execute('commit');
      return result;
    } catch (error) {
      await this.execute('rollback').catch(() => {});
      throw error;
    } finally {
      if (mode === 'write') await this.execute(`do release_lock(${LOCK})`).catch(() => {});
    }
  }

  /** DDL commits, and that releases the lock on the state of a column; this lock lasts until the work has ended. */
  async #lock(): Promise<void> {
    const [row = []] = await this.query(`select get_lock(${LOCK}, ${this.#lockSeconds})`);
    if (row[0] === 1n) return;
    throw SERVER_ERRORS.busy(`Another svc-migrate is writing to ${this.place}.`, null);
  }

  /** On a connection of its own, because one that sends rows can do nothing else; from memory if there may be only one. */
  async *read(sql: string): AsyncGenerator<readonly Value[][]> {
    if (this.#isAlone) {
      yield* inBatches(await this.query(sql), BATCH_ROWS);
      return;
    }
    const connection = await this.#guard(() => this.#open());
    const rows = connection.query({ sql, rowsAsArray: true, typeCast }).stream({ highWaterMark: BATCH_ROWS });
    // The driver does not end the rows if their connection is lost.
    connection.on('error', (error) => rows.destroy(error));
    connection.on('end', () => rows.destroy(new Error('connection closed')));
    try {
      let batch: Value[][] = [];
      for await (const row of rows) {
        if (batch.push(row) < BATCH_ROWS) continue;
        yield batch;
        batch = [];
      }
      if (batch.length > 0) yield batch;
    } catch (error) {
      throw this.#describe(error);
    } finally {
      connection.destroy();
    }
  }

  async insert(
    table: string,
    columns: readonly string[],
    rows: readonly (readonly Value[])[],
  ): Promise<void> {
    const start = `insert into ${table}(${columns.map(quote).join(', ')}) values `;
    const texts = rows.map((row) => `(${row.map(literal).join(',')})`);
    for (const slice of sliceTexts(texts, this.#maxStatementBytes))
      await this.execute(start + slice.join(','));
  }

  async close(): Promise<void> {
    this.#options.signal.removeEventListener('abort', this.#stop);
    await this.#connection
      ?.promise()
      .end()
      .catch(() => {});
    this.#stop();
  }

  async #open(): Promise<mysql.Connection> {
    const { host, port = 0, socketPath } = this.#server;
    const socket =
      socketPath === undefined
        ? connect({ host, port, noDelay: true, keepAlive: true })
        : connect(socketPath);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    const connection = mysql.createConnection({
      ...this.#server,
      stream: socket,
      charset: 'utf8mb4_bin',
      multipleStatements: true,
      flags: ['-LOCAL_FILES'],
    });
    connection.on('error', () => {});
    await connection.promise().connect();
    const seconds = this.#lockSeconds;
    await connection
      .promise()
      .query(`${SETTINGS}, innodb_lock_wait_timeout = ${seconds}, lock_wait_timeout = ${seconds}`);
    return connection;
  }

  async #send(sql: string): Promise<Value[][] | number> {
    throwIfAborted(this.#options);
    if (this.#connection === null) throw new Error('the session is not connected');
    const [result] = await this.#connection.promise().query({ sql, rowsAsArray: true, typeCast });
    return resultSchema.parse(result);
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#describe(error);
    }
  }

  #describe(error: unknown): unknown {
    return this.#options.signal.aborted ? SERVER_ERRORS.interrupted() : mysqlError(error, this.place);
  }
}

/** A server refuses statements that are too long. */
function* sliceTexts(texts: Iterable<string>, maxBytes: number): Generator<string[]> {
  let slice: string[] = [];
  let bytes = 0;
  for (const text of texts) {
    const size = Buffer.byteLength(text) + 1;
    if (slice.length > 0 && bytes + size > maxBytes) {
      yield slice;
      slice = [];
      bytes = 0;
    }
    slice.push(text);
    bytes += size;
  }
  if (slice.length > 0) yield slice;
}

function quote(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

/** Texts with backslashes, which mean something else by `sql_mode`, and control characters are written in hexadecimal. */
function literal(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'bigint') return String(value);
  if (/[\\\u0000-\u001f\u007f]/.test(value))
    return `convert(x'${Buffer.from(value).toString('hex')}' using utf8mb4)`;
  return `'${value.replaceAll("'", "''")}'`;
}

type Column = Pick<ColumnFacts, 'holds' | 'type'>;

/** Each text is compared as Unicode, to the byte; `noPad` is the collation for that. */
function mysqlSql(
  noPad: string,
): Pick<
  Database,
  'quote' | 'literal' | 'exact' | 'stored' | 'isOld' | 'isSame' | 'createTable' | 'updateFrom' | 'lockTable'
> {
  const exact = ({ holds, type }: Column, term: string) => {
    if (holds !== 'integer') return `convert(${term} using utf8mb4) collate ${noPad}`;
    // Unsigned integers of 2^63 and more become negative numbers, which services do not use as ids.
    return type.startsWith('decimal') || type.includes('unsigned') ? `cast(${term} as signed)` : term;
  };
  const types = {
    integer: 'bigint',
    any: 'bigint',
    name: `varchar(255) character set utf8mb4 collate ${noPad}`,
    text: `longtext character set utf8mb4 collate ${noPad}`,
  } as const;
  return {
    quote,
    literal,
    exact,
    stored: ({ type }, term) => (type === 'json' ? `cast(${term} as json)` : term),
    // The digest uses the index.
    isOld: ({ holds }, old, cell) =>
      holds === 'integer'
        ? `${old} = ${cell}`
        : `${old.replace(/old(`?)$/, 'old_sha$1')} = unhex(sha2(${cell}, 256)) and ${old} = ${cell}`,
    isSame: (column, a, b) => `${exact(column, a)} <=> ${exact(column, b)}`,
    createTable: ({ table, columns, key }) => {
      const list = columns.map(
        ({ name, type, isNullable }) => `${quote(name)} ${types[type]}${isNullable ? '' : ' not null'}`,
      );
      const isLong = key.some((name) =>
        columns.some((column) => column.name === name && column.type === 'text'),
      );
      if (isLong) list.push('old_sha binary(32) as (unhex(sha2(old, 256))) stored', 'key (old_sha)');
      else list.push(`primary key (${key.map(quote).join(', ')})`);
      return [
        `create table if not exists ${table}(${list.join(', ')}) engine = InnoDB row_format = dynamic default charset = utf8mb4`,
      ];
    },
    updateFrom: ({ table, from, on, set, where }) => {
      const changes = set.map(([column, term]) => `t.${quote(column)} = ${term}`).join(', ');
      return `update ${table} as t join ${from} as m on ${on} set ${changes} where ${where}`;
    },
    lockTable: (table) => [`select count(*) from ${table} for update`],
  };
}

/** A lock timeout, a deadlock, a row that changed since the snapshot; a table or column that another process just added. */
const BUSY = new Set([1205, 1213, 1020, 1047, 1050, 1060, 1412, 1684]);
const SERVER_GONE = new Set([1040, 1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 4031]);
const SOCKET_GONE =
  /^(?:ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH|EAI_AGAIN|PROTOCOL_CONNECTION_LOST|PROTOCOL_SEQUENCE_TIMEOUT|ERR_STREAM.*)$/;
const DRIVER_GONE = /connection (?:ended|(?:is in )?closed)|closed state|connect(?:ion)? ETIMEDOUT/i;

const HINTS: readonly (readonly [readonly number[], string])[] = [
  [
    [1044, 1045, 1142, 1143, 1227, 1370, 1698],
    'Check the user and its password, or grant it the rights for this.',
  ],
  [[1062, 1169, 1216, 1217, 1451, 1452, 1761, 3819, 4025], CONSTRAINT_HINT],
  [[1290, 1792, 1836], 'This server is read-only: connect to the primary.'],
  [[1117, 1118], 'The table has no room for another column: move a long column out of it, or make it TEXT.'],
  [[1449], 'A trigger belongs to a user that does not exist: create it again with another DEFINER.'],
  [[1153], 'Raise max_allowed_packet of the server.'],
];

/** Errors of the driver and the server as SvcErrors, without the connection string; others unchanged. */
function mysqlError(error: unknown, place: string): unknown {
  if (error instanceof SvcError || !(error instanceof Error)) return error;
  const code = 'code' in error ? String(error.code) : '';
  const isServer = 'sqlState' in error && error.sqlState !== undefined;
  const number = isServer && 'errno' in error && typeof error.errno === 'number' ? error.errno : 0;
  if (number === 0 ? SOCKET_GONE.test(code) || DRIVER_GONE.test(error.message) : SERVER_GONE.has(number))
    return SERVER_ERRORS.lost(place, code);
  if (number === 0) {
    // A TLS failure, or the driver's refusal of the server.
    if (!('fatal' in error) && !/^(?:HANDSHAKE|ERR_|AUTH|CERT|DEPTH|SELF|UNABLE)/.test(code)) return error;
    return new SvcError('config', `Cannot connect to ${place} (${code}): ${error.message}.`, {
      hint: 'Check certificates (ssl-ca=FILE), ssl-mode and the password in the connection string.',
    });
  }
  const sentence = `MySQL: ${error.message}.`;
  if (BUSY.has(number)) return SERVER_ERRORS.busy(sentence, error);
  const hint = HINTS.find(([numbers]) => numbers.includes(number))?.[1] ?? REFUSED_HINT;
  return new SvcError('bad_input', sentence, { facts: { error: code, errno: number }, hint, cause: error });
}

type MysqlQuery = (sql: string) => Promise<Value[][]>;

async function listMysqlTables(query: MysqlQuery): Promise<ListedTable[]> {
  const rows = await query(
    'select table_name, table_type from information_schema.tables where table_schema = database() order by 1',
  );
  return rows.map(([name, kind]) => ({
    schema: null,
    name: String(name),
    obstacle: kind === 'VIEW' ? 'a view' : null,
  }));
}

/** Reads the catalog on a table of the connection's database; null if there is none of that name. */
async function introspectMysql(
  query: MysqlQuery,
  wanted: string,
  literal: (text: string) => string,
): Promise<TableFacts | null> {
  const [server = []] = await query('select @@lower_case_table_names');
  const isFolded = server[0] !== 0n;
  const fold = (text: string) => (isFolded ? text.toLowerCase() : text);
  const tables = await query(TABLES);
  const match = tables.find(([name]) => fold(String(name)) === fold(wanted));
  if (match === undefined) return null;
  const [name, kind, engine, hasTransactions] = match.map(String);
  const table = String(name);
  const read = (sql: string) => query(sql.replaceAll('$1', () => literal(table)));
  const columns = (await read(COLUMNS)).map(describeColumn);
  const uniques = await read(UNIQUES);
  return {
    table,
    schema: null,
    name: table,
    columns,
    key: uniques.flatMap(([index, column]) => (index === 'PRIMARY' ? [String(column)] : [])),
    uniqueColumns: uniqueColumns(uniques, columns),
    cascades: (await read(CASCADES)).map(([other, column]) => ({
      table: String(other),
      columns: [String(column)],
    })),
    triggers: (await read(TRIGGERS)).map(([trigger]) => String(trigger)),
    obstacles: describeObstacles(table, String(kind), String(engine), hasTransactions === 'YES'),
  };
}

const TABLES = `
  select t.table_name, t.table_type, t.engine, e.transactions from information_schema.tables t
    left join information_schema.engines e on e.engine = t.engine where t.table_schema = database() order by 1`;

const COLUMNS = `
  select column_name, column_type, data_type, extra, character_set_name, collation_name, is_nullable
  from information_schema.columns where table_schema = database() and table_name = $1 order by ordinal_position`;

const INTEGER_TYPES = new Set(['tinyint', 'smallint', 'mediumint', 'int', 'bigint']);
const TEXT_TYPES = new Set(['char', 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext']);

function describeColumn(row: readonly Value[]): ColumnFacts {
  const [name, type, data, extra, charset, collation, isNullable] = row;
  const declared = String(type);
  return {
    name: String(name),
    type: charset === null ? declared : `${declared} character set ${charset} collate ${collation}`,
    holds: holdsOf(String(data), declared),
    isGenerated: /\b(?:VIRTUAL|STORED|PERSISTENT) GENERATED|^(?:VIRTUAL|STORED|PERSISTENT)\b/.test(
      String(extra),
    ),
    isNullable: isNullable === 'YES',
    isUnsigned: declared.includes('unsigned'),
  };
}

function holdsOf(data: string, declared: string): ColumnFacts['holds'] {
  // A zero-filled integer reads as text with leading zeros.
  if (declared.includes('zerofill')) return 'other';
  if (INTEGER_TYPES.has(data)) return 'integer';
  const [, precision] = /^decimal\((\d+),0\)/.exec(declared) ?? [];
  if (precision !== undefined && Number(precision) <= 18) return 'integer';
  if (TEXT_TYPES.has(data) || data === 'decimal') return 'text';
  return data === 'json' ? 'json' : 'other';
}

const UNIQUES = `
  select index_name, column_name from information_schema.statistics
  where table_schema = database() and table_name = $1 and non_unique = 0 order by index_name, seq_in_index`;

/** An index of an expression or a generated column may depend on any column. */
function uniqueColumns(
  uniques: readonly (readonly Value[])[],
  columns: readonly ColumnFacts[],
): readonly string[] {
  const names = uniques.map(([, column]) => String(column));
  const isStored = (name: string) => columns.some((column) => column.name === name && !column.isGenerated);
  return names.every(isStored) ? names : columns.map(({ name }) => name);
}

const CASCADES = `
  select k.table_name, k.referenced_column_name
  from information_schema.key_column_usage k join information_schema.referential_constraints r
    on r.constraint_schema = k.constraint_schema and r.constraint_name = k.constraint_name and r.table_name = k.table_name
  where k.referenced_table_schema = database() and k.referenced_table_name = $1
    and r.update_rule not in ('NO ACTION', 'RESTRICT')`;

const TRIGGERS = `
  select trigger_name from information_schema.triggers
  where event_object_schema = database() and event_object_table = $1 and event_manipulation = 'UPDATE' order by 1`;

/** What would be changed silently or could not be rolled back. Missing rights and full rows are errors of the statements. */
function describeObstacles(
  table: string,
  kind: string,
  engine: string,
  hasTransactions: boolean,
): Obstacle[] {
  const stop = (code: string, text: string): Obstacle[] => [{ stops: 'write', code, text }];
  if (kind === 'VIEW') return stop('not_a_table', `${table} is a view: name the table behind it.`);
  if (kind === 'SYSTEM VERSIONED')
    return stop('system_versioned', `${table} is system-versioned: its history would keep the V3 ids.`);
  return hasTransactions
    ? []
    : stop('engine', `${table} uses ${engine}, which has no transactions: ALTER TABLE … ENGINE=InnoDB.`);
}
