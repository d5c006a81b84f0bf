import {
  ledgerRunSchema,
  runVerificationSchema,
  undoResultSchema,
  writeResultSchema,
} from '../apply/context.js';
import { blockingNoteSchema, idCountsSchema } from '../apply/judge-plan.js';
import { policySchema, remapSchema, targetPlanSchema } from '../apply/plan.js';
import { proposalSchema } from '../apply/scan/propose.js';
import { columnUnmappedSchema } from '../apply/unmapped.js';
import { applyTargetSchema } from '../config/apply-targets.js';
import { configSchema } from '../config/settings.js';
import { STREAM_STATES } from '../domain.js';
import { STATUSES } from '../reasons.js';
import { count, findingSchema, id, nullableId, reportSchema } from '../report/report-schema.js';
import { scanSchema } from '../scan/scan-report.js';
import * as z from '../zod.js';

const text = z.string().nullable();
const counts = z.record(z.string(), count);
const schemaVersion = z.literal(1);
const exit = z.int().describe('Exit code of the command.');

const { evidence: _, ...findingWithoutEvidence } = findingSchema.shape;

const lookup = z.strictObject({
  model: z.string(),
  v3_svc_id: nullableId,
  v4_svc_id: nullableId,
  status: z.enum([...STATUSES, 'unknown']),
  reason: text,
  region: text,
  v3_company_id: nullableId,
  v4_company_id: nullableId,
  stale: z.boolean().describe('Whether the export has changed since this remap was built.'),
});

const doctor = z.strictObject({
  schemaVersion,
  ready: z.boolean(),
  exitCode: exit,
  findings: z.array(
    z.strictObject({
      level: z.enum(['ok', 'note', 'warning', 'problem']),
      area: z.string(),
      code: z.string().describe('Stable, for programs.'),
      text: z.string(),
      fix: text,
      exitCode: z.int().nullable().describe('The exit code for this kind of problem.'),
    }),
  ),
});

const pairSide = z
  .strictObject({ company_id: id, platform_id: text, platform_unique_id: text, deleted: z.boolean() })
  .nullable();

const verify = z.strictObject({
  schemaVersion,
  exitCode: exit,
  remap: z.strictObject({ builtAt: z.string(), sha256: z.string() }),
  contradictions: z
    .array(
      z.strictObject({
        code: z.string(),
        total: count,
        first: z.array(z.looseObject({ model: z.string() })),
      }),
    )
    .describe('Between the remap and the export.'),
  coverage: z.strictObject({
    kind: z.enum(['all', 'sample']),
    pairs: count,
    matched: count,
    strata: count,
    drawn: count,
  }),
  agree: count,
  disagree: count,
  gone: count,
  deletedSince: count,
  failed: count,
  unread: count,
  firstError: text,
  disagreements: z.array(
    z
      .strictObject({
        code: z.string(),
        ...findingWithoutEvidence,
        v3_company_id: id,
        v4_company_id: id,
        v3: pairSide,
        v4: pairSide,
      })
      .omit({ matched_by: true }),
  ),
});

const recheck = z.strictObject({
  schemaVersion,
  exitCode: exit,
  open: count.describe('Findings that were open at the start.'),
  read: z
    .looseObject({ asked: count, lists: count, changed: count, failed: count, firstError: text })
    .nullable()
    .describe('What was requested; null if no finding was open.'),
  persisted: counts.describe('Number of findings open both at the start and at the end, by `status/reason`.'),
  appeared: counts.describe('Number of findings open only at the end, by `status/reason`.'),
  healed: z.array(
    z.strictObject({
      model: z.string(),
      path: z.string(),
      region: text,
      v3_company_id: nullableId,
      v4_company_id: nullableId,
      platform_id: text,
      v3_svc_id: nullableId,
      v4_svc_id: nullableId,
      before: z.string(),
      after: text,
    }),
  ),
});

