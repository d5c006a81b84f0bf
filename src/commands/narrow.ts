import type { Config } from '../config/config.js';
import { parseId } from '../domain.js';
import { SvcError } from '../errors.js';
import { didYouMean } from '../text/suggest.js';
import type { Given, Narrowing } from './command.js';

/**
 * `--model` and `--company`, checked.
 *
 * @throws SvcError `usage` for a model that is not configured or a company that is no id
 */
export function parseNarrowing(given: Given, config: Config): Narrowing {
  const models = given.texts('model');
  for (const model of models) assertConfigured(config, model);
  return { models, companies: given.texts('company').map((text) => requireId(text, 'company id')) };
}

/** @throws SvcError `usage` where the model is not configured */
function assertConfigured(config: Config, model: string): void {
  const known = config.models.map(({ v3 }) => v3);
  if (known.includes(model)) return;
  throw new SvcError('usage', `There is no model "${model}" in the configuration.`, {
    hint: didYouMean(model, known) ?? `Configured: ${known.join(', ')}.`,
  });
}

/** Where in a model to look; null is anywhere. */
export interface Place {
  readonly model: string;
  /** '' for records, else a field of children. */
  readonly path: string | null;
  readonly region: string | null;
}

/**
 * A place that is not configured holds nothing: ids would be unknown there for no reason of their own.
 *
 * @throws SvcError `usage`
 */
export function assertPlace(config: Config, { model, path, region }: Place): void {
  assertConfigured(config, model);
  const children = config.models.find(({ v3 }) => v3 === model)?.children ?? [];
  if (path !== null && path !== '' && !children.includes(path)) {
    throw new SvcError('usage', `"${path}" is no field with children of ${model}.`, {
      hint: didYouMean(path, children) ?? 'It has none in the configuration: leave out --path.',
    });
  }
  const regions = config.v3.regions.map((endpoint) => endpoint.region);
  if (region !== null && !regions.includes(region)) {
    throw new SvcError('usage', `There is no region "${region}" in the configuration.`, {
      hint: didYouMean(region, regions) ?? undefined,
    });
  }
}

/** @throws SvcError `usage` where the text is no 64-bit id */
export function requireId(text: string, what: string): bigint {
  const id = parseId(text);
  if (id !== null) return id;
  throw new SvcError('usage', `"${text}" is no ${what}: digits only, at most 9223372036854775807.`);
}
