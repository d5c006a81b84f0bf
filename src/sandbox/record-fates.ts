import { type Fate, type FateLine, toFate } from './fate.js';

const LINES: readonly FateLine[] = [
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

/** A record that V4 already holds and V3 gets while it is being paged. */
const ARRIVING: FateLine = ['arriving', [0, 0], ['live'], ['live'], ['0-0 matched']];

/** Every fate of a record; a fate's number is its place here. */
export const FATES: readonly Fate[] = [...LINES, ARRIVING].map(toFate);

export const ORDINARY_FATE = 0;
export const ARRIVING_FATE = LINES.length;

export function fateAt(number: number): Fate {
  const fate = FATES[number];
  if (fate === undefined) throw new RangeError(`There is no fate ${number}.`);
  return fate;
}
