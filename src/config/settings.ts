import * as z from 'zod';
import { DEFAULT_MAX_AGE_MS, MAX_INT64, type ModelPair } from '../domain.js';
import { LIMIT_NAMES, type LimitValue } from '../limits.js';
import { baseUrlProblem } from '../text/addresses.js';
import { instantOf, parseDuration } from '../text/numbers.js';
import { applySettings, environmentName } from './apply-targets.js';

const DEFAULT_DATABASE = 'svc-migrate.db';
const DEFAULT_FIELD_PREFIX = 'svc_';
export const DEFAULT_V3_KEY_ENV = 'SVC_MIGRATE_V3_API_KEY';
export const DEFAULT_V4_KEY_ENV = 'SVC_MIGRATE_V4_API_KEY';

/** Platform dates that decide whether a record is inside the backfill window. */
const DEFAULT_DATE_FIELDS = ['posted_date', 'created_at', 'updated_at', 'org_created_at'];

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
  // The line items of an e-commerce order have no ids.
  pair('ecommerce/orders', 'ecommerce_orders', { expand: LINE_ITEMS }),
  pair('crm/companies', 'crm_companies'),
  pair('crm/stages', 'stages'),
];

function pair(v3: string, v4: string, more: Partial<ModelPair> = {}): ModelPair {
  return { v3, v4, expand: [], children: [], v4Guessed: true, ...more };
}

function resolveModel(given: z.output<typeof model>): ModelPair {
  const { v3 } = given;
  const usual =
    DEFAULT_MODELS.find((candidate) => candidate.v3 === v3) ?? pair(v3, v3.slice(v3.lastIndexOf('/') + 1));
  const expand = given.expand ?? usual.expand;
  return {
    v3,
    v4: given.v4 === undefined ? usual.v4 : given.v4,
    expand,
    // Without `expand`, the service does not send a default child field.
    children: given.children ?? usual.children.filter((field) => expand.includes(field)),
    v4Guessed: given.v4 === undefined && usual.v4Guessed,
  };
}

const A_LIMIT = { error: 'must be a whole number of at least 0, or a share from "0%" to "100%"' };

const limitValue = z
  .union([z.int().min(0), z.string().regex(/^(?:100(?:\.0{1,9})?|\d{1,2}(?:\.\d{1,9})?)%$/)], A_LIMIT)
  .transform(
    (value): LimitValue =>
      typeof value === 'number'
        ? { kind: 'count', count: value }
        : { kind: 'percent', percent: Number(value.slice(0, -1)), text: value },
  );

const limitsByName = Object.fromEntries(LIMIT_NAMES.map((name) => [name, limitValue.exactOptional()]));

const MIB = 1024 * 1024;

const nonEmpty = z.string().min(1);
const id = z
  .union([z.int().min(0), z.string().regex(/^\d{1,19}$/)], {
    error: 'must be an id: digits, in quotes above 9007199254740991',
  })
  .transform((value, context): bigint => {
    const digits = BigInt(value);
    if (digits > MAX_INT64) context.addIssue('is beyond 64 bits');
    return digits;
  });
const ids = z.array(id).prefault([]);
const baseUrl = z.string().superRefine((text, context) => {
  const problem = baseUrlProblem(text);
  if (problem !== null) context.addIssue(problem);
});
const NAME = '[A-Za-z_][A-Za-z0-9_]*';
const fieldName = z.string().regex(new RegExp(`^${NAME}$`), 'must be a field name');
const fieldPath = z
  .string()
  .regex(new RegExp(`^${NAME}(?:\\.${NAME})*$`), 'must be a field name, or a path such as "company.svc_id"');
const modelPath = z
  .string()
  .regex(/^[A-Za-z0-9_-]+\/[A-Za-z0-9_-]+$/, 'must be category/model, such as "accounting/invoices"');
const modelName = z.string().regex(/^[A-Za-z0-9_-]+$/, 'must be a V4 data model name, such as "invoices"');
const regionName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'is not usable as a region name');

/** A string that `parse` converts; null is reported as `problem`. */
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

function integer(min: number, max: number, fallback: number, description: string) {
  return z.int().min(min).max(max).default(fallback).describe(description);
}

