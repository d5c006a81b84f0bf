import * as z from 'zod';
import {
  BLOCKER_CODES,
  COMPANY_MATCHES,
  LIMIT_UNITS,
  OUTCOMES,
  ROW_UNITS,
  STALE_REASONS,
  STREAM_STATES,
} from '../domain.js';
import { STATUSES } from '../reasons.js';

const count = z.int().nonnegative();
const id = z
  .string()
  .regex(/^-?\d+$/)
  .describe('A 64-bit integer as digits.');
const nullableId = id.nullable();
const time = z.string().describe('ISO 8601, UTC.');

const v3ByStatus = z.strictObject({ matched: count, unmatched: count, deleted: count, ambiguous: count });
const byReason = z.record(z.string(), count);

const counts = {
  v3Records: count,
  v3Children: count,
  v4Records: count,
  v4Children: count,
  rejected: count.describe('Objects that could not be taken as a record.'),
  uniqueIdConflicts: count.describe('Pairs whose two platform_unique_ids are set and differ.'),
  merged: count.describe('V3 ids that share their V4 id with another V3 id.'),
  byStatus: v3ByStatus.extend({ v4_only: count }).describe('Rows of remap by status.'),
  v3ByStatus: v3ByStatus.describe('Rows with a V3 id.'),
  v3RecordsByStatus: v3ByStatus.describe('Rows of records with a V3 id.'),
  v3ChildrenByStatus: v3ByStatus.describe('Rows of children with a V3 id.'),
  byReason: byReason.describe('Rows of remap that are not matched, by `status/reason`.'),
  recordsByReason: byReason.describe('Rows of records.'),
  childrenByReason: byReason.describe('Rows of children.'),
};

const idCounts = z.strictObject({
  records: count,
  lineItems: count,
});

const reasonCounts = z.strictObject({
  key: z.string().describe('`status/reason`; a reason `parent_…` counts under the reason of the record.'),
  title: z.string().describe('The reason in plain words.'),
  v3: idCounts.describe('Rows with a V3 id.'),
  v4: idCounts.describe('Rows without one.'),
});

const limit = z.strictObject({
  name: z.string().describe('As configured; defaults are named `status` or `status/reason`.'),
  model: z.string().nullable().describe('null: all models.'),
  allowed: z
    .union([z.number().nonnegative(), z.string().regex(/%$/), z.null()])
    .describe('A number, a percentage such as "2%" of base, or null for unlimited.'),
  actual: z.number().nullable().describe('What this limit judged; null where it was not measured.'),
  base: count.nullable().describe('Rows with a V3 id in the same scope.'),
  unit: z.enum(LIMIT_UNITS),
  configured: z.boolean().describe('false: a default.'),
  pass: z.boolean(),
  detail: z.string().nullable(),
  contributors: z
    .array(z.strictObject({ model: z.string(), key: z.string(), unit: z.enum(ROW_UNITS).nullable(), count }))
    .describe('Where the limit fails: what it judged, by model and `status/reason`.'),
});

