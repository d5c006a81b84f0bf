import type { Config } from '../config/config.js';
import { didYouMean } from '../config/suggest.js';
import { SvcError } from '../errors.js';
import type { Given, Narrowing } from './command.js';

const MAX_INT64 = 2n ** 63n - 1n;

/**
 * `--model` and `--company`, checked.
 *
 * @throws SvcError `usage` for a model that is not configured or a company that is no id
 */
export function parseNarrowing(given: Given, config: Config): Narrowing {
  const models = given.texts('model');
  for (const model of models) assertConfigured(config, model);
  return { models, companies: given.texts('company').map((text) => parseId(text, 'company id')) };
}

/** @throws SvcError `usage` where the model is not configured */
export function assertConfigured(config: Config, model: string): void {
  const known = config.models.map(({ v3 }) => v3);
  if (known.includes(model)) return;
  throw new SvcError('usage', `There is no model "${model}" in the configuration.`, {
    hint: didYouMean(model, known) ?? `Configured: ${known.join(', ')}.`,
  });
}

/** @throws SvcError `usage` where the text is no 64-bit id */
export function parseId(text: string, what: string): bigint {
  if (/^\d{1,19}$/.test(text)) {
    const id = BigInt(text);
    if (id <= MAX_INT64) return id;
  }
  throw new SvcError('usage', `"${text}" is no ${what}: digits only, at most 9223372036854775807.`);
}
