import { countOf, groupDigits } from '../text/numbers.js';
import type { BaselineSection } from './section-schemas.js';

/** `Baseline b.json accepts 3 findings (…); 1 entry is expired.` */
export function describeBaseline(baseline: BaselineSection): string {
  const { file, accepted, byReason, expired, ambiguous, unused } = baseline;
  const reasons = Object.entries(byReason).map(([key, count]) => `${key} ${groupDigits(count)}`);
  const problems = [
    { entries: expired, one: 'is expired', more: 'are expired' },
    { entries: ambiguous, one: 'fits several findings', more: 'fit several findings' },
    { entries: unused, one: 'names no finding', more: 'name no finding' },
  ];
  const parts = problems
    .filter(({ entries }) => entries.length > 0)
    .map(
      ({ entries, one, more }) =>
        `${countOf(entries.length, 'entry', 'entries')} ${entries.length === 1 ? one : more}`,
    );
  const list = reasons.length === 0 ? '' : ` (${reasons.join(', ')})`;
  return `${[`Baseline ${file} accepts ${countOf(accepted, 'finding')}${list}`, ...parts].join('; ')}.`;
}
