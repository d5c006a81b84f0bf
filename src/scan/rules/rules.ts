import type { RuleInput } from '../rule-input.js';
import type { Certainty } from '../scan-settings.js';
import { baseUrl, route } from './address.js';
import { clientLibrary } from './client-library.js';
import { envelope, recordedResponse } from './envelope.js';
import { graphql } from './graphql.js';
import { hardCodedId, idWidth, storedId } from './ids.js';
import { companyFilter, queryParameter } from './parameters.js';

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

const webhook: Rule = {
  id: 'webhook',
  title: 'Webhook events',
  message: 'During the move, events with V3 ids and with V4 ids arrive in one stream.',
  v4: 'look each id up in the remap before using it',
  find: ({ strings, nodes, language }) => {
    if (nodes.length === 0 && language !== 'text') return [];
    return strings
      .filter(({ text }) => text === 'DATA_MODEL_CHANGES')
      .map(({ start }) => ({ start, certainty: 'likely' }));
  },
};

/** What `--mark` writes at the start of a comment. */
export const MARK = 'svc-migrate:';

const mark: Rule = {
  id: 'mark',
  title: 'Marked for later',
  message: 'A comment says that something is left to do here.',
  v4: 'do it, then delete the comment',
  find: ({ nodes, source, language }) => {
    if (nodes.length > 0) {
      const comments = nodes.filter((node) => node.kind === 'comment');
      return comments.flatMap(({ start, end }) => found(source.slice(start, end), start));
    }
    return language === 'json' ? [] : inLines(source);
  },
};

function found(comment: string, start: number) {
  const at = /^[\s/*#<!-]*svc-migrate:(?=\s)/.exec(comment);
  return at === null ? [] : [{ start: start + at[0].length - MARK.length, certainty: 'certain' as const }];
}

function inLines(source: string) {
  return [...source.matchAll(/^\s*(?:#|--|\/\/)\s*svc-migrate:(?=\s)/gm)].map(({ 0: text, index }) => ({
    start: index + text.length - MARK.length,
    certainty: 'certain' as const,
  }));
}

/** Every rule, in the order of the output. */
export const RULES: readonly Rule[] = [
  baseUrl,
  route,
  companyFilter,
  queryParameter,
  envelope,
  graphql,
  hardCodedId,
  webhook,
  recordedResponse,
  storedId,
  idWidth,
  clientLibrary,
  mark,
];
