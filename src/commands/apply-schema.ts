import {
  noteSchema,
  policySchema,
  remapSchema,
  targetPlanSchema,
  unmappedCountSchema,
} from '../apply/plan.js';
import { applyTargetSchema } from '../config/apply-targets.js';
import { count } from '../report/schema-values.js';
import * as z from '../zod.js';

const texts = z.array(z.string());
const result = {
  exitCode: z.int().describe('Exit code of the command.'),
  next: z.string().describe('The next step, usually a command.'),
};

const ids = z.strictObject({
  stored: count.describe('Distinct ids, summed over columns.'),
  mapped: count,
  missing: count,
  unknown: count,
  done: count.describe('Cells that earlier runs rewrote.'),
  since: count.describe('Cells without a ledger entry, skipped by a finished run or added since.'),
  changedSince: count.describe('Cells that were rewritten and changed since.'),
});

const judged = {
  remap: remapSchema,
  policy: policySchema,
  ids,
  blocks: z
    .array(z.strictObject({ target: z.string(), note: noteSchema }))
    .describe('What prevents writing.'),
  left: z
    .array(unmappedCountSchema.extend({ target: z.string(), column: z.string(), isAccepted: z.boolean() }))
    .describe('Values without a V4 id.'),
};
const targets = z.array(targetPlanSchema);

const written = z.strictObject({
  target: z.string(),
  run: z.string(),
  changed: count,
  skipped: texts,
  skippedCount: count,
  alreadyDone: z.boolean(),
});
const verified = z.strictObject({
  target: z.string(),
  run: z.string(),
  checked: count,
  wrong: texts,
  wrongCount: count,
  changedSince: texts,
  changedSinceCount: count,
  notChecked: z.string().nullable(),
});
const run = z.strictObject({
  run: z.string(),
  target: z.string(),
  place: z.string(),
  mode: policySchema.shape.mode,
  state: z.enum(['working', 'done', 'undoing', 'undone']),
  changed: count,
  startedAt: z.string(),
  planSha256: z.string(),
});
const undone = z.strictObject({
  target: z.string(),
  restored: count,
  changedSince: texts,
  changedSinceCount: count,
});
const text = z.string().nullable();
const overlap = z.strictObject({ model: z.string(), v3: count, v4: count, both: count, chance: z.number() });
const column = z.strictObject({
  table: text,
  column: z.string(),
  path: text,
  pattern: text.describe('A pattern that finds the ids in longer text.'),
  standing: z.enum(['likely', 'possible', 'by_chance', 'v4', 'rewritten', 'none']),
  model: text,
  isNamed: z.boolean(),
  seen: count,
  isWhole: z.boolean(),
  overlaps: z.array(overlap),
});
const place = z.strictObject({
  kind: z.string(),
  file: z.string().optional(),
  urlEnv: z.string().optional(),
  urlFile: z.string().optional(),
  columns: z.array(column),
  unseen: z.array(z.strictObject({ what: z.string(), why: z.string() })),
});

const syncedTable = z.strictObject({
  target: z.string(),
  place: z.string(),
  wasOn: z.boolean().describe('Whether triggers were there before.'),
  columns: z.array(
    z.strictObject({
      column: z.string(),
      newColumn: z.string(),
      mapped: count.describe('V3 ids in the crosswalk that have a V4 id.'),
      missing: count.describe('V3 ids in the crosswalk without a V4 id.'),
    }),
  ),
  makes: texts.describe('Columns, triggers, functions and tables that --sync on makes.'),
  removes: texts.describe('What --sync off removes.'),
  refreshed: z.strictObject({ added: count, changed: count, removed: count }).nullable(),
  unmapped: z
    .array(
      z.strictObject({
        column: z.string(),
        row: text.describe('Key of the row; null if the table has no key.'),
        value: z.string(),
        reason: z.string(),
        at: z.string(),
      }),
    )
    .describe('Cells that triggers could not map and that still have no V4 id: the first 1000.'),
  unmappedCount: count,
  notes: z.array(noteSchema),
});

const action = <A extends string>(name: A) => ({ action: z.literal(name) });

/** The JSON of `apply`, by its action, and of `undo`, which without a run lists the runs. */
export const applySchema = z.union([
  z.strictObject({ ...action('plan'), ...judged, targets, ...result }),
  z.strictObject({ ...action('check'), ...judged, targets, ...result }),
  z.strictObject({
    ...action('write'),
    ...judged,
    runs: texts.optional().describe('Absent if the plan was refused.'),
    written: z.array(written),
    ...result,
  }),
  z.strictObject({
    ...action('verify'),
    verified: z.array(verified),
    unfinished: z.array(run),
    ...result,
  }),
  z.strictObject({
    ...action('scan'),
    places: z.array(place),
    apply: z
      .strictObject({ targets: z.array(applyTargetSchema) })
      .describe('To paste into the configuration.'),
    ...result,
  }),
  z.strictObject({
    ...action('emit'),
    dialect: z.string(),
    layout: z.string(),
    folder: z.string(),
    run: z.string(),
    files: texts,
    remap: remapSchema,
    policy: policySchema,
    values: count.describe('Values in the SQL, with those that stay.'),
    ...result,
  }),
  z
    .strictObject({ ...action('emit'), ...judged, written: z.array(written), ...result })
    .describe('SQL that was refused.'),
  z.strictObject({
    ...action('sync'),
    sync: z.enum(['on', 'off']),
    isWritten: z.boolean().describe('Whether it was carried out; false for a plan.'),
    tables: z.array(syncedTable),
    blocks: judged.blocks,
    left: judged.left,
    ...result,
  }),
  z.strictObject({ ...action('undo'), run: z.string(), undone: z.array(undone), ...result }),
  z.strictObject({ ...action('undo'), runs: z.array(run), ...result }),
]);
