import * as z from '../zod.js';
import { count, time } from './schema-values.js';

/** What the last `scan --save` found. */
export const codeUsesSchema = z.strictObject({
  scannedAt: time,
  ageHours: count.describe('Whole hours from scannedAt to generatedAt.'),
  filesRead: count,
  filesSkipped: count.nullable().describe('null: stored by an earlier version.'),
  places: z.strictObject({ certain: count, likely: count, look: count }),
  rules: z
    .array(
      z.strictObject({ rule: z.string(), title: z.string(), certain: count, likely: count, look: count }),
    )
    .describe('Findings of each rule that has any; one place may have several.'),
});

export type CodeUses = z.infer<typeof codeUsesSchema>;