const explain = z.strictObject({
  schemaVersion,
  model: z.string(),
  id,
  remapBuiltAt: z.string(),
  stale: z.boolean(),
  warnings: z.array(z.string()),
  more: z.boolean().describe('Whether there are more rows than these.'),
  unknown: z.array(z.string()),
  stories: z.array(
    z.looseObject({
      takenFor: z.array(z.enum(['v3', 'v4'])).describe('How the given id was understood.'),
      row: findingSchema,
      title: z.string(),
      sentence: z.string(),
      because: z.array(z.string()),
      next: z.string(),
      lists: z.array(
        z.looseObject({ generation: z.enum(['v3', 'v4']), state: z.enum(STREAM_STATES).nullable() }),
      ),
    }),
  ),
});

const generation = z.strictObject({
  lists: z.record(z.enum(STREAM_STATES), count),
  readByCompany: count.describe('V3 lists that were read company by company.'),
  records: count,
  rejected: count,
  oldestReadAt: text,
});

const status = z.strictObject({
  schemaVersion,
  exitCode: exit,
  database: z.strictObject({
    file: z.string(),
    bytes: count,
    owner: text.describe('The process that uses it.'),
  }),
  v3: generation,
  v4: generation,
  unfinished: z.array(
    z.strictObject({
      generation: z.enum(['v3', 'v4']),
      region: text,
      model: z.string(),
      companyId: nullableId,
      state: z.enum(STREAM_STATES),
      pages: count,
      records: count,
      totalCount: count.nullable(),
      endReason: text,
      endNote: text,
    }),
  ),
  remap: z
    .strictObject({ build: count, builtAt: z.string(), sha256: z.string(), isCurrent: z.boolean() })
    .nullable(),
  next: z.string().describe('The command to run next.'),
});

const error = z.strictObject({
  schemaVersion,
  tool: z.strictObject({ name: z.literal('svc-migrate'), version: z.string() }),
  generatedAt: z.string(),
  outcome: z.literal('error'),
  exitCode: exit,
  error: z.strictObject({ code: z.string(), message: z.string(), hint: text }),
});

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
const place = z.strictObject({
  kind: z.string(),
  file: z.string().optional(),
  urlEnv: z.string().optional(),
  columns: z.array(proposalSchema),
  unseen: z.array(z.strictObject({ what: z.string(), why: z.string() })),
});

const action = <A extends string>(name: A) => ({ action: z.literal(name) });

/** The JSON of the commands of `apply`, by their names. */
const applySchema = z.union([
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

/** The configuration file and the structured outputs of the commands, by the name of the JSON Schema in the package. */
export const OUTPUT_SCHEMAS = {
  config: { schema: configSchema, of: 'the configuration file' },
  report: { schema: reportSchema, of: '`--json` of `report`, `check`, `run` and `demo`' },
  finding: {
    schema: findingSchema.extend({ stale: z.boolean().optional().describe('Only in `findings`.') }),
    of: 'a line of `--ndjson`, of `findings --json` and of `dump --format ndjson`',
  },
  lookup: { schema: lookup, of: 'a line of `lookup --json`' },
  explain: { schema: explain, of: '`explain --json`' },
  doctor: { schema: doctor, of: '`doctor --json`' },
  status: { schema: status, of: '`status --json`' },
  scan: { schema: scanSchema, of: '`scan --json`' },
  verify: { schema: verify, of: '`verify --json`' },
  recheck: { schema: recheck, of: '`recheck --json`' },
  apply: { schema: applySchema, of: 'the commands of `apply`' },
  error: { schema: error, of: '`--json` of a command that ended without a result' },
} as const satisfies Record<string, { readonly schema: z.ZodType; readonly of: string }>;

/** The JSON Schemas, by name. */
export function buildJsonSchemas(): ReadonlyMap<string, object> {
  return new Map(
    Object.entries(OUTPUT_SCHEMAS).map(([name, { schema, of }]) => {
      const io = name === 'config' ? 'input' : 'output';
      const { $schema, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
      return [
        name,
        { $schema, $id: `urn:svc-migrate:schema:${name}:1`, title: of.replaceAll('`', ''), ...rest },
      ];
    }),
  );
}
