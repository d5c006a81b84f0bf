import type { Api } from '../../api/client.js';
import type { NamedCompanyPair } from '../../config/companies-file.js';
import type { Config, Endpoint } from '../../config/config.js';
import type { OnProgress } from '../../domain.js';
import { SvcError } from '../../errors.js';
import { type Ask, prepareAsk } from './ask-list.js';
import type { Answer, HostFacts, PageFacts, RemoteFacts, V3ListFacts, V4Facts } from './facts.js';
import { lookUpKeys } from './look-up-keys.js';
import { previewPairs, type Sample } from './preview-pairs.js';
import { probePages } from './probe-pages.js';
import { probeSwitches } from './probe-switches.js';
import { probeV3, v3Question } from './probe-v3.js';
import { modelsInV4, probeAnything, probeNames, probeV4, sampleCompanies, v4Question } from './probe-v4.js';

export interface ProbeOptions {
  readonly config: Config;
  readonly api: Pick<Api, 'fetchWorded' | 'fetchV4Companies' | 'endpoints'>;
  /** What is wrong with each key; by region, '' for V4. */
  readonly keyErrors: ReadonlyMap<string, SvcError>;
  readonly named: readonly NamedCompanyPair[];
  /** Ask every company of V4, not a sample. */
  readonly all: boolean;
  readonly onProgress: OnProgress;
}

/** Asks both APIs a bounded number of questions; GETs only. */
export async function probeRemote(options: ProbeOptions): Promise<RemoteFacts> {
  const { config, api } = options;
  const ask = prepareAsk(api, config.fieldPrefix);
  const [v3, v4] = await Promise.all([
    Promise.all(config.v3.regions.map((endpoint) => probeRegion(options, ask, endpoint))),
    probeV4Host(options, ask),
  ]);
  const lists = v3.flatMap((region) => region.lists);
  const switches = v4.facts === null ? null : await probeSwitches(ask, config, v4.facts.lists, lists);
  const facts = v4.facts === null ? null : { ...v4.facts, switches };
  const preview = facts === null ? [] : await previewCompanies(options, ask, lists, facts);
  const states = api.endpoints();
  const hosts = [...v3, v4].map(({ host }) => {
    const state = states.find(
      ({ generation, region }) => generation === host.generation && region === host.region,
    );
    return { ...host, clockOffsetMs: state?.clockOffsetMs ?? null, proxy: state?.proxy ?? null };
  });
  return {
    hosts,
    v3: lists,
    v4: facts,
    pages: [...v3, v4].flatMap(({ pages }) => pages ?? []),
    preview,
    requests: states.reduce((sum, { requests }) => sum + requests, 0),
  };
}

interface RegionFacts {
  readonly host: HostFacts;
  readonly lists: readonly V3ListFacts[];
  readonly pages: PageFacts | null;
}

async function probeRegion(options: ProbeOptions, ask: Ask, endpoint: Endpoint): Promise<RegionFacts> {
  const { config, keyErrors } = options;
  const { region, pageSize } = endpoint;
  const label = config.v3.regions.length > 1 ? `V3 ${region}` : 'V3';
  const host = { ...hostFacts(label, 'v3', endpoint), keyError: keyErrors.get(region) ?? null };
  const [first, ...others] = config.models;
  if (host.keyError !== null || first === undefined) return { host, lists: [], pages: null };
  // One alone: a refused key or a dead host is asked once.
  const [begun] = await probeV3(ask, config, region, [first]);
  const error = begun === undefined ? null : fatalOf(begun.answer);
  if (begun === undefined || error !== null) return { host: { ...host, error }, lists: [], pages: null };
  const lists = [begun, ...(await probeV3(ask, config, region, others))];
  step(options, `ask ${label} for samples`, lists.length, lists.length);
  const pages = await probePages(
    ask,
    label,
    pageSize,
    lists.map(({ pair, answer }) => ({
      answer,
      question: (limit) => v3Question(config, region, pair, limit),
    })),
  );
  return { host: { ...host, answered: true }, lists, pages };
}

interface V4HostFacts {
  readonly host: HostFacts;
  readonly facts: V4Facts | null;
  readonly pages: PageFacts | null;
}

