import type { ModelPair } from '../domain.js';
import type { Certainty, ScanSettings } from './scan-settings.js';

/** Stands in a text for a part that is unknown. */
export const UNKNOWN = '\0';

export type UrlKind =
  /** A configured V3 host. */
  | 'v3'
  /** Looks like V3, but its host is not known to be. */
  | 'like_v3'
  | 'v4'
  | 'other'
  /** Without a host. */
  | 'relative';

/** A range of positions in the parsed text. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A V3 route in a URL, such as `/accounting/invoices/17`. */
export interface Route extends Span {
  readonly category: string;
  /** Where the name of the model is, or would be. */
  readonly model: Span;
  /** null: the model is not written there, or not configured. */
  readonly pair: ModelPair | null;
  /** Whether the model is configured, or `UNKNOWN`. */
  readonly isModelKnown: boolean;
  /** Id of a record, as digits; null without one. */
  readonly id: Span | null;
}

/** A query parameter; `value` is as written. */
export interface QueryItem extends Span {
  /** Decoded. */
  readonly name: string;
  readonly value: string;
}

/** The parts of a URL that rules judge. */
export interface ParsedUrl {
  readonly kind: UrlKind;
  /** How certain the host is one of V3; null if it is not, or unknown. */
  readonly certainty: Certainty | null;
  /** Scheme and host, with the version; `host`: where the host begins. */
  readonly base: (Span & { readonly host: number }) | null;
  readonly route: Route | null;
  readonly query: readonly QueryItem[];
  readonly isGraphql: boolean;
}

/** Parses a URL or a part of one, in which `UNKNOWN` stands for unknown text. */
export function parseUrl(text: string, settings: ScanSettings): ParsedUrl {
  const host = schemeAndHost(text, settings);
  const from = text.length - text.trimStart().length;
  const end = endOf(text, host?.[0].length ?? from);
  const query = readQuery(text, end);
  if (host === null) return readRelative(text, from, end, query, settings);
  const pathStart = host[0].length;
  const isDefault = /^\s*\$\{/.test(text);
  const path = isDefault ? text.slice(pathStart, end).replace(/\}.*$/s, '') : text.slice(pathStart, end);
  const { kind, basePath } = judgeHost(host[1] ?? '', path, settings);
  const certainty = kind === 'v3' ? 'certain' : kind === 'like_v3' ? 'likely' : null;
  const version = certainty === null ? 0 : versionLength(path, basePath);
  const hostAt = host[0].length - (host[1] ?? '').length;
  const base = { from, host: hostAt, to: pathStart + version };
  const graphql = path.slice(version);
  return {
    kind,
    certainty,
    base,
    route: certainty !== null ? readRoute(text, pathStart + version, end, settings) : null,
    query,
    isGraphql: certainty !== null && settings.graphqlPaths.some((one) => graphql === one || path === one),
  };
}

/**
 * The scheme and host that an address begins with; without a scheme, only a known host counts. The address may be the
 * default of a variable, as in `${NAME:-https://…}`.
 */
