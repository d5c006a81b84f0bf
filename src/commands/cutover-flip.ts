import { readFileSync } from 'node:fs';
import { EXIT_BY_CODE, errorCodeOf, SvcError } from '../errors.js';
import { runHook } from '../runtime/run-hook.js';
import { createFile, onFile } from '../runtime/write-output.js';
import { escapeUnseen } from '../text/escape.js';
import type { StepOutcome, StepTask } from './cutover-steps.js';

/**
 * Flips the application by the program or the file that the options name; by hand, it only says so.
 *
 * @throws SvcError `bad_input` if the program did not start or the file is there, `output`, `interrupted`
 */
export async function flipApplication(task: StepTask): Promise<StepOutcome> {
  switch (task.options.flip) {
    case 'exec':
      return runProgramOf(task);
    case 'flag':
      return createFlag(task);
    case 'hand':
      return { exitCode: EXIT_BY_CODE.incomplete, note: 'Flip the application now.', left: 'by_hand' };
  }
}

async function runProgramOf({ options, cutover, io }: StepTask): Promise<StepOutcome> {
  const { flipPlace: program } = options;
  const report = cutover.report ?? options.report;
  // Ends the line of the progress, above what the program prints.
  io.stderr.write('');
  const env = { ...io.env, SVC_MIGRATE_REPORT: report };
  const end = await runHook(program, [report], { env, signal: io.signal });
  const note = `${program} ended ${typeof end === 'number' ? `with exit code ${end}` : `by ${end}`}`;
  return { exitCode: end === 0 ? 0 : EXIT_BY_CODE.apply_stopped, note };
}

function createFlag({ options: { flipPlace: file }, cutover, io }: StepTask): StepOutcome {
  const at = new Date(io.clock.now()).toISOString();
  const text = `${JSON.stringify({ cutover: cutover.id, at, report: cutover.report })}\n`;
  const outcome = { exitCode: 0, note: `${file} is there` };
  try {
    onFile(file, () => createFile(file, text, { replace: false }));
    return outcome;
  } catch (cause) {
    if (!(cause instanceof SvcError) || cause.facts['error'] !== 'EEXIST') throw cause;
    // A cutover that was killed right after it had created it.
    if (isOwnFlag(file, cutover.id)) return outcome;
    throw new SvcError('bad_input', `${file} exists already; it was not changed.`, {
      hint: 'If the application is flipped by it, remove it before the cutover, or name another file.',
      cause,
    });
  }
}

/** Whether the file is the flag of this cutover. */
export function isOwnFlag(file: string, id: string): boolean {
  try {
    return readFileSync(file, 'utf8').startsWith(`{"cutover":${JSON.stringify(id)},`);
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return false;
    throw new SvcError('bad_input', `${escapeUnseen(file)} cannot be read: ${errorCodeOf(error)}.`);
  }
}
