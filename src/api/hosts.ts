import type { Config, Endpoint } from '../config/config.js';
import type { Keys } from './client.js';
import { assertAddress, type Host } from './host.js';
import type { HostLimits } from './host-limits.js';
import type { LimiterOptions } from './limiter.js';
import type { RequestOptions } from './request.js';

/** Every endpoint of a configuration at work. */
export interface Hosts {
  /** By region. */
  readonly v3: ReadonlyMap<string, Host>;
  readonly v4: Host;
}

/**
 * Puts the endpoints to work, with the limiters of their hosts.
 *
 * @throws SvcError `config` for an address the key must not be sent to
 */
export function buildHosts(config: Config, keys: Keys, settings: RequestOptions, limits: HostLimits): Hosts {
  const endpoints = [...config.v3.regions, config.v4];
  const build = (label: string, endpoint: Endpoint, key: string): Host => {
    assertAddress(label, endpoint, config.http.allowHttp);
    const limiter = limits.limiterOf(limitsOf(hostOf(endpoint), endpoints, settings));
    return { label, endpoint, key, limiter, tally: { requests: 0, retries: 0, clockOffsetMs: null } };
  };
  const { regions } = config.v3;
  const v3Label = (region: string): string => (regions.length > 1 ? `V3 ${region}` : 'V3');
  return {
    v3: new Map(
      regions.map((endpoint) => [
        endpoint.region,
        build(v3Label(endpoint.region), endpoint, keys.v3.get(endpoint.region) ?? ''),
      ]),
    ),
    v4: build('V4', config.v4, keys.v4),
  };
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
