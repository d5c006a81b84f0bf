import { describe, expect, it } from 'vitest';
import { campaignCases } from '../../support/campaign.js';
import { only } from '../support/databases.js';
import { IN_PLACE, INVOICES, NEW } from '../support/remap.js';
import { openScene } from '../support/scene.js';

/** Rows are read through SQL functions, whose arguments SQLite limits. */
describe.each(only('sqlite'))('$product', (engine) => {
  const { tableOf, sql, apply, undo } = openScene(engine);
  const cases = [
    [130, 1, NEW],
    [130, 1, IN_PLACE],
    [1, 50, IN_PLACE],
    [1, 50, NEW],
  ] as const;
  it.each(campaignCases(cases, 2))(
    'a table with a key of %i columns and %i columns of ids is rewritten',
    async (keys, ids, policy) => {
      const key = Array.from({ length: keys }, (_, at) => `k${at}`);
      const columns = Array.from({ length: ids }, (_, at) => `i${at}`);
      const row = (k: number, i: number) => `(${[...key.map(() => k), ...columns.map(() => i)].join(', ')})`;
      await sql(`CREATE TABLE t(${[...key, ...columns].join(', ')}, PRIMARY KEY(${key.join(', ')}));
    INSERT INTO t VALUES ${row(1, 5)}, ${row(2, 8)}`);
      const targets = [tableOf({ key, ids: columns.map((column) => ({ column, model: INVOICES })) })];
      expect(await apply(policy, { targets })).toEqual([]);
      const last = `${columns.at(-1)}${policy.mode === 'new' ? '_v4' : ''}`;
      expect(await sql(`SELECT CAST(${last} AS INTEGER) FROM t ORDER BY k0`)).toEqual([['6'], ['5']]);
      await undo('run-1');
      expect(await sql(`SELECT CAST(${columns.at(-1)} AS INTEGER) FROM t ORDER BY k0`)).toEqual([
        ['5'],
        ['8'],
      ]);
    },
  );
});
