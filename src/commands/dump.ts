import type { Config } from '../config/config.js';
import { DUMP_FORMATS, type DumpFormat } from '../report/render-dump.js';
import { assertStdout } from '../runtime/closed-stdout.js';
import { assertTargets, writeOutput, writeText } from '../runtime/write-output.js';
import { assertUsableRemap } from '../store/read-readiness.js';
import { readRemap } from '../store/remap.js';
import { escapeUnseen } from '../text/escape.js';
import type { Io } from './io.js';
import { assertCompanies, assertRemapIntact, readDatabase } from './read-database.js';
import { ownFilesOf, scopeOf } from './report.js';

export interface DumpOptions {
  readonly config: Config;
  readonly format?: DumpFormat | undefined;
  /** A file, or `-` for stdout, the default. */
  readonly output?: string | undefined;
  readonly models?: readonly string[] | undefined;
  /** V3 company ids. */
  readonly companies?: readonly bigint[] | undefined;
  readonly allowIncomplete?: boolean | undefined;
}

/**
 * `dump`: the whole remap, in its own order, with exact values.
 *
 * @throws SvcError `incomplete` unless allowed, `usage`, `output`, and as `openDatabase` does
 */
export async function runDump(options: DumpOptions, io: Io): Promise<number> {
  const { config, format = 'csv', output: target = '-' } = options;
  assertTargets([target], ownFilesOf(config));
  if (target === '-') assertStdout();
  return readDatabase(config, async (db) => {
    if (options.allowIncomplete !== true) assertUsableRemap(db, config);
    await assertRemapIntact(db, io, ['rows', 'company']);
    assertCompanies(db, options.companies);
    const exact = () => DUMP_FORMATS[format](readRemap(db, scopeOf(options)));
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

/** A terminal would act on control characters; line ends stay. */
function* spellUnseen(chunks: Iterable<string>): Generator<string> {
  for (const chunk of chunks) yield chunk.split(/\r?\n/).map(escapeUnseen).join('\n');
}
