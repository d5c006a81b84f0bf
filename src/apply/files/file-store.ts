import { existsSync } from 'node:fs';
import type { FileTarget } from '../../config/apply-targets.js';
import { sha256OfFile } from '../../runtime/sha256.js';
import type { ApplyContext, DataStore, LedgerRun, RunVerification } from '../context.js';
import { NamedRows } from '../context.js';
import { sampleCsv, sampleNdjson } from '../scan/sample-file.js';
import { changedLines, recompute, sourceOf } from './recompute.js';
import { type WrittenOutput, writtenOutputs } from './side-car.js';
import { surveyFile } from './survey-file.js';
import { undoFile } from './undo-file.js';
import { writeFile } from './write-file.js';

/** Opens a CSV or NDJSON file. */
export function openFileStore(context: ApplyContext, target: FileTarget): DataStore {
  return {
    runs: async () => listRuns(target),
    survey: async (options) => [await surveyFile(context, target, options)],
    sample: () => (target.kind === 'csv' ? sampleCsv(target) : sampleNdjson(target.file)),
    write: (agreed, run) =>
      Promise.all(
        agreed
          .filter(({ name }) => name === target.name)
          .map((plan) => writeFile(context, target, plan, run)),
      ),
    undo: (run) => undoFile(context, target, run),
    verify: (run) => verifyFile(context, target, run),
    close: async () => {},
  };
}

function listRuns(target: FileTarget): LedgerRun[] {
  return writtenOutputs(target).map(({ output, sideCar }) => {
    const { run, changed, at, planSha256, definition, mode } = sideCar;
    const state = sideCar.state === 'done' ? 'done' : 'working';
    const found = { run, target: sideCar.target, definition, place: output, mode };
    return { ...found, state, changed, startedAt: at, planSha256 };
  });
}

async function verifyFile(
  context: ApplyContext,
  target: FileTarget,
  run: string | null,
): Promise<RunVerification[]> {
  const found: RunVerification[] = [];
  for (const one of writtenOutputs(target)) {
    if (run === null || one.sideCar.run === run) found.push(await verifyOutput(context, one));
  }
  return found;
}

async function verifyOutput(
  context: ApplyContext,
  { output, sideCar, target }: WrittenOutput,
): Promise<RunVerification> {
  const wrong: string[] = [];
  const source = sourceOf(target, output, sideCar);
  if (!existsSync(output)) wrong.push(`${output} is gone`);
  if (!existsSync(source)) wrong.push(`${source} is gone`);
  else if ((await sha256OfFile(source)) !== sideCar.input.sha256) wrong.push(`${source} changed since`);
  else if (
    (await recompute(context, { ...target, file: source }, sideCar)).sha256 !== sideCar.output.sha256
  ) {
    const isSameRemap = sideCar.remapSha256 === context.remapVersion.sha256;
    wrong.push(isSameRemap ? `${output} is not what the remap gives` : 'the current remap gives other ids');
  }
  const isChanged = existsSync(output) && (await sha256OfFile(output)) !== sideCar.output.sha256;
  const changed = isChanged ? await changedLines(context, target, output, sideCar) : new NamedRows();
  return {
    target: target.name,
    run: sideCar.run,
    checked: sideCar.changed,
    wrong,
    notChecked: null,
    wrongCount: wrong.length,
    changedSince: changed.names,
    changedSinceCount: changed.count,
  };
}
