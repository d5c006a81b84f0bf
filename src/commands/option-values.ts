import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import type { Scope } from '../store/remap-rows.js';
import { didYouMean } from '../text/suggest.js';
import type { Narrowing } from './command.js';

/** The error for two options of which only one can be given. */
function notTogether(one: string, other: string, hint?: string): SvcError {
  return new SvcError('usage', `${one} cannot be combined with ${other}.`, { hint });
}

export interface MaxWait {
  /** `--max-wait` in ms. */
  readonly maxWait?: number | undefined;
}

/** The configuration with `--max-wait`. */
export function withMaxWait(config: Config, { maxWait }: MaxWait): Config {
  return maxWait === undefined ? config : { ...config, http: { ...config.http, maxWaitMs: maxWait } };
}

export interface NarrowingOptions {
  readonly model: readonly string[];
  readonly company: readonly bigint[];
}

/** The values of `--model` and `--company`. */
export function narrowingOf({ model, company }: NarrowingOptions, config: Config): Narrowing {
  for (const one of model) assertConfigured(config, one);
  return { models: model, companies: company };
}

/** Where to look up an id; null: anywhere in the model. */
export interface IdScope {
  readonly model: string;
  /** '' for records, otherwise a field of children. */
  readonly path: string | null;
  readonly region: string | null;
}

export interface IdScopeOptions {
  readonly model: string;
  readonly path?: string | undefined;
  readonly region?: string | undefined;
}

/** The model, which may be `accounting/invoices#line_items`, `--path` and `--region`. They must be configured: the remap has no ids of others. */
export function idScopeOf(options: IdScopeOptions, config: Config): IdScope {
  const [model = '', field] = options.model.split('#');
  const { path = field ?? null, region = null } = options;
  assertConfigured(config, model);
  if (field !== undefined && field !== path) throw notTogether('--path', options.model);
  const children = config.models.find(({ v3 }) => v3 === model)?.children ?? [];
  if (path !== null && path !== '' && !children.includes(path)) {
    throw new SvcError('usage', `"${path}" is not a field with children of ${model}.`, {
      hint:
        didYouMean(path, children) ??
        'The configuration names no such fields for this model: leave out --path.',
    });
  }
  const regions = config.v3.regions.map((endpoint) => endpoint.region);
  if (region !== null && !regions.includes(region)) {
    throw new SvcError('usage', `There is no region "${region}" in the configuration.`, {
      hint: didYouMean(region, regions) ?? undefined,
    });
  }
  return { model, path, region };
}

function assertConfigured(config: Config, model: string): void {
  const known = config.models.map(({ v3 }) => v3);
  if (known.includes(model)) return;
  throw new SvcError('usage', `There is no model "${model}" in the configuration.`, {
    hint: didYouMean(model, known) ?? `Configured: ${known.join(', ')}.`,
  });
}

/** The scope of `--model` and `--company`; everything without them. */
export function scopeOf(
  options: { readonly [Name in keyof Narrowing]?: Narrowing[Name] | undefined },
): Scope {
  const { models = [], companies = [] } = options;
  return {
    models: models.length === 0 ? null : models,
    companies: companies.length === 0 ? null : companies,
  };
}
