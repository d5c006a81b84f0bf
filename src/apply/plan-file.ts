import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { applyTargetSchema } from '../config/apply-targets.js';
import { SvcError } from '../errors.js';
import { PLAN_VERSION, type Plan } from './plan.js';

const count = z.int().min(0);
const note = z.strictObject({
  level: z.enum(['blocks', 'warning', 'info']),
  code: z.string(),
  text: z.string(),
});
const columnPlan = z.strictObject({
  column: z.string(),
  model: z.string(),
  newColumn: z.string().nullable(),
  counts: z.array(
    z.strictObject({
      name: z.string(),
      rows: count,
      ids: count,
      atLeast: z.boolean(),
      samples: z.array(z.string()),
    }),
  ),
  left: z.array(
    z.strictObject({
      kind: z.enum(['undecided', 'kept', 'emptied', 'left_alone', 'came_since', 'changed_since']),
      reason: z.string(),
      cells: count,
    }),
  ),
  digest: z.string(),
});
const targetPlan = z.strictObject({
  name: z.string(),
  kind: z.string(),
  place: z.string(),
  definition: applyTargetSchema,
  output: z.string().nullable(),
  rows: count,
  columns: z.array(columnPlan),
  earlier: z.strictObject({
    state: z.enum(['none', 'unfinished', 'finished']),
    run: z.string().nullable(),
    done: count,
    left: count,
    since: count,
    changedSince: count,
    changedRows: z.array(z.string()),
  }),
  notes: z.array(note),
  fingerprint: z.string(),
  estimateSeconds: z.number(),
});

/** A plan that left the process. */
const planSchema = z.strictObject({
  planVersion: z.literal(PLAN_VERSION),
  tool: z.string(),
  remap: z.strictObject({ sha256: z.string(), builtAt: z.string() }),
  policy: z.strictObject({
    mode: z.enum(['new', 'in_place']),
    missing: z.enum(['fail', 'keep', 'null']),
    unknown: z.enum(['fail', 'keep']),
    others: z.enum(['fail', 'keep']),
    mapDeleted: z.boolean(),
    again: z.boolean(),
  }),
  targets: z.array(targetPlan),
});

/**
 * Reads a plan that was written with `--plan`.
 *
 * @throws SvcError `bad_input`
 */
export function readPlan(file: string): Plan {
  try {
    return planSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    throw new SvcError('bad_input', `${file} is not a plan of this version of svc-migrate.`, {
      hint: 'Write a new one: the same command without --yes.',
      facts: { error: cause instanceof z.ZodError ? cause.issues[0]?.message : String(cause) },
      cause,
    });
  }
}

/** A plan as the text of its file. */
export function renderPlan(plan: Plan): string {
  return `${JSON.stringify(plan, null, 2)}\n`;
}
