import { DEFAULT_MAX_AGE_MS, MAX_INT64, type ModelPair } from '../domain.js';
import { REASONS, STATUSES } from '../reasons.js';
import { baseUrlProblem } from '../text/addresses.js';
import { instantOf, parseDuration } from '../text/numbers.js';
import * as z from '../zod.js';
import { applySettings, environmentName } from './apply-targets.js';
import { strict } from './problems.js';

/** Read where no file is named: the first that exists; `init` writes the first. */
export const DEFAULT_CONFIG_FILES = ['svc-migrate.config.jsonc', 'svc-migrate.config.json'] as const;
export const DEFAULT_DATABASE = 'svc-migrate.db';
export const DEFAULT_FIELD_PREFIX = 'svc_';
export const DEFAULT_V3_KEY_ENV = 'SVC_MIGRATE_V3_API_KEY';
export const DEFAULT_V4_KEY_ENV = 'SVC_MIGRATE_V4_API_KEY';

/** Platform dates that decide whether a record is inside the backfill window. */
const DEFAULT_DATE_FIELDS = ['posted_date', 'created_at', 'updated_at', 'org_created_at'] as const;

const LINE_ITEMS = ['line_items'];

/**
 * The eight V3 models of the specification and invoices. Only `invoices` is a documented V4 name; the
 * others are the last path segment, or a longer name where that would be unclear.
 */
export const DEFAULT_MODELS: readonly ModelPair[] = [
  pair('accounting/bill_credit_notes', 'bill_credit_notes', { expand: LINE_ITEMS, children: LINE_ITEMS }),
  pair('accounting/company_info', 'company_info'),
  pair('accounting/invoices', 'invoices', { expand: LINE_ITEMS, children: LINE_ITEMS, v4Guessed: false }),
  pair('payments/items', 'payment_items'),
  pair('payments/orders', 'payment_orders'),
  pair('payments/tax_rates', 'tax_rates'),
  // The line items of an e-commerce order have no ids of their own.
  pair('ecommerce/orders', 'ecommerce_orders', { expand: LINE_ITEMS }),
  pair('crm/companies', 'crm_companies'),
  pair('crm/stages', 'stages'),
];

/** A model as written in the file: only its V3 path is required. */
interface ModelInput {
  readonly v3: string;
  readonly v4?: string | null | undefined;
  readonly expand?: readonly string[] | undefined;
  readonly children?: readonly string[] | undefined;
}

/** Completes a model of the file from the defaults. */
function resolveModel(own: ModelInput): ModelPair {
  const { v3 } = own;
  const usual =
    DEFAULT_MODELS.find((model) => model.v3 === v3) ?? pair(v3, v3.slice(v3.lastIndexOf('/') + 1));
  const expand = own.expand ?? usual.expand;
  return {
    v3,
    v4: own.v4 === undefined ? usual.v4 : own.v4,
    expand,
    // Without `expand`, the service does not send a default child field.
    children: own.children ?? usual.children.filter((field) => expand.includes(field)),
    v4Guessed: own.v4 === undefined && usual.v4Guessed,
  };
}

function pair(v3: string, v4: string, more: Partial<ModelPair> = {}): ModelPair {
  return { v3, v4, expand: [], children: [], v4Guessed: true, ...more };
}

/** Names of limits besides statuses and reasons. */
const COUNTERS = ['rejected', 'short', 'unique_id_conflict', 'drift', 'decision_stale'] as const;

/** Everything that can be limited: all but `matched`, which is the goal. */
const LIMIT_NAMES: readonly string[] = [
  ...STATUSES.filter((status) => status !== 'matched'),
  ...REASONS,
  ...COUNTERS,
];

/** A limit: a count of rows, or a share of the rows with a V3 id in the same scope. */
export type LimitValue =
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'percent'; readonly percent: number; readonly text: string };

const A_LIMIT = { error: 'must be a whole number of at least 0, or a share such as "2%" or "0.5%"' };

const limitValue = z
  .union([z.int(A_LIMIT).min(0, A_LIMIT), z.string().regex(/^\d{1,3}(\.\d{1,9})?%$/, A_LIMIT)], A_LIMIT)
  .transform((value, context): LimitValue => {
    if (typeof value === 'number') return { kind: 'count', count: value };
    const percent = Number(value.slice(0, -1));
    if (percent > 100) context.addIssue('must not be above 100%');
    return { kind: 'percent', percent, text: value };
  });

