import type { Config } from '../../config/config.js';
import type { ModelPair } from '../../domain.js';
import type { Ask, Question } from './ask-list.js';
import type { V4ListFacts } from './facts.js';
import { nearNames } from './near-names.js';
import { SAMPLE } from './probe-v3.js';

/** Companies asked unless told to ask all. */
const SAMPLED_COMPANIES = 10;
/** Companies in which other names of a missing model are tried. */
const TRIED_COMPANIES = 2;
/** No service has it; underscores as in real names. */
const NO_MODEL = 'svc_migrate_no_such_model';

/** Spread evenly over the list, so that old and new companies are among them. */
export function sampleCompanies(all: readonly bigint[]): readonly bigint[] {
  if (all.length <= SAMPLED_COMPANIES) return all;
  return Array.from(
    { length: SAMPLED_COMPANIES },
    (_, at) => all[Math.floor((at * all.length) / SAMPLED_COMPANIES)] ?? 0n,
  );
}

/** A V4 list, asked with `more` beside limit and expand. */
export function v4Question(
  pair: ModelPair,
  companyId: bigint,
  limit: number,
  more: Question['parameters'] = [],
): Question {
  const parameters: [string, string][] = [['limit', String(limit)]];
  if (pair.expand.length > 0) parameters.push(['expand', pair.expand.join(',')]);
  const stream = { generation: 'v4', region: '', model: pair.v3, companyId } as const;
  return { stream, pair, parameters: [...parameters, ...more] };
}

/** Asks companies for each model: some for a sample, the others only whether they answer. */
export function probeV4(
  ask: Ask,
  config: Config,
  asked: readonly bigint[],
  onDone: () => void,
): Promise<V4ListFacts[]> {
  const sampled = new Set(sampleCompanies(asked));
  const limit = Math.min(SAMPLE, config.v4.pageSize);
  return Promise.all(
    asked.flatMap((companyId) =>
      modelsInV4(config).map(async (pair) => {
        const answer = await ask(v4Question(pair, companyId, sampled.has(companyId) ? limit : 1));
        onDone();
        return { companyId, pair, answer };
      }),
    ),
  );
}

export function modelsInV4(config: Config): readonly ModelPair[] {
  return config.models.filter(({ v4 }) => v4 !== null);
}

/** Whether V4 answers to a model that cannot exist: its answers then prove nothing about names. */
export async function probeAnything(ask: Ask, pair: ModelPair, companyId: bigint): Promise<boolean> {
  const answer = await ask(v4Question({ ...pair, v4: NO_MODEL, expand: [] }, companyId, 1));
  return answer.kind === 'answers';
}

/** Models that no company asked has. */
export function missingModels(lists: readonly V4ListFacts[]): readonly ModelPair[] {
  const found = new Set(lists.filter(({ answer }) => answer.kind !== 'absent').map(({ pair }) => pair.v3));
  const missing = lists.map(({ pair }) => pair).filter(({ v3 }) => !found.has(v3));
  return [...new Map(missing.map((pair) => [pair.v3, pair])).values()];
}

/** Tries other names for the models that V4 did not find; those it answers to. */
export async function probeNames(
  ask: Ask,
  config: Config,
  lists: readonly V4ListFacts[],
): Promise<Map<string, readonly string[]>> {
  const taken = new Set(config.models.flatMap(({ v4 }) => (v4 === null ? [] : [v4])));
  const companies = busiest(lists).slice(0, TRIED_COMPANIES);
  const found = await Promise.all(
    missingModels(lists).map(async (pair) => {
      const names = await Promise.all(
        nearNames(pair, taken).map(async (name) => {
          const answers = await Promise.all(
            companies.map((companyId) => ask(v4Question({ ...pair, v4: name, expand: [] }, companyId, 1))),
          );
          return answers.some(({ kind }) => kind === 'answers') ? [name] : [];
        }),
      );
      return [pair.v3, names.flat()] as const;
    }),
  );
  return new Map(found);
}

/** The companies that were asked, those with most records first. */
function busiest(lists: readonly V4ListFacts[]): readonly bigint[] {
  const records = new Map<bigint, number>();
  for (const { companyId, answer } of lists) {
    const n = answer.kind === 'answers' ? (answer.totalCount ?? answer.records.length) : 0;
    records.set(companyId, (records.get(companyId) ?? 0) + n);
  }
  return [...records].sort(([, a], [, b]) => b - a).map(([companyId]) => companyId);
}
