/** What a request asks: its path below the base URL and its parameters, nothing encoded yet. */
export interface ApiQuery {
  /** Segments; none may climb. */
  readonly path: readonly string[];
  readonly parameters: readonly (readonly [name: string, value: string])[];
}

/** The extra field of a record that tells its contents by a hash, where it is asked for. */
export const DATA_HASH: readonly (readonly [name: string, value: string])[] = [['select', 'data_hash']];

/**
 * The address of a query. Every value is encoded, so a cursor stays a parameter whatever it looks like; the
 * result never leaves the origin of `baseUrl`.
 */
export function buildUrl(baseUrl: string, query: ApiQuery): URL {
  const base = new URL(baseUrl);
  const path = query.path.map(encodeSegment).join('/');
  const search = query.parameters.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
  const url = new URL(`${base.origin}${base.pathname.replace(/\/+$/, '')}/${path}`);
  if (url.origin !== base.origin) throw new TypeError(`an address left ${base.origin}`);
  url.search = search;
  return url;
}

function encodeSegment(segment: string): string {
  if (segment === '' || segment === '.' || segment === '..') throw new TypeError('a path may not climb');
  return encode(segment);
}

/** Like encodeURIComponent, but a lone surrogate is sent as U+FFFD instead of throwing. */
function encode(text: string): string {
  return encodeURIComponent(Buffer.from(text, 'utf8').toString('utf8'));
}
