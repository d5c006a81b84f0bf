import { buildFingerprint, type Config, digestInputFiles } from '../config/config.js';
import { readCompaniesFile, readDecisionsFile } from '../config/user-files.js';
import { SvcError } from '../errors.js';
import type { RemapSummary } from '../match/build-remap.js';
import { STATUSES } from '../reasons.js';
import { runInThread, type ThreadOptions } from '../runtime/threads.js';
import { writeText } from '../runtime/write-output.js';
import { isExported, readReadiness } from '../store/readiness.js';
import { EVERYTHING } from '../store/remap-rows.js';
import { countOf, groupDigits } from '../text/numbers.js';
import type { Io } from './command.js';
import { readDatabase, removeOwnerNote } from './database.js';
import type { Given } from './define-command.js';
import type { RemapRequest, RemapThread } from './remap-thread.js';
import { printText } from './with-outputs.js';

/** `remap`: joins the two exports, rebuilds the remap table, and prints its counts. */
export async function runRemap(given: Given<unknown>, io: Io): Promise<number> {
  const config = await given.config();
  await assertBothExported(config);
  const summary = await rebuildRemap(config, io);
  const { unfinishedStreams: open } = summary;
  if (open > 0) {
    const text = `Warning: ${countOf(open, 'list was', 'lists were')} not read to the end; records that depend on them have the reason scope_incomplete.`;
    await writeText(io.stderr, [`${text} → svc-migrate run\n`]);
  }
  await printText(renderRemapSummary(summary), io);
  return 0;
}

async function assertBothExported(config: Config): Promise<void> {
  const facts = await readDatabase(config, async (db) => readReadiness(db, config, EVERYTHING));
  for (const generation of ['v3', 'v4'] as const) {
    if (isExported(facts, generation)) continue;
    throw new SvcError(
      'incomplete',
      `${generation.toUpperCase()} was not exported yet: there is nothing to join.`,
      {
        hint: `Run \`svc-migrate export ${generation}\` first.`,
      },
    );
  }
}

/** Rebuilds the remap table of the configured database. */
export async function rebuildRemap(config: Config, io: Io): Promise<RemapSummary> {
  const inputs = loadRemapInputs(config);
  io.onProgress({ kind: 'stage', name: 'remap' });
  const request = { config, fingerprint: buildFingerprint(config), ...inputs, nowMs: io.clock.now() };
  try {
    return await runInThread(THREAD, io, request);
  } catch (error) {
    // A terminated thread did not remove its note.
    removeOwnerNote(config.database);
    throw error;
  }
}

/**
 * `youngMiB`: with 8, collecting garbage took a quarter of the remap's time. `end`: the thread ends once SQLite returns from
 * the statement that it runs.
 */
const THREAD: ThreadOptions<RemapThread> = {
  name: 'remap',
  module: new URL('./remap-thread.js', import.meta.url),
  youngMiB: 32,
  end: {
    afterMs: 200,
    error: () => new SvcError('interrupted', 'Stopped; the previous remap is unchanged.'),
  },
};

/** Reads the input files of a remap. They are hashed first, so that a change meanwhile makes the remap stale. */
export function loadRemapInputs(config: Config): Pick<RemapRequest, 'named' | 'decisions' | 'inputs'> {
  const inputs = digestInputFiles(config);
  return { inputs, named: readCompaniesFile(config), decisions: readDecisionsFile(config) };
}

function renderRemapSummary(summary: RemapSummary): string {
  const lines = STATUSES.map((status) => {
    const own = Object.entries(summary.counts).filter(([name]) => name.split('/')[0] === status);
    return `  ${status.padEnd(10)} ${groupDigits(own.reduce((total, [, count]) => total + count, 0)).padStart(12)}`;
  });
  return [
    `Remap: ${groupDigits(summary.rows)} rows: each V3 id, and each V4 id without one.`,
    'Every exported record and child is accounted for.',
    ...lines,
    `sha256 ${summary.sha256}`,
    'Next: svc-migrate check',
    '',
  ].join('\n');
}