const keyReference = {
  apiKeyEnv: environmentName
    .optional()
    .describe(
      `Environment variable that contains the API key. Default without apiKeyFile: ${DEFAULT_V3_KEY_ENV} for V3, ${DEFAULT_V4_KEY_ENV} for V4.`,
    ),
  apiKeyFile: nonEmpty
    .optional()
    .describe('File that contains the API key and that only its owner can read. Instead of apiKeyEnv.'),
};

function assertOneKey(
  endpoint: { readonly apiKeyEnv?: string | undefined; readonly apiKeyFile?: string | undefined },
  context: z.RefinementCtx,
): void {
  if (endpoint.apiKeyEnv === undefined || endpoint.apiKeyFile === undefined) return;
  context.addIssue('has both apiKeyEnv and apiKeyFile: keep one');
}

const speed = {
  pageSize: integer(1, 10_000, 500, 'Records to request per page.'),
  concurrency: integer(1, 256, 8, 'Concurrent requests, per host.'),
  requestsPerSecond: z.number().positive().max(10_000).default(20).describe('Requests per second, per host.'),
};

const region = z
  .strictObject({
    baseUrl: baseUrl
      .transform(withoutSlash)
      .describe('V3 address of the region. Requests go to {baseUrl}/{category}/{model}.'),
    ...keyReference,
  })
  .superRefine(assertOneKey);

const v3 = z.strictObject({
  regions: z
    .record(regionName, region)
    .refine((regions) => Object.keys(regions).length > 0, 'needs at least one region')
    .describe('V3 endpoints, each under a name of your choice, with its own API key and request limits.'),
  ...speed,
  companies: ids.describe('Company ids: read each list company by company. Empty: each as one list.'),
});

