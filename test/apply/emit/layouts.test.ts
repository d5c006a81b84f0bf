import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { migrationName, versionIn } from '../../../src/apply/emit/layouts.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { createOrders, IDS, MAPPED, makeScene, ordersIn, query, type Scene, upTo } from '../cli/scene.js';
import { sqliteLedger } from '../support/ledger.js';

const TARGET = { name: 'orders', kind: 'sqlite', file: 'shop.db', table: 'orders', ids: IDS };
const EMIT = ['apply', 'sql', 'sqlite', '--in-place', '--output', 'sql'];
/** The name of a migration, and with its version, as `readFolder` has them. */
const NAME = 'svc_migrate_ids_PLAN';
const VERSIONED = `TIME_${NAME}`;
const FLYWAY = `TIME__${NAME}.sql`;

function open(): Scene {
  const scene = makeScene([TARGET]);
  createOrders(scene.path('shop.db'), [...upTo(MAPPED), null, 3, 3], 'invoice_id INTEGER');
  return scene;
}

/** The files of a folder with their texts; in their names, `PLAN` and `TIME` stand for the plan and the version. */
function readFolder(folder: string): Map<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  const files = names.filter((name) => /\.\w+$/.test(name));
  return new Map(
    files.map((name) => [
      name.replace(/_[0-9a-f]{6}(?=\W)/, '_PLAN').replace(/\d{14}/, 'TIME'),
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
    files: [`${NAME}.down.sql`, `${NAME}.up.sql`, `${NAME}.verify.sql`],
    up: (files) => files.get(`${NAME}.up.sql`) ?? '',
    down: (files) => files.get(`${NAME}.down.sql`) ?? '',
  },
  {
    layout: 'flyway',
    files: [`U${FLYWAY}`, `V${FLYWAY}`, `${NAME}.verify.sql`],
    up: (files) => inTransaction(files.get(`V${FLYWAY}`) ?? ''),
    down: (files) => inTransaction(files.get(`U${FLYWAY}`) ?? ''),
  },
  {
    layout: 'liquibase',
    files: [`${NAME}.sql`, `${NAME}.verify.sql`],
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
    files: ['down', 'migration', 'verify'].map((name) => `${VERSIONED}/${name}.sql`),
    up: (files) => files.get(`${VERSIONED}/migration.sql`) ?? '',
    down: (files) => files.get(`${VERSIONED}/down.sql`) ?? '',
  },
  {
    layout: 'rails',
    files: [`${VERSIONED}.rb`, `${VERSIONED}/down.sql`, `${VERSIONED}/up.sql`, `${VERSIONED}/verify.sql`],
    up: (files) => inTransaction(files.get(`${VERSIONED}/up.sql`) ?? ''),
    down: (files) => inTransaction(files.get(`${VERSIONED}/down.sql`) ?? ''),
  },
];

const verifyIn = (files: ReadonlyMap<string, string>): string =>
  [...files].find(([name]) => name.endsWith('verify.sql'))?.[1] ?? '';

/** A file of the layout `plain` in a folder. */
function plainFile(scene: Scene, what: 'up' | 'down' | 'verify', folder = 'sql'): string {
  return readFolder(scene.path(folder)).get(`${NAME}.${what}.sql`) ?? '';
}

function changeset(files: ReadonlyMap<string, string>): string[] {
  const lines = (files.get(`${NAME}.sql`) ?? '').split('\n');
  expect(lines[0]).toBe('--liquibase formatted sql');
  const sets = lines.flatMap((line, at) => (line.startsWith('--changeset ') ? [at] : []));
  expect(sets).toHaveLength(1);
  return lines.slice(sets[0]);
}

describe('apply sql', () => {
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
      expect([...written.keys()]).toEqual([...files].sort());
      const heads = [...written.values()].join('\n').match(/Written by svc-migrate \S+ from the remap/g);
      expect(heads?.length).toBeGreaterThanOrEqual(2);
      runSql(file, up(written));
      const after = before.map((id) => (id === null ? null : String(scene.v4Of(Number(id)))));
      expect(ordersIn(file)).toEqual(after);
      expect(query(file, verifyIn(written))).toEqual(['0']);
      expect(await scene.run(['apply', 'verify'])).toMatchObject({ code: 0 });
      runSql(file, up(written));
      expect(ordersIn(file)).toEqual(after);
      runSql(file, down(written));
      expect(ordersIn(file)).toEqual(before);
      expect(await sqliteLedger(file).temporaryTables()).toEqual([]);
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

  it('writes the same files for the same plan, also later', async () => {
    const scene = open();
    const print = async () => {
      for (const { layout } of TOOLS) {
        const emit = [...EMIT.with(-1, layout), '--layout', layout];
        expect(await scene.run(emit)).toMatchObject({ code: 0 });
      }
      return TOOLS.map(({ layout }) => [
        readdirSync(scene.path(layout), { recursive: true }),
        readFolder(scene.path(layout)),
      ]);
    };
    const first = await print();
    // Versions are times in whole seconds.
    await new Promise((resolve) => setTimeout(resolve, 1001));
    expect(await print()).toEqual(first);
  });

  it("prints a second plan beside the first into the team's folder, with a later version", async () => {
    const scene = makeScene([TARGET, { ...TARGET, name: 'copies', table: 'copies' }]);
    createOrders(scene.path('shop.db'), [1, 2], 'invoice_id INTEGER');
    runSql(scene.path('shop.db'), 'CREATE TABLE copies AS SELECT * FROM orders');
    for (const layout of ['plain', 'flyway', 'liquibase', 'prisma', 'rails', 'knex']) {
      const before = new Date().toISOString().slice(0, 19).replaceAll(/[-:T]/g, '');
      mkdirSync(scene.path(layout));
      const others = [`V${before}__own.sql`, `${before}_own.rb`, 'up.sql', 'notes.txt'];
      for (const name of others) writeFileSync(scene.path(`${layout}/${name}`), 'mine');
      const printed = [];
      for (const name of ['orders', 'copies']) {
        const known = new Set(readdirSync(scene.path(layout)));
        const emit = ['apply', 'sql', 'sqlite', name, '--layout', layout, '--output', layout];
        expect(await scene.run(emit)).toMatchObject({ code: 0 });
        printed.push(readdirSync(scene.path(layout)).filter((file) => !known.has(file)));
      }
      for (const name of others) expect(scene.read(`${layout}/${name}`)).toBe('mine');
      const versions = printed.map((names) => new Set(names.flatMap((file) => file.match(/\d{14}/) ?? [])));
      const [[first = ''] = [], [second = ''] = []] = versions.map((own) => [...own]);
      const hasNone = layout === 'plain' || layout === 'liquibase';
      expect(versions.map(({ size }) => size)).toEqual(hasNone ? [0, 0] : [1, 1]);
      if (!hasNone) expect([layout, before < first, first < second]).toEqual([layout, true, true]);
    }
    const rails = readdirSync(scene.path('rails')).filter((file) => /svc_migrate.*rb$/.test(file));
    for (const file of rails) {
      const words = file.slice(15, -3).split('_');
      const camelized = words.map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`).join('');
      expect(scene.read(`rails/${file}`)).toContain(`class ${camelized} <`);
    }
    const [prisma = ''] = readdirSync(scene.path('prisma')).filter((file) => file.includes('svc_migrate'));
    writeFileSync(scene.path(`prisma/${prisma}/down.sql`), 'mine');
    for (const name of ['orders', 'copies']) {
      const emit = ['apply', 'sql', 'sqlite', name, '--layout', 'prisma', '--output', 'prisma'];
      await scene.run(emit);
    }
    expect(scene.read(`prisma/${prisma}/down.sql`)).toBe('mine');
  });

  it.each<[names: string[], version: string]>([
    [[], '20261120141000'],
    [['V20261120141000__own.sql', '20261120141001_own.rb', 'V7__old.sql'], '20261120141002'],
    [['V20271231235959__svc_migrate_ids_111111.sql'], '20280101000000'],
    [['20261120000000_svc_migrate_ids_abcdef', '20270101000000_svc_migrate_ids_111111'], '20261120000000'],
    [['V99999999999999__own.sql', '20261120141000_svc_migrate_ids_111111.rb'], '20261120141001'],
  ])('gives a migration beside %j the version %s', (names, version) => {
    expect(versionIn(names, migrationName('abcdef01'), Date.parse('2026-11-20T14:10:00.999Z'))).toBe(version);
  });

  it('has no semicolon but at the end of statements, and none in comments', async () => {
    const name = "it's; --; /* target";
    const scene = makeScene([{ ...TARGET, name, table: 'copies; --' }]);
    createOrders(scene.path('shop.db'), [1, 'a;b', "'; DROP"], 'invoice_id');
    runSql(scene.path('shop.db'), 'CREATE TABLE "copies; --" AS SELECT * FROM orders');
    runSql(scene.path('shop.db'), 'CREATE UNIQUE INDEX key ON "copies; --"(id)');
    expect(
      await scene.run([...EMIT.filter((one) => one !== '--in-place'), '--unknown', 'keep']),
    ).toMatchObject({ code: 0 });
    for (const text of readFolder(scene.path('sql')).values()) {
      const inside = text.match(/'(?:[^']|'')*'|^--.*$/gm) ?? [];
      expect(inside.filter((one) => one.includes(';'))).toEqual([]);
    }
  });

  it('says how to run the undo file of Flyway', async () => {
    const scene = open();
    const done = await scene.run([...EMIT, '--layout', 'flyway']);
    const undo = readdirSync(scene.path('sql')).find((name) => name.startsWith('U')) ?? '';
    expect(done.stdout).toContain(`cat ${undo};`);
    expect(scene.read(`sql/${undo}`).split('\n')[0]).toContain(`cat ${undo}`);
  });

  it('writes exactly a plan that was agreed, or refuses', async () => {
    const scene = open();
    expect(await scene.run(['apply', 'plan', '--in-place', '--save', 'plan.json'])).toMatchObject({
      code: 0,
    });
    const emit = ['apply', 'sql', 'sqlite', '--plan', 'plan.json', '--output', 'sql'];
    expect(await scene.run(emit)).toMatchObject({ code: 0 });
    query(scene.path('shop.db'), 'UPDATE orders SET invoice_id = 2 WHERE id = 1');
    expect(await scene.run(emit)).toMatchObject({ code: 6 });
  });

  it('takes no crosswalk of another script for its own', async () => {
    const scene = makeScene([TARGET, { ...TARGET, name: 'copies', table: 'copies' }]);
    const file = scene.path('shop.db');
    const ids = upTo(MAPPED + 20);
    createOrders(file, ids, 'invoice_id INTEGER');
    runSql(file, 'CREATE TABLE copies(id INTEGER PRIMARY KEY, invoice_id INTEGER)');
    runSql(file, 'INSERT INTO copies SELECT * FROM orders');
    for (const [name, missing] of Object.entries({ orders: 'keep', copies: 'null' })) {
      const policy = ['--missing', missing, '--unknown', 'keep'];
      const emit = ['apply', 'sql', 'sqlite', name, '--in-place', '--output', name, ...policy];
      expect(await scene.run(emit)).toMatchObject({ code: 0 });
    }
    runSql(file, plainFile(scene, 'up', 'orders'));
    expect(ordersIn(file)).toEqual(ids.map((id) => String(id <= MAPPED ? scene.v4Of(id) : id)));
    runSql(file, plainFile(scene, 'up', 'copies'));
    expect(query(file, plainFile(scene, 'verify', 'copies'))).toEqual(['0']);
  });

  it('tells a text from a blob of the same bytes', async () => {
    const scene = makeScene([TARGET]);
    const file = scene.path('shop.db');
    createOrders(file, [], 'invoice_id');
    runSql(file, "INSERT INTO orders(invoice_id) VALUES ('1'), (x'31'), (x'32'), ('2')");
    expect(await scene.run([...EMIT, '--unknown', 'keep'])).toMatchObject({ code: 0 });
    runSql(file, plainFile(scene, 'up'));
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
      action: 'sql',
      dialect: 'sqlite',
      layout: 'plain',
      files: ['up', 'down', 'verify'].map((what) =>
        expect.stringMatching(`^svc_migrate_ids_[0-9a-f]{6}.${what}.sql$`),
      ),
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
      expect(() => runSql(file, plainFile(scene, 'up'))).toThrow(problem);
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
    const runOn = (name: 'up' | 'down') => {
      const db = new Sqlite(file);
      for (const statement of plainFile(scene, name).split(/;\n\n|;\n$/)) {
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
    expect(query(file, plainFile(scene, 'verify'))).toEqual(['0']);
    const ledger = sqliteLedger(file);
    for (const change of [() => ledger.copyRun('later'), () => ledger.editRuns({ run: "'later'" })]) {
      await change();
      const later = read();
      runOn('down');
      expect(read()).toEqual(later);
    }
  });

  it('finds wrong values in a new column', async () => {
    const scene = open();
    const file = scene.path('shop.db');
    expect(await scene.run(EMIT.filter((arg) => arg !== '--in-place'))).toMatchObject({ code: 0 });
    runSql(file, plainFile(scene, 'up'));
    const verify = () => query(file, plainFile(scene, 'verify'));
    expect(verify()).toEqual(['0']);
    runSql(file, 'UPDATE orders SET invoice_id_v4 = 1 + invoice_id_v4 WHERE id IN (3, 5)');
    expect(verify()).toEqual(['2']);
    runSql(file, 'UPDATE orders SET invoice_id_v4 = NULL WHERE id = 3');
    expect(verify()).toEqual(['2']);
    runSql(file, plainFile(scene, 'down'));
    expect(await sqliteLedger(file).temporaryTables()).toEqual([]);
  });

  it('refuses with a plain sentence what it cannot write', async () => {
    const scene = makeScene([
      TARGET,
      { name: 'list', kind: 'csv', file: 'list.csv', ids: IDS },
      { ...TARGET, name: 'other', file: 'other.db' },
    ]);
    for (const name of ['shop.db', 'other.db']) createOrders(scene.path(name), [1, 2], 'invoice_id INTEGER');
    writeFileSync(scene.path('list.csv'), 'invoice_id\n1\n');
    const sqlite = ['apply', 'sql', 'sqlite', 'orders', '--in-place'];
    const cases: readonly (readonly [readonly string[], number, string])[] = [
      [['apply', 'sql', 'postgre', '--output', 'sql'], 2, 'postgres'],
      [[...sqlite, '--layout', 'flyaway', '--output', 'sql'], 2, 'flyway'],
      [sqlite, 2, '--output'],
      [[...sqlite, '--output', '-'], 2, '--output'],
      [[...sqlite, '--output', 'sql', '--yes'], 2, '--yes'],
      [[...sqlite, '--output', 'sql', '--again'], 2, '--again'],
      [['apply', 'sql', 'sqlite', 'list', '--output', 'sql'], 2, 'kind csv'],
      [['apply', 'sql', 'postgres', 'orders', '--output', 'sql'], 2, 'kind sqlite'],
      [['apply', 'sql', 'sqlite', 'orders', 'other', '--output', 'sql'], 2, 'different databases'],
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

  it('has a large crosswalk in the same file, so that it can be taken back and run again', async () => {
    const scene = makeScene([TARGET]);
    const file = scene.path('shop.db');
    const ids = upTo(6000);
    createOrders(file, ids, 'invoice_id INTEGER');
    for (const more of [['--in-place'], []]) {
      const emit = ['apply', 'sql', 'sqlite', ...more, '--output', `sql${more}`];
      const args = [...emit, '--missing', 'keep', '--unknown', 'keep', '--layout', 'flyway'];
      expect(await scene.run(args)).toMatchObject({ code: 0 });
      const files = readFolder(scene.path(`sql${more}`));
      expect([...files.keys()]).toEqual([`U${FLYWAY}`, `V${FLYWAY}`, `${NAME}.verify.sql`].sort());
      for (const _ of ['first', 'again']) {
        runSql(file, inTransaction(files.get(`V${FLYWAY}`) ?? ''));
        expect(query(file, verifyIn(files))).toEqual(['0']);
        runSql(file, inTransaction(files.get(`U${FLYWAY}`) ?? ''));
        expect(ordersIn(file)).toEqual(ids.map(String));
      }
    }
  });
});
