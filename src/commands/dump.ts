import { Command, Option } from '@commander-js/extra-typings';
import { DUMP_FORMATS } from '../domain.js';
import { SvcError } from '../errors.js';
import type { DefineCommand, Io, Result } from './command.js';

export const dumpCommand: DefineCommand = (run) =>
  new Command('dump')
    .summary('write the whole remap: csv, ndjson or parquet')
    .description(
      'Writes every row of the remap in its order, with exact values. Refuses a remap that is missing, stale or incomplete (4), or was changed since it was built (6).',
    )
    .addOption(
      new Option('--format <format>', 'format of the output').choices(DUMP_FORMATS).default('csv' as const),
    )
    .option('--output <file>', 'write to this file instead of stdout')
    .option('--allow-incomplete', 'use a remap that was built before every list was read')
    .addHelpText('after', '\nExample:\n  svc-migrate dump --format parquet --output remap.parquet')
    .action((options, command) => run(command, ['output'], (io) => dump(options, io)));

interface DumpOptions {
  readonly format: (typeof DUMP_FORMATS)[number];
  readonly output?: string | undefined;
  readonly allowIncomplete?: true | undefined;
}

async function dump({ format, output = '-', allowIncomplete }: DumpOptions, io: Io): Promise<Result> {
  const { assertTargets, isStdout, writeOutput } = await import('../runtime/write-output.js');
  const isOnTerminal = isStdout(output) && io.stdout.isTTY === true;
  if (isOnTerminal && format === 'parquet') {
    throw new SvcError('usage', 'Parquet is not written to a terminal.', {
      hint: 'Name a file with --output.',
    });
  }
  if (isStdout(output)) await assertTargets([output], []);
  const config = await io.config();
  const { assertUsableRemap } = await import('../store/readiness.js');
  const { readRemap, readRemapRun } = await import('../store/remap.js');
  const { verifyRemap } = await import('../store/integrity.js');
  const { must } = await import('../text/at.js');
  const { readDatabase } = await import('./read-database.js');
  const { renderCsv, renderNdjson, renderParquet, spellUnseen } = await import('./dump-formats.js');
  return readDatabase(config, async (db) => {
    assertUsableRemap(db, config, { allowIncomplete: allowIncomplete === true });
    verifyRemap(db);
    const rows = readLater(() => readRemap(db));
    if (format === 'parquet') {
      await writeOutput(output, renderParquet(rows, must(readRemapRun(db), 'remap')), io);
    } else {
      const text = format === 'csv' ? renderCsv(rows) : renderNdjson(rows);
      await writeOutput(output, isOnTerminal ? spellUnseen(text) : text, io);
    }
    return { exitCode: 0 };
  });
}

/** Begins to read when the first row is needed, and ends with the reader. */
function* readLater<T>(read: () => Iterable<T>): Generator<T> {
  yield* read();
}
