import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Sqlite } from '../../../src/store/sqlite.js';
import { createOrders, IDS, MAPPED, makeScene, ordersIn, query, type Scene, upTo } from '../cli/scene.js';

const TARGET = { name: 'orders', kind: 'sqlite', file: 'shop.db', table: 'orders', ids: IDS };
const EMIT = [
  'apply',
  '--in-place',
  '--emit-sql',
  'sqlite',
  '--output',
  'sql',
  '--at',
  '2026-11-20T00:00:00Z',
];
const STAMP = '20261120000000';

function open(): Scene {
  const scene = makeScene([TARGET]);
  createOrders(scene.path('shop.db'), [...upTo(MAPPED), null, 3, 3], 'invoice_id INTEGER');
  return scene;
}

/** The files of a folder with their texts; `PLAN` stands for the plan in their names. */
function readFolder(folder: string): Map<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  const files = names.filter((name) => /\.\w+$/.test(name));
  return new Map(
    files.map((name) => [
      name.replace(/_[0-9a-f]{6}(?=\W)/, '_PLAN'),
      readFileSync(join(folder, name), 'utf8'),
    ]),
  );
}

function runSql(file: string, sql: string): void {
  const db = new Sqlite(file);
  try {
    db.exec(sql);
  } finally {
    db.close();
  }
}

/** How each tool would run the SQL up and down. Where the tool begins the transaction, so does this. */
const inTransaction = (sql: string) => `BEGIN; ${sql}; COMMIT`;
const TOOLS: readonly {
  readonly layout: string;
  readonly files: readonly string[];
  readonly up: (files: ReadonlyMap<string, string>) => string;
  readonly down: (files: ReadonlyMap<string, string>) => string;
}[] = [
  {
    layout: 'plain',
    files: ['down.sql', 'up.sql'],
    up: (files) => files.get('up.sql') ?? '',
    down: (files) => files.get('down.sql') ?? '',
  },
  {
    layout: 'flyway',
    files: [`U${STAMP}__svc_migrate_ids_PLAN.sql`, `V${STAMP}__svc_migrate_ids_PLAN.sql`],
    up: (files) => inTransaction(files.get(`V${STAMP}__svc_migrate_ids_PLAN.sql`) ?? ''),
    down: (files) => inTransaction(files.get(`U${STAMP}__svc_migrate_ids_PLAN.sql`) ?? ''),
  },
  {
    layout: 'liquibase',
    files: ['svc_migrate_ids_PLAN.sql'],
    up: (files) =>
      inTransaction(
        changeset(files)
          .filter((line) => !line.startsWith('--'))
          .join('\n'),
      ),
    down: (files) =>
      inTransaction(
        changeset(files)
          .filter((line) => line.startsWith('--rollback '))
          .map((line) => line.slice('--rollback '.length))
          .join('\n'),
      ),
  },
  {
    layout: 'prisma',
    files: [`${STAMP}_svc_migrate_ids_PLAN/down.sql`, `${STAMP}_svc_migrate_ids_PLAN/migration.sql`],
    up: (files) => files.get(`${STAMP}_svc_migrate_ids_PLAN/migration.sql`) ?? '',
    down: (files) => files.get(`${STAMP}_svc_migrate_ids_PLAN/down.sql`) ?? '',
  },
  {
    layout: 'rails',
    files: [
      `${STAMP}_svc_migrate_ids_PLAN.rb`,
      `${STAMP}_svc_migrate_ids_PLAN/down.sql`,
      `${STAMP}_svc_migrate_ids_PLAN/up.sql`,
    ],
    up: (files) => inTransaction(files.get(`${STAMP}_svc_migrate_ids_PLAN/up.sql`) ?? ''),
    down: (files) => inTransaction(files.get(`${STAMP}_svc_migrate_ids_PLAN/down.sql`) ?? ''),
  },
];

function changeset(files: ReadonlyMap<string, string>): string[] {
  const lines = (files.get('svc_migrate_ids_PLAN.sql') ?? '').split('\n');
  expect(lines[0]).toBe('--liquibase formatted sql');
  const sets = lines.flatMap((line, at) => (line.startsWith('--changeset ') ? [at] : []));
  expect(sets).toHaveLength(1);
  return lines.slice(sets[0]);
}

