import type { ModelShape, PlatformDates } from './models.js';
import { Draw, happens, mix } from './seeded-random.js';

/**
 * The test oracle. A fate defines which records V3 and V4 hold of one platform record and, as a constant, the correct
 * remap rows for them. No truth is computed by comparing records.
 */

export type Scenario = 'clean' | 'ugly';

/** `variant`: differs from the record's own key only by what folding removes; `other`: a different key altogether. */
const KEY_KINDS = ['variant', 'other', 'keyless'] as const;

/** `a` and `b`: set, and different; `bare`: null. */
const UNIQUE_ID_KINDS = ['a', 'b', 'bare'] as const;

export interface Slot {
  readonly deleted: boolean;
  readonly key: (typeof KEY_KINDS)[number] | 'own';
  /** `own`: the platform's, often null. */
  readonly uniqueId: (typeof UNIQUE_ID_KINDS)[number] | 'own';
  /** 1 for the second of two different objects with one key, otherwise 0. */
  readonly entity: 0 | 1;
}

export interface FateRow {
  readonly v3: number | null;
  readonly v4: number | null;
  readonly status: string;
  readonly reason: string | null;
}

/** The platform's dates: inside or before the backfill window, or after every export. */
const DATE_KINDS = ['inside', 'outside', 'future'] as const;
export type DateKind = (typeof DATE_KINDS)[number];

export interface Fate {
  readonly name: string;
  readonly v3: readonly Slot[];
  readonly v4: readonly Slot[];
  readonly rows: readonly FateRow[];
  readonly dates: DateKind;
  readonly weight: Readonly<Record<Scenario, number>>;
}

/**
 * One fate per line: name | weights (clean, ugly) | V3 slots | V4 slots | rows | dates (default `inside`). An indented
 * line continues the previous one.
 *
 * A slot is `live` or `gone` (deleted), then its key (`variant`, `other`, `keyless`; otherwise the record's own) and its
 * unique id (`a`, `b`, `bare` for none; otherwise the record's own). Rows are slot indexes `v3-v4`, then their status and
 * reason.
 */
