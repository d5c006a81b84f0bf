import { expect, it } from 'vitest';
import { judgeParts, type Part } from '../../src/store/merge-parts.js';
import { FIRST_POSITION, type StreamRow } from '../../src/store/streams.js';

const WHOLE = {
  fieldPrefix: 'svc_',
  'v3.regions.eu': 'http://eu',
  'v3.regions.us': 'http://us',
  'models.a/b': 'x',
};

function list(model: string, state: StreamRow['state'], more: Partial<StreamRow> = {}): StreamRow {
  const counts = {
    records: 0,
    uniqueRecords: 0,
    duplicates: 0,
    rejected: 0,
    totalCountFirst: null,
    totalCountLast: null,
  };
  const times = { startedAt: '', finishedAt: null, readAt: null, endReason: null, endNote: null };
  const key = { id: 1n, generation: 'v3', region: 'eu', model, companyId: null, route: model } as const;
  return {
    ...key,
    ...counts,
    ...times,
    pages: state === 'running' ? 0 : 1,
    position: FIRST_POSITION,
    state,
    ...more,
  };
}

function part(file: string, streams: readonly StreamRow[], more: Partial<Part> = {}): Part {
  return { file, fingerprint: WHOLE, streams, v4Companies: null, hasCompanyList: true, ...more };
}

const A = part('A', [list('a/b', 'complete'), list('a/c', 'running')]);
const B = part('B', [list('a/b', 'running'), list('a/c', 'short')]);
const { 'v3.regions.us': _, ...euOnly } = WHOLE;

it.each<[string, Part[], string[], string[]]>([
  ['one whole', [A, B], [], []],
  ['one whole in one part', [part('A', [list('a/b', 'complete'), list('a/c', 'absent')])], [], []],
  ['settings of one region', [{ ...A, fingerprint: euOnly }, B], [], []],
  ['a missing list', [A], [], ['no part has V3 a/c in eu']],
  ['a list twice', [A, B, { ...A, file: 'C' }], ['V3 a/b in eu is in A and C'], []],
  [
    'unfinished lists',
    [A, part('B', [list('a/c', 'running', { pages: 3 })]), part('C', [list('a/d', 'failed')])],
    [],
    ['B: V3 a/c in eu was not read to the end', 'C: V3 a/d in eu was not read to the end'],
  ],
  [
    'other settings',
    [{ ...A, fingerprint: { ...WHOLE, 'v3.regions.eu': 'http://x', 'models.x/y': 'y' } }, B],
    [
      'A was exported with v3.regions.eu http://x, not http://eu',
      'A was exported with models.x/y y, not (none)',
    ],
    [],
  ],
  [
    'a setting that every part needs',
    [{ ...A, fingerprint: { 'v3.regions.eu': 'http://eu' } }, B],
    ['A was exported with fieldPrefix (none), not svc_'],
    [],
  ],
  [
    'other V4 companies',
    [
      { ...A, v4Companies: [1n] },
      { ...B, v4Companies: [1n, 2n] },
    ],
    ['V4 listed other companies for B than for A'],
    [],
  ],
  [
    'a failed company list',
    [{ ...A, hasCompanyList: false }, B],
    [],
    ["A: V4's company list was not read to the end"],
  ],
])('judges %s', (_name, parts, conflicting, incomplete) => {
  expect(judgeParts(parts, WHOLE)).toEqual({ conflicting, incomplete });
});
