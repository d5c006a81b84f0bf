import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Statement } from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { judgeRemap } from '../../src/commands/report.js';
import { buildFingerprint, type Config } from '../../src/config/config.js';
import { buildRemap } from '../../src/match/build-remap.js';
import { findContradictions } from '../../src/store/conservation.js';
import { saveFingerprint } from '../../src/store/fingerprint.js';
import { prepareFindParents, readPairRows, readPairStrata, readPairs } from '../../src/store/mapped-pairs.js';
import { openDatabase } from '../../src/store/open.js';
import { prepareReadOutcome, readOpenParents, readOpenRows } from '../../src/store/open-findings.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { newIo, type TestIo } from '../report/support.js';
import { configOf, INVOICES, saveExported, type Thing } from '../support/exported.js';
import { givenOf, runNamed } from '../support/given.js';

const folder = mkdtempSync(join(tmpdir(), 'svc-index-'));
const whole = join(folder, 'whole.db');
const config: Config = {
  ...configOf(),
  database: join(folder, 'test.db'),
  file: join(folder, 'config.json'),
};

beforeAll(() => {
  const db = openDatabase(whole, 'create');
  const ids = Array.from({ length: 60 }, (_, at) => at + 1);
  const thing = (id: number, generation: number): Thing => ({
    id: id * generation,
    key: id % 9 === 0 ? `only ${generation} ${id}` : `key ${id}`,
    latest: '2026-10-01T00:00:00Z',
    kids: id % 3 === 0 ? [{ id: id * generation + 100_000, key: 'line' }] : [],
  });
  saveExported(db, config, { v3: ids.map((id) => thing(id, 3)), v4: ids.map((id) => thing(id, 7)) });
  for (const generation of ['v3', 'v4'] as const) saveFingerprint(db, generation, buildFingerprint(config));
  buildRemap({ db, config, named: [], clock: { now: () => 0 }, onProgress: () => {} });
  db.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const narrow = { model: [INVOICES], company: ['1'] };
const few = { ...narrow, status: ['unmatched', 'v4_only'], reason: ['unexplained'] };
const QUESTIONS: Readonly<Record<string, (io: TestIo) => unknown>> = {
  status: (io) => runNamed('status', givenOf(config), io),
  report: (io) => runNamed('report', givenOf(config, { ndjson: '-', ...narrow }), io),
  check: (io) => judgeRemap({ config, outputs: {} }, io),
  findings: (io) => runNamed('findings', givenOf(config, few), io),
  decisions: (io) =>
    runNamed('findings', givenOf(config, { writeDecisions: join(folder, 'd.csv'), force: true }), io),
  dump: (io) => runNamed('dump', givenOf(config, narrow), io),
  lookup: (io) => runNamed('lookup', givenOf(config, {}, [INVOICES, '3', '999']), io),
  'explain: an id': (io) => runNamed('explain', givenOf(config, {}, [INVOICES, '6']), io),
  'explain: a child': (io) => runNamed('explain', givenOf(config, {}, [INVOICES, '100009']), io),
  'explain: nothing': (io) => runNamed('explain', givenOf(config, {}, [INVOICES, '999999']), io),
  'the queries of verify and recheck': () => {
    const db = openDatabase(config.database, 'read');
    readPairStrata(db);
    [...readPairRows(db)];
    for (const pair of readPairs(db, null)) if (pair.path !== '') prepareFindParents(db)(pair);
    for (const row of [...readOpenRows(db), ...readOpenParents(db)]) prepareReadOutcome(db)(row);
    db.close();
  },
};

/** The steps of all queries that `work` prepares. */
async function stepsOf(work: () => unknown): Promise<string[]> {
  const prepare = Sqlite.prototype.prepare;
  const steps: string[] = [];
  Sqlite.prototype.prepare = function (this: InstanceType<typeof Sqlite>, sql: string) {
    if (!/^\s*(SELECT|WITH)/.test(sql)) return prepare.call(this, sql);
    const named = Object.fromEntries([...sql.matchAll(/@(\w+)/g)].map(([, name]) => [name, null]));
    const places = Array.from(sql.matchAll(/\?/g), () => null);
    const parameters = [...places, ...(Object.keys(named).length > 0 ? [named] : [])];
    const explain = prepare.call(this, `EXPLAIN QUERY PLAN ${sql}`) as Statement<
      unknown[],
      { detail: string }
    >;
    const plan = explain.all(...parameters);
    steps.push(...plan.map(({ detail }) => `${detail}: ${sql.replace(/\s+/g, ' ')}`));
    return prepare.call(this, sql);
  } as typeof prepare;
  try {
    await work();
  } finally {
    Sqlite.prototype.prepare = prepare;
  }
  return steps;
}

/** Adds an index that begins with each column and covers all, and one for each pair of columns. */
function addIndexes(table: string): void {
  const db = new Sqlite(config.database);
  const columns = db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table);
  for (const [at, first] of columns.entries()) {
    const others = columns.filter((column) => column !== first);
    db.exec(`CREATE INDEX added_${table}_${at} ON ${table}(${[first, ...others].join(', ')})`);
    for (const second of others)
      db.exec(`CREATE INDEX added_${table}_${at}_${second} ON ${table}(${first}, ${second})`);
  }
  db.close();
}

/** Removes the last entry of an index. */
function damageIndex(name: string): void {
  const db = new Sqlite(config.database, { readonly: true });
  const page = Number(db.prepare('SELECT max(pageno) FROM dbstat WHERE name = ?').pluck().get(name));
  const size = Number(db.pragma('page_size', { simple: true }));
  db.close();
  const bytes = readFileSync(config.database);
  const entries = (page - 1) * size + 3;
  bytes.writeUInt16BE(bytes.readUInt16BE(entries) - 1, entries);
  writeFileSync(config.database, bytes);
}

describe('an index that a user added', () => {
  it('to a large table is used by no query', async () => {
    copyFileSync(whole, config.database);
    for (const table of ['record', 'payload_block']) addIndexes(table);
    for (const [name, ask] of Object.entries(QUESTIONS)) {
      const steps = await stepsOf(() => ask(newIo()));
      expect(steps.length).toBeGreaterThan(5);
      expect([name, steps.filter((step) => step.includes('added_'))]).toEqual([name, []]);
    }
  }, 120_000);

  it('leaves the search for contradictions as it is', () => {
    copyFileSync(whole, config.database);
    addIndexes('remap_row');
    const db = openDatabase(config.database, 'read');
    expect(findContradictions(db, [INVOICES], 5)).toEqual([]);
    db.close();
  });

  it('to the rows of the remap hides no finding where it is damaged', async () => {
    const ask = async () => {
      const io = newIo();
      await runNamed('findings', givenOf(config, { status: ['v4_only'], limit: '0', json: '-' }), io);
      return io.stdout.text;
    };
    copyFileSync(whole, config.database);
    const expected = await ask();
    expect(expected.split('\n').length).toBeGreaterThan(5);
    const db = new Sqlite(config.database);
    db.exec('CREATE INDEX mine ON remap_row(group_id, v3_svc_id)');
    db.close();
    expect(await ask()).toBe(expected);
    damageIndex('mine');
    await expect(ask()).rejects.toMatchObject({ code: 'corrupt_database' });
  });

  it('to another table is refused where it is damaged', async () => {
    copyFileSync(whole, config.database);
    const db = new Sqlite(config.database);
    db.exec('CREATE INDEX mine ON stream(state, generation)');
    db.close();
    const whileWhole = newIo();
    await runNamed('status', givenOf(config), whileWhole);
    expect(whileWhole.stdout.text).toContain('V4: 1 list');
    damageIndex('mine');
    await expect(async () => runNamed('status', givenOf(config), newIo())).rejects.toMatchObject({
      code: 'corrupt_database',
    });
  });
});
