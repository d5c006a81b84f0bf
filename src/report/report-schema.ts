import * as z from 'zod';
import { OUTCOMES } from '../limits.js';
import { STATUSES } from '../reasons.js';
import { blocker } from '../store/readiness.js';
import {
  companyRow,
  count,
  fullSyncRow,
  id,
  idleDecisionRow,
  listGroupRow,
  listRow,
  monthRow,
  nullableId,
  time,
  windowRow,
} from '../store/report-rows.js';
import { idCounts, judgedLimit } from './gate.js';

const v3ByStatus = z.strictObject({ matched: count, unmatched: count, deleted: count, ambiguous: count });
const byReason = z.record(z.string(), count);

const rowCounts = {
  uniqueIdConflicts: count.describe('Pairs whose two platform_unique_ids are set and differ.'),
  merged: count.describe('V3 ids that share their V4 id with another V3 id.'),
  byStatus: v3ByStatus.extend({ v4_only: count }).describe('Rows of remap by status.'),
  v3ByStatus: v3ByStatus.describe('Rows with a V3 id.'),
  v3RecordsByStatus: v3ByStatus.describe('Rows of records with a V3 id.'),
  v3ChildrenByStatus: v3ByStatus.describe('Rows of children with a V3 id.'),
  recordsByReason: byReason.describe('Rows of records that are not matched, by `status/reason`.'),
  childrenByReason: byReason.describe('Rows of children that are not matched.'),
};

const counts = {
  v3Records: count,
  v3Children: count,
  v4Records: count,
  v4Children: count,
  rejected: count.describe('Objects that could not be taken as a record.'),
  ...rowCounts,
};

const reasonCounts = z.strictObject({
  key: z.string().describe('`status/reason`; a reason `parent_…` counts under the reason of the record.'),
  title: z.string().describe('The reason in plain words.'),
  ...idCounts,
});

const findingSchema = z.strictObject({
  model: z.string(),
  path: z.string(),
  region: z.string().nullable(),
  v3_company_id: nullableId,
  v4_company_id: nullableId,
  platform_id: z.string().nullable(),
  parent_platform_id: z.string().nullable(),
  v3_svc_id: nullableId,
  v4_svc_id: nullableId,
  status: z.enum(STATUSES),
  reason: z.string().nullable(),
  matched_by: z.string().nullable(),
  evidence: z.unknown(),
});

const decisions = z.strictObject({
  file: z.string(),
  taken: count.describe('Decisions that made a pair, or said that there is none.'),
  notNeeded: count.describe('Decisions that the data prove by themselves.'),
  stale: count.describe('Decisions that the data do not support: nothing was changed for them.'),
  idle: z
    .array(idleDecisionRow)
    .describe('Decisions that changed nothing, stale ones first; at most 10,000.'),
});

const evidence = z.strictObject({
  database: z.string(),
  oldestReadAt: time.nullable(),
  newestReadAt: time.nullable(),
  ageHours: count.nullable().describe('Whole hours from oldestReadAt to generatedAt.'),
  remap: z
    .strictObject({
      sha256: z.string(),
      builtAt: time,
      rows: count,
      stale: z.boolean(),
      changed: z.array(z.string()).describe('What changed since it was built.'),
    })
    .nullable(),
  conservation: z
    .strictObject({
      v3Exported: count,
      v3Rows: count,
      v4Exported: count,
      v4Seen: count.describe('Distinct V4 ids in rows of remap.'),
    })
    .nullable()
    .describe('Every exported V3 id is in exactly one row, every V4 id in at least one; null: no remap.'),
});

/** The JSON report. Counts are numbers, ids are strings of digits. */
export const reportSchema = z
  .strictObject({
    schemaVersion: z.literal(1),
    tool: z.strictObject({ name: z.literal('svc-migrate'), version: z.string() }),
    generatedAt: time,
    outcome: z.enum(OUTCOMES),
    exitCode: count,
    next: z.string().describe('What changes the verdict.'),
    scope: z.strictObject({
      models: z.array(z.string()).nullable().describe('null: all configured models.'),
      companies: z.array(id).nullable().describe('V3 company ids; null: all.'),
      settings: z
        .array(z.strictObject({ name: z.string(), companies: z.array(id) }))
        .describe('Settings that chose companies: other companies were not read.'),
    }),
    blockers: z.array(blocker).describe('Why the outcome is incomplete or not_ready.'),
    gate: z.strictObject({ pass: z.boolean(), limits: z.array(judgedLimit) }),
    totals: z.strictObject(counts),
    models: z.array(z.strictObject({ model: z.string(), v4Model: z.string().nullable(), ...counts })),
    companies: z.array(companyRow.extend(rowCounts)).describe('Most findings first.'),
    reasons: z.array(reasonCounts).describe('The findings by reason.'),
    windows: z.array(windowRow).describe("The start of V4's history, by model."),
    spareV4Companies: count.describe(
      'V4 companies that have no pair and are not a candidate for one, while a V3 company has none.',
    ),
    lists: z.array(listGroupRow).describe('The lists of each model and region that ended in the same way.'),
    completeness: z
      .array(listRow)
      .describe("Every list, unfinished ones first; V4's company list is core/companies."),
    fullSync: z.array(fullSyncRow).describe('What to ask the operator for; most records first.'),
    omitted: z
      .strictObject({ companies: count, completeness: count, fullSync: count })
      .describe('Rows of these arrays that are only in the database: each has at most 10,000, worst first.'),
    findings: z.strictObject({
      total: count.describe(
        'Rows of remap that are not matched: ids of V3 and of V4, records and line items.',
      ),
      samples: z.array(findingSchema),
      fullList: z.string(),
    }),
    decisions: decisions.nullable().describe('null: there are none.'),
    cannotSee: z.array(z.strictObject({ code: z.string(), text: z.string() })),
    timeline: z.strictObject({
      months: z.array(monthRow).describe('By the latest date of the V3 records.'),
      undated: count.describe('V3 records without a readable date.'),
    }),
    evidence,
  })
  .meta({ title: 'svc-migrate report' });

export type Report = z.infer<typeof reportSchema>;
export type RowCounts = Omit<Report['companies'][number], keyof z.infer<typeof companyRow>>;
