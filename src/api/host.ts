import type { Endpoint } from '../config/config.js';
import { SvcError } from '../errors.js';
import type { HostLimiter } from './limiter.js';
import { type Env, proxyFor } from './proxy.js';

/** One configured endpoint at work. */
export interface Host {
  /** `V3`, `V3 eu` or `V4`, for people. */
  readonly label: string;
  readonly endpoint: Endpoint;
  readonly key: string;
  readonly limiter: HostLimiter;
  /** Name and port of the proxy it is asked through. */
  readonly proxy: string | null;
  readonly tally: HostTally;
}

/** What is counted about an endpoint. */
export interface HostTally {
  requests: number;
  retries: number;
  /** The server's clock minus ours at its last answer, to the second; null before one told its time. */
  clockOffsetMs: number | null;
}

/**
 * Refuses an address the key must not be sent to.
 *
 * @throws SvcError `config`
 */
export function assertAddress(label: string, endpoint: Endpoint, allowHttp: boolean, env: Env): void {
  const url = URL.canParse(endpoint.baseUrl) ? new URL(endpoint.baseUrl) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new SvcError('config', `The base URL of ${label} is not a plain http or https address.`, {
      hint: 'Write it like https://api.example.com, without user and password.',
    });
  }
  const proxy = proxyFor(url, env);
  if (url.protocol === 'http:' && proxy !== null) {
    throw new SvcError('config', `The base URL of ${label} would show the key to the proxy ${proxy.host}.`, {
      hint: 'Use https, or name the host in NO_PROXY.',
      facts: { host: url.host },
    });
  }
  if (url.protocol === 'https:' || allowHttp || isLoopback(url.hostname)) return;
  throw new SvcError('config', `The base URL of ${label} would send the key over plain http.`, {
    hint: 'Use https, or allow it with http.allowHttp.',
    facts: { host: url.host },
  });
}

/**
 * Refuses a key that is missing or cannot be a header. Called before each request: a command that asks one
 * generation needs no key of the other.
 *
 * @throws SvcError `config`
 */
export function assertKey({ label, endpoint, key }: Host): void {
  if (/^[\x21-\x7e]+$/.test(key)) return;
  const what = key === '' ? 'is missing' : 'holds blanks or other characters that no key has';
  throw new SvcError('config', `The API key of ${label} ${what}.`, {
    hint: `Set it in ${endpoint.keySource}, without line breaks.`,
  });
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
