import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type FileTarget, outputOf } from '../../config/apply-targets.js';
import { describeFileError, SvcError } from '../../errors.js';
import { sha256OfFile } from '../../runtime/sha256.js';
import { countOf } from '../../text/numbers.js';
import { checkColumn } from '../column-work.js';
import type { ApplyContext, SurveyOptions } from '../context.js';
import { buildColumnPlans, watchUnmapped } from '../engine/column-plans.js';
import { blocks, type Earlier, NO_EARLIER, type Note, type Policy, type TargetPlan } from '../plan.js';
import type { RecordDefect, RecordScanner } from '../text/record-scanner.js';
import { unmappedOfCounts } from '../unmapped.js';
import { changedMeanwhile } from './file-snapshot.js';
import { findOutput, readSideCar, type SideCar } from './side-car.js';
import { openColumns, streamTarget } from './stream-file.js';

/**
 * Reads a file and plans what apply would do to it. The values of a file from which a run wrote a new one are judged by the policy
 * of that run.
 *
 * @throws SvcError `bad_input`, `config`, `interrupted`
 */
export async function surveyFile(
  context: ApplyContext,
  target: FileTarget,
  { onUnmapped }: SurveyOptions = {},
): Promise<TargetPlan> {
  const sha256 = await hashInput(target.file);
  const { sideCar, earlier, notes } = await findEarlier(context, target, sha256);
  const isFinished = earlier.state === 'finished';
  const policy = { ...context.policy, ...(isFinished ? sideCar?.policy : {}) };
  const state = isFinished ? 'in_ledger' : 'pending';
  let scanner: RecordScanner | null = null;
  const plain = openColumns({ ...context, policy }, target);
  const works =
    onUnmapped === undefined
      ? plain
      : plain.map((work) =>
          watchUnmapped(work, { state, policy }, target.name, onUnmapped, () => scanner?.position() ?? {}),
        );
  const pass = await streamTarget(context, target, works, {
    step: 'reading',
    onScanner: (built) => {
      scanner = built;
    },
  });
  if (pass.sha256 !== sha256) throw changedMeanwhile(target.file);
  const { rows, defects } = pass.scanner.found();
  const columns = works.flatMap((work) => {
    const left = isFinished ? unmappedOfCounts(state, work.tally.result().counts, policy) : [];
    return buildColumnPlans(work, 'in_place', [left]);
  });
  return {
    name: target.name,
    kind: target.kind,
    place: target.file,
    definition: target,
    output: outputOf(target),
    rows,
    columns,
    earlier,
    notes: [
      ...target.ids.flatMap((column) => checkColumn(context, column)),
      ...defects.map((defect) => defectNote(defect, context.policy)),
      ...notes,
    ],
    fingerprint: sha256,
    changes: isFinished ? 0 : pass.edits,
  };
}

async function hashInput(file: string): Promise<string> {
  try {
    return await sha256OfFile(file);
  } catch (cause) {
    throw new SvcError('bad_input', `${file} cannot be read: ${describeFileError(cause)}.`, { cause });
  }
}

interface FoundEarlier {
  /** The side-car of the output; null if there is none. */
  readonly sideCar: SideCar | null;
  readonly earlier: Earlier;
  readonly notes: readonly Note[];
}

/** Decides from the side-cars whether a run wrote the new file already, or a file is in the way of it. */
export async function findEarlier(
  context: ApplyContext,
  target: FileTarget,
  sha256: string,
): Promise<FoundEarlier> {
  const output = outputOf(target);
  const sideCar = readSideCar(output);
  const found = (...notes: Note[]): FoundEarlier => ({ sideCar, earlier: NO_EARLIER, notes });
  const known = findOutput(dirname(target.file), sha256);
  if (known !== null) {
    const text = `${target.file} is what run ${known.run} wrote: its ids are V4 ids already.`;
    return found(blocks('known_output', text));
  }
  const own = readSideCar(target.file);
  if (own !== null && !(own.state === 'writing' && own.input.sha256 === sha256)) {
    const text = `${target.file} was written by run ${own.run} and changed since: it may hold ids of both kinds.`;
    return found(blocks('changed_output', text));
  }
  // `apply check` judges the ids of the file alone. `lstat`, because a dangling link exists too.
  if (context.policy.mode === 'in_place' || lstatSync(output, { throwIfNoEntry: false }) === undefined)
    return found();
  if (sideCar === null) {
    const text = `${output} exists and is not from svc-migrate; it is not overwritten.`;
    return found(blocks('output_exists', text));
  }
  const isWhole = (await sha256OfFile(output)) === sideCar.output.sha256;
  const isSame =
    sideCar.input.sha256 === sha256 &&
    sideCar.remapSha256 === context.remapVersion.sha256 &&
    isDeepStrictEqual(recordsOf(sideCar.definition), recordsOf(target)) &&
    (sideCar.state === 'done' || isWhole);
  if (!isSame) {
    const text = `${output} is from run ${sideCar.run}, made from another input, another remap or other columns; undo that run first.`;
    return found(blocks('other_output', text));
  }
  const { run, changed: done } = sideCar;
  const since = isWhole ? {} : { changedSince: 1, changedRows: [output] };
  return { sideCar, earlier: { ...NO_EARLIER, state: 'finished', run, done, ...since }, notes: [] };
}

/** What a target says of the records of its file. */
function recordsOf({ name: _, file: __, output: ___, ...records }: FileTarget): object {
  return records;
}

const DEFECTS: Readonly<Record<RecordDefect['code'], string>> = {
  short_rows: 'with fewer cells than the first one',
  long_rows: 'with more cells than the first one',
  unfinished_quote: 'with a quote that is never closed',
  not_json: 'without valid JSON',
};

/** Malformed records may hide ids, so they block; ragged rows only warn if unknown values are kept. */
function defectNote({ code, count, places }: RecordDefect, policy: Policy): Note {
  const isRagged = code === 'short_rows' || code === 'long_rows';
  const level = isRagged && policy.unknown === 'keep' ? 'warning' : 'blocks';
  return { level, code, text: `${countOf(count, 'record')} ${DEFECTS[code]}: ${places.join('; ')}.` };
}
