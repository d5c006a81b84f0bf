import type { ListRequest } from './client.js';
import type { ApiQuery } from './query.js';

/** V3's list request: `{baseUrl}/{category}/{model}`. A cursor goes beside the same parameters. */
export function buildV3List(request: ListRequest, pageSize: number, fieldPrefix: string): ApiQuery {
  const parameters: [string, string][] = [
    ['limit', String(pageSize)],
    ['include_deleted_records', 'true'],
    ['return_count', 'true'],
    [`sort[${fieldPrefix}created_at]`, 'ASC'],
  ];
  if (request.pair.expand.length > 0) parameters.push(['expand', request.pair.expand.join(',')]);
  const { companyId } = request.stream;
  if (companyId !== null) parameters.push([`${fieldPrefix}company_id[eq]`, String(companyId)]);
  if (request.updatedSince !== null) parameters.push([`${fieldPrefix}updated_at[gte]`, request.updatedSince]);
  if (request.cursor !== null) parameters.push(['next', request.cursor]);
  return { path: request.pair.v3.split('/'), parameters };
}
