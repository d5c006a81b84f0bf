import { parseDuration, parseRegions, regionsProblem, v4UrlProblem } from '../config/values.js';
import { parseId, parseSvcId } from '../domain.js';
import { toUrl } from '../text/to-url.js';
import * as z from '../zod.js';

/** A value of an option that is parsed from text; `takes` says what it must be: `takes a duration such as 90s`. */
function parsed<Value>(takes: string, parse: (text: string) => Value | null) {
  return z.string().transform((text, context): Value => {
    const value = parse(text);
    if (value !== null) return value;
    context.addIssue({ code: 'custom', message: takes, input: text });
    return z.NEVER;
  });
}

export const text = z.string();

/** A whole number of up to ten digits. */
export function wholeNumber(min = 0, max?: number) {
  const least = min === 0 ? '' : ` of at least ${min}`;
  const range = max === undefined ? least : ` from ${min} to ${max}`;
  return parsed(`takes a whole number${range}`, (word) => {
    const number = /^\d{1,10}$/.test(word) ? Number(word) : Number.NaN;
    return number >= min && number <= (max ?? number) ? number : null;
  });
}

/** A duration in ms, such as `90s`. */
export const duration = parsed('takes a duration such as 90s, 5m or 2h', parseDuration);

/** The same limit as for `http.maxWaitMs` in the configuration. */
const MAX_WAIT_MS = 86_400_000;

/** A duration of up to a day. */
export const waitDuration = parsed('takes a duration up to 24h, such as 90s or 15m', (word) => {
  const ms = parseDuration(word);
  return ms === null || ms > MAX_WAIT_MS ? null : ms;
});

export const companyId = parsed('takes a company id: digits only, at most 9223372036854775807', parseId);

/** A `svc_id` of V3 or V4. */
export const svcId = parsed('takes an id: a 64-bit integer in plain digits', parseSvcId);

/** The number of a build of the remap, or `previous`. */
export const build = parsed<bigint | 'previous'>('takes the number of a build or previous', (word) => {
  if (word === 'previous') return word;
  return /^\d{1,15}$/.test(word) ? BigInt(word) : null;
});

/** An address to listen at. */
export const listenAddress = parsed('takes a port or host:port', (word) => {
  const [, host = '127.0.0.1', port = ''] = /^(?:(.+):)?(\d{1,5})$/.exec(word) ?? [];
  return port !== '' && Number(port) <= 65_535 ? { host, port: Number(port) } : null;
});

/** Addresses of V3, by region. */
export const v3Addresses = parsed(
  'takes the address of V3, or several as eu=https://…,us=https://…',
  (word) => (regionsProblem(word) === null ? parseRegions(word) : null),
);

export const v4Address = parsed('takes the address of V4, without /v4', (word) =>
  v4UrlProblem(word) === null ? word : null,
);

export const httpAddress = parsed('takes an http address', (word) =>
  /^https?:/.test(word) && toUrl(word) !== null ? word : null,
);
