import { setFlagsFromString } from 'node:v8';
import { buildFingerprint, type Config, digestInputFiles } from '../config/config.js';
import { readCompaniesFile, readDecisionsFile } from '../config/user-files.js';
import type { Decision, NamedCompanyPair } from '../domain.js';
import { SvcError } from '../errors.js';
import type { RemapSummary } from '../match/build-remap.js';
import type { Serve } from '../runtime/thread.js';
import { runInThread, type ThreadOptions } from '../runtime/threads.js';
import { writeText } from '../runtime/write-output.js';
import { assertSameExport } from '../store/fingerprint.js';
import { guardDatabase } from '../store/open.js';
import { readCandidates, readCompanyRows } from '../store/remap-tables.js';
import { describeAgreement } from '../text/describe-evidence.js';
import type { Io } from './command.js';
import { readDatabase, removeOwnerNote, withDatabase } from './database.js';

/** The inputs of a remap. */
interface RemapRequest {
  readonly config: Config;
  readonly fingerprint: Readonly<Record<string, string>>;
  readonly named: readonly NamedCompanyPair[];
  readonly decisions: readonly Decision[];
  readonly inputs: Readonly<Record<string, string>>;
  readonly nowMs: number;
}

type RemapThread = { readonly run: (request: RemapRequest) => Promise<RemapSummary> };

/** Rebuilds the remap table of the configured database. */
export async function rebuildRemap(config: Config, io: Io): Promise<RemapSummary> {
  const inputs = loadRemapInputs(config);
  io.onProgress({ kind: 'stage', name: 'remap' });
  const request = { config, fingerprint: buildFingerprint(config), ...inputs, nowMs: io.clock.now() };
  try {
    const summary = await runInThread(THREAD, io, request);
    if (inputs.named.length > 0) await warnOfNamed(config, inputs.named, io);
    return summary;
  } catch (error) {
    // A terminated thread did not remove its note.
    removeOwnerNote(config.database);
    throw error;
  }
}

/** The companies file is trusted, so a mistyped id in it would pair strangers: warns where the records speak against a line. */
async function warnOfNamed(
  config: Config,
  named: readonly NamedCompanyPair[],
  { stderr }: Io,
): Promise<void> {
  const rows = await readDatabase(config, async (db) => {
    return new Map(readCompanyRows(db).map((row) => [`${row.v3_company_id} ${row.region}`, row]));
  });
  const warnings = named.flatMap(({ line, region, v3CompanyId, v4CompanyId }) => {
    const head = `Warning: line ${line} of the companies file names V3 company ${v3CompanyId} of ${region}`;
    const row = rows.get(`${v3CompanyId} ${region}`);
    if (row === undefined) return [`${head}, of which no record was exported.\n`];
    const own = readCandidates(row.note).find((one) => one.v4CompanyId === String(v4CompanyId));
    return own === undefined || own.agreeingKeys > 0 || own.comparableKeys === 0
      ? []
      : [`${head} and V4 company ${v4CompanyId}: ${describeAgreement(own)}.\n`];
  });
  await writeText(stderr, warnings);
}

/** `end`: the thread ends once SQLite returns from the statement that it runs. */
const THREAD: ThreadOptions<RemapThread> = {
  name: 'remap',
  module: new URL('./rebuild-remap.js', import.meta.url),
  end: {
    afterMs: 200,
    error: remapStopped,
  },
};

function remapStopped(): SvcError {
  return new SvcError('interrupted', 'Stopped; the previous remap is unchanged.');
}

/** The thread that builds: long statements would keep the main one from handling signals and showing progress. */
export const serve: Serve<RemapThread> = ({ isStopped, onProgress }) => ({
  run: async ({ config, fingerprint, nowMs, ...request }) => {
    // Between two company pairs most of the heap is garbage: by V8's own rule it would grow to five times what is in use.
    setFlagsFromString('--heap-growing-percent=40');
    const { buildRemap } = await import('../match/build-remap.js');
    const throwIfStopped = (): void => {
      if (isStopped()) throw remapStopped();
    };
    const hold = { file: config.database, mode: 'write', command: 'remap', nowMs } as const;
    return withDatabase(hold, async (db) =>
      guardDatabase(config.database, () => {
        assertSameExport(db, fingerprint);
        const clock = { now: () => nowMs };
        return buildRemap({ ...request, db, config, clock, throwIfStopped, onProgress });
      }),
    );
  },
});

/** Reads the input files of a remap. They are hashed first, so that a change meanwhile makes the remap stale. */
export function loadRemapInputs(config: Config): Pick<RemapRequest, 'named' | 'decisions' | 'inputs'> {
  const inputs = digestInputFiles(config);
  return { inputs, named: readCompaniesFile(config), decisions: readDecisionsFile(config) };
}
