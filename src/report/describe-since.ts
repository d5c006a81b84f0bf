import { formatTime, groupDigits } from '../text/numbers.js';
import { nameKey } from './describe-key.js';
import type { SinceSection } from './section-schemas.js';

/** What changed since an earlier build, one line each. */
export function describeSince({ from, to, sameRows, changes, note }: SinceSection): string[] {
  const head = `Since build ${from.run} of the remap (${formatTime(from.builtAt)})`;
  if (from.run === to.run) return [`${head}: it is the last one.`];
  if (sameRows) return [`${head}: nothing changed.`];
  if (changes.length === 0) return [`${head}: rows changed, but no count. ${note}`];
  const lines = changes.map(({ key, before, after }) => {
    const sign = after > before ? '+' : '−';
    return `${nameKey(key)}: ${groupDigits(before)} → ${groupDigits(after)} (${sign}${groupDigits(Math.abs(after - before))})`;
  });
  return [`${head}:`, ...lines, note];
}
