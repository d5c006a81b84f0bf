import type { Config } from '../../config/config.js';
import type { ParsedRecord } from '../../domain.js';
import { SvcError } from '../../errors.js';
import { createRecordSource, type RecordApi } from '../read-records.js';

/** A record as the remap names it. */
export interface RecordRef {
  readonly model: string;
  /** '' for V4. */
  readonly region: string;
  readonly companyId: bigint;
  readonly svcId: bigint;
  /** Its key in the remap, for lists that cannot be filtered by id. */
  readonly platformId: string;
}

/** Reads single records from the APIs; null if there is none. Throws what requests throw. */
export interface PairReader {
  readV3(ref: RecordRef): Promise<ParsedRecord | null>;
  readV4(ref: RecordRef): Promise<ParsedRecord | null>;
}

/** Reads V3 by a filtered list and V4 by its single-record route, deleted records included. */
export function createPairReader(api: RecordApi, config: Config): PairReader {
  const source = createRecordSource(api, config);
  /** V3 lists that do not honour a filter by id. */
  const ignoresIds = new Set<string>();
  return {
    readV3: async (ref) => {
      const { model, region, companyId, platformId } = ref;
      const list = { generation: 'v3', model, region } as const;
      const name = `${region} ${model}`;
      if (!ignoresIds.has(name)) {
        const value = String(ref.svcId);
        const answer = await source.byFilter({ ...list, companyId: null, by: 'svc_id', value });
        if (answer.kind === 'records') return pick(answer.records, ref);
        ignoresIds.add(name);
      }
      const answer = await source.byFilter({ ...list, companyId, by: 'platform_id', value: platformId });
      if (answer.kind === 'records') return pick(answer.records, ref);
      throw new SvcError('bad_response', `V3 honours no filter by id or platform_id on ${model}.`, {
        hint: 'Single V3 records cannot be read there; `svc-migrate doctor` shows what the API honours.',
        facts: { model, region },
      });
    },
    readV4: async (ref) => {
      const { model, companyId, svcId } = ref;
      const record = await source.byRoute(model, companyId, svcId);
      if (record !== null) return record;
      const list = { generation: 'v4', model, region: '', companyId } as const;
      try {
        // The route may not return deleted records; the list does.
        const answer = await source.byFilter({ ...list, by: 'svc_id', value: String(svcId) });
        return answer.kind === 'records' ? pick(answer.records, ref) : null;
      } catch (error) {
        // A list that does not exist adds nothing to the answer of the route.
        if (error instanceof SvcError && error.code === 'http_status' && error.facts['status'] === 404) {
          return null;
        }
        throw error;
      }
    },
  };
}

function pick(records: readonly ParsedRecord[], { svcId, companyId }: RecordRef): ParsedRecord | null {
  const found = records.filter((record) => record.svcId === svcId);
  return found.find((record) => record.companyId === companyId) ?? found[0] ?? null;
}