/** The schema of each limit, by its name. */
const limitsByName = Object.fromEntries(LIMIT_NAMES.map((name) => [name, limitValue.exactOptional()]));

const MIB = 1024 * 1024;

const nonEmpty = z.string().min(1);
const AN_ID = { error: 'must be an id: digits, in quotes above 9007199254740991' };
const id = z
  .union([z.int(AN_ID).min(0, AN_ID), z.string().regex(/^\d{1,19}$/, AN_ID)], AN_ID)
  // zod runs this even if the union did not match.
  .refine((value) => !/^\d{1,19}$/.test(String(value)) || BigInt(value) <= MAX_INT64, 'is beyond 64 bits')
  .transform(BigInt);
const ids = z.array(id).prefault([]);
const duration = parsed(parseDuration, 'must be a duration such as "15m", "24h" or "90d"');
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

/** A string schema that `parse` converts; null is reported as `problem`. */
function parsed<T>(parse: (text: string) => T | null, problem: string) {
  return z.string().transform((text, context): T => {
    const value = parse(text);
    if (value !== null) return value;
    context.addIssue(problem);
    return z.NEVER;
  });
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}

function setting<Schema extends z.ZodType>(schema: Schema, description: string) {
  return schema.describe(description);
}

/** An integer setting with a default. */
function integer(min: number, max: number, fallback: number, description: string) {
  return z.int().min(min).max(max).default(fallback).describe(description);
}

/** A boolean setting that is off by default. */
function flag(description: string) {
  return z.boolean().default(false).describe(description);
}

const keyReference = {
  apiKeyEnv: setting(
    environmentName.optional(),
    `Environment variable that contains the API key. Default without apiKeyFile: ${DEFAULT_V3_KEY_ENV} for V3, ${DEFAULT_V4_KEY_ENV} for V4.`,
  ),
  apiKeyFile: setting(
    nonEmpty.optional(),
    'File that contains the API key and that only its owner can read. Instead of apiKeyEnv.',
  ),
};

const speed = {
  pageSize: integer(1, 10_000, 500, 'Records to request per page.'),
  concurrency: integer(1, 256, 8, 'Concurrent requests, per host.'),
  requestsPerSecond: z.number().positive().max(10_000).default(20).describe('Requests per second, per host.'),
};

const region = strict({
  baseUrl: setting(
    baseUrl.transform(withoutSlash),
    'V3 address of the region. Requests go to {baseUrl}/{category}/{model}.',
  ),
  ...keyReference,
});

const v3 = strict({
  regions: setting(
    z
      .record(regionName, region)
      .refine((regions) => Object.keys(regions).length > 0, 'needs at least one region'),
    'V3 endpoints, each under a name of your choice, with its own API key and request limits.',
  ),
  ...speed,
  companies: setting(
    z
      .union([z.literal('auto'), z.array(id)], { error: 'must be "auto" or a list of company ids' })
      .prefault('auto'),
    'How V3 lists are read. auto: as one list each, and long ones company by company, so that their parts are read in parallel, where total_counts prove that nothing is missing. Company ids: as one list for each of these. Empty: always as one list.',
  ),
});

