import type { Generation } from '../domain.js';
import { SvcError } from '../errors.js';
import { sha256Of } from '../runtime/sha256.js';
import * as z from '../zod.js';
import { checksumOf } from './checksum.js';
import {
  digestIndex,
  digestKeys,
  digestRows,
  digestTable,
  INDEX_PARTS,
  type IndexBlocks,
  type IndexPart,
  type RowsText,
  TABLE_PARTS,
  type TablePart,
} from './remap-blocks.js';
import { type RemapRun, readLastRun } from './remap-tables.js';
import type { Db } from './sqlite.js';

/*
 * A remap that was altered or damaged after it was built must not be used. Its data are digested in parts:
 *
 * - `rows`: the rows, in blocks of 128 by their ids, which run from 1 without gaps. The digest of a block covers the groups that
 *   its rows name, too;
 * - `v3`, `v4`, `key`: the three indexes of rows, in blocks of about 512 entries; the blocks cover all possible keys, so that a
 *   block also proves that an id does not exist;
 * - `remap_group` (with the counts), `remap_day`, `company`, `decision`, `drift`, `drift_scope`, `exported_count`: whole tables.
 *
 * The digests of the blocks are in `remap_digest`, one text per part; only the whole digest of `key` is kept. The digest of that text is in the row of `remap_run`, and
 * that row has a checksum. The `sha256` in reports is of the rows without the time at which V3 was read.
 *
 * Code that reads the whole remap calls `verifyDigests` in the same transaction. Look-ups and `apply` use `VerifiedRemap`,
 * which verifies each block once, when it is first read.
 */
export type RemapPart = 'rows' | IndexPart | TablePart;

const digestsSchema = z.record(z.string(), z.string());
const indexSchema = z.tuple([z.array(z.tuple([z.string(), z.string()])), z.string()]);

/** The digest of each part. */
export type Digests = Readonly<Record<string, string>>;

/**
 * Digests the current remap and saves the digests of its blocks; `sealRun` then saves those of the parts.
 *
 * @param rows the digests of its rows, if they are known
 */
export function digestRemap(db: Db, rows: RowsText = last(digestRows(db))): Digests {
  db.exec('DELETE FROM remap_digest');
  const insert = db.prepare('INSERT INTO remap_digest(part, blocks) VALUES (?, ?)');
  insert.run('rows', rows.whole);
  const digests: Record<string, string> = { rows: sha256Of(rows.whole), content: sha256Of(rows.content) };
  for (const part of INDEX_PARTS) {
    const text = last(digestIndexPart(db, part));
    // nothing is found by keys: users read that index with SQL of their own
    if (part !== 'key') insert.run(part, text);
    digests[part] = sha256Of(text);
  }
  for (const part of TABLE_PARTS) digests[part] = digestTable(db, part);
  return digests;
}

/** Saves the digests in the row of the remap's build; returns the SHA-256 of its content. */
export function sealRun(db: Db, run: bigint, digests: Digests): string {
  const { content: sha256 = '' } = digests;
  db.prepare('UPDATE remap_run SET sha256 = ?, digests = ? WHERE id = ?').run(
    sha256,
    JSON.stringify(digests),
    run,
  );
  db.prepare(`UPDATE remap_run SET checksum = ${checksumOf('remap_run')} WHERE id = ?`).run(run);
  return sha256;
}

/** Updates the digests of tables that were changed on purpose. Call it in the transaction that changed them. */
export function resealTables(db: Db, parts: readonly TablePart[]): void {
  const run = readLastRun(db);
  if (run === undefined) return;
  const changed = Object.fromEntries(parts.map((part) => [part, digestTable(db, part)]));
  sealRun(db, run.id, { ...parseDigests(run), ...changed });
}

/**
 * Verifies parts of the last remap; by default all that a remap writes. Yields regularly, so that the caller can report
 * progress and stop.
 *
 * @throws SvcError `corrupt_database`
 */
export function* verifyDigests(
  db: Db,
  parts: readonly RemapPart[] = ['rows', ...INDEX_PARTS, ...TABLE_PARTS],
): Generator<null, void> {
  const digests = expectedDigests(db);
  if (digests === null) return;
  for (const part of parts) {
    if ((yield* digestPart(db, part)) !== digests[part]) throw damagedRemap(part);
    yield null;
  }
}

/** Like `verifyDigests`, without yielding. */
export function assertDigests(db: Db, parts?: readonly RemapPart[]): void {
  last(verifyDigests(db, parts));
}

/**
 * The saved text that lists the blocks of a part, verified; null if there is no remap.
 *
 * @throws SvcError `corrupt_database`
 */
export function readBlocks(db: Db, part: 'rows' | Generation): string | null {
  const digests = expectedDigests(db);
  if (digests === null) return null;
  const text = db
    .prepare<[string], string>('SELECT blocks FROM remap_digest WHERE part = ?')
    .pluck()
    .get(part);
  if (text === undefined || sha256Of(text) !== digests[part]) throw damagedRemap(part);
  return text;
}

/** Parses the result of `readBlocks` for an index. */
export function parseIndexBlocks(text: string): IndexBlocks {
  return indexSchema.parse(JSON.parse(text));
}

/** The error for a part of the remap that is not what was saved. */
export function damagedRemap(part: RemapPart): SvcError {
  return new SvcError('corrupt_database', 'The remap was altered or damaged since it was built.', {
    hint: 'Build it again with `svc-migrate remap`, which verifies the exported records, or restore a backup.',
    facts: { part },
  });
}

function* digestPart(db: Db, part: RemapPart): Generator<null, string> {
  if (isTable(part)) return digestTable(db, part);
  if (part === 'rows') return sha256Of((yield* digestRows(db)).whole);
  return sha256Of(yield* digestIndexPart(db, part));
}

function* digestIndexPart(db: Db, part: IndexPart): Generator<null, string> {
  return part === 'key' ? yield* digestKeys(db) : JSON.stringify(yield* digestIndex(db, part));
}

/** null if there is no remap. */
function expectedDigests(db: Db): Digests | null {
  const run = readLastRun(db);
  if (run !== undefined) return parseDigests(run);
  if (db.prepare('SELECT 1 FROM remap_row LIMIT 1').get() !== undefined) throw damagedRemap('rows');
  return null;
}

function parseDigests({ digests }: RemapRun): Digests {
  return digestsSchema.parse(JSON.parse(digests));
}

function isTable(part: RemapPart): part is TablePart {
  return TABLE_PARTS.some((table) => table === part);
}

function last<T>(steps: Generator<null, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
