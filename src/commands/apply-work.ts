import { randomBytes } from 'node:crypto';
import { type ApplyResult, type ApplyTask, checkIds, makePlan, verifyRuns, write } from '../apply/actions.js';
import type { Plan, Policy } from '../apply/plan.js';
import { closeStores, openStores } from '../apply/stores.js';
import type { UnmappedRow } from '../apply/unmapped.js';
import type { Config } from '../config/config.js';
import type { ReportLimit } from '../domain.js';
import { judgeAge, readAge } from '../report/gate.js';
import { NdjsonFile } from '../runtime/ndjson-file.js';
import type { Db } from '../store/open.js';
import { assertUsableRemap } from '../store/read-readiness.js';
import { listStreams } from '../store/streams.js';
import { buildContext } from './apply-context.js';
import type { ApplyRequest } from './apply-request.js';
import { type Source, shellLine, wordsOf } from './command-line.js';
import type { WorkIo } from './io.js';
import { sourceOfPlan } from './planned-request.js';
import { readDatabase } from './read-database.js';
import { scanPlaces } from './scan-places.js';

export interface ApplyJob {
  readonly kind: 'apply';
  readonly config: Config;
  readonly request: ApplyRequest;
  /** The plan to carry out; null: one made now. */
  readonly agreed: Plan | null;
}

/**
 * What `apply` does, in its thread.
 *
 * @throws SvcError `incomplete`, `bad_input`, `apply_stopped`, `interrupted`, and as `readDatabase` does
 */
export function doApply({ config, request, agreed }: ApplyJob, io: WorkIo): Promise<ApplyResult> {
  const { action, targets, tuning } = request;
  return readDatabase(config, async (db) => {
    if (!request.allowIncomplete) assertUsableRemap(db, config);
    const policy = agreed?.policy ?? request.policy;
    const context = buildContext({ db, file: config.database, policy, tuning }, io);
    if (action === 'scan') return scanPlaces(context, request, config, io.width);
    const source = agreed === null ? request.source : sourceOfPlan(agreed, config);
    const say = speaker(source, agreed?.policy ?? request.asked);
    const stores = openStores(context, targets);
    const list = request.unmapped === undefined ? null : new NdjsonFile(request.unmapped);
    const onUnmapped = list === null ? {} : { onUnmapped: (row: UnmappedRow) => list.add(row) };
    try {
      const age = readAgeLimit(db, config, io.startMs);
      const work = { context, stores, targets, width: io.width, say, ...onUnmapped };
      const result = await act(work, action, { agreed, age, startMs: io.startMs });
      list?.finish();
      return result;
    } finally {
      list?.discard();
      await closeStores(stores);
    }
  });
}

interface Given {
  readonly agreed: Plan | null;
  readonly startMs: number;
  readonly age: ReportLimit;
}

function act(
  work: ApplyTask,
  action: Exclude<ApplyRequest['action'], 'scan'>,
  given: Given,
): Promise<ApplyResult> {
  switch (action) {
    case 'plan':
      return makePlan(work);
    case 'check':
      return checkIds(work, given.age);
    case 'write':
      return write(work, given.agreed, newRunName(given.startMs));
    case 'verify':
      return verifyRuns(work);
  }
}

function readAgeLimit(db: Db, config: Config, nowMs: number): ReportLimit {
  return judgeAge(readAge(listStreams(db), nowMs).ms, config.maxAgeMs);
}

/** Says commands about the same targets in the same way; `apply` writes in the same mode. */
function speaker(source: Source, { mode }: Partial<Policy>): ApplyTask['say'] {
  return (command, ...words) => {
    const isInPlace = command === 'apply' && mode === 'in_place' && !words.includes('--verify');
    const more = isInPlace ? ['--in-place'] : [];
    return shellLine(['svc-migrate', command, ...words, ...wordsOf(source, command === 'undo'), ...more]);
  };
}

/** Runs are named for people: `20261120-141000-3f9a`. */
function newRunName(nowMs: number): string {
  const time = new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  return `${time}-${randomBytes(2).toString('hex')}`;
}
