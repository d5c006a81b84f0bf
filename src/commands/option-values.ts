import type { Config } from '../config/config.js';
import { parseDuration } from '../config/values.js';
import { parseId } from '../domain.js';
import { SvcError } from '../errors.js';
import type { Since } from '../report/sections.js';
import { didYouMean } from '../text/suggest.js';
import { OUTPUTS } from './catalogue/options.js';
import type { CommandLine, Narrowing } from './command.js';
import { flagOf } from './option.js';

/** @throws SvcError `usage` if the value is not a whole number of up to ten digits from `min` to `max` */
export function wholeNumberOption(
  given: CommandLine,
  name: string,
  min = 0,
  max?: number,
): number | undefined {
  const text = given.text(name);
  if (text === undefined) return undefined;
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= (max ?? number)) return number;
  const least = min === 0 ? '' : ` of at least ${min}`;
  const range = max === undefined ? least : ` from ${min} to ${max}`;
  throw new SvcError('usage', `${flagOf(name)} takes a whole number${range}, not "${text}".`);
}

/** The value of an option, in ms. */
export function durationOption(given: CommandLine, name: string): number | undefined {
  const text = given.text(name);
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms !== null) return ms;
  throw new SvcError('usage', `${flagOf(name)} takes a duration such as 90s, 5m or 2h, not "${text}".`);
}

function requireId(text: string): bigint {
  const id = parseId(text);
  if (id !== null) return id;
  throw new SvcError('usage', `"${text}" is not a company id: digits only, at most 9223372036854775807.`);
}

/** The error for two options of which only one can be given. */
export function notTogether(one: string, other: string, hint?: string): SvcError {
  return new SvcError('usage', `${one} cannot be combined with ${other}.`, { hint });
}

/** The error for an option that means nothing without another one. */
export function needsOption(one: string, other: string): SvcError {
  return new SvcError('usage', `${one} needs ${other}.`);
}

/** Values of the output options that were given, by the names of the renderers. */
export function outputsOf(given: CommandLine): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.keys(OUTPUTS).flatMap((name) => {
      const target = given.text(name);
      return target === undefined ? [] : [[name, target]];
    }),
  );
}

/** The same limit as for `http.maxWaitMs` in the configuration. */
const MAX_WAIT_MS = 86_400_000;

export interface MaxWait {
  /** `--max-wait` in ms. */
  readonly maxWait?: number | undefined;
}

/** The configuration with `--max-wait`. */
export function withMaxWait(config: Config, { maxWait }: MaxWait): Config {
  return maxWait === undefined ? config : { ...config, http: { ...config.http, maxWaitMs: maxWait } };
}

/** The configuration with `--max-wait`. */
export async function configWithMaxWait(given: CommandLine): Promise<Config> {
  const config = await given.config();
  const text = given.text('maxWait');
  if (text === undefined) return config;
  const maxWaitMs = parseDuration(text);
  if (maxWaitMs !== null && maxWaitMs <= MAX_WAIT_MS) {
    return { ...config, http: { ...config.http, maxWaitMs } };
  }
  throw new SvcError('usage', `--max-wait takes a duration up to 24h, not "${text}".`, {
    hint: 'Write it as 90s or 15m, for example.',
  });
}

/** @throws SvcError `usage` if `--since` is neither a number nor `previous` */
export function sinceOption(given: CommandLine): Since | undefined {
  const text = given.text('since');
  if (text === undefined || text === 'previous') return text;
  if (/^\d{1,15}$/.test(text)) return BigInt(text);
  throw new SvcError('usage', `--since takes the number of a build or previous, not "${text}".`);
}

/** The values of `--model` and `--company`. */
export function narrowingOf(given: CommandLine, config: Config): Narrowing {
  const models = given.texts('model');
  for (const model of models) assertConfigured(config, model);
  return { models, companies: given.texts('company').map(requireId) };
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

/** The model, `--path` and `--region`. They must be configured: the remap has no ids of others. */
export function idScopeOf(options: IdScopeOptions, config: Config): IdScope {
  const { model, path = null, region = null } = options;
  assertConfigured(config, model);
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

export function assertConfigured(config: Config, model: string): void {
  const known = config.models.map(({ v3 }) => v3);
  if (known.includes(model)) return;
  throw new SvcError('usage', `There is no model "${model}" in the configuration.`, {
    hint: didYouMean(model, known) ?? `Configured: ${known.join(', ')}.`,
  });
}
