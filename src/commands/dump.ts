import { PassThrough } from 'node:stream';
import { Command, Option } from '@commander-js/extra-typings';
import { SvcError } from '../errors.js';
import type { RemapRow } from '../store/remap.js';
import type { Db } from '../store/sqlite.js';
import type { DefineCommand, Io, Result } from './command.js';

export const dumpCommand: DefineCommand = (run) =>
  new Command('dump')
    .summary('write the whole remap: csv, ndjson or parquet')
    .description(
      'Writes every row of the remap in its order, with exact values. Refuses a remap that is missing, stale or incomplete (4), or was changed since it was built (6).',
    )
    .addOption(
      new Option('--format <format>', 'format of the output')
        .choices(['csv', 'ndjson', 'parquet'] as const)
        .default('csv' as const),
    )
    .option('--output <file>', 'write to this file instead of stdout')
    .option('--allow-incomplete', 'use a remap that was built before every list was read')
    .addHelpText('after', '\nExample:\n  svc-migrate dump --format parquet --output remap.parquet')
    .action((options, command) => run(command, ['output'], (io) => dump(options, io)));

interface DumpOptions {
  readonly format: 'csv' | 'ndjson' | 'parquet';
  readonly output?: string | undefined;
  readonly allowIncomplete?: true | undefined;
}

async function dump({ format, output = '-', ...options }: DumpOptions, io: Io): Promise<Result> {
  const { assertTargets, isStdout, writeOutput } = await import('../runtime/write-output.js');
  const isOnTerminal = isStdout(output) && io.stdout.isTTY === true;
  if (isOnTerminal && format === 'parquet') {
    throw new SvcError('usage', 'Parquet is binary and cannot be written to a terminal.', {
      hint: 'Name a file with --output.',
    });
  }
  if (isStdout(output)) await assertTargets([output], []);
  const config = await io.config();
  const { readVerifiedRemap } = await import('./database.js');
  return readVerifiedRemap(config, options, async (db) => {
    if (format === 'parquet') {
      await writeOutput(output, renderParquet(db), io);
    } else {
      const text = format === 'csv' ? renderCsv(db) : renderRows(db);
      await writeOutput(output, isOnTerminal ? spellUnseen(text) : text, io);
    }
    return { exitCode: 0 };
  });
}

/** RFC 4180 with a header; null is an empty cell, an empty text is `""`. */
async function* renderCsv(db: Db): AsyncGenerator<string> {
  const { readRemap, REMAP_COLUMNS } = await import('../store/remap.js');
  const { csvCell } = await import('../text/escape.js');
  const cellOf = (value: RemapRow[keyof RemapRow]) => {
    if (value === null) return '';
    return value === '' ? '""' : csvCell(String(value));
  };
  yield `${REMAP_COLUMNS.join(',')}\r\n`;
  for (const row of readRemap(db)) {
    yield `${REMAP_COLUMNS.map((column) => cellOf(row[column])).join(',')}\r\n`;
  }
}

async function* renderRows(db: Db): AsyncGenerator<string> {
  const { readRemap } = await import('../store/remap.js');
  const { renderNdjson } = await import('./remap-lines.js');
  yield* renderNdjson(readRemap(db));
}

/** Spells out control characters, which a terminal would interpret; line ends stay. */
async function* spellUnseen(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  const { escapeLines } = await import('../text/escape.js');
  for await (const chunk of chunks) yield escapeLines(chunk.replaceAll('\r\n', '\n'));
}

/** Rows in memory at once; 50,000 took 320 MiB. Readers read row groups in parallel. */
const ROWS_PER_GROUP = 10_000;
const INTEGERS: readonly string[] = ['v3_company_id', 'v4_company_id', 'v3_svc_id', 'v4_svc_id'];
const REQUIRED: readonly string[] = ['model', 'path', 'status', 'evidence'];

/** A Parquet file, a row group at a time; its footer names the remap. */
async function* renderParquet(db: Db): AsyncGenerator<Uint8Array> {
  const { ByteWriter, parquetWriteRows } = await import('hyparquet-writer');
  const { readRemap, readRemapRun, REMAP_COLUMNS } = await import('../store/remap.js');
  const { must } = await import('../text/at.js');
  const { builtAt, sha256, isComplete } = must(readRemapRun(db), 'remap');
  const stream = new PassThrough();
  const writer = new ByteWriter();
  const flush = (): Promise<void> => {
    const bytes = writer.getBytes().slice();
    writer.index = 0;
    return new Promise((done, fail) => {
      stream.write(bytes, (error) => (error ? fail(error) : done()));
    });
  };
  const write = async () => {
    await parquetWriteRows({
      writer: Object.assign(writer, { flush }),
      columns: REMAP_COLUMNS.map((name) => ({
        name,
        type: INTEGERS.includes(name) ? ('INT64' as const) : ('STRING' as const),
        nullable: !REQUIRED.includes(name),
      })),
      rows: readRemap(db),
      rowGroupSize: ROWS_PER_GROUP,
      kvMetadata: [
        { key: 'svc_migrate.built_at', value: builtAt },
        { key: 'svc_migrate.remap_sha256', value: sha256 },
        { key: 'svc_migrate.is_complete', value: String(isComplete) },
      ],
    });
    await flush();
  };
  const written = write().then(
    () => void stream.end(),
    (error: Error) => void stream.destroy(error),
  );
  try {
    yield* stream;
  } finally {
    stream.destroy();
    await written;
  }
}
