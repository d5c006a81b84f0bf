import { Buffer } from 'node:buffer';
import { packBody } from '../../src/api/body.js';
import type { Api } from '../../src/api/client.js';
import type { ListRequest } from '../../src/api/queries.js';
import type { ListPage, PageRecord, RejectedObject } from '../../src/domain.js';
import { SvcError } from '../../src/errors.js';

/** A record of the fake service. */
export interface FakeRecord {
  readonly svcId: bigint;
  readonly companyId: bigint;
  readonly platformId: string | null;
  readonly updatedMs: number | null;
  readonly deleted?: boolean;
  readonly children?: readonly { readonly svcId: bigint; readonly platformId: string }[];
}

export type FakeItem = FakeRecord | { readonly rejected: RejectedObject['reason']; readonly raw: string };

/** What a page is asked with; a fault may answer in the service's place. */
export interface Call {
  readonly request: ListRequest;
  /** Zero-based, over all lists. */
  readonly number: number;
}

/** How one answer differs from a faithful one. */
export type Fault =
  | { readonly kind: 'throw'; readonly error: Error }
  /** The same page once more, under a new cursor. */
  | { readonly kind: 'repeat' }
  /** No records, but a cursor. */
  | { readonly kind: 'empty' }
  /** No records, and no cursor: the end, it seems. */
  | { readonly kind: 'end' }
  /** The next page begins so many records early. */
  | { readonly kind: 'overlap'; readonly by: number }
  /** The cursor of the page is this. */
  | { readonly kind: 'cursor'; readonly next: string }
  /** Records of the page left out, though they exist. */
  | { readonly kind: 'skip'; readonly svcIds: readonly bigint[] };

export interface FakeService extends Pick<Api, 'fetchPage'> {
  /** By list, see `listName`; a list that is not there answers 404. In the order it is paged. */
  readonly lists: Map<string, FakeItem[]>;
  readonly companies: bigint[];
  readonly calls: ListRequest[];
  pageSize: (call: Call) => number;
  fault: (call: Call) => Fault | null;
  totalCount: (exact: number, call: Call) => number | null;
  /** Its clock, as it tells it; null: it does not. */
  now: () => number | null;
  /** Runs before each answer: change the lists here. */
  onCall: (call: Call) => void;
}

/** `v3 eu accounting/invoices all`, `v4  accounting/invoices 7`. */
function listName({ stream }: Pick<ListRequest, 'stream'>): string {
  const { generation, region, model, companyId } = stream;
  return `${generation} ${region} ${model} ${companyId ?? 'all'}`;
}

/** A service in memory whose cursors are places in the list, so that changes shift what follows. */
export function createFakeService(lists: Record<string, FakeItem[]> = {}): FakeService {
  const service: FakeService = {
    lists: new Map(Object.entries(lists)),
    companies: [],
    calls: [],
    pageSize: () => 3,
    fault: () => null,
    totalCount: (exact) => exact,
    now: () => Date.parse('2001-09-09T01:46:40Z'),
    onCall: () => {},
    fetchPage: async (request) => {
      const call = { request, number: service.calls.length };
      service.calls.push(request);
      service.onCall(call);
      return answer(service, call, service.fault(call));
    },
  };
  return service;
}

export function httpError(status: number): SvcError {
  const code = status >= 500 ? 'unavailable' : 'http_status';
  return new SvcError(code, `The server answered ${status}.`, { facts: { status } });
}

function answer(service: FakeService, call: Call, fault: Fault | null): ListPage {
  if (fault?.kind === 'throw') throw fault.error;
  const { model } = call.request.stream;
  if (model === 'core/companies') return companyPage(service);
  const list = service.lists.get(listName(call.request));
  if (list === undefined) throw httpError(404);
  const { cursor, updatedSince } = call.request;
  const since = updatedSince === null ? null : Date.parse(updatedSince);
  const items = since === null ? list : list.filter((item) => isSince(item, since));
  const start = cursor === null ? 0 : placeOf(cursor);
  const size = fault?.kind === 'empty' || fault?.kind === 'end' ? 0 : service.pageSize(call);
  const shown = items.slice(start, start + size);
  const after = nextPlace(start, shown.length, fault);
  const isEnd = fault?.kind === 'end' || (after >= items.length && fault?.kind !== 'empty');
  const next = isEnd ? null : `${after}:${call.number}`;
  return pageOf(
    shown,
    fault,
    fault?.kind === 'cursor' ? fault.next : next,
    service.totalCount(items.length, call),
    service.now(),
  );
}

function nextPlace(start: number, length: number, fault: Fault | null): number {
  if (fault?.kind === 'repeat') return start;
  if (fault?.kind === 'overlap') return Math.max(start, start + length - fault.by);
  return start + length;
}

function placeOf(cursor: string): number {
  return Number(cursor.split(':')[0]);
}

function isSince(item: FakeItem, since: number): boolean {
  return 'rejected' in item || (item.updatedMs ?? 0) >= since;
}

function pageOf(
  items: readonly FakeItem[],
  fault: Fault | null,
  next: string | null,
  totalCount: number | null,
  servedMs: number | null,
): ListPage {
  const records: PageRecord[] = [];
  const rejected: RejectedObject[] = [];
  for (const [position, item] of items.entries()) {
    if ('rejected' in item) {
      rejected.push({ position, path: '', parentSvcId: null, reason: item.rejected, raw: item.raw });
    } else if (fault?.kind !== 'skip' || !fault.svcIds.includes(item.svcId)) {
      records.push(pageRecord(item));
    }
  }
  const bodies = items.flatMap((item) => ('rejected' in item ? [] : [bodyOf(item)]));
  const body = Buffer.from(JSON.stringify(bodies));
  return {
    records,
    rejected,
    next,
    totalCount,
    servedMs,
    ...packBody({ decoded: body, gzip: null }),
  };
}

function companyPage({ companies, now }: FakeService): ListPage {
  return {
    records: companies.map((id) =>
      pageRecord({ svcId: id, companyId: id, platformId: null, updatedMs: null }),
    ),
    rejected: [],
    next: null,
    totalCount: companies.length,
    servedMs: now(),
    ...packBody({ decoded: Buffer.from('{}'), gzip: null }),
  };
}

/** A record as the client would hand it over. */
function pageRecord(record: FakeRecord): PageRecord {
  const { svcId, companyId, platformId, updatedMs, deleted = false, children = [] } = record;
  return {
    svcId,
    companyId,
    platformId,
    platformUniqueId: null,
    deleted,
    updatedMs,
    latestMs: updatedMs,
    latestFrom: updatedMs === null ? null : 'service',
    createdMs: null,
    children: children.map((child) => {
      return { ...child, path: 'line_items', platformUniqueId: null, deleted: false };
    }),
    facts: null,
  };
}

export function bodyOf({ svcId, platformId, updatedMs, deleted = false, children = [] }: FakeRecord): string {
  const lines = children.map((child) => [String(child.svcId), child.platformId]);
  return JSON.stringify([String(svcId), platformId, updatedMs, deleted, lines]);
}
