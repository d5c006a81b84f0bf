import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import { sleepForReal } from '../api/limiter.js';
import {
  type ApplyResult,
  type ApplyTask,
  checkIds,
  makePlan,
  type RemapGate,
  verifyRuns,
  write,
} from '../apply/actions.js';
import { type ApplyContext, DEFAULT_TUNING, type Tuning } from '../apply/context.js';
import { emitSql } from '../apply/emit/emit-sql.js';
import { RemapIds } from '../apply/ids/remap-ids.js';
import { DEFAULT_POLICY, type Plan, type Policy } from '../apply/plan.js';
import type { Proposal } from '../apply/scan/propose.js';
import { buildTargets, renderScan } from '../apply/scan/render-scan.js';
import { type Scanned, type ScanPlace, scan } from '../apply/scan/sample-places.js';
import { closeStores, openStores, placeKey } from '../apply/stores.js';
import type { UnmappedRow } from '../apply/unmapped.js';
import { runName } from '../apply/write-plan.js';
import { type ApplyTarget, applyTargetSchema, isServer, resolveTarget } from '../config/apply-targets.js';
import type { Config } from '../config/config.js';
import type { ReportLimit } from '../domain.js';
import { SvcError } from '../errors.js';
import { buildReport } from '../report/build-report.js';
import { judgeAge, readAge } from '../report/gate.js';
import { NdjsonFile } from '../runtime/ndjson-file.js';
import { newPause } from '../runtime/pause.js';
import { readVersion } from '../runtime/version.js';
import type { Db } from '../store/open.js';
import { assertUsableRemap } from '../store/readiness.js';
import { assertDigests } from '../store/remap-digest.js';
import { EVERYTHING } from '../store/remap-rows.js';
import { type RemapRun, readRemapRuns } from '../store/remap-tables.js';
import { readRecordGroups } from '../store/scoped-streams.js';
import { shellLine } from '../text/escape.js';
import { type ApplyAction, type ApplyRequest, sourceOfPlan } from './apply-request.js';
import type { WorkIo } from './command.js';
import { readDatabase } from './database.js';
import {
  argumentsOfRun,
  placeArguments,
  relativeIfInside,
  type TargetSource,
  targetArguments,
} from './target-options.js';

/** What a thread does for a command of `apply`. */
export interface ApplyJob {
  readonly config: Config;
  readonly request: ApplyRequest;
  /** The plan to carry out; null: make one now. */
  readonly agreed: Plan | null;
  /** Whether to print every count. */
  readonly isVerbose: boolean;
}

/** Actions that may read any part of the remap, so all of it is verified first. The others verify what they read: see `RemapIds`. */
const READS_EVERYTHING: ReadonlySet<ApplyRequest['action']> = new Set(['find', 'sql']);

/** Carries out a command of `apply` that needs the remap, in a worker thread. */
export function runApplyJob(
  { config, request, agreed, isVerbose }: ApplyJob,
  io: WorkIo,
): Promise<ApplyResult> {
  const { action, targets, tuning } = request;
  return readDatabase(config, async (db) => {
    if (!request.allowIncomplete) assertUsableRemap(db, config);
    const policy = agreed?.policy ?? request.policy;
    const context = buildContext({ db, policy, tuning }, io);
    if (READS_EVERYTHING.has(action)) {
      io.onProgress({ kind: 'step', name: 'checking the remap', done: 0, total: null });
      assertDigests(db);
    }
    if (action === 'find') return proposeTargets(context, request, config, io.width);
    const source = agreed === null ? request.source : sourceOfPlan(agreed, config);
    const formatCommand = commandFormatter(source, agreed?.policy ?? request.asked, request);
    const stores = await openStores(context, targets);
    const list = request.unmapped === undefined ? null : new NdjsonFile(request.unmapped);
    const onUnmapped = list === null ? {} : { onUnmapped: (row: UnmappedRow) => list.add(row) };
    try {
      const work = { context, stores, targets, width: io.width, isVerbose, formatCommand, ...onUnmapped };
      const result = await runAction(work, { db, config, request, agreed }, io);
      list?.finish();
      return result;
    } finally {
      list?.discard();
      await closeStores(stores);
    }
  });
}

async function runAction(
  work: ApplyTask,
  { db, config, request, agreed }: Pick<ApplyJob, 'config' | 'request' | 'agreed'> & { readonly db: Db },
  io: WorkIo,
): Promise<ApplyResult> {
  const { action, emit, run, source } = request;
  switch (action) {
    case 'plan':
      return makePlan(work, await readGate(db, config, io));
    case 'check':
      return checkIds(work, readAgeLimit(db, config, io.startMs));
    case 'write':
      return write(work, agreed, newRunName(io.startMs));
    case 'verify':
      return verifyRuns(work, run, source.kind === 'given');
    case 'sql':
      if (emit === null) throw new Error('no SQL was requested');
      return emitSql(work, agreed, emit);
    default:
      throw new Error(`${action} needs no remap`);
  }
}

/** What `check` says of the remap, for the plan that uses it. */
async function readGate(db: Db, config: Config, io: WorkIo): Promise<RemapGate> {
  const inputs = { config, scope: EVERYTHING, nowMs: io.startMs, toolVersion: readVersion() };
  const { outcome } = await buildReport(db, { ...inputs, pause: newPause(io) });
  return { outcome };
}

function newRunName(startMs: number): string {
  return runName(startMs, randomBytes(2).toString('hex'));
}

function readAgeLimit(db: Db, config: Config, nowMs: number): ReportLimit {
  return judgeAge(readAge(readRecordGroups(db), nowMs).ms, config.maxAgeMs);
}

