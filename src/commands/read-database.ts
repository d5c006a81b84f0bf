import { buildFingerprint, type Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { newPause } from '../runtime/pause.js';
import { writeText } from '../runtime/write-output.js';
import { assertSameExport } from '../store/meta.js';
import { type Db, guardDatabase, openDatabase } from '../store/open.js';
import { findIncomplete, type Readiness } from '../store/readiness.js';
import { type RemapPart, verifyDigests } from '../store/remap-digest.js';
import { readCompanyRows } from '../store/remap-tables.js';
import { didYouMean } from '../text/suggest.js';
import type { Io } from './command.js';
import { withLockOwner } from './hold-database.js';

/**
 * Runs `work` in a read-only snapshot of the database.
 *
 * @throws SvcError `other_configuration` if it was exported with another configuration, and as `openDatabase` does
 */
export async function readDatabase<T>(config: Config, work: (db: Db) => Promise<T>): Promise<T> {
  const db = withLockOwner(config.database, () => openDatabase(config.database, 'read'));
  try {
    guardDatabase(config.database, () => {
      db.exec('BEGIN');
      assertSameExport(db, buildFingerprint(config));
    });
    return await work(db);
  } catch (error) {
    return guardDatabase(config.database, () => {
      throw error;
    });
  } finally {
    db.close();
  }
}

/** Warns on stderr if the remap is incomplete or stale. */
export async function warnOfIncomplete(facts: Readiness, io: Pick<Io, 'stderr'>): Promise<void> {
  const blockers = findIncomplete(facts);
  await writeText(
    io.stderr,
    blockers.map(({ text, next }) => `Warning: ${text} → ${next}\n`),
  );
}

/**
 * Verifies the remap, or parts of it, and checks for signals meanwhile.
 *
 * @throws SvcError `corrupt_database`, `interrupted`
 */
export async function assertRemapIntact(
  db: Db,
  io: Pick<Io, 'signal' | 'onProgress'>,
  parts?: readonly RemapPart[],
): Promise<void> {
  const pause = newPause(io);
  let done = 0;
  for (const _ of verifyDigests(db, parts)) {
    await pause({ name: 'verify the remap', done, total: null });
    done += 1;
  }
}

/**
 * Checks the values of `--company` against the last remap; without a remap there is nothing to check against.
 *
 * @throws SvcError `usage` if a company is not in the remap
 */
export function assertCompanies(db: Db, companies: readonly bigint[] = []): void {
  if (companies.length === 0) return;
  const known = new Set(readCompanyRows(db).map((row) => row.v3_company_id ?? row.v4_company_id));
  const unknown = known.size === 0 ? undefined : companies.find((id) => !known.has(id));
  if (unknown === undefined) return;
  throw new SvcError('usage', `The remap holds no company ${unknown}.`, {
    hint: didYouMean(String(unknown), [...known].map(String)) ?? undefined,
  });
}
