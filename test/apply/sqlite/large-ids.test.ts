import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../../src/apply/dialects/sqlite-dialect.js';
import { findBlocks } from '../../../src/apply/judge-plan.js';
import { survey } from '../../../src/apply/stores.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { makeFastFolder } from '../../support/fast-folder.js';
import { BESIDE, LARGE_IDS, LARGE_REMAP, nextOf } from '../support/large-ids.js';
import { createRemap, IN_PLACE, INVOICES, openContext, target } from '../support/remap.js';

const folder = makeFastFolder();
const remap = join(folder, 'remap.db');
createRemap(remap, LARGE_REMAP);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const TABLES = {
  'INTEGER UNIQUE': 'k INTEGER PRIMARY KEY, i INTEGER UNIQUE',
  'INTEGER PRIMARY KEY': 'i INTEGER PRIMARY KEY, k',
  'TEXT UNIQUE': 'k INTEGER PRIMARY KEY, i TEXT UNIQUE',
  'ANY in a composite key': 'grp DEFAULT 1, i, k, PRIMARY KEY (grp, i)',
};

describe('large ids under unique constraints in SQLite', () => {
  const cases = Object.entries(TABLES).flatMap(([name, columns]) =>
    Object.keys(BESIDE).flatMap((beside) =>
      Object.keys(LARGE_IDS).map((ids) => [name, ids, beside, columns] as const),
    ),
  );

  it.each(cases)(
    '%s, ids %s beside %s, are rewritten and taken back to the byte',
    async (_, name, beside, columns) => {
      const ids = LARGE_IDS[name] ?? [];
      const others = BESIDE[beside] ?? [];
      const isFull =
        others.includes(-(2n ** 63n)) && ids.includes(2n ** 63n - 1n) && !columns.includes('TEXT');
      const file = join(folder, 'user.db');
      rmSync(file, { force: true });
      const db = new Sqlite(file);
      db.exec(`CREATE TABLE t(${columns})`);
      for (const [at, id] of [...ids, ...others].entries())
        db.prepare('INSERT INTO t(k, i) VALUES (?, ?)').run(at, id);
      const read = (term: string) => db.prepare<[], string>(`SELECT ${term} FROM t ORDER BY k`).pluck().all();
      const before = read('quote(i) || typeof(i)');
      const under = target({ kind: 'sqlite', file, table: 't', ids: [{ column: 'i', model: INVOICES }] });
      if (under.kind !== 'sqlite') throw new Error('not reached');
      const context = openContext(remap, { ...IN_PLACE, unknown: 'keep' });
      const store = openSqliteStore(context, file, [under]);
      const plan = await survey(context, [{ ...store, targets: [under.name] }], [under]);
      expect(findBlocks(plan).map(({ note }) => note.code)).toEqual(isFull ? ['no_room'] : []);
      if (!isFull) {
        await store.write(plan.targets, { run: 'run-1', planSha256: 'p', isExact: true });
        expect(read('CAST(i AS TEXT)')).toEqual([...ids.map(nextOf), ...others].map(String));
        await store.undo('run-1');
        expect(read('quote(i) || typeof(i)')).toEqual(before);
      }
      db.close();
      context.remap.close();
    },
  );
});
