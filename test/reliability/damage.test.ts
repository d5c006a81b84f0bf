import {
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { judgeRemap } from '../../src/commands/report.js';
import { buildFingerprint, type Config } from '../../src/config/config.js';
import { exitCodeOf } from '../../src/errors.js';
import { openRemap } from '../../src/index.js';
import { buildRemap } from '../../src/match/build-remap.js';
import { Draw } from '../../src/sandbox/seeded-random.js';
import { saveFingerprint } from '../../src/store/fingerprint.js';
import { guardDatabase, openDatabase } from '../../src/store/open.js';
import { digestIndex } from '../../src/store/remap-blocks.js';
import { verifyDigests } from '../../src/store/remap-digest.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { newIo, type TestIo } from '../report/support.js';
import { campaign, campaignCases } from '../support/campaign.js';
import { configOf, INVOICES, saveExported, type Thing } from '../support/exported.js';
import { listRegions } from '../support/file-regions.js';
import { givenOf, runNamed } from '../support/given.js';
import { storePayloads } from '../support/payloads.js';
import { alterDatabase, seal } from '../support/seal.js';

/** Enough rows for several blocks and pages of each table and index. */
const RECORDS = 400;
const FLIPS = campaign({ small: 6, full: 150, soak: 10_000 });
const SEED = 20261122;
const CORRUPT = 6;

/** The last of the ids of excluded companies. */
const EXCLUDED = 800_000;

let folder: string;
let config: Config;
let whole: Buffer;
let expected: ReadonlyMap<string, string>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-damage-'));
  config = { ...configOf(), database: join(folder, 'test.db'), file: join(folder, 'config.json') };
  const db = openDatabase(config.database, 'create');
  db.pragma('synchronous = OFF');
  const ids = Array.from({ length: RECORDS }, (_, at) => at + 1);
  const thing = (id: number, generation: number): Thing => ({
    id: id * generation,
    key: id % 9 === 0 ? `only ${generation} ${id}` : `key ${id}`,
    uid: id % 4 === 0 ? `uid ${id}` : null,
    deleted: id % 50 === 7,
    facts: `x=${id}`,
    latest: '2026-10-01T00:00:00Z',
    kids: id % 3 === 0 ? [{ id: id * generation + 100_000, key: 'line' }] : [],
  });
  saveExported(db, config, { v3: ids.map((id) => thing(id, 3)), v4: ids.map((id) => thing(id, 7)) });
  storePayloads(db, (svcId) => `{"total":${svcId % 5n}}`, 'svc_id % 2 = 0');
  db.exec(`INSERT INTO rejected(generation, region, model, company_id, page, position, path, reason, raw, stream_id)
    SELECT generation, region, model, company_id, 1, 0, '', 'no_svc_id', '{}', id FROM stream WHERE generation = 'v3';
    UPDATE stream SET rejected = 1 WHERE generation = 'v3'`);
  const excluded = db.prepare("INSERT INTO excluded SELECT id, ?, 1 FROM stream WHERE generation = 'v3'");
  for (const id of ids) excluded.run(BigInt(EXCLUDED - id + 1));
  seal(db);
  for (const generation of ['v3', 'v4'] as const) saveFingerprint(db, generation, buildFingerprint(config));
  rebuild(db);
  db.close();
  whole = readFileSync(config.database);
  expected = await askEverything();
  for (const [name, said] of expected)
    expect([name, said]).toEqual([name, expect.not.stringMatching(/^(6|70)\b/)]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function rebuild(db: ReturnType<typeof openDatabase>): string {
  return buildRemap({ db, config, named: [], clock: { now: () => 0 }, onProgress: () => {} }).sha256;
}

const IDS = ['3', '6', '27', '1200', '4'] as const;

/** Every command that answers from the database, and the library. */
const QUESTIONS: Readonly<Record<string, (io: TestIo) => unknown>> = {
  status: (io) => runNamed('status', givenOf(config), io),
  report: (io) => runNamed('report', givenOf(config, { json: '-' }), io),
  'report --ndjson': (io) => runNamed('report', givenOf(config, { ndjson: '-' }), io),
  check: (io) => judgeRemap({ config, outputs: {} }, io),
  findings: (io) => runNamed('findings', givenOf(config, { limit: '0', json: '-' }), io),
  dump: (io) => runNamed('dump', givenOf(config), io),
  lookup: (io) => runNamed('lookup', givenOf(config, {}, [INVOICES, ...IDS, '999999']), io),
  'explain: an id': (io) => runNamed('explain', givenOf(config, { json: '-' }, [INVOICES, IDS[1]]), io),
  library: (io) => {
    const remap = openRemap(config.database);
    try {
      for (const id of IDS)
        io.stdout.write(`${remap.v4Id(INVOICES, id)} ${remap.find(INVOICES, id).status}\n`);
    } finally {
      remap.close();
    }
  },
  // last: it writes
  remap: (io) => {
    const db = openDatabase(config.database, 'write');
    db.pragma('synchronous = OFF');
    try {
      io.stdout.write(guardDatabase(config.database, () => rebuild(db)));
      io.stdout.write(
        JSON.stringify(
          db
            .prepare('SELECT model, region, v3_company_id, pairs, compared FROM drift_scope')
            .safeIntegers(false)
            .all(),
        ),
      );
    } finally {
      db.close();
    }
  },
};

/** What each question is answered, or the exit code of its error. */
async function askEverything(): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  for (const [name, ask] of Object.entries(QUESTIONS)) {
    const io = newIo();
    try {
      const code = await ask(io);
      answers.set(name, `${code ?? 0} ${io.stdout.text.replace(/^Database: .*/, '')}`);
    } catch (error) {
      answers.set(
        name,
        `${exitCodeOf(error)} ${exitCodeOf(error) === 70 ? String(error instanceof Error ? error.stack : error) : ''}`,
      );
    }
  }
  return answers;
}

const counts = { asked: 0, same: 0, refused: 0 };

/** Answers that are neither what they were nor a refusal. */
async function askDamaged(what: string): Promise<string[]> {
  const silent: string[] = [];
  for (const [name, said] of await askEverything()) {
    counts.asked += 1;
    if (said === expected.get(name)) counts.same += 1;
    else if (said.startsWith(`${CORRUPT} `)) counts.refused += 1;
    else silent.push(`${what}: ${name}: ${said.slice(0, 600)}`);
  }
  return silent;
}

function tell(what: string, cases: number): void {
  const { asked, same, refused } = counts;
  process.stdout.write(
    `${what}: ${cases} cases, ${asked} questions: ${same} answered right, ${refused} refused\n`,
  );
  Object.assign(counts, { asked: 0, same: 0, refused: 0 });
}

describe('a damaged database', () => {
  it(`answers as before or not at all after ${FLIPS} single flipped bits`, async () => {
    const silent: string[] = [];
    for (const { at, bit } of chooseFlips()) {
      const bytes = Buffer.from(whole);
      bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at);
      writeFileSync(config.database, bytes);
      rmSync(`${config.database}-journal`, { force: true });
      silent.push(...(await askDamaged(`bit ${bit} of byte ${at}`)));
    }
    tell('flipped bits', FLIPS);
    expect(silent).toEqual([]);
  }, 3_600_000);

  it.each([
    // Found by flipped bits: an entry of the index of records that leads to another record.
    ['an index that leads to another record', swapRowids],
    // A payload that became a number: the type of a column is one bit of the row.
    ['a payload that is no bytes', makePayloadANumber],
    ['a CHECK that calls an unknown function', garbleCheck],
  ])('refuses %s', async (what, damage) => {
    writeFileSync(config.database, whole);
    damage();
    const silent = await askDamaged(what);
    expect(counts.refused).toBeGreaterThan(0);
    tell(what, 1);
    expect(silent).toEqual([]);
  });

  it('answers as before or not at all after a page lost its last entry', async () => {
    const places = listPages('leaf').flatMap(({ start, cells }) => (cells === 0 ? [] : [{ start, cells }]));
    const silent: string[] = [];
    for (const { start, cells } of campaignCases(places, 8)) {
      const bytes = Buffer.from(whole);
      bytes.writeUInt16BE(cells - 1, start + 3);
      writeFileSync(config.database, bytes);
      silent.push(...(await askDamaged(`page ${start / PAGE_BYTES + 1} without its last entry`)));
    }
    tell('lost entries', places.length);
    expect(silent).toEqual([]);
  }, 3_600_000);

  it('does not call an excluded id unknown that a page lost', async () => {
    const explain = () =>
      runNamed('explain', givenOf(config, { json: '-' }, [INVOICES, String(EXCLUDED)]), newIo());
    writeFileSync(config.database, whole);
    const db = new Sqlite(config.database, { readonly: true });
    const page = Number(db.prepare("SELECT max(pageno) FROM dbstat WHERE name = 'excluded'").pluck().get());
    db.close();
    expect(await explain()).toBe(1);
    const bytes = Buffer.from(whole);
    const entries = (page - 1) * PAGE_BYTES + 3;
    bytes.writeUInt16BE(bytes.readUInt16BE(entries) - 1, entries);
    writeFileSync(config.database, bytes);
    await expect(explain()).rejects.toMatchObject({ code: 'corrupt_database' });
  });

  it.each([
    `UPDATE excluded SET svc_id = 7 WHERE svc_id = ${EXCLUDED}`,
    `DELETE FROM excluded WHERE svc_id = ${EXCLUDED}`,
    'INSERT INTO excluded SELECT stream_id, 999999, 1 FROM excluded LIMIT 1',
  ])('does not say whether an id is excluded after %s', async (sql) => {
    writeFileSync(config.database, whole);
    alterSchema(sql);
    for (const id of ['999999', String(EXCLUDED)])
      await expect(
        runNamed('explain', givenOf(config, { json: '-' }, [INVOICES, id]), newIo()),
      ).rejects.toMatchObject({
        code: 'corrupt_database',
      });
  });

  it('answers as before or not at all after an inner page of a table was given a wrong key', async () => {
    const places = listPages('internal').filter(({ start }) => whole.readUInt8(start) === TABLE_INTERNAL);
    const bits = campaign({ small: [6, 7], full: [1, 2, 6, 7] });
    const silent: string[] = [];
    let cases = 0;
    for (const { start, cells } of places) {
      for (let at = 0; at < cells; at++) {
        const bytes = Buffer.from(whole);
        const key = start + bytes.readUInt16BE(start + 12 + 2 * at) + 4;
        for (const bit of bits) {
          bytes.writeUInt8(whole.readUInt8(key) ^ (1 << bit), key);
          writeFileSync(config.database, bytes);
          silent.push(...(await askDamaged(`bit ${bit} of the key in byte ${key}`)));
          cases += 1;
        }
      }
    }
    tell('wrong keys', cases);
    expect(cases).toBeGreaterThan(5);
    expect(silent).toEqual([]);
  }, 3_600_000);

  it('answers as before or not at all after any column of any table was garbled', async () => {
    writeFileSync(config.database, whole);
    const copy = join(folder, 'copy.db');
    copyFileSync(config.database, copy);
    const columns = campaignCases(listColumns(), 30);
    const silent: string[] = [];
    const values = campaign({
      small: ["'{'"],
      full: ["'{'", 'NULL', '77'],
      soak: ["'{'", "'[]'", 'NULL', '77', "'garbled'"],
    });
    let cases = 0;
    for (const [table, column] of columns) {
      for (const value of values) {
        copyFileSync(copy, config.database);
        if (!garble(table, column, value)) continue;
        cases += 1;
        silent.push(...(await askDamaged(`${table}.${column} = ${value}`)));
      }
    }
    tell('garbled columns', cases);
    expect(cases).toBeGreaterThan(campaign({ small: 6, full: 30 }));
    expect(silent).toEqual([]);
  }, 3_600_000);

  it('ends the verification of an index with a key that leads back to an earlier one', () => {
    const places = listIdPlaces();
    const endings = new Map<string, number>();
    // The search for the next block goes wrong where a block begins: these keys are tried at any size.
    const firsts = listBlockFirsts();
    const begins = places.filter((place) =>
      firsts.some((first) => Math.abs(whole.readIntBE(place, 3) - first) < 100),
    );
    expect(begins.length).toBeGreaterThan(10);
    const file = openSync(config.database, 'r+');
    for (const id of campaign({ small: [...begins, ...campaignCases(places, 100)], full: places })) {
      const byte = whole.readUInt8(id);
      writeSync(file, Buffer.of(byte ^ 0x80), 0, 1, id);
      const ending = verifyIds();
      endings.set(ending, (endings.get(ending) ?? 0) + 1);
      writeSync(file, Buffer.of(byte), 0, 1, id);
    }
    closeSync(file);
    expect(endings.get('corrupt_database')).toBeGreaterThan(50);
    expect(endings.get('endless')).toBeUndefined();
  }, 600_000);

  it('refuses objects of the right name and another definition', async () => {
    const answered: string[] = [];
    for (const statement of ALTERED_OBJECTS) {
      writeFileSync(config.database, whole);
      alterSchema(statement);
      for (const [name, said] of await askEverything())
        if (!said.startsWith(`${CORRUPT} `)) answered.push(`${statement}: ${name}: ${said.slice(0, 200)}`);
    }
    expect(answered).toEqual([]);
  });

  it('answers as before where tables, views, indexes and columns were added', async () => {
    writeFileSync(config.database, whole);
    for (const statement of ADDED_OBJECTS) alterSchema(statement);
    expect(await askEverything()).toEqual(expected);
  });

  /** `refused`: by some question after each statement. */
  const LOSSES: readonly (readonly [what: string, statements: () => readonly string[], refused: boolean])[] =
    [
      [
        'ids between those of two rows',
        () => [
          'UPDATE remap_row SET id = 9007199254740993 WHERE id = (SELECT max(id) FROM remap_row)',
          'UPDATE remap_row SET id = id + 128000000000 WHERE id > 200',
          'UPDATE record SET id = 9007199254740993 WHERE id = (SELECT max(id) FROM record)',
          'UPDATE record SET id = -9007199254740993 WHERE id = 1',
        ],
        true,
      ],
      [
        'a rejected object was removed or added',
        () => [
          'DELETE FROM rejected',
          `INSERT INTO rejected(generation, region, model, company_id, page, position, path, reason, raw, stream_id)
          SELECT generation, region, model, company_id, page, 1, path, reason, raw, stream_id FROM rejected`,
        ],
        true,
      ],
      ['a table lost all its rows, or a setting', () => campaignCases(listLostRows(), 14), false],
      [
        'a table, a column or an index was dropped',
        () => [
          'DROP TABLE meta',
          'DROP VIEW remap',
          'DROP TABLE remap_row',
          'DROP TABLE remap_group',
          'DROP TABLE company',
          'DROP INDEX remap_v3',
          'DROP VIEW child',
          'ALTER TABLE record DROP COLUMN created_ms',
          'ALTER TABLE company DROP COLUMN note',
          'ALTER TABLE stream RENAME COLUMN position TO place',
        ],
        true,
      ],
    ];
  it.each(LOSSES)('answers as before or not at all after %s', async (what, statements, refused) => {
    const silent: string[] = [];
    const all = statements();
    for (const statement of all) {
      const before = counts.refused;
      writeFileSync(config.database, whole);
      alterSchema(statement);
      silent.push(...(await askDamaged(statement)));
      if (refused) expect([statement, counts.refused > before]).toEqual([statement, true]);
    }
    tell(what, all.length);
    expect(silent).toEqual([]);
  });

  it('refuses a list whose time of reading is no time, though its checksum is right', async () => {
    const silent: string[] = [];
    // SQLite takes the last three for times, but they do not sort with the others.
    const texts = ['', 'zzz', '2026-13-01T00:00:00.000Z', '12', 'now', '2026-11-01'];
    for (const text of campaignCases(texts, 3)) {
      writeFileSync(config.database, whole);
      alterDatabase(config.database, `UPDATE stream SET read_at = '${text}' WHERE generation = 'v4'`);
      silent.push(...(await askDamaged(`read at "${text}"`)));
      expect(counts.refused).toBeGreaterThan(7);
      tell('times', 1);
    }
    expect(silent).toEqual([]);
  });
});

