import type { Config } from '../config/config.js';
import { DUMP_FORMATS } from '../domain.js';
import { SvcError } from '../errors.js';
import { DUMP_RENDERERS } from '../report/render-rows.js';
import { clearCrosswalk, writeCrosswalk } from '../report/write-parquet.js';
import { assertTargets } from '../runtime/output-targets.js';
import { readVersion } from '../runtime/version.js';
import { assertStdout, writeOutput, writeText } from '../runtime/write-output.js';
import type { Db } from '../store/open.js';
import {
  assertCompleteRemap,
  findIncomplete,
  findOpenLists,
  type Readiness,
  readReadiness,
  refuseIncomplete,
} from '../store/readiness.js';
import { EVERYTHING, type RemapRow, readRemap } from '../store/remap-rows.js';
import { escapeUnseen } from '../text/escape.js';
import type { CommandLine, Io } from './command.js';
import { assertCompanies, assertRemapIntact, readDatabase, warnOfIncomplete } from './database.js';
import { narrowingOf } from './option-values.js';
import { scopeOf } from './report.js';
import { ownFilesOf, withOutputs } from './with-outputs.js';

/** `dump`: writes the whole remap in its stored order, with exact values. */
export async function runDump(given: CommandLine, io: Io): Promise<number> {
  const format = DUMP_FORMATS.find((one) => one === given.text('format')) ?? 'csv';
  if (format === 'parquet') return dumpParquet(given, io);
  const target = given.text('output') ?? '-';
  return withOutputs(given, io, { outputs: { dump: target } }, (config, within) =>
    dump(config, target, DUMP_RENDERERS[format], given, within),
  );
}

async function dump(
  config: Config,
  target: string,
  render: (rows: Iterable<RemapRow>) => Iterable<string>,
  given: CommandLine,
  io: Io,
): Promise<number> {
  const narrowing = narrowingOf(given, config);
  if (target === '-') assertStdout();
  return readDatabase(config, async (db) => {
    await assertUsable(db, config, given, io);
    const exact = () => render(readRemap(db, scopeOf(narrowing)));
    const onTerminal = target === '-' && io.isTty;
    await writeOutput({ target, chunks: onTerminal ? () => spellUnseen(exact()) : exact }, io);
    if (onTerminal) {
      await writeText(io.stderr, [
        'Control characters are spelled out on a terminal; use --output FILE for exact data.\n',
      ]);
    }
    return 0;
  });
}

async function dumpParquet(given: CommandLine, io: Io): Promise<number> {
  const folder = given.text('output');
  if (folder === undefined || folder === '-') {
    throw new SvcError('usage', 'Parquet files are written to a folder.', {
      hint: 'Name it with --output FOLDER.',
    });
  }
  const config = await given.config();
  assertTargets([folder], ownFilesOf(config));
  clearCrosswalk(folder);
  const narrowing = narrowingOf(given, config);
  return readDatabase(config, async (db) => {
    const readiness = await assertUsable(db, config, given, io);
    const run = readiness.lastRun;
    if (run === undefined) throw new Error('a remap that was verified has no record of its build');
    const scope = scopeOf(narrowing);
    const facts = {
      tool: `svc-migrate ${readVersion()}`,
      builtAt: run.built_at,
      remapSha256: run.sha256,
      isComplete: findIncomplete(readiness).length === 0 && scope.models === null && scope.companies === null,
    };
    await writeCrosswalk(folder, () => readRemap(db, scope), facts, io.signal);
    return 0;
  });
}

/** Checks that the remap may be passed on. */
async function assertUsable(db: Db, config: Config, given: CommandLine, io: Io): Promise<Readiness> {
  const facts = readReadiness(db, config, EVERYTHING);
  if (!given.isSet('allowIncomplete')) {
    // once the export is finished, `remap` builds a current one
    if (findOpenLists(facts).length === 0) refuseIncomplete(facts);
    else assertCompleteRemap(facts);
  }
  await warnOfIncomplete(facts, io);
  await assertRemapIntact(db, io, ['rows', 'company']);
  assertCompanies(db, narrowingOf(given, config).companies);
  return facts;
}

/** Escapes control characters, which a terminal would interpret; line ends stay. */
function* spellUnseen(chunks: Iterable<string>): Generator<string> {
  for (const chunk of chunks) yield chunk.split(/\r?\n/).map(escapeUnseen).join('\n');
}
