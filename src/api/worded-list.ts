import type { ModelPair, StreamKey } from '../domain.js';
import type { ApiQuery } from './query.js';
import { v4ListPath } from './v4.js';

/** One page of a list, asked for with parameters of the caller's own and no others. */
export interface WordedRequest {
  readonly stream: StreamKey;
  readonly pair: ModelPair;
  readonly parameters: readonly (readonly [name: string, value: string])[];
}

/** Its request. A filter by company is a parameter in V3 and part of the path in V4. */
export function buildWordedList({ stream, pair, parameters }: WordedRequest): ApiQuery {
  if (stream.generation === 'v3') return { path: pair.v3.split('/'), parameters };
  return { path: v4ListPath(pair, stream.companyId), parameters };
}
