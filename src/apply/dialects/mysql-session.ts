import { connect, type Socket } from 'node:net';
import type { Connection, QueryOptions, TypeCastField } from 'mysql2';
import mysql from 'mysql2';
import type { MysqlTarget } from '../../config/apply-targets.js';
import { errorCodeOf, SvcError } from '../../errors.js';
import * as z from '../../zod.js';
import type { ApplyContext } from '../context.js';
import type { Cells, TransactionMode } from '../engine/dialect.js';
import { SERVER_ERRORS, SERVER_HINTS, type ServerKind, ServerSession } from './server-session.js';
import { connectionOptions, MYSQL_URL } from './server-url.js';
import { quoteMysqlLiteral } from './shared-text.js';

/**
 * Writing transactions are READ COMMITTED, so that INSERT … SELECT locks no rows of the user's table. Only REPEATABLE
 * READ also locks the gaps between rows, which locking a whole table needs.
 */
const BEGIN: Readonly<Record<TransactionMode, readonly [isolation: string, start: string]>> = {
  read: ['REPEATABLE READ', 'WITH CONSISTENT SNAPSHOT, READ ONLY'],
  latest: ['READ COMMITTED', 'READ WRITE'],
  snapshot: ['READ COMMITTED', 'READ WRITE'],
  exclusive: ['REPEATABLE READ', 'READ WRITE'],
};

const BATCH_ROWS = 10_000;
const CONNECT_TIMEOUT_MS = 15_000;
/** Longest INSERT that `insert` builds, unless the server's limit is lower. */
const MAX_STATEMENT_BYTES = 1024 * 1024;

/** Makes the effect of statements and the text of values independent of the server's settings. */
const SETTINGS = `
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', autocommit = 1, completion_type = 0,
  foreign_key_checks = 1, unique_checks = 1, sql_safe_updates = 0, sql_select_limit = DEFAULT, sql_big_selects = 1,
  sql_auto_is_null = 0, default_tmp_storage_engine = 'InnoDB', wait_timeout = 28800, net_write_timeout = 600, net_read_timeout = 600;`;

const rowsSchema = z.union([
  z.array(z.array(z.string().nullable())),
  z.object({ affectedRows: z.number() }),
  z.array(z.unknown()).transform(() => ({ affectedRows: 0 })),
]);

/** Reads every value as text, so that integers keep all their digits. */
const asText = (field: TypeCastField): string | null => field.string('utf8');

const MYSQL: ServerKind = {
  url: MYSQL_URL,
  isConnectionLost: isMysqlConnectionLost,
  isWorthRetrying: isMysqlWorthRetrying,
  toSvcError: mysqlError,
};

/** A session on a MySQL or MariaDB server. */
export class MysqlSession extends ServerSession<Connection> {
  #socket: Socket | null = null;
  #hasLock = false;
  #maxStatementBytes = MAX_STATEMENT_BYTES;

  constructor(context: ApplyContext, source: Pick<MysqlTarget, 'urlEnv' | 'tls'>) {
    super(context, source, MYSQL);
  }

  async place(): Promise<string> {
    const { host, port, socketPath, database } = connectionOptions(this.url, this.tls);
    return `${socketPath === undefined ? `${host}:${port}` : 'local socket'}, database ${database ?? ''}`;
  }

  async query(
    text: string,
    values: readonly (string | null)[] = [],
  ): Promise<{ rows: Cells[]; count: number }> {
    const result = rowsSchema.parse(
      await await this.#send({ sql: bind(text, values), rowsAsArray: true, typeCast: asText }),
    );
    return Array.isArray(result)
      ? { rows: result, count: result.length }
      : { rows: [], count: result.affectedRows };
  }

  async exec(text: string): Promise<void> {
    await this.#send({ sql: text });
  }

  /** The connection can do nothing else until the last row has been read. */
  async *read(text: string): AsyncGenerator<Cells[]> {
    const connection = await this.connected();
    const socket = this.#socket;
    const rows = connection
      .query({ sql: text, rowsAsArray: true, typeCast: asText })
      .stream({ highWaterMark: 1000 });
    // The driver does not end a stream of rows if its connection is lost.
    const fail = () => rows.destroy(new Error('connection closed while rows were read'));
    if (socket?.closed === false) socket.once('close', fail);
    else fail();
    let batch: Cells[] = [];
    let isComplete = false;
    try {
      for await (const row of rows) {
        if (batch.push(row) < BATCH_ROWS) continue;
        yield batch;
        batch = [];
      }
      isComplete = true;
    } finally {
      socket?.off('close', fail);
      if (!isComplete) this.drop();
    }
    yield batch;
  }