describe('apply --emit-sql', () => {
  it.each(TOOLS)(
    'writes a migration for $layout that runs, and is taken back',
    async ({ layout, files, up, down }) => {
      const scene = open();
      const file = scene.path('shop.db');
      const before = ordersIn(file);
      const done = await scene.run([...EMIT, '--layout', layout]);
      expect(done).toMatchObject({ code: 0 });
      expect(ordersIn(file)).toEqual(before);
      const written = readFolder(scene.path('sql'));
      expect([...written.keys()]).toEqual([...files, 'svc-migrate-sql.json', 'verify.sql'].sort());
      const heads = [...written.values()].join('\n').match(/Written by svc-migrate \S+ from the remap/g);
      expect(heads?.length).toBeGreaterThanOrEqual(2);
      runSql(file, up(written));
      const after = before.map((id) => (id === null ? null : String(scene.v4Of(Number(id)))));
      expect(ordersIn(file)).toEqual(after);
      expect(query(file, written.get('verify.sql') ?? '')).toEqual(['0']);
      expect(await scene.run(['apply', '--verify'])).toMatchObject({ code: 0 });
      runSql(file, up(written));
      expect(ordersIn(file)).toEqual(after);
      runSql(file, down(written));
      expect(ordersIn(file)).toEqual(before);
      expect(query(file, "SELECT name FROM sqlite_schema WHERE name LIKE 'svc_migrate_sql%'")).toEqual([]);
    },
  );

  it('writes a migration that Knex runs statement by statement', async () => {
    const scene = open();
    const file = scene.path('shop.db');
    const before = ordersIn(file);
    expect(await scene.run([...EMIT, '--layout', 'knex'])).toMatchObject({ code: 0 });
    const name = readdirSync(scene.path('sql')).find((file) => file.endsWith('.cjs'));
    const path = scene.path(`sql/${name}`);
    const migration: unknown = createRequire(import.meta.url)(path);
    const db = new Sqlite(file);
    // As Knex: one statement at a time, in a transaction of its own.
    const raw = async (sql: string) => {
      const statement = db.prepare(sql);
      return statement.reader ? statement.all() : statement.run();
    };
    const call = async (name: 'up' | 'down') => {
      const found = Object(migration)[name] as (knex: object) => Promise<void>;
      db.exec('BEGIN');
      await found({ raw });
      db.exec('COMMIT');
    };
    await call('up');
    const after = before.map((id) => (id === null ? null : String(scene.v4Of(Number(id)))));
    expect(ordersIn(file)).toEqual(after);
    await call('up');
    expect(ordersIn(file)).toEqual(after);
    await call('down');
    expect(ordersIn(file)).toEqual(before);
    db.close();
  });

  it('writes the same bytes for the same plan, named by --at', async () => {
    const scene = open();
    expect(await scene.run([...EMIT, '--layout', 'flyway'])).toMatchObject({ code: 0 });
    const first = readFolder(scene.path('sql'));
    expect(await scene.run([...EMIT, '--layout', 'flyway'])).toMatchObject({ code: 0 });
    expect(readFolder(scene.path('sql'))).toEqual(first);
    expect(await scene.run([...EMIT, '--layout', 'flyway', '--at', '2027-01-02T03:04:05Z'])).toMatchObject({
      code: 0,
    });
    expect([...readFolder(scene.path('sql')).keys()]).toContain('V20270102030405__svc_migrate_ids_PLAN.sql');
    expect([...readFolder(scene.path('sql')).keys()]).not.toContain(`V${STAMP}__svc_migrate_ids_PLAN.sql`);
  });

  it('gives two plans of one remap names of their own, and a folder each', async () => {
    const scene = makeScene([TARGET, { ...TARGET, name: 'copies', table: 'copies' }]);
    createOrders(scene.path('shop.db'), [1, 2], 'invoice_id INTEGER');
    runSql(scene.path('shop.db'), 'CREATE TABLE copies AS SELECT * FROM orders');
    const emit = (name: string, layout: string, output: string) =>
      scene.run(['apply', name, '--emit-sql', 'sqlite', '--layout', layout, '--output', output]);
    for (const layout of ['flyway', 'liquibase', 'prisma', 'rails', 'knex']) {
      const names = [];
      for (const name of ['orders', 'copies']) {
        const folder = `${layout}-${name}`;
        expect(await emit(name, layout, folder)).toMatchObject({ code: 0 });
        names.push(
          readdirSync(scene.path(folder)).filter((file) => !/^(verify.sql|svc-migrate-sql.json)$/.test(file)),
        );
      }
      const versions = names.map(([first]) => /\d{14}/.exec(first ?? '')?.[0]);
      expect(new Set(names.flat()).size).toBe(names.flat().length);
      if (layout !== 'liquibase') expect(versions[0]).not.toBe(versions[1]);
    }
    const rails = readdirSync(scene.path('rails-orders')).find((file) => file.endsWith('.rb')) ?? '';
    const words = rails.slice(15, -3).split('_');
    const camelized = words.map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`).join('');
    expect(scene.read(`rails-orders/${rails}`)).toContain(`class ${camelized} <`);
    const before = readFolder(scene.path('prisma-orders'));
    const refused = await emit('copies', 'prisma', 'prisma-orders');
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining('SQL of another plan')]);
    expect(readFolder(scene.path('prisma-orders'))).toEqual(before);
  });

  it('writes exactly a plan that was agreed, or refuses', async () => {
    const scene = open();
    expect(await scene.run(['apply', '--in-place', '--plan', 'plan.json'])).toMatchObject({ code: 0 });
    const emit = ['apply', '--emit-sql', 'sqlite', '--plan', 'plan.json', '--output', 'sql'];
    expect(await scene.run(emit)).toMatchObject({ code: 0 });
    query(scene.path('shop.db'), 'UPDATE orders SET invoice_id = 2 WHERE id = 1');
    expect(await scene.run(emit)).toMatchObject({ code: 6 });
  });

  it('takes no crosswalk of another script for its own', async () => {
    const scene = makeScene([TARGET, { ...TARGET, name: 'copies', table: 'copies' }]);
    const file = scene.path('shop.db');
    // More values than one file takes.
    const ids = upTo(5001);
    createOrders(file, ids, 'invoice_id INTEGER');
    runSql(file, 'CREATE TABLE copies(id INTEGER PRIMARY KEY, invoice_id INTEGER)');
    runSql(file, 'INSERT INTO copies SELECT * FROM orders');
    for (const [name, missing] of Object.entries({ orders: 'keep', copies: 'null' })) {
      const policy = ['--missing', missing, '--unknown', 'keep'];
      const emit = ['apply', name, '--in-place', '--emit-sql', 'sqlite', '--output', name, ...policy];
      expect(await scene.run(emit)).toMatchObject({ code: 0 });
    }
    for (const step of ['orders/up-1-crosswalk', 'copies/up-1-crosswalk', 'orders/up-2-rewrite'])
      runSql(file, scene.read(`${step}.sql`));
    expect(ordersIn(file)).toEqual(ids.map((id) => String(id <= MAPPED ? scene.v4Of(id) : id)));
    runSql(file, scene.read('copies/up-2-rewrite.sql'));
    expect(query(file, scene.read('copies/verify.sql'))).toEqual(['0']);
  });

  it('tells a text from a blob of the same bytes', async () => {
    const scene = makeScene([TARGET]);
    const file = scene.path('shop.db');
    createOrders(file, [], 'invoice_id');
    runSql(file, "INSERT INTO orders(invoice_id) VALUES ('1'), (x'31'), (x'32'), ('2')");
    expect(await scene.run([...EMIT, '--unknown', 'keep'])).toMatchObject({ code: 0 });
    runSql(file, scene.read('sql/up.sql'));
    expect(query(file, 'SELECT quote(invoice_id) FROM orders ORDER BY id')).toEqual([
      `'${scene.v4Of(1)}'`,
      "X'31'",
      "X'32'",
      `'${scene.v4Of(2)}'`,
    ]);
  });

  it('says in JSON what it wrote', async () => {
    const scene = open();
    const { stdout } = await scene.run([...EMIT, '--json', '-']);
    expect(JSON.parse(stdout)).toMatchObject({
      action: 'emit',
      dialect: 'sqlite',
      layout: 'plain',
      files: ['up.sql', 'down.sql', 'verify.sql'],
      values: MAPPED,
      exitCode: 0,
    });
  });

  it('fails before it changes anything where the data are not as planned', async () => {
    const cases: readonly (readonly [string, string])[] = [
      ['INSERT INTO orders(invoice_id) VALUES (1001)', 'invoice_id has values that the plan did not see (1)'],
      ["INSERT INTO orders(invoice_id) VALUES ('x')", 'invoice_id has values that the plan did not see (1)'],
      ['ALTER TABLE orders RENAME COLUMN invoice_id TO invoice', 'no such column'],
      ['ALTER TABLE orders RENAME TO old', 'no such table'],
    ];
    for (const [change, problem] of cases) {
      const scene = open();
      const file = scene.path('shop.db');
      expect(await scene.run(EMIT)).toMatchObject({ code: 0 });
      runSql(file, change);
      const read = () => {
        const db = new Sqlite(file);
        const rows = JSON.stringify(
          db.prepare("SELECT * FROM sqlite_schema WHERE name NOT LIKE 'svc%'").all(),
        );
        const table = change.includes('RENAME TO') ? 'old' : 'orders';
        const all = JSON.stringify(db.prepare(`SELECT * FROM ${table}`).all());
        db.close();
        return rows + all;
      };
      const before = read();
      expect(() => runSql(file, scene.read('sql/up.sql'))).toThrow(problem);
      expect(read()).toBe(before);
    }
  });

  it.each([
    ['in place', EMIT],
    ['into new columns', EMIT.filter((arg) => arg !== '--in-place')],
  ])('changes nothing %s where a client goes on after an error', async (_, emit) => {
    const scene = open();
    const file = scene.path('shop.db');
    /** As sqlite3 without -bail. */
    const runOn = (name: string) => {
      const db = new Sqlite(file);
      for (const statement of scene.read(`sql/${name}.sql`).split(/;\n\n|;\n$/)) {
        try {
          db.exec(statement);
        } catch {
          // It goes on.
        }
      }
      db.close();
    };
    const read = () => [
      ...query(file, 'SELECT sql FROM sqlite_schema'),
      ...query(file, 'SELECT * FROM orders'),
    ];
    expect(await scene.run(emit)).toMatchObject({ code: 0 });
    runSql(file, 'INSERT INTO orders(id, invoice_id) VALUES (9999, 1001)');
    const before = read();
    runOn('up');
    expect(read()).toEqual(before);
    runSql(file, 'DELETE FROM orders WHERE id = 9999');
    runOn('up');
    const after = read();
    expect(after).not.toEqual(before);
    expect(query(file, scene.read('sql/verify.sql'))).toEqual(['0']);
    const rename = "UPDATE svc_migrate_run SET run = 'later'";
    const addLater = `CREATE TEMP TABLE copy AS SELECT * FROM svc_migrate_run;
      UPDATE copy SET unit = NULL, run = 'later'; INSERT INTO svc_migrate_run SELECT * FROM copy`;
    for (const sql of [addLater, rename]) {
      runSql(file, sql);
      const later = read();
      runOn('down');
      expect(read()).toEqual(later);
    }
  });

  it('finds wrong values in a new column', async () => {
    const scene = open();
    const file = scene.path('shop.db');
    expect(await scene.run(EMIT.filter((arg) => arg !== '--in-place'))).toMatchObject({ code: 0 });
    runSql(file, scene.read('sql/up.sql'));
    const verify = () => query(file, scene.read('sql/verify.sql'));
    expect(verify()).toEqual(['0']);
    runSql(file, 'UPDATE orders SET invoice_id_v4 = 1 + invoice_id_v4 WHERE id IN (3, 5)');
    expect(verify()).toEqual(['2']);
    runSql(file, 'UPDATE orders SET invoice_id_v4 = NULL WHERE id = 3');
    expect(verify()).toEqual(['2']);
    runSql(file, scene.read('sql/down.sql'));
    expect(query(file, "SELECT name FROM sqlite_schema WHERE name LIKE 'svc_migrate_sql%'")).toEqual([]);
  });

  it('refuses with a plain sentence what it cannot write', async () => {
    const scene = makeScene([
      TARGET,
      { name: 'list', kind: 'csv', file: 'list.csv', ids: IDS },
      { ...TARGET, name: 'other', file: 'other.db' },
      { ...TARGET, name: 'json', ids: [{ ...IDS[0], path: '$.id' }] },
    ]);
    for (const name of ['shop.db', 'other.db']) createOrders(scene.path(name), [1, 2], 'invoice_id INTEGER');
    writeFileSync(scene.path('list.csv'), 'invoice_id\n1\n');
    mkdirSync(scene.path('full'));
    writeFileSync(scene.path('full/own.txt'), 'mine');
    const sqlite = ['apply', 'orders', '--in-place', '--emit-sql', 'sqlite'];
    const cases: readonly (readonly [readonly string[], number, string])[] = [
      [['apply', '--emit-sql', 'postgre', '--output', 'sql'], 2, 'postgres'],
      [[...sqlite, '--layout', 'flyaway', '--output', 'sql'], 2, 'flyway'],
      [sqlite, 2, '--output'],
      [[...sqlite, '--output', '-'], 2, '--output'],
      [[...sqlite, '--output', 'sql', '--at', 'tomorrow'], 2, '--at'],
      [['apply', '--layout', 'flyway'], 2, '--emit-sql'],
      [[...sqlite, '--output', 'sql', '--yes'], 2, 'cannot be combined'],
      [[...sqlite, '--output', 'sql', '--again'], 2, '--again'],
      [['apply', 'list', '--emit-sql', 'sqlite', '--output', 'sql'], 2, 'kind csv'],
      [['apply', 'orders', '--emit-sql', 'postgres', '--output', 'sql'], 2, 'kind sqlite'],
      [['apply', 'orders', 'other', '--emit-sql', 'sqlite', '--output', 'sql'], 2, 'different databases'],
      [[...sqlite, '--output', 'full'], 6, 'own.txt'],
      [[...sqlite, '--output', 'list.csv'], 6, 'is a file'],
    ];
    for (const [args, code, text] of cases) {
      const ended = await scene.run(args);
      expect([args, ended.code, ended.stderr]).toEqual([args, code, expect.stringContaining(text)]);
    }
    query(scene.path('shop.db'), 'INSERT INTO orders(invoice_id) VALUES (185)');
    const blocked = await scene.run([...sqlite, '--output', 'sql']);
    expect([blocked.code, blocked.stdout]).toEqual([1, expect.stringContaining('Nothing was written')]);
    expect(readdirSync(scene.folder)).not.toContain('sql');
  });

  it('gives a large crosswalk a step of its own', async () => {
    const scene = makeScene([TARGET]);
    createOrders(scene.path('shop.db'), upTo(MAPPED), 'invoice_id');
    const db = new Sqlite(scene.path('shop.db'));
    db.exec(`WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 6000)
      INSERT INTO orders(invoice_id) SELECT 'x' || value FROM n`);
    db.close();
    const args = [...EMIT, '--unknown', 'keep', '--layout'];
    expect(await scene.run([...args, 'flyway'])).toMatchObject({ code: 0 });
    const files = readFolder(scene.path('sql'));
    const file = scene.path('shop.db');
    runSql(file, inTransaction(files.get(`V${STAMP}__svc_migrate_crosswalk_PLAN.sql`) ?? ''));
    runSql(file, inTransaction(files.get(`V20261120000001__svc_migrate_ids_PLAN.sql`) ?? ''));
    expect(ordersIn(file).slice(0, MAPPED)).toEqual(upTo(MAPPED).map((id) => String(scene.v4Of(id))));
  });
});
