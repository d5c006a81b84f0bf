import type { RuleInput } from '../rule-input.js';
import type { Certainty } from '../scan-settings.js';

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
  'stored-id',
  'id-width',
  'client-library',
  'mark',
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
  readonly find: (input: RuleInput) => RuleHit[];
}