const RECORDS = `
matched | 800 560 | live | live | 0-0 matched
unique id lost | 5 10 | live a | live bare | 0-0 matched
unique id conflict | 0 10 | live a | live b | 0-0 matched
told apart | 6 10 | live a, live b | live a, live b | 0-0 1-1 matched
near twins | 4 15 | live a, live variant b | live a, live variant b | 0-0 1-1 matched
before the window | 90 60 | live | none | 0- unmatched/outside_backfill_window | outside
not loaded | 0 15 | live | none | 0- unmatched/unexplained
created later | 15 10 | none | live | -0 v4_only/created_after_export | future
unknown to V3 | 0 10 | none | live | -0 v4_only/unexplained
gone in V3 | 12 10 | gone | live | 0-0 deleted/deleted_in_v3
gone in V4 | 12 10 | live | gone | 0-0 deleted/deleted_in_v4
gone in both | 10 10 | gone | gone | 0-0 deleted/deleted_in_both
gone, never in V4 | 12 10 | gone | none | 0- deleted/deleted_not_in_v4
gone, only in V4 | 8 10 | none | gone | -0 deleted/deleted_v4_only
gone twice | 2 8 | gone, gone | live | 0-0 1-0 deleted/deleted_in_v3
gone twice in both | 1 5 | gone, gone | gone | 0-0 1-0 deleted/deleted_in_both
replaced in V3 | 6 10 | live, gone | live | 0-0 matched; 1- deleted/superseded_in_v3
replaced in V4 | 6 10 | live | live, gone | 0-0 matched; -1 deleted/superseded_in_v4
replaced in both | 3 8 | live, gone | live, gone
  | 0-0 matched; 1- deleted/superseded_in_v3; -1 deleted/superseded_in_v4
replaced, then gone in V4 | 2 8 | live, gone | gone | 0-0 deleted/deleted_in_v4; 1- deleted/superseded_in_v3
replaced, never in V4 | 0 8 | live, gone | none | 0- unmatched/unexplained; 1- deleted/superseded_in_v3
replaced, unknown to V3 | 0 8 | none | live, gone | -0 v4_only/unexplained; -1 deleted/superseded_in_v4
twice in V4 | 0 10 | live a | live bare, live bare | 0- -0 -1 ambiguous/duplicate_platform_id_v4
twice in V4, one singled out | 0 8 | live a | live a, live b | 0-0 matched; -1 ambiguous/duplicate_platform_id_v4
twice in V4, same unique id | 0 8 | live a | live a, live a | 0- -0 -1 ambiguous/duplicate_platform_id_v4
twice in V4 and gone once | 0 8 | live bare | live bare, live bare, gone bare
  | 0- -0 -1 ambiguous/duplicate_platform_id_v4; -2 deleted/superseded_in_v4
twice in V4, all gone | 0 8 | live a | gone bare, gone bare | 0- -0 -1 ambiguous/duplicate_platform_id_v4
gone, twice gone in V4, one singled out | 0 8 | gone a | gone a, gone b
  | 0-0 deleted/deleted_in_both; -1 ambiguous/duplicate_platform_id_v4
gone, twice in V4 | 0 8 | gone bare | live bare, live bare | 0- -0 -1 ambiguous/duplicate_platform_id_v4
twice, unknown to V3 | 0 5 | none | live bare, live bare | -0 -1 v4_only/unexplained
twice in V3 | 0 10 | live bare, live bare | live | 0-0 1-0 matched
twice in V3, one told apart | 0 8 | live a, live b | live a | 0-0 matched; 1- ambiguous/duplicate_platform_id_v3
twice in V3, gone in V4 | 0 8 | live bare, live bare | gone | 0-0 1-0 deleted/deleted_in_v4
told apart, gone in V4 | 0 8 | live a, live b | gone a, gone b | 0-0 1-1 deleted/deleted_in_v4
twice in V3 and gone once | 0 8 | live bare, live bare, gone bare | live bare
  | 0-0 1-0 matched; 2- deleted/superseded_in_v3
twice in both | 0 8 | live bare, live bare | live bare, live bare | 0- 1- -0 -1 ambiguous/duplicate_platform_id_v3
twice in V3, never in V4 | 0 5 | live bare, live bare | none | 0- 1- unmatched/unexplained
keyless in V3 | 0 10 | live keyless | none | 0- unmatched/no_platform_id
keyless and gone in V3 | 0 8 | gone keyless | none | 0- deleted/no_platform_id
keyless in V4 | 0 8 | none | live keyless | -0 v4_only/no_platform_id
keyless and gone in V4 | 0 8 | none | gone keyless | -0 deleted/deleted_v4_only
keyless in both | 0 8 | live keyless a | live keyless a | 0- unmatched/no_platform_id; -0 v4_only/no_platform_id
key replaced | 0 10 | live a | live other a | 0- unmatched/key_changed; -0 v4_only/key_changed
key written otherwise | 0 10 | live bare | live variant bare | 0- unmatched/key_changed; -0 v4_only/key_changed
key replaced before the window | 0 8 | live a | live other a
  | 0- unmatched/key_changed; -0 v4_only/key_changed | outside
near twins, one loaded | 0 8 | live bare, live variant bare | live bare | 0-0 matched; 1- unmatched/unexplained
arriving | 0 0 | live | live | 0-0 matched
`;

const CHILDREN = `
matched | 100 70 | live | live | 0-0 matched
not loaded | 0 5 | live | none | 0- unmatched/unexplained
added | 0 5 | none | live | -0 v4_only/unexplained
twice in V4 | 0 4 | live | live, live | 0- -0 -1 ambiguous/duplicate_platform_id_v4
twice in V3 | 0 4 | live, live | live | 0-0 1-0 matched
twice in both | 0 4 | live, live | live, live | 0- 1- -0 -1 ambiguous/duplicate_platform_id_v3
keyless | 0 4 | live keyless | live keyless | 0- unmatched/no_platform_id; -0 v4_only/no_platform_id
key written otherwise | 0 4 | live | live variant | 0- unmatched/key_changed; -0 v4_only/key_changed
`;

