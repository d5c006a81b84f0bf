import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { sleepForReal } from '../api/limiter.js';
import { type ApplyResult, type ApplyTask, checkIds, makePlan, runName, write } from '../apply/actions.js';
import { type ApplyContext, DEFAULT_TUNING } from '../apply/context.js';
import { emitSql } from '../apply/emit/emit-sql.js';
import { RemapIds } from '../apply/ids/remap-ids.js';
import { DEFAULT_POLICY, type Plan, type Policy } from '../apply/plan.js';
import { type RunsTask, showRuns, undoRun, verifyRuns } from '../apply/runs.js';
import { buildTargets, PLACEHOLDER, renderScan, type Scanned, scan } from '../apply/scan/find.js';
import { closeStores, openStores, placeKey } from '../apply/stores.js';
import type { UnmappedRow } from '../apply/unmapped.js';
import { applyTargetSchema, isServer, resolveTarget } from '../config/apply-targets.js';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { readOutcome } from '../report/build-report.js';
import { judgeAge, readAge } from '../report/gate.js';
import { NdjsonFile } from '../runtime/ndjson-file.js';
import type { Serve } from '../runtime/thread.js';
import { readVersion } from '../runtime/version.js';
import { type Db, openDatabase, openEmptyDatabase } from '../store/open.js';
import { assertUsableRemap } from '../store/readiness.js';
import { assertDigests } from '../store/remap-digest.js';
import { readLastRun } from '../store/remap-tables.js';
import { readRecordGroups } from '../store/scoped-streams.js';
import { shellLine } from '../text/escape.js';
import { groupBy } from '../text/rows.js';
import { type ApplyRequest, argumentsOfTarget, NEEDS_PLACE_ONLY, relativeIfInside } from './apply-request.js';
import type { WorkIo } from './command.js';
import { readDatabase, withLockOwner } from './database.js';

/** What a thread does for a command of `apply`. */
export interface ApplyJob {
  readonly config: Config;
  readonly request: ApplyRequest;
  /** The plan to carry out; null: make one now. */
  readonly agreed: Plan | null;
  /** Whether to print every count. */
  readonly isVerbose: boolean;
}

/** The job, and the parts of `Io` that can be sent to a thread. */
export interface ApplyThreadInput extends Pick<WorkIo, 'env' | 'width' | 'startMs'> {
  readonly job: ApplyJob;
}

export type ApplyThread = { readonly run: (input: ApplyThreadInput) => Promise<ApplyResult> };

/**
 * The thread of the commands of `apply`: long SQLite statements would keep the main thread from handling signals and showing
 * progress.
 */
export const serve: Serve<ApplyThread> = ({ signal, onProgress }) => ({
  run: ({ job, ...given }) => runApplyJob(job, { ...given, signal, onProgress, clock: { now: Date.now } }),
});

/** Carries out a command of `apply`. */
export async function runApplyJob(job: ApplyJob, io: WorkIo): Promise<ApplyResult> {
  const { config, request } = job;
  const { action } = request;
  if (action !== 'undo' && action !== 'runs') return readDatabase(config, (db) => runOnRemap(job, db, io));
  // Neither needs a remap.
  const db = openRemap(config.database);
  try {
    const task = buildTask(job, buildContext(db, DEFAULT_POLICY, job, io), io);
    return await withStores(task, (open) =>
      action === 'runs' ? showRuns(open) : undoRun(open, request.run),
    );
  } finally {
    db.close();
  }
}

function openRemap(file: string): Db {
  const db = existsSync(file) ? withLockOwner(file, () => openDatabase(file, 'read')) : openEmptyDatabase();
  // Everything is read from one remap, also if another is built meanwhile.
  db.exec('BEGIN');
  return db;
}

/** Actions that may read any part of the remap, so all of it is verified first. The others verify what they read: see `RemapIds`. */
const READS_EVERYTHING: ReadonlySet<ApplyRequest['action']> = new Set(['find', 'sql']);

async function runOnRemap(job: ApplyJob, db: Db, io: WorkIo): Promise<ApplyResult> {
  const { config, request } = job;
  const { action, unmapped } = request;
  if (!request.allowIncomplete) assertUsableRemap(db, config);
  // A check judges ids, not where they would be written: cells rewritten in place count as done.
  const policy = action === 'check' ? ({ ...request.policy, mode: 'in_place' } as const) : request.policy;
  const context = buildContext(db, policy, job, io);
  if (context.remapVersion.sha256 === '')
    throw new SvcError('incomplete', 'There is no remap yet.', { hint: 'Run `svc-migrate run` first.' });
  if (READS_EVERYTHING.has(action)) {
    io.onProgress({ kind: 'step', name: 'checking the remap', done: 0, total: null });
    assertDigests(db);
  }
  const task = buildTask(job, context, io);
  if (action === 'find') return proposeTargets(context, job, task);
  const list = unmapped === undefined ? null : new NdjsonFile(unmapped);
  try {
    const onUnmapped = list === null ? {} : { onUnmapped: (row: UnmappedRow) => list.add(row) };
    const result = await withStores({ ...task, ...onUnmapped }, (open) => runAction(open, job, io));
    list?.finish();
    return result;
  } finally {
    list?.discard();
  }
}

