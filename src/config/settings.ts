import * as z from 'zod';
import { DEFAULT_MAX_AGE_MS, MAX_INT64, type ModelPair } from '../domain.js';
import { LIMIT_NAMES, type LimitValue } from '../limits.js';
import { isLoopback } from '../text/addresses.js';
import { parseDuration } from '../text/numbers.js';
import { didYouMeanClause } from '../text/suggest.js';
import { applySettings, environmentName } from './apply-targets.js';

export const DEFAULT_V3_KEY_ENV = 'SVC_MIGRATE_V3_API_KEY';
export const DEFAULT_V4_KEY_ENV = 'SVC_MIGRATE_V4_API_KEY';

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

const limitValue = z.union(
  [z.int().min(0), z.string().regex(/^(?:100(?:\.0{1,9})?|\d{1,2}(?:\.\d{1,9})?)%$/, A_LIMIT)],
  A_LIMIT,
);

const limitsByName = Object.fromEntries(LIMIT_NAMES.map((name) => [name, limitValue.exactOptional()]));

const nonEmpty = z.string().min(1);
const AN_ID = { error: 'must be an id: digits, in quotes above 9007199254740991' };
const id = z
  .union([z.int().min(0), z.string().regex(/^\d{1,19}$/, AN_ID)], AN_ID)
  .transform((value) => BigInt(value))
  .refine((value) => value <= MAX_INT64, 'is beyond 64 bits');
const ids = z.array(id).prefault([]);

export const PLACEHOLDER_HOST = 'fill-in.invalid';

