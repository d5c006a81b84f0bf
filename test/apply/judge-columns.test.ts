import { describe, expect, it } from 'vitest';
import { judgeColumns } from '../../src/apply/judge-plan.js';
import type { PlanCount, Policy } from '../../src/apply/plan.js';

const FAIL: Policy = {
  mode: 'in_place',
  missing: 'fail',
  unknown: 'fail',
  others: 'fail',
  mapDeleted: false,
  again: false,
};

function judge(ids: Readonly<Record<string, number>>): string[] {
  const counts = Object.entries(ids).map(([name, n]): PlanCount => {
    return { name, rows: n, ids: n, atLeast: false, samples: [] };
  });
  const column = { column: 'id', model: 'm', newColumn: null, counts, left: [], digest: '' };
  return judgeColumns({ columns: [column] }, FAIL).map(({ text }) => text);
}

describe('what a plan says of ids that do not map', () => {
  it.each([
    [{ mapped: 5 }, []],
    [{ 'unmatched/unexplained': 1 }, ['id: 1 id has no certain V4 id (--missing keep or null allows them).']],
    [
      { 'deleted/deleted_in_v4': 1, 'deleted/parent_deleted_in_both': 1 },
      [
        'id: 2 ids are of deleted records that have a V4 id (--map-deleted maps those of deleted records; --missing keep or null allows them).',
      ],
    ],
    [
      { 'deleted/deleted_not_in_v4': 2, 'deleted/deleted_in_v3': 1 },
      [
        'id: 2 ids have no certain V4 id, 1 id is of deleted records that have a V4 id (--map-deleted maps those of deleted records; --missing keep or null allows them).',
      ],
    ],
    [
      { 'unknown/not_in_remap': 2 },
      ['id: 2 values are not V3 ids of this model (--unknown keep allows them).'],
    ],
    [
      { 'unknown/several_scopes': 3, 'unknown/hex': 1 },
      [
        'id: 3 values are V3 ids of several regions or companies (name the column that tells them apart as regionColumn or companyColumn in its entry of ids).',
        'id: 1 value is not a V3 id of this model (--unknown keep allows them).',
      ],
    ],
  ])('%j', (counts, said) => {
    expect(judge(counts as Readonly<Record<string, number>>)).toEqual(said);
  });
});
