import type { Endpoint } from '../config/config.js';
import { SvcError } from '../errors.js';
import type { HostLimiter } from './limiter.js';

/** One configured endpoint at work. */
export interface Host {
  /** `V3`, `V3 eu` or `V4`, for people. */
  readonly label: string;
  readonly endpoint: Endpoint;
  readonly key: string;
  readonly limiter: HostLimiter;
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
 * Refuses addresses and keys that must not be used.
 *
 * @throws SvcError `config`
 */
export function assertUsable(label: string, endpoint: Endpoint, key: string, allowHttp: boolean): void {
  const facts = { api: label };
  const url = URL.canParse(endpoint.baseUrl) ? new URL(endpoint.baseUrl) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new SvcError('config', `The base URL of ${label} is not a plain http or https address.`, { facts });
  }
  if (url.protocol === 'http:' && !allowHttp && !isLoopback(url.hostname)) {
    throw new SvcError('config', `The base URL of ${label} would send the key over plain http.`, {
      hint: 'Use https, or allow it with http.allowHttp.',
      facts,
    });
  }
  // '' is an endpoint nobody asked keys for; `keyOf` refuses to use it.
  // The message names the source only: a key that cannot be a header is still a key.
  if (key !== '' && !/^[\x21-\x7e]+$/.test(key)) {
    throw new SvcError(
      'config',
      `The key of ${label} (${endpoint.keySource}) holds blanks or odd characters.`,
      {
        hint: 'Copy the key again, without line breaks.',
        facts,
      },
    );
  }
}

/**
 * The key that goes with a request.
 *
 * @throws SvcError `config` where none was loaded
 */
export function keyOf({ label, endpoint, key }: Host): string {
  if (key !== '') return key;
  throw new SvcError('config', `The key of ${label} (${endpoint.keySource}) is missing.`, {
    facts: { api: label },
  });
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
