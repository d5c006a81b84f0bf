import type { Config } from '../config/config.js';
import type { Generation } from '../domain.js';
import { SvcError } from '../errors.js';
import { hasNoList } from '../store/readiness.js';
import type { StreamRow } from '../store/streams.js';

/**
 * Checks that not every list of a generation, or of one V3 region, answered 404: then names or address are wrong, and
 * waiting is useless.
 *
 * @throws SvcError `config`, naming the models and hosts that were asked
 */
export function assertListsExist(
  generation: Generation,
  streams: readonly Pick<StreamRow, 'generation' | 'model' | 'region' | 'state'>[],
  config: Pick<Config, 'models' | 'v3' | 'v4'>,
): void {
  const own = streams.filter((stream) => stream.generation === generation);
  const absent = hasNoList(own, generation)
    ? own
    : own.filter(({ region }) => isRegionAbsent(own, region, config));
  if (absent.length === 0) return;
  const asked = new Set(absent.map(({ model }) => model));
  const models = config.models
    .filter(({ v3 }) => asked.has(v3))
    .map(({ v3, v4 }) => (generation === 'v3' ? v3 : (v4 ?? v3)));
  const regions = new Set(absent.map(({ region }) => region));
  const endpoints =
    generation === 'v3' ? config.v3.regions.filter(({ region }) => regions.has(region)) : [config.v4];
  const isPart = absent.length < own.length;
  throw noSuchList(generation, models, endpoints, isPart ? [...regions] : []);
}

/** Whether a V3 region was asked for all models and has none; one that lacks the models of `--model` proves nothing. */
function isRegionAbsent(
  streams: Parameters<typeof assertListsExist>[1],
  region: string,
  { models }: Pick<Config, 'models'>,
): boolean {
  const own = streams.filter((stream) => stream.generation === 'v3' && stream.region === region);
  return hasNoList(own, 'v3') && new Set(own.map(({ model }) => model)).size === models.length;
}

/** The error for a service that answers 404 to every list. */
export function noSuchList(
  generation: Generation,
  lists: readonly string[],
  endpoints: readonly { readonly baseUrl: string }[],
  regions: readonly string[] = [],
): SvcError {
  const hosts = [...new Set(endpoints.map(({ baseUrl }) => new URL(baseUrl).host))];
  const where =
    regions.length === 0 ? '' : ` in ${regions.length === 1 ? 'region' : 'regions'} ${regions.join(', ')}`;
  const name = `${generation.toUpperCase()}${where}`;
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
