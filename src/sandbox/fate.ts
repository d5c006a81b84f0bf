/**
 * What becomes of one platform record: the oracle. A fate says which records V3 and V4 hold of it and, as a
 * constant, what a correct remap says about each. Nothing is found out by comparing records.
 */

export type Scenario = 'clean' | 'ugly';

/** `variant`: differs from `base` only by what folding removes; `other`: a different key altogether. */
type KeyKind = 'base' | 'variant' | 'other' | 'none';

/** `own`: the platform's, often null; `a` and `b`: set, and different. */
type UniqueIdKind = 'own' | 'a' | 'b' | 'none';

/** One record of a fate on one side. */
export interface Slot {
  readonly deleted: boolean;
  readonly key: KeyKind;
  readonly uniqueId: UniqueIdKind;
  /** 1 for the second of two different things under one key, else 0. */
  readonly entity: 0 | 1;
}

/** What a correct remap says: about the V3 and the V4 record at these places, null where there is none. */
export interface FateRow {
  readonly v3: number | null;
  readonly v4: number | null;
  readonly status: string;
  readonly reason: string | null;
}

/** Where the platform's dates lie: about the backfill window, or after every export. */
export type DateKind = 'inside' | 'outside' | 'future';

export interface Fate {
  readonly name: string;
  readonly v3: readonly Slot[];
  readonly v4: readonly Slot[];
  readonly rows: readonly FateRow[];
  readonly dates: DateKind;
  /** How often it is drawn in each scenario, relative to the others. */
  readonly weight: Readonly<Record<Scenario, number>>;
}

const KEY_WORDS: Readonly<Record<string, KeyKind>> = { variant: 'variant', other: 'other', keyless: 'none' };
const UNIQUE_ID_WORDS: Readonly<Record<string, UniqueIdKind>> = { a: 'a', b: 'b', bare: 'none' };

function toSlots(texts: readonly string[]): readonly Slot[] {
  const sideHasA = texts.some((text) => text.split(' ').includes('a'));
  return texts.map((text) => {
    const words = text.split(' ');
    const find = <T>(choices: Readonly<Record<string, T>>): T | undefined =>
      words.map((word) => choices[word]).find((choice) => choice !== undefined);
    const uniqueId = find(UNIQUE_ID_WORDS) ?? 'own';
    return {
      deleted: words[0] === 'gone',
      key: find(KEY_WORDS) ?? 'base',
      uniqueId,
      entity: uniqueId === 'b' && sideHasA ? 1 : 0,
    };
  });
}

function row(text: string): FateRow {
  const match = /^(\d?)-(\d?) (\w+)(?:\/(\w+))?$/.exec(text);
  if (match === null) throw new TypeError(`Not a row of a fate: ${text}`);
  const place = (digit: string | undefined): number | null => (digit ? Number(digit) : null);
  return { v3: place(match[1]), v4: place(match[2]), status: match[3] ?? '', reason: match[4] ?? null };
}

/**
 * A fate as text: name, weights (clean, ugly), V3 slots, V4 slots, rows `v3-v4 status/reason`, dates.
 *
 * Slots: `live` or `gone` (deleted), then the key (`variant`, `other`, `keyless`; else the record's own) and
 * the unique id (`a`, `b`, `bare` for none; else the record's own).
 */
export type FateLine = readonly [
  string,
  readonly [number, number],
  readonly string[],
  readonly string[],
  readonly string[],
  DateKind?,
];

/** Reads a fate; the lines are constants of the sandbox, so a mistake in one is a bug. */
export function toFate([name, [clean, ugly], v3, v4, rows, dates]: FateLine): Fate {
  return {
    name,
    v3: toSlots(v3),
    v4: toSlots(v4),
    rows: rows.map(row),
    dates: dates ?? 'inside',
    weight: { clean, ugly },
  };
}
