import type { Api } from '../../api/client.js';
import type { Config, Endpoint } from '../../config/config.js';
import type { NamedCompanyPair } from '../../config/user-files.js';
import type { OnProgress } from '../../domain.js';
import { SvcError } from '../../errors.js';
import { lookUpKeys, previewPairs, type Sample } from './preview-pairs.js';
import {
  type AskList,
  type ListAnswer,
  type ListRef,
  type ProbedHost,
  type ProbedList,
  type ProbedPage,
  type ProbedV4,
  prepareAskList,
  type RemoteFacts,
} from './probe-results.js';
import { NO_EXPAND, probeNames, probeParameters } from './probe-v4.js';

export interface ProbeOptions {
  readonly config: Config;
  readonly api: Pick<Api, 'fetchRawList' | 'fetchV4Companies' | 'endpoints'>;
  /** Why a key cannot be used; by region, '' for V4. */
  readonly keyErrors: ReadonlyMap<string, SvcError>;
  readonly named: readonly NamedCompanyPair[];
  /** Request the lists of every V4 company instead of a sample. */
  readonly all: boolean;
  readonly onProgress: OnProgress;
}

/** Records requested of a list: enough to compare, few for the service. */
const MAX_SAMPLE = 100;
const MAX_SAMPLED_COMPANIES = 10;
/** Page sizes to try, up to the largest that the configuration accepts. */
const PAGE_SIZES = [10_000, 5000, 2000, 1000, 500, 200, 100, 50, 10] as const;
/** A larger page may take this part of the largest body that is read. */
const BODY_SHARE = 0.25;
/** A model that no service has, with underscores as in real names. */
const IMPOSSIBLE_MODEL = 'svc_migrate_no_such_model';
/** Errors that every other request to the host would get too. */
const FATAL_CODES = ['auth', 'redirect', 'network', 'timeout', 'config', 'bad_response'];

interface HostResult {
  readonly host: ProbedHost;
  readonly lists: readonly ProbedList[];
  readonly page: ProbedPage | null;
}

/** Sends both APIs a bounded number of requests, only GETs. */
export async function probeRemote(options: ProbeOptions): Promise<RemoteFacts> {
  const { config, api, onProgress } = options;
  const ask = prepareAskList(api, config.fieldPrefix);
  const [regions, { v4: found, ...v4Host }] = await Promise.all([
    Promise.all(config.v3.regions.map((endpoint) => probeV3Host(options, ask, endpoint))),
    probeV4Host(options, ask),
  ]);
  const v3 = regions.flatMap(({ lists }) => lists);
  if (found !== null) onProgress({ kind: 'step', name: 'ask V4 for its parameters', done: 0, total: null });
  const v4 = found && {
    ...found,
    parameters: await probeParameters(ask, config.fieldPrefix, found.lists, v3),
  };
  if (v4 !== null)
    onProgress({ kind: 'step', name: 'look for companies that share records', done: 0, total: null });
  const preview = v4 === null ? [] : await previewCompanies(options, ask, v3, v4);
  const endpoints = api.endpoints();
  const hosts = [...regions, v4Host].map(({ host }) => {
    const state = endpoints.find(
      ({ generation, region }) => generation === host.generation && region === host.region,
    );
    return { ...host, clockOffsetMs: state?.clockOffsetMs ?? null, proxy: state?.proxy ?? null };
  });
  const requests = endpoints.reduce((sum, endpoint) => sum + endpoint.requests, 0);
  return { hosts, v3, v4, pages: [...regions, v4Host].flatMap(({ page }) => page ?? []), preview, requests };
}