async function probeV4Host(options: ProbeOptions, ask: Ask): Promise<V4HostFacts> {
  const { config, api, keyErrors } = options;
  const host = { ...hostFacts('V4', 'v4', config.v4), keyError: keyErrors.get('') ?? null };
  if (host.keyError !== null) return { host, facts: null, pages: null };
  const listed = await orError(async () =>
    (await api.fetchV4Companies()).companies.map(({ companyId }) => companyId),
  );
  const error = listed instanceof SvcError ? listed : await probeFirst(ask, config, listed);
  if (listed instanceof SvcError || error !== null)
    return { host: { ...host, error }, facts: null, pages: null };
  const asked = options.all ? listed : sampleCompanies(listed);
  const total = asked.length * modelsInV4(config).length;
  let done = 0;
  const lists = await probeV4(ask, config, asked, () => step(options, 'ask V4 for models', ++done, total));
  const [one] = lists;
  const facts: V4Facts = {
    companies: listed,
    asked,
    lists,
    answersAnything: one === undefined ? false : await probeAnything(ask, one.pair, one.companyId),
    suggestions: await probeNames(ask, config, lists),
    switches: null,
  };
  const pages = await probePages(
    ask,
    'V4',
    config.v4.pageSize,
    lists.map(({ pair, companyId, answer }) => ({
      answer,
      question: (limit) => v4Question(pair, companyId, limit),
    })),
  );
  return { host: { ...host, answered: true }, facts, pages };
}

/** Companies that the configuration names were not asked for: one question, before many share its fate. */
async function probeFirst(ask: Ask, config: Config, companies: readonly bigint[]): Promise<SvcError | null> {
  const [companyId] = companies;
  const [pair] = modelsInV4(config);
  if (config.v4.companies.length === 0 || companyId === undefined || pair === undefined) return null;
  return fatalOf(await ask(v4Question(pair, companyId, 1)));
}

function hostFacts(label: string, generation: 'v3' | 'v4', endpoint: Endpoint): HostFacts {
  const { region, baseUrl, keySource } = endpoint;
  const unasked = { keyError: null, error: null, answered: false, clockOffsetMs: null, proxy: null };
  return { label, generation, region, baseUrl, keySource, ...unasked };
}

/** A failure that every other question to the host would share. */
function fatalOf(answer: Answer): SvcError | null {
  if (answer.kind !== 'failed') return null;
  return ['auth', 'redirect', 'network', 'timeout', 'config', 'bad_response'].includes(answer.error.code)
    ? answer.error
    : null;
}

async function orError<T>(work: () => Promise<T>): Promise<T | SvcError> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SvcError && error.code !== 'interrupted') return error;
    throw error;
  }
}

/** By the samples, and where V4 honours it by looking for single keys. */
async function previewCompanies(
  options: ProbeOptions,
  ask: Ask,
  v3: readonly V3ListFacts[],
  v4: V4Facts,
): Promise<RemoteFacts['preview']> {
  const { config, named } = options;
  const { include, exclude } = config.companies;
  const isWanted = (id: bigint): boolean =>
    (include.length === 0 || include.includes(id)) && !exclude.includes(id);
  const v3Samples = v3.flatMap(({ pair, region, answer }) => {
    if (answer.kind !== 'answers') return [];
    const records = answer.records.filter(({ companyId }) => isWanted(companyId));
    return [{ model: pair.v3, region, records }];
  });
  const v4Samples: Sample[] = v4.lists.flatMap(({ pair, answer }) =>
    answer.kind === 'answers' ? [{ model: pair.v3, region: '', records: answer.records }] : [],
  );
  if (v4.switches?.eq === 'honoured') {
    v4Samples.push(...(await lookUpKeys(ask, v3Samples, modelsInV4(config), sampleCompanies(v4.asked))));
  }
  return previewPairs({
    v3: v3Samples,
    v4: v4Samples,
    listed: v4.companies ?? [],
    matching: config.companies.match,
    named,
  });
}

function step({ onProgress }: ProbeOptions, name: string, done: number, total: number): void {
  onProgress({ kind: 'step', name, done, total });
}
