import type { ListRequest } from './client.js';
import type { ApiQuery } from './query.js';

const COMPANIES = ['v4', 'core', 'companies'];

/** V4's list request: `{baseUrl}/v4/core/companies/{companyId}/{data_model}`. */
export function buildV4List(request: ListRequest, pageSize: number, includeDeleted: boolean): ApiQuery {
  const { companyId } = request.stream;
  if (companyId === null || request.pair.v4 === null) {
    throw new TypeError(`V4 lists are read per company and model: ${request.pair.v3}`);
  }
  const parameters: [string, string][] = [['limit', String(pageSize)]];
  if (request.pair.expand.length > 0) parameters.push(['expand', request.pair.expand.join(',')]);
  if (includeDeleted) parameters.push(['include_deleted_records', 'true']);
  if (request.cursor !== null) parameters.push(['next', request.cursor]);
  return { path: [...COMPANIES, String(companyId), request.pair.v4], parameters };
}

/** V4's single-record read. */
export function buildV4Record(
  model: string,
  companyId: bigint,
  svcId: bigint,
  expand: readonly string[],
): ApiQuery {
  const parameters: [string, string][] = expand.length > 0 ? [['expand', expand.join(',')]] : [];
  return { path: [...COMPANIES, String(companyId), model, String(svcId)], parameters };
}

/** V4's company list. */
export function buildV4Companies(pageSize: number, cursor: string | null): ApiQuery {
  const parameters: [string, string][] = [['limit', String(pageSize)]];
  if (cursor !== null) parameters.push(['next', cursor]);
  return { path: COMPANIES, parameters };
}
