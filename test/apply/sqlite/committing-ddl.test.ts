import { describe, expect, it } from 'vitest';
import type { ApplyContext, DataStore } from '../../../src/apply/context.js';
import { sqliteEngine } from '../../../src/apply/dialects/sqlite-dialect.js';
import type { UserDb } from '../../../src/apply/dialects/sqlite-session.js';
import { openUserDb, SqliteSession } from '../../../src/apply/dialects/sqlite-session.js';
import { openDatabaseStore } from '../../../src/apply/engine/database-store.js';
import { findBlocks } from '../../../src/apply/judge-plan.js';
import { survey } from '../../../src/apply/stores.js';
import { only } from '../support/databases.js';
import { INVOICES, NEW } from '../support/remap.js';
import { openScene } from '../support/scene.js';

/** A session that stops before its n-th ALTER TABLE. */
class StoppedSession extends SqliteSession {
  #left: number;

  constructor(context: ApplyContext, db: UserDb, alterations: number) {
    super(context, db);
    this.#left = alterations;
  }

  override async exec(text: string): Promise<void> {
    if (text.startsWith('ALTER TABLE') && text.includes('ADD COLUMN')) {
      if (this.#left === 0) throw new Error('killed');
      this.#left -= 1;
    }
    await super.exec(text);
  }
}

describe.each(only('sqlite'))('$product, where ALTER TABLE ends a transaction', (engine) => {
  const { tableOf, sql, database, withStore } = openScene(engine);
  const targets = [tableOf({ ids: ['i', 'j'].map((column) => ({ column, model: INVOICES })) })];

  function openStore(context: ApplyContext, alterations = Number.POSITIVE_INFINITY): DataStore {
    return openDatabaseStore(
      {
        use: async (access, work) => {
          const file = database().url;
          const db = openUserDb(file, access === 'write');
          try {
            const engine = sqliteEngine(context, new StoppedSession(context, db, alterations), file);
            const { lockLedger } = engine.dialect;
            const dialect = { ...engine.dialect, ddlCommits: true, ensureLedger: lockLedger };
            return await work({ ...engine, dialect });
          } finally {
            db.close();
          }
        },
        close: async () => {},
      },
      targets,
    );
  }

  const apply = (alterations?: number): Promise<string[]> =>
    withStore(NEW, {}, async (_, __, context) => {
      const store = { ...openStore(context, alterations), targets: targets.map(({ name }) => name) };
      const plan = await survey(context, [store], targets);
      const found = findBlocks(plan).map(({ note }) => note.code);
      if (found.length === 0)
        await store.write(plan.targets, { run: 'run-1', planSha256: 'p', isExact: true });
      return found;
    });

  const undo = () => withStore(NEW, {}, (_, __, context) => openStore(context).undo('run-1'));

  const columns = async () => (await sql("SELECT name FROM pragma_table_info('t')")).flat();
  const states = () => database().ledger.states();

  it.each([0, 1])(
    'a run that was cut off after %i of its new columns is gone on with',
    async (alterations) => {
      await sql(
        'CREATE TABLE t(id INTEGER PRIMARY KEY, i INTEGER, j INTEGER); INSERT INTO t VALUES (1, 5, 6), (2, 7, 8)',
      );
      await expect(apply(alterations)).rejects.toThrow('killed');
      expect(await states()).toEqual(['run-1 working']);
      expect(await columns()).toEqual(['id', 'i', 'j', ...['i_v4', 'j_v4'].slice(0, alterations)]);
      expect(await apply()).toEqual([]);
      expect(await sql('SELECT i, i_v4, j, j_v4 FROM t ORDER BY id')).toEqual([
        ['5', '6', '6', '7'],
        ['7', '8', '8', '5'],
      ]);
      expect(await states()).toEqual(['run-1 done']);
      await undo();
      expect(await columns()).toEqual(['id', 'i', 'j']);
    },
  );

  it.each([0, 1])('a run that was cut off after %i of its new columns is taken back', async (alterations) => {
    await sql('CREATE TABLE t(id INTEGER PRIMARY KEY, i INTEGER, j INTEGER); INSERT INTO t VALUES (1, 5, 6)');
    await expect(apply(alterations)).rejects.toThrow('killed');
    await undo();
    expect(await columns()).toEqual(['id', 'i', 'j']);
    expect(await states()).toEqual(['run-1 undone']);
    expect(await apply()).toEqual([]);
  });

  it('a column of a finished run that somebody dropped is still named', async () => {
    await sql('CREATE TABLE t(id INTEGER PRIMARY KEY, i INTEGER, j INTEGER); INSERT INTO t VALUES (1, 5, 6)');
    expect(await apply()).toEqual([]);
    await sql('ALTER TABLE t DROP COLUMN j_v4');
    expect(await apply()).toEqual(['new_column_gone']);
  });
});