const stream = z.strictObject({
  generation: z.enum(['v3', 'v4']),
  region: z.string(),
  model: z.string(),
  companyId: nullableId,
  state: z.enum(STREAM_STATES),
  endReason: z.string().nullable(),
  pages: count,
  records: count,
  uniqueRecords: count,
  duplicates: count,
  rejected: count,
  totalCountFirst: z.int().nullable(),
  totalCountLast: z.int().nullable(),
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
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

const fullSync = z.strictObject({
  region: z.string(),
  v3CompanyId: id,
  v4CompanyId: nullableId,
  model: z.string(),
  records: count,
  children: count.describe('Children of these records.'),
  earliest: time.nullable(),
  latest: time.nullable(),
});

const blocker = z.strictObject({
  code: z.enum(BLOCKER_CODES),
  outcome: z.enum(['incomplete', 'not_ready']),
  text: z.string(),
  next: z.string().describe('The command to run, or what else to do.'),
});

const window = z
  .strictObject({
    model: z.string(),
    source: z
      .enum(['configured', 'inferred', 'unknown'])
      .describe('inferred: for at least one company of the model.'),
    companies: z
      .strictObject({ inferred: count, unknown: count })
      .describe('V4 companies by how the start of their history is known, unless it is configured.'),
    since: time.nullable().describe("Start of V4's history: as configured, or of the company named here."),
    v4CompanyId: nullableId.describe('The company with the most doubtful start, else the earliest.'),
    v4SvcId: nullableId.describe('The V4 record that it was inferred from.'),
    platformId: z.string().nullable(),
    nineTenthsSince: time.nullable().describe("Nine in ten of the company's V4 records are from then on."),
    doubtful: count.describe('Companies whose start and nineTenthsSince lie far apart: set backfill.since.'),
  })
  .describe("What is known about the start of V4's history.");

const month = z.strictObject({
  month: z.string().describe('YYYY-MM of the latest date of the V3 records.'),
  matched: count,
  unmatched: count,
  other: count,
});

const timeline = z.strictObject({
  months: z.array(month),
  earlier: month.nullable().describe('All months before the first shown.'),
  later: month.nullable().describe('All months after the last shown.'),
  undated: count.describe('V3 records without a readable date.'),
});

const listGroup = z.strictObject({
  generation: z.enum(['v3', 'v4']),
  region: z.string(),
  model: z.string(),
  state: z.enum(STREAM_STATES),
  endReason: z.string().nullable(),
  lists: count,
  pages: count,
  records: count,
  rejected: count,
  counted: z.int().nullable().describe('What the service counts; null if it did not count one of the lists.'),
});

const omitted = z
  .strictObject({ companies: count, ambiguousCompanies: count, completeness: count, fullSync: count })
  .describe(
    'Rows of these arrays that are only in the database: each array has at most 10,000, worst first.',
  );

const decisions = z.strictObject({
  file: z.string(),
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
        v3_svc_id: nullableId,
        v4_svc_id: nullableId,
        note: z.string(),
        until: z.string().nullable().describe('The day, UTC, from which it no longer holds.'),
        outcome: z.enum(['not_needed', 'stale']),
        why: z.enum(STALE_REASONS).nullable(),
        text: z.string(),
      }),
    )
    .describe('Decisions that changed nothing, stale ones first; at most 10,000.'),
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
    gate: z.strictObject({ pass: z.boolean(), limits: z.array(limit) }),
    totals: z.strictObject(counts),
    models: z.array(z.strictObject({ model: z.string(), v4Model: z.string().nullable(), ...counts })),
    companies: z
      .array(
        z.strictObject({
          region: z.string().nullable(),
          v3CompanyId: nullableId,
          v4CompanyId: nullableId,
          matchedBy: z.enum(COMPANY_MATCHES),
          ...counts,
        }),
      )
      .describe('Most findings first.'),
    ambiguousCompanies: z
      .array(
        z.strictObject({
          region: z.string(),
          v3CompanyId: id,
          candidates: z.array(
            z.strictObject({
              v4CompanyId: id,
              comparableKeys: count.describe('Shared keys whose fields could be compared.'),
              agreeingKeys: count.describe('Shared keys whose fields agree.'),
            }),
          ),
        }),
      )
      .describe(
        'V3 companies that could not be paired beyond doubt, with the V4 companies that they may be.',
      ),
    reasons: z.array(reasonCounts).describe('The findings by reason.'),
    windows: z.array(window).describe("The start of V4's history, by model."),
    lists: z.array(listGroup).describe('The lists of each model and region that ended in the same way.'),
    completeness: z
      .array(stream)
      .describe("Every list, unfinished ones first; V4's company list is core/companies."),
    fullSync: z.array(fullSync).describe('What to ask the operator for; most records first.'),
    omitted,
    findings: z.strictObject({
      total: count,
      samples: z.array(findingSchema),
      fullList: z.string(),
    }),
    decisions: decisions.nullable().describe('null: there are none.'),
    cannotSee: z.array(
      z.strictObject({ code: z.string(), name: z.string().describe('In a few words.'), text: z.string() }),
    ),
    timeline,
    evidence: z.strictObject({
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
    }),
  })
  .meta({ title: 'svc-migrate report' });

export type Report = z.infer<typeof reportSchema>;
export type Counts = Report['totals'];
export type ReportStream = Report['completeness'][number];
export type ReasonCounts = Report['reasons'][number];
