import { finished } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { PostgresTarget } from '../../config/apply-targets.js';
import { errorCodeOf, SvcError } from '../../errors.js';
import type { ApplyContext } from '../context.js';
import type { Cells, TransactionMode } from '../engine/dialect.js';
import { SERVER_ERRORS, SERVER_HINTS, type ServerKind, ServerSession } from './server-session.js';
import { POSTGRES_URL, secureUrl, type TlsPolicy, withoutTls } from './server-url.js';
import { quoteIdentifier } from './shared-text.js';

const BEGIN: Readonly<Record<TransactionMode, string>> = {
  read: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
  latest: 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
  snapshot: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE',
  exclusive: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE',
};

/** Few enough that their values are freed while they are young. */
const FETCH_ROWS = 1000;
const CONNECT_TIMEOUT_MS = 15_000;
/**
 * Makes names of functions and operators in our statements refer to pg_catalog, whatever other users created. Saves the
 * user's search path in the settings `svc_migrate.*`: tables are found by it, and their triggers need it.
 */
const FIXED_PATH = `
SELECT pg_catalog.set_config('svc_migrate.search_path', pg_catalog.current_setting('search_path'), false),
  pg_catalog.set_config('svc_migrate.schemas', pg_catalog.to_json(pg_catalog.current_schemas(true))::pg_catalog.text, false);
SET search_path = pg_catalog, pg_temp;`;
/**
 * Makes values have the same text in every session, makes queries fail instead of leaving out rows that a policy hides, and
 * turns off time limits for idle sessions and transactions.
 */
const SETTINGS = `
SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD'; SET IntervalStyle = 'postgres'; SET bytea_output = 'hex';
SET extra_float_digits = 1; SET client_encoding = 'UTF8'; SET standard_conforming_strings = on;
SET row_security = off; SET xmloption = 'content'; SET lc_monetary = 'C';
SELECT set_config(name, '0', false) FROM pg_settings
  WHERE name IN ('idle_in_transaction_session_timeout', 'idle_session_timeout', 'transaction_timeout');`;

const AS_TEXT = { getTypeParser: () => (value: string | Buffer) => String(value) };

const POSTGRES: ServerKind = {
  url: POSTGRES_URL,
  isConnectionLost,
  isWorthRetrying,
  toSvcError: postgresError,
};

/** A session on a PostgreSQL server. */
export class PgSession extends ServerSession<pg.Client> {
  constructor(context: ApplyContext, source: Pick<PostgresTarget, 'urlEnv' | 'tls'>) {
    super(context, source, POSTGRES);
  }

  async place(): Promise<string> {
    const { host, port, database } = await this.connected();
    return `${host.startsWith('/') ? 'local socket' : `${host}:${port}`}, database ${database ?? ''}`;
  }

  async query(
    text: string,
    values: readonly (string | null)[] = [],
  ): Promise<{ rows: Cells[]; count: number }> {
    const client = await this.connected();
    const result = await client.query<Cells>({ text, values: [...values], rowMode: 'array', types: AS_TEXT });
    return { rows: result.rows, count: result.rowCount ?? 0 };
  }

  async exec(text: string): Promise<void> {
    await (await this.connected()).query(text);
  }

  /** Uses the user's own search path for the rest of the transaction. */
  async useUserPath(): Promise<void> {
    await this.exec(
      "SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('svc_migrate.search_path'), true)",
    );
  }

  async *read(text: string): AsyncGenerator<Cells[]> {
    await this.exec(`DECLARE svc_migrate_cursor NO SCROLL CURSOR FOR ${text}`);
    for (;;) {
      const { rows } = await this.query(`FETCH FORWARD ${FETCH_ROWS} FROM svc_migrate_cursor`);
      if (rows.length > 0) yield rows;
      if (rows.length < FETCH_ROWS) break;
    }
    await this.exec('CLOSE svc_migrate_cursor');
  }

  /** Copies rows into a table. */
  async copyIn(table: string, columns: readonly string[], rows: readonly Cells[]): Promise<void> {
    const client = await this.connected();
    const stream = client.query(
      copyFrom(`COPY ${table} (${columns.map(quoteIdentifier).join(', ')}) FROM STDIN`),
    );
    stream.end(rows.map(copyLine).join(''));
    await finished(stream);
  }

  protected beginSql(mode: TransactionMode): string {
    return BEGIN[mode];
  }

  protected end(client: pg.Client): Promise<void> {
    return client.end();
  }

  protected drop(): void {
    const client = this.connection;
    this.connection = null;
    if (client === null) return;
    client.on('error', () => {});
    // Destroys the socket, because `end` would wait for the running statement.
    client.connection.stream.destroy();
  }

