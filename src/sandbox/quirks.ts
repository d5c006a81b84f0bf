import { gzipSync } from 'node:zlib';
import { happens, mix } from './random.js';
import { badParameter } from './request-error.js';

/** What V4 may take no notice of, or refuse: parameters by their name, filters by their operator. */
const WORDS = [
  'include_deleted_records',
  'select',
  'sort',
  'expand',
  'eq',
  'ne',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
] as const;

/** Ways in which a service differs where the specification is silent, or fails it; none by default. */
export interface Quirks {
  /** V4 answers as if these were not asked for. */
  readonly ignore: readonly string[];
  /** V4 answers 400 to these. */
  readonly refuse: readonly string[];
  /** Larger limits are served as this one. */
  readonly pageCap: number | null;
  /** Larger limits are answered with 400. */
  readonly pageLimit: number | null;
  /** The `Date` header is off by so many seconds. */
  readonly clockSkew: number;
  /** V3 paths that are answered with 404. */
  readonly absentV3: readonly string[];
  /** So many objects that are no records come with each record, on average. */
  readonly malformed: number;
  /** Answers are compressed for clients that take that. */
  readonly gzip: boolean;
  /** Every list says that it has so many records. */
  readonly totalCount: number | null;
  /** V4 answers an empty list, not 404, to models it does not know. */
  readonly anyModel: boolean;
}

export const NO_QUIRKS: Quirks = {
  ignore: [],
  refuse: [],
  pageCap: null,
  pageLimit: null,
  clockSkew: 0,
  absentV3: [],
  malformed: 0,
  gzip: false,
  totalCount: null,
  anyModel: false,
};

/** As they are typed, for messages. */
export const QUIRKS = [
  'ignore=PARAMETER',
  'refuse=PARAMETER',
  'page-cap=N',
  'page-limit=N',
  'clock-skew=SECONDS',
  'absent-v3=PATH',
  'malformed=RATE',
  'gzip',
  'total-count=N',
  'any-model',
] as const;

/**
 * Adds one quirk as it is typed, such as `ignore=gte`, `page-cap=50` or `gzip`.
 *
 * @throws TypeError for an unknown name or a value that does not go with it
 */
export function addQuirk(quirks: Quirks, text: string): Quirks {
  const [name = '', ...rest] = text.split('=');
  const value = rest.join('=');
  switch (name) {
    case 'ignore':
      return { ...quirks, ignore: [...quirks.ignore, wordOf(value)] };
    case 'refuse':
      return { ...quirks, refuse: [...quirks.refuse, wordOf(value)] };
    case 'page-cap':
      return { ...quirks, pageCap: numberOf(value, 1) };
    case 'page-limit':
      return { ...quirks, pageLimit: numberOf(value, 1) };
    case 'clock-skew':
      return { ...quirks, clockSkew: numberOf(value, -1e9) };
    case 'absent-v3':
      return { ...quirks, absentV3: [...quirks.absentV3, value] };
    case 'malformed':
      return { ...quirks, malformed: numberOf(value, 0) };
    case 'total-count':
      return { ...quirks, totalCount: numberOf(value, 0) };
    case 'gzip':
    case 'any-model':
      if (rest.length > 0) throw new TypeError(`${name} takes no value.`);
      return name === 'gzip' ? { ...quirks, gzip: true } : { ...quirks, anyModel: true };
    default:
      throw new TypeError(`there is no such quirk.`);
  }
}

function wordOf(value: string): string {
  if (WORDS.some((word) => word === value)) return value;
  throw new TypeError(`it takes one of ${WORDS.join(', ')}.`);
}

function numberOf(value: string, least: number): number {
  const number = Number(value);
  if (value !== '' && Number.isFinite(number) && number >= least) return number;
  throw new TypeError(`its value is no number from ${least} up.`);
}

/**
 * The parameters of a V4 list that the service takes notice of.
 *
 * @throws RequestError 400 for those it refuses
 */
export function bendParameters({ ignore, refuse }: Quirks, parameters: URLSearchParams): URLSearchParams {
  const bent = new URLSearchParams();
  for (const [name, value] of parameters) {
    const [, field, operator] = /^(\w+)\[(\w+)\]$/.exec(name) ?? [];
    const word = field === undefined || field === 'sort' ? (field ?? name) : (operator ?? '');
    if (refuse.includes(word)) throw badParameter(name, 'not supported');
    if (!ignore.includes(word)) bent.append(name, value);
  }
  return bent;
}

/** @throws RequestError 400 for a limit that is refused */
export function bendLimit({ pageCap, pageLimit }: Quirks, limit: number): number {
  if (pageLimit !== null && limit > pageLimit) throw badParameter('limit', `at most ${pageLimit}`);
  return Math.min(limit, pageCap ?? limit);
}

/** None of them can be taken as a record. */
const MALFORMED = [
  'null',
  '"a text"',
  '[]',
  '{}',
  '{"svc_id":"17","svc_company_id":5,"platform_id":"x"}',
  '{"svc_id":1.5,"svc_company_id":5,"platform_id":"x"}',
  '{"svc_id":99999999999999999999,"svc_company_id":5,"platform_id":"x"}',
  '{"svc_id":17,"platform_id":"x"}',
] as const;

/** What comes in a list before the record that `hash` stands for, or null. */
export function malformedBefore({ malformed }: Quirks, hash: number): string | null {
  if (malformed === 0 || !happens(mix(hash, 0xbad), malformed)) return null;
  return MALFORMED[mix(hash, 0xbae) % MALFORMED.length] ?? null;
}

/** A body as it is sent to a client that accepts these encodings, with its headers. */
export function encodeBody(
  { gzip }: Quirks,
  accepted: string | readonly string[] | undefined,
  body: Iterable<string>,
): { readonly headers: Readonly<Record<string, string>>; readonly body: Iterable<string | Buffer> } {
  if (!gzip || !String(accepted ?? '').includes('gzip')) return { headers: {}, body };
  return { headers: { 'content-encoding': 'gzip' }, body: [gzipSync([...body].join(''))] };
}

/** The sandbox's own time as a header, off by as much as the quirk says. */
export function dateHeader({ clockSkew }: Quirks, nowMs: number): Readonly<Record<string, string>> {
  return { date: new Date(nowMs + clockSkew * 1000).toUTCString() };
}
