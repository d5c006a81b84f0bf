import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import type { Config } from '../config/config.js';
import { isLoopback } from '../config/values.js';
import { SvcError } from '../errors.js';

export type Env = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for a URL, or null: from `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` (in lower case first), as interpreted by
 * undici's `EnvHttpProxyAgent`. Loopback addresses are always connected to directly.
 *
 * @throws SvcError `config` if the variable is not the address of an HTTP proxy
 */
export function proxyFor(url: URL, env: Env): URL | null {
  if (isLoopback(url.hostname) || isExcluded(url, noProxyOf(env))) return null;
  const names = url.protocol === 'https:' ? ['https_proxy', 'http_proxy'] : ['http_proxy'];
  const name = names.flatMap((one) => [one, one.toUpperCase()]).find((one) => (env[one] ?? '') !== '');
  return name === undefined ? null : parseProxy(name, env[name] ?? '');
}

function noProxyOf(env: Env): string {
  return env['no_proxy'] ?? env['NO_PROXY'] ?? '';
}

function isExcluded(url: URL, noProxy: string): boolean {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return noProxy.split(/[,\s]+/).some((entry) => {
    if (entry === '*') return noProxy === '*';
    const [, name = entry, wantedPort] = /^(.+):(\d+)$/.exec(entry) ?? [];
    const host = name.replace(/^\*?\./, '').toLowerCase();
    if (host === '' || (wantedPort !== undefined && wantedPort !== port)) return false;
    return url.hostname === host || url.hostname.endsWith(`.${host}`);
  });
}

/** The value may contain a password, so no message shows it. */
function parseProxy(name: string, text: string): URL {
  const address = text.includes('://') ? text : `http://${text}`;
  const url = URL.canParse(address) ? new URL(address) : null;
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
    // Plain http never goes through a proxy, which could read the key: see `assertAddress`.
    httpProxy: '',
    httpsProxy: proxy.href,
    noProxy: noProxyOf(env) === '*' ? '*' : [noProxyOf(env), ...direct].join(','),
    proxyTls: tls,
    requestTls: tls,
  });
}