async function probeV3Host(options: ProbeOptions, ask: AskList, endpoint: Endpoint): Promise<HostResult> {
  const { config, keyErrors, onProgress } = options;
  const { region, pageSize } = endpoint;
  const label = config.v3.regions.length > 1 ? `V3 ${region}` : 'V3';
  const host = newHost(label, 'v3', endpoint, keyErrors);
  const [first, ...others] = config.models.map((pair) => ({ region, companyId: null, pair }));
  if (host.keyError !== null || first === undefined) return { host, lists: [], page: null };
  const sample = async (list: ListRef): Promise<ProbedList> => ({
    ...list,
    answer: await ask(list, Math.min(MAX_SAMPLE, pageSize)),
  });
  // The first request is sent alone, so that a refused key or an unreachable host causes one error, not many.
  const firstList = await sample(first);
  const error = fatalError(firstList.answer);
  if (error !== null) return { host: { ...host, error }, lists: [], page: null };
  const lists = [firstList, ...(await Promise.all(others.map(sample)))];
  onProgress({ kind: 'step', name: `ask ${label} for samples`, done: lists.length, total: lists.length });
  const { maxBodyBytes } = config.http;
  const page = await probePageSize(ask, host, { pageSize, maxBodyBytes }, lists);
  // A 404 may come from anywhere.
  const answered = lists.some(({ answer }) => answer.kind !== 'absent');
  return { host: { ...host, answered }, lists, page };
}

async function probeV4Host(
  options: ProbeOptions,
  ask: AskList,
): Promise<HostResult & { readonly v4: Omit<ProbedV4, 'parameters'> | null }> {
  const { config, api, keyErrors, onProgress } = options;
  const host = newHost('V4', 'v4', config.v4, keyErrors);
  const failed = (error: SvcError | null) => ({ host: { ...host, error }, lists: [], page: null, v4: null });
  if (host.keyError !== null) return failed(null);
  let companies: readonly bigint[];
  try {
    companies = (await api.fetchV4Companies()).companies.map(({ companyId }) => companyId);
  } catch (error) {
    if (error instanceof SvcError && error.code !== 'interrupted') return failed(error);
    throw error;
  }
  const models = config.models.filter(({ v4 }) => v4 !== null);
  const listsOf = (companyId: bigint): ListRef[] => models.map((pair) => ({ region: '', companyId, pair }));
  const [first] = companies.flatMap(listsOf);
  // With configured companies, V4 was not contacted yet, so one request is sent before the others.
  const isUntried = config.v4.companies.length > 0 && first !== undefined;
  const error = isUntried ? fatalError(await ask(first, 1)) : null;
  if (error !== null) return failed(error);
  const asked = options.all ? companies : sampleCompanies(companies);
  const sampled = new Set(sampleCompanies(asked));
  const wanted = asked.flatMap(listsOf);
  let done = 0;
  const lists = await Promise.all(
    wanted.map(async (list) => {
      const limit = sampled.has(list.companyId ?? 0n) ? Math.min(MAX_SAMPLE, config.v4.pageSize) : 1;
      const answer = await ask(list, limit);
      onProgress({ kind: 'step', name: 'ask V4 for models', done: ++done, total: wanted.length });
      return { ...list, answer };
    }),
  );
  const [one] = lists;
  const impossible = one && { ...one, pair: { ...one.pair, ...NO_EXPAND, v4: IMPOSSIBLE_MODEL } };
  const answersAnything = impossible !== undefined && (await ask(impossible, 1)).kind === 'answers';
  onProgress({ kind: 'step', name: 'try other names in V4', done: 0, total: null });
  const suggestions = await probeNames(ask, config, lists);
  const { maxBodyBytes } = config.http;
  const page = await probePageSize(ask, host, { pageSize: config.v4.pageSize, maxBodyBytes }, lists);
  const v4 = { companies, asked, lists, answersAnything, suggestions };
  return { host: { ...host, answered: true }, lists, page, v4 };
}

/** Samples evenly over the list, to include old and new companies. */
function sampleCompanies(all: readonly bigint[]): readonly bigint[] {
  if (all.length <= MAX_SAMPLED_COMPANIES) return all;
  const step = all.length / MAX_SAMPLED_COMPANIES;
  return Array.from({ length: MAX_SAMPLED_COMPANIES }, (_, at) => all[Math.floor(at * step)] ?? 0n);
}

