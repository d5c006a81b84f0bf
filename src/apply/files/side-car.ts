import { closeSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type FileTarget, fileTargetSchema, outputOf, sideCarFile } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { writeTextFile } from '../../runtime/write-output.js';
import * as z from '../../zod.js';
import { runPolicySchema } from '../plan.js';
import { openRegularFile } from './file-snapshot.js';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
/** The name has no folder. */
const fileFacts = z.object({ file: z.string().regex(/^[^/\\\0]+$/), sha256, bytes: z.int() });

/** The side-car, a JSON file beside a new file: its ledger. It names files without their folder, so that they can be moved together. */
const sideCarSchema = z.object({
  sideCarVersion: z.literal(1),
  run: z.string().regex(/^[\w-]{1,64}$/),
  target: z.string(),
  /** `writing` until the new file has its final name. */
  state: z.enum(['writing', 'done']),
  input: fileFacts,
  output: fileFacts,
  remapSha256: z.string(),
  planSha256: z.string(),
  policy: runPolicySchema,
  /** The target as configured for the run. */
  definition: fileTargetSchema,
  changed: z.int(),
  at: z.string(),
  tool: z.string(),
});

export type SideCar = z.output<typeof sideCarSchema>;

/**
 * Reads the side-car of a new file; null if it has none.
 *
 * @throws SvcError `bad_input`
 */
export function readSideCar(output: string): SideCar | null {
  return parseSideCar(sideCarFile(output));
}

function parseSideCar(file: string): SideCar | null {
  const fd = openRegularFile(file);
  if (fd === null) return null;
  try {
    return sideCarSchema.parse(JSON.parse(readFileSync(fd, 'utf8')));
  } catch (cause) {
    throw new SvcError('bad_input', `${file}, the record of what was rewritten here, cannot be read.`, {
      hint: 'Restore it, or move the file it belongs to elsewhere.',
      cause,
    });
  } finally {
    closeSync(fd);
  }
}

/** The side-car in `folder` whose output had this content, perhaps under another name; null if there is none. */
export function findOutput(folder: string, sha256: string): SideCar | null {
  for (const name of readdirSync(folder)) {
    if (!name.endsWith(sideCarFile(''))) continue;
    const sideCar = parseSideCar(join(folder, name));
    if (sideCar !== null && sideCar.output.sha256 === sha256 && sideCar.input.sha256 !== sha256)
      return sideCar;
  }
  return null;
}

/** Writes a side-car atomically. */
export async function writeSideCar(output: string, sideCar: SideCar): Promise<void> {
  await writeTextFile(sideCarFile(output), [`${JSON.stringify(sideCar, null, 2)}\n`]);
}

/** A new file that a run wrote, with the target as configured for the run. */
export interface WrittenOutput {
  readonly output: string;
  readonly sideCar: SideCar;
  readonly target: FileTarget;
}

/** The new files that runs wrote for a target, which may name the original or the new file itself. */
export function writtenOutputs(target: FileTarget): WrittenOutput[] {
  return [outputOf(target), target.file].flatMap((output) => {
    const sideCar = readSideCar(output);
    if (sideCar === null) return [];
    const file = output === target.file ? originalOf(output, sideCar) : target.file;
    return [{ output, sideCar, target: { ...sideCar.definition, file, output } }];
  });
}

/** The file that a new file was made from: beside it if they were moved together, otherwise where it was. */
function originalOf(output: string, { input, definition }: SideCar): string {
  const beside = join(dirname(output), input.file);
  return existsSync(beside) ? beside : definition.file;
}
