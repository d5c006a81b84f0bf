import type { Config } from '../../config/config.js';
import type { ModelPair } from '../../domain.js';
import type { Ask, Question } from './ask-list.js';
import type { V3ListFacts } from './facts.js';

/** Records of a sample: enough to compare, small for the service. */
export const SAMPLE = 100;

/** The request an export begins with, for the latest records. */
export function v3Question(config: Config, region: string, pair: ModelPair, limit: number): Question {
  const parameters: [string, string][] = [
    ['limit', String(limit)],
    ['include_deleted_records', 'true'],
    ['return_count', 'true'],
    [`sort[${config.fieldPrefix}updated_at]`, 'DESC'],
  ];
  if (pair.expand.length > 0) parameters.push(['expand', pair.expand.join(',')]);
  return { stream: { generation: 'v3', region, model: pair.v3, companyId: null }, pair, parameters };
}

/** Asks a region for a sample of each model. */
export function probeV3(
  ask: Ask,
  config: Config,
  region: string,
  pairs: readonly ModelPair[],
): Promise<V3ListFacts[]> {
  const limit = Math.min(SAMPLE, pageSizeOf(config, region));
  return Promise.all(
    pairs.map(async (pair) => ({ region, pair, answer: await ask(v3Question(config, region, pair, limit)) })),
  );
}

function pageSizeOf(config: Config, region: string): number {
  return config.v3.regions.find((endpoint) => endpoint.region === region)?.pageSize ?? SAMPLE;
}
