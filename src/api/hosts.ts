import type { Config, Endpoint } from '../config/config.js';
import type { Keys } from './client.js';
import { assertAddress, type Host } from './host.js';
import type { HostLimits } from './host-limits.js';
import type { LimiterOptions } from './limiter.js';
import { type Env, proxyFor } from './proxy.js';
import type { RequestOptions } from './request.js';

/** Every endpoint of a configuration at work. */
export interface Hosts {
  /** By region. */
  readonly v3: ReadonlyMap<string, Host>;
  readonly v4: Host;
}

/**
 * Puts the endpoints to work, with the limiters of their hosts.
 */
export function buildHosts(
  config: Config,
  keys: Keys,
  settings: RequestOptions,
  { limits, env }: { readonly limits: HostLimits; readonly env: Env },
): Hosts {
  const endpoints = [...config.v3.regions, config.v4];
  const build = (label: string, endpoint: Endpoint, key: string): Host => {
    const limiter = limits.limiterOf(limitsOf(hostOf(endpoint), endpoints, settings));
    const proxy = proxyFor(new URL(endpoint.baseUrl), env)?.host ?? null;
    return { label, endpoint, key, limiter, proxy, tally: { requests: 0, retries: 0, clockOffsetMs: null } };
  };
  const { regions } = config.v3;
  return {
    v3: new Map(
      regions.map((endpoint) => [
        endpoint.region,
        build(v3Label(config, endpoint), endpoint, keys.v3.get(endpoint.region) ?? ''),
      ]),
    ),
    v4: build('V4', config.v4, keys.v4),
  };
}

/** @throws SvcError `config` for an address the key must not be sent to */
export function assertAddresses(config: Config, env: Env): void {
  const { allowHttp } = config.http;
  for (const endpoint of config.v3.regions)
    assertAddress(v3Label(config, endpoint), endpoint, allowHttp, env);
  assertAddress('V4', config.v4, allowHttp, env);
}

function v3Label({ v3 }: Config, { region }: Endpoint): string {
  return v3.regions.length > 1 ? `V3 ${region}` : 'V3';
}

/** Endpoints on one host share its limiter, and of their limits the lower ones. */
function limitsOf(host: string, endpoints: readonly Endpoint[], settings: RequestOptions): LimiterOptions {
  const here = endpoints.filter((endpoint) => hostOf(endpoint) === host);
  return {
    host,
    concurrency: Math.min(...here.map((endpoint) => endpoint.concurrency)),
    requestsPerSecond: Math.min(...here.map((endpoint) => endpoint.requestsPerSecond)),
    attempts: settings.attempts,
    maxWaitMs: settings.maxWaitMs,
    clock: settings.clock,
    sleep: settings.sleep,
  };
}

/** Name and port. */
export function hostOf(endpoint: Endpoint): string {
  return URL.canParse(endpoint.baseUrl) ? new URL(endpoint.baseUrl).host : endpoint.baseUrl;
}
