import { describe, expect, it } from 'vitest';
import { FATES } from '../../src/sandbox/fates.js';
import { rowsFor } from '../../src/sandbox/truth.js';
import { buildWorld } from '../../src/sandbox/world.js';

const world = buildWorld({
  seed: 81,
  scenario: 'ugly',
  scale: 300,
  companies: 5,
  windowDays: 90,
  now: undefined,
  idsSurvive: undefined,
  arrivals: false,
});

/** What becomes of a fate's records in a company of a kind, as `v3-v4 status/reason`. */
function rowsOf(kind: string, name: string, wantsAbsent = false): readonly string[] {
  const fate = FATES.find((candidate) => candidate.name === name);
  if (fate === undefined) throw new Error(`There is no fate ${name}.`);
  for (const connection of world.connections) {
    if (connection.kind !== kind) continue;
    if (!connection.blocks.some(({ isAbsent }) => isAbsent === wantsAbsent)) continue;
    const rows = rowsFor(connection.kind, wantsAbsent, fate);
    return rows.map(({ v3, v4, status, reason }) => `${v3 ?? ''}-${v4 ?? ''} ${status}/${reason}`);
  }
  throw new Error(`There is no company of kind ${kind}.`);
}

describe('what becomes of a record in the circumstances of its company', () => {
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    ['normal', 'matched', ['0-0 matched/null']],
    ['inert', 'matched', ['0- unmatched/connection_inert']],
    ['inert', 'before the window', ['0- unmatched/connection_inert']],
    ['inert', 'twice in V3', ['0- unmatched/connection_inert', '1- unmatched/connection_inert']],
    ['inert', 'gone in both', ['0- deleted/deleted_not_in_v4']],
    ['inert', 'replaced in V3', ['0- unmatched/connection_inert', '1- deleted/superseded_in_v3']],
    ['inert', 'keyless in V3', ['0- unmatched/no_platform_id']],
    ['inert', 'keyless and gone in V3', ['0- deleted/no_platform_id']],
    ['inert', 'unknown to V3', []],
    ['missing_in_v4', 'matched', ['0- unmatched/company_not_in_v4']],
    ['missing_in_v4', 'gone in V3', ['0- deleted/company_not_in_v4']],
    ['missing_in_v4', 'replaced in V3', ['0- unmatched/company_not_in_v4', '1- deleted/company_not_in_v4']],
    ['missing_in_v4', 'keyless in V3', ['0- unmatched/no_platform_id']],
    ['missing_in_v4', 'keyless and gone in V3', ['0- deleted/no_platform_id']],
    ['missing_in_v3', 'matched', ['-0 v4_only/company_not_in_v3']],
    ['missing_in_v3', 'created later', ['-0 v4_only/company_not_in_v3']],
    ['missing_in_v3', 'key replaced', ['-0 v4_only/company_not_in_v3']],
    ['missing_in_v3', 'keyless in V4', ['-0 v4_only/no_platform_id']],
    ['missing_in_v3', 'keyless and gone in V4', ['-0 deleted/deleted_v4_only']],
    ['missing_in_v3', 'gone in V4', ['-0 deleted/deleted_v4_only']],
    ['missing_in_v3', 'replaced in V4', ['-0 v4_only/company_not_in_v3', '-1 deleted/superseded_in_v4']],
    ['ambiguous', 'matched', ['0- unmatched/company_ambiguous', '-0 v4_only/company_ambiguous']],
    ['ambiguous', 'gone in both', ['0- deleted/company_ambiguous', '-0 deleted/deleted_v4_only']],
    ['ambiguous', 'keyless in both', ['0- unmatched/no_platform_id', '-0 v4_only/no_platform_id']],
  ];
  for (const [kind, fate, rows] of cases) {
    it(`${kind}, ${fate}: ${rows.join(', ') || 'nothing'}`, () => {
      expect(rowsOf(kind, fate)).toEqual(rows);
    });
  }

  it('a model that V4 lacks takes its V3 records, keyless ones aside', () => {
    expect(rowsOf('normal', 'matched', true)).toEqual(['0- unmatched/model_not_in_v4']);
    expect(rowsOf('normal', 'gone in V3', true)).toEqual(['0- deleted/model_not_in_v4']);
    expect(rowsOf('normal', 'keyless in V3', true)).toEqual(['0- unmatched/no_platform_id']);
  });
});

describe('fates', () => {
  it('name every record of theirs in a row: V3 ones once, V4 ones that are no twin once', () => {
    for (const { name, v3, v4, rows } of FATES) {
      const v3Places = rows.flatMap((row) => (row.v3 === null ? [] : [row.v3]));
      expect(v3Places.sort(), name).toEqual([...v3.keys()]);
      const twins = new Set(rows.flatMap((row) => (row.v3 === null || row.v4 === null ? [] : [row.v4])));
      const lonely = rows.flatMap((row) => (row.v3 === null && row.v4 !== null ? [row.v4] : []));
      expect([...twins, ...lonely].sort(), name).toEqual([...v4.keys()]);
    }
  });
});
