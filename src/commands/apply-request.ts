import { isDeepStrictEqual } from 'node:util';
import { DEFAULT_TUNING, type Tuning } from '../apply/context.js';
import type { EmitRequest } from '../apply/emit/emit-request.js';
import { DEFAULT_POLICY, type Plan, type Policy } from '../apply/plan.js';
import type { ApplyTarget } from '../config/apply-targets.js';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { didYouMean } from '../text/suggest.js';
import {
  PLACE_HINT,
  parsePlace,
  parseTarget,
  type TargetOptions,
  type TargetSource,
} from './target-options.js';

/** What a command of `apply` does. */
export type ApplyAction = 'plan' | 'write' | 'check' | 'verify' | 'find' | 'sql' | 'undo' | 'runs';

/** Options of the commands of `apply`; each has some of them. */
export interface ApplyOptions extends TargetOptions {
  readonly inPlace?: boolean;
  readonly missing?: Policy['missing'] | undefined;
  readonly unknown?: Policy['unknown'] | undefined;
  readonly others?: Policy['others'] | undefined;
  readonly mapDeleted?: boolean;
  readonly again?: boolean;
  readonly allowIncomplete?: boolean;
  readonly json?: string | undefined;
  readonly unmapped?: string | undefined;
  readonly run?: string | undefined;
  readonly batchRows?: number | undefined;
  readonly lockTimeout?: number | undefined;
  readonly statementTimeout?: number | undefined;
}

/** What a command of `apply` is asked to do. */
export interface ApplyRequest {
  readonly action: ApplyAction;
  /** The SQL to write; null: none. */
  readonly emit: EmitRequest | null;
  /** The run to verify or undo; null: not named. */
  readonly run: string | null;
  /** The file to list every value left without a V4 id in. */
  readonly unmapped: string | undefined;
  /** The one table to look through; null: all. */
  readonly table: string | null;
  readonly targets: readonly ApplyTarget[];
  /** Where the targets come from. If they were named or given by options, a plan must have exactly those. */
  readonly source: TargetSource;
  readonly policy: Policy;
  /** The policy options that were given; a plan must agree with them. */
  readonly asked: Partial<Policy>;
  readonly tuning: Tuning;
  readonly allowIncomplete: boolean;
}

/** Actions for which the place of a target is enough: its ledger, or its columns, say the rest. */
const NEEDS_PLACE_ONLY: ReadonlySet<ApplyAction> = new Set(['find', 'verify', 'undo', 'runs']);

/** @throws SvcError `usage` if the options name no target, or do not go together */
export function buildRequest(
  action: ApplyAction,
  options: ApplyOptions,
  config: Config,
  emit: EmitRequest | null = null,
): ApplyRequest {
  const { unmapped, table, run, allowIncomplete = false } = options;
  if (unmapped === '-') throw new SvcError('usage', '--unmapped takes a file, not -.');
  const asked = askedPolicy(options);
  const { targets, source } = chooseTargets(action, options, config);
  const policy = { ...DEFAULT_POLICY, ...asked };
  if (asked.missing === 'keep-v3') assertNewFiles(policy, targets);
  return {
    action,
    emit,
    run: run ?? null,
    unmapped,
    table: table ?? null,
    targets,
    source,
    // A check judges ids, not where they would be written: cells rewritten in place count as done.
    policy: action === 'check' ? { ...policy, mode: 'in_place' } : policy,
    asked,
    tuning: tuningOf(options),
    allowIncomplete,
  };
}

/** @throws SvcError `usage` if there are none */
export function assertSomeTargets(targets: readonly ApplyTarget[]): void {
  if (targets.length > 0) return;
  throw new SvcError('usage', 'No target is given or configured, so there is no place to look for ids.', {
    hint: `Name some under apply.targets in the configuration; apply find proposes them. Or give one by options. ${PLACE_HINT}`,
  });
}

/** @throws SvcError `usage` where `--missing keep-v3` would mean the same as `keep`, or V3 ids in a column of V4 ids */
function assertNewFiles({ mode }: Policy, targets: readonly ApplyTarget[]): void {
  const table = targets.find(({ kind }) => kind !== 'csv' && kind !== 'ndjson');
  if (mode === 'new' && table === undefined) return;
  const why =
    mode === 'in_place'
      ? 'in place, keep leaves the V3 id'
      : `the new column of ${table?.name ?? 'a table'} holds V4 ids only`;
  throw new SvcError('usage', `--missing keep-v3 is for new files: ${why}.`, { hint: 'Use --missing keep.' });
}

