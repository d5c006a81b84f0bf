import { crc32 } from 'node:zlib';
import { SvcError } from '../errors.js';
import type { Db } from './open.js';

/**
 * Rows that an export writes carry a CRC-32 of their values, so that a row that was damaged or altered later is
 * noticed when it is read. `stream.stored` counts a stream's rows in `record`, so that a row that vanished is noticed
 * too. What a remap writes is covered by digests instead, see `remap-digest.ts`.
 *
 * A checksum is not a signature: whoever alters a row and its checksum together is not noticed.
 */
const CHECKED_COLUMNS = {
  meta: 'key, value',
  stream: `id, generation, region, model, company_id, state, end_reason, pages, records, unique_records, duplicates,
    rejected, total_count_first, total_count_last, started_at, finished_at, route, end_note, read_at, position`,
  // `walk` changes whenever a record is seen again and decides no id
  record: `stream_id, svc_id, company_id, platform_id, unique_id, deleted, updated_ms, latest_ms, latest_from, created_ms,
    facts, children`,
  remap_run: 'id, built_at, sha256, export_seq, counts, digests',
} as const;

type CheckedTable = keyof typeof CHECKED_COLUMNS;

/** Makes `checksum(text or blob)` known to the connection's SQL. */
export function registerChecksum(db: Db): void {
  db.function('checksum', { deterministic: true, safeIntegers: false }, (value: unknown) =>
    typeof value === 'string' || value instanceof Uint8Array ? crc32(value) : null,
  );
}

/** The checksum of the current row of a table, as SQL. */
export function checksumOf(table: CheckedTable): string {
  return `checksum(json_array(${CHECKED_COLUMNS[table]}))`;
}

/** Whether the current row of a table is as it was saved, as SQL: 1 or 0. */
export function isIntact(table: CheckedTable): string {
  return `(${table}.checksum = ${checksumOf(table)})`;
}

/** The error for data that are not what was saved. `what` begins the sentence, such as `The list of …`. */
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
