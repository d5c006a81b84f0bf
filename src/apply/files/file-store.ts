import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { CsvTarget, FileTarget } from '../../config/apply-targets.js';
import { describeFileError, SvcError } from '../../errors.js';
import { sha256OfFile } from '../../runtime/sha256.js';
import type { ApplyContext, DataStore, LedgerRun, RunVerification } from '../context.js';
import { addJsonLeaves, PathValues, type PlaceSample, SAMPLED_BYTES } from '../scan/column-sample.js';
import { detectDialect, readRecord } from '../text/csv-dialect.js';
import { readHead } from './file-snapshot.js';
import { findOutput, type WrittenOutput, writtenOutputs } from './side-car.js';
import { Copier, openColumns, streamTarget } from './stream-file.js';
import { surveyFile } from './survey-file.js';
import { undoFile, writeFile } from './write-file.js';

/** Opens a CSV or NDJSON file. */
export function openFileStore(context: ApplyContext, target: FileTarget): DataStore {
  return {
    runs: async () => listRuns(target),
    survey: async (options) => [await surveyFile(context, target, options)],
    sample: () => sampleFile(target),
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
    const { run, changed, at, planSha256, definition } = sideCar;
    const state = sideCar.state === 'done' ? 'done' : 'working';
    const found = { run, target: sideCar.target, definition, place: output, mode: 'new' } as const;
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

async function verifyOutput(context: ApplyContext, written: WrittenOutput): Promise<RunVerification> {
  const { output, sideCar, target } = written;
  const isThere = existsSync(output);
  const problem = await findProblem(context, written);
  const wrong = [...(isThere ? [] : [`${output} is gone`]), ...(problem === null ? [] : [problem])];
  const isChanged = isThere && (await sha256OfFile(output)) !== sideCar.output.sha256;
  return {
    target: target.name,
    run: sideCar.run,
    checked: sideCar.changed,
    wrong,
    notChecked: null,
    wrongCount: wrong.length,
    changedSince: isChanged ? [output] : [],
    changedSinceCount: isChanged ? 1 : 0,
    cameSince: 0,
    byLedgerAlone: false,
  };
}

/** Why the source, the current remap and the policy of the run do not give what the run wrote; null if they do. */
async function findProblem(
  given: ApplyContext,
  { output, sideCar, target }: WrittenOutput,
): Promise<string | null> {
  if (!existsSync(target.file)) return `${target.file} is gone`;
  const context = { ...given, policy: { ...given.policy, ...sideCar.policy } };
  const copier = new Copier(() => {});
  const pass = await streamTarget(context, target, openColumns(context, target), {
    step: 'checking',
    copier,
  });
  if (pass.sha256 !== sideCar.input.sha256) return `${target.file} changed since`;
  if (copier.sha256 === sideCar.output.sha256) return null;
  return sideCar.remapSha256 === given.remapVersion.sha256
    ? `${output} is not what the remap gives`
    : 'the current remap gives other ids';
}

const LF = 0x0a;

/**
 * Samples the start of a file.
 *
 * @throws SvcError `bad_input`
 */
async function sampleFile(target: FileTarget): Promise<PlaceSample> {
  const { file } = target;
  const { bytes, isWhole } = sampleBytes(file);
  const values = new PathValues();
  if (target.kind === 'csv') addCells(target, bytes, isWhole, values);
  else addLeaves(bytes.subarray(0, isWhole ? bytes.length : Math.max(0, bytes.lastIndexOf(LF))), values);
  const written = findOutput(dirname(file), await sha256OfFile(file));
  const runOf = (column: string) =>
    written?.definition.ids.some((one) => one.column === column) === true ? written.run : null;
  const columns = values.list((column) => ({ table: null, column, path: null, run: runOf(column) }));
  return { columns: columns.map((one) => ({ ...one, isWhole: one.isWhole && isWhole })), unseen: [] };
}

function addCells({ file, header }: CsvTarget, bytes: Buffer, isWhole: boolean, values: PathValues): void {
  const dialect = detectDialect(bytes, { file, delimiter: 'auto', header, columns: [] });
  const names = header ? dialect.header : Array.from({ length: dialect.width }, (_, at) => `#${at + 1}`);
  for (const name of names) values.add(name, '');
  for (let at = dialect.dataStart; at < bytes.length; ) {
    const { cells, end } = readRecord(bytes, at, dialect);
    if (end >= bytes.length && !isWhole) break;
    for (const [place, name] of names.entries()) values.add(name, cells[place] ?? '');
    at = end;
  }
}

function addLeaves(lines: Buffer, values: PathValues): void {
  for (const line of lines.toString('utf8').split('\n')) {
    if (line.trim() !== '') addJsonLeaves(line, values);
  }
}

function sampleBytes(file: string): { readonly bytes: Buffer; readonly isWhole: boolean } {
  try {
    const bytes = readHead(file, SAMPLED_BYTES + 1);
    return { bytes: bytes.subarray(0, SAMPLED_BYTES), isWhole: bytes.length <= SAMPLED_BYTES };
  } catch (cause) {
    throw new SvcError('bad_input', `${file} cannot be read: ${describeFileError(cause)}.`, { cause });
  }
}
