import pg from 'pg';
import { SvcError } from '../../errors.js';

/** SQLSTATEs after which the same transaction may well succeed: deadlock, serialization, lock timeout. */
const TRANSIENT = new Set(['40P01', '40001', '55P03']);
/** The server ended the connection, or is not (yet) there. */
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
/** What the driver says without a code. */
const DRIVER_GONE =
  /connection (?:terminated|ended)|timeout exceeded|client (?:was closed|has encountered)|not queryable|timeout expired|read timeout/i;

/** Whether what was under way may or may not have been carried out. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return SERVER_GONE.test(error.code ?? '');
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return SOCKET_GONE.has(code) || code.startsWith('ERR_STREAM') || DRIVER_GONE.test(error.message);
}

export function isWorthRetrying(error: unknown): boolean {
  return (error instanceof pg.DatabaseError && TRANSIENT.has(error.code ?? '')) || isConnectionLost(error);
}

/** What keeps a connection from being made, where that is neither the server's word nor the network's: TLS, files, a missing password. */
export function connectError(error: unknown): unknown {
  if (error instanceof pg.DatabaseError || error instanceof SvcError || !(error instanceof Error))
    return error;
  if (isConnectionLost(error)) return error;
  const code = 'code' in error ? String(error.code) : error.name;
  return new SvcError('config', `A connection to PostgreSQL cannot be made as its address says (${code}).`, {
    hint: 'Check certificates, sslmode and the password in the connection string.',
    facts: { error: code },
    cause: error,
  });
}

/** The driver's and the server's errors as ours, without the connection string; others as they are. */
export function postgresError(error: unknown): unknown {
  if (error instanceof SvcError || !(error instanceof Error)) return error;
  if (isConnectionLost(error)) {
    const code = 'code' in error ? String(error.code) : error.message;
    return new SvcError('bad_input', 'The connection to PostgreSQL was lost or could not be made.', {
      hint: 'Run the same command again: the ledger knows what was carried out.',
      facts: { error: code },
    });
  }
  if (!(error instanceof pg.DatabaseError)) return error;
  const facts = { sqlstate: error.code, table: error.table, constraint: error.constraint };
  if (TRANSIENT.has(error.code ?? '')) {
    return new SvcError('locked', `PostgreSQL: ${error.message}.`, {
      facts,
      hint: 'Others keep writing to these rows: try again when it is quieter, or raise --lock-timeout.',
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
  if (code === '25006') return 'This server takes no writes: name the primary.';
  return undefined;
}
