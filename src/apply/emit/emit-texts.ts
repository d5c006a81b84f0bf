import { quoteLiteral } from '../sql-names.js';

const PLAIN = /^[A-Za-z0-9_ ./#:,=()[\]{}"+-]*$/;

/** Builds a function that formats literals: plain text is quoted, other text is passed to `hex` as hexadecimal digits. */
export function literalFormatter(hex: (bytes: string) => string): (text: string) => string {
  return (text) =>
    PLAIN.test(text) && !text.includes('--') ? quoteLiteral(text) : hex(Buffer.from(text).toString('hex'));
}

/** The beginning of the message of a script that stops. */
export const FAILURE_PREFIX = 'svc-migrate: nothing was changed: ';
