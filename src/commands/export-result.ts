import type { Config } from '../config/config.js';
import type { Generation } from '../domain.js';
import { SvcError } from '../errors.js';
import type { ExportSummary } from '../export/run-export.js';
import { hasNoList } from '../store/readiness.js';
import type { StreamRow } from '../store/streams.js';
import { escapeUnseen } from '../text/escape.js';
import { countOf, groupDigits } from '../text/numbers.js';
import { groupBy } from '../text/rows.js';
import { wrapText } from '../text/text-layout.js';

/** Summaries of the exported generations in the database, with warnings and the next command. */
export function renderExportSummary(
  ended: readonly { readonly generation: Generation; readonly summary: ExportSummary | null }[],
  config: Config,
  next: string | null,
  width: number,
): string {
  const lines = ended.flatMap(({ generation, summary }) =>
    summary === null ? [] : describeGeneration(generation, summary, config, width),
  );
  return `${[...lines, ...(next === null ? [] : [`Next: ${next}`])].join('\n')}\n`;
}

function describeGeneration(
  generation: Generation,
  summary: ExportSummary,
  config: Config,
  width: number,
): string[] {
  const begun = summary.streams.filter((stream) => !isNotBegun(stream));
  const total = countOf(sum(summary.streams, 'uniqueRecords'), 'record');
  const missing = summary.complete
    ? ''
    : ' (not everything yet; the next export continues where this one stopped)';
  const lists = `${countOf(begun.length, 'list')} (${describeStates(begun)}), ${countOf(sum(begun, 'pages'), 'page')}`;
  const own = `${generation.toUpperCase()}: ${total} in ${config.database}${missing}; ${lists}`;
  return [
    ...wrapText(escapeUnseen(own), width),
    ...listWarnings(generation, summary).flatMap((text) => wrapText(`Warning: ${text}`, width)),
  ];
}

/** Whether no page was requested: such as a model that an export was not asked for. */
function isNotBegun({ state, pages }: StreamRow): boolean {
  return state === 'running' && pages === 0;
}

function sum(streams: readonly StreamRow[], name: 'pages' | 'uniqueRecords' | 'rejected'): number {
  return streams.reduce((total, stream) => total + stream[name], 0);
}

/** The number of lists in each state: `8 complete, 1 failed`. */
function describeStates(streams: readonly StreamRow[]): string {
  const states = groupBy(streams, ({ state }) => state);
  return [...states].map(([state, own]) => `${groupDigits(own.length)} ${state}`).join(', ');
}

function listWarnings(generation: Generation, { streams }: ExportSummary): string[] {
  const warnings: string[] = [];
  const absent = streams.filter(({ state }) => state === 'absent');
  if (generation === 'v3' && absent.length > 0) {
    const names = absent.map(({ model, region }) => `${model} (${region})`).join(', ');
    warnings.push(`V3 has no ${names}: answered 404. Check the models in the configuration.`);
  }
  const short = streams.filter(({ state }) => state === 'short').length;
  if (short > 0) {
    const lists = countOf(short, 'list was', 'lists were');
    warnings.push(`${lists} read in full twice, with fewer records than total_count says.`);
  }
  const rejected = sum(streams, 'rejected');
  if (rejected > 0) {
    warnings.push(
      `${countOf(rejected, 'object')} could not be read as a record; see the table rejected in the database.`,
    );
  }
  return warnings;
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
    generation === 'v3' ? endpoints.filter(({ baseUrl }) => !/\/v\d+$/.test(baseUrl)) : [];
  const correct = unversioned && `Is its address ${unversioned.baseUrl}/v3? `;
  return new SvcError(
    'config',
    `${name} has none of the configured lists: ${hosts.join(', ')} answered 404 to ${lists.join(', ')}.`,
    {
      hint: `${correct ?? ''}Run \`svc-migrate doctor\`: it tries other names and addresses, and can write down those that answer.`,
    },
  );
}