function parseFates(table: string): readonly Fate[] {
  const lines = table.trim().replace(/\n +/g, ' ').split('\n');
  return lines.map((line) => {
    const [name = '', weights = '', v3 = '', v4 = '', rows = '', dates] = line.split(' | ');
    const [clean = 0, ugly = 0] = weights.split(' ').map(Number);
    return {
      name,
      v3: parseSlots(v3),
      v4: parseSlots(v4),
      rows: rows.split('; ').flatMap(parseRows),
      dates: DATE_KINDS.find((kind) => kind === dates) ?? 'inside',
      weight: { clean, ugly },
    };
  });
}

function parseSlots(text: string): readonly Slot[] {
  if (text === 'none') return [];
  const slots = text.split(', ').map((slot) => slot.split(' '));
  const hasA = slots.some((words) => words.includes('a'));
  return slots.map((words) => {
    const uniqueId = UNIQUE_ID_KINDS.find((kind) => words.includes(kind)) ?? 'own';
    return {
      deleted: words.includes('gone'),
      key: KEY_KINDS.find((kind) => words.includes(kind)) ?? 'own',
      uniqueId,
      entity: uniqueId === 'b' && hasA ? 1 : 0,
    };
  });
}

function parseRows(text: string): readonly FateRow[] {
  const match = /^((?:\d?-\d? )+)(\w+)(?:\/(\w+))?$/.exec(text);
  if (match === null) throw new TypeError(`Not a row of a fate: ${text}`);
  const [, places = '', status = '', reason = null] = match;
  return places
    .trim()
    .split(' ')
    .map((place) => {
      const [v3, v4] = place.split('-').map((digit) => (digit === '' ? null : Number(digit)));
      return { v3: v3 ?? null, v4: v4 ?? null, status, reason };
    });
}

export const FATES = parseFates(RECORDS);
const CHILD_FATES = parseFates(CHILDREN);

const TICKETS = { record: fillTickets(FATES), child: fillTickets(CHILD_FATES) };

function fillTickets(fates: readonly Fate[]): Readonly<Record<Scenario, readonly number[]>> {
  const fill = (scenario: Scenario) =>
    fates.flatMap(({ weight }, number) => Array<number>(weight[scenario]).fill(number));
  return { clean: fill('clean'), ugly: fill('ugly') };
}

export function drawFate(kind: keyof typeof TICKETS, scenario: Scenario, hash: number): number {
  const tickets = TICKETS[kind][scenario];
  return tickets[hash % tickets.length] ?? ORDINARY_FATE;
}

export const ORDINARY_FATE = 0;
/** A record that V4 has twice, so that a person must say which of the two it became. */
export const UNDECIDED_FATE = FATES.findIndex(({ name }) => name === 'twice in V4');
/** A record that V4 already holds and that is added to V3 while V3 is read. */
export const ARRIVING_FATE = FATES.length - 1;

export function fateAt(number: number, kind: 'record' | 'child' = 'record'): Fate {
  const fate = (kind === 'record' ? FATES : CHILD_FATES)[number];
  if (fate === undefined) throw new RangeError(`There is no fate ${number}.`);
  return fate;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** No date comes closer than this to the start of the backfill window. */
const DISTANCE_MS = 2 * DAY_MS;
const OLDEST_MS = 5 * 365 * DAY_MS;
const FUTURE_MS = Date.UTC(2099, 0, 1);

export interface Times {
  readonly nowMs: number;
  readonly sinceMs: number;
}

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

export function isServedBeforeWindow(dates: ServiceDates, times: Times): boolean {
  return dates.updatedMs < times.sinceMs - DISTANCE_MS;
}

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
  const isOld = draw.chance(0.4) && shape.fields.includes('updated_at');
  const created = isOld ? between(oldest, updated) : Math.max(oldest, updated - draw.below(DAY_MS));
  const posted = between(created, updated + 1);
  return { created: text(created), updated: text(updated), posted: text(posted) };
}

function writeTime(ms: number, format: number): string {
  const iso = new Date(Math.floor(ms / 1000) * 1000).toISOString();
  if (format === 7) return iso.replace('.000Z', 'Z');
  if (format === 8) return iso.replace('.000Z', '.000000Z');
  if (format === 9) return iso.replace('.000Z', '+00:00');
  return iso;
}
