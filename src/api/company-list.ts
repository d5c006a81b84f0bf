import type { Config } from '../config/config.js';
import { EXPIRED_STATUSES, type V4Company } from '../domain.js';
import { SvcError } from '../errors.js';
import { type JsonScanner, OPEN_OBJECT } from '../json/json-scanner.js';
import { KeyTable, Members } from '../json/members.js';
import { badCompanyList, guardJson, openCompanyList } from './envelope.js';
import { type RequestTarget, withFacts } from './failures.js';
import type { Host } from './hosts.js';
import { buildUrl, buildV4Companies } from './queries.js';
import { type RequestOptions, requestParsed } from './request.js';

/** The result of reading the V4 company list to its end once. */
export interface CompanyWalk {
  readonly pages: number;
  /** The total_count of the last page. */
  readonly totalCount: number | null;
  /** Distinct companies. */
  readonly ids: ReadonlySet<bigint>;
  /** Number of companies that no earlier walk returned. */
  readonly added: number;
}

/** The companies of V4, without duplicates, and how their list was read. */
export interface CompanyListing {
  readonly companies: readonly V4Company[];
  /** Null if the configuration names the companies. */
  readonly reading: {
    readonly state: 'complete' | 'short';
    readonly walks: readonly Omit<CompanyWalk, 'ids'>[];
    /** Companies received, including duplicates. */
    readonly arrived: number;
  } | null;
}

/** Consecutive pages without a new company after which the list counts as endless. */
const MAX_IDLE_PAGES = 100;
const MAX_WALKS = 5;

/**
 * Every company of V4: all that any walk returned.
 *
 * @throws SvcError `cursor_loop`, `cursor_expired`, `no_progress`, `incomplete`, and the errors of a request
 */
export async function fetchV4Companies(
  config: Config,
  host: Host,
  settings: RequestOptions,
): Promise<CompanyListing> {
  if (config.v4.companies.length > 0) {
    const named = config.v4.companies.map((companyId) => ({ companyId, raw: Buffer.from('{}') }));
    return { companies: named, reading: null };
  }
  const found = new Map<bigint, V4Company>();
  const walks: CompanyWalk[] = [];
  let arrived = 0;
  for (;;) {
    const walk = await walkCompanies(config, host, settings, found);
    walks.push(walk);
    arrived += walk.arrived;
    const state = judgeWalks(walks, found.size);
    if (state === 'incomplete') throw disagreement(targetOf(host, null), walks.length);
    if (state === 'again') continue;
    return { companies: [...found.values()], reading: { state, walks, arrived } };
  }
}

/** Whether the list was read in full; `short`: it was, but total_count is higher. */
export type WalkVerdict = 'complete' | 'short' | 'again' | 'incomplete';

/**
 * Decides what to do after the last of these walks (at least one); `found` is the number of companies of all walks. The
 * list is walked again if total_count is higher, or if it has several pages and no total_count, because a company may
 * have moved from one page to another meanwhile.
 */
export function judgeWalks(walks: readonly CompanyWalk[], found: number): WalkVerdict {
  const last = walks.at(-1);
  const before = walks.at(-2);
  if (last === undefined) return 'again';
  if (last.totalCount !== null && last.totalCount <= found) return 'complete';
  if (last.totalCount === null && (last.pages === 1 || (before !== undefined && last.added === 0)))
    return 'complete';
  if (last.totalCount !== null && before !== undefined && isSame(last.ids, before.ids)) return 'short';
  return walks.length < MAX_WALKS ? 'again' : 'incomplete';
}

function isSame(a: ReadonlySet<bigint>, b: ReadonlySet<bigint>): boolean {
  return a.size === b.size && [...a].every((id) => b.has(id));
}

/** Reads the list to its end, again from the start if a cursor expires, and adds its companies to `found`. */
async function walkCompanies(
  config: Config,
  host: Host,
  settings: RequestOptions,
  found: Map<bigint, V4Company>,
): Promise<CompanyWalk & { readonly arrived: number }> {
  const before = found.size;
  const ids = new Set<bigint>();
  const cursors = new Set<string>();
  let [pages, arrived, idlePages] = [0, 0, 0];
  let sawEmptyEnd = false;
  // companies of the last walk whose cursor expired
  let restartedAfter = -1;
  for (let cursor: string | null = null; ; ) {
    const target = targetOf(host, cursor);
    const page = await fetchUnlessExpired(target, cursor, config, settings);
    if (page instanceof SvcError) {
      if (ids.size <= restartedAfter) throw expiredAgain(target, page);
      restartedAfter = ids.size;
      ids.clear();
      cursors.clear();
      idlePages = 0;
      cursor = null;
      continue;
    }
    pages += 1;
    arrived += page.companies.length;
    const known = ids.size;
    for (const company of page.companies) {
      ids.add(company.companyId);
      found.set(company.companyId, company);
    }
    idlePages = ids.size > known ? 0 : idlePages + 1;
    // an empty last page after a cursor may be an error of the service: it is requested once more
    const isEmptyEnd = page.next === null && cursor !== null && page.companies.length === 0;
    if (page.next === null && (!isEmptyEnd || sawEmptyEnd)) {
      return { pages, arrived, totalCount: page.totalCount, ids, added: found.size - before };
    }
    sawEmptyEnd = isEmptyEnd;
    if (page.next !== null) assertAdvances(targetOf(host, page.next), page.next, cursors, idlePages);
    cursor = page.next ?? cursor;
  }
}