const v4 = strict({
  baseUrl: setting(
    baseUrl
      .refine((text) => !/\/v4\/*$/i.test(text), 'must not end in /v4: it is added to every request')
      .transform(withoutSlash),
    'V4 address without /v4. Requests go to {baseUrl}/v4/core/companies/….',
  ),
  ...keyReference,
  ...speed,
  includeDeleted: setting(
    z.union([z.literal('auto'), z.boolean()], { error: 'must be "auto", true or false' }).default('auto'),
    'Whether to request deleted records from V4. auto: request them, and continue without them where V4 refuses.',
  ),
  companies: ids.describe("V4 company ids to read. Empty: all in V4's list of companies."),
  companyIdField: setting(
    fieldName.nullable().default(null),
    "Field that contains the id of a company in V4's list of companies. null: the first of <prefix>id, <prefix>company_id and id.",
  ),
  eventTypeField: setting(
    nonEmpty.default('type'),
    'Member that contains the type of a webhook event, for --listen. Dots separate nested members.',
  ),
});

const model = strict({
  v3: modelPath.describe('V3 path: category/model.'),
  v4: setting(
    modelName.nullable().optional(),
    'V4 data model name. null: V4 does not have this model. Default: a guess, which is shown as such.',
  ),
  expand: z.array(fieldName).optional().describe('Related objects to request with each record.'),
  children: setting(
    z.array(fieldName).optional(),
    'Fields whose items have ids of their own. These children are matched within their parents.',
  ),
});

const companies = strict({
  match: setting(
    z
      .union([z.enum(['auto', 'same_id', 'overlap']), strict({ file: nonEmpty })], {
        error: 'must be "auto", "same_id", "overlap" or {"file": "companies.csv"}',
      })
      .default('auto'),
    'How V3 companies are paired with V4 companies: auto, same_id, overlap, or a file with the columns region,v3_company_id,v4_company_id.',
  ),
  include: ids.describe('Only these V3 companies. Empty: all.'),
  exclude: ids.describe('V3 companies to leave out.'),
});

const backfill = strict({
  since: setting(
    parsed(instantOf, 'must be an ISO 8601 time such as "2026-08-20T00:00:00Z"').optional(),
    "Start of the history that V4 loaded at its first sync. Default: inferred from V4's records; the report says so.",
  ),
  days: setting(
    z.number().positive().max(36_500).optional(),
    'The same in days before now. Use since instead once the first sync has begun.',
  ),
  dateFields: setting(
    z
      .array(fieldName)
      .min(1)
      .default([...DEFAULT_DATE_FIELDS]),
    'Dates from the platform that decide whether a record is older than this history.',
  ),
});

const http = strict({
  timeoutMs: integer(1, 3_600_000, 60_000, 'Longest time for one request, in milliseconds.'),
  attempts: integer(1, 100, 6, 'Attempts per page before the list is left incomplete.'),
  maxWaitMs: integer(
    0,
    86_400_000,
    300_000,
    'Longest wait to accept when the service asks for one, in milliseconds.',
  ),
  maxBodyMiB: integer(1, 1024, 64, 'Largest response body to accept, in MiB.'),
  allowHttp: flag('Allow plain HTTP to other machines. The API key is then sent unencrypted.'),
}).transform(({ maxBodyMiB, ...rest }) => ({ ...rest, maxBodyBytes: maxBodyMiB * MIB }));

const drift = strict({
  ignore: setting(
    z.record(z.string(), z.array(nonEmpty)).default({}),
    'Fields not to compare, by V3 model. "*" stands for every model.',
  ),
});

const limits = strict({
  ...limitsByName,
  models: setting(
    z.record(z.string(), strict(limitsByName)).prefault({}),
    'Limits for one model, by its V3 path. They override the other limits.',
  ),
}).transform(({ models, ...rest }) => {
  // Computed keys are not part of the shape's type.
  return { global: Object.fromEntries(Object.entries<LimitValue>(rest)), models };
});

/** The schema of the configuration file, with defaults. The JSON Schema is generated from it. */
export const configSchema = strict({
  $schema: z.string().optional().describe('JSON Schema, for editors.'),
  database: setting(
    nonEmpty.default(DEFAULT_DATABASE),
    'Database file. --db and SVC_MIGRATE_DB override this setting.',
  ),
  fieldPrefix: setting(
    fieldName.default(DEFAULT_FIELD_PREFIX),
    "The service's field prefix: <prefix>id, <prefix>company_id, <prefix>updated_at.",
  ),
  v3: v3.describe('The earlier API.'),
  v4: v4.describe('The current API.'),
  models: setting(
    z.array(model.transform(resolveModel)).min(1).optional(),
    'Models to migrate. Default: the eight V3 models of the specification, and invoices.',
  ),
  companies: companies.prefault({}).describe('Which companies, and how they are paired.'),
  decisions: setting(
    nonEmpty.nullable().default(null),
    'CSV file of decisions where the data are not enough, with the columns model,path,region,v3_company_id,v3_svc_id,v4_svc_id,note,until.',
  ),
  backfill: backfill.prefault({}).describe('The history that V4 loaded.'),
  http: http.prefault({}).describe('Timeouts and retries.'),
  payload: setting(
    z.enum(['full', 'ids']).default('full'),
    'full: store records as received, compressed. ids: store only what matching needs.',
  ),
  drift: setting(drift.prefault({}), 'How the contents of matched records are compared.'),
  limits: setting(
    limits.prefault({}),
    'How many findings the gate accepts, as counts or as percentages of the rows with a V3 id.',
  ),
  apply: applySettings.prefault({}).describe('Your own data that contain ids of the service, for apply.'),
  maxAge: duration
    .prefault(`${DEFAULT_MAX_AGE_MS / 3_600_000}h`)
    .describe('The gate fails if a list was read longer ago than this.'),
});

/** The settings of a file, with defaults. */
export type Settings = z.output<typeof configSchema>;