/** Statements that take the rows of one table each, and one setting each. */
function listLostRows(): string[] {
  writeFileSync(config.database, whole);
  const db = new Sqlite(config.database, { readonly: true });
  const tables = new Set(listColumns().map(([table]) => table));
  const keys = db.prepare<[], string>('SELECT key FROM meta').pluck().all();
  db.close();
  // these only matter while a list is read
  const emptied = [...tables].filter(
    (table) => !['stale_block', 'cursor_seen', 'split_record'].includes(table),
  );
  return [
    ...emptied.map((table) => `DELETE FROM ${table}`),
    ...keys.map((key) => `DELETE FROM meta WHERE key = '${key}'`),
  ];
}

const ALTERED_OBJECTS = [
  'DROP INDEX remap_v3; CREATE INDEX remap_v3 ON remap_row(v3_svc_id) WHERE v3_svc_id > 100',
  'DROP INDEX remap_v3; CREATE INDEX remap_v3 ON remap_row(v3_svc_id DESC)',
  'DROP INDEX remap_v3; CREATE INDEX remap_v3 ON remap_row(v3_svc_id, id)',
  'DROP INDEX remap_key; CREATE INDEX remap_key ON remap_row(platform_id COLLATE NOCASE)',
  "DROP INDEX stream_key; CREATE INDEX stream_key ON stream(generation, region, model, ifnull(company_id, 'all'))",
  'DROP INDEX stream_key; CREATE UNIQUE INDEX stream_key ON stream(generation, region, model, ifnull(company_id, 0))',
  'DROP VIEW child; CREATE VIEW child AS SELECT id AS record_id, NULL AS path, 1 AS svc_id, NULL AS platform_id, NULL AS unique_id, 0 AS deleted FROM record',
  'DROP VIEW child; CREATE TABLE child(record_id, path, svc_id INTEGER, platform_id, unique_id, deleted)',
  'DROP TABLE drift; CREATE VIEW drift AS SELECT model, region, v3_company_id, v4_company_id, platform_id, v3_svc_id, v4_svc_id, evidence AS fields FROM remap WHERE 0',
  "ALTER TABLE company DROP COLUMN note; ALTER TABLE company ADD COLUMN note TEXT NOT NULL AS ('[]') VIRTUAL",
  'ALTER TABLE meta RENAME TO was; CREATE TABLE meta AS SELECT * FROM was; DROP TABLE was',
  'ALTER TABLE record RENAME TO was; CREATE TABLE record AS SELECT * FROM was; DROP TABLE was',
  'ALTER TABLE payload_block RENAME TO was; CREATE TABLE payload_block(id INTEGER, content BLOB NOT NULL, checksum INTEGER NOT NULL) STRICT; INSERT INTO payload_block SELECT * FROM was; DROP TABLE was',
  'DROP TABLE v4_company; CREATE TABLE v4_company(company_id INTEGER PRIMARY KEY, body TEXT NOT NULL COLLATE NOCASE) STRICT; INSERT INTO v4_company VALUES (1, 0)',
  'CREATE TRIGGER other BEFORE INSERT ON remap_run BEGIN SELECT RAISE(IGNORE); END',
  'CREATE UNIQUE INDEX other ON company(v3_company_id)',
];

