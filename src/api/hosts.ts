import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import type { ApiKeys } from '../config/api-keys.js';
import type { Config, Endpoint } from '../config/config.js';
import type { Env, Generation } from '../domain.js';
import { SvcError } from '../errors.js';
import { comparableHost, isLoopback, toUrl } from '../text/addresses.js';
import { HostLimiter, type LimiterOptions } from './limiter.js';

export interface Host {
  readonly generation: Generation;
  readonly label: string;
  readonly endpoint: Endpoint;
  readonly key: string;
  readonly limiter: HostLimiter;
  readonly proxy: string | null;
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
  settings: Pick<LimiterOptions, 'attempts' | 'maxWaitMs' | 'clock' | 'sleep'>,
  env: Env,
): Hosts {
  const limiters = new Map<string, HostLimiter>();
  const { attempts, maxWaitMs, clock, sleep } = settings;
  const endpoints = [...config.v3.regions, config.v4];
  const build = (generation: Generation, label: string, endpoint: Endpoint, key: string): Host => {
    const host = hostOf(endpoint);
    const here = endpoints.filter((other) => hostOf(other) === host);
    const concurrency = Math.min(...here.map((other) => other.concurrency));
    const requestsPerSecond = Math.min(...here.map((other) => other.requestsPerSecond));
    const pace = { host, concurrency, requestsPerSecond };
    const limiter = limiters.get(host) ?? new HostLimiter({ ...pace, attempts, maxWaitMs, clock, sleep });
    limiters.set(host, limiter);
    const proxy = proxyFor(new URL(endpoint.baseUrl), env)?.host ?? null;
    const tally = { requests: 0, retries: 0, clockOffsetMs: null };
    return { generation, label, endpoint, key, limiter, proxy, tally };
  };
  const v3 = config.v3.regions.map((endpoint): [string, Host] => {
    const { region } = endpoint;
    return [region, build('v3', v3Label(config, endpoint), endpoint, keys.v3.get(region) ?? '')];
  });
  return { v3: new Map(v3), v4: build('v4', 'V4', config.v4, keys.v4) };
}

export function hostOf({ baseUrl }: Endpoint): string {
  return comparableHost(baseUrl) ?? baseUrl;
}

function v3Label({ v3 }: Config, { region }: Endpoint): string {
  return v3.regions.length > 1 ? `V3 ${region}` : 'V3';
}

/** @throws SvcError `config` if plain http would show the key to a proxy; the configuration was checked for all else */
export function assertNoProxy({ v3, v4 }: Config, env: Env): void {
  for (const { region, baseUrl } of [...v3.regions, v4]) {
    const url = new URL(baseUrl);
    const proxy = proxyFor(url, env);
    if (url.protocol !== 'http:' || proxy === null) continue;
    const label = region === '' ? 'V4' : `V3 ${region}`;
    throw new SvcError('config', `The base URL of ${label} would show the key to the proxy ${proxy.host}.`, {
      hint: 'Use https, or name the host in NO_PROXY.',
      facts: { host: url.host },
    });
  }
}

/**
 * The proxy for a URL, or null: from `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` (in lower case first), as interpreted by
 * undici's `EnvHttpProxyAgent`. Loopback addresses are always connected to directly.
 *
 * @throws SvcError `config` if the variable is not the address of an HTTP proxy
 */
export function proxyFor(url: URL, env: Env): URL | null {
  if (isLoopback(url.hostname) || isExcluded(url, noProxyOf(env))) return null;
  const names = url.protocol === 'https:' ? ['https_proxy', 'http_proxy'] : ['http_proxy'];
  const [set] = names
    .flatMap((name) => [name, name.toUpperCase()])
    .flatMap((name) => (env[name] ? [{ name, address: env[name] }] : []));
  return set === undefined ? null : parseProxy(set.name, set.address);
}

function noProxyOf(env: Env): string {
  return env['no_proxy'] ?? env['NO_PROXY'] ?? '';
}

function isExcluded(url: URL, noProxy: string): boolean {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const target = comparableHost(url.hostname);
  return noProxy.split(/[,\s]+/).some((entry) => {
    if (entry === '*') return noProxy === '*';
    const [, name = entry, wantedPort] = /^(\[.+\]|[^:]+):(\d+)$/.exec(entry) ?? [];
    const host = comparableHost(name.replace(/^\*?\./, ''));
    if (host === null || target === null || (wantedPort !== undefined && wantedPort !== port)) return false;
    return target === host || target.endsWith(`.${host}`);
  });
}

/** The value may contain a password, so no message shows it. */
function parseProxy(name: string, text: string): URL {
  const address = text.includes('://') ? text : `http://${text}`;
  const url = toUrl(address);
  if (url !== null && /^https?:$/.test(url.protocol)) return url;
  throw new SvcError('config', `${name} is not the address of an HTTP proxy.`, {
    hint: 'Write it like http://proxy.example.com:3128, or unset it.',
  });
}

/**
 * Creates the dispatcher of a client. Certificates are always verified, also through a proxy, and even if
 * NODE_TLS_REJECT_UNAUTHORIZED is 0.
 */
export function createDispatcher(config: Config, env: Env): Dispatcher {
  const endpoints = [...config.v3.regions, config.v4];
  // Each attempt has a deadline; undici's own timers are coarser and not needed.
  const tls = { timeout: config.http.timeoutMs, rejectUnauthorized: true };
  const options = {
    pipelining: 1,
    connections: Math.max(...endpoints.map((endpoint) => endpoint.concurrency)),
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: tls,
  };
  const urls = endpoints.map(({ baseUrl }) => new URL(baseUrl));
  const [proxy] = urls.flatMap((url) => proxyFor(url, env) ?? []);
  if (proxy === undefined) return new Agent(options);
  const direct = urls.filter((url) => proxyFor(url, env) === null).map(({ host }) => host);
  return new EnvHttpProxyAgent({
    ...options,
    // Plain http never goes through a proxy, which could read the key: see `assertNoProxy`.
    httpProxy: '',
    httpsProxy: proxy.href,
    noProxy: noProxyOf(env) === '*' ? '*' : [noProxyOf(env), ...direct].join(','),
    proxyTls: tls,
    requestTls: tls,
  });
}