function buildTask(
  { config, request, isVerbose }: ApplyJob,
  context: ApplyContext,
  { width }: WorkIo,
): Omit<RunsTask, 'stores'> {
  const { source, targets } = request;
  const formatCommand = commandFormatter(request);
  return {
    context,
    targets,
    width,
    isVerbose,
    formatCommand,
    formatPlan: (run) => {
      if (!source.isPlace) return shellLine(['svc-migrate', 'apply', 'plan', ...source.words]);
      const words = run === undefined ? null : argumentsOfTarget(run.definition, config);
      if (words === null) return formatCommand('find');
      const inPlace = run?.mode === 'in_place' ? ['--in-place'] : [];
      return shellLine(['svc-migrate', 'apply', 'plan', ...words, ...inPlace]);
    },
  };
}

async function withStores(
  task: Omit<RunsTask, 'stores'>,
  work: (task: RunsTask) => Promise<ApplyResult>,
): Promise<ApplyResult> {
  const stores = await openStores(task.context, task.targets);
  try {
    return await work({ ...task, stores });
  } finally {
    await closeStores(stores);
  }
}

async function runAction(
  task: RunsTask,
  { config, request, agreed }: ApplyJob,
  io: WorkIo,
): Promise<ApplyResult> {
  const { action, emit, run, source } = request;
  const { remap } = task.context;
  switch (action) {
    case 'plan':
      return makePlan(task, readOutcome(remap, { config, nowMs: io.startMs }));
    case 'check':
      return checkIds(task, judgeAge(readAge(readRecordGroups(remap), io.startMs).ms, config.maxAgeMs));
    case 'write':
      return write(task, agreed, runName(io.startMs, randomBytes(2).toString('hex')));
    case 'verify':
      return verifyRuns(task, run, source.isPlace);
    case 'sql':
      if (emit === null) throw new Error('no SQL was requested');
      return emitSql(task, agreed, emit);
    default:
      throw new Error(`${action} needs no remap`);
  }
}

/** Formats command lines for the same targets, with the options that decide what is written and how. */
function commandFormatter(request: ApplyRequest): ApplyTask['formatCommand'] {
  const { source, allowIncomplete } = request;
  return (action, change, ...words) => {
    const line = ['svc-migrate', 'apply', action];
    if (NEEDS_PLACE_ONLY.has(action)) {
      const places = source.isPlace || action === 'find' ? source.words : [];
      return shellLine([...line, ...words, ...places]);
    }
    const { mode, missing, unknown, others, mapDeleted, again } = { ...request.policy, ...change };
    const values = Object.entries({ missing, unknown, others }).filter(([, value]) => value !== 'fail');
    const flags = { 'map-deleted': mapDeleted, again, 'allow-incomplete': allowIncomplete };
    return shellLine([
      ...[...line, ...source.words, ...source.columns, ...words],
      ...(mode === 'in_place' ? ['--in-place'] : []),
      ...values.flatMap(([name, value]) => [`--${name}`, value]),
      ...Object.entries(flags).flatMap(([name, isSet]) => (isSet ? [`--${name}`] : [])),
    ]);
  };
}

/** Without a remap, its version is ''. */
function buildContext(
  db: Db,
  policy: Policy,
  { config, request }: Pick<ApplyJob, 'config' | 'request'>,
  io: WorkIo,
): ApplyContext {
  const last = readLastRun(db);
  const { targets: _, ...tuning } = config.apply;
  return {
    remap: db,
    ids: new RemapIds(db),
    remapVersion: { sha256: last?.sha256 ?? '', builtAt: last?.built_at ?? '' },
    policy,
    formatUndo: (run) => commandFormatter(request)('undo', {}, run),
    tool: `svc-migrate ${readVersion()}`,
    now: io.clock.now,
    sleep: (ms) => sleepForReal(ms, io.signal),
    random: Math.random,
    env: io.env,
    signal: io.signal,
    onProgress: io.onProgress,
    tuning: { ...DEFAULT_TUNING, ...tuning },
  };
}

/** `apply find`: proposes targets, with evidence, and renders them as configuration to paste. */
async function proposeTargets(
  context: ApplyContext,
  { config, request: { targets, table, source } }: ApplyJob,
  { width, formatCommand }: Pick<ApplyTask, 'width' | 'formatCommand'>,
): Promise<ApplyResult> {
  const places = [...groupBy(targets, placeKey).values()];
  const scanned = await scan(
    context,
    places.flatMap(([target]) => (target === undefined ? [] : [{ target, table }])),
  );
  const folder = dirname(config.file);
  const proposed = buildTargets(scanned, (path) => relativeIfInside(path, folder));
  const ready = proposed.find((one) => !JSON.stringify(one).includes(`"${PLACEHOLDER}"`));
  const first = applyTargetSchema.safeParse(ready).data;
  const named = first === undefined ? null : argumentsOfTarget(resolveTarget(first, folder), config);
  const next =
    source.isPlace && named !== null
      ? shellLine(['svc-migrate', 'apply', 'plan', ...named])
      : formatCommand('plan');
  return {
    exitCode: 0,
    text: renderScan(scanned, proposed, width),
    json: { action: 'find', places: scanned.map(describePlace), apply: { targets: proposed } },
    next: first === undefined ? 'svc-migrate help apply' : next,
  };
}

function describePlace({ place, proposals, unseen }: Scanned): object {
  const { target } = place;
  const where = isServer(target) ? { urlEnv: target.urlEnv } : { file: target.file };
  return {
    kind: target.kind,
    ...where,
    columns: proposals.map(({ best: _, run: __, ...one }) => one),
    unseen,
  };
}
