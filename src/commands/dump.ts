import type { Config } from '../config/config.js';
import { DUMP_FORMATS } from '../report/render-rows.js';
import { assertStdout, writeOutput, writeText } from '../runtime/write-output.js';
import { assertCompleteRemap, findOpenLists, readReadiness, refuseIncomplete } from '../store/readiness.js';
import { EVERYTHING, readRemap } from '../store/remap.js';
import { escapeUnseen } from '../text/escape.js';
import type { Given } from './command.js';
import type { Io } from './io.js';
import { narrowingOf } from './option-values.js';
import { assertCompanies, assertRemapIntact, readDatabase, warnOfIncomplete } from './read-database.js';
import { scopeOf } from './report.js';
import { withOutputs } from './with-outputs.js';

/**
 * `dump`: writes the whole remap in its stored order, with exact values.
 *
 * @throws SvcError `incomplete` unless allowed, `usage`, `output`, and as `openDatabase` does
 */
export async function runDump(given: Given, io: Io): Promise<number> {
  const target = given.text('output') ?? '-';
  return withOutputs(given, io, { outputs: { dump: target } }, (config, within) =>
    dump(config, target, given, within),
  );
}

async function dump(config: Config, target: string, given: Given, io: Io): Promise<number> {
  const narrowing = narrowingOf(given, config);
  const format = given.text('format');
  const render = DUMP_FORMATS[format === 'ndjson' || format === 'sql' ? format : 'csv'];
  if (target === '-') assertStdout();
  return readDatabase(config, async (db) => {
    const facts = readReadiness(db, config, EVERYTHING);
    if (!given.isSet('allowIncomplete')) {
      // once the export is finished, `remap` builds a current one
      if (findOpenLists(facts).length === 0) refuseIncomplete(facts);
      else assertCompleteRemap(facts);
    }
    await warnOfIncomplete(facts, io);
    await assertRemapIntact(db, io, ['rows', 'company']);
    assertCompanies(db, narrowing.companies);
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

/** Escapes control characters, which a terminal would interpret; line ends stay. */
function* spellUnseen(chunks: Iterable<string>): Generator<string> {
  for (const chunk of chunks) yield chunk.split(/\r?\n/).map(escapeUnseen).join('\n');
}
