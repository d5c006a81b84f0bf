import type { ParsedUrl, UrlKind } from '../parse-url.js';
import type { Certainty, ScanSettings } from '../scan-settings.js';
import type { Scopes } from '../scopes.js';
import type { SourceText } from '../source-text.js';

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
