import type { Api } from '../api/client.js';

export type { ListRequest } from '../api/client.js';

/** Where pages come from. It retries by itself; what it throws is final. */
export type PageSource = Pick<Api, 'fetchPage' | 'fetchV4Companies'>;
