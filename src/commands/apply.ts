import type { ApplyResult } from '../apply/actions.js';
import { assertTargetKinds } from '../apply/emit/emit-request.js';
import { outputOf, sideCarFile } from '../apply/files/side-car.js';
import { readPlan, renderPlan } from '../apply/plan.js';
import { type ApplyTarget, isServer } from '../config/apply-targets.js';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { assertTargets } from '../runtime/output-targets.js';
import { runInThread } from '../runtime/threads.js';
import { writeOutput } from '../runtime/write-output.js';
import { escapeJson, escapeLines, renderJson, shellLine } from '../text/escape.js';
import {
  type ApplyRequest,
  assertSameRequest,
  parseApplyRequest,
  parseUndoRequest,
} from './apply-request.js';
import type { ApplyThread, ApplyThreadInput } from './apply-thread.js';
import type { CommandLine, Io } from './command.js';
import { LOCATION_HINT } from './target-options.js';
import { type NamedOutputs, ownFilesOf, replaceOutputs, writeResult } from './with-outputs.js';

/**
 * `apply`: plans, checks, writes, writes SQL, verifies or scans. Exits with 0 if it succeeded and nothing blocks the plan, 1 if ids
 * have no V4 id or are wrong, 4 if the remap is incomplete, 6 if something else blocks the plan, 7 if it stopped
 * part-way.
 */
export async function runApply(given: CommandLine, io: Io): Promise<number> {
  const config = await given.config();
  const request = parseApplyRequest(given, config);
  const { action, planFile } = request;
  const isAgreed = action === 'write' || action === 'emit';
  const agreed = isAgreed && planFile !== undefined ? readPlan(planFile) : null;
  if (agreed !== null) assertSameRequest(agreed, request, config);
  const targets = agreed === null ? request.targets : agreed.targets.map(({ definition }) => definition);
  assertSomeTargets(targets);
  if (request.emit !== null) assertTargetKinds(targets, request.emit);
  assertOutputs(config, request, targets);
  io.onProgress({ kind: 'stage', name: action === 'plan' ? 'plan' : action === 'write' ? 'apply' : action });
  return replaceOutputs(outputsOf(request), io, async (within) => {
    const job = { kind: 'apply', config, request: { ...request, targets }, agreed } as const;
    const result = await applyInThread(job, within);
    await writeApplied(result, request, within);
    return result.exitCode;
  });
}

function assertSomeTargets(targets: readonly ApplyTarget[]): void {
  if (targets.length > 0) return;
  throw new SvcError('usage', 'No target is given or configured, so there is no place to look for ids.', {
    hint: 'Name some under apply.targets in the configuration, or one by options, such as --csv FILE or --sqlite FILE. With --scan, these options find the columns that hold ids.',
  });
}

/** `--plan` names an output only if a plan is made. */
function outputsOf({ action, planFile, json, unmapped }: ApplyRequest): NamedOutputs {
  return { json, plan: action === 'plan' ? planFile : undefined, unmapped };
}

export function applyInThread(job: ApplyThreadInput['job'], io: Io): Promise<ApplyResult> {
  const module = new URL('./apply-thread.js', import.meta.url);
  const input = { job, env: { ...io.env }, width: io.width, startMs: io.clock.now() };
  return runInThread<ApplyThread>({ name: 'apply', module }, io, input);
}

function assertOutputs(config: Config, request: ApplyRequest, targets: readonly ApplyTarget[]): void {
  const { action, planFile } = request;
  const outputs = Object.values(outputsOf(request)).filter((file) => file !== undefined);
  const plan = action !== 'plan' && planFile !== undefined ? [planFile] : [];
  assertTargets(outputs, [...ownFilesOf(config), ...plan]);
  const inputs = filesOfTargets(targets);
  try {
    assertTargets(outputs, inputs);
  } catch (cause) {
    throw new SvcError('usage', 'The plan or result would overwrite the data of a target.', {
      hint: 'Name another file.',
      cause,
    });
  }
}

/** The files that targets read or write. */
export function filesOfTargets(targets: readonly ApplyTarget[]): string[] {
  return targets.flatMap(filesOf);
}

function filesOf(target: ApplyTarget): string[] {
  if (isServer(target)) return target.urlFile === undefined ? [] : [target.urlFile];
  if (target.kind === 'sqlite') return [target.file];
  const files = [target.file, outputOf(target, { mode: 'new' })];
  return files.flatMap((file) => [file, sideCarFile(file)]);
}

async function writeApplied(
  result: ApplyResult,
  { action, planFile, json }: Pick<ApplyRequest, 'planFile' | 'json'> & { readonly action: string },
  io: Io,
): Promise<void> {
  const { plan, exitCode, next, text } = result;
  if (action === 'plan' && planFile !== undefined && plan !== null) {
    await writeOutput({ target: planFile, chunks: () => [escapeJson(renderPlan(plan))] }, io);
  }
  const step =
    action === 'plan' && planFile !== undefined && exitCode === 0
      ? shellLine(['svc-migrate', 'apply', '--yes', '--plan', planFile])
      : next;
  const shown = `${text}Next: ${step}\n`;
  const isPlanShown = action === 'plan' && planFile === '-';
  await writeResult(
    json,
    {
      json: () => renderJson({ ...result.json, exitCode, next: step }),
      text: () => (isPlanShown ? '' : escapeLines(shown)),
    },
    io,
  );
}

/**
 * `undo`: undoes a run, or lists the runs. Exits with 0 if all of it was undone, 1 if rows that changed since were
 * skipped, 7 if it stopped part-way. It uses the ledger and needs the run's remap only to drop new columns.
 */
export async function runUndo(given: CommandLine, io: Io): Promise<number> {
  const config = await given.config();
  const request = parseUndoRequest(given, config);
  const { json: target, targets } = request;
  assertTargets(target === undefined ? [] : [target], ownFilesOf(config));
  if (targets.length === 0) {
    throw new SvcError('usage', 'No target is given or configured, so there is no ledger to read.', {
      hint: LOCATION_HINT,
    });
  }
  io.onProgress({ kind: 'stage', name: 'undo' });
  return replaceOutputs({ json: target }, io, async (within) => {
    const result = await applyInThread({ kind: 'undo', config, request }, within);
    await writeApplied(result, { action: 'undo', planFile: undefined, json: target }, within);
    return result.exitCode;
  });
}
