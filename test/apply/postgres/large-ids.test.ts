import { beforeEach, describe, expect, it } from 'vitest';
import { campaignCases } from '../../support/campaign.js';
import { BESIDE, LARGE_IDS, LARGE_REMAP, nextOf } from '../support/large-ids.js';
import { startPostgres } from '../support/postgres.js';
import { openPostgresScene } from '../support/postgres-scene.js';
import { IN_PLACE } from '../support/remap.js';

const cluster = await startPostgres();
const KEEP = { ...IN_PLACE, unknown: 'keep' } as const;
/** Definitions of a table whose ids `i` must stay unique. */
const TABLES = {
  'bigint UNIQUE': 'k serial PRIMARY KEY, i bigint UNIQUE',
  'bigint PRIMARY KEY': 'i bigint PRIMARY KEY, k serial',
  'numeric(20) UNIQUE': 'k serial PRIMARY KEY, i numeric(20) UNIQUE',
  'numeric UNIQUE': 'k serial PRIMARY KEY, i numeric UNIQUE',
  'text UNIQUE': 'k serial PRIMARY KEY, i text UNIQUE',
  'varchar(20) PRIMARY KEY': 'i varchar(20) PRIMARY KEY, k serial',
  'bigint in a composite key': 'grp integer NOT NULL DEFAULT 1, i bigint, k serial, PRIMARY KEY (grp, i)',
};

describe.skipIf(cluster === null)('large ids under unique constraints in PostgreSQL', () => {
  if (cluster === null) return;
  const scene = openPostgresScene(cluster, LARGE_REMAP);
  beforeEach(scene.clear);

  const cases = Object.entries(TABLES).flatMap(([name, columns]) =>
    Object.keys(BESIDE).map((beside) => [name, beside, columns] as const),
  );
  it.each(campaignCases(cases, 4))(
    'are rewritten and taken back to the byte: %s beside %s',
    async (_, beside, columns) => {
      const others = BESIDE[beside] ?? [];
      const isBounded = columns.includes('bigint') || columns.includes('numeric UNIQUE');
      // With both ends of the range taken no integer is left over to step aside to.
      const isFull = isBounded && others.includes(-(2n ** 63n));
      const ids = Object.values(LARGE_IDS)
        .filter((one) => !isFull || !one.some((id) => id > 2n ** 63n - 100n))
        .flat();
      await scene.sql(`CREATE TABLE t(${columns})`);
      await scene.sql(`INSERT INTO t(i) VALUES ${[...ids, ...others].map((id) => `(${id})`).join(', ')}`);
      const before = await scene.sql('SELECT t::text FROM t ORDER BY k');
      expect(await scene.apply(KEEP)).toEqual([]);
      const after = (await scene.sql('SELECT i FROM t ORDER BY k')).map(([id]) => id);
      expect(after).toEqual([...ids.map(nextOf), ...others].map(String));
      await scene.undo();
      expect(await scene.sql('SELECT t::text FROM t ORDER BY k')).toEqual(before);
    },
  );

  it.each([
    ['bigint UNIQUE', [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 63n - 2n, 2n ** 63n - 3n]],
    ['numeric(19) UNIQUE', [-(10n ** 19n) + 1n, 10n ** 18n, 10n ** 18n + 1n, 10n ** 19n - 1n]],
    ['varchar(4) UNIQUE', [5n, 6n]],
  ])('without room to step aside in %s are refused by the plan', async (type, ids) => {
    const rows = Array.from({ length: 10 }, (_, at) => `(${at + 100})`);
    await scene.sql(`CREATE TABLE t(k serial PRIMARY KEY, i ${type})`);
    await scene.sql(`INSERT INTO t(i) VALUES ${[...ids.map((id) => `(${id})`), ...rows].join(', ')}`);
    expect(await scene.apply(KEEP)).toEqual(['no_room']);
  });

  it('is not put off by numbers that are no integers', async () => {
    await scene.sql('CREATE TABLE t(k serial PRIMARY KEY, i numeric UNIQUE)');
    const others = ['NaN', 'Infinity', '-Infinity', '1000000000000000001.5', '-0.5'];
    const values = ['1000000000000000000', '1000000000000000001', ...others];
    await scene.sql(`INSERT INTO t(i) VALUES ${values.map((one) => `('${one}')`).join(', ')}`);
    expect(await scene.apply(KEEP)).toEqual([]);
    const after = (await scene.sql('SELECT i FROM t ORDER BY k')).map(([id]) => id);
    expect(after).toEqual(['1000000000000000001', '1000000000000000000', ...others]);
    await scene.undo();
    expect((await scene.sql('SELECT i FROM t ORDER BY k')).map(([id]) => id)).toEqual(values);
  });
});