/** The messages do not repeat the address, which may contain a password. */
const baseUrl = z
  .url({
    protocol: /^https?$/,
    error: 'must be an absolute address such as "https://api.example.com"',
    abort: true,
  })
  .regex(/^\w+:\/\/[^/?#@]+(?:\/[^?#]*)?$/, 'must not hold a user name, password, query or fragment')
  .refine((text) => !text.includes(PLACEHOLDER_HOST), 'is still a placeholder: replace it');

export const v3BaseUrl = baseUrl.transform(withoutSlash);
export const v4BaseUrl = baseUrl
  .refine((text) => !/\/v4\/*$/i.test(text), 'must not end in /v4: it is added to every request')
  .transform(withoutSlash);

const NAME = '[A-Za-z_][A-Za-z0-9_]*';
const fieldName = z.string().regex(new RegExp(`^${NAME}$`), 'must be the name of a field');
const fieldPath = z
  .string()
  .regex(new RegExp(`^${NAME}(?:\\.${NAME})*$`), 'must be the name of a field, such as "company.svc_id"');
const modelPath = z
  .string()
  .regex(/^[\w-]+\/[\w-]+$/, 'must be category/model: "accounting/invoices"')
  .refine(
    (path) => path !== 'core/companies',
    "must not be core/companies, the name of V4's list of companies",
  );
const modelName = z.string().regex(/^[\w-]+$/, 'must be the name of a V4 data model: "invoices"');
export const regionName = z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/);

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}

function integer(min: number, max: number, fallback: number, description: string) {
  return z.int().min(min).max(max).default(fallback).describe(description);
}

function keyReference(defaultEnv: string) {
  return {
    apiKeyEnv: environmentName.optional().describe(`Variable with the API key. Default: ${defaultEnv}.`),
    apiKeyFile: nonEmpty.optional().describe('Instead: a file with the key that only its owner can read.'),
  };
}

function atMostOne(a: string, b: string) {
  const isFine = (value: Readonly<Record<string, unknown>>) =>
    value[a] === undefined || value[b] === undefined;
  return [isFine, `has both ${a} and ${b}: keep one`] as const;
}

const speed = {
  pageSize: integer(1, 10_000, 500, 'Records to request per page.'),
  concurrency: integer(1, 256, 8, 'Concurrent requests, per host.'),
  requestsPerSecond: z.number().positive().max(10_000).default(20).describe('Requests per second, per host.'),
};

const region = z
  .strictObject({
    baseUrl: v3BaseUrl.describe('V3 address of the region. Requests go to {baseUrl}/{category}/{model}.'),
    ...keyReference(DEFAULT_V3_KEY_ENV),
  })
  .refine(...atMostOne('apiKeyEnv', 'apiKeyFile'));

const v3 = z.strictObject({
  regions: z
    .record(regionName, region, {
      error: ({ code }) =>
        code === 'invalid_key' ? 'must be a name of letters, digits, "_", "." and "-"' : undefined,
    })
    .refine((regions) => Object.keys(regions).length > 0, 'needs at least one region')
    .describe('V3 endpoints, each under a name of your choice.'),
  ...speed,
  companies: ids.describe('Company ids: read each list company by company. Empty: each as one list.'),
});

const v4 = z
  .strictObject({
    baseUrl: v4BaseUrl.describe('V4 address without /v4. Requests go to {baseUrl}/v4/core/companies/….'),
    ...keyReference(DEFAULT_V4_KEY_ENV),
    ...speed,
    includeDeleted: z
      .union([z.literal('auto'), z.boolean()])
      .default('auto')
      .describe('Whether to request deleted records. auto: yes, and continue without them where V4 refuses.'),
    companies: ids.describe("V4 company ids to read. Empty: all in V4's list of companies."),
    companyIdField: fieldPath
      .nullable()
      .default(null)
      .describe('Field with the id of a company in the V4 company list; a dot goes one object deeper.'),
  })
  .refine(...atMostOne('apiKeyEnv', 'apiKeyFile'));

const model = z.strictObject({
  v3: modelPath.describe('V3 path: category/model.'),
  v4: modelName
    .nullable()
    .optional()
    .describe('V4 data model name. null: V4 does not have this model. Default: a guess.'),
  expand: z.array(fieldName).optional().describe('Related objects to request with each record.'),
  children: z.array(fieldName).optional().describe('Fields whose items have ids: children of the record.'),
});

const models = z
  .array(model.transform(resolveModel))
  .min(1)
  .superRefine((pairs, context) => {
    for (const [index, { v3, v4 }] of pairs.entries()) {
      const earlier = pairs.slice(0, index);
      const twin = v4 === null ? undefined : earlier.find((other) => other.v4 === v4);
      if (earlier.some((other) => other.v3 === v3)) {
        addProblem(context, [index, 'v3'], `names ${v3} a second time`);
      } else if (twin !== undefined) {
        const message = `is ${v4}, the V4 name of ${twin.v3}: two V3 models must not share one`;
        addProblem(context, [index, 'v4'], message);
      }
    }
  });

function addProblem(context: z.RefinementCtx, path: PropertyKey[], message: string): void {
  context.addIssue({ code: 'custom', path, message });
}

const companies = z
  .strictObject({
    match: z
      .union([z.enum(['auto', 'same_id']), z.strictObject({ file: nonEmpty })], {
        error: 'must be "auto", "same_id" or {"file": "companies.csv"}',
      })
      .default('auto')
      .describe(
        'How V3 companies are paired with V4 companies: auto, same_id, or auto with a file of pairs.',
      ),
    include: ids.describe('Only these V3 companies. Empty: all.'),
    exclude: ids.describe('V3 companies to leave out.'),
  })
  .superRefine(({ include, exclude }, context) => {
    const index = exclude.findIndex((company) => include.includes(company));
    if (index >= 0) addProblem(context, ['exclude', index], 'is in companies.include, too');
  });

const backfill = z
  .strictObject({
    since: z
      .union([z.iso.date(), z.iso.datetime({ offset: true })], {
        error: 'must be an ISO 8601 time such as "2026-08-20T00:00:00Z"',
      })
      .transform((text) => Date.parse(text))
      .optional()
      .describe(
        "Start of the history that V4 loaded at its first sync. Default: inferred from V4's records.",
      ),
    days: z.number().positive().max(36_500).optional().describe('The same in days before now.'),
    dateFields: z
      .array(fieldName)
      .min(1)
      .default(['posted_date', 'created_at', 'updated_at', 'org_created_at'])
      .describe('Dates from the platform that decide whether a record is older than this history.'),
  })
  .refine(...atMostOne('since', 'days'));

const http = z
  .strictObject({
    timeoutMs: integer(1, 3_600_000, 60_000, 'Longest time for one request, in milliseconds.'),
    attempts: integer(1, 100, 6, 'Attempts per page before the list is left incomplete.'),
    maxWaitMs: integer(0, 86_400_000, 300_000, 'Longest wait that the service may ask for, in milliseconds.'),
    maxBodyMiB: integer(1, 1024, 32, 'Largest response body to accept, in MiB.'),
    allowHttp: z.boolean().default(false).describe('Allow plain HTTP, which sends the API key unencrypted.'),
  })
  .transform(({ maxBodyMiB, ...rest }) => ({ ...rest, maxBodyBytes: maxBodyMiB * 2 ** 20 }));

const limits = z
  .strictObject({
    ...limitsByName,
    models: z
      .record(z.string(), z.strictObject(limitsByName))
      .prefault({})
      .describe('Limits for one model, by its V3 path. They override the other limits.'),
  })
  .transform(({ models: byModel, ...rest }) => ({
    global: Object.fromEntries(Object.entries<LimitValue>(rest)),
    models: byModel,
  }));

const fileSchema = z.strictObject({
  $schema: z.string().optional().describe('JSON Schema, for editors.'),
  database: nonEmpty
    .default('svc-migrate.db')
    .describe('Database file; --db and SVC_MIGRATE_DB override it.'),
  fieldPrefix: fieldName
    .default('svc_')
    .describe("The service's field prefix: <prefix>id, <prefix>company_id."),
  v3: v3.describe('The earlier API.'),
  v4: v4.describe('The current API.'),
  models: models
    .optional()
    .describe('Models to migrate. Default: the eight V3 models of the specification, and invoices.')
    .transform((pairs) => pairs ?? DEFAULT_MODELS),
  companies: companies.prefault({}).describe('Which companies, and how they are paired.'),
  decisions: nonEmpty.nullable().default(null).describe('CSV file of decisions.'),
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
  maxAge: z
    .string()
    .transform(parseDuration)
    .pipe(z.number({ error: 'must be a duration such as "15m", "24h" or "90d"' }))
    .prefault(`${DEFAULT_MAX_AGE_MS / 3_600_000}h`)
    .describe('The gate fails if a list was read longer ago than this.'),
});

/** The schema of the configuration file, with defaults. The JSON Schema is generated from it. */
export const configSchema = fileSchema.superRefine(({ v3, v4, http, limits, models }, context) => {
  const addresses = [
    ...Object.entries(v3.regions).map(([name, { baseUrl }]) => [baseUrl, 'v3', 'regions', name] as const),
    [v4.baseUrl, 'v4'] as const,
  ];
  for (const [address, ...path] of addresses) {
    const { protocol, hostname } = new URL(address);
    if (protocol !== 'http:' || isLoopback(hostname) || http.allowHttp) continue;
    const message = 'would send the key over plain http: use https, or accept this with http.allowHttp';
    addProblem(context, [...path, 'baseUrl'], message);
  }
  const paths = models.map((pair) => pair.v3);
  for (const name of Object.keys(limits.models)) {
    if (paths.includes(name)) continue;
    const message = `is not a configured model${didYouMeanClause(name, paths)}`;
    addProblem(context, ['limits', 'models', name], message);
  }
});

export type Settings = z.output<typeof configSchema>;