function targetOf(host: Host, cursor: string | null): RequestTarget {
  const url = buildUrl(host.endpoint.baseUrl, buildV4Companies(host.endpoint.pageSize, cursor));
  return { host, url, model: null, companyId: null };
}

async function fetchCompanyPage(
  target: RequestTarget,
  config: Config,
  settings: RequestOptions,
): Promise<CompanyPage> {
  const body = await requestParsed(target, checkCompanyPage, settings);
  const { companyIdField } = config.v4;
  const prefix = config.fieldPrefix;
  const idFields = companyIdField === null ? [`${prefix}id`, `${prefix}company_id`, 'id'] : [companyIdField];
  try {
    return parseCompanyPage(body, idFields);
  } catch (error) {
    throw error instanceof SvcError ? withFacts(error, target) : error;
  }
}

/** The page, or the error that says that its cursor has expired. */
async function fetchUnlessExpired(
  target: RequestTarget,
  cursor: string | null,
  config: Config,
  settings: RequestOptions,
): Promise<CompanyPage | SvcError> {
  try {
    return await fetchCompanyPage(target, config, settings);
  } catch (error) {
    const isRefused = error instanceof SvcError && error.code === 'http_status';
    if (cursor !== null && isRefused && EXPIRED_STATUSES.includes(error.facts['status'])) return error;
    throw error;
  }
}

function expiredAgain(target: RequestTarget, cause: SvcError): SvcError {
  const text = `The cursor of the V4 company list expired again before the walk got further than the last time: ${cause.message}`;
  const hint = 'Run the same command again, or name the companies in `v4.companies`.';
  return withFacts(new SvcError('cursor_expired', text, { hint, facts: cause.facts, cause }), target);
}

function assertAdvances(target: RequestTarget, cursor: string, seen: Set<string>, idlePages: number): void {
  const repeats = 'The V4 company list repeats a cursor, so it would never end.';
  if (seen.has(cursor)) throw withFacts(new SvcError('cursor_loop', repeats), target);
  seen.add(cursor);
  const idle = `The V4 company list had no new company in ${idlePages} pages.`;
  if (idlePages >= MAX_IDLE_PAGES) throw withFacts(new SvcError('no_progress', idle), target);
}

function disagreement(target: RequestTarget, walks: number): SvcError {
  const text = `${walks} walks of the V4 company list returned different companies, and fewer than its total_count.`;
  const hint = 'Run the same command again, or name the companies in `v4.companies`.';
  return withFacts(new SvcError('incomplete', text, { hint }), target);
}

interface CompanyPage {
  readonly companies: readonly V4Company[];
  readonly next: string | null;
  readonly totalCount: number | null;
}

/** Maximum number of companies on one page, because they are kept in memory. */
const MAX_COMPANIES = 500_000;

/** Checks a body's shape within the request, so that a wrong one is requested again. */
function checkCompanyPage(body: Uint8Array): Uint8Array {
  guardJson(body, () => openCompanyList(body));
  return body;
}

/**
 * Parses one page of the V4 company list. `idFields` are tried in order.
 *
 * @throws SvcError `bad_response`
 */
export function parseCompanyPage(body: Uint8Array, idFields: readonly string[]): CompanyPage {
  return guardJson(body, () => {
    const { scanner, at, next, totalCount } = openCompanyList(body);
    const companies = readCompanies(scanner, at, idFields);
    return { companies, next: next(), totalCount };
  });
}

function readCompanies(scanner: JsonScanner, at: number, idFields: readonly string[]): readonly V4Company[] {
  const { bytes } = scanner;
  const fields = [...new Set(idFields)];
  const members = new Members(new KeyTable(fields), scanner);
  const companies: V4Company[] = [];
  let i = scanner.enter(at);
  while (scanner.more) {
    if (companies.length === MAX_COMPANIES) throw badCompanyList(`a page has more than ${MAX_COMPANIES}`);
    const start = i;
    if (bytes[start] !== OPEN_OBJECT) throw badCompanyList('one of its companies is not an object');
    i = members.read(start, fields.length, null);
    const companyId = firstId(members, fields.length);
    if (companyId === null) throw badCompanyList(`a company has no integer in ${fields.join(' or ')}`);
    companies.push({ companyId, raw: bytes.subarray(start, i) });
    i = scanner.nextItem(i);
  }
  return companies;
}

function firstId(members: Members, slots: number): bigint | null {
  for (let slot = 0; slot < slots; slot++) {
    const id = members.integer(slot);
    if (id !== null) return id;
  }
  return null;
}
