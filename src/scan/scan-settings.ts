import type { Config } from '../config/config.js';
import { DEFAULT_FIELD_PREFIX, DEFAULT_GRAPHQL_PATHS, DEFAULT_MODELS } from '../config/settings.js';
import type { ModelPair } from '../domain.js';

/** What `scan` looks for; plain data, because it crosses threads. */
export interface ScanSettings {
  /** Empty: no V3 host is known. */
  readonly v3Urls: readonly string[];
  /** null: not known. */
  readonly v4Url: string | null;
  readonly models: readonly ModelPair[];
  readonly fieldPrefix: string;
  readonly graphqlPaths: readonly string[];
  readonly clientPackages: readonly string[];
  /** Query parameters and operators that V4 was seen to honour or not, by name, from `doctor`. */
  readonly parameters: Readonly<Record<string, 'honoured' | 'not_honoured'>>;
}

/** What to look for: from the configuration, if there is one, and from hosts named on the command line. */
export function buildScanSettings(
  config: Config | null,
  v3Hosts: readonly string[],
  parameters: ScanSettings['parameters'] = {},
): ScanSettings {
  const named = v3Hosts.map((host) => (/^https?:\/\//i.test(host) ? host : `https://${host}`));
  return {
    v3Urls: [...(config?.v3.regions ?? []).map(({ baseUrl }) => baseUrl), ...named],
    v4Url: config?.v4.baseUrl ?? null,
    models: config?.models ?? DEFAULT_MODELS,
    fieldPrefix: config?.fieldPrefix ?? DEFAULT_FIELD_PREFIX,
    graphqlPaths: config?.scan.graphqlPaths ?? DEFAULT_GRAPHQL_PATHS,
    clientPackages: config?.scan.clientPackages ?? [],
    parameters,
  };
}

/** How sure it is that something uses V3, surest first. */
export const CERTAINTIES = ['certain', 'likely', 'look'] as const;
export type Certainty = (typeof CERTAINTIES)[number];

/** This certainty and those that are surer. */
export function atLeast(certainty: Certainty): readonly Certainty[] {
  return CERTAINTIES.slice(0, CERTAINTIES.indexOf(certainty) + 1);
}
