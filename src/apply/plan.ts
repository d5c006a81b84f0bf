import { readFileSync } from 'node:fs';
import { applyTargetSchema } from '../config/apply-targets.js';
import { SvcError } from '../errors.js';
import * as z from '../zod.js';

/** Version of the plan's JSON. */
export const PLAN_VERSION = 4;

const count = z.int().min(0);
const texts = z.array(z.string()).readonly();

/** How to handle ids, as requested by the user. */
export const policySchema = z.strictObject({
  mode: z.enum(['new', 'in_place']),
  /**
   * Ids without a twin: refuse to write, keep them, or set them to NULL. In a new file or column, `keep` leaves the new cell empty;
   * `keep-v3` has the V3 id there.
   */
  missing: z.enum(['fail', 'keep', 'keep-v3', 'null']),
  /** Values not known to be V3 ids: refuse to write, or keep them. */
  unknown: z.enum(['fail', 'keep']),
  /** Cells that other programs added or changed during or after a run: fail, or accept them. */
  others: z.enum(['fail', 'keep']),
  /** Whether deleted records with a V4 id count as mapped. */
  mapDeleted: z.boolean(),
  /** Whether to also rewrite rows that an earlier finished run skipped, or that were added since. */
  again: z.boolean(),
});
export type Policy = Readonly<z.output<typeof policySchema>>;
export type Mode = Policy['mode'];

/** The part of a policy that decides what an id becomes; the ledger keeps it. */
export const runPolicySchema = z.object({
  missing: policySchema.shape.missing,
  mapDeleted: policySchema.shape.mapDeleted,
});
export type RunPolicy = Readonly<z.output<typeof runPolicySchema>>;

export const DEFAULT_POLICY: Policy = {
  mode: 'new',
  missing: 'fail',
  unknown: 'fail',
  others: 'fail',
  mapDeleted: false,
  again: false,
};

/** A remark in a plan; `blocks` prevents writing. */
export const noteSchema = z.strictObject({
  level: z.enum(['blocks', 'warning']),
  code: z.string(),
  text: z.string(),
});
export type Note = Readonly<z.output<typeof noteSchema>>;

export function blocks(code: string, text: string): Note {
  return { level: 'blocks', code, text };
}

/** Blocking notes from their texts by code; false: the note does not apply. */
export function blocksOf(found: Readonly<Record<string, string | false>>): Note[] {
  return Object.entries(found).flatMap(([code, text]) => (text === false ? [] : [blocks(code, text)]));
}

/** The values of one category in one column. */
const planCountSchema = z.strictObject({
  /** `mapped`, `empty`, `not_ours`, `status/reason` or `unknown/why`. */
  name: z.string(),
  rows: count,
  /** Distinct values. */
  ids: count,
  /** Whether `ids` is only a lower bound. */
  atLeast: z.boolean(),
  samples: texts,
});
export type PlanCount = Readonly<z.output<typeof planCountSchema>>;

/** What happens to a value that has no V4 id after a run. */
const unmappedKind = z.enum([
  /** The policy is `fail`; nothing is written. */
  'undecided',
  /** An id without a twin that stays. In a new file or column the new cell is empty, but for `keep-v3`. */
  'kept',
  /** An id without a twin whose cell is emptied. */
  'emptied',
  /** A value that is not a V3 id of the model, and stays. */
  'left_alone',
  /** An id that a finished run did not see, because its row was added or changed afterwards. */
  'came_since',
  /** A cell that a run wrote and another program changed since. */
  'changed_since',
]);
export type UnmappedKind = z.output<typeof unmappedKind>;

/** Values of one column that are left without a V4 id. */
export const unmappedCountSchema = z.strictObject({
  kind: unmappedKind,
  /** Category of the value: `mapped`, `status/reason` or `unknown/why`; `changed` if it was not looked up. */
  reason: z.string(),
  cells: count,
});
export type UnmappedCount = Readonly<z.output<typeof unmappedCountSchema>>;

const columnPlanSchema = z.strictObject({
  column: z.string(),
  /** The model, or the column that names it. */
  model: z.string(),
  /** The new column; null if the column itself or a new file is written. */
  newColumn: z.string().nullable(),
  /** For a column that takes the platform_ids of records: the column that holds their ids. */
  platformIdOf: z.string().optional(),
  counts: z.array(planCountSchema).readonly(),
  /** Values that earlier runs left without a V4 id, or that were added since. */
  left: z.array(unmappedCountSchema).readonly(),
  /** Changes when the data do. */
  digest: z.string(),
});
export type ColumnPlan = Readonly<z.output<typeof columnPlanSchema>>;

/** The state in which earlier runs left a target. */
const earlierSchema = z.strictObject({
  state: z.enum(['none', 'unfinished', 'finished']),
  run: z.string().nullable(),
  /** Cells already rewritten, by the ledger; in tables only those that still hold what was written. */
  done: count,
  /** Cells that an unfinished run still has to rewrite. */
  left: count,
  /** Cells without a ledger entry, skipped by a finished run or added since; not touched without `again`. */
  since: count,
  /** Cells that were rewritten and changed since; never touched again. */
  changedSince: count,
  /** The first of their rows. */
  changedRows: texts,
});
export type Earlier = Readonly<z.output<typeof earlierSchema>>;

export const NO_EARLIER: Earlier = {
  state: 'none',
  run: null,
  done: 0,
  left: 0,
  since: 0,
  changedSince: 0,
  changedRows: [],
};

/** Whether nothing is left to do. */
export function isFinished(earlier: Earlier, again: boolean): boolean {
  return earlier.state === 'finished' && !(again && earlier.since > 0);
}

/** What is planned for one target. */
export const targetPlanSchema = z.strictObject({
  name: z.string(),
  kind: z.string(),
  /** File or table, without secrets. */
  place: z.string(),
  /** The target as configured. */
  definition: applyTargetSchema,
  /** The new file; null for tables and for files in place. */
  output: z.string().nullable(),
  rows: count,
  columns: z.array(columnPlanSchema).readonly(),
  earlier: earlierSchema,
  notes: z.array(noteSchema).readonly(),
  /** The SHA-256 of a file; empty for tables. */
  fingerprint: z.string(),
  /** Cells that a run will change. */
  changes: count,
});
export type TargetPlan = Readonly<z.output<typeof targetPlanSchema>>;

/** The remap that a plan was made with. */
export const remapSchema = z.strictObject({ sha256: z.string(), builtAt: z.string() });

const planSchema = z.strictObject({
  planVersion: z.literal(PLAN_VERSION),
  tool: z.string(),
  remap: remapSchema,
  policy: policySchema,
  targets: z.array(targetPlanSchema).readonly(),
});
export type Plan = Readonly<z.output<typeof planSchema>>;

/**
 * Reads a plan that `apply plan --save` wrote.
 *
 * @throws SvcError `bad_input`
 */
export function readPlan(file: string): Plan {
  try {
    return planSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    throw new SvcError('bad_input', `${file} is not a plan of this version of svc-migrate.`, {
      hint: 'Write a new one: `svc-migrate apply plan --save FILE`.',
      facts: { error: cause instanceof z.ZodError ? cause.issues[0]?.message : String(cause) },
      cause,
    });
  }
}

/** The text of a plan's file. */
export function renderPlan(plan: Plan): string {
  return `${JSON.stringify(plan, null, 2)}\n`;
}
