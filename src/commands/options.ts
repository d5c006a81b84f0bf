import { InvalidArgumentError } from '@commander-js/extra-typings';
import type { Config } from '../config/config.js';
import { parseId } from '../domain.js';
import { SvcError } from '../errors.js';
import { parseDuration } from '../text/numbers.js';
import { didYouMeanClause } from '../text/suggest.js';

/** Limits a command to configured models and company ids; empty: no limit. */
export interface Narrowing {
  readonly models: readonly string[];
  readonly companies: readonly bigint[];
}

/** Parses a repeatable option. */
export function repeatable(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

/** Parses an id. */
export function idOption(value: string): bigint {
  const id = parseId(value);
  if (id === null) throw new InvalidArgumentError('It must be an id: digits.');
  return id;
}

/** Parses a repeatable option of ids. */
export function repeatableId(value: string, before: readonly bigint[] | undefined): readonly bigint[] {
  return [...(before ?? []), idOption(value)];
}

/** Parses a whole number within bounds. */
export function wholeNumber(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

/** Parses a duration such as `10m`, in ms. */
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
): Narrowing {
  const paths = models.map(({ v3 }) => v3);
  for (const model of options.model ?? []) {
    if (paths.includes(model)) continue;
    const clause = didYouMeanClause(model, paths);
    throw new SvcError(
      'usage',
      `"${model}" is not a configured model${clause}${clause.endsWith('?') ? '' : '.'}`,
    );
  }
  return { models: options.model ?? [], companies: options.company ?? [] };
}
