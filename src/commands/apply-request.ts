import { isDeepStrictEqual } from 'node:util';
import { DEFAULT_TUNING, type Tuning } from '../apply/context.js';
import { EMIT_DIALECTS, type EmitRequest, LAYOUTS } from '../apply/emit/emit-request.js';
import { DEFAULT_POLICY, type Plan, type Policy } from '../apply/plan.js';
import type { ApplyTarget } from '../config/apply-targets.js';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { didYouMean } from '../text/suggest.js';
import type { CommandLine } from './command.js';
import { flagOf } from './option.js';
import { durationOption, needsOption, notTogether, wholeNumberOption } from './option-values.js';
import { parseLocation, parseTarget, type TargetOptions, type TargetSource } from './target-options.js';

/** A parsed command line of `apply`. */
export interface ApplyRequest {
  readonly action: 'plan' | 'write' | 'check' | 'verify' | 'scan' | 'emit';
  /** The SQL to write; null: none. */
  readonly emit: EmitRequest | null;
  /** The file to write the plan to; for `write`, to read it from. */
  readonly planFile: string | undefined;
  readonly json: string | undefined;
  /** The file to list every value left without a V4 id in. */
  readonly unmapped: string | undefined;
  /** The one table to scan; null: all. */
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

const MODES = ['yes', 'check', 'verify', 'scan', 'emitSql'] as const;

/** Parses the command line of `apply`. */
export function parseApplyRequest(given: CommandLine, config: Config): ApplyRequest {
  const modes = MODES.filter(
    (name) => given.isSet(name) || (name === 'emitSql' && given.text(name) !== undefined),
  );
  assertModeOptions(given, modes);
  const [mode] = modes;
  const emit = parseEmit(given);
  const asked = askedPolicy(given);
  const targets = chooseTargets(emit === null ? given : withoutOutput(given), config, mode === 'scan');
  return {
    action: mode === 'yes' ? 'write' : mode === 'emitSql' ? 'emit' : (mode ?? 'plan'),
    emit,
    planFile: given.text('plan'),
    json: given.text('json'),
    unmapped: given.text('unmapped'),
    table: given.text('table') ?? null,
    ...targets,
    // `--check` judges ids, not where they would be written: cells rewritten in place count as done.
    policy: { ...DEFAULT_POLICY, ...(mode === 'check' ? { mode: 'in_place' } : {}), ...asked },
    asked,
    tuning: parseTuning(given),
    allowIncomplete: given.isSet('allowIncomplete'),
  };
}

/** @throws SvcError `usage` if an option cannot be combined with the mode */
function assertModeOptions(given: CommandLine, modes: readonly (typeof MODES)[number][]): void {
  const [mode, other] = modes;
  if (mode !== undefined && other !== undefined) throw notTogether(flagOf(mode), flagOf(other));
  if (given.text('plan') !== undefined && mode !== undefined && mode !== 'yes' && mode !== 'emitSql')
    throw notTogether('--plan', flagOf(mode));
  if (mode === 'emitSql' && given.isSet('again'))
    throw notTogether('--emit-sql', '--again', 'Use apply --yes --again.');
  const unmapped = given.text('unmapped');
  if (unmapped !== undefined && (mode === 'verify' || mode === 'scan'))
    throw notTogether('--unmapped', flagOf(mode));
  if (unmapped === '-') throw new SvcError('usage', '--unmapped takes a file, not -.');
  if (mode === 'check' && given.isSet('allowIncomplete'))
    throw notTogether('--check', '--allow-incomplete', '--check judges complete data only.');
}

function parseEmit(given: CommandLine): EmitRequest | null {
  const dialect = EMIT_DIALECTS.find((name) => name === given.text('emitSql'));
  if (dialect === undefined) {
    if (given.text('layout') === undefined) return null;
    throw needsOption('--layout', '--emit-sql');
  }
  const folder = given.text('output');
  if (folder === undefined || folder === '-')
    throw new SvcError('usage', '--emit-sql writes files: name their folder with --output.');
  return {
    dialect,
    layout: LAYOUTS.find((name) => name === given.text('layout')) ?? 'plain',
    folder,
  };
}

/** Here `--output` names the folder of the SQL, not the file of a target. */
function withoutOutput({ args, text, texts, isSet }: CommandLine): TargetOptions {
  return { args, texts, isSet, text: (name) => (name === 'output' ? undefined : text(name)) };
}

function askedPolicy(given: CommandLine): Partial<Policy> {
  const [missing, unknown, others] = [given.text('missing'), given.text('unknown'), given.text('others')];
  return {
    ...(given.isSet('inPlace') ? { mode: 'in_place' } : {}),
    ...(missing === 'fail' || missing === 'keep' || missing === 'null' ? { missing } : {}),
    ...(unknown === 'fail' || unknown === 'keep' ? { unknown } : {}),
    ...(others === 'fail' || others === 'keep' ? { others } : {}),
    ...(given.isSet('mapDeleted') ? { mapDeleted: true } : {}),
    ...(given.isSet('again') ? { again: true } : {}),
  };
}

function chooseTargets(
  given: TargetOptions,
  config: Config,
  isScan: boolean,
): Pick<ApplyRequest, 'targets' | 'source'> {
  const own = isScan ? parseLocation(given) : parseTarget(given, config);
  const { targets } = config.apply;
  if (own !== null) {
    if (given.args.length === 0) return { targets: [own], source: { kind: 'given', target: own } };
    throw new SvcError('usage', 'Name configured targets, or give one by options, not both.');
  }
  const known = targets.map(({ name }) => name);
  for (const name of given.args) {
    if (known.includes(name)) continue;
    const hint = didYouMean(name, known) ?? 'Targets are named under apply.targets in the configuration.';
    throw new SvcError('usage', `There is no target "${name}" in the configuration.`, { hint });
  }
  if (given.args.length === 0) return { targets, source: { kind: 'configured' } };
  const named = targets.filter(({ name }) => given.args.includes(name));
  return { targets: named, source: { kind: 'named', names: named.map(({ name }) => name) } };
}

function parseTuning(given: CommandLine): Tuning {
  const { batchRows, lockTimeoutMs, statementTimeoutMs } = DEFAULT_TUNING;
  return {
    ...DEFAULT_TUNING,
    batchRows: wholeNumberOption(given, 'batchRows', 1) ?? batchRows,
    lockTimeoutMs: durationOption(given, 'lockTimeout') ?? lockTimeoutMs,
    statementTimeoutMs: durationOption(given, 'statementTimeout') ?? statementTimeoutMs,
  };
}

export interface UndoRequest {
  /** Undefined: list the runs. */
  readonly run: string | undefined;
  readonly json: string | undefined;
  readonly targets: readonly ApplyTarget[];
  readonly source: TargetSource;
  readonly tuning: Tuning;
}

/** Parses the command line of `undo`. If options name a place, the targets come from its ledger. */
export function parseUndoRequest(given: CommandLine, config: Config): UndoRequest {
  const [run, ...more] = given.args;
  if (more.length > 0) throw new SvcError('usage', 'undo takes one run at a time.');
  const place = parseLocation(given);
  return {
    run,
    json: given.text('json'),
    targets: place === null ? config.apply.targets : [place],
    source: place === null ? { kind: 'configured' } : { kind: 'given', target: place },
    tuning: parseTuning(given),
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
      {
        hint: 'Plan again: the same command without --yes.',
      },
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
