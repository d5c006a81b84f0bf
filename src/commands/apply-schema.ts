import {
  ledgerRunSchema,
  runVerificationSchema,
  undoResultSchema,
  writeResultSchema,
} from '../apply/context.js';
import { blockingNoteSchema, idCountsSchema } from '../apply/judge-plan.js';
import { policySchema, remapSchema, targetPlanSchema } from '../apply/plan.js';
import { overlapSchema, standingSchema } from '../apply/scan/propose.js';
import { columnUnmappedSchema } from '../apply/unmapped.js';
import { applyTargetSchema } from '../config/apply-targets.js';
import { count } from '../report/report-schema.js';
import * as z from '../zod.js';

const texts = z.array(z.string());
const result = {
  exitCode: z.int().describe('Exit code of the command.'),
  next: z.string().describe('The next step, usually a command.'),
};

const judged = {
  remap: remapSchema,
  policy: policySchema,
  ids: idCountsSchema,
  blocks: z.array(blockingNoteSchema).describe('What prevents writing.'),
  left: z.array(columnUnmappedSchema).describe('Values without a V4 id.'),
};
const targets = z.array(targetPlanSchema);

const written = z.array(writeResultSchema);
const text = z.string().nullable();
const column = z.strictObject({
  table: text,
  column: z.string(),
  path: text,
  pattern: text.describe('A pattern that finds the ids in longer text.'),
  standing: standingSchema,
  model: text,
  isNamed: z.boolean(),
  seen: count,
  isWhole: z.boolean(),
  overlaps: z.array(overlapSchema),
});
const place = z.strictObject({
  kind: z.string(),
  file: z.string().optional(),
  urlEnv: z.string().optional(),
  urlFile: z.string().optional(),
  columns: z.array(column),
  unseen: z.array(z.strictObject({ what: z.string(), why: z.string() })),
});

const action = <A extends string>(name: A) => ({ action: z.literal(name) });

/** The JSON of the commands of `apply`, by their names. */
export const applySchema = z.union([
  z.strictObject({
    ...action('plan'),
    gate: z
      .strictObject({ outcome: z.enum(['pass', 'fail', 'incomplete', 'not_ready']) })
      .describe('What check says of the remap.'),
    ...judged,
    targets,
    ...result,
  }),
  z.strictObject({ ...action('check'), ...judged, targets, ...result }),
  z.strictObject({
    ...action('write'),
    ...judged,
    runs: texts.optional().describe('Absent if the plan was refused.'),
    written,
    ...result,
  }),
  z.strictObject({
    ...action('verify'),
    verified: z.array(runVerificationSchema),
    unfinished: z.array(ledgerRunSchema),
    ...result,
  }),
  z.strictObject({
    ...action('find'),
    places: z.array(place),
    apply: z
      .strictObject({ targets: z.array(applyTargetSchema) })
      .describe('To paste into the configuration.'),
    ...result,
  }),
  z.strictObject({
    ...action('sql'),
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
  z.strictObject({ ...action('sql'), ...judged, written, ...result }).describe('SQL that was refused.'),
  z.strictObject({ ...action('undo'), run: z.string(), undone: z.array(undoResultSchema), ...result }),
  z.strictObject({ ...action('runs'), runs: z.array(ledgerRunSchema), ...result }),
]);
