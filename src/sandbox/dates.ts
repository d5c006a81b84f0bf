import type { DateKind, Scenario } from './fates.js';
import type { ModelShape, PlatformDates } from './models.js';
import { Draw, happens, mix } from './seeded-random.js';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** No date comes closer than this to the start of the backfill window. */
const DISTANCE_MS = 2 * DAY_MS;
const OLDEST_MS = 5 * 365 * DAY_MS;
/** Later than any export of the sandbox. */
const FUTURE_MS = Date.UTC(2099, 0, 1);

/** The service's own time, which is fixed, so that the same seed gives the same answers. */
export interface Times {
  readonly nowMs: number;
  /** Start of the backfill window. */
  readonly sinceMs: number;
}

/** A time in January 2026, chosen by the seed. */
export function defaultNow(hash: number): number {
  return Date.UTC(2026, 0, 10 + (hash % 20));
}

/** Dates in ms since 1970. */
export interface ServiceDates {
  readonly createdMs: number;
  readonly updatedMs: number;
}

const V3_SPAN_MS = 2 * 365 * DAY_MS;
const V4_SPAN_MS = 6 * HOUR_MS;
/** Granularity of service times in the ugly scenario, so that many records share one. */
const COARSE_MS = 10 * DAY_MS;
const COARSE_V4_MS = 60_000;

/**
 * When the service stored the record at `index` of `size`, in ascending order: over two years in V3, within hours in V4,
 * where everything is new. In the ugly scenario the times are coarse.
 */
export function serviceDates(
  generation: 'v3' | 'v4',
  index: number,
  size: number,
  hash: number,
  times: Times,
  scenario: Scenario,
): ServiceDates {
  const span = generation === 'v3' ? V3_SPAN_MS : V4_SPAN_MS;
  const end = times.nowMs - (generation === 'v3' ? DAY_MS : HOUR_MS);
  const createdMs = end - span + Math.floor((span * index) / size);
  const moved = happens(hash, 0.5) ? 0 : mix(hash, 3) / 0x1_0000_0000;
  const updatedMs = createdMs + Math.floor((end - createdMs) * moved);
  if (scenario === 'clean') return { createdMs, updatedMs };
  const step = generation === 'v3' ? COARSE_MS : COARSE_V4_MS;
  return { createdMs: createdMs - (createdMs % step), updatedMs: updatedMs - (updatedMs % step) };
}

/** Whether these service dates alone put a record before the window. */
export function isServedBeforeWindow(dates: ServiceDates, times: Times): boolean {
  return dates.updatedMs < times.sinceMs - DISTANCE_MS;
}

/** The platform's dates of one object, as text. */
export function platformDates(
  kind: DateKind,
  shape: ModelShape,
  hash: number,
  times: Times,
  scenario: Scenario,
): PlatformDates {
  const draw = new Draw(mix(hash, 21));
  const format = scenario === 'clean' ? 0 : draw.below(10);
  const between = (fromMs: number, toMs: number): number => fromMs + draw.below(toMs - fromMs);
  const text = (ms: number): string => writeTime(ms, format);
  if (kind === 'future') {
    const ms = FUTURE_MS + draw.below(300 * DAY_MS);
    return { created: text(ms), updated: text(ms), posted: text(ms) };
  }
  const oldest = times.nowMs - OLDEST_MS;
  const latest = kind === 'outside' ? times.sinceMs - DISTANCE_MS : times.nowMs - HOUR_MS;
  const updated = between(kind === 'outside' ? oldest : times.sinceMs + DISTANCE_MS, latest);
  const isOld = draw.chance(0.4) && 'updated_at' in shape.fields;
  const created = isOld ? between(oldest, updated) : Math.max(oldest, updated - draw.below(DAY_MS));
  const posted = between(created, updated + 1);
  return { created: text(created), updated: text(updated), posted: text(posted) };
}

/** One instant as ISO 8601 in UTC, whole seconds, in one of the ways platforms write it. */
function writeTime(ms: number, format: number): string {
  const iso = new Date(Math.floor(ms / 1000) * 1000).toISOString();
  if (format === 7) return iso.replace('.000Z', 'Z');
  if (format === 8) return iso.replace('.000Z', '.000000Z');
  if (format === 9) return iso.replace('.000Z', '+00:00');
  return iso;
}
