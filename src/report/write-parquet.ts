import { createHash } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileWriter, parquetWriteRows } from 'hyparquet-writer';
import { SvcError } from '../errors.js';
import { throwIfInterrupted } from '../runtime/pause.js';
import { onFile, temporaryBeside } from '../runtime/write-output.js';
import { REMAP_COLUMNS, type RemapRow } from '../store/remap-rows.js';
import * as z from '../zod.js';

const MANIFEST = 'manifest.json';
const ABOUT = 'Crosswalk of V3 and V4 ids written by svc-migrate dump --format parquet';
/** Rows that are in memory at once; 50,000 took 320 MiB. Readers read row groups in parallel. */
const ROWS_PER_GROUP = 10_000;
const INTEGERS: readonly string[] = ['v3_company_id', 'v4_company_id', 'v3_svc_id', 'v4_svc_id'];
const REQUIRED: readonly string[] = ['path', 'status', 'evidence'];

/** The columns of each file. The model is the name of its folder, as Hive partitions are. */
const COLUMNS = REMAP_COLUMNS.filter((name) => name !== 'model').map((name) => ({
  name,
  type: INTEGERS.includes(name) ? ('INT64' as const) : ('STRING' as const),
  nullable: !REQUIRED.includes(name),
}));

const manifestSchema = z.object({ about: z.literal(ABOUT) });

/** What the manifest says of the remap, besides the list of files. */
export interface CrosswalkFacts {
  readonly tool: string;
  readonly builtAt: string;
  /** The remap's digest. */
  readonly remapSha256: string;
  /** False if records are missing from the remap, or if filters left out parts of it. */
  readonly isComplete: boolean;
}

interface CrosswalkFile {
  /** Below the folder, such as `model=accounting%2Finvoices/part-0.parquet`. */
  readonly path: string;
  readonly model: string;
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Removes what an earlier run left in the folder.
 *
 * @throws SvcError `usage` if the folder is a file or holds anything else; `output`
 */
export function clearCrosswalk(folder: string): void {
  const stat = statSync(folder, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (!stat.isDirectory()) throw refused(folder, `${folder} is a file, not a folder.`);
  onFile(folder, () => {
    const names = readdirSync(folder);
    if (names.length > 0 && !isCrosswalk(folder, names)) {
      throw refused(folder, `${folder} holds other files (such as ${names[0]}): it is not replaced.`);
    }
    rmSync(folder, { recursive: true });
  });
}

function isCrosswalk(folder: string, names: readonly string[]): boolean {
  if (!names.every((name) => name === MANIFEST || name.startsWith('model='))) return false;
  try {
    const found: unknown = JSON.parse(readFileSync(join(folder, MANIFEST), 'utf8'));
    return manifestSchema.safeParse(found).success;
  } catch {
    return false;
  }
}

function refused(folder: string, sentence: string): SvcError {
  return new SvcError('usage', sentence, {
    hint: 'Name a new or empty folder with --output.',
    facts: { folder },
  });
}

/**
 * Writes the remap as Parquet, one folder per model, with a manifest. The folder appears when all of it is written.
 *
 * @throws SvcError `output`, `interrupted`
 */
export async function writeCrosswalk(
  folder: string,
  readRows: () => Iterable<RemapRow>,
  facts: CrosswalkFacts,
  signal: AbortSignal,
): Promise<void> {
  const temporary = temporaryBeside(folder);
  try {
    mkdirSync(temporary, { mode: 0o700 });
    const files: CrosswalkFile[] = [];
    for (const { model, rows: own } of byModel(readRows()))
      files.push(await writeModel(temporary, model, own, signal));
    const manifest = {
      about: ABOUT,
      ...facts,
      columns: COLUMNS,
      rows: files.reduce((sum, file) => sum + file.rows, 0),
      files,
    };
    writeFileSync(join(temporary, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
    renameSync(temporary, folder);
  } catch (error) {
    onFile(folder, () => {
      throw error;
    });
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** Rows of the same model that follow each other. */
function* byModel(rows: Iterable<RemapRow>): Generator<{ model: string; rows: Iterable<RemapRow> }> {
  const source = rows[Symbol.iterator]();
  try {
    let next = source.next();
    while (next.done !== true) {
      const { model } = next.value;
      const own = function* () {
        for (; next.done !== true && next.value.model === model; next = source.next()) yield next.value;
      };
      yield { model, rows: own() };
    }
  } finally {
    source.return?.();
  }
}

async function writeModel(
  folder: string,
  model: string,
  rows: Iterable<RemapRow>,
  signal: AbortSignal,
): Promise<CrosswalkFile> {
  const place = `model=${encodeURIComponent(model)}`;
  const part = existsSync(join(folder, place)) ? readdirSync(join(folder, place)).length : 0;
  const path = `${place}/part-${part}.parquet`;
  const file = join(folder, path);
  let count = 0;
  const counted = (function* () {
    for (const row of rows) {
      count += 1;
      yield row;
    }
  })();
  mkdirSync(dirname(file), { recursive: true });
  const writer = fileWriter(file);
  // Called after each row group.
  writer.flush = () => throwIfInterrupted(signal);
  await parquetWriteRows({
    writer,
    rows: counted,
    columns: COLUMNS,
    rowGroupSize: ROWS_PER_GROUP,
    createdBy: 'svc-migrate',
  });
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return { path, model, rows: count, bytes: statSync(file).size, sha256: hash.digest('hex') };
}