  /** Inserts rows, each as SQL, into a table, in statements no longer than the server accepts. */
  async insert(table: string, columns: readonly string[], rows: readonly string[]): Promise<void> {
    const start = `INSERT INTO ${table}(${columns.join(', ')}) VALUES `;
    let values: string[] = [];
    let bytes = 0;
    const flush = async () => {
      if (values.length > 0) await this.exec(start + values.join(','));
      [values, bytes] = [[], 0];
    };
    for (const row of rows) {
      if (bytes + row.length > this.#maxStatementBytes) await flush();
      values.push(row);
      bytes += Buffer.byteLength(row) + 1;
    }
    await flush();
  }

  /**
   * Takes a named lock until the end of the transaction.
   *
   * @throws SvcError `locked` if another session holds it
   */
  async lockName(name: string): Promise<void> {
    const seconds = Math.ceil(this.context.tuning.lockTimeoutMs / 1000);
    if ((await this.one('SELECT GET_LOCK($1, $2)', [name, String(seconds)])) !== '1') {
      throw new SvcError('locked', 'Another svc-migrate is starting a run in this database.', {
        hint: 'Wait until it has finished.',
      });
    }
    this.#hasLock = true;
  }

  protected beginSql(mode: TransactionMode): string {
    const [isolation, start] = BEGIN[mode];
    return `SET SESSION foreign_key_checks = 1; SET TRANSACTION ISOLATION LEVEL ${isolation}; START TRANSACTION ${start}`;
  }

  protected end(connection: Connection): Promise<void> {
    return connection.promise().end();
  }

  async #send(options: QueryOptions): Promise<unknown> {
    const [result] = await (await this.connected()).promise().query(options);
    return result;
  }

  protected override async releaseLocks(): Promise<void> {
    if (!this.#hasLock) return;
    this.#hasLock = false;
    await this.exec('DO RELEASE_ALL_LOCKS()');
  }

  protected drop(): void {
    this.#hasLock = false;
    this.connection = null;
    // The driver's own `destroy` would wait for the running statement.
    this.#socket?.destroy();
  }

  protected async open(): Promise<Connection> {
    const options = connectionOptions(this.url, this.tls);
    const { host, port = 0, socketPath } = options;
    const socket =
      socketPath === undefined
        ? connect({ host, port, noDelay: true, keepAlive: true })
        : connect(socketPath);
    this.#socket = socket;
    const connection = mysql.createConnection({
      ...options,
      stream: socket,
      charset: 'utf8mb4_bin',
      multipleStatements: true,
      flags: ['-LOCAL_FILES'],
      connectTimeout: CONNECT_TIMEOUT_MS,
    });
    connection.on('error', () => {
      if (this.connection === connection) this.connection = null;
    });
    await connection.promise().connect();
    this.connection = connection;
    await this.#prepare();
    return connection;
  }

  async #prepare(): Promise<void> {
    const { lockTimeoutMs, statementTimeoutMs } = this.context.tuning;
    const seconds = Math.max(1, Math.ceil(lockTimeoutMs / 1000));
    await this.exec(
      `${SETTINGS} SET SESSION innodb_lock_wait_timeout = ${seconds}, lock_wait_timeout = ${seconds}`,
    );
    const { rows } = await this.query('SELECT version(), @@max_allowed_packet');
    const [version = '', packet] = rows[0] ?? [];
    this.#maxStatementBytes = Math.min(MAX_STATEMENT_BYTES, Number(packet) / 2);
    // MySQL limits the time of SELECT only.
    await this.exec(
      version?.includes('MariaDB') === true
        ? `SET SESSION max_statement_time = ${statementTimeoutMs / 1000}, idle_transaction_timeout = 0, idle_write_transaction_timeout = 0`
        : `SET SESSION max_execution_time = ${statementTimeoutMs}`,
    );
  }
}

/**
 * Replaces `$1`, `$2`, … with string literals, except inside quoted identifiers and literals. The driver's own `?`
 * would be replaced there too.
 */
