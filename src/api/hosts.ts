import { type Dispatcher, EnvHttpProxyAgent } from 'undici';
import type { ApiKeys } from '../config/api-keys.js';
import type { Config, Endpoint } from '../config/config.js';
import type { Generation } from '../domain.js';
import { SvcError } from '../errors.js';
import { comparableHost } from '../text/addresses.js';
import { HostLimiter, type LimiterOptions } from './limiter.js';

export interface Host {
  readonly generation: Generation;
  readonly label: string;
  readonly endpoint: Endpoint;
  readonly key: string;
  readonly limiter: HostLimiter;
  readonly tally: {
    requests: number;
    retries: number;
    /** The server's clock minus ours at its last response with a `Date` header, to the second; null before. */
    clockOffsetMs: number | null;
  };
}

export interface Hosts {
  readonly v3: ReadonlyMap<string, Host>;
  readonly v4: Host;
}

/** Builds the hosts. Endpoints on one host share a limiter with the lowest of their limits. */
export function buildHosts(
  config: Config,
  keys: ApiKeys,
  { attempts, maxWaitMs, clock, sleep }: Pick<LimiterOptions, 'attempts' | 'maxWaitMs' | 'clock' | 'sleep'>,
): Hosts {
  const limiters = new Map<string, HostLimiter>();
  const endpoints = [...config.v3.regions, config.v4];
  const build = (generation: Generation, label: string, endpoint: Endpoint, key: string): Host => {
    const host = hostOf(endpoint);
    const here = endpoints.filter((other) => hostOf(other) === host);
    const concurrency = Math.min(...here.map((other) => other.concurrency));
    const requestsPerSecond = Math.min(...here.map((other) => other.requestsPerSecond));
    const pace = { host, concurrency, requestsPerSecond };
    const limiter = limiters.get(host) ?? new HostLimiter({ ...pace, attempts, maxWaitMs, clock, sleep });
    limiters.set(host, limiter);
    const tally = { requests: 0, retries: 0, clockOffsetMs: null };
    return { generation, label, endpoint, key, limiter, tally };
  };
  const v3 = config.v3.regions.map((endpoint): [string, Host] => {
    const { region } = endpoint;
    const label = config.v3.regions.length > 1 ? `V3 ${region}` : 'V3';
    return [region, build('v3', label, endpoint, keys.v3.get(region) ?? '')];
  });
  return { v3: new Map(v3), v4: build('v4', 'V4', config.v4, keys.v4) };
}

export function hostOf({ baseUrl }: Endpoint): string {
  return comparableHost(baseUrl) ?? baseUrl;
}

/**
 * Creates the dispatcher of a client. Certificates are always verified, also through the proxy that `HTTPS_PROXY` names,
 * and even if NODE_TLS_REJECT_UNAUTHORIZED is 0.
 *
 * @throws SvcError `config` if that variable does not name a proxy
 */
export function createDispatcher(config: Config): Dispatcher {
  const endpoints = [...config.v3.regions, config.v4];
  const tls = { timeout: config.http.timeoutMs, rejectUnauthorized: true };
  try {
    return new EnvHttpProxyAgent({
      pipelining: 1,
      connections: Math.max(...endpoints.map((endpoint) => endpoint.concurrency)),
      // Each attempt has a deadline; undici's own timers are coarser and not needed.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: tls,
      proxyTls: tls,
      requestTls: tls,
      // Plain http never goes through a proxy, which could read the key.
      httpProxy: '',
    });
  } catch (cause) {
    // The value may contain a password, so no message shows it.
    throw new SvcError('config', 'HTTPS_PROXY is not the address of an HTTP proxy.', {
      hint: 'Write it like http://proxy.example.com:3128, or unset it.',
      cause: cause instanceof Error ? cause.name : undefined,
    });
  }
}
