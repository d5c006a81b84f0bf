import type { Api } from '../../api/client.js';
import type { ParsedPage, ParsedRecord } from '../../domain.js';
import { SvcError } from '../../errors.js';
import * as z from '../../zod.js';
import type { ListAnswer, ListRef, SampledRecord } from './probe-results.js';

type Parameter = readonly [name: string, value: string];

/** Requests the first page of a list. Only interrupts are thrown. */
export type AskList = (list: ListRef, limit: number, more?: readonly Parameter[]) => Promise<ListAnswer>;

/** Statuses of a server that rejects a parameter. */
const REFUSALS: readonly unknown[] = [400, 405, 422, 501];

export function prepareAskList(api: Pick<Api, 'fetchRawList'>, fieldPrefix: string): AskList {
  return async (list, limit, more = []) => {
    const { region, companyId, pair } = list;
    const generation = companyId === null ? 'v3' : 'v4';
    const stream = { generation, region, model: pair.v3, companyId } as const;
    const parameters = [...buildParameters(list, limit, fieldPrefix), ...more];
    try {
      const page = await api.fetchRawList({ stream, pair, parameters });
      return summarise(page, pair.expand, fieldPrefix);
    } catch (error) {
      if (!(error instanceof SvcError) || error.code === 'interrupted') throw error;
      const status = error.code === 'http_status' ? error.facts['status'] : null;
      if (status === 404) return { kind: 'absent' };
      return { kind: REFUSALS.includes(status) ? 'refused' : 'failed', error };
    }
  };
}

/** V3 is requested as by an export, except that the latest records come first. */
function buildParameters({ companyId, pair }: ListRef, limit: number, fieldPrefix: string): Parameter[] {
  const parameters: Parameter[] = [['limit', String(limit)]];
  if (companyId === null) {
    parameters.push(['include_deleted_records', 'true'], ['return_count', 'true']);
    parameters.push([`sort[${fieldPrefix}updated_at]`, 'DESC']);
  }
  if (pair.expand.length > 0) parameters.push(['expand', pair.expand.join(',')]);
  return parameters;
}

const bodySchema = z.record(z.string(), z.unknown());
type Body = z.output<typeof bodySchema>;

function summarise(page: ParsedPage, expand: readonly string[], fieldPrefix: string): ListAnswer {
  const bodies: Body[] = [];
  const records = page.records.map((record) => {
    const { raw } = record;
    const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('utf8');
    const body = bodySchema.parse(JSON.parse(text));
    bodies.push(body);
    return sampleOf(record, body, fieldPrefix);
  });
  const isMissing = (field: string): boolean => !bodies.some((body) => Object.hasOwn(body, field));
  return {
    kind: 'answers',
    records,
    rejected: page.rejected.length,
    totalCount: page.totalCount,
    hasMore: page.next !== null,
    bytes: page.records.reduce((sum, { raw }) => sum + raw.length, 0),
    missing: records.length === 0 ? [] : expand.filter(isMissing),
  };
}

function sampleOf(record: ParsedRecord, body: Body, fieldPrefix: string): SampledRecord {
  const { svcId, companyId, platformId, deleted, fieldDigests } = record;
  const created = Date.parse(String(body[`${fieldPrefix}created_at`]));
  const createdMs = Number.isNaN(created) ? null : created;
  const hash = body['data_hash'];
  const dataHash = typeof hash === 'string' && hash !== '' ? hash : null;
  return { svcId, companyId, platformId, deleted, createdMs, fieldDigests, dataHash };
}

/** The number of records in a list: its `total_count` or, without one, the records received. */
export function sizeOf(answer: ListAnswer): number {
  return answer.kind === 'answers' ? (answer.totalCount ?? answer.records.length) : 0;
}
