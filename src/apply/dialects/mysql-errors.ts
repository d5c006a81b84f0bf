import { errorCodeOf, SvcError } from '../../errors.js';

/** Errors after which a retry may succeed: a lock timeout, a deadlock, a row changed since the snapshot, Galera's conflict. */
const TRANSIENT = new Set([1205, 1213, 1020, 1047]);
/** The server is not running, is shutting down, or closed the connection. */
const SERVER_GONE = new Set([1040, 1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 4031]);
const SOCKET_GONE =
  /^(?:ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH|EAI_AGAIN|PROTOCOL_CONNECTION_LOST|PROTOCOL_SEQUENCE_TIMEOUT|ERR_STREAM.*)$/;
const DRIVER_GONE = /connection (?:ended|(?:is in )?closed)|closed state|connect(?:ion)? ETIMEDOUT/i;
/** A statement that took too long, in MariaDB and in MySQL, or that was killed. */
const TOO_LONG = new Set([1969, 3024, 1317]);
const NO_RIGHTS = new Set([1044, 1045, 1142, 1143, 1227, 1370, 1698]);
const CONSTRAINTS = new Set([1062, 1216, 1217, 1451, 1452, 1761, 3819, 4025]);

/** The server's error number; 0 for errors of the driver and others. */
function numberOf(error: Error): number {
  const sqlState = 'sqlState' in error ? error.sqlState : undefined;
  return 'errno' in error && typeof error.errno === 'number' && sqlState !== undefined ? error.errno : 0;
}

/** Whether the connection was lost, so that the last statement may or may not have been carried out. */
export function isMysqlConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof SvcError) return false;
  const number = numberOf(error);
  return number === 0
    ? SOCKET_GONE.test(errorCodeOf(error)) || DRIVER_GONE.test(error.message)
    : SERVER_GONE.has(number);
}

export function isMysqlWorthRetrying(error: unknown): boolean {
  return isMysqlConnectionLost(error) || (error instanceof Error && TRANSIENT.has(numberOf(error)));
}

/** Turns errors of the driver and the server into SvcErrors, without the connection string; returns others unchanged. */
export function mysqlError(error: unknown): unknown {
  if (error instanceof SvcError || !(error instanceof Error)) return error;
  const number = numberOf(error);
  const code = errorCodeOf(error);
  if (isMysqlConnectionLost(error)) {
    return new SvcError('bad_input', 'The connection to MySQL was lost or could not be made.', {
      hint: 'Run the same command again: the ledger records what was carried out.',
      facts: { error: code },
    });
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
  if (TRANSIENT.has(number)) {
    return new SvcError('locked', sentence, {
      facts,
      hint: 'Other programs keep writing to these rows: try again when it is quieter, or raise --lock-timeout.',
    });
  }
  return new SvcError('bad_input', sentence, { facts, hint: hintOf(number) });
}

function hintOf(number: number): string | undefined {
  if (NO_RIGHTS.has(number)) return 'The user lacks the rights for this: grant them, or use another user.';
  if (TOO_LONG.has(number)) return 'A statement took too long: raise --statement-timeout, or 0 for none.';
  if (CONSTRAINTS.has(number))
    return 'A constraint of the table refuses the new ids; nothing of this step was written.';
  if (number === 1290 || number === 1792) return 'This server is read-only: name the primary.';
  return number === 1153 ? 'Raise max_allowed_packet of the server.' : undefined;
}
