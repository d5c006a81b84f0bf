import { z } from 'zod';
import { applySchema } from './apply-targets.js';
import {
  DEFAULT_DATABASE,
  DEFAULT_DATE_FIELDS,
  DEFAULT_FIELD_PREFIX,
  DEFAULT_V3_KEY_ENV,
  DEFAULT_V4_KEY_ENV,
} from './defaults.js';
import { parseDuration } from './durations.js';
import { LIMIT_NAMES, limitValueSchema } from './limits.js';
import { strict } from './strict.js';
import { baseUrlProblem, instantOf } from './values.js';

const MAX_INT64 = 2n ** 63n - 1n;

const AN_ID = { error: 'must be an id: digits, in quotes above 9007199254740991' };
const id = z
  .union([z.int(AN_ID).min(0, AN_ID), z.string().regex(/^\d{1,19}$/, AN_ID)], AN_ID)
  // Runs after a mismatch too.
  .refine((value) => !/^\d{1,19}$/.test(String(value)) || BigInt(value) <= MAX_INT64, 'is beyond 64 bits');
const duration = z
  .string()
  .refine((text) => parseDuration(text) !== null, 'must be a duration such as "15m", "24h" or "90d"');
const baseUrl = z.string().superRefine((text, context) => {
  const problem = baseUrlProblem(text);
  if (problem !== null) context.addIssue(problem);
});
const fieldName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be a field name');
const modelPath = z
  .string()
  .regex(/^[A-Za-z0-9_-]+\/[A-Za-z0-9_-]+$/, 'must be category/model, such as "accounting/invoices"');
const modelName = z.string().regex(/^[A-Za-z0-9_-]+$/, 'must be a V4 data model name, such as "invoices"');
const regionName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'is not usable as a region name');

const keyReference = {
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable')
    .optional()
    .describe(
      `Environment variable that holds the API key. Without it and apiKeyFile: ${DEFAULT_V3_KEY_ENV} and ${DEFAULT_V4_KEY_ENV}.`,
    ),
  apiKeyFile: z
    .string()
    .min(1)
    .optional()
    .describe('File that holds the API key and that only its owner can read; instead of apiKeyEnv.'),
};

const speed = {
  pageSize: z.int().min(1).max(10_000).default(500).describe('Records asked for per page.'),
  concurrency: z.int().min(1).max(256).default(8).describe('Requests under way at once, per host.'),
  requestsPerSecond: z.number().positive().max(10_000).default(20).describe('Requests per second, per host.'),
};

const region = strict({
  baseUrl: baseUrl.describe('V3 address of the region; requests go to {baseUrl}/{category}/{model}.'),
  ...keyReference,
});

const v3 = strict({
  regions: z
    .record(regionName, region)
    .refine((regions) => Object.keys(regions).length > 0, 'needs at least one region')
    .describe('V3 endpoints by a name of your choice. One key and one limiter each.'),
  ...speed,
  companies: z
    .array(id)
    .default([])
    .describe('Split each V3 list by these company ids, to be read in parallel. Empty: one list for all.'),
  sweepOverlap: duration
    .default('15m')
    .describe('How far a sweep for late changes reaches back before the start of the walk it follows.'),
});