function askedPolicy(options: ApplyOptions): Partial<Policy> {
  const { inPlace, missing, unknown, others, mapDeleted, again } = options;
  return {
    ...(inPlace === true ? { mode: 'in_place' } : {}),
    ...(missing === undefined ? {} : { missing }),
    ...(unknown === undefined ? {} : { unknown }),
    ...(others === undefined ? {} : { others }),
    ...(mapDeleted === true ? { mapDeleted } : {}),
    ...(again === true ? { again } : {}),
  };
}

function chooseTargets(
  action: ApplyAction,
  options: ApplyOptions,
  config: Config,
): Pick<ApplyRequest, 'targets' | 'source'> {
  const own = NEEDS_PLACE_ONLY.has(action) ? parsePlace(options) : parseTarget(options, config);
  const { targets } = config.apply;
  const { targets: given = [] } = options;
  if (own !== null) {
    if (given.length === 0) return { targets: [own], source: { kind: 'given', target: own } };
    throw new SvcError('usage', 'Name configured targets, or give one by options, not both.');
  }
  const known = targets.map(({ name }) => name);
  for (const name of given) {
    if (known.includes(name)) continue;
    const hint = didYouMean(name, known) ?? 'Targets are named under apply.targets in the configuration.';
    throw new SvcError('usage', `There is no target "${name}" in the configuration.`, { hint });
  }
  if (given.length === 0) return { targets, source: { kind: 'configured' } };
  const named = targets.filter(({ name }) => given.includes(name));
  return { targets: named, source: { kind: 'named', names: named.map(({ name }) => name) } };
}

function tuningOf({ batchRows, lockTimeout, statementTimeout }: ApplyOptions): Tuning {
  return {
    ...DEFAULT_TUNING,
    ...(batchRows === undefined ? {} : { batchRows }),
    ...(lockTimeout === undefined ? {} : { lockTimeoutMs: lockTimeout }),
    ...(statementTimeout === undefined ? {} : { statementTimeoutMs: statementTimeout }),
  };
}

/** Checks that a plan agrees with the options given beside it, and with the targets in the configuration. */
export function assertSameRequest(plan: Plan, request: ApplyRequest, config: Config): void {
  const { asked, source, targets } = request;
  const isNarrowed = source.kind !== 'configured';
  const { policy } = plan;
  const others = Object.entries(asked).filter(([name, value]) =>
    Object.entries(policy).some(([own, was]) => own === name && was !== value),
  );
  const planned = plan.targets.map(({ name }) => name);
  const named = targets.map(({ name }) => name);
  if (others.length > 0 || (isNarrowed && !isDeepStrictEqual([...named].sort(), [...planned].sort()))) {
    const what =
      others.length > 0
        ? `policy (${others.map(([name]) => name).join(', ')})`
        : `targets (${planned.join(', ')})`;
    throw new SvcError('usage', `The plan was made with another ${what}.`, {
      hint: 'Leave out the options that the plan already contains, or plan again.',
    });
  }
  const current = source.kind === 'given' ? targets : config.apply.targets;
  for (const { name, definition } of plan.targets) {
    const own = current.find((target) => target.name === name);
    if (own === undefined || isDeepStrictEqual(own, definition)) continue;
    throw new SvcError(
      'bad_input',
      `The definition of target ${name} differs from the plan; nothing was written.`,
      { hint: 'Plan again: `svc-migrate apply plan`.' },
    );
  }
}

/** Where the targets of a plan come from, as a command line names them. */
export function sourceOfPlan({ targets }: Plan, config: Config): TargetSource {
  const known = config.apply.targets.map(({ name }) => name);
  const names = targets.map(({ name }) => name);
  const [only] = targets;
  if (only !== undefined && targets.length === 1 && !known.includes(only.name)) {
    return { kind: 'given', target: only.definition };
  }
  return names.length === known.length ? { kind: 'configured' } : { kind: 'named', names };
}
