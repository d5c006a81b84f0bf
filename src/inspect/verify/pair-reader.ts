import type { Api } from '../../api/client.js';
import { type NarrowAnswer, type NarrowRequest, prepareFetchNarrow } from '../../api/narrow-list.js';
import type { Config } from '../../config/config.js';
import type { ModelPair, ParsedRecord } from '../../domain.js';
import { SvcError } from '../../errors.js';

/** A record as the remap names it. */
export interface RecordRef {
  readonly model: string;
  /** '' for V4. */
  readonly region: string;
  readonly companyId: bigint;
  readonly svcId: bigint;
  /** The key it should have: asked for where the id cannot be. */
  readonly platformId: string;
}

/** Reads single records live; null where the API has none. Throws what requests throw. */
export interface PairReader {
  readV3(ref: RecordRef): Promise<ParsedRecord | null>;
  readV4(ref: RecordRef): Promise<ParsedRecord | null>;
}

/** Reads V3 by a filtered list and V4 by its single-record route, deleted records included. */
export function createPairReader(api: Pick<Api, 'fetchRecord' | 'fetchWorded'>, config: Config): PairReader {
  const pairs = new Map(config.models.map((pair) => [pair.v3, pair]));
  const pairOf = (model: string): ModelPair => {
    const pair = pairs.get(model);
    if (pair === undefined) throw new TypeError(`Model ${model} is not in the configuration.`);
    return pair;
  };
  const fetchNarrow = prepareFetchNarrow(api, config);
  const isIdFilterDead = new Set<string>();
  return {
    readV3: async (ref) => {
      const base = {
        generation: 'v3',
        region: ref.region,
        pair: pairOf(ref.model),
        companyId: null,
      } as const;
      const list = `${ref.region} ${ref.model}`;
      if (!isIdFilterDead.has(list)) {
        const answer = await fetchNarrow({ ...base, by: 'svc_id', value: String(ref.svcId) });
        if (answer.kind === 'records') return pick(answer, ref);
        isIdFilterDead.add(list);
      }
      return pick(await fetchByKey(fetchNarrow, { ...base, companyId: ref.companyId }, ref), ref);
    },
    readV4: async (ref) => {
      const pair = pairOf(ref.model);
      const record = await api.fetchRecord({ pair, companyId: ref.companyId, svcId: ref.svcId });
      if (record !== null) return record;
      // The route may not show deleted records; the list does.
      const base = { generation: 'v4', region: '', pair, companyId: ref.companyId, by: 'svc_id' } as const;
      return pick(await orNothing(fetchNarrow({ ...base, value: String(ref.svcId) })), ref);
    },
  };
}

/** @throws SvcError `bad_response` where V3 honours no filter that could find the record */
async function fetchByKey(
  fetchNarrow: (request: NarrowRequest) => Promise<NarrowAnswer>,
  base: Omit<NarrowRequest, 'by' | 'value'>,
  ref: RecordRef,
): Promise<NarrowAnswer> {
  const answer = await fetchNarrow({ ...base, by: 'platform_id', value: ref.platformId });
  if (answer.kind === 'records') return answer;
  throw new SvcError('bad_response', `V3 honours no filter by id or platform_id on ${ref.model}.`, {
    hint: 'Single V3 records cannot be read there; `svc-migrate doctor` shows what the API honours.',
    facts: { model: ref.model, region: ref.region },
  });
}

/** A V4 list that does not exist, or is not narrowed, shows nothing beyond what the route said. */
async function orNothing(asked: Promise<NarrowAnswer>): Promise<NarrowAnswer> {
  try {
    return await asked;
  } catch (error) {
    const isAbsent =
      error instanceof SvcError && error.code === 'http_status' && error.facts['status'] === 404;
    if (isAbsent) return { kind: 'records', records: [] };
    throw error;
  }
}

function pick(answer: NarrowAnswer, { svcId, companyId }: RecordRef): ParsedRecord | null {
  if (answer.kind !== 'records') return null;
  const found = answer.records.filter((record) => record.svcId === svcId);
  return found.find((record) => record.companyId === companyId) ?? found[0] ?? null;
}
