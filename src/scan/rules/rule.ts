import type { Config } from '../../config/config.js';
import { DEFAULT_FIELD_PREFIX, DEFAULT_MODELS } from '../../config/settings.js';
import type { ModelPair } from '../../domain.js';
import { lastBefore, type Scopes, type SourceText } from '../source-text.js';

export const RULE_IDS = [
  'base-url',
  'route',
  'company-filter',
  'query-parameter',
  'envelope',
  'graphql',
  'hard-coded-id',
  'webhook',
  'recorded-response',
  'client-library',
] as const;
export type RuleId = (typeof RULE_IDS)[number];

/** What `scan` looks for; plain data, because it crosses threads. */
export interface ScanSettings {
  /** Empty: no V3 host is known. */
  readonly v3Urls: readonly string[];
  /** null: not known. */
  readonly v4Url: string | null;
  readonly models: readonly ModelPair[];
  readonly fieldPrefix: string;
}

/** What to look for: from the configuration, if there is one, and from hosts named on the command line. */
export function buildScanSettings(config: Config | null, v3Hosts: readonly string[]): ScanSettings {
  const named = v3Hosts.map((host) => (/^https?:\/\//i.test(host) ? host : `https://${host}`));
  return {
    v3Urls: [...(config?.v3.regions ?? []).map(({ baseUrl }) => baseUrl), ...named],
    v4Url: config?.v4.baseUrl ?? null,
    models: config?.models ?? DEFAULT_MODELS,
    fieldPrefix: config?.fieldPrefix ?? DEFAULT_FIELD_PREFIX,
  };
}

/** How sure it is that something uses V3, surest first. */
export const CERTAINTIES = ['certain', 'likely', 'look'] as const;
export type Certainty = (typeof CERTAINTIES)[number];

/** This certainty and those that are surer. */
export function atLeast(certainty: Certainty): readonly Certainty[] {
  return CERTAINTIES.slice(0, CERTAINTIES.indexOf(certainty) + 1);
}

export type UrlKind =
  /** A configured V3 host. */
  | 'v3'
  /** Looks like V3, but no V3 host is known. */
  | 'like_v3'
  | 'v4'
  | 'other'
  /** Without a host. */
  | 'relative';

/** A V3 route in a URL, such as `/accounting/invoices/17`; positions are those in the parsed text. */
export interface Route {
  /** Where its category begins. */
  readonly from: number;
  /** null: the model is not written there, or not configured. */
  readonly pair: ModelPair | null;
  /** Whether the model is configured, or filled in. */
  readonly isModelKnown: boolean;
  /** Whether `/v3` stands before it. */
  readonly hasVersion: boolean;
  /** Whether it begins with text that the program fills in. */
  readonly isAfterHole: boolean;
  /** What follows the model. */
  readonly id: string;
  /** Where the digits of the id of a record begin; null without one. */
  readonly idAt: number | null;
}

/** A query parameter; `name` is decoded, `value` is as written. */
export interface QueryItem {
  readonly name: string;
  readonly value: string;
  readonly from: number;
}

/** The parts of a URL that rules judge. */
export interface ParsedUrl {
  readonly kind: UrlKind;
  /** Where the host begins; null without one. */
  readonly hostAt: number | null;
  readonly route: Route | null;
  readonly query: readonly QueryItem[];
  readonly isGraphql: boolean;
  /** Whether it ends with /v3, and no V3 host is known. */
  readonly isUnknownV3: boolean;
}

/** A place that a rule found. */
export interface RuleHit {
  /** Position in the file's text. */
  readonly start: number;
  readonly certainty: Certainty;
  /** What it must become, where that can be said. */
  readonly v4?: string;
  /** The V3 model whose route this is, such as `accounting/invoices`. */
  readonly route?: string;
}

/** A rule: what it looks for, why that matters, and what V4 has instead. */
export interface Rule {
  readonly id: RuleId;
  readonly title: string;
  readonly message: string;
  /** The V4 form in general. */
  readonly v4: string;
  readonly find: (input: RuleInput) => readonly RuleHit[];
}

/** An address, or a part of one, in a literal. */
export interface Address {
  readonly url: ParsedUrl;
  /** Where its text begins and ends in the file. */
  readonly start: number;
  readonly end: number;
  /** How sure it is that it belongs to V3; null: it does not. */
  readonly certainty: Certainty | null;
}

/** What every rule is given: what is known of one file. */
export interface RuleInput {
  readonly text: SourceText;
  readonly settings: ScanSettings;
  /** In the order of the file. */
  readonly addresses: readonly Address[];
  readonly scopes: Scopes;
  /** How sure it is that the file uses V3: by its surest address or parameter; null if nothing says so. */
  readonly v3: Certainty | null;
  /** What kind of host a name of the file stands for; null: none, or several. */
  readonly kindOf: (name: string) => UrlKind | null;
}

/** Maximum number of addresses before a read that are looked at. */
const MAX_BACK = 8;
/** How far before a read the names of hosts are looked for. */
const MAX_DISTANCE = 500;
const NAME = /[A-Za-z_]\w*/g;

/**
 * Where a read or a parameter stands: in a function that sends a request to V3, in one that names no address at all, or in one
 * whose nearest address is another service's.
 */
export function contextOf(input: RuleInput, at: number): 'request' | 'near' | 'other' {
  const { scopes, addresses, text } = input;
  const from = scopes.around(at).at(-1)?.start ?? 0;
  const last = lastBefore(addresses, at);
  const before = addresses
    .slice(Math.max(0, last + 1 - MAX_BACK), last + 1)
    .filter(({ start }) => start >= from);
  const nearest = before.findLast(
    ({ certainty, url }) => certainty !== null || url.kind === 'other' || url.kind === 'v4',
  );
  const named = text.code.slice(Math.max(from, nearest?.end ?? 0, at - MAX_DISTANCE), at).match(NAME);
  const owner = named?.map(input.kindOf).findLast((kind) => kind !== null);
  if (owner === 'other' || owner === 'v4') return 'other';
  if (owner === 'v3' || owner === 'like_v3') return 'request';
  if (nearest === undefined) return input.settings.v3Urls.length > 0 ? 'near' : 'other';
  return isOfV3(nearest.certainty) ? 'request' : 'other';
}

function isOfV3(certainty: Certainty | null): boolean {
  return certainty !== null && certainty !== 'look';
}