const v4 = z
  .strictObject({
    baseUrl: baseUrl
      .refine((text) => !/\/v4\/*$/i.test(text), 'must not end in /v4: it is added to every request')
      .transform(withoutSlash)
      .describe('V4 address without /v4. Requests go to {baseUrl}/v4/core/companies/….'),
    ...keyReference,
    ...speed,
    includeDeleted: z
      .union([z.literal('auto'), z.boolean()], { error: 'must be "auto", true or false' })
      .default('auto')
      .describe(
        'Whether to request deleted records. auto: request them, and continue without them where V4 refuses.',
      ),
    companies: ids.describe("V4 company ids to read. Empty: all in V4's list of companies."),
    companyIdField: fieldPath
      .nullable()
      .default(null)
      .describe(
        'Field that contains the id of a company in the V4 company list; a dot goes one object deeper. null: the first of <prefix>id, <prefix>company_id and id.',
      ),
  })
  .superRefine(assertOneKey);

const model = z.strictObject({
  v3: modelPath.describe('V3 path: category/model.'),
  v4: modelName
    .nullable()
    .optional()
    .describe(
      'V4 data model name. null: V4 does not have this model. Default: a guess, which is shown as such.',
    ),
  expand: z.array(fieldName).optional().describe('Related objects to request with each record.'),
  children: z
    .array(fieldName)
    .optional()
    .describe('Fields whose items have ids. These children are matched within their parents.'),
});

const models = z
  .array(model.transform(resolveModel))
  .min(1)
  .superRefine((pairs, context) => {
    for (const [index, { v3, v4 }] of pairs.entries()) {
      const earlier = pairs.slice(0, index);
      const twin = v4 === null ? undefined : earlier.find((other) => other.v4 === v4);
      if (earlier.some((other) => other.v3 === v3)) {
        context.addIssue({ code: 'custom', path: [index, 'v3'], message: `names ${v3} a second time` });
      } else if (twin !== undefined) {
        const message = `is ${v4}, the V4 name of ${twin.v3}: two V3 models must not share one`;
        context.addIssue({ code: 'custom', path: [index, 'v4'], message });
      }
    }
  });

const companies = z
  .strictObject({
    match: z
      .union([z.enum(['auto', 'same_id']), z.strictObject({ file: nonEmpty })], {
        error: 'must be "auto", "same_id" or {"file": "companies.csv"}',
      })
      .default('auto')
      .describe(
        'How V3 companies are paired with V4 companies: auto, same_id, or auto with a file of answers, with the columns region,v3_company_id,v4_company_id.',
      ),
    include: ids.describe('Only these V3 companies. Empty: all.'),
    exclude: ids.describe('V3 companies to leave out.'),
  })
  .superRefine(({ include, exclude }, context) => {
    for (const [index, company] of exclude.entries()) {
      if (!include.includes(company)) continue;
      const message = `is ${company}, which companies.include lists too`;
      context.addIssue({ code: 'custom', path: ['exclude', index], message });
    }
  });

const backfill = z
  .strictObject({
    since: parsed(instantOf, 'must be an ISO 8601 time such as "2026-08-20T00:00:00Z"')
      .optional()
      .describe(
        "Start of the history that V4 loaded at its first sync. Default: inferred from V4's records; the report says so.",
      ),
    days: z
      .number()
      .positive()
      .max(36_500)
      .optional()
      .describe('The same in days before now. Use since instead once the first sync has begun.'),
    dateFields: z
      .array(fieldName)
      .min(1)
      .default([...DEFAULT_DATE_FIELDS])
      .describe('Dates from the platform that decide whether a record is older than this history.'),
  })
  .superRefine(({ since, days }, context) => {
    if (since !== undefined && days !== undefined) context.addIssue('has both since and days: keep one');
  });

const http = z
  .strictObject({
    timeoutMs: integer(1, 3_600_000, 60_000, 'Longest time for one request, in milliseconds.'),
    attempts: integer(1, 100, 6, 'Attempts per page before the list is left incomplete.'),
    maxWaitMs: integer(
      0,
      86_400_000,
      300_000,
      'Longest wait to accept when the service asks for one, in milliseconds.',
    ),
    maxBodyMiB: integer(1, 1024, 32, 'Largest response body to accept, in MiB.'),
    allowHttp: z
      .boolean()
      .default(false)
      .describe('Allow plain HTTP to other machines. The API key is then sent unencrypted.'),
  })
  .transform(({ maxBodyMiB, ...rest }) => ({ ...rest, maxBodyBytes: maxBodyMiB * MIB }));

const limits = z
  .strictObject({
    ...limitsByName,
    models: z
      .record(z.string(), z.strictObject(limitsByName))
      .prefault({})
      .describe('Limits for one model, by its V3 path. They override the other limits.'),
  })
  .transform(({ models: byModel, ...rest }) => {
    // Computed keys are not part of the shape's type.
    return { global: Object.fromEntries(Object.entries<LimitValue>(rest)), models: byModel };
  });

/** The schema of the configuration file, with defaults. The JSON Schema is generated from it. */
export const configSchema = z.strictObject({
  $schema: z.string().optional().describe('JSON Schema, for editors.'),
  database: nonEmpty
    .default(DEFAULT_DATABASE)
    .describe('Database file. --db and SVC_MIGRATE_DB override this setting.'),
  fieldPrefix: fieldName
    .default(DEFAULT_FIELD_PREFIX)
    .describe("The service's field prefix: <prefix>id, <prefix>company_id, <prefix>updated_at."),
  v3: v3.describe('The earlier API.'),
  v4: v4.describe('The current API.'),
  models: models
    .optional()
    .describe('Models to migrate. Default: the eight V3 models of the specification, and invoices.'),
  companies: companies.prefault({}).describe('Which companies, and how they are paired.'),
  decisions: nonEmpty
    .nullable()
    .default(null)
    .describe(
      'CSV file of decisions where the data are not enough, with the columns model,path,region,v3_company_id,v3_svc_id,v4_svc_id,note,until.',
    ),
  backfill: backfill.prefault({}).describe('The history that V4 loaded.'),
  http: http.prefault({}).describe('Timeouts and retries.'),
  payload: z
    .enum(['full', 'ids'])
    .default('full')
    .describe('full: store pages as received. ids: store only what matching needs.'),
  limits: limits
    .prefault({})
    .describe('How many findings the gate accepts, as counts or as percentages of the rows with a V3 id.'),
  apply: applySettings.prefault({}).describe('Your own data that contain ids of the service, for apply.'),
  maxAge: parsed(parseDuration, 'must be a duration such as "15m", "24h" or "90d"')
    .prefault(`${DEFAULT_MAX_AGE_MS / 3_600_000}h`)
    .describe('The gate fails if a list was read longer ago than this.'),
});

export type Settings = z.output<typeof configSchema>;
