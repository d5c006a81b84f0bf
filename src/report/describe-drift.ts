import { countOf, groupDigits } from '../text/numbers.js';
import type { DriftSection } from './section-schemas.js';

const MODELS = 4;

/** `Drift: 3 of 1,200 matched records …`; null where nothing differs. */
export function describeDrift({ differing, compared, models }: DriftSection): string | null {
  if (differing === 0) return null;
  const sorted = models.filter((one) => one.differing > 0).sort((a, b) => b.differing - a.differing);
  const names = sorted.slice(0, MODELS).map((one) => `${one.model} ${groupDigits(one.differing)}`);
  if (sorted.length > MODELS) names.push(`${sorted.length - MODELS} more models`);
  return `Drift: ${groupDigits(differing)} of ${countOf(compared, 'matched record')} differ in fields that both sides have (${names.join(', ')}).`;
}
