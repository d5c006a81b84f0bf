import { randomBytes } from 'node:crypto';
import {
  assertTargetsGiven,
  checkIds,
  makePlan,
  type Result,
  verifyRuns,
  type Work,
  write,
} from '../apply/actions.js';
import { closeSites, openSites } from '../apply/open-sites.js';
import type { Plan } from '../apply/plan.js';
import { readPlan, renderPlan } from '../apply/plan-file.js';
import type { ApplyTarget } from '../config/apply-targets.js';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { readAge } from '../report/describe-evidence.js';
import { judgeAge } from '../report/gate.js';
import { assertUsableRemap } from '../report/read-readiness.js';
import type { ReportLimit } from '../report/schema.js';
import { assertTargets, writeOutput, writeText } from '../report/write-output.js';
import type { Db } from '../store/open.js';
import { listStreams } from '../store/streams.js';
import { buildContext } from './apply-context.js';
import type { ApplyRequest } from './apply-request.js';
import { shellLine, wordsOf } from './command-line.js';
import type { Io } from './io.js';
import { assertSameRequest } from './planned-request.js';
import { readDatabase } from './read-database.js';
import { scanPlaces } from './scan-places.js';

/**
 * `apply`: plans, judges, carries out or verifies. 0 done or nothing in the way, 1 ids do not map or are not as they
 * should be, 4 the remap is incomplete, 6 something else is in the way, 7 stopped part-way.
 *
 * @throws SvcError `usage`, `incomplete`, `bad_input`, `apply_stopped`, `interrupted`, and as `readDatabase` does
 */
export async function runApply(config: Config, request: ApplyRequest, io: Io): Promise<number> {
  const { action, planFile } = request;
  const agreed = action === 'write' && planFile !== undefined ? readPlan(planFile) : null;
  if (agreed !== null) assertSameRequest(agreed, request, config);
  const targets = agreed === null ? request.targets : agreed.targets.map(({ definition }) => definition);
  assertTargetsGiven(targets);
  assertOutputs(config, request, targets);
  io.onProgress({ kind: 'stage', name: action === 'plan' ? 'plan' : action === 'write' ? 'apply' : action });
  const result = await readDatabase(config, async (db) => {
    if (!request.allowIncomplete) assertUsableRemap(db, config);
    const policy = agreed?.policy ?? request.policy;
    const context = buildContext({ db, file: config.database, policy, tuning: request.tuning }, io);
    if (action === 'scan') return scanPlaces(context, request, config, io.width);
    const sites = openSites(context, targets);
    try {
      const say = speaker(request);
      const work = { context, sites, targets, width: io.width, say };
      const nowMs = io.clock.now();
      return await act(work, action, { agreed, nowMs, age: readAgeLimit(db, config, nowMs) });
    } finally {
      await closeSites(sites);
    }
  });
  await writeResult(result, request, io);
  return result.exitCode;
}

interface Given {
  readonly agreed: Plan | null;
  readonly nowMs: number;
  readonly age: ReportLimit;
}

function act(work: Work, action: Exclude<ApplyRequest['action'], 'scan'>, given: Given): Promise<Result> {
  switch (action) {
    case 'plan':
      return makePlan(work);
    case 'check':
      return checkIds(work, given.age);
    case 'write':
      return write(work, given.agreed, newRunName(given.nowMs));
    case 'verify':
      return verifyRuns(work);
  }
}

function readAgeLimit(db: Db, config: Config, nowMs: number): ReportLimit {
  return judgeAge(readAge(listStreams(db), nowMs).ms, config.maxAgeMs);
}

/** Says commands about the same targets in the same way; `apply` writes in the same mode. */
function speaker({ source, policy }: ApplyRequest): Work['say'] {
  return (command, ...words) => {
    const mode =
      command === 'apply' && policy.mode === 'in_place' && !words.includes('--verify') ? ['--in-place'] : [];
    return shellLine(['svc-migrate', command, ...words, ...wordsOf(source, command === 'undo'), ...mode]);
  };
}

/** Runs are named for people: `20261120-141000-3f9a`. */
function newRunName(nowMs: number): string {
  const time = new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  return `${time}-${randomBytes(2).toString('hex')}`;
}

function assertOutputs(config: Config, request: ApplyRequest, targets: readonly ApplyTarget[]): void {
  const { action, planFile, json } = request;
  const outputs = [json, action === 'plan' ? planFile : undefined].filter((file) => file !== undefined);
  assertTargets(outputs, [config.database, config.file]);
  const inputs = targets.flatMap((target) => (target.kind === 'postgres' ? [] : [target.file]));
  try {
    assertTargets(outputs, inputs);
  } catch (cause) {
    throw new SvcError('usage', 'The plan or result would overwrite the data of a target.', {
      hint: 'Name another file.',
      cause,
    });
  }
}

async function writeResult(result: Result, { action, planFile, json }: ApplyRequest, io: Io): Promise<void> {
  const { plan, exitCode, next, text } = result;
  if (action === 'plan' && planFile !== undefined && plan !== null) {
    await writeOutput({ target: planFile, chunks: () => [renderPlan(plan)] }, io);
  }
  const step =
    action === 'plan' && planFile !== undefined && exitCode === 0
      ? shellLine(['svc-migrate', 'apply', '--yes', '--plan', planFile])
      : next;
  if (json !== undefined) {
    const content = { ...result.json, exitCode, next: step };
    await writeOutput({ target: json, chunks: () => [`${JSON.stringify(content, null, 2)}\n`] }, io);
  }
  if (json !== '-' && !(action === 'plan' && planFile === '-'))
    await writeText(io.stdout, [`${text}Next: ${step}\n`]);
}
