import { crc32 } from 'node:zlib';
import { SvcError } from '../errors.js';
import type { Db } from './sqlite.js';

/**
 * Rows written by an export carry a CRC-32 of their values, which detects rows that were damaged or altered later.
 * `stream.stored` is the number of a stream's rows in `record`, which detects missing rows. Rows written by a remap are
 * covered by digests instead, see `remap-digest.ts`.
 *
 * A checksum is not a signature: altering a row together with its checksum is not detected.
 */
const CHECKED_COLUMNS = {
  meta: ['key', 'value'],
  stream: [
    ...['id', 'generation', 'region', 'model', 'company_id', 'state', 'end_reason', 'pages', 'records'],
    ...['unique_records', 'duplicates', 'rejected', 'total_count_first', 'total_count_last', 'started_at'],
    ...['finished_at', 'read_by', 'route', 'end_note', 'read_at', 'position'],
  ],
  part: ['stream_id', 'company_id', 'cursor', 'ended', 'total_count', 'empty_end', 'idle_pages'],
  member_list: ['id', 'names'],
  // without `walk`, which changes whenever a record is seen again and does not affect ids
  record: [
    ...['stream_id', 'svc_id', 'payload_block', 'company_id', 'platform_id', 'unique_id', 'deleted'],
    ...['updated_ms', 'latest_ms', 'latest_from', 'created_ms', 'children', 'members'],
  ],
  remap_run: ['id', 'built_at', 'sha256', 'export_seq', 'digests'],
} as const;

type CheckedTable = keyof typeof CHECKED_COLUMNS;

/** In the order in which they are checked. */
export const RECORD_COLUMNS = CHECKED_COLUMNS.record;

/** Defines the SQL function `checksum(text or blob)` for the connection. */
export function registerChecksum(db: Db): void {
  db.function('checksum', { deterministic: true, safeIntegers: false }, (value: unknown) =>
    typeof value === 'string' || value instanceof Uint8Array ? crc32(value) : null,
  );
}

/** SQL for the checksum of the current row of a table; `without`: a column that is taken as null. */
export function checksumOf(table: CheckedTable, without?: string): string {
  const values = CHECKED_COLUMNS[table].map((column) => checkedValue(column === without ? 'NULL' : column));
  return `checksum(CAST(concat_ws(char(31), ${values.join(', ')}) AS BLOB))`;
}

/** SQL for a value as it is checked: values are joined with `char(31)`. */
export function checkedValue(column: string): string {
  return `ifnull(${column}, char(0))`;
}

/**
 * The same for values in the order of the table's columns, which is faster than reading the row again. Only the last one may
 * be bytes.
 */
export function checksumOfValues(values: readonly (string | number | bigint | Uint8Array | null)[]): number {
  const last = values.at(-1);
  if (!(last instanceof Uint8Array)) return crc32(values.map((value) => value ?? '\0').join('\x1f'));
  return crc32(
    last,
    crc32(
      `${values
        .slice(0, -1)
        .map((value) => value ?? '\0')
        .join('\x1f')}\x1f`,
    ),
  );
}

/** SQL that is 1 if the current row of a table matches its checksum, otherwise 0. */
export function isIntact(table: CheckedTable): string {
  return `(${table}.checksum = ${checksumOf(table)})`;
}

/** A prime below 2^32: every flipped bit of an id changes the sum of ids. */
const ID_MODULUS = 4_294_967_291n;

/** Adds ids to a sum by which a change of any of them is noticed, in whatever order they come. */
export function addToIdSum(sum: number, ids: readonly bigint[]): number {
  const total = ids.reduce((so, id) => so + id, BigInt(sum)) % ID_MODULUS;
  return Number((total + ID_MODULUS) % ID_MODULUS);
}

/** SQL for the sum of all `svc_id`s. */
export const ID_SUM = `(sum((svc_id % ${ID_MODULUS} + ${ID_MODULUS}) % ${ID_MODULUS}) % ${ID_MODULUS})`;

/** The error for data that differ from what was saved. `what` begins the sentence, such as `The list of …`. */
export function damaged(what: string, facts: Record<string, string | bigint> = {}): SvcError {
  return new SvcError(
    'corrupt_database',
    `${what} is not what was saved: the database is damaged or was altered.`,
    {
      hint: 'Restore a backup, or export again into a new database; nothing was repaired.',
      facts,
    },
  );
}
