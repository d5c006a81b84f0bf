import type { Config } from '../config/config.js';
import type { Generation } from '../domain.js';
import { SvcError } from '../errors.js';
import { hasNoList } from '../store/readiness.js';
import type { StreamRow } from '../store/streams.js';

/**
 * Checks that not every list of a generation answered 404: then its names or address are wrong, and waiting is useless.
 *
 * @throws SvcError `config`, naming the models and hosts that were asked
 */
export function assertListsExist(
  generation: Generation,
  streams: readonly Pick<StreamRow, 'generation' | 'model' | 'region' | 'state'>[],
  config: Pick<Config, 'models' | 'v3' | 'v4'>,
): void {
  const own = streams.filter((stream) => stream.generation === generation);
  if (!hasNoList(own, generation)) return;
  const asked = new Set(own.map(({ model }) => model));
  const models = config.models
    .filter(({ v3 }) => asked.has(v3))
    .map(({ v3, v4 }) => (generation === 'v3' ? v3 : (v4 ?? v3)));
  const regions = new Set(own.map(({ region }) => region));
  const endpoints =
    generation === 'v3' ? config.v3.regions.filter(({ region }) => regions.has(region)) : [config.v4];
  throw noSuchList(generation, models, endpoints);
}

/** The error for a service that answers 404 to every list. */
export function noSuchList(
  generation: Generation,
  lists: readonly string[],
  endpoints: readonly { readonly baseUrl: string }[],
): SvcError {
  const hosts = [...new Set(endpoints.map(({ baseUrl }) => new URL(baseUrl).host))];
  const name = generation.toUpperCase();
  const [unversioned] =
    generation === 'v3' ? endpoints.filter(({ baseUrl }) => !/\/v\d+$/.test(baseUrl)) : [];
  const correct = unversioned && `Is its address ${unversioned.baseUrl}/v3? `;
  return new SvcError(
    'config',
    `${name} has none of the configured lists: ${hosts.join(', ')} answered 404 to ${lists.join(', ')}.`,
    {
      hint: `${correct ?? ''}Run \`svc-migrate doctor --write-config corrected.jsonc\`: it tries other names and addresses, and writes down those that answer.`,
    },
  );
}
