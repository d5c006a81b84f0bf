import type { Api } from '../api/client.js';
import type { ListRequest } from '../api/queries.js';
import type { ListPage } from '../domain.js';

export type { ListRequest } from '../api/queries.js';

/** What is asked for pages. It retries by itself; what it throws is final. */
export type PageSource = Pick<Api, 'fetchPage' | 'fetchV4Companies'>;

/** A page that was asked for, or why it could not be had. */
export interface Arrival {
  readonly askedMs: number;
  readonly answer: ListPage | Error;
  /** Nothing more is asked for before pages of this list are taken, or at all. */
  readonly waits: boolean;
}

/** A list whose pages are being asked for. */
export interface Followed {
  /** The page that arrived first of those that are left was taken. */
  taken(): void;
  /** Asks for nothing more; what is under way is not waited for. */
  end(): void;
}

/** Where an export has its pages from: they arrive in their order, before anybody asks for them. */
export interface PageSupply {
  /** Asks for the page of the request and, page after page, for those behind it. An error is the last to arrive. */
  follow(request: ListRequest, onArrival: (arrival: Arrival) => void): Followed;
  fetchV4Companies: PageSource['fetchV4Companies'];
}
