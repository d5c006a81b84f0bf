import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { migrationName, versionIn } from '../../../src/apply/emit/layouts.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { createOrders, IDS, MAPPED, makeScene, ordersIn, query, type Scene, upTo } from '../cli/scene.js';
import { sqliteLedger } from '../support/ledger.js';

const TARGET = { name: 'orders', kind: 'sqlite', file: 'shop.db', table: 'orders', ids: IDS };
const EMIT = 'sql sqlite orders --in-place --output sql';
const NEW_COLUMNS = EMIT.replace(' --in-place', '');
/** The name of a migration, and with its version, as `readFolder` has them. */
const NAME = 'svc_migrate_ids_PLAN';
const VERSIONED = `TIME_${NAME}`;
const FLYWAY = `TIME__${NAME}.sql`;

/** Orders, and a table with copies of them, which only some tests print SQL for. */
function open(
  ids: Parameters<typeof createOrders>[1] = [...upTo(MAPPED), null, 3, 3],
  column = 'invoice_id INTEGER',
) {
  const scene = makeScene([TARGET]);
  const file = scene.path('shop.db');
  createOrders(file, ids, column);
  scene.configure([TARGET, { ...TARGET, name: 'copies', table: 'copies' }]);
  runSql(
    file,
    `CREATE TABLE copies(id INTEGER PRIMARY KEY, ${column}); INSERT INTO copies SELECT * FROM orders`,
  );
  return { ...scene, file };
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

/** All that is in a file. */
function dump(file: string): unknown {
  const db = new Sqlite(file);
  const schema = db
    .prepare<[], { name: string; type: string }>('SELECT name, type, sql FROM sqlite_schema')
    .all();
  const tables = schema.filter(({ type }) => type === 'table');
  const rows = tables.map(({ name }) => db.prepare(`SELECT * FROM ${name}`).all());
  db.close();
  return [schema, rows];
}

const inTransaction = (sql: string) => `BEGIN; ${sql}; COMMIT`;

/** What is written for each tool: up, down, and others. Where the tool begins the transaction, so does this test. */
const TOOLS = [
  { layout: 'plain', files: ['up', 'down', 'verify'].map((what) => `${NAME}.${what}.sql`), begins: false },
  { layout: 'flyway', files: [`V${FLYWAY}`, `U${FLYWAY}`, `${NAME}.verify.sql`], begins: true },
  { layout: 'liquibase', files: [`${NAME}.sql`, `${NAME}.verify.sql`], begins: true },
  {
    layout: 'prisma',
    files: ['migration', 'down', 'verify'].map((what) => `${VERSIONED}/${what}.sql`),
    begins: false,
  },
  {
    layout: 'rails',
    files: [...['up', 'down', 'verify'].map((what) => `${VERSIONED}/${what}.sql`), `${VERSIONED}.rb`],
    begins: true,
  },
];

/** The SQL as a tool would run it. */
function sqlOf(
  { layout, files, begins }: (typeof TOOLS)[number],
  written: ReadonlyMap<string, string>,
  isUp: boolean,
): string {
  const [rollback, set] = ['--rollback ', layout === 'liquibase' ? changeset(written) : []];
  const lines = isUp
    ? set.filter((line) => !line.startsWith('--'))
    : set.filter((line) => line.startsWith(rollback)).map((line) => line.slice(rollback.length));
  const sql = layout === 'liquibase' ? lines.join('\n') : (written.get(files[isUp ? 0 : 1] ?? '') ?? '');
  return begins ? inTransaction(sql) : sql;
}

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
  it.each(TOOLS)('writes a migration for $layout that runs, and is taken back', async (tool) => {
    const { layout, files } = tool;
    const scene = open();
    const before = ordersIn(scene.file);
    await scene.apply(`${EMIT} --layout ${layout}`);
    expect(ordersIn(scene.file)).toEqual(before);
    const written = readFolder(scene.path('sql'));
    expect([...written.keys()]).toEqual([...files].sort());
    const heads = [...written.values()].join('\n').match(/Written by svc-migrate \S+ from the remap/g);
    expect(heads?.length).toBeGreaterThanOrEqual(2);
    const after = before.map((id) => (id === null ? null : String(scene.v4Of(Number(id)))));
    for (const _ of ['first', 'again']) {
      runSql(scene.file, sqlOf(tool, written, true));
      expect([ordersIn(scene.file), query(scene.file, verifyIn(written))]).toEqual([after, ['0']]);
      await scene.apply('verify');
    }
    runSql(scene.file, sqlOf(tool, written, false));
    expect(ordersIn(scene.file)).toEqual(before);
    expect(await sqliteLedger(scene.file).temporaryTables()).toEqual([]);
  });

  it('says in every file that a second run stops in SQLite where it would add a column', async () => {
    for (const [emit, stops] of [
      [EMIT, false],
      [NEW_COLUMNS, true],
    ] as const) {
      const scene = open();
      await scene.apply(emit);
      const written = readFolder(scene.path('sql'));
      const says = [...written.values()].map((text) => text.includes('A second run stops with an error at'));
      expect(new Set(says)).toEqual(new Set([stops]));
      const run = () => runSql(scene.file, written.get(`${NAME}.up.sql`) ?? '');
      run();
      const once = ordersIn(scene.file);
      if (stops) expect(run).toThrow('duplicate column name');
      else run();
      expect(ordersIn(scene.file)).toEqual(once);
    }
  });

  it('writes a migration that Knex runs statement by statement', async () => {
    const scene = open();
    const before = ordersIn(scene.file);
    await scene.apply(`${EMIT} --layout knex`);
    const name = readdirSync(scene.path('sql')).find((file) => file.endsWith('.cjs'));
    const migration: unknown = createRequire(import.meta.url)(scene.path(`sql/${name}`));
    const db = new Sqlite(scene.file);
    // As Knex: one statement at a time, in a transaction of its own.
    const raw = async (sql: string) => {
      const statement = db.prepare(sql);
      return statement.reader ? statement.all() : statement.run();
    };
    const after = before.map((id) => (id === null ? null : String(scene.v4Of(Number(id)))));
    for (const [step, expected] of [
      ['up', after],
      ['up', after],
      ['down', before],
    ] as const) {
      const call = Object(migration)[step] as (knex: object) => Promise<void>;
      db.exec('BEGIN');
      await call({ raw });
      db.exec('COMMIT');
      expect(ordersIn(scene.file)).toEqual(expected);
    }
    db.close();
  });

  it('writes the same files for the same plan, also later', async () => {
    const scene = open();
    const print = async () => {
      for (const { layout } of TOOLS) await scene.apply(`${EMIT.replace(/sql$/, layout)} --layout ${layout}`);
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
    const scene = open([1, 2]);
    const print = (name: string, layout: string) =>
      scene.apply(`sql sqlite ${name} --layout ${layout} --output ${layout}`);
    for (const layout of ['plain', 'flyway', 'liquibase', 'prisma', 'rails', 'knex']) {
      const before = new Date().toISOString().slice(0, 19).replaceAll(/[-:T]/g, '');
      mkdirSync(scene.path(layout));
      const others = [`V${before}__own.sql`, `${before}_own.rb`, 'up.sql', 'notes.txt'];
      for (const name of others) writeFileSync(scene.path(`${layout}/${name}`), 'mine');
      const printed = [];
      for (const name of ['orders', 'copies']) {
        const known = new Set(readdirSync(scene.path(layout)));
        await print(name, layout);
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
    for (const name of ['orders', 'copies'])
      await scene.run(`apply sql sqlite ${name} --layout prisma --output prisma`.split(' '));
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
    const scene = open([1, 'a;b', "'; DROP"], 'invoice_id');
    scene.configure([{ ...TARGET, name: "it's; --; /* target", table: 'more; --' }]);
    runSql(
      scene.file,
      'CREATE TABLE "more; --" AS SELECT * FROM orders; CREATE UNIQUE INDEX key ON "more; --"(id)',
    );
    await scene.apply(`${NEW_COLUMNS.replace('orders ', '')} --unknown keep`);
    for (const text of readFolder(scene.path('sql')).values()) {
      const inside = text.match(/'(?:[^']|'')*'|^--.*$/gm) ?? [];
      expect(inside.filter((one) => one.includes(';'))).toEqual([]);
    }
  });

  it('says how to run the undo file of Flyway', async () => {
    const scene = open();
    const done = await scene.apply(`${EMIT} --layout flyway`);
    const undo = readdirSync(scene.path('sql')).find((name) => name.startsWith('U')) ?? '';
    expect(done.stdout).toContain(`cat ${undo};`);
    expect(scene.read(`sql/${undo}`).split('\n')[0]).toContain(`cat ${undo}`);
  });

  it('writes exactly a plan that was agreed, or refuses, and says in JSON what it wrote', async () => {
    const scene = open();
    await scene.apply('plan orders --in-place --save plan.json');
    const files = ['up', 'down', 'verify'].map((what) =>
      expect.stringMatching(`^svc_migrate_ids_[0-9a-f]{6}.${what}.sql$`),
    );
    const done = { action: 'sql', dialect: 'sqlite', layout: 'plain', files, values: MAPPED };
    const emit = 'sql sqlite --plan plan.json --output sql';
    expect(await scene.json(emit)).toMatchObject(done);
    query(scene.file, 'UPDATE orders SET invoice_id = 2 WHERE id = 1');
    await scene.apply(emit, 6);
  });

  it('takes no crosswalk of another script for its own', async () => {
    const ids = upTo(MAPPED + 20);
    const scene = open(ids);
    for (const [name, missing] of Object.entries({ orders: 'keep', copies: 'null' }))
      await scene.apply(`sql sqlite ${name} --in-place --output ${name} --missing ${missing} --unknown keep`);
    runSql(scene.file, plainFile(scene, 'up', 'orders'));
    expect(ordersIn(scene.file)).toEqual(ids.map((id) => String(id <= MAPPED ? scene.v4Of(id) : id)));
    runSql(scene.file, plainFile(scene, 'up', 'copies'));
    expect(query(scene.file, plainFile(scene, 'verify', 'copies'))).toEqual(['0']);
  });

  it('tells a text from a blob of the same bytes', async () => {
    const scene = open([], 'invoice_id');
    runSql(scene.file, "INSERT INTO orders(invoice_id) VALUES ('1'), (x'31'), (x'32'), ('2')");
    await scene.apply(`${EMIT} --unknown keep`);
    runSql(scene.file, plainFile(scene, 'up'));
    const [one, two] = [1, 2].map((id) => `'${scene.v4Of(id)}'`);
    const quoted = query(scene.file, 'SELECT quote(invoice_id) FROM orders ORDER BY id');
    expect(quoted).toEqual([one, "X'31'", "X'32'", two]);
  });

  const trigger = (set: string) =>
    `CREATE TRIGGER own AFTER UPDATE ON orders BEGIN UPDATE orders SET ${set} WHERE id = NEW.id; END`;

  it.each([
    ['INSERT INTO orders(invoice_id) VALUES (1001)', 'invoice_id has values that the plan did not see (1)'],
    ["INSERT INTO orders(invoice_id) VALUES ('x')", 'invoice_id has values that the plan did not see (1)'],
    ['ALTER TABLE orders RENAME COLUMN invoice_id TO invoice', 'no such column'],
    ['ALTER TABLE orders RENAME TO old', 'no such table'],
    [trigger('invoice_id = OLD.invoice_id'), 'rows did not keep their new ids'],
    [trigger('invoice_id_v4 = NULL'), 'invoice_id_v4 did not keep its new ids', NEW_COLUMNS],
  ])('changes nothing where the data are not as planned: %s', async (change, problem, emit = EMIT) => {
    const scene = open();
    await scene.apply(emit);
    runSql(scene.file, change);
    const before = dump(scene.file);
    expect(() => runSql(scene.file, plainFile(scene, 'up'))).toThrow(problem);
    expect(dump(scene.file)).toEqual(before);
  });

  it.each([
    ['in place', EMIT],
    ['into new columns', NEW_COLUMNS],
  ])('changes nothing %s where a client goes on after an error', async (_, emit) => {
    const scene = open();
    /** As sqlite3 without -bail. `lost`: in statements that fail for a reason of their own. */
    const runOn = (name: 'up' | 'down', lost = '\0') => {
      for (const statement of plainFile(scene, name).split(/;\n\n|;\n$/)) {
        if (statement.includes(lost)) continue;
        try {
          db.exec(statement);
        } catch {
          // It goes on.
        }
      }
    };
    const db = new Sqlite(scene.file);
    await scene.apply(emit);
    runSql(scene.file, 'INSERT INTO orders(id, invoice_id) VALUES (9999, 1001)');
    const before = dump(scene.file);
    for (const lost of ['\0', 'did not see']) {
      runOn('up', lost);
      expect(dump(scene.file)).toEqual(before);
    }
    runSql(scene.file, 'DELETE FROM orders WHERE id = 9999');
    runOn('up');
    expect(dump(scene.file)).not.toEqual(before);
    expect(query(scene.file, plainFile(scene, 'verify'))).toEqual(['0']);
    const ledger = sqliteLedger(scene.file);
    for (const change of [() => ledger.copyRun('later'), () => ledger.editRuns({ run: "'later'" })]) {
      await change();
      const later = dump(scene.file);
      runOn('down');
      expect(dump(scene.file)).toEqual(later);
    }
    db.close();
  });

  it('goes on where a client without a transaction stopped in it', async () => {
    const scene = open([1, 2, 3]);
    const before = ordersIn(scene.file);
    await scene.apply(`${EMIT} --layout flyway`);
    const files = readFolder(scene.path('sql'));
    const statements = (files.get(`V${FLYWAY}`) ?? '').split(/(?<=;\n)\n/);
    for (let at = 1; at <= statements.length; at += 1) {
      runSql(scene.file, statements.slice(0, at).join(''));
      runSql(scene.file, statements.join(''));
      expect(query(scene.file, verifyIn(files))).toEqual(['0']);
      expect(ordersIn(scene.file)).toEqual(before.map((id) => String(scene.v4Of(Number(id)))));
      runSql(scene.file, inTransaction(files.get(`U${FLYWAY}`) ?? ''));
      expect(ordersIn(scene.file)).toEqual(before);
    }
  });

  it('is not taken back where rows do not keep their old ids', async () => {
    const scene = open([1, 2]);
    await scene.apply(EMIT);
    runSql(scene.file, plainFile(scene, 'up'));
    runSql(scene.file, trigger('invoice_id = OLD.invoice_id'));
    const before = dump(scene.file);
    expect(() => runSql(scene.file, plainFile(scene, 'down'))).toThrow('rows did not keep their old ids');
    expect(dump(scene.file)).toEqual(before);
  });

  it('finds wrong values in a new column', async () => {
    const scene = open();
    await scene.apply(NEW_COLUMNS);
    runSql(scene.file, plainFile(scene, 'up'));
    const verify = () => query(scene.file, plainFile(scene, 'verify'));
    expect(verify()).toEqual(['0']);
    runSql(scene.file, 'UPDATE orders SET invoice_id_v4 = 1 + invoice_id_v4 WHERE id IN (3, 5)');
    expect(verify()).toEqual(['2']);
    runSql(scene.file, 'UPDATE orders SET invoice_id_v4 = NULL WHERE id = 3');
    expect(verify()).toEqual(['2']);
    runSql(scene.file, plainFile(scene, 'down'));
    expect(await sqliteLedger(scene.file).temporaryTables()).toEqual([]);
  });

  it('refuses with a plain sentence what it cannot write', async () => {
    const scene = open([1, 2]);
    const list = { name: 'list', kind: 'csv', file: 'list.csv', ids: IDS };
    scene.configure([TARGET, list, { ...TARGET, name: 'other', file: 'other.db' }]);
    createOrders(scene.path('other.db'), [1, 2], 'invoice_id INTEGER');
    writeFileSync(scene.path('list.csv'), 'invoice_id\n1\n');
    const sqlite = 'sql sqlite orders --in-place';
    for (const [words, code, text] of [
      ['sql postgre --output sql', 2, 'postgres'],
      [`${sqlite} --layout flyaway --output sql`, 2, 'flyway'],
      [sqlite, 2, '--output'],
      [`${sqlite} --output -`, 2, '--output'],
      [`${sqlite} --output sql --yes`, 2, '--yes'],
      [`${sqlite} --output sql --again`, 2, '--again'],
      ['sql sqlite list --output sql', 2, 'kind csv'],
      ['sql postgres orders --output sql', 2, 'kind sqlite'],
      ['sql sqlite orders other --output sql', 2, 'different databases'],
      [`${sqlite} --output list.csv`, 6, 'is a file'],
    ] as const)
      expect((await scene.apply(words, code)).stderr).toContain(text);
    query(scene.file, 'INSERT INTO orders(invoice_id) VALUES (185)');
    expect((await scene.apply(`${sqlite} --output sql`, 1)).stdout).toContain('Nothing was written');
    expect(readdirSync(scene.folder)).not.toContain('sql');
  });

  it('has a large crosswalk in the same file, so that it can be taken back and run again', async () => {
    const ids = upTo(6000);
    const scene = open(ids);
    for (const emit of [EMIT, `${NEW_COLUMNS}_new`]) {
      await scene.apply(`${emit} --missing keep --unknown keep --layout flyway`);
      const files = readFolder(scene.path(emit.split(' ').at(-1) ?? ''));
      expect([...files.keys()]).toEqual([`U${FLYWAY}`, `V${FLYWAY}`, `${NAME}.verify.sql`].sort());
      for (const _ of ['first', 'again']) {
        runSql(scene.file, inTransaction(files.get(`V${FLYWAY}`) ?? ''));
        expect(query(scene.file, verifyIn(files))).toEqual(['0']);
        runSql(scene.file, inTransaction(files.get(`U${FLYWAY}`) ?? ''));
        expect(ordersIn(scene.file)).toEqual(ids.map(String));
      }
    }
  });
});
