import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { checkCompanyPage, parseCompanyPage, type V4Company } from './company-page.js';
import { type Where, withFacts } from './failures.js';
import type { Host } from './host.js';
import { buildUrl } from './query.js';
import { type RequestOptions, requestParsed } from './request.js';
import { buildV4Companies } from './v4.js';

/** So many pages in a row without a new company are an error, not patience. */
const IDLE_PAGES = 100;

/**
 * Every company of V4, each once.
 *
 * @throws SvcError `cursor_loop`, `no_progress`, and what a request throws
 */
export async function fetchV4Companies(
  config: Config,
  host: Host,
  settings: RequestOptions,
): Promise<readonly V4Company[]> {
  if (config.v4.companies.length > 0) {
    return config.v4.companies.map((companyId) => ({ companyId, raw: Buffer.from('{}') }));
  }
  const found = new Map<bigint, V4Company>();
  const cursors = new Set<string>();
  let cursor: string | null = null;
  let idlePages = 0;
  do {
    const url = buildUrl(host.endpoint.baseUrl, buildV4Companies(host.endpoint.pageSize, cursor));
    const where: Where = { host, url, model: null, companyId: null };
    const page = await fetchCompanyPage(where, config, settings);
    const before = found.size;
    for (const company of page.companies) found.set(company.companyId, company);
    idlePages = found.size > before ? 0 : idlePages + 1;
    cursor = page.next;
    if (cursor !== null) assertAdvances(where, cursor, cursors, idlePages);
  } while (cursor !== null);
  return [...found.values()];
}

async function fetchCompanyPage(where: Where, config: Config, settings: RequestOptions) {
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
