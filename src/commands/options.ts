import { InvalidArgumentError } from '@commander-js/extra-typings';
import type { Config } from '../config/config.js';
import { parseId } from '../domain.js';
import { SvcError } from '../errors.js';
import type { Scope } from '../store/remap.js';
import { parseDuration } from '../text/numbers.js';
import { didYouMeanClause } from '../text/suggest.js';

export function repeatable(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

export function idOption(value: string): bigint {
  const id = parseId(value);
  if (id === null) throw new InvalidArgumentError('It must be an id: digits.');
  return id;
}

export function repeatableId(value: string, before: readonly bigint[] | undefined): readonly bigint[] {
  return [...(before ?? []), idOption(value)];
}

export function wholeNumber(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

export function durationMs(value: string): number {
  const ms = parseDuration(value);
  if (ms !== null) return ms;
  throw new InvalidArgumentError('It must be a duration such as 30s, 15m or 24h.');
}

/** The models and companies that options name. @throws SvcError `usage` for a model that is not configured */
export function narrowingOf(
  options: {
    readonly model?: readonly string[] | undefined;
    readonly company?: readonly bigint[] | undefined;
  },
  { models }: Pick<Config, 'models'>,
): Required<Scope> {
  const paths = models.map(({ v3 }) => v3);
  for (const model of options.model ?? []) assertConfigured('model', model, paths);
  return { models: options.model ?? [], companies: options.company ?? [] };
}

/** The model, field of children (null: not named), region and company of ids. @throws SvcError `usage` */
export function placeOf(
  name: string,
  options: { readonly region?: string | undefined; readonly company?: bigint | undefined },
  { models, v3 }: Pick<Config, 'models' | 'v3'>,
) {
  const [path = '', field = null] = name.split('#', 2);
  assertConfigured(
    'model',
    path,
    models.map((model) => model.v3),
  );
  const { region = null, company: companyId = null } = options;
  const fields = models.find((model) => model.v3 === path)?.children ?? [];
  if (field !== null) assertConfigured(`field with children in ${path}`, field, fields);
  const regions = v3.regions.map((endpoint) => endpoint.region);
  if (region !== null) assertConfigured('region', region, regions);
  return { model: path, path: field, region, companyId };
}

function assertConfigured(what: string, name: string, names: readonly string[]): void {
  if (names.includes(name)) return;
  const clause = didYouMeanClause(name, names);
  const end = clause.endsWith('?') ? '' : '.';
  throw new SvcError('usage', `"${name}" is not a configured ${what}${clause}${end}`);
}
