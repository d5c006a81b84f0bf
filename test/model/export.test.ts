import { afterAll, describe, expect, it } from 'vitest';
import { beginReading as begin, nextStep as decide, type SweepOverlap } from '../../src/export/walk.js';
import { page } from '../export/walk-cases.js';
import { campaignSize } from '../support/campaign.js';
import { explore } from './explore-export.js';
import { PRODUCT, type State, type Subject, type Variant } from './export-model.js';
import { openModelDatabase, readRow, replay } from './replay-export.js';

const V3: SweepOverlap = 0;
const V4: SweepOverlap = null;

const HOUR = 3600;
const base = {
  records: 3,
  pageSize: 2,
  counts: false,
  clockOff: 0,
  mutations: 1,
  crashes: 1,
  faults: 1,
  runs: 2,
} as const;
const VARIANTS: readonly Variant[] = [
  { ...base, name: 'V3, cursors are places', overlap: V3, cursors: 'place', dates: 'header' },
  {
    ...base,
    name: 'V3, clock fast',
    overlap: V3,
    cursors: 'record',
    dates: 'header',
    clockOff: HOUR,
    pageSize: 1,
  },
  { ...base, name: 'V3, clock slow', overlap: V3, cursors: 'record', dates: 'header', clockOff: -HOUR },
  {
    ...base,
    name: 'V3, clock fast, no Date',
    overlap: V3,
    cursors: 'place',
    dates: 'updates',
    clockOff: HOUR,
  },
  { ...base, name: 'V3, no dates at all', overlap: V3, cursors: 'record', dates: 'none' },
  { ...base, name: 'V3, counts', overlap: V3, cursors: 'record', dates: 'header', counts: true },
  {
    ...base,
    name: 'V3, two changes',
    overlap: V3,
    cursors: 'record',
    dates: 'header',
    mutations: 2,
    faults: 0,
    crashes: 0,
  },
  {
    ...base,
    name: 'V3, cursors expire for ever',
    overlap: V3,
    cursors: 'record',
    dates: 'header',
    cursorsExpire: true,
  },
  { ...base, name: 'V4', overlap: V4, cursors: 'record', dates: 'header', pageSize: 1 },
  { ...base, name: 'V4, counts', overlap: V4, cursors: 'record', dates: 'header', counts: true, runs: 3 },
  {
    ...base,
    name: 'V4, two changes',
    overlap: V4,
    cursors: 'record',
    dates: 'header',
    mutations: 2,
    faults: 0,
  },
];
/** Behaviours of each variant that are replayed at most, spread evenly over all. */
const MAX_REPLAYS = campaignSize({ small: 6, full: 300, soak: 1_000_000 });

const total = { states: 0, moves: 0, behaviours: 0, replayed: 0 };
afterAll(() => {
  const { states, moves, behaviours, replayed } = total;
  process.stdout.write(
    `export model: ${states} states, ${moves} moves, ${behaviours} behaviours, ${replayed} of them replayed on SQLite\n`,
  );
});

function rowOf(variant: Variant) {
  const db = openModelDatabase(variant);
  const row = readRow(db);
  db.close();
  return row;
}

function comparable({ row, stored }: Pick<State, 'row' | 'stored'>) {
  return { row: { ...row, error: null }, stored: [...stored].sort(([a], [b]) => a - b) };
}

describe('every state that an export can reach', () => {
  it.each(VARIANTS.map((variant) => [variant.name, variant] as const))(
    'keeps every promise, and the real store does the same: %s',
    (_, variant) => {
      const { states, moves, behaviours, violation } = explore(variant, rowOf(variant), PRODUCT);
      expect(violation).toBeNull();
      expect(behaviours.length).toBeGreaterThan(0);
      const every = Math.ceil(behaviours.length / MAX_REPLAYS);
      const sample = behaviours.filter((_one, at) => at % every === 0);
      const db = openModelDatabase(variant);
      for (const { actions, end } of sample) {
        expect(comparable(replay(db, variant, actions))).toEqual(comparable(end));
      }
      db.close();
      expect(sample.length).toBeGreaterThan(0);
      total.states += states;
      total.moves += moves;
      total.behaviours += behaviours.length;
      total.replayed += sample.length;
    },
  );
});

describe('a fault that is planted in what decides is found', () => {
  const faults: readonly (readonly [string, Subject['decide']])[] = [
    [
      'the local clock as watermark',
      (row, outcome, overlap) =>
        decide(row, outcome.kind === 'page' ? { ...outcome, servedMs: outcome.askedMs } : outcome, overlap),
    ],
    [
      'an empty last page as the end at once',
      (row, outcome, overlap) =>
        decide(row, outcome.kind === 'page' ? { ...outcome, objects: 1 } : outcome, overlap),
    ],
    [
      'an answer with an error as an empty last page',
      (row, outcome, overlap) => {
        if (outcome.kind !== 'error' || outcome.code !== 'bad_response') return decide(row, outcome, overlap);
        const { askedMs, nowMs } = outcome;
        return decide(row, page({ askedMs, nowMs, objects: 0 }), overlap);
      },
    ],
    [
      'an expired cursor as the end',
      (row, outcome, overlap) => {
        if (outcome.kind !== 'error' || outcome.status !== 410) return decide(row, outcome, overlap);
        return { row: { ...row, state: 'complete' }, discard: [] };
      },
    ],
    ['no sweep after the walk', (row, outcome) => decide(row, outcome, null)],
  ];
  it.each(faults)('%s', (_, faulty) => {
    const violated = (variant: Variant) =>
      explore(variant, rowOf(variant), { begin, decide: faulty }).violation;
    expect(VARIANTS.some((variant) => violated(variant) !== null)).toBe(true);
  });
});
