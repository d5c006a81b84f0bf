import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { assertTargets } from '../runtime/output-targets.js';
import { writeOutput, writeText } from '../runtime/write-output.js';
import { addFlagsToNext, escapeJson, escapeLines } from '../text/escape.js';
import { applyInThread } from './apply.js';
import { parseUndoRequest, type UndoRequest } from './apply-request.js';
import type { Given, Io } from './command.js';
import { NAME_A_PLACE } from './target-options.js';
import { ownFilesOf, replaceOutputs } from './with-outputs.js';

/**
 * `undo`: undoes a run, or lists the runs. Exits with 0 if all of it was undone, 1 if rows that changed since were
 * skipped, 7 if it stopped part-way. It uses the ledger and needs the run's remap only to drop new columns.
 */
export async function runUndo(given: Given, io: Io): Promise<number> {
  const config = await given.config();
  const request = parseUndoRequest(given, config);
  const { json: target, targets } = request;
  assertTargets(target === undefined ? [] : [target], ownFilesOf(config));
  if (targets.length === 0) {
    throw new SvcError('usage', 'No target is given or configured, so there is no ledger to read.', {
      hint: NAME_A_PLACE,
    });
  }
  io.onProgress({ kind: 'stage', name: 'undo' });
  return replaceOutputs({ json: target }, io, (within) => undo(config, request, within));
}

async function undo(config: Config, request: UndoRequest, io: Io): Promise<number> {
  const { json: target } = request;
  const { json, text, exitCode, next } = await applyInThread({ kind: 'undo', config, request }, io);
  if (target !== undefined) {
    const content = `${escapeJson(JSON.stringify({ action: 'undo', ...json, exitCode, next }, null, 2))}\n`;
    await writeOutput({ target, chunks: () => [content] }, io);
  }
  if (target !== '-')
    await writeText(io.stdout, [addFlagsToNext(escapeLines(`${text}Next: ${next}\n`), io.flags)]);
  return exitCode;
}
