import { beforeEach, describe, expect, it } from 'vitest';
import { campaignCases } from '../../support/campaign.js';
import { BESIDE, LARGE_IDS, LARGE_REMAP, nextOf } from '../support/large-ids.js';
import { MYSQL_PRODUCT, startMysql } from '../support/mysql.js';
import { openMysqlScene } from '../support/mysql-scene.js';
import { IN_PLACE } from '../support/remap.js';

const server = await startMysql();
const KEEP = { ...IN_PLACE, unknown: 'keep' } as const;
/** Definitions of a table whose ids `i` must stay unique. */
const TABLES = {
  'bigint UNIQUE': 'k int AUTO_INCREMENT PRIMARY KEY, i bigint UNIQUE',
  'bigint unsigned UNIQUE': 'k int AUTO_INCREMENT PRIMARY KEY, i bigint unsigned UNIQUE',
  'bigint PRIMARY KEY': 'i bigint PRIMARY KEY, k int AUTO_INCREMENT UNIQUE',
  'decimal(20) UNIQUE': 'k int AUTO_INCREMENT PRIMARY KEY, i decimal(20) UNIQUE',
  'varchar(20) PRIMARY KEY': 'i varchar(20) PRIMARY KEY, k int AUTO_INCREMENT UNIQUE',
  'bigint in a composite key':
    'grp int NOT NULL DEFAULT 1, i bigint, k int AUTO_INCREMENT UNIQUE, PRIMARY KEY (grp, i)',
};

/** A collation that compares texts by their bytes, trailing spaces included. */
const EXACT_COLLATION = MYSQL_PRODUCT === 'MariaDB' ? 'utf8mb4_nopad_bin' : 'utf8mb4_0900_bin';

describe.skipIf(server === null)(`ids in ${MYSQL_PRODUCT}`, () => {
  if (server === null) return;
  const scene = openMysqlScene(server, LARGE_REMAP);
  const { sql, apply, undo } = scene;
  beforeEach(scene.clear);

  const cases = Object.entries(TABLES).flatMap(([name, columns]) =>
    Object.keys(BESIDE)
      .filter((beside) => !name.includes('unsigned') || beside === 'nothing else')
      .map((beside) => [name, beside, columns] as const),
  );
  it.each(campaignCases(cases, 4))(
    'large ones are rewritten and taken back to the byte: %s beside %s',
    async (name, beside, columns) => {
      const others = BESIDE[beside] ?? [];
      // With both ends of the range taken no integer is left over to step aside to.
      const isFull = name.includes('bigint') && others.includes(-(2n ** 63n));
      const ids = Object.values(LARGE_IDS)
        .filter((one) => !isFull || !one.some((id) => id > 2n ** 63n - 100n))
        .flat();
      await sql(`CREATE TABLE t(${columns})`);
      await sql(`INSERT INTO t(i) VALUES ${[...ids, ...others].map((id) => `(${id})`).join(', ')}`);
      const before = await sql('SELECT * FROM t ORDER BY k');
      expect(await apply(KEEP)).toEqual([]);
      const after = (await sql('SELECT i FROM t ORDER BY k')).map(([id]) => id);
      expect(after).toEqual([...ids.map(nextOf), ...others].map(String));
      await undo();
      expect(await sql('SELECT * FROM t ORDER BY k')).toEqual(before);
    },
  );

  it('without room to step aside are refused by the plan', async () => {
    const ids = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 63n - 2n, 2n ** 63n - 3n, 100n, 101n, 102n];
    await sql('CREATE TABLE t(k int AUTO_INCREMENT PRIMARY KEY, i bigint UNIQUE)');
    await sql(`INSERT INTO t(i) VALUES ${ids.map((id) => `(${id})`).join(', ')}`);
    expect(await apply(KEEP)).toEqual(['no_room']);
  });

  it.each(['utf8mb4_general_ci', 'utf8mb4_unicode_ci', 'utf8mb4_bin', EXACT_COLLATION])(
    'are told from texts that %s takes for equal, in cells and in keys',
    async (collation) => {
      const isExact = collation === EXACT_COLLATION;
      await sql(
        `CREATE TABLE t(k varchar(9) COLLATE ${collation} PRIMARY KEY, i varchar(20) COLLATE ${collation})`,
      );
      const keys = isExact ? ['a', 'A', 'a ', 'á'] : ['a', 'b', 'c', 'd'];
      const cells = ['5', '5 ', ' 5', '５'];
      await sql(`INSERT INTO t VALUES ${keys.map((key, at) => `('${key}', '${cells[at]}')`).join(', ')}`);
      const read = async () => (await sql('SELECT k, i FROM t')).map((row) => JSON.stringify(row)).sort();
      const before = await read();
      expect(await apply(KEEP)).toEqual([]);
      const after = keys.map((key, at) => JSON.stringify([key, at === 0 ? '6' : cells[at]]));
      expect(await read()).toEqual(after.sort());
      await undo();
      expect(await read()).toEqual(before);
    },
  );
});
