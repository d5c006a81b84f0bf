import { closeSync, openSync, rmSync, statSync } from 'node:fs';
import { fileWriter, parquetWriteRows } from 'hyparquet-writer';
import { SvcError } from '../errors.js';
import { throwIfInterrupted } from '../runtime/pause.js';
import { moveInto, onFile, realPath, temporaryBeside } from '../runtime/write-output.js';
import { REMAP_COLUMNS, type RemapRow } from '../store/remap-rows.js';

/** Rows that are in memory at once; 50,000 took 320 MiB. Readers read row groups in parallel. */
const ROWS_PER_GROUP = 10_000;
const INTEGERS: readonly string[] = ['v3_company_id', 'v4_company_id', 'v3_svc_id', 'v4_svc_id'];
const REQUIRED: readonly string[] = ['model', 'path', 'status', 'evidence'];

const COLUMNS = REMAP_COLUMNS.map((name) => ({
  name,
  type: INTEGERS.includes(name) ? ('INT64' as const) : ('STRING' as const),
  nullable: !REQUIRED.includes(name),
}));

/** What the footer of the file says of the remap. */
export interface ParquetFacts {
  readonly tool: string;
  readonly builtAt: string;
  /** The remap's digest. */
  readonly remapSha256: string;
  /** False if records are missing from the remap, or if filters left out parts of it. */
  readonly isComplete: boolean;
}

/**
 * Writes the remap as one Parquet file, which appears when all of it is written.
 *
 * @throws SvcError `usage` if the target is no regular file; `output`, `interrupted`
 */
export async function writeParquet(
  target: string,
  readRows: () => Iterable<RemapRow>,
  facts: ParquetFacts,
  signal: AbortSignal,
): Promise<void> {
  assertFile(target);
  const temporary = temporaryBeside(realPath(target));
  try {
    closeSync(openSync(temporary, 'wx', 0o600));
    const writer = fileWriter(temporary);
    // Called after each row group.
    writer.flush = () => throwIfInterrupted(signal);
    const options = { columns: COLUMNS, rowGroupSize: ROWS_PER_GROUP, createdBy: facts.tool };
    await parquetWriteRows({ writer, rows: readRows(), ...options, kvMetadata: footerOf(facts) });
    moveInto(temporary, target, { replace: true });
  } catch (error) {
    onFile(target, () => {
      throw error;
    });
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** The end of a Parquet file says where its parts are, so it cannot be written to a stream. */
function assertFile(target: string): void {
  const isFile = statSync(realPath(target), { throwIfNoEntry: false })?.isFile() ?? true;
  if (target !== '-' && isFile) return;
  throw new SvcError('usage', 'Parquet is written to a file.', {
    hint: 'Name it with --output FILE, such as remap.parquet.',
  });
}

function footerOf({ tool, builtAt, remapSha256, isComplete }: ParquetFacts) {
  return [
    { key: 'svc_migrate.tool', value: tool },
    { key: 'svc_migrate.built_at', value: builtAt },
    { key: 'svc_migrate.remap_sha256', value: remapSha256 },
    { key: 'svc_migrate.is_complete', value: String(isComplete) },
  ];
}