function newHost(
  label: string,
  generation: 'v3' | 'v4',
  { region, baseUrl, keySource }: Endpoint,
  keyErrors: ProbeOptions['keyErrors'],
): ProbedHost {
  const unasked = { error: null, answered: false, clockOffsetMs: null, proxy: null };
  const keyError = keyErrors.get(region) ?? null;
  return { label, generation, region, baseUrl, keySource, keyError, ...unasked };
}

function fatalError(answer: ListAnswer): SvcError | null {
  return answer.kind === 'failed' && FATAL_CODES.includes(answer.error.code) ? answer.error : null;
}

/**
 * Requests a page of the configured size from a host's longest list, and larger ones if it is sent in full, smaller ones if
 * it is refused; null if all lists are empty.
 */
async function probePageSize(
  ask: AskList,
  { label }: ProbedHost,
  { pageSize, maxBodyBytes }: { readonly pageSize: number; readonly maxBodyBytes: number },
  lists: readonly ProbedList[],
): Promise<ProbedPage | null> {
  const [longest] = [...lists].sort((a, b) => lengthOf(b.answer) - lengthOf(a.answer));
  if (longest === undefined || lengthOf(longest.answer) === 0) return null;
  const answer = await ask(longest, pageSize);
  if (answer.kind === 'answers') {
    const got = objectsOf(answer);
    const page = { label, asked: pageSize, got, hasMore: answer.hasMore };
    if (!answer.hasMore) return { ...page, largest: null };
    const most = (maxBodyBytes * BODY_SHARE * got) / Math.max(1, answer.bytes);
    return { ...page, largest: got < pageSize ? got : await findLarger(ask, longest, pageSize, most) };
  }
  if (answer.kind !== 'refused') return null;
  const refused = { label, asked: pageSize, got: null, hasMore: false };
  for (const smaller of PAGE_SIZES.filter((one) => one < pageSize)) {
    if ((await ask(longest, smaller)).kind === 'answers') return { ...refused, largest: smaller };
  }
  return { ...refused, largest: null };
}

/** The most objects that a page of a larger limit holds, of at most `most`; `pageSize` if no larger page is sent. */
async function findLarger(ask: AskList, list: ListRef, pageSize: number, most: number): Promise<number> {
  for (const size of PAGE_SIZES.filter((one) => one > pageSize && one <= most)) {
    const answer = await ask(list, size);
    if (answer.kind === 'answers') return Math.max(pageSize, Math.min(size, objectsOf(answer)));
  }
  return pageSize;
}

function objectsOf(answer: ListAnswer & { readonly kind: 'answers' }): number {
  return answer.records.length + answer.rejected;
}

function lengthOf(answer: ListAnswer): number {
  if (answer.kind !== 'answers') return 0;
  return Math.max(answer.totalCount ?? 0, answer.records.length + answer.rejected);
}

/** Previews pairs from the samples and, if V4 honours the filter, from look-ups of single keys. */
async function previewCompanies(
  { config, named }: ProbeOptions,
  ask: AskList,
  v3Lists: readonly ProbedList[],
  { companies, asked, lists, parameters }: ProbedV4,
): Promise<RemoteFacts['preview']> {
  const { include, exclude, match } = config.companies;
  const isWanted = (id: bigint): boolean =>
    (include.length === 0 || include.includes(id)) && !exclude.includes(id);
  const samplesOf = (own: readonly ProbedList[]): Sample[] =>
    own.flatMap(({ answer, ...list }) =>
      answer.kind === 'answers' ? [{ ...list, records: answer.records }] : [],
    );
  const v3 = samplesOf(v3Lists).map((sample) => ({
    ...sample,
    records: sample.records.filter(({ companyId }) => isWanted(companyId)),
  }));
  const v4 = samplesOf(lists);
  if (parameters.eq === 'honoured') v4.push(...(await lookUpKeys(ask, v3, sampleCompanies(asked))));
  const mode = typeof match === 'string' ? match : 'auto';
  return previewPairs({ v3, v4, listed: companies, mode, named });
}
