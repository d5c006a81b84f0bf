import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import type { Config } from '../config/config.js';
import { type Env, noProxyOf, proxyFor } from './proxy.js';

/**
 * What opens the connections of a client. Certificates are verified whatever NODE_TLS_REJECT_UNAUTHORIZED says, also
 * inside the tunnel through a proxy.
 */
export function createDispatcher(config: Config, env: Env): Dispatcher {
  const endpoints = [...config.v3.regions, config.v4];
  // The total deadline bounds every request; undici's own timers would only add coarser ones.
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
    // Plain http never goes through a proxy, which would read the key: see `assertAddress`.
    httpProxy: '',
    httpsProxy: proxy.href,
    noProxy: noProxyOf(env) === '*' ? '*' : [noProxyOf(env), ...direct].join(','),
    proxyTls: tls,
    requestTls: tls,
  });
}