function schemeAndHost(text: string, { v3Urls }: ScanSettings): RegExpExecArray | null {
  const full = /^\s*(?:\$\{[\w.-]+:-?)?(?:(?:https?|wss?):)?\/\/([^/?#\s}]*)/i.exec(text);
  if (full !== null) return full;
  const bare = /^([\w.-]+\.[\w-]+(?::\d+)?)(?=[/?#]|$)/.exec(text);
  return bare !== null && v3Urls.some((url) => new URL(url).host === bare[1]?.toLowerCase()) ? bare : null;
}

function endOf(text: string, start: number): number {
  const at = text.slice(start).search(/[?#\s]/);
  return at === -1 ? text.length : start + at;
}

function judgeHost(
  written: string,
  path: string,
  { v3Urls, v4Url, models }: ScanSettings,
): { kind: UrlKind; basePath: string } {
  const host = written.replace(/^.*@/, '').toLowerCase();
  const isV4 = v4Url !== null && matchesHost(host, new URL(v4Url).host);
  for (const url of v3Urls) {
    const known = new URL(url);
    if (!matchesHost(host, known.host)) continue;
    const basePath = known.pathname.replace(/\/$/, '');
    if (/^\/v4(\/|$)/.test(path)) return { kind: 'v4', basePath };
    const isBelow = basePath !== '' && `${path}/`.startsWith(`${basePath}/`);
    if (isBelow || !isV4) return { kind: 'v3', basePath };
  }
  if (isV4) return { kind: 'v4', basePath: '' };
  const isKnown = v3Urls.length > 0;
  const segments = path.split('/').slice(1);
  const named = segments.some((one, at) => models.some(({ v3 }) => v3 === `${one}/${segments[at + 1]}`));
  return { kind: !isKnown && segments[0] === 'v3' && named ? 'like_v3' : 'other', basePath: '/v3' };
}

/** Whether a host, parts of which may be unknown, can be the known one. False if too little of it is written to tell. */
function matchesHost(host: string, known: string): boolean {
  if (!host.includes(UNKNOWN)) return host === known;
  const [first = '', ...rest] = host.split(UNKNOWN);
  const last = rest.at(-1) ?? '';
  if (first.length + last.length < 4 || known.length < first.length + last.length) return false;
  return known.startsWith(first) && known.endsWith(last);
}

function versionLength(path: string, basePath: string): number {
  for (const one of [basePath, '/v3']) {
    if (one !== '' && `${path}/`.startsWith(`${one}/`)) return one.length;
  }
  return 0;
}

function readRelative(
  text: string,
  start: number,
  end: number,
  query: readonly QueryItem[],
  settings: ScanSettings,
): ParsedUrl {
  let from = start;
  while (text[from] === UNKNOWN) from += 1;
  const path = text.slice(from, end);
  const version = /^\/?v([34])(?=\/|$)/.exec(path);
  if (version?.[1] === '4' || /^\/?core\/companies(\/|$)/.test(path)) {
    return { kind: 'v4', certainty: null, base: null, route: null, query, isGraphql: false };
  }
  const begin = from + (version?.[0].length ?? 0);
  const route = readRoute(text, begin, end, settings);
  return { kind: 'relative', certainty: null, base: null, route, query, isGraphql: false };
}

function readRoute(text: string, begin: number, end: number, { models }: ScanSettings): Route | null {
  const found = /^(\/*)([\w-]+)\/+([\w-]+|\0)(?:\/+([^/]*))?(\/.*)?$/s.exec(text.slice(begin, end));
  if (found === null) return null;
  const [, slashes = '', category = '', name = '', id = '', more = ''] = found;
  const isCategory = models.some(({ v3 }) => v3.startsWith(`${category}/`));
  if (!isCategory || more !== '') return null;
  const pair = models.find(({ v3 }) => v3 === `${category}/${name}`) ?? null;
  const from = begin + slashes.length;
  const at = text.indexOf(name, from + category.length);
  const to = at + name.length;
  const idAt = id === '' ? -1 : text.indexOf(id, to);
  return {
    from: begin,
    to,
    category,
    model: { from: at, to },
    pair,
    isModelKnown: pair !== null || name === UNKNOWN,
    id: /^\d+$/.test(id) ? { from: idAt, to: idAt + id.length } : null,
  };
}

/** Parameters after `?`, also of a text that begins with `?` or `&`. */
function readQuery(text: string, end: number): QueryItem[] {
  const start = text[end] === '?' ? end + 1 : /^[?&]/.test(text) ? 1 : -1;
  if (start === -1) return [];
  const items: QueryItem[] = [];
  for (let from = start; from < text.length; ) {
    const next = text.slice(from).search(/[&#\s"'`]/);
    const to = next === -1 ? text.length : from + next;
    const [name = '', value = ''] = text.slice(from, to).split('=', 2);
    if (name !== '') items.push({ name: decodeBrackets(name), value, from, to });
    if (text[to] !== '&') break;
    from = to + 1;
  }
  return items;
}

/** The name of a query parameter with `[` and `]` for their percent-encoded forms. */
export function decodeBrackets(name: string): string {
  return name.replace(/%5B/gi, '[').replace(/%5D/gi, ']');
}
