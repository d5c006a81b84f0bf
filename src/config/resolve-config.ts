import { dirname, resolve } from 'node:path';
import { resolveTarget } from './apply-targets.js';
import type { CompanyMatching, Config, Endpoint, LimitValue } from './config.js';
import { DEFAULT_MODELS, DEFAULT_V3_KEY_ENV, DEFAULT_V4_KEY_ENV, resolveModel } from './defaults.js';
import { parseDuration } from './durations.js';
import { parseLimitValue } from './limits.js';
import type { ConfigInput } from './schema.js';
import { instantOf } from './values.js';

const DAY_MS = 86_400_000;
const MIB = 1024 * 1024;

/** What resolving needs beside the file's content. */
interface Given {
  readonly file: string;
  /** From flag or environment; outranks the file. */
  readonly database: string | undefined;
  readonly nowMs: number;
}

/** The configuration everybody works with, from a file without problems. */
export function resolveConfig(input: ConfigInput, given: Given): Config {
  const folder = dirname(given.file);
  const { http, backfill, companies } = input;
  return {
    file: given.file,
    database: given.database === undefined ? resolve(folder, input.database) : resolve(given.database),
    fieldPrefix: input.fieldPrefix,
    v3: {
      regions: Object.entries(input.v3.regions).map(([region, own]) =>
        resolveEndpoint(region, { ...input.v3, ...own }, DEFAULT_V3_KEY_ENV, folder),
      ),
      companies: input.v3.companies.map(BigInt),
      sweepOverlapMs: parseDuration(input.v3.sweepOverlap) ?? 0,
    },
    v4: {
      ...resolveEndpoint('', input.v4, DEFAULT_V4_KEY_ENV, folder),
      includeDeleted: input.v4.includeDeleted,
      companies: input.v4.companies.map(BigInt),
      companyIdField: input.v4.companyIdField,
      eventTypeField: input.v4.eventTypeField,
    },
    models: input.models?.map(resolveModel) ?? DEFAULT_MODELS,
    companies: {
      match: resolveMatching(companies.match, folder),
      include: companies.include.map(BigInt),
      exclude: companies.exclude.map(BigInt),
    },
    decisions: input.decisions === null ? null : resolve(folder, input.decisions),
    backfill: {
      sinceMs: resolveSince(backfill, given.nowMs),
      isRelative: backfill.since === undefined && backfill.days !== undefined,
      dateFields: backfill.dateFields,
    },
    http: {
      timeoutMs: http.timeoutMs,
      attempts: http.attempts,
      maxWaitMs: http.maxWaitMs,
      maxBodyBytes: http.maxBodyMiB * MIB,
      allowHttp: http.allowHttp,
    },
    payload: input.payload,
    drift: input.drift,
    limits: resolveLimits(input.limits),
    apply: { targets: input.apply.targets.map((target) => resolveTarget(target, folder)) },
    maxAgeMs: parseDuration(input.maxAge) ?? 0,
  };
}

interface EndpointInput {
  readonly baseUrl: string;
  readonly apiKeyEnv?: string | undefined;
  readonly apiKeyFile?: string | undefined;
  readonly pageSize: number;
  readonly concurrency: number;
  readonly requestsPerSecond: number;
}

function resolveEndpoint(region: string, own: EndpointInput, keyEnv: string, folder: string): Endpoint {
  return {
    region,
    baseUrl: own.baseUrl.replace(/\/+$/, ''),
    keySource: own.apiKeyFile === undefined ? (own.apiKeyEnv ?? keyEnv) : resolve(folder, own.apiKeyFile),
    pageSize: own.pageSize,
    concurrency: own.concurrency,
    requestsPerSecond: own.requestsPerSecond,
  };
}

function resolveMatching(match: ConfigInput['companies']['match'], folder: string): CompanyMatching {
  return typeof match === 'string' ? match : { file: resolve(folder, match.file) };
}

function resolveSince({ since, days }: ConfigInput['backfill'], nowMs: number): number | null {
  if (since !== undefined) return instantOf(since);
  return days === undefined ? null : nowMs - days * DAY_MS;
}

function resolveLimits({ models, ...global }: ConfigInput['limits']): Config['limits'] {
  const byModel = Object.entries(models).map(([model, own]) => [model, resolveLimitValues(own)] as const);
  return { global: resolveLimitValues(global), models: Object.fromEntries(byModel) };
}

function resolveLimitValues(own: Readonly<Record<string, unknown>>): Record<string, LimitValue> {
  const values: Record<string, LimitValue> = {};
  for (const [name, raw] of Object.entries(own)) {
    if (typeof raw !== 'number' && typeof raw !== 'string') continue;
    values[name] = parseLimitValue(raw);
  }
  return values;
}
