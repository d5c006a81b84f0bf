import type { Config } from '../config/config.js';
import type { Generation, ListPage, ModelPair } from '../domain.js';

/** What the pages of a model look like. */
export interface PageFormat {
  readonly generation: Generation;
  readonly fieldPrefix: string;
  /** Fields whose items are children. */
  readonly children: readonly string[];
  readonly dateFields: readonly string[];
}

export type ParsedPage = Pick<ListPage, 'records' | 'rejected' | 'companies' | 'next' | 'totalCount'>;

/**
 * Parses the text of a page.
 *
 * @param companyId the company that all records must belong to; null: any
 * @throws SvcError `bad_response`
 */
export type ParsePage = (text: string, companyId: number | bigint | null) => ParsedPage;

/** The format of a model's pages. */
export function pageFormat(config: Config, generation: Generation, pair: ModelPair): PageFormat {
  const { fieldPrefix, backfill } = config;
  return { generation, fieldPrefix, children: pair.children, dateFields: backfill.dateFields };
}

/** Makes the parser of a model's pages, also for pages that were stored. */
export function pageParser(_format: PageFormat): ParsePage {
  throw new Error('not available yet');
}