/** Commands that name the place of a target only: the ledger, or the data, say the rest. */
const NAMES_PLACE: ReadonlySet<ApplyAction> = new Set(['find', 'verify', 'undo', 'runs']);

/** Formats command lines for the same targets, with the options that decide what is written and how. */
function commandFormatter(
  source: TargetSource,
  asked: Partial<Policy>,
  { tuning, allowIncomplete }: ApplyRequest,
): ApplyTask['formatCommand'] {
  return (action, change, ...words) => {
    const line = ['svc-migrate', 'apply', action, ...words];
    if (NAMES_PLACE.has(action)) return shellLine([...line, ...placeArguments(source, action !== 'find')]);
    const policy = { ...asked, ...change };
    const unlessDefault = (name: 'missing' | 'unknown' | 'others') =>
      policy[name] === DEFAULT_POLICY[name] ? undefined : policy[name];
    const values = {
      ...{
        missing: unlessDefault('missing'),
        unknown: unlessDefault('unknown'),
        others: unlessDefault('others'),
      },
      ...(action === 'write' ? changedTuning(tuning) : {}),
    };
    const flags = {
      'map-deleted': policy.mapDeleted,
      again: policy.again,
      'allow-incomplete': allowIncomplete,
    };
    return shellLine([
      ...[...line, ...targetArguments(source)],
      ...(policy.mode === 'in_place' ? ['--in-place'] : []),
      ...Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value])),
      ...Object.entries(flags).flatMap(([name, isSet]) => (isSet === true ? [`--${name}`] : [])),
    ]);
  };
}

function changedTuning({ batchRows, lockTimeoutMs, statementTimeoutMs }: Tuning): Record<string, string> {
  return {
    ...(batchRows === DEFAULT_TUNING.batchRows ? {} : { 'batch-rows': String(batchRows) }),
    ...(lockTimeoutMs === DEFAULT_TUNING.lockTimeoutMs ? {} : { 'lock-timeout': `${lockTimeoutMs}ms` }),
    ...(statementTimeoutMs === DEFAULT_TUNING.statementTimeoutMs
      ? {}
      : { 'statement-timeout': `${statementTimeoutMs}ms` }),
  };
}

export interface ContextOptions {
  readonly db: Db;
  readonly policy: Policy;
  readonly tuning: Tuning;
}

function buildContext(options: ContextOptions, io: WorkIo): ApplyContext {
  const [last] = readRemapRuns(options.db, 1);
  if (last === undefined) {
    throw new SvcError('incomplete', 'There is no remap yet.', { hint: 'Run `svc-migrate run` first.' });
  }
  return contextOf(options, last, io);
}

/** Builds the context of `undo`, which needs no remap and restores ids whatever the policy is. */
export function buildUndoContext(options: Omit<ContextOptions, 'policy'>, io: WorkIo): ApplyContext {
  const [last] = readRemapRuns(options.db, 1);
  return contextOf({ ...options, policy: DEFAULT_POLICY }, last ?? { sha256: '', built_at: '' }, io);
}

function contextOf(
  { db, policy, tuning }: ContextOptions,
  last: Pick<RemapRun, 'sha256' | 'built_at'>,
  io: WorkIo,
): ApplyContext {
  return {
    remap: db,
    ids: new RemapIds(db),
    remapVersion: { sha256: last.sha256, builtAt: last.built_at },
    policy,
    tool: `svc-migrate ${readVersion()}`,
    now: io.clock.now,
    sleep: (ms) => sleepForReal(ms, io.signal),
    random: Math.random,
    env: io.env,
    signal: io.signal,
    onProgress: io.onProgress,
    tuning,
  };
}

/** `apply find`: proposes targets, with evidence, and renders them as configuration to paste. */
async function proposeTargets(
  context: ApplyContext,
  { targets, table, source }: Pick<ApplyRequest, 'targets' | 'table' | 'source'>,
  config: Config,
  width: number,
): Promise<ApplyResult> {
  const scanned = await scan(context, listPlaces(targets, table));
  const folder = dirname(config.file);
  const proposed = buildTargets(scanned, (path) => relativeIfInside(path, folder));
  const first = applyTargetSchema.safeParse(proposed[0]).data;
  const named = first === undefined ? [] : argumentsOfRun(source, resolveTarget(first, folder), config);
  return {
    exitCode: 0,
    text: renderScan(scanned, proposed, width),
    json: { action: 'find', places: scanned.map(describePlace), apply: { targets: proposed } },
    next:
      first === undefined
        ? 'svc-migrate help apply plan'
        : shellLine(['svc-migrate', 'apply', 'plan', ...(named ?? [])]),
    plan: null,
  };
}

function listPlaces(targets: readonly ApplyTarget[], table: string | null): ScanPlace[] {
  const places = new Map<string, ScanPlace>();
  for (const target of targets) {
    const key = placeKey(target);
    if (!places.has(key)) places.set(key, { target, table });
  }
  return [...places.values()];
}

function describePlace({ place, proposals, unseen }: Scanned): object {
  const { target } = place;
  const where = isServer(target) ? { urlEnv: target.urlEnv, urlFile: target.urlFile } : { file: target.file };
  return { kind: target.kind, ...where, columns: proposals.map(describeProposal), unseen };
}

function describeProposal({ evidence, standing, best, isNamed, pattern }: Proposal): object {
  const { sample, seen, overlaps } = evidence;
  const { table, column, path, isWhole } = sample;
  return {
    table,
    column,
    path,
    pattern,
    standing,
    model: best?.model ?? null,
    isNamed,
    seen,
    isWhole,
    overlaps,
  };
}