const ADDED_OBJECTS = [
  'ALTER TABLE company ADD COLUMN mine TEXT',
  'ALTER TABLE decision ADD COLUMN mine TEXT',
  'ALTER TABLE drift_scope ADD COLUMN mine INTEGER',
  'ALTER TABLE record ADD COLUMN mine TEXT',
  'CREATE TABLE my_table(id INTEGER PRIMARY KEY, name TEXT UNIQUE COLLATE NOCASE)',
  'CREATE VIEW my_view AS SELECT * FROM remap',
  'CREATE INDEX my_index ON remap_row(group_id)',
];

/** Bits of all regions of the file by turns, or of as many as there are flips. */
function chooseFlips(): { readonly at: number; readonly bit: number }[] {
  writeFileSync(config.database, whole);
  const regions = listRegions(config.database, whole);
  const stride = Math.max(1, regions.length / FLIPS);
  const draw = new Draw(SEED);
  return Array.from({ length: FLIPS }, (_, turn) => {
    const region = regions[Math.floor(turn * stride) % regions.length];
    if (region === undefined) throw new Error('no region');
    return { at: region.from + draw.below(region.length), bit: draw.below(8) };
  });
}

/** Where the pages of the indexes of ids hold an id of three bytes: its first bit is the sign. */
function listIdPlaces(): number[] {
  writeFileSync(config.database, whole);
  const db = new Sqlite(config.database, { readonly: true });
  const pages = db
    .prepare<[], number>(
      "SELECT pageno FROM dbstat WHERE name IN ('remap_v3', 'remap_v4') AND pagetype = 'leaf' ORDER BY pageno",
    )
    .pluck()
    .all();
  db.close();
  return pages.flatMap((page) => {
    const start = (page - 1) * PAGE_BYTES;
    const cells = Array.from(
      { length: whole.readUInt16BE(start + 3) },
      (_, at) => start + whole.readUInt16BE(start + 8 + 2 * at),
    );
    // a cell is its length, the length of its header, the types of id and row, then the id
    return cells
      .filter((cell) => whole.readUInt8(cell + 2) === 3)
      .map((cell) => cell + 1 + whole.readUInt8(cell + 1));
  });
}

