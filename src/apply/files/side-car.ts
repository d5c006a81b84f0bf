import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { applyTargetSchema, type FileTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { openRegularFile } from './file-snapshot.js';

const SUFFIX = '.svc-migrate.json';

/** Names become parts of file names: none leads to another folder. */
const plainName = z.string().regex(/^[^/\\\0]+$/);
const runName = z.string().regex(/^[\w-]{1,64}$/);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const fileFacts = z.object({ file: plainName, sha256, bytes: z.int() });

/** What is kept beside a rewritten file. Files are named without their folder: they may be moved together. */
const sideCarSchema = z.object({
  sideCarVersion: z.literal(1),
  run: runName,
  target: z.string(),
  mode: z.enum(['new', 'in_place']),
  /** `writing` until the output stands under its name. */
  state: z.enum(['writing', 'done']),
  input: fileFacts,
  output: fileFacts,
  /** The untouched original of a file rewritten in place. */
  backup: plainName.nullable(),
  remapSha256: z.string(),
  planSha256: z.string(),
  policy: z.object({ missing: z.enum(['fail', 'keep', 'null']), mapDeleted: z.boolean() }),
  columns: z.array(z.object({ column: z.string(), model: z.string() })),
  /** The target as it was then. */
  definition: applyTargetSchema,
  changed: z.int(),
  at: z.string(),
  tool: z.string(),
});

export type SideCar = z.output<typeof sideCarSchema>;

/** The target as the run had it, wherever its files are by now. */
export function targetOfRun({ definition }: SideCar, now: FileTarget): FileTarget {
  if (definition.kind !== 'csv' && definition.kind !== 'ndjson') return now;
  return { ...definition, file: now.file, output: now.output };
}

/** The name under which a run keeps the original of a file that it rewrites in place. */
export function backupName(file: string, run: string): string {
  return `${basename(file)}.${run}.v3`;
}

/** The original that a run kept beside its output; null where it wrote a new file. */
export function backupOf(output: string, { backup }: SideCar): string | null {
  return backup === null ? null : join(dirname(output), backup);
}

/** The side-car of an output. */
export function sideCarFile(output: string): string {
  return output + SUFFIX;
}

/** The side-car of an output; null where it has none. */
export function readSideCar(output: string): SideCar | null {
  const car = readOne(sideCarFile(output));
  if (car === null) return null;
  // Only what a run makes here: whatever else it names is not touched.
  if (car.backup === (car.mode === 'new' ? null : backupName(output, car.run))) return car;
  throw unreadable(sideCarFile(output));
}

function readOne(file: string): SideCar | null {
  const fd = openRegularFile(file);
  if (fd === null) return null;
  try {
    return sideCarSchema.parse(JSON.parse(readFileSync(fd, 'utf8')));
  } catch (cause) {
    throw unreadable(file, cause);
  } finally {
    closeSync(fd);
  }
}

function unreadable(file: string, cause?: unknown): SvcError {
  return new SvcError('bad_input', `${file} cannot be read: it says what was rewritten here.`, {
    hint: 'Restore it, or move the file it belongs to elsewhere.',
    cause,
  });
}

/** The side-car in `folder` whose output has this content, though perhaps another name; null: none. */
export function findOutput(folder: string, sha256: string): SideCar | null {
  for (const name of readdirSync(folder)) {
    if (!name.endsWith(SUFFIX)) continue;
    const car = readOne(join(folder, name));
    if (car !== null && car.output.sha256 === sha256 && car.input.sha256 !== sha256) return car;
  }
  return null;
}

/**
 * Keeps a side-car, whole or not at all. `isFirst`: there is none yet.
 *
 * @throws SvcError `locked` where one came meanwhile, though it was to be the first
 */
export function writeSideCar(output: string, car: SideCar, isFirst = false): void {
  const file = sideCarFile(output);
  const temporary = `${file}.${car.run}.tmp`;
  rmSync(temporary, { force: true });
  // Not through a link that stands there.
  const fd = openSync(temporary, 'wx', 0o600);
  try {
    writeSync(fd, `${JSON.stringify(car, null, 2)}\n`);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  if (isFirst) linkFirst(temporary, file, output);
  else renameSync(temporary, file);
  syncFolder(dirname(file));
}

/** Unlike a rename, a link never takes the place of a file that is there. */
function linkFirst(temporary: string, file: string, output: string): void {
  try {
    linkSync(temporary, file);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
      throw writtenByAnother(output, error);
    // Some file systems know no links.
    renameSync(temporary, file);
    return;
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Two processes at one file. */
export function writtenByAnother(output: string, cause?: unknown): SvcError {
  return new SvcError('locked', `Another svc-migrate is writing ${output}.`, {
    hint: 'Wait until it has finished, then look again.',
    cause,
  });
}

/** Makes renames in a folder durable. */
export function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** `orders.csv` → `orders.v4.csv`, in the same folder. */
export function defaultOutput(file: string): string {
  const name = basename(file);
  const dot = name.lastIndexOf('.');
  const renamed = dot <= 0 ? `${name}.v4` : `${name.slice(0, dot)}.v4${name.slice(dot)}`;
  return join(dirname(file), renamed);
}
