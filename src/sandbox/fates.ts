/**
 * What becomes of one platform record: the oracle. A fate says which records V3 and V4 hold of it and, as a
 * constant, what a correct remap says about each. Nothing is found out by comparing records.
 */

export type Scenario = 'clean' | 'ugly';

/** `variant`: differs from `base` only by what folding removes; `other`: a different key altogether. */
export type KeyKind = 'base' | 'variant' | 'other' | 'none';

/** `own`: the platform's, often null; `a` and `b`: set, and different. */
export type UniqueIdKind = 'own' | 'a' | 'b' | 'none';

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

/** Name, weights (clean, ugly), V3 slots, V4 slots, rows `v3-v4 status/reason`, dates. */
type Line = readonly [
  string,
  readonly [number, number],
  readonly string[],
  readonly string[],
  readonly string[],
  DateKind?,
];

/**
 * Slots: `live` or `gone` (deleted), then the key (`variant`, `other`, `keyless`; else the record's own) and
 * the unique id (`a`, `b`, `bare` for none; else the record's own).
 */
const LINES: readonly Line[] = [
  ['matched', [800, 560], ['live'], ['live'], ['0-0 matched']],
  ['unique id lost', [5, 10], ['live a'], ['live bare'], ['0-0 matched']],
  ['unique id conflict', [0, 10], ['live a'], ['live b'], ['0-0 matched']],
  ['told apart', [6, 10], ['live a', 'live b'], ['live a', 'live b'], ['0-0 matched', '1-1 matched']],
  [
    'near twins',
    [4, 15],
    ['live a', 'live variant b'],
    ['live a', 'live variant b'],
    ['0-0 matched', '1-1 matched'],
  ],
  ['before the window', [90, 60], ['live'], [], ['0- unmatched/outside_backfill_window'], 'outside'],
  ['not loaded', [0, 15], ['live'], [], ['0- unmatched/unexplained']],
  ['created later', [15, 10], [], ['live'], ['-0 v4_only/created_after_export'], 'future'],
  ['unknown to V3', [0, 10], [], ['live'], ['-0 v4_only/unexplained']],

  ['gone in V3', [12, 10], ['gone'], ['live'], ['0-0 deleted/deleted_in_v3']],
  ['gone in V4', [12, 10], ['live'], ['gone'], ['0-0 deleted/deleted_in_v4']],
  ['gone in both', [10, 10], ['gone'], ['gone'], ['0-0 deleted/deleted_in_both']],
  ['gone, never in V4', [12, 10], ['gone'], [], ['0- deleted/deleted_not_in_v4']],
  ['gone, only in V4', [8, 10], [], ['gone'], ['-0 deleted/deleted_v4_only']],
  [
    'gone twice',
    [2, 8],
    ['gone', 'gone'],
    ['live'],
    ['0-0 deleted/deleted_in_v3', '1-0 deleted/deleted_in_v3'],
  ],
  [
    'gone twice in both',
    [1, 5],
    ['gone', 'gone'],
    ['gone'],
    ['0-0 deleted/deleted_in_both', '1-0 deleted/deleted_in_both'],
  ],
  ['replaced in V3', [6, 10], ['live', 'gone'], ['live'], ['0-0 matched', '1- deleted/superseded_in_v3']],
  ['replaced in V4', [6, 10], ['live'], ['live', 'gone'], ['0-0 matched', '-1 deleted/superseded_in_v4']],
  [
    'replaced in both',
    [3, 8],
    ['live', 'gone'],
    ['live', 'gone'],
    ['0-0 matched', '1- deleted/superseded_in_v3', '-1 deleted/superseded_in_v4'],
  ],
  [
    'replaced, then gone in V4',
    [2, 8],
    ['live', 'gone'],
    ['gone'],
    ['0-0 deleted/deleted_in_v4', '1- deleted/superseded_in_v3'],
  ],
  [
    'replaced, never in V4',
    [0, 8],
    ['live', 'gone'],
    [],
    ['0- unmatched/unexplained', '1- deleted/superseded_in_v3'],
  ],
  [
    'replaced, unknown to V3',
    [0, 8],
    [],
    ['live', 'gone'],
    ['-0 v4_only/unexplained', '-1 deleted/superseded_in_v4'],
  ],

  [
    'twice in V4',
    [0, 10],
    ['live a'],
    ['live bare', 'live bare'],
    [
      '0- ambiguous/duplicate_platform_id_v4',
      '-0 ambiguous/duplicate_platform_id_v4',
      '-1 ambiguous/duplicate_platform_id_v4',
    ],
  ],
  [
    'twice in V4, one singled out',
    [0, 8],
    ['live a'],
    ['live a', 'live b'],
    ['0-0 matched', '-1 ambiguous/duplicate_platform_id_v4'],
  ],
  [
    'twice in V4, same unique id',
    [0, 8],
    ['live a'],
    ['live a', 'live a'],
    [
      '0- ambiguous/duplicate_platform_id_v4',
      '-0 ambiguous/duplicate_platform_id_v4',
      '-1 ambiguous/duplicate_platform_id_v4',
    ],
  ],
  [
    'twice in V4 and gone once',
    [0, 8],
    ['live bare'],
    ['live bare', 'live bare', 'gone bare'],
    [
      '0- ambiguous/duplicate_platform_id_v4',
      '-0 ambiguous/duplicate_platform_id_v4',
      '-1 ambiguous/duplicate_platform_id_v4',
      '-2 deleted/superseded_in_v4',
    ],
  ],
  [
    'twice in V4, all gone',
    [0, 8],
    ['live a'],
    ['gone bare', 'gone bare'],
    [
      '0- ambiguous/duplicate_platform_id_v4',
      '-0 ambiguous/duplicate_platform_id_v4',
      '-1 ambiguous/duplicate_platform_id_v4',
    ],
  ],
  [
    'gone, twice gone in V4, one singled out',
    [0, 8],
    ['gone a'],
    ['gone a', 'gone b'],
    ['0-0 deleted/deleted_in_both', '-1 ambiguous/duplicate_platform_id_v4'],
  ],
  [
    'gone, twice in V4',
    [0, 8],
    ['gone bare'],
    ['live bare', 'live bare'],
    [
      '0- ambiguous/duplicate_platform_id_v4',
      '-0 ambiguous/duplicate_platform_id_v4',
      '-1 ambiguous/duplicate_platform_id_v4',
    ],
  ],
  [
    'twice, unknown to V3',
    [0, 5],
    [],
    ['live bare', 'live bare'],
    ['-0 v4_only/unexplained', '-1 v4_only/unexplained'],
  ],

  [
    'twice in V3',
    [0, 10],
    ['live bare', 'live bare'],
    ['live'],
    [
      '0- ambiguous/duplicate_platform_id_v3',
      '1- ambiguous/duplicate_platform_id_v3',
      '-0 ambiguous/duplicate_platform_id_v3',
    ],
  ],
  [
    'twice in V3, one told apart',
    [0, 8],
    ['live a', 'live b'],
    ['live a'],
    ['0-0 matched', '1- ambiguous/duplicate_platform_id_v3'],
  ],
  [
    'twice in V3, gone in V4',
    [0, 8],
    ['live bare', 'live bare'],
    ['gone'],
    [
      '0- ambiguous/duplicate_platform_id_v3',
      '1- ambiguous/duplicate_platform_id_v3',
      '-0 ambiguous/duplicate_platform_id_v3',
    ],
  ],
  [
    'told apart, gone in V4',
    [0, 8],
    ['live a', 'live b'],
    ['gone a', 'gone b'],
    ['0-0 deleted/deleted_in_v4', '1-1 deleted/deleted_in_v4'],
  ],
  [
    'twice in V3 and gone once',
    [0, 8],
    ['live bare', 'live bare', 'gone bare'],
    ['live bare'],
    [
      '0- ambiguous/duplicate_platform_id_v3',
      '1- ambiguous/duplicate_platform_id_v3',
      '2- deleted/superseded_in_v3',
      '-0 ambiguous/duplicate_platform_id_v3',
    ],
  ],
  [
    'twice in both',
    [0, 8],
    ['live bare', 'live bare'],
    ['live bare', 'live bare'],
    [
      '0- ambiguous/duplicate_platform_id_v3',
      '1- ambiguous/duplicate_platform_id_v3',
      '-0 ambiguous/duplicate_platform_id_v3',
      '-1 ambiguous/duplicate_platform_id_v3',
    ],
  ],
  [
    'twice in V3, never in V4',
    [0, 5],
    ['live bare', 'live bare'],
    [],
    ['0- unmatched/unexplained', '1- unmatched/unexplained'],
  ],

  ['keyless in V3', [0, 10], ['live keyless'], [], ['0- unmatched/no_platform_id']],
  ['keyless and gone in V3', [0, 8], ['gone keyless'], [], ['0- deleted/no_platform_id']],
  ['keyless in V4', [0, 8], [], ['live keyless'], ['-0 v4_only/no_platform_id']],
  ['keyless and gone in V4', [0, 8], [], ['gone keyless'], ['-0 deleted/deleted_v4_only']],
  [
    'keyless in both',
    [0, 8],
    ['live keyless a'],
    ['live keyless a'],
    ['0- unmatched/no_platform_id', '-0 v4_only/no_platform_id'],
  ],
  [
    'key replaced',
    [0, 10],
    ['live a'],
    ['live other a'],
    ['0- unmatched/key_changed', '-0 v4_only/key_changed'],
  ],
  [
    'key written otherwise',
    [0, 10],
    ['live bare'],
    ['live variant bare'],
    ['0- unmatched/key_changed', '-0 v4_only/key_changed'],
  ],
  [
    'key replaced before the window',
    [0, 8],
    ['live a'],
    ['live other a'],
    ['0- unmatched/key_changed', '-0 v4_only/key_changed'],
    'outside',
  ],
  [
    'near twins, one loaded',
    [0, 8],
    ['live bare', 'live variant bare'],
    ['live bare'],
    ['0-0 matched', '1- unmatched/unexplained'],
  ],
];

