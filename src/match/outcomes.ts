import type { Reason, Status } from '../reasons.js';
import type { Db } from '../store/sqlite.js';

const OUTCOMES = {
  matched: ['matched', null],
  deleted_in_both: ['deleted', 'deleted_in_both'],
  deleted_in_v3: ['deleted', 'deleted_in_v3'],
  deleted_in_v4: ['deleted', 'deleted_in_v4'],
  deleted_no_platform_id: ['deleted', 'no_platform_id'],
  deleted_company_ambiguous: ['deleted', 'company_ambiguous'],
  deleted_company_not_in_v4: ['deleted', 'company_not_in_v4'],
  deleted_model_not_in_v4: ['deleted', 'model_not_in_v4'],
  superseded_in_v3: ['deleted', 'superseded_in_v3'],
  superseded_in_v4: ['deleted', 'superseded_in_v4'],
  deleted_not_in_v4: ['deleted', 'deleted_not_in_v4'],
  deleted_v4_only: ['deleted', 'deleted_v4_only'],
  duplicate_v3: ['ambiguous', 'duplicate_platform_id_v3'],
  duplicate_v4: ['ambiguous', 'duplicate_platform_id_v4'],
  unmatched_scope_incomplete: ['unmatched', 'scope_incomplete'],
  unmatched_no_platform_id: ['unmatched', 'no_platform_id'],
  unmatched_company_ambiguous: ['unmatched', 'company_ambiguous'],
  unmatched_company_not_in_v4: ['unmatched', 'company_not_in_v4'],
  unmatched_model_not_in_v4: ['unmatched', 'model_not_in_v4'],
  unmatched_connection_inert: ['unmatched', 'connection_inert'],
  unmatched_key_changed: ['unmatched', 'key_changed'],
  unmatched_outside_window: ['unmatched', 'outside_backfill_window'],
  unmatched_unexplained: ['unmatched', 'unexplained'],
  unmatched_decided_none: ['unmatched', 'decided_none'],
  v4_only_scope_incomplete: ['v4_only', 'scope_incomplete'],
  v4_only_no_platform_id: ['v4_only', 'no_platform_id'],
  v4_only_company_ambiguous: ['v4_only', 'company_ambiguous'],
  v4_only_company_not_in_v3: ['v4_only', 'company_not_in_v3'],
  v4_only_key_changed: ['v4_only', 'key_changed'],
  v4_only_created_after_export: ['v4_only', 'created_after_export'],
  v4_only_unexplained: ['v4_only', 'unexplained'],
  v4_only_decided_none: ['v4_only', 'decided_none'],
} as const satisfies Readonly<Record<string, readonly [Status, Reason | null]>>;

export type OutcomeName = keyof typeof OUTCOMES;

const NAMES = Object.keys(OUTCOMES).filter((name): name is OutcomeName => Object.hasOwn(OUTCOMES, name));

/**
 * What is added to the number of an outcome, which is below 64. `by_…`: how a pair was found; `by_decision` has the bits
 * of both others. `conflict`: its unique ids differ. `parent`: inherited from the parent. `only_v4`: the row has no V3 id.
 */
const FLAGS = {
  by_key: 64,
  by_unique_id: 128,
  by_decision: 192,
  conflict: 256,
  merged: 512,
  parent: 1024,
  only_v4: 2048,
} as const;

const BASE = 63;

/** The outcome of a child whose parent has this outcome and is not `matched`. */
export function inherit(outcome: number, parentOutcome: number): number {
  return (outcome & ~(BASE | FLAGS.merged)) | parentOutcome | FLAGS.parent;
}

/** A group is numbered by its scope, path and outcome. */
export const GROUP_OF = { scope: 2 ** 20, path: 2 ** 12 } as const;

export function numberOf(outcome: OutcomeName): number {
  return NAMES.indexOf(outcome) + 1;
}

export function withFlags(outcome: number, flags: Partial<Record<keyof typeof FLAGS, boolean>>): number {
  return Object.entries(FLAGS).reduce(
    (sum, [name, flag]) => (Reflect.get(flags, name) === true ? sum | flag : sum),
    outcome,
  );
}

/**
 * Creates the tables by which statements name outcomes: `o`, whose only row has the number of each outcome and flag, and
 * `outcome` with what they mean.
 */
export function createOutcomes(db: Db): void {
  const columns = [
    ...NAMES.map((name) => `${numberOf(name)} as ${name}`),
    ...Object.entries(FLAGS).map(([name, flag]) => `${flag} as ${name}`),
  ];
  db.exec(`
    create temp table o as select ${columns.join(', ')};
    create temp table outcome(number integer primary key, status text not null, reason text) strict`);
  const insert = db.prepare('insert into temp.outcome values (?, ?, ?)');
  for (const name of NAMES) insert.run(BigInt(numberOf(name)), ...OUTCOMES[name]);
}
