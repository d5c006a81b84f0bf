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

const SUFFIX = '.svc-migrate.json';

const fileFacts = z.object({ file: z.string(), sha256: z.string(), bytes: z.int() });

/** What is kept beside a rewritten file. Files are named without their folder: they may be moved together. */
const sideCarSchema = z.object({
  sideCarVersion: z.literal(1),
  run: z.string(),
  target: z.string(),
  mode: z.enum(['new', 'in_place']),
  /** `writing` until the output stands under its name. */
  state: z.enum(['writing', 'done']),
  input: fileFacts,
  output: fileFacts,
  /** The untouched original of a file rewritten in place. */
  backup: z.string().nullable(),
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

/** The target as the run had it, wherever its file is by now. */
export function targetOfRun({ definition }: SideCar, now: FileTarget): FileTarget {
  return definition.kind === 'csv' || definition.kind === 'ndjson' ? { ...definition, file: now.file } : now;
}

/** The side-car of an output. */
export function sideCarFile(output: string): string {
  return output + SUFFIX;
}

/** The side-car of an output; null where it has none. */
export function readSideCar(output: string): SideCar | null {
  return readOne(sideCarFile(output));
}

function readOne(file: string): SideCar | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
  try {
    return sideCarSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new SvcError('bad_input', `${file} cannot be read: it says what was rewritten here.`, {
      hint: 'Restore it, or move the file it belongs to elsewhere.',
      cause,
    });
  }
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
  const fd = openSync(temporary, 'w', 0o600);
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
      throw beingWritten(output, error);
    // Some file systems know no links.
    renameSync(temporary, file);
    return;
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Two processes at one file. */
export function beingWritten(output: string, cause?: unknown): SvcError {
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

/** A file in the same folder as `file`. */
export function siblingOf(file: string, name: string): string {
  return file.slice(0, file.length - basename(file).length) + name;
}