const v4 = strict({
  baseUrl: baseUrl
    .refine((text) => !/\/v4\/*$/i.test(text), 'must not end in /v4: it is added to every request')
    .describe('V4 address without /v4; requests go to {baseUrl}/v4/core/companies/….'),
  ...keyReference,
  ...speed,
  includeDeleted: z
    .union([z.literal('auto'), z.boolean()], { error: 'must be "auto", true or false' })
    .default('auto')
    .describe('Ask V4 for deleted records too; auto: ask, and go without where V4 refuses.'),
  companies: z.array(id).default([]).describe('V4 company ids to read. Empty: ask the company list.'),
  companyIdField: fieldName
    .nullable()
    .default(null)
    .describe(
      'Field of a listed V4 company that holds its id. null: <prefix>id, <prefix>company_id, then id.',
    ),
  eventTypeField: z
    .string()
    .min(1)
    .default('type')
    .describe('Member of a webhook event that holds its type, for --listen; dots lead into nested objects.'),
});

const model = strict({
  v3: modelPath.describe('V3 path: category/model.'),
  v4: modelName
    .nullable()
    .optional()
    .describe('V4 data model name; null: known to be absent from V4. Without it: a guess, shown as one.'),
  expand: z.array(fieldName).optional().describe('Related objects to ask for with each record.'),
  children: z
    .array(fieldName)
    .optional()
    .describe('Fields whose items are children with ids of their own, mapped inside their parents.'),
});

const companies = strict({
  match: z
    .union([z.enum(['auto', 'same_id', 'overlap']), strict({ file: z.string().min(1) })], {
      error: 'must be "auto", "same_id", "overlap" or {"file": "companies.csv"}',
    })
    .default('auto')
    .describe(
      'How V3 companies find their V4 twins; a file has the columns region,v3_company_id,v4_company_id.',
    ),
  include: z.array(id).default([]).describe('Only these V3 companies. Empty: all.'),
  exclude: z.array(id).default([]).describe('Not these V3 companies.'),
});

const backfill = strict({
  since: z
    .string()
    .refine((text) => instantOf(text) !== null, 'must be an ISO 8601 time such as "2026-08-20T00:00:00Z"')
    .optional()
    .describe('Start of the window V4 loaded at its first sync. Without it: inferred from V4, and said so.'),
  days: z
    .number()
    .positive()
    .max(36_500)
    .optional()
    .describe('The same as days before now; prefer since once the first sync has begun.'),
  dateFields: z
    .array(fieldName)
    .min(1)
    .default([...DEFAULT_DATE_FIELDS])
    .describe('Platform dates that decide whether a record is older than the window.'),
});

const http = strict({
  timeoutMs: z.int().min(1).max(3_600_000).default(60_000).describe('Total deadline of one request, ms.'),
  attempts: z.int().min(1).max(100).default(6).describe('Attempts per page before giving up for now.'),
  maxWaitMs: z
    .int()
    .min(0)
    .max(86_400_000)
    .default(300_000)
    .describe('Longest single wait a server may ask for, ms.'),
  maxBodyMiB: z.int().min(1).max(1024).default(64).describe('Largest response body taken, MiB.'),
  allowHttp: z
    .boolean()
    .default(false)
    .describe('Allow plain http to other hosts than loopback. The key then crosses the network readable.'),
});

const limitsByName = Object.fromEntries(LIMIT_NAMES.map((name) => [name, limitValueSchema.optional()]));
const limits = strict({
  ...limitsByName,
  models: z
    .record(z.string(), strict(limitsByName))
    .default({})
    .describe('Limits of one model, by its V3 path; they outrank the global ones.'),
});

/** The configuration file: what it may hold, with defaults. JSON Schema is generated from it. */
export const configSchema = strict({
  $schema: z.string().optional().describe('For editors.'),
  database: z
    .string()
    .min(1)
    .default(DEFAULT_DATABASE)
    .describe('Database file, relative to this file. --db and SVC_MIGRATE_DB outrank it.'),
  fieldPrefix: fieldName
    .default(DEFAULT_FIELD_PREFIX)
    .describe("The service's field prefix: <prefix>id, <prefix>company_id, <prefix>updated_at."),
  v3: v3.describe('The earlier API.'),
  v4: v4.describe('The current API.'),
  models: z
    .array(model)
    .min(1)
    .optional()
    .describe('Models to migrate. Without it: the eight V3 models of the specification and invoices.'),
  companies: companies.prefault({}).describe('Which companies, and how they are paired.'),
  decisions: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      'CSV file of what a person decided where evidence cannot: model,path,region,v3_company_id,v3_svc_id,v4_svc_id,note.',
    ),
  backfill: backfill.prefault({}).describe('What V4 loaded.'),
  http: http.prefault({}).describe('Timeouts and retries.'),
  payload: z
    .enum(['full', 'ids'])
    .default('full')
    .describe('full: keep records as received; ids: keep only what matching needs.'),
  drift: strict({
    ignore: z
      .record(z.string(), z.array(z.string().min(1)))
      .default({})
      .describe('Fields that are not compared between matched records, by V3 model; "*" is every model.'),
    trustDataHash: z
      .boolean()
      .default(false)
      .describe(
        'Ask both APIs for data_hash, and take records with equal ones as equal: hides what the hash is not made of.',
      ),
  })
    .prefault({})
    .describe('How fields of matched records are compared.'),
  limits: limits
    .prefault({})
    .describe('What the gate accepts, as counts or percentages of the rows with a V3 id.'),
  apply: applySchema.prefault({}).describe('Your own data that hold ids of the service, for apply.'),
  maxAge: duration.default('24h').describe('Older evidence turns the gate red.'),
});

/** A configuration file after parsing, with defaults filled in. */
export type ConfigInput = z.output<typeof configSchema>;
