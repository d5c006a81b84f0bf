import type { ModelPair } from '../domain.js';
import type { ListRequest } from './client.js';
import type { ApiQuery } from './query.js';

const COMPANIES = ['v4', 'core', 'companies'];

/** V4's list request: `{baseUrl}/v4/core/companies/{companyId}/{data_model}`. */
export function buildV4List(request: ListRequest, pageSize: number, includeDeleted: boolean): ApiQuery {
  const path = v4ListPath(request.pair, request.stream.companyId);
  const parameters: [string, string][] = [['limit', String(pageSize)]];
  if (request.pair.expand.length > 0) parameters.push(['expand', request.pair.expand.join(',')]);
  if (includeDeleted) parameters.push(['include_deleted_records', 'true']);
  if (request.cursor !== null) parameters.push(['next', request.cursor]);
  return { path, parameters };
}

/** Path of a V4 list. */
export function v4ListPath(pair: ModelPair, companyId: bigint | null): readonly string[] {
  if (companyId === null || pair.v4 === null) {
    throw new TypeError(`V4 lists are read per company and model: ${pair.v3}`);
  }
  return [...COMPANIES, String(companyId), pair.v4];
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
