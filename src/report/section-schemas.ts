import { z } from 'zod';
import { STALE_REASONS } from '../domain.js';

const count = z.int().nonnegative();
const id = z.string().regex(/^-?\d+$/);
const time = z.string().describe('ISO 8601, UTC.');

const driftCounts = {
  pairs: count.describe('Matched pairs of records.'),
  compared: count.describe('Those whose payloads of both sides were there to compare.'),
  differing: count.describe('Those whose shared fields differ.'),
};

/** Matched records whose contents differ. */
export const driftSchema = z.strictObject({
  measured: z.boolean().describe('false: some pairs were not compared, so no limit on drift can pass.'),
  ...driftCounts,
  models: z.array(z.strictObject({ model: z.string(), ...driftCounts })),
  samples: z.array(
    z.strictObject({
      model: z.string(),
      region: z.string(),
      v3_company_id: id,
      v4_company_id: id,
      platform_id: z.string(),
      v3_svc_id: id,
      v4_svc_id: id,
      fields: z
        .array(z.strictObject({ field: z.string(), v3: z.string(), v4: z.string() }))
        .describe('At most 10; values as JSON text, cut after 200 characters.'),
    }),
  ),
});

/** What became of the lines of decisions.csv in the last remap. */
export const decisionsSchema = z.strictObject({
  file: z.string(),
  sha256: z.string().nullable().describe('Of the file that the remap was built with.'),
  taken: count.describe('Decisions that made a pair, or said that there is none.'),
  notNeeded: count.describe('Decisions that the data prove by themselves.'),
  stale: count.describe('Decisions that the data do not support: nothing was changed for them.'),
  idle: z
    .array(
      z.strictObject({
        line: z.int().positive(),
        model: z.string(),
        path: z.string(),
        region: z.string(),
        v3_company_id: id,
        v3_svc_id: id.nullable(),
        v4_svc_id: id.nullable(),
        note: z.string(),
        outcome: z.enum(['not_needed', 'stale']),
        why: z.enum(STALE_REASONS).nullable(),
        text: z.string(),
      }),
    )
    .describe('Those that changed nothing, stale ones first; at most 1,000.'),
});

const baselineEntry = z.strictObject({
  entry: z.int().positive().describe('Its place in the file, from 1.'),
  model: z.string(),
  path: z.string(),
  platform_id: z.string().nullable(),
  v3_svc_id: id.nullable(),
  v4_svc_id: id.nullable(),
  reason: z.string(),
  note: z.string(),
  expires: z.string().describe('The last day it holds, UTC.'),
  problem: z.string(),
});

/** Findings that a file accepts. */
export const baselineSchema = z.strictObject({
  file: z.string(),
  entries: count,
  accepted: count.describe('Findings that no limit judges, because an entry names them.'),
  byReason: z.record(z.string(), count).describe('The accepted findings by `status/reason`.'),
  expired: z.array(baselineEntry).describe('Entries that no longer accept what they name.'),
  unused: z.array(baselineEntry).describe('Entries that name no finding.'),
  ambiguous: z.array(baselineEntry).describe('Entries that name several findings and so accept none.'),
});

const run = z.strictObject({
  run: id.describe('Number of the build.'),
  builtAt: time,
  sha256: z.string(),
});

/** What changed from an earlier build of the remap to the last one. */
export const sinceSchema = z.strictObject({
  from: run,
  to: run,
  sameRows: z.boolean().describe('Whether the two have the same rows, byte for byte.'),
  changes: z
    .array(z.strictObject({ key: z.string(), before: count, after: count }))
    .describe('Counts that differ, by `matched` or `status/reason`.'),
  note: z.string(),
});

export type DecisionsSection = z.infer<typeof decisionsSchema>;
export type DriftSection = z.infer<typeof driftSchema>;
export type BaselineSection = z.infer<typeof baselineSchema>;
export type SinceSection = z.infer<typeof sinceSchema>;
