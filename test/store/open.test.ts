import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SvcError } from '../../src/errors.js';
import { type Db, type OpenMode, openDatabase } from '../../src/store/open.js';
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from '../../src/store/schema.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { makeFastFolder } from '../support/fast-folder.js';

let folder: string;
let file: string;
beforeEach(() => {
  folder = makeFastFolder();
  file = join(folder, 'test.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const MODES = ['create', 'write', 'read'] as const satisfies readonly OpenMode[];

function refusal(mode: OpenMode, path = file): string {
  try {
    openDatabase(path, mode).close();
    return 'opened';
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    expect(error.exitCode).toBe(error.code === 'incomplete' ? 4 : 6);
    expect(error.hint).toBeDefined();
    return error.code;
  }
}

/** Every file of the folder with its bytes and its time. */
function contentsOfFolder(): unknown {
  return readdirSync(folder)
    .sort()
    .map((name) => [
      name,
      readFileSync(join(folder, name)).toString('base64'),
      statSync(join(folder, name)).mtimeMs,
    ]);
}

function make(...statements: readonly string[]): void {
  const db = new Sqlite(file);
  for (const statement of statements) db.exec(statement);
  db.close();
}

describe('a file that is no database of ours', () => {
  const foreign: readonly (readonly [string, () => void])[] = [
    ['a database of another program', () => make('CREATE TABLE t(a)')],
    ['a WAL database of another program', () => make('PRAGMA journal_mode = WAL', 'CREATE TABLE t(a)')],
    ['a database with another application id', () => make('PRAGMA application_id = 7', SCHEMA)],
    ['our tables without our application id', () => make(SCHEMA)],
    ['a text', () => writeFileSync(file, 'dear diary')],
    ['a cut header', () => writeFileSync(file, 'SQLite format 3\0 and little else')],
  ];
  it.each(foreign)('%s is refused and left as it is, to the byte', (_, prepare) => {
    prepare();
    const before = contentsOfFolder();
    for (const mode of MODES) expect(refusal(mode)).toBe('not_our_database');
    expect(contentsOfFolder()).toEqual(before);
  });

  it.each([
    ['newer', SCHEMA_VERSION + 1],
    ['older', SCHEMA_VERSION - 1],
  ])('a database of a %s version is refused and left as it is', (age, version) => {
    const ours = `PRAGMA application_id = ${APPLICATION_ID}`;
    make(SCHEMA, ours, `PRAGMA user_version = ${version}`, 'PRAGMA journal_mode = WAL');
    const before = contentsOfFolder();
    for (const mode of MODES) expect(refusal(mode)).toBe(`${age}_database`);
    expect(contentsOfFolder()).toEqual(before);
  });

  it('a folder, a pipe or a loop of links is no database', () => {
    const pipe = join(folder, 'pipe');
    expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
    symlinkSync('loop', join(folder, 'loop'));
    for (const mode of MODES) {
      expect(refusal(mode, folder)).toBe('bad_input');
      expect(refusal(mode, pipe)).toBe('bad_input');
      expect(refusal(mode, join(folder, 'loop'))).toBe('disk');
      expect(refusal(mode, join(folder, 'x'.repeat(300)))).toBe('disk');
    }
  });

  it('an empty file is taken by an export only', () => {
    writeFileSync(file, '');
    expect(refusal('write')).toBe('incomplete');
    expect(refusal('read')).toBe('incomplete');
    expect(refusal('create')).toBe('opened');
  });
});

/** Copies the database as a process leaves it that dies within a transaction which has reached the disk. */
function dieWithin(db: Db, work: () => void): void {
  db.pragma('cache_size = 1');
  db.exec('BEGIN IMMEDIATE');
  work();
  const left = join(folder, 'left.db');
  copyFileSync(file, left);
  copyFileSync(`${file}-journal`, `${left}-journal`);
  db.exec('ROLLBACK');
  db.close();
  copyFileSync(left, file);
  copyFileSync(`${left}-journal`, `${file}-journal`);
  rmSync(left);
  rmSync(`${left}-journal`);
  expect(statSync(`${file}-journal`).size).toBeGreaterThan(0);
}

function fillMeta(db: Db, value: string): void {
  const insert = db.prepare('INSERT OR REPLACE INTO meta(key, value) VALUES (?, ?)');
  for (let row = 0; row < 500; row++) insert.run(`key ${row}`, `${value} ${'x'.repeat(200)}`);
}

function valuesOf(db: Db): unknown[] {
  return db.prepare('SELECT DISTINCT substr(value, 1, 6) FROM meta').pluck().all();
}

describe('a database whose process died within a transaction', () => {
  it.each(MODES)('opens (%s) as it was before that transaction', (mode) => {
    const db = openDatabase(file, 'create');
    fillMeta(db, 'before');
    dieWithin(db, () => fillMeta(db, 'within'));
    const again = openDatabase(file, mode);
    expect(valuesOf(again)).toEqual(['before']);
    expect(again.pragma('integrity_check', { simple: true })).toBe('ok');
    again.close();
  });

  it('is refused to readers while that process lives', () => {
    const db = openDatabase(file, 'create');
    db.pragma('cache_size = 1');
    db.exec('BEGIN IMMEDIATE');
    fillMeta(db, 'within');
    for (const mode of MODES) expect(refusal(mode)).toBe('locked');
    db.exec('COMMIT');
    expect(valuesOf(db)).toEqual(['within']);
    db.close();
  });

  it('is made anew where it died while making it', () => {
    const db = new Sqlite(file);
    db.pragma('journal_mode = TRUNCATE');
    db.exec('BEGIN EXCLUSIVE; COMMIT');
    db.pragma(`application_id = ${APPLICATION_ID}`);
    dieWithin(db, () => {
      for (let table = 0; table < 100; table++) db.exec(`CREATE TABLE t${table}(a TEXT)`);
    });
    expect(refusal('read')).toBe('incomplete');
    const again = openDatabase(file, 'create');
    expect(valuesOf(again)).toEqual([]);
    again.close();
  });

  it('is made anew where it died before the first table', () => {
    const db = new Sqlite(file);
    db.exec('BEGIN EXCLUSIVE; COMMIT');
    db.close();
    expect(statSync(file).size).toBeGreaterThan(0);
    expect(refusal('write')).toBe('incomplete');
    expect(refusal('create')).toBe('opened');
  });
});

describe('a damaged database', () => {
  it('with a view that names no column is refused', () => {
    openDatabase(file, 'create').close();
    const db = new Sqlite(file);
    db.unsafeMode(true);
    db.exec(`PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = replace(sql, 'c.value', 'c.vahue') WHERE name = 'child'`);
    db.close();
    for (const mode of MODES) expect(refusal(mode)).toBe('corrupt_database');
  });

  it('that was cut is refused by whoever reads it', () => {
    const db = openDatabase(file, 'create');
    fillMeta(db, 'before');
    db.close();
    const { size } = statSync(file);
    let refused = 0;
    for (let cut = 4096; cut < size; cut += 4096) {
      truncateSync(file, size - cut);
      for (const mode of MODES) {
        const code = refusal(mode);
        expect(['corrupt_database', 'not_our_database']).toContain(code);
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(50);
  });
});