/** The ids that blocks of the indexes of ids begin with, but for the first. */
function listBlockFirsts(): number[] {
  const db = openDatabase(config.database, 'read');
  try {
    const indexes = (['v3', 'v4'] as const).map((part) => finish(digestIndex(db, part)));
    return indexes.flatMap(([blocks]) => blocks.slice(1).map(([first]) => Number(first)));
  } finally {
    db.close();
  }
}

function finish<T>(work: Generator<unknown, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** How the verification of the indexes of ids ends. */
function verifyIds(): string {
  let db: ReturnType<typeof openDatabase> | undefined;
  try {
    db = openDatabase(config.database, 'read');
    let steps = 0;
    for (const _ of verifyDigests(db, ['v3', 'v4'])) {
      steps += 1;
      if (steps > 100) return 'endless';
    }
    return 'intact';
  } catch (error) {
    return exitCodeOf(error) === CORRUPT ? 'corrupt_database' : String(error);
  } finally {
    db?.close();
  }
}

const PAGE_BYTES = 16_384;
/** The first byte of a leaf of an index, and of an inner page of a table. */
const TABLE_INTERNAL = 5;

/** Where the pages of a kind start, but for the first, and how many entries they have. */
function listPages(kind: 'leaf' | 'internal'): { readonly start: number; readonly cells: number }[] {
  writeFileSync(config.database, whole);
  const db = new Sqlite(config.database, { readonly: true });
  const pages = db
    .prepare<[string], { pageno: number; ncell: number }>(
      'SELECT pageno, ncell FROM dbstat WHERE pagetype = ? AND pageno > 1 ORDER BY pageno',
    )
    .all(kind);
  db.close();
  return pages.map(({ pageno, ncell }) => ({ start: (pageno - 1) * PAGE_BYTES, cells: ncell }));
}

function alterSchema(sql: string): void {
  const db = new Sqlite(config.database);
  // A view of a table that was dropped for a moment is no error.
  db.pragma('legacy_alter_table = ON');
  db.exec(sql);
  db.close();
}

function listColumns(): [table: string, column: string][] {
  const db = new Sqlite(config.database, { readonly: true });
  const columns = db
    .prepare(
      "SELECT m.name, c.name FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS c WHERE m.type = 'table'",
    )
    .raw()
    .all();
  db.close();
  return columns as [string, string][];
}

/** Sets one value of a column, where the table has rows and takes it. */
function garble(table: string, column: string, value: string): boolean {
  const db = new Sqlite(config.database);
  try {
    const row = db.prepare(`SELECT "${column}" AS value FROM ${table} LIMIT 1`).pluck().get();
    if (row === undefined) return false;
    return (
      db.prepare(`UPDATE ${table} SET "${column}" = ${value} WHERE "${column}" IS ?`).run(row).changes > 0
    );
  } catch {
    return false;
  } finally {
    db.close();
  }
}

/** Exchanges the rowids of two entries of the index of records, on its first leaf. */
function swapRowids(): void {
  const bytes = readFileSync(config.database);
  const db = new Sqlite(config.database, { readonly: true });
  const page = Number(
    db
      .prepare(
        "SELECT pageno FROM dbstat WHERE name = 'sqlite_autoindex_record_1' AND pagetype = 'leaf' ORDER BY path",
      )
      .pluck()
      .get(),
  );
  const size = Number(db.pragma('page_size', { simple: true }));
  db.close();
  const start = (page - 1) * size;
  const entryAt = (at: number) => start + bytes.readUInt16BE(start + 8 + at * 2);
  // The rowid is the last of an entry's bytes; of entries of equal length these are exchanged.
  const [a, b] = [entryAt(4), entryAt(5)];
  const endOf = (entry: number) => entry + bytes.readUInt8(entry);
  const [last, other] = [bytes.readUInt8(endOf(a)), bytes.readUInt8(endOf(b))];
  bytes.writeUInt8(other, endOf(a));
  bytes.writeUInt8(last, endOf(b));
  writeFileSync(config.database, bytes);
}

function garbleCheck(): void {
  const db = new Sqlite(config.database);
  db.unsafeMode(true);
  db.pragma('writable_schema = ON');
  db.exec("UPDATE sqlite_schema SET sql = replace(sql, 'state IN', 'stateXIN') WHERE name = 'stream'");
  db.close();
}

function makePayloadANumber(): void {
  const db = new Sqlite(config.database);
  db.unsafeMode(true);
  db.pragma('writable_schema = ON');
  db.exec(
    "UPDATE sqlite_schema SET sql = replace(sql, 'content BLOB', 'content ANY') WHERE name = 'payload_block'",
  );
  db.pragma('schema_version = 4711');
  db.exec('UPDATE payload_block SET content = 365635635 WHERE id = (SELECT min(id) FROM payload_block)');
  db.exec(
    "UPDATE sqlite_schema SET sql = replace(sql, 'content ANY', 'content BLOB') WHERE name = 'payload_block'",
  );
  db.pragma('schema_version = 4712');
  db.close();
}