function bind(text: string, values: readonly (string | null)[]): string {
  if (values.length === 0) return text;
  return text.replace(/`(?:[^`]|``)*`|'(?:[^'\\]|''|\\.)*'|\$(\d+)/g, (part, at: string | undefined) => {
    if (at === undefined) return part;
    const value = values[Number(at) - 1] ?? null;
    return value === null ? 'NULL' : quoteMysqlLiteral(value);
  });
}

/** Errors that a retry may resolve: a lock timeout, a deadlock, a row changed since the snapshot, a Galera node not ready. */
const TRANSIENT = new Set([1205, 1213, 1020, 1047]);
/** The server is not running, is shutting down, or closed the connection. */
const SERVER_GONE = new Set([1040, 1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 4031]);
const SOCKET_GONE =
  /^(?:ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH|EAI_AGAIN|PROTOCOL_CONNECTION_LOST|PROTOCOL_SEQUENCE_TIMEOUT|ERR_STREAM.*)$/;
const DRIVER_GONE = /connection (?:ended|(?:is in )?closed)|closed state|connect(?:ion)? ETIMEDOUT/i;
/** A statement that exceeded the time limit (MariaDB, MySQL) or was killed. */
const TOO_LONG = new Set([1969, 3024, 1317]);
const NO_RIGHTS = new Set([1044, 1045, 1142, 1143, 1227, 1370, 1698]);
const CONSTRAINTS = new Set([1062, 1216, 1217, 1451, 1452, 1761, 3819, 4025]);

/** The server's error number; 0 for errors of the driver and others. */
function serverErrorNumber(error: Error): number {
  const sqlState = 'sqlState' in error ? error.sqlState : undefined;
  return 'errno' in error && typeof error.errno === 'number' && sqlState !== undefined ? error.errno : 0;
}

/** Whether the connection was lost, so that the last statement may or may not have been carried out. */
function isMysqlConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof SvcError) return false;
  const number = serverErrorNumber(error);
  return number === 0
    ? SOCKET_GONE.test(errorCodeOf(error)) || DRIVER_GONE.test(error.message)
    : SERVER_GONE.has(number);
}

function isMysqlWorthRetrying(error: unknown): boolean {
  return isMysqlConnectionLost(error) || (error instanceof Error && TRANSIENT.has(serverErrorNumber(error)));
}

/** Turns errors of the driver and the server into SvcErrors, without the connection string; returns others unchanged. */
export function mysqlError(error: unknown): unknown {
  if (error instanceof SvcError || !(error instanceof Error)) return error;
  const number = serverErrorNumber(error);
  const code = errorCodeOf(error);
  if (isMysqlConnectionLost(error)) {
    return SERVER_ERRORS.lost('MySQL', code);
  }
  if (code === 'HANDSHAKE_SSL_ERROR') {
    return new SvcError('config', `TLS with the MySQL server failed: ${error.message}.`, {
      hint: 'Name the authority that signed its certificate with ssl-ca=FILE in the connection string.',
      facts: { error: code },
    });
  }
  if (number === 0) {
    // A TLS failure, or the driver's refusal of the server.
    if (!('fatal' in error) && !/^(?:HANDSHAKE|ERR_|AUTH|CERT|DEPTH|SELF|UNABLE)/.test(code)) return error;
    return new SvcError('config', `Cannot connect to MySQL with this connection string (${code}).`, {
      hint: 'Check certificates, ssl-mode and the password in the connection string.',
      facts: { error: code },
    });
  }
  const facts = { error: code, errno: number };
  const sentence = `MySQL: ${error.message}.`;
  if (TRANSIENT.has(number)) return SERVER_ERRORS.busy(sentence, { facts });
  return new SvcError('bad_input', sentence, { facts, hint: hintOf(number) });
}

function hintOf(number: number): string | undefined {
  if (NO_RIGHTS.has(number)) return SERVER_HINTS.rights;
  if (TOO_LONG.has(number)) return SERVER_HINTS.tooLong;
  if (CONSTRAINTS.has(number)) return SERVER_HINTS.constraint;
  if (number === 1290 || number === 1792) return SERVER_HINTS.readOnly;
  return number === 1153 ? 'Raise max_allowed_packet of the server.' : undefined;
}
