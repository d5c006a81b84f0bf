import type { ModelPair } from '../../domain.js';
import type { Ask } from './ask-list.js';
import type { SampledRecord } from './facts.js';
import type { Sample } from './preview-pairs.js';
import { v4Question } from './probe-v4.js';

/** Questions for single keys, at most. */
const MOST_QUESTIONS = 60;
const KEYS_PER_COMPANY = 2;
const LIMIT = 5;

/** A key to be looked for in V4. */
interface Wanted {
  readonly pair: ModelPair;
  readonly companyId: bigint;
  readonly key: string;
}

/**
 * Looks for the latest keys of V3 companies in V4 companies: samples of long lists seldom hold the same records.
 * `v3` must hold the latest records first.
 */
export async function lookUpKeys(
  ask: Ask,
  v3: readonly Sample[],
  pairs: readonly ModelPair[],
  candidates: readonly bigint[],
): Promise<readonly Sample[]> {
  const wanted = pickKeys(v3, pairs);
  const questions = wanted
    .flatMap((one) => candidates.map((candidate) => ({ ...one, candidate })))
    // A company of the same id first: it most often is the one.
    .sort((a, b) => Number(b.candidate === b.companyId) - Number(a.candidate === a.companyId))
    .slice(0, MOST_QUESTIONS);
  const answers = await Promise.all(
    questions.map(async ({ pair, key, candidate }) => {
      const answer = await ask(v4Question(pair, candidate, LIMIT, [['platform_id[eq]', key]]));
      return { model: pair.v3, region: '', records: answer.kind === 'answers' ? answer.records : [] };
    }),
  );
  return answers.filter(({ records }) => records.length > 0);
}

/** The latest keys of each V3 company, of different models where it can be. */
function pickKeys(samples: readonly Sample[], pairs: readonly ModelPair[]): readonly Wanted[] {
  const picked = new Map<string, Wanted[]>();
  for (const { model, region, records } of samples) {
    const pair = pairs.find(({ v3 }) => v3 === model);
    if (pair === undefined) continue;
    for (const record of latestOfEach(records)) {
      const name = `${region} ${record.companyId}`;
      const own = picked.get(name) ?? [];
      if (own.length >= KEYS_PER_COMPANY) continue;
      picked.set(name, [...own, { pair, companyId: record.companyId, key: record.platformId }]);
    }
  }
  return [...picked.values()].flat();
}

type Keyed = SampledRecord & { readonly platformId: string };

function latestOfEach(records: readonly SampledRecord[]): readonly Keyed[] {
  const latest = new Map<bigint, Keyed>();
  for (const record of records) {
    if (isLiveAndKeyed(record) && !latest.has(record.companyId)) latest.set(record.companyId, record);
  }
  return [...latest.values()];
}

function isLiveAndKeyed(record: SampledRecord): record is Keyed {
  return record.platformId !== null && !record.deleted;
}
