import { z } from 'zod';
import { SvcError } from '../errors.js';
import { checksumOf, damaged } from './checksum.js';
import { type RemapRun, readRemapRuns } from './evidence.js';
import type { Db } from './open.js';
import {
  digestExported,
  digestIndex,
  digestOf,
  digestRows,
  digestTable,
  type ExportedPart,
  INDEX_PARTS,
  type IndexBlocks,
  type IndexPart,
  type OnRows,
  TABLE_PARTS,
  type TablePart,
} from './remap-blocks.js';

/*
 * A remap that was altered or damaged after it was built must not answer. What a remap writes is digested in parts:
 *
 * - `rows`: the table remap, in blocks of 128 rows by rowid, which runs from 1 without gaps;
 * - `v3`, `v4`, `key`: its three indexes, in blocks of about 512 entries; the blocks of a model cover all keys there
 *   can be, so that "no such id" is proven by a block as much as an answer is;
 * - `company`, `decision`, `drift`, `drift_scope`: tables read as a whole;
 * - `exported`: sums of what reports count of the exported records, right until the next export changes them.
 *
 * The digests of the blocks are in `remap_digest`, one text per part. The digest of that text is in the row of
 * `remap_run` (of `rows` it is the sha256 of reports), and that row has a checksum.
 *
 * Whoever reads all of the remap calls `verifyDigests` in the same transaction. Look-ups go through `VerifiedRemap`,
 * which verifies the blocks they touch, once.
 */
export type RemapPart = 'rows' | IndexPart | TablePart | ExportedPart;

const digestsSchema = z.record(z.string(), z.string());
const indexSchema = z.array(z.tuple([z.string(), z.array(z.tuple([z.string(), z.string()])), z.string()]));

/** The digest of each part. */
export type Digests = Readonly<Record<string, string>>;

/**
 * Digests the remap as it is and saves its blocks; `sealRun` then saves the digests. `onRows` is told of rows, from one
 * rowid to another, when their pages are in memory.
 */
export function digestRemap(db: Db, onRows: OnRows = () => {}): Digests {
  db.exec('DELETE FROM remap_digest');
  const insert = db.prepare('INSERT INTO remap_digest(part, blocks) VALUES (?, ?)');
  const digests: Record<string, string> = {};
  for (const part of ['rows', ...INDEX_PARTS] as const) {
    const text = last(blocksOf(db, part, onRows));
    insert.run(part, text);
    digests[part] = digestOf(text);
  }
  for (const part of TABLE_PARTS) digests[part] = digestTable(db, part);
  return { ...digests, exported: digestExported(db) };
}

/** Saves the digests with the build of the remap that they are of; returns the sha256 of its rows. */
export function sealRun(db: Db, run: bigint, digests: Digests): string {
  const { rows: sha256 = '' } = digests;
  db.prepare('UPDATE remap_run SET sha256 = ?, digests = ? WHERE id = ?').run(
    sha256,
    JSON.stringify(digests),
    run,
  );
  db.prepare(`UPDATE remap_run SET checksum = ${checksumOf('remap_run')} WHERE id = ?`).run(run);
  return sha256;
}

/** Digests tables anew that were changed on purpose. Call it in the transaction that changed them. */
export function resealTables(db: Db, parts: readonly TablePart[]): void {
  const [run] = readRemapRuns(db, 1);
  if (run === undefined) return;
  const changed = Object.fromEntries(parts.map((part) => [part, digestTable(db, part)]));
  sealRun(db, run.id, { ...parseDigests(run), ...changed });
}

/**
 * Verifies parts of the last remap: all of them, or those that the caller reads. Yields now and then, so that the caller
 * can tell progress and stop.
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

/** Runs a verification to its end at once. */
export function assertDigests(db: Db, parts?: readonly RemapPart[]): void {
  last(verifyDigests(db, parts));
}

/**
 * The text that lists the blocks of a part, as saved with the remap; null where there is no remap.
 *
 * @throws SvcError `corrupt_database`
 */
export function readBlocks(db: Db, part: 'rows' | IndexPart): string | null {
  const digests = expectedDigests(db);
  if (digests === null) return null;
  const text = db
    .prepare<[string], string>('SELECT blocks FROM remap_digest WHERE part = ?')
    .pluck()
    .get(part);
  if (text === undefined || digestOf(text) !== digests[part]) throw damagedRemap(part);
  return text;
}

/** The blocks of an index, from the text that `readBlocks` gave. */
export function parseIndexBlocks(text: string): IndexBlocks {
  return indexSchema.parse(JSON.parse(text));
}

export function damagedRemap(part: RemapPart): SvcError {
  if (part === 'exported') return damaged('A stored record');
  return new SvcError('corrupt_database', 'The remap was altered or damaged since it was built.', {
    hint: 'Build it again with `svc-migrate remap`, which verifies the exported records, or restore a backup.',
    facts: { part },
  });
}

function* digestPart(db: Db, part: RemapPart): Generator<null, string> {
  if (part === 'exported') return digestExported(db);
  return isTable(part) ? digestTable(db, part) : digestOf(yield* blocksOf(db, part));
}

function* blocksOf(db: Db, part: 'rows' | IndexPart, onRows?: OnRows): Generator<null, string> {
  return part === 'rows' ? yield* digestRows(db, onRows) : JSON.stringify(yield* digestIndex(db, part));
}

/** null where there is no remap at all. */
function expectedDigests(db: Db): Digests | null {
  const [run] = readRemapRuns(db, 1);
  if (run !== undefined) return parseDigests(run);
  if (db.prepare('SELECT 1 FROM remap LIMIT 1').get() !== undefined) throw damagedRemap('rows');
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
