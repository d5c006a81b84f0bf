import { describe, expect, it } from 'vitest';
import { only } from '../support/databases.js';
import { MYSQL_PRODUCT } from '../support/mysql.js';
import { IN_PLACE } from '../support/remap.js';
import { openScene } from '../support/scene.js';

/** A collation that compares texts by their bytes, trailing spaces included. */
const EXACT_COLLATION = MYSQL_PRODUCT === 'MariaDB' ? 'utf8mb4_nopad_bin' : 'utf8mb4_0900_bin';

describe.each(only('mysql'))('ids in $product', (engine) => {
  const { sql, apply, undo } = openScene(engine);

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
      expect(await apply({ ...IN_PLACE, unknown: 'keep' })).toEqual([]);
      const after = keys.map((key, at) => JSON.stringify([key, at === 0 ? '6' : cells[at]]));
      expect(await read()).toEqual(after.sort());
      await undo();
      expect(await read()).toEqual(before);
    },
  );
});
