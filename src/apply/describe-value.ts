import { describeOutcome } from '../reasons.js';
import type { UnknownWhy } from './ids/resolver.js';

const UNKNOWN: Readonly<Record<UnknownWhy, string>> = {
  decimal: 'written with a decimal point',
  exponent: 'written with an exponent',
  leading_zeros: 'written with zeros in front',
  spaces_around: 'with spaces around',
  hex: 'written in hex',
  signed: 'written with a sign',
  grouped_digits: 'written with separators between digits',
  beyond_64_bits: 'beyond 64 bits',
  escaped: 'a JSON text with escapes',
  not_json: 'not JSON',
  not_a_number: 'not a number',
  not_a_value: 'not a single value',
  known_as_v4_only: 'V4 ids of this model and no V3 ids: perhaps rewritten already',
  not_in_remap: 'neither V3 nor V4 ids of this model: another model, or foreign',
  other_scope: 'V3 ids of this model, but of another company or region than the row says',
  several_scopes:
    'V3 ids of several regions or companies that became different V4 ids: name the region or company',
  no_scope: 'in rows that name no region or company, though the target says where to find it',
  unknown_model: 'in rows whose model is none of the target',
};

/** What a category of ids that do not map means, as one sentence: `unmatched/unexplained`, `unknown/hex`. */
export function describeCategory(name: string): string {
  if (!name.startsWith('unknown/')) {
    const [status = '', reason = null] = name.split('/');
    return describeOutcome(status, reason).meaning;
  }
  const why = name.slice('unknown/'.length);
  for (const [key, text] of Object.entries(UNKNOWN)) if (key === why) return `Values ${text}.`;
  return '';
}
