import { z } from 'zod';
import type { Api } from '../../api/client.js';
import type { ModelPair, ParsedPage, ParsedRecord, StreamKey } from '../../domain.js';
import { SvcError } from '../../errors.js';
import type { Answer, SampledRecord } from './facts.js';

/** One question to one list. */
export interface Question {
  readonly stream: StreamKey;
  readonly pair: ModelPair;
  readonly parameters: readonly (readonly [name: string, value: string])[];
}

export type Ask = (question: Question) => Promise<Answer>;

/** A server that does not take a parameter answers with one of these. */
const REFUSALS: readonly unknown[] = [400, 405, 422, 501];

/** Makes the function that asks one list one question; only interrupts are thrown. */
export function prepareAsk(api: Pick<Api, 'fetchWorded'>, fieldPrefix: string): Ask {
  return async (question) => {
    try {
      return summarise(await api.fetchWorded(question), question, fieldPrefix);
    } catch (error) {
      if (!(error instanceof SvcError) || error.code === 'interrupted') throw error;
      const status = error.code === 'http_status' ? error.facts['status'] : null;
      if (status === 404) return { kind: 'absent' };
      return { kind: REFUSALS.includes(status) ? 'refused' : 'failed', error };
    }
  };
}

const bodySchema = z.record(z.string(), z.unknown());

function summarise(page: ParsedPage, { parameters }: Question, fieldPrefix: string): Answer {
  const expand = parameters.find(([name]) => name === 'expand')?.[1].split(',') ?? [];
  const bodies = page.records.map((record) => bodySchema.parse(JSON.parse(textOf(record))));
  return {
    kind: 'answers',
    records: page.records.map((record, at) => sample(record, bodies[at] ?? {}, fieldPrefix)),
    rejected: page.rejected.length,
    totalCount: page.totalCount,
    hasMore: page.next !== null,
    bytes: page.records.reduce((sum, { raw }) => sum + raw.length, 0),
    missing:
      bodies.length === 0 ? [] : expand.filter((field) => !bodies.some((body) => Object.hasOwn(body, field))),
  };
}

function textOf({ raw }: ParsedRecord): string {
  return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('utf8');
}

function sample(
  record: ParsedRecord,
  body: Readonly<Record<string, unknown>>,
  fieldPrefix: string,
): SampledRecord {
  const { svcId, companyId, platformId, deleted, updatedMs, facts } = record;
  const created = Date.parse(String(body[`${fieldPrefix}created_at`]));
  const hash = body['data_hash'];
  return {
    svcId,
    companyId,
    platformId,
    deleted,
    updatedMs,
    createdMs: Number.isNaN(created) ? null : created,
    facts,
    dataHash: typeof hash === 'string' && hash !== '' ? hash : null,
  };
}
