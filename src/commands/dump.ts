import type { Config } from '../config/config.js';
import { DUMP_RENDERERS } from '../report/render-rows.js';
import { type ParquetFacts, writeParquet } from '../report/write-parquet.js';
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
import { EVERYTHING, readRemap, type Scope } from '../store/remap-rows.js';
import { escapeUnseen } from '../text/escape.js';
import { narrowingOf, scopeOf } from './catalogue/options.js';
import type { dump } from './catalogue/use-commands.js';
import type { GivenTo, Io, OptionsOf } from './command.js';
import { assertCompanies, assertRemapIntact, readDatabase, warnOfIncomplete } from './database.js';

/** `dump`: writes the whole remap in its stored order, with exact values. */
export async function run(given: GivenTo<typeof dump>, io: Io): Promise<number> {
  const { options } = given;
  const { format, output: target = '-' } = options;
  const config = await given.config();
  const scope = scopeOf(narrowingOf(options, config));
  if (target === '-') assertStdout();
  return readDatabase(config, async (db) => {
    const readiness = await assertUsable(db, config, options, io);
    const rows = () => readRemap(db, scope);
    if (format === 'parquet') await writeParquet(target, rows, factsOf(readiness, scope), io.signal);
    else await writeRows(target, () => DUMP_RENDERERS[format](rows()), io);
    return 0;
  });
}

async function writeRows(target: string, exact: () => Iterable<string>, io: Io): Promise<void> {
  const onTerminal = target === '-' && io.isTty;
  await writeOutput({ target, chunks: onTerminal ? () => spellUnseen(exact()) : exact }, io);
  if (onTerminal) {
    await writeText(io.stderr, [
      'Control characters are spelled out on a terminal; use --output FILE for exact data.\n',
    ]);
  }
}

function factsOf(readiness: Readiness, scope: Scope): ParquetFacts {
  const run = readiness.lastRun;
  if (run === undefined) throw new Error('a remap that was verified has no record of its build');
  return {
    tool: `svc-migrate ${readVersion()}`,
    builtAt: run.built_at,
    remapSha256: run.sha256,
    isComplete: findIncomplete(readiness).length === 0 && scope.models === null && scope.companies === null,
  };
}

/** Checks that the remap may be passed on. */
async function assertUsable(
  db: Db,
  config: Config,
  options: OptionsOf<typeof dump>,
  io: Io,
): Promise<Readiness> {
  const facts = readReadiness(db, config, EVERYTHING);
  if (!options.allowIncomplete) {
    // once the export is finished, `remap` builds a current one
    if (findOpenLists(facts).length === 0) refuseIncomplete(facts);
    else assertCompleteRemap(facts);
  }
  await warnOfIncomplete(facts, io);
  await assertRemapIntact(db, io, ['rows', 'company']);
  assertCompanies(db, options.company);
  return facts;
}

/** Escapes control characters, which a terminal would interpret; line ends stay. */
function* spellUnseen(chunks: Iterable<string>): Generator<string> {
  for (const chunk of chunks) yield chunk.split(/\r?\n/).map(escapeUnseen).join('\n');
}
