import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { type CompanyPage, checkCompanyPage, parseCompanyPage, type V4Company } from './company-page.js';
import { type CompanyWalk, judgeWalks } from './company-walks.js';
import { type Where, withFacts } from './failures.js';
import type { Host } from './host.js';
import { buildUrl } from './query.js';
import { type RequestOptions, requestParsed } from './request.js';
import { buildV4Companies } from './v4.js';

/** So many pages in a row without a new company are an error, not patience. */
const IDLE_PAGES = 100;

/** The companies of V4, each once, and how their list was read. */
export interface CompanyListing {
  readonly companies: readonly V4Company[];
  /** Null where the configuration names the companies and nothing was asked. */
  readonly reading: {
    readonly state: 'complete' | 'short';
    readonly walks: readonly Omit<CompanyWalk, 'ids'>[];
    /** Companies that arrived, repeated ones included. */
    readonly arrived: number;
  } | null;
}

/**
 * Every company of V4. A company that any walk showed is in the listing.
 *
 * @throws SvcError `cursor_loop`, `no_progress`, `incomplete`, and what a request throws
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
    if (state === 'incomplete') throw disagreement(whereOf(host, null), walks.length);
    if (state === 'again') continue;
    return { companies: [...found.values()], reading: { state, walks, arrived } };
  }
}

/** One walk to the end; what it shows is added to `found`. */
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
  for (let cursor: string | null = null; ; ) {
    const page = await fetchCompanyPage(whereOf(host, cursor), config, settings);
    pages += 1;
    arrived += page.companies.length;
    const known = ids.size;
    for (const company of page.companies) {
      ids.add(company.companyId);
      found.set(company.companyId, company);
    }
    idlePages = ids.size > known ? 0 : idlePages + 1;
    // an empty last page behind a cursor may be a fault: it is asked for once more
    const isEmptyEnd = page.next === null && cursor !== null && page.companies.length === 0;
    if (page.next === null && (!isEmptyEnd || sawEmptyEnd)) {
      return { pages, arrived, totalCount: page.totalCount, ids, added: found.size - before };
    }
    sawEmptyEnd = isEmptyEnd;
    if (page.next !== null) assertAdvances(whereOf(host, page.next), page.next, cursors, idlePages);
    cursor = page.next ?? cursor;
  }
}

function whereOf(host: Host, cursor: string | null): Where {
  const url = buildUrl(host.endpoint.baseUrl, buildV4Companies(host.endpoint.pageSize, cursor));
  return { host, url, model: null, companyId: null };
}

async function fetchCompanyPage(
  where: Where,
  config: Config,
  settings: RequestOptions,
): Promise<CompanyPage> {
  const body = await requestParsed(where, checkCompanyPage, settings);
  const { companyIdField } = config.v4;
  const prefix = config.fieldPrefix;
  const idFields = companyIdField === null ? [`${prefix}id`, `${prefix}company_id`, 'id'] : [companyIdField];
  try {
    return parseCompanyPage(body, idFields);
  } catch (error) {
    throw error instanceof SvcError ? withFacts(error, where) : error;
  }
}

function assertAdvances(where: Where, cursor: string, seen: Set<string>, idlePages: number): void {
  if (seen.has(cursor)) {
    throw withFacts(
      new SvcError('cursor_loop', 'The V4 company list repeats a cursor; it has no end.'),
      where,
    );
  }
  seen.add(cursor);
  if (idlePages < IDLE_PAGES) return;
  throw withFacts(
    new SvcError('no_progress', `The V4 company list brought nothing new in ${idlePages} pages.`),
    where,
  );
}

function disagreement(where: Where, walks: number): SvcError {
  const text = `${walks} walks of the V4 company list showed different companies, and fewer than its total_count.`;
  const hint = 'Run the same command again, or name the companies in `v4.companies`.';
  return withFacts(new SvcError('incomplete', text, { hint }), where);
}