  protected async open(): Promise<pg.Client> {
    const { tuning } = this.context;
    const client = buildClient(this.url, this.tls, {
      application_name: 'svc-migrate',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      ...(tuning.statementTimeoutMs > 0 ? { query_timeout: tuning.statementTimeoutMs + 30_000 } : {}),
    });
    client.on('error', () => {
      if (this.connection === client) this.connection = null;
    });
    await client.connect().catch((error: unknown) => {
      throw connectError(error);
    });
    this.connection = client;
    await client.query(
      `SET lock_timeout = ${tuning.lockTimeoutMs}; SET statement_timeout = ${tuning.statementTimeoutMs}`,
    );
    await client.query(`${FIXED_PATH} ${SETTINGS}`);
    return client;
  }
}

/** The driver resolves the host from the connection string and the environment; TLS then depends on that host. */
function buildClient(url: string, tls: TlsPolicy, config: pg.ClientConfig): pg.Client {
  try {
    const { host } = new pg.Client({ connectionString: withoutTls(url) });
    return new pg.Client({ ...config, ...secureUrl(url, host, tls) });
  } catch (error) {
    throw connectError(error);
  }
}

const COPY_ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
};

/** A row in the text format of COPY. */
function copyLine(cells: Cells): string {
  const fields = cells.map((cell) =>
    cell === null ? '\\N' : cell.replace(/[\\\t\n\r]/g, (found) => COPY_ESCAPES[found] ?? found),
  );
  return `${fields.join('\t')}\n`;
}

/** SQLSTATEs after which a retry may succeed: deadlock, serialization failure, lock timeout. */
const TRANSIENT = new Set(['40P01', '40001', '55P03']);
/** SQLSTATEs for a server that closed the connection or is not running. */
const SERVER_GONE = /^(?:08|57P0[123])/;
const SOCKET_GONE = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'EAI_AGAIN',
]);
/** The driver's messages for a lost connection that have no code. */
const DRIVER_GONE =
  /connection (?:terminated|ended)|timeout exceeded|client (?:was closed|has encountered)|not queryable|timeout expired|read timeout/i;

/** Whether the connection was lost, so that the last statement may or may not have been carried out. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return SERVER_GONE.test(error.code ?? '');
  if (!(error instanceof Error)) return false;
  const code = errorCodeOf(error);
  return SOCKET_GONE.has(code) || code.startsWith('ERR_STREAM') || DRIVER_GONE.test(error.message);
}

export function isWorthRetrying(error: unknown): boolean {
  return (error instanceof pg.DatabaseError && TRANSIENT.has(error.code ?? '')) || isConnectionLost(error);
}

/** Turns a failure to connect that comes neither from the server nor from the network (TLS, files, a missing password) into an SvcError. */
function connectError(error: unknown): unknown {
  if (error instanceof pg.DatabaseError || error instanceof SvcError || !(error instanceof Error))
    return error;
  if (isConnectionLost(error)) return error;
  const code = 'code' in error ? String(error.code) : error.name;
  return new SvcError('config', `Cannot connect to PostgreSQL with this connection string (${code}).`, {
    hint: 'Check certificates, sslmode and the password in the connection string.',
    facts: { error: code },
    cause: error,
  });
}

/**
 * Turns a lost connection or an error of the server into an SvcError that does not contain the connection string; returns
 * other errors unchanged.
 */
export function postgresError(error: unknown): unknown {
  if (error instanceof SvcError || !(error instanceof Error)) return error;
  if (isConnectionLost(error)) {
    return SERVER_ERRORS.lost('PostgreSQL', 'code' in error ? String(error.code) : error.message);
  }
  if (!(error instanceof pg.DatabaseError)) return error;
  const facts = { sqlstate: error.code, table: error.table, constraint: error.constraint };
  const options = { facts, cause: error };
  if (TRANSIENT.has(error.code ?? '')) return SERVER_ERRORS.busy(`PostgreSQL: ${error.message}.`, options);
  const detail = error.detail === undefined ? '' : ` (${error.detail})`;
  const text = `PostgreSQL: ${error.message}${detail}.`;
  return new SvcError('bad_input', text, { ...options, hint: hintOf(error.code ?? '') });
}

function hintOf(code: string): string | undefined {
  if (code === '42501') return SERVER_HINTS.ledger;
  if (code.startsWith('28')) return SERVER_HINTS.rights;
  if (code === '57014') return SERVER_HINTS.tooLong;
  if (code.startsWith('23')) return SERVER_HINTS.constraint;
  if (code === '2BP01') return 'Drop what uses the column, then run the same command again.';
  return code === '25006' ? SERVER_HINTS.readOnly : undefined;
}
