import { bareReason, FINDING_STATUSES, REASONS, type Status } from './reasons.js';

export const COUNTERS = ['rejected', 'short', 'unique_id_conflict', 'merged', 'decision_stale'] as const;
export type Counter = (typeof COUNTERS)[number];

/** Everything that can be limited: all but `matched`, which is the goal. */
export const LIMIT_NAMES: readonly string[] = [...FINDING_STATUSES, ...REASONS, ...COUNTERS];

/** A count, or a share such as `2%`. */
export type LimitValue = number | string;

export interface Limits {
  readonly global: Readonly<Record<string, LimitValue>>;
  readonly models: Readonly<Record<string, Readonly<Record<string, LimitValue>>>>;
}

/** A limit that applies. `value: null`: unlimited. */
export interface Limit {
  /** As configured; a default is named by `status` or `status/reason`. */
  readonly name: string;
  readonly model: string | null;
  readonly value: LimitValue | null;
  readonly configured: boolean;
}

export interface JudgedRow {
  readonly model: string;
  readonly status: Status;
  readonly reason: string | null;
}

const ZERO_BY_DEFAULT: readonly string[] = [
  'unmatched',
  'ambiguous',
  'v4_only/unexplained',
  'rejected',
  'short',
  'merged',
  'decision_stale',
];

/**
 * The limit that judges a row: the most specific configured one (model and reason, model and status, reason, status),
 * otherwise the default. A reason covers `parent_` and that reason; a status does not cover what a person decided.
 */
export function limitOf(limits: Limits, { model, status, reason }: JudgedRow): Limit {
  const bare = reason === null ? null : bareReason(reason);
  const names = bare === null ? [status] : bare === 'decided_none' ? [bare] : [bare, status];
  return (
    findConfigured(limits, model, names) ??
    defaultLimit(
      bare === 'decided_none' || `${status}/${bare}` === 'v4_only/unexplained' ? `${status}/${bare}` : status,
    )
  );
}

export function limitOfCounter(limits: Limits, model: string, counter: Counter): Limit {
  return findConfigured(limits, model, [counter]) ?? defaultLimit(counter);
}

function findConfigured(limits: Limits, model: string, names: readonly string[]): Limit | undefined {
  const ofModel = Object.hasOwn(limits.models, model) ? limits.models[model] : undefined;
  for (const [scope, values] of [[model, ofModel] as const, [null, limits.global] as const]) {
    for (const name of names) {
      const value = values !== undefined && Object.hasOwn(values, name) ? values[name] : undefined;
      if (value !== undefined) return { name, model: scope, value, configured: true };
    }
  }
  return undefined;
}

function defaultLimit(name: string): Limit {
  return { name, model: null, value: ZERO_BY_DEFAULT.includes(name) ? 0 : null, configured: false };
}

export function listConfigured({ global, models }: Limits): Limit[] {
  const listed = (model: string | null, values: Limits['global']) =>
    Object.entries(values).map(([name, value]) => ({ name, model, value, configured: true }));
  return [
    ...listed(null, global),
    ...Object.entries(models).flatMap(([model, values]) => listed(model, values)),
  ];
}

/** Of `base` rows with a V3 id, `actual` are judged. Shares are exact: 0.29 % of 10,000 is 29 and not 28.999…. */
export function isWithin(value: LimitValue | null, actual: number, base: number): boolean {
  if (value === null) return true;
  if (typeof value === 'number') return actual <= value;
  const [whole = '', fraction = ''] = value.slice(0, -1).split('.');
  const scale = 100n * 10n ** BigInt(fraction.length);
  return BigInt(actual) * scale <= BigInt(whole + fraction) * BigInt(base);
}

/** Whether somebody accepted findings like this row; the gate judges whether all together are within the limit. */
export function isAccepted(limits: Limits, row: JudgedRow): boolean {
  const { value } = limitOf(limits, row);
  return value === null || Number.parseFloat(String(value)) > 0;
}

export const OUTCOMES = ['pass', 'fail', 'incomplete', 'not_ready'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** `incomplete` outranks `not_ready`, which outranks the limits. */
export function decideOutcome(
  blockers: readonly { readonly outcome: 'incomplete' | 'not_ready' }[],
  pass: boolean,
): Outcome {
  if (blockers.some(({ outcome }) => outcome === 'incomplete')) return 'incomplete';
  if (blockers.length > 0) return 'not_ready';
  return pass ? 'pass' : 'fail';
}

export const EXIT_BY_OUTCOME = {
  pass: 0,
  fail: 1,
  incomplete: 4,
  not_ready: 5,
} as const satisfies Record<Outcome, number>;
