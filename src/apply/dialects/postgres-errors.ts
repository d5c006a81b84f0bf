import pg from 'pg';
import { errorCodeOf, SvcError } from '../../errors.js';

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
export function connectError(error: unknown): unknown {
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

/** Turns errors of the driver and the server into SvcErrors, without the connection string; returns others unchanged. */
export function postgresError(error: unknown): unknown {
  if (error instanceof SvcError || !(error instanceof Error)) return error;
  if (isConnectionLost(error)) {
    const code = 'code' in error ? String(error.code) : error.message;
    return new SvcError('bad_input', 'The connection to PostgreSQL was lost or could not be made.', {
      hint: 'Run the same command again: the ledger records what was carried out.',
      facts: { error: code },
    });
  }
  if (!(error instanceof pg.DatabaseError)) return error;
  const facts = { sqlstate: error.code, table: error.table, constraint: error.constraint };
  if (TRANSIENT.has(error.code ?? '')) {
    return new SvcError('locked', `PostgreSQL: ${error.message}.`, {
      facts,
      hint: 'Other programs keep writing to these rows: try again when it is quieter, or raise --lock-timeout.',
      cause: error,
    });
  }
  return new SvcError(
    'bad_input',
    `PostgreSQL: ${error.message}${error.detail === undefined ? '' : ` (${error.detail})`}.`,
    {
      facts,
      hint: hintOf(error.code ?? ''),
      cause: error,
    },
  );
}

function hintOf(code: string): string | undefined {
  if (code.startsWith('28') || code === '42501')
    return 'The user lacks the rights for this: grant them, or use another user.';
  if (code === '57014') return 'A statement took too long: raise --statement-timeout, or 0 for none.';
  if (code.startsWith('23'))
    return 'A constraint of the table refuses the new ids; nothing of this step was written.';
  if (code === '2BP01') return 'Drop what uses the column, then run the same command again.';
  if (code === '25006') return 'This server is read-only: name the primary.';
  return undefined;
}
