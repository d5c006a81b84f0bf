import { serveHttp } from './serve-http.js';

/** One object of a list, written by hand: what JSON libraries would not write is wanted here too. */
export interface HostileItem {
  /** As it can be asked for by id. */
  readonly svcId: bigint;
  readonly platformId: string | null;
  readonly text: string;
}

export interface HostileLists {
  /** By V3 path. */
  readonly v3: Readonly<Record<string, readonly HostileItem[]>>;
  /** By V4 data model, of the one company that has records. */
  readonly v4: Readonly<Record<string, readonly HostileItem[]>>;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface HostileOptions {
  readonly lists: HostileLists;
  readonly v4CompanyId: bigint;
  /** Handed out as cursors, names of companies and ids of requests. */
  readonly texts: readonly string[];
  /** Answers a V4 list in the service's place; null: it is answered truly. */
  readonly refuse?: (companyId: string, model: string) => Answer | null;
  /** V4 companies without records. */
  readonly others?: readonly bigint[];
}

export interface HostileService {
  readonly origin: string;
  /** What is served from now on. */
  lists: HostileLists;
  close(): Promise<void>;
}

interface Page {
  readonly items: readonly HostileItem[];
  readonly next: string | null;
}

/** Serves lists of both generations; cursors, names and request ids are hostile texts, too. */
export async function startHostileService(options: HostileOptions): Promise<HostileService> {
  const { v4CompanyId, texts } = options;
  let asked = 0;
  const answer = (url: URL): Answer => {
    const requestId = JSON.stringify(texts[asked++ % texts.length]);
    const missing = { status: 404, body: `{"error":${requestId},"request_id":${requestId}}` };
    const [, version, ...path] = url.pathname.split('/').map(decodeURIComponent);
    if (version === 'v3') {
      const list = service.lists.v3[path.join('/')];
      return list === undefined ? missing : found(envelope(pageOf(list, url, texts), list.length));
    }
    const [, , company = '', model = '', id] = path;
    if (company === '') return found(companies(options, requestId));
    const refusal = options.refuse?.(company, model) ?? null;
    if (refusal !== null) return refusal;
    const list = company === String(v4CompanyId) ? service.lists.v4[model] : [];
    if (list === undefined) return missing;
    const item = list.find(({ svcId }) => String(svcId) === id);
    if (id !== undefined && item === undefined) return missing;
    const data = item?.text ?? envelope(pageOf(list, url, texts), list.length);
    return found(`{"data":${data},"request_id":${requestId}}`);
  };
  // Cursors of 10 kB are longer when they are encoded.
  const http = await serveHttp(
    (request, response) => {
      const { status, body } = answer(new URL(request.url ?? '/', 'http://x'));
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    },
    { maxHeaderSize: 1 << 20 },
  );
  const service: HostileService = { origin: http.origin, lists: options.lists, close: http.close };
  return service;
}

function found(body: string): Answer {
  return { status: 200, body };
}

function companies({ v4CompanyId, others = [], texts }: HostileOptions, requestId: string): string {
  const listed = [v4CompanyId, ...others].map(
    (id, at) => `{"svc_id":${id},"name":${JSON.stringify(texts[at % texts.length])}}`,
  );
  return `{"data":{"data":[${listed.join(',')}],"prev":null,"next":null,"total_count":${listed.length}},"request_id":${requestId}}`;
}

/** A cursor is the text with the number of the page it leads to. */
function pageOf(list: readonly HostileItem[], url: URL, texts: readonly string[]): Page {
  const query = url.searchParams;
  // Nothing changed since it was read.
  if (query.has('svc_updated_at[gte]')) return { items: [], next: null };
  const wanted = ['svc_id[eq]', 'platform_id[eq]'].find((name) => query.has(name));
  if (wanted !== undefined) {
    const value = query.get(wanted);
    const of = ({ svcId, platformId }: HostileItem) => (wanted === 'svc_id[eq]' ? String(svcId) : platformId);
    return { items: list.filter((item) => of(item) === value), next: null };
  }
  const size = Number(query.get('limit'));
  const cursor = query.get('next');
  const page = cursor === null ? 0 : texts.indexOf(cursor) + 1;
  if (cursor !== null && page === 0)
    throw new Error(`A cursor that was not given: ${JSON.stringify(cursor)}`);
  const rest = list.length - (page + 1) * size;
  return { items: list.slice(page * size, (page + 1) * size), next: rest > 0 ? (texts[page] ?? null) : null };
}

function envelope({ items, next }: Page, total: number): string {
  const data = items.map(({ text }) => text).join(',');
  return `{"data":[${data}],"prev":null,"next":${JSON.stringify(next)},"total_count":${total}}`;
}
