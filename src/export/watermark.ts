import type { PageOutcome } from './outcomes.js';

/**
 * A time of the service that is not later than the moment it read this page, the first of a walk; null for unknown.
 * What is added or changed after the page was read has an update time at or after it.
 *
 * The `Date` header tells when the service answered, so the request's duration is taken off. Without it the latest
 * update time on the page is used: the service had stored it by then. The local clock never moves the watermark
 * later; where it is earlier it is taken, in case a proxy's clock or an update time is ahead.
 */
export function watermarkOf({
  askedMs,
  nowMs,
  servedMs,
  latestUpdateMs,
}: Pick<PageOutcome, 'askedMs' | 'nowMs' | 'servedMs' | 'latestUpdateMs'>): number | null {
  const serviceMs = servedMs === null ? latestUpdateMs : servedMs - Math.max(0, nowMs - askedMs);
  return serviceMs === null ? null : Math.min(serviceMs, askedMs);
}
