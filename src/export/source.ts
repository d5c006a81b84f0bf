import type { ModelPair, ParsedPage, StreamKey } from '../domain.js';
import type { ListedCompany } from '../store/v4-companies.js';

/** One page to ask for. */
export interface ListRequest {
  readonly stream: StreamKey;
  readonly pair: ModelPair;
  /** As the page before gave it; null for the first. */
  readonly cursor: string | null;
  /** ISO instant: only records updated from then on; null: all. */
  readonly updatedSince: string | null;
}

/**
 * Where pages come from; the API client is one. It retries by itself and throws SvcError: `http_status`
 * carries `facts.status`.
 */
export interface PageSource {
  fetchPage(request: ListRequest): Promise<ParsedPage>;
  fetchV4Companies(): Promise<readonly ListedCompany[]>;
}