function toFate([name, [clean, ugly], v3, v4, rows, dates]: Line): Fate {
  return {
    name,
    v3: toSlots(v3),
    v4: toSlots(v4),
    rows: rows.map(row),
    dates: dates ?? 'inside',
    weight: { clean, ugly },
  };
}

/** A record that V4 already holds and V3 gets while it is being paged. */
const ARRIVING: Line = ['arriving', [0, 0], ['live'], ['live'], ['0-0 matched']];

/** Every fate of a record; a fate's number is its place here. */
export const FATES: readonly Fate[] = [...LINES, ARRIVING].map(toFate);

export const ORDINARY_FATE = 0;
export const ARRIVING_FATE = LINES.length;

export function fateAt(number: number): Fate {
  const fate = FATES[number];
  if (fate === undefined) throw new RangeError(`There is no fate ${number}.`);
  return fate;
}

/** Fates of a line item inside a pair of records. */
export const CHILD_FATES: readonly Fate[] = (
  [
    ['matched', [100, 70], ['live'], ['live'], ['0-0 matched']],
    ['not loaded', [0, 5], ['live'], [], ['0- unmatched/unexplained']],
    ['added', [0, 5], [], ['live'], ['-0 v4_only/unexplained']],
    [
      'twice in V4',
      [0, 4],
      ['live'],
      ['live', 'live'],
      [
        '0- ambiguous/duplicate_platform_id_v4',
        '-0 ambiguous/duplicate_platform_id_v4',
        '-1 ambiguous/duplicate_platform_id_v4',
      ],
    ],
    [
      'twice in V3',
      [0, 4],
      ['live', 'live'],
      ['live'],
      [
        '0- ambiguous/duplicate_platform_id_v3',
        '1- ambiguous/duplicate_platform_id_v3',
        '-0 ambiguous/duplicate_platform_id_v3',
      ],
    ],
    [
      'keyless',
      [0, 4],
      ['live keyless'],
      ['live keyless'],
      ['0- unmatched/no_platform_id', '-0 v4_only/no_platform_id'],
    ],
    [
      'key written otherwise',
      [0, 4],
      ['live'],
      ['live variant'],
      ['0- unmatched/key_changed', '-0 v4_only/key_changed'],
    ],
  ] satisfies readonly Line[]
).map((line) => toFate(line));
