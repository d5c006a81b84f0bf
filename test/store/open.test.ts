import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SvcError } from '../../src/errors.js';
import { APPLICATION_ID, closeDatabase, type OpenMode, openDatabase } from '../../src/store/open.js';
import SCHEMA from '../../src/store/schema.sql';
import { type Db, Sqlite } from '../../src/store/sqlite.js';
import { campaignSize } from '../support/campaign.js';
import { compileChild } from '../support/compile-child.js';
import { makeFastFolder } from '../support/fast-folder.js';

const SCHEMA_VERSION = readSchemaVersion();

function readSchemaVersion(): number {
  const place = makeFastFolder();
  const db = openDatabase(join(place, 'new.db'), 'create');
  const version = Number(db.pragma('user_version', { simple: true }));
  db.close();
  rmSync(place, { recursive: true });
  return version;
}

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

describe('a file of another program', () => {
  const foreign: readonly (readonly [string, () => void])[] = [
    ['a database of another program', () => make('CREATE TABLE t(a)')],
    ['a WAL database of another program', () => make('pragma journal_mode = WAL', 'CREATE TABLE t(a)')],
    ['a database with another application id', () => make('pragma application_id = 7', SCHEMA)],
    ['our tables without our application id', () => make(SCHEMA)],
    ['a text', () => writeFileSync(file, 'dear diary')],
    ['a cut header', () => writeFileSync(file, 'SQLite format 3\0 and little else')],
  ];
  it.each(foreign)('%s is refused and not changed by a byte', (_, prepare) => {
    prepare();
    const before = contentsOfFolder();
    for (const mode of MODES) expect(refusal(mode)).toBe('not_our_database');
    expect(contentsOfFolder()).toEqual(before);
  });

  it.each([
    ['newer', SCHEMA_VERSION + 1],
    ['older', SCHEMA_VERSION - 1],
  ])('a database of a %s version is refused and left as it is', (age, version) => {
    const ours = `pragma application_id = ${APPLICATION_ID}`;
    make(SCHEMA, ours, `pragma user_version = ${version}`, 'pragma journal_mode = WAL');
    const before = contentsOfFolder();
    for (const mode of MODES) expect(refusal(mode)).toBe(`${age}_database`);
    expect(contentsOfFolder()).toEqual(before);
  });

  it('is refused if it is a folder, a pipe or a loop of links', () => {
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

  it('is accepted by an export, but by nothing else, if it is empty', () => {
    writeFileSync(file, '', { mode: 0o644 });
    expect(refusal('write')).toBe('incomplete');
    expect(refusal('read')).toBe('incomplete');
    expect(refusal('create')).toBe('opened');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});

/** Copies the database as a process leaves it that dies within a transaction which has reached the disk. */
function dieWithin(db: Db, work: () => void): void {
  db.pragma('cache_size = 1');
  db.exec('BEGIN IMMEDIATE');
  work();
  const parts = ['', '-journal', '-wal'].filter((part) => existsSync(file + part));
  const left = join(folder, 'left.db');
  for (const part of parts) copyFileSync(file + part, left + part);
  db.exec('ROLLBACK');
  db.close();
  for (const part of parts) renameSync(left + part, file + part);
  expect(parts.length).toBeGreaterThan(1);
}

function fillMeta(db: Db, value: string): void {
  const insert = db.prepare('INSERT OR REPLACE INTO meta(name, value) VALUES (?, ?)');
  for (let row = 0; row < 500; row++) insert.run(`key ${row}`, JSON.stringify(`${value} ${'x'.repeat(200)}`));
}

function valuesOf(db: Db): unknown[] {
  return db.prepare('SELECT DISTINCT substr(value, 2, 6) FROM meta').pluck().all();
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

  it('is created again if the process died while creating it', () => {
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

  it('is created again if the process died before the first table', () => {
    const db = new Sqlite(file);
    db.exec('BEGIN EXCLUSIVE; COMMIT');
    db.close();
    expect(statSync(file).size).toBeGreaterThan(0);
    expect(refusal('write')).toBe('incomplete');
    expect(refusal('create')).toBe('opened');
  });
});

describe('a database that is written', () => {
  const filesLeft = (): string[] => readdirSync(folder).filter((name) => name !== 'test.db-writer');

  it('shows the last commit to any number of readers, and refuses a second writer', () => {
    const db = openDatabase(file, 'create');
    fillMeta(db, 'before');
    db.pragma('cache_size = 1');
    db.exec('BEGIN IMMEDIATE');
    fillMeta(db, 'within');
    const startMs = performance.now();
    for (const mode of MODES) expect(refusal(mode)).toBe(mode === 'read' ? 'opened' : 'locked');
    // A quarter of a second each; waits for brief locks take five.
    expect(performance.now() - startMs).toBeLessThan(5000);
    const reader = openDatabase(file, 'read');
    reader.exec('BEGIN');
    expect(valuesOf(reader)).toEqual(['before']);
    db.exec('COMMIT');
    expect(valuesOf(reader)).toEqual(['before']);
    reader.exec('COMMIT');
    expect(valuesOf(reader)).toEqual(['within']);
    closeDatabase(db);
    expect(valuesOf(reader)).toEqual(['within']);
    reader.close();
  });

  it('is refused to a second writer by another name', () => {
    const db = openDatabase(file, 'create');
    symlinkSync(file, join(folder, 'link.db'));
    expect(() => openDatabase(join(folder, 'link.db'), 'write')).toThrow(
      expect.objectContaining({ code: 'locked' }),
    );
    closeDatabase(db);
  });

  it('is a single private file once its writer has closed it', () => {
    const db = openDatabase(file, 'create');
    fillMeta(db, 'before');
    for (const name of readdirSync(folder)) {
      expect([name, statSync(join(folder, name)).mode & 0o777]).toEqual([name, 0o600]);
    }
    closeDatabase(db);
    expect(filesLeft()).toEqual(['test.db']);
    const again = new Sqlite(file, { readonly: true });
    expect(again.pragma('journal_mode', { simple: true })).toBe('delete');
    expect(again.pragma('page_size', { simple: true })).toBe(8192);
    again.close();
  });

  it('is a single file again after the next writer if readers stayed open longer', () => {
    const db = openDatabase(file, 'create');
    fillMeta(db, 'before');
    const reader = openDatabase(file, 'read');
    closeDatabase(db);
    expect(valuesOf(reader)).toEqual(['before']);
    reader.close();
    for (const mode of ['read', 'write'] as const) {
      const next = openDatabase(file, mode);
      expect(valuesOf(next)).toEqual(['before']);
      closeDatabase(next);
    }
    expect(filesLeft()).toEqual(['test.db']);
  });

  it.skipIf(campaignSize({ small: true, full: false }))(
    'cannot be opened for writing during a read transaction that began without a writer',
    () => {
      closeDatabase(openDatabase(file, 'create'));
      const reader = openDatabase(file, 'read');
      reader.exec('BEGIN');
      valuesOf(reader);
      expect(refusal('write')).toBe('locked');
      reader.close();
      expect(refusal('write')).toBe('opened');
    },
    20_000,
  );

  it('is refused to another process also between transactions, until the writer ends, even by SIGKILL', async () => {
    const script = await compileChild('test/store/hold-child.ts');
    const child = spawn(process.execPath, [script, file], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    expect(refusal('write')).toBe('locked');
    expect(refusal('read')).toBe('opened');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(refusal('write')).toBe('opened');
  });
});

describe('SQLite', () => {
  it('has no WAL-reset corruption bug, which version 3.51.3 fixed', () => {
    const version = String(new Sqlite(':memory:').prepare('select sqlite_version()').pluck().get());
    const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
    expect(major * 1e6 + minor * 1e3 + patch).toBeGreaterThanOrEqual(3_051_003);
  });
});

describe('a damaged database', () => {
  it('is refused by every reader if it is truncated', () => {
    const db = openDatabase(file, 'create');
    fillMeta(db, 'before');
    closeDatabase(db);
    const { size } = statSync(file);
    let refused = 0;
    for (let cut = 8192; cut < size; cut += 8192) {
      truncateSync(file, size - cut);
      for (const mode of MODES) {
        const code = refusal(mode);
        expect(['corrupt_database', 'not_our_database']).toContain(code);
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(20);
  });
});
