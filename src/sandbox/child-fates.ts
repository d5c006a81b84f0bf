import { type Fate, type FateLine, toFate } from './fate.js';

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
  ] satisfies readonly FateLine[]
).map((line) => toFate(line));
