import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { buildFingerprint, type Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { alreadyThere, assertTargets } from '../runtime/output-targets.js';
import { assertNoLog } from '../store/database-file.js';
import type { Fingerprint } from '../store/fingerprint.js';
import { verifyExport, verifyPayloads } from '../store/integrity.js';
import { judgeParts, type MergedPart, mergeParts, readPart } from '../store/merge-parts.js';
import { readExportSeq } from '../store/meta.js';
import { closeDatabase, type Db, guardDatabase, openDatabase } from '../store/open.js';
import { findOpenLists, readReadiness } from '../store/readiness.js';
import { EVERYTHING } from '../store/remap-rows.js';
import { shellLine } from '../text/escape.js';
import { countOf } from '../text/numbers.js';
import type { CommandLine, Io } from './command.js';
import { writeDatabase } from './database.js';
import { ownFilesOf, printText } from './with-outputs.js';

const MAX_NAMED = 6;

/**
 * `merge`: joins databases whose exports read different lists into a new one. Nothing is written if a list is missing.
 */
export async function runMerge(given: CommandLine, io: Io): Promise<number> {
  const config = await given.config();
  const output = given.text('output') ?? '';
  assertOutput(config, output, given.args);
  const whole = buildFingerprint(config);
  io.onProgress({ kind: 'stage', name: 'merge' });
  const parts: MergedPart[] = [];
  try {
    for (const file of new Set(given.args.map((arg) => resolve(arg)))) parts.push(openPart(file, config, io));
    assertWhole(parts, whole);
    await writeMerged(config, parts, whole, output, io);
  } finally {
    for (const { db } of parts) db.close();
  }
  const next = `Next: ${shellLine(['svc-migrate', 'remap', '--db', output])}\n`;
  const text = `Merged ${countOf(parts.length, 'part')} into ${output}.\n${next}`;
  await printText(text, io);
  return 0;
}

function assertOutput(config: Config, output: string, parts: readonly string[]): void {
  if (output === '' || output === '-') {
    throw new SvcError('usage', 'The merged database needs a file name.', { hint: 'Name it with --output.' });
  }
  const others = ownFilesOf(config).filter((file) => file !== config.database);
  assertTargets([output], [...others, ...parts]);
  assertNoLog(output);
  if (statSync(output, { throwIfNoEntry: false }) !== undefined)
    throw alreadyThere(output, 'Name another file.');
}

function openPart(file: string, { payload }: Config, io: Io): MergedPart {
  io.onProgress({ kind: 'step', name: `checking ${file}`, done: 0, total: null });
  const db = openDatabase(file, 'read');
  try {
    return withPartName(file, () => {
      verifyExport(db, () => throwIfStopped(io));
      verifyPayloads(db, payload, () => throwIfStopped(io));
      return { ...readPart(file, db), db, exportSeq: readExportSeq(db) };
    });
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Names the part in errors about damaged data. */
function withPartName<T>(file: string, work: () => T): T {
  try {
    return guardDatabase(file, work);
  } catch (error) {
    if (!(error instanceof SvcError) || error.code !== 'corrupt_database') throw error;
    throw new SvcError('corrupt_database', `${file}: ${error.message}`, {
      hint: 'Restore a backup, or export this part again; nothing was written.',
      facts: error.facts,
      cause: error,
    });
  }
}

function assertWhole(parts: readonly MergedPart[], whole: Fingerprint): void {
  const { conflicting, incomplete } = judgeParts(parts, whole);
  if (conflicting.length > 0) {
    throw new SvcError('other_configuration', `These parts do not fit together: ${joinFirst(conflicting)}.`, {
      hint: 'Export each list into one part only, all with the settings of this configuration.',
    });
  }
  if (incomplete.length > 0) throw incompleteParts(incomplete);
}

function incompleteParts(problems: readonly string[]): SvcError {
  return new SvcError('incomplete', `These parts are not the whole: ${joinFirst(problems)}.`, {
    hint: 'Finish the exports of these lists, then merge again; nothing was written.',
  });
}

function joinFirst(problems: readonly string[]): string {
  const rest = problems.length - MAX_NAMED;
  return [...problems.slice(0, MAX_NAMED), ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ');
}

async function writeMerged(
  config: Config,
  parts: readonly MergedPart[],
  whole: Fingerprint,
  output: string,
  io: Io,
): Promise<void> {
  await writeDatabase(output, { replace: false }, async (temporary) => {
    const db = openDatabase(temporary, 'create');
    try {
      await mergeParts(db, parts, whole, (file, done, total) => {
        throwIfStopped(io);
        io.onProgress({ kind: 'step', name: `copying ${file}`, done, total });
      });
      assertComplete(db, config);
      guardDatabase(temporary, () => verifyExport(db, () => throwIfStopped(io)));
    } finally {
      closeDatabase(db);
    }
  });
}

function assertComplete(db: Db, config: Config): void {
  const open = findOpenLists(readReadiness(db, config, EVERYTHING));
  if (open.length > 0) throw incompleteParts(open.map(({ text }) => text.replace(/\.$/, '')));
}

function throwIfStopped({ signal }: Io): void {
  if (signal.aborted) throw new SvcError('interrupted', 'Stopped; nothing was merged.');
}
