import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { applyTargetSchema, type FileTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import * as z from '../../zod.js';
import { type Policy, policySchema, runPolicySchema } from '../plan.js';
import { openRegularFile } from './file-snapshot.js';

const SUFFIX = '.svc-migrate.json';

/** A file name without a folder. */
const plainName = z.string().regex(/^[^/\\\0]+$/);
const runName = z.string().regex(/^[\w-]{1,64}$/);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const fileFacts = z.object({ file: plainName, sha256, bytes: z.int() });

/** The side-car, a JSON file beside a rewritten file: its ledger. It names files without their folder, so that they can be moved together. */
const sideCarSchema = z.object({
  sideCarVersion: z.literal(1),
  run: runName,
  target: z.string(),
  mode: policySchema.shape.mode,
  /** `writing` until the output has its final name. */
  state: z.enum(['writing', 'done']),
  input: fileFacts,
  output: fileFacts,
  /** The untouched original of a file rewritten in place. */
  backup: plainName.nullable(),
  remapSha256: z.string(),
  planSha256: z.string(),
  policy: runPolicySchema,
  columns: z.array(z.object({ column: z.string(), model: z.string() })),
  /** The target as configured for the run. */
  definition: applyTargetSchema,
  changed: z.int(),
  at: z.string(),
  tool: z.string(),
});

export type SideCar = z.output<typeof sideCarSchema>;

/** The target as configured for the run, but with its files where they are now. */
export function targetOfRun({ definition }: SideCar, now: FileTarget): FileTarget {
  if (definition.kind !== 'csv' && definition.kind !== 'ndjson') return now;
  return { ...definition, file: now.file, output: now.output };
}

/** The name of the backup that a run keeps of a file it rewrites in place. */
export function backupName(file: string, run: string): string {
  return `${basename(file)}.${run}.v3`;
}

/** The backup that a run kept beside its output; null if it wrote a new file. */
export function backupOf(output: string, { backup }: SideCar): string | null {
  return backup === null ? null : join(dirname(output), backup);
}

/** The path of an output's side-car. */
export function sideCarFile(output: string): string {
  return output + SUFFIX;
}

/** Reads the side-car of an output; null if it has none. */
export function readSideCar(output: string): SideCar | null {
  const sideCar = parseSideCar(sideCarFile(output));
  if (sideCar === null) return null;
  // Undo renames and removes the backup, so only the name that a run gives it is accepted.
  if (sideCar.backup === (sideCar.mode === 'new' ? null : backupName(output, sideCar.run))) return sideCar;
  throw unreadable(sideCarFile(output));
}

function parseSideCar(file: string): SideCar | null {
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
  return new SvcError('bad_input', `${file}, the record of what was rewritten here, cannot be read.`, {
    hint: 'Restore it, or move the file it belongs to elsewhere.',
    cause,
  });
}

/** The side-car in `folder` whose output had this content, perhaps under another name; null if there is none. */
export function findOutput(folder: string, sha256: string): SideCar | null {
  for (const name of readdirSync(folder)) {
    if (!name.endsWith(SUFFIX)) continue;
    const sideCar = parseSideCar(join(folder, name));
    if (sideCar !== null && sideCar.output.sha256 === sha256 && sideCar.input.sha256 !== sha256)
      return sideCar;
  }
  return null;
}

/** Writes a side-car atomically. */
export function writeSideCar(output: string, sideCar: SideCar): void {
  const file = sideCarFile(output);
  const temporary = `${file}.tmp`;
  rmSync(temporary, { force: true });
  // `wx` follows no symbolic link.
  const fd = openSync(temporary, 'wx', 0o600);
  try {
    writeSync(fd, `${JSON.stringify(sideCar, null, 2)}\n`);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, file);
  syncFolder(dirname(file));
}

/** The path at which a run collects the new content of an output. */
export function temporaryOf(output: string): string {
  return `${output}.svc-migrate-tmp`;
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

/** The path of the rewritten file. */
export function outputOf({ file, output }: FileTarget, { mode }: Pick<Policy, 'mode'>): string {
  return mode === 'in_place' ? file : (output ?? defaultOutput(file));
}

/** A rewritten file of a target, with the target as configured for its run. */
export interface WrittenOutput {
  readonly output: string;
  readonly sideCar: SideCar;
  readonly target: FileTarget;
}

/** The files that runs wrote for a target: in place, and beside the original. The target may also name the new file itself. */
export function writtenOutputs(target: FileTarget): WrittenOutput[] {
  return (['in_place', 'new'] as const).flatMap((mode) => {
    const output = outputOf(target, { mode });
    const sideCar = readSideCar(output);
    if (sideCar === null || (sideCar.mode !== mode && mode === 'new')) return [];
    const file = sideCar.mode === mode ? target.file : originalOf(output, sideCar);
    return [{ output, sideCar, target: targetOfRun(sideCar, { ...target, file }) }];
  });
}

/** The file that a new file was made from: beside it if they were moved together, otherwise where it was. */
function originalOf(output: string, { input, definition }: SideCar): string {
  const beside = join(dirname(output), input.file);
  return existsSync(beside) || !('file' in definition) ? beside : definition.file;
}

/** `orders.csv` → `orders.v4.csv`, in the same folder. */
export function defaultOutput(file: string): string {
  const name = basename(file);
  const dot = name.lastIndexOf('.');
  const renamed = dot <= 0 ? `${name}.v4` : `${name.slice(0, dot)}.v4${name.slice(dot)}`;
  return join(dirname(file), renamed);
}
