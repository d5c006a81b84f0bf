import type { Config } from '../config/config.js';
import { type Generation, isUnfinished, STREAM_STATES, shownState } from '../domain.js';
import { SvcError } from '../errors.js';
import { hasNoList, isExported, type Readiness } from '../store/readiness.js';
import type { StreamGroup } from '../store/scoped-streams.js';
import type { StreamRow } from '../store/streams.js';
import { countOf, formatDuration, formatShare, groupDigits } from '../text/numbers.js';
import { groupBy } from '../text/rows.js';

/** The lists of a generation in the database: `V3: 9 lists (9 complete), 1,200 records, oldest reading 5 min ago`. */
export function describeGeneration(facts: Readiness, generation: 'v3' | 'v4', now: number): string {
  const groups = facts.groups.filter((group) => group.generation === generation);
  const name = generation.toUpperCase();
  if (groups.length === 0)
    return `${name}: ${isExported(facts, generation) ? 'no lists' : 'not exported yet'}`;
  const states = [...STREAM_STATES, 'not started' as const]
    .map((state) => ({
      state,
      n: sumOf(groups, 'lists', (group) => shownState(group.state, group.isBegun) === state),
    }))
    .filter(({ n }) => n > 0);
  const rejected = sumOf(groups, 'rejected');
  const byCompany = sumOf(groups, 'byCompany');
  const oldest = oldestReading(groups);
  const parts = [
    `${countOf(sumOf(groups, 'lists'), 'list')} (${states.map(({ state, n }) => `${groupDigits(n)} ${state}`).join(', ')})`,
    describeRecords(groups),
    ...(byCompany > 0 ? [`${groupDigits(byCompany)} read company by company`] : []),
    ...(rejected > 0 ? [`${groupDigits(rejected)} rejected`] : []),
    ...(oldest === undefined ? [] : [`oldest reading ${formatDuration(now - Date.parse(oldest))} ago`]),
  ];
  return `${name}: ${parts.join(', ')}`;
}

/** `1,200 records`, or while lists are being read `1,200 of about 2,243 records (53 %)`. */
function describeRecords(groups: readonly StreamGroup[]): string {
  const records = sumOf(groups, 'uniqueRecords');
  const open = groups.filter(isUnfinished);
  if (open.length === 0 || sumOf(open, 'uncounted') > 0) return countOf(records, 'record');
  const total = records - sumOf(open, 'uniqueRecords') + sumOf(open, 'expected');
  return `${groupDigits(records)} of about ${countOf(total, 'record')} (${formatShare(records, total)})`;
}

export function sumOf(
  groups: readonly StreamGroup[],
  count: 'lists' | 'byCompany' | 'uniqueRecords' | 'rejected' | 'uncounted' | 'expected',
  isCounted: (group: StreamGroup) => boolean = () => true,
): number {
  return groups.filter(isCounted).reduce((sum, group) => sum + group[count], 0);
}

/** The oldest reading of lists that were begun. Times in ISO 8601 sort as strings. */
export function oldestReading(groups: readonly StreamGroup[]): string | undefined {
  const begun = groups.filter(({ state, isBegun }) => shownState(state, isBegun) !== 'not started');
  return begun.map(({ oldestReadAt }) => oldestReadAt).sort()[0];
}

/**
 * Checks that a generation, and each V3 region, has lists.
 *
 * @throws SvcError `config` if all its lists answered 404: the names or the address are wrong, and trying again is useless
 */
export function assertListsExist(
  generation: Generation,
  streams: readonly Pick<StreamRow, 'generation' | 'model' | 'region' | 'state'>[],
  config: Pick<Config, 'models' | 'v3' | 'v4'>,
): void {
  const own = streams.filter((stream) => stream.generation === generation);
  const gone = new Set(
    [...groupBy(own, byRegion)].flatMap(([region, lists]) => (isRegionAbsent(lists, config) ? region : [])),
  );
  const absent = hasNoList(own, generation) ? own : own.filter(({ region }) => gone.has(region));
  if (absent.length === 0) return;
  const asked = new Set(absent.map(({ model }) => model));
  const models = config.models
    .filter(({ v3 }) => asked.has(v3))
    .map(({ v3, v4 }) => (generation === 'v3' ? v3 : (v4 ?? v3)));
  const regions = new Set(absent.map(byRegion));
  const endpoints =
    generation === 'v3' ? config.v3.regions.filter(({ region }) => regions.has(region)) : [config.v4];
  const isPart = absent.length < own.length;
  throw noSuchList(generation, models, endpoints, isPart ? [...regions] : []);
}

type AskedLists = Parameters<typeof assertListsExist>[1];

const byRegion = ({ region }: AskedLists[number]) => region;

/** Whether a V3 region was asked for all models and has none. That it lacks the models of `--model` proves nothing. */
function isRegionAbsent(lists: AskedLists, { models }: Pick<Config, 'models'>): boolean {
  return hasNoList(lists, 'v3') && new Set(lists.map(({ model }) => model)).size === models.length;
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
    generation === 'v3' ? endpoints.filter(({ baseUrl }) => !/\/v\d+(\/|$)/.test(baseUrl)) : [];
  const correct = unversioned && `Is its address ${unversioned.baseUrl}/v3? `;
  return new SvcError(
    'config',
    `${name} has none of the configured lists: ${hosts.join(', ')} answered 404 to ${lists.join(', ')}.`,
    {
      hint: `${correct ?? ''}Run \`svc-migrate doctor\`: it tries other names and addresses, and can write down those that answer.`,
    },
  );
}
