import { comparableHost } from '../text/addresses.js';
import type { ParsedUrl, QueryItem, Route, ScanSettings, UrlKind } from './rules/rule.js';
import { HOLE } from './source-text.js';

/** A scheme and an authority, perhaps as the default of a variable: `${NAME:-https://…}`. */
const AUTHORITY = /^\s*(?:\$\{[\w.-]+(?::-|-|:))?((?:(?:https?|wss?):)?\/\/)([^/?#\s}]*)/i;
const BARE_HOST = /^(\[[\da-f:.]+\]|[\w.%-]+\.[\w-]+\.?)(?::\d+)?(?=[/?#]|$)/i;

/** What formatting fills in, as in `%s/crm/stages`. */
const PLACEHOLDER = /%[sdv](?![\da-f])|(?<!\$)\{\w*\}/gi;

/** Parses a URL or a part of one, in which `HOLE` stands for text that the program fills in. */
export function parseUrl(written: string, settings: ScanSettings): ParsedUrl {
  const text = written.replace(PLACEHOLDER, (found) => HOLE.repeat(found.length));
  const full = AUTHORITY.exec(text);
  const bare = full === null ? BARE_HOST.exec(text) : null;
  const isBareHost = bare !== null && isKnownHost(bare[0], settings);
  const authority = full?.[2] ?? (isBareHost ? bare[0] : null);
  const pathAt = full?.[0].length ?? (isBareHost ? bare[0].length : text.length - text.trimStart().length);
  const found = text.slice(pathAt).search(/[?#\s]/);
  const end = found === -1 ? text.length : pathAt + found;
  const query = readQuery(text, end);
  const path = text.slice(pathAt, end).replace(full?.[0].includes('${') ? /\}.*$/s : /$/, '');
  if (authority === null || authority === '') return readRelative(text, { pathAt, end, query }, settings);
  const scheme = full?.[1]?.replace(/^\/\//, 'https://') ?? 'https://';
  const { kind, basePath } = judgeHost(`${scheme}${authority}`, path, settings);
  const hostAt = pathAt - authority.length;
  if (kind !== 'v3' && kind !== 'like_v3') {
    const isUnknownV3 = settings.v3Urls.length === 0 && /^\/v3\/?$/.test(path);
    return { kind, hostAt, route: null, query, isGraphql: false, isUnknownV3 };
  }
  const version = [basePath, '/v3'].find((one) => one !== '' && `${path}/`.startsWith(`${one}/`)) ?? '';
  const rest = path.slice(version.length);
  return {
    kind,
    hostAt,
    route: readRoute(
      rest,
      pathAt + version.length,
      { hasVersion: version !== '', isAfterHole: false },
      settings,
    ),
    query,
    isGraphql: rest === '/graphql' || path === '/graphql',
    isUnknownV3: false,
  };
}

function isKnownHost(host: string, { v3Urls }: ScanSettings): boolean {
  const comparable = comparableHost(host);
  return comparable !== null && v3Urls.some((url) => comparableHost(url) === comparable);
}

function judgeHost(
  address: string,
  path: string,
  { v3Urls, v4Url, models }: ScanSettings,
): { kind: UrlKind; basePath: string } {
  const isV4 = v4Url !== null && isSameHost(address, v4Url);
  for (const url of v3Urls) {
    if (!isSameHost(address, url)) continue;
    const basePath = new URL(url).pathname.replace(/\/$/, '');
    if (/^\/v4(\/|$)/.test(path)) return { kind: 'v4', basePath };
    const isBelow = basePath !== '' && `${path}/`.startsWith(`${basePath}/`);
    if (isBelow || !isV4) return { kind: 'v3', basePath };
  }
  if (isV4) return { kind: 'v4', basePath: '' };
  const segments = path.split('/').slice(1, 20);
  const isNamed = segments.some((one, at) => models.some(({ v3 }) => v3 === `${one}/${segments[at + 1]}`));
  const isLikeV3 = v3Urls.length === 0 && segments[0] === 'v3' && isNamed;
  return { kind: isLikeV3 ? 'like_v3' : 'other', basePath: '/v3' };
}

/** Whether an address, parts of whose host may be filled in, can have a known host. False if too little of it is written to tell. */
function isSameHost(address: string, known: string): boolean {
  const host = comparableHost(known) ?? '';
  if (!address.includes(HOLE)) return comparableHost(address) === host;
  const written = address.replace(/^[a-z]*:\/\/([^@]*@)?/i, '').toLowerCase();
  const [first = '', last = ''] = [/^[^\0]*/.exec(written)?.[0], /[^\0]*$/.exec(written)?.[0]];
  if (first.length + last.length < 4 || host.length < first.length + last.length) return false;
  return host.startsWith(first) && host.endsWith(last);
}

interface RelativeParts {
  readonly pathAt: number;
  readonly end: number;
  readonly query: readonly QueryItem[];
}

function readRelative(
  text: string,
  { pathAt, end, query }: RelativeParts,
  settings: ScanSettings,
): ParsedUrl {
  const given = text.slice(pathAt, end);
  const holes = /^\0*/.exec(given)?.[0].length ?? 0;
  const path = given.slice(holes);
  const version = /^\/?v([34])(?=\/|$)/i.exec(path);
  const isV4 = version?.[1] === '4' || /^\/?core\/companies(\/|$)/.test(path);
  if (isV4) return { kind: 'v4', hostAt: null, route: null, query, isGraphql: false, isUnknownV3: false };
  const skipped = version?.[0].length ?? 0;
  const before = { hasVersion: version !== null, isAfterHole: holes > 0 };
  const route = readRoute(path.slice(skipped), pathAt + holes + skipped, before, settings);
  return { kind: 'relative', hostAt: null, route, query, isGraphql: false, isUnknownV3: false };
}

function readRoute(
  path: string,
  at: number,
  before: Pick<Route, 'hasVersion' | 'isAfterHole'>,
  { models }: ScanSettings,
): Route | null {
  const found = /^(\/*)([\w-]+)\/+([\w-]+|\0+|(?:%s|\{\w*\}|:\w+)|$)(?:\/+([^/]*))?$/.exec(path);
  if (found === null) return null;
  const [, slashes = '', category = '', name = '', id = ''] = found;
  if (!models.some(({ v3 }) => v3.startsWith(`${category}/`))) return null;
  const pair = models.find(({ v3 }) => v3 === `${category}/${name}`) ?? null;
  return {
    from: at + slashes.length,
    pair,
    isModelKnown: pair !== null || !/^[\w-]+$/.test(name),
    ...before,
    id,
    idAt: /^\d+$/.test(id) ? at + path.length - id.length : null,
  };
}

/** Parameters after `?`, also of a text that begins with `?` or `&`. */
function readQuery(text: string, end: number): QueryItem[] {
  const start = text[end] === '?' ? end + 1 : /^[?&]/.test(text) ? 1 : -1;
  if (start === -1) return [];
  const written = /^[^#\s"'`]*/.exec(text.slice(start))?.[0] ?? '';
  let from = start;
  return written.split('&').flatMap((item) => {
    const at = from;
    from += item.length + 1;
    const [name = '', value = ''] = item.split('=', 2);
    return name === '' ? [] : [{ name: decodeBrackets(name), value, from: at }];
  });
}

/** The name of a query parameter with `[` and `]` for their percent-encoded forms. */
export function decodeBrackets(name: string): string {
  return name.replace(/%5B/gi, '[').replace(/%5D/gi, ']');
}
