import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openRemap } from '../../src/index.js';
import { closeDatabase, openDatabase } from '../../src/store/open.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { openProject } from './project.js';
import { filesIn, keysOf, makeFolder, runCli } from './run-cli.js';
import { spawnCli } from './spawn-cli.js';

const DB = 'svc-migrate.db';

const { sandbox, cwd: folder } = await openProject({ seed: 5, scale: 100 });
beforeAll(async () => expect((await run(folder, 'run')).code).toBe(0));

const run = (cwd: string, ...args: readonly string[]) =>
  runCli([...args, '--quiet'], { cwd, env: keysOf(sandbox.apiKey) });

/** A folder with a copy of the finished database. */
function copyFolder(): string {
  const cwd = makeFolder(sandbox.config());
  copyFileSync(join(folder, DB), join(cwd, DB));
  return cwd;
}

function contentsOf(file: string): unknown {
  const db = new Sqlite(file, { readonly: true }).defaultSafeIntegers(true);
  const tables = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .pluck();
  const contents = tables.all().map((table) => [table, db.prepare(`SELECT * FROM "${table}"`).raw().all()]);
  db.close();
  return contents;
}

describe('backup', () => {
  it('writes a private, equal copy that answers', async () => {
    const cwd = copyFolder();
    const before = filesIn(cwd);
    expect(await run(cwd, 'backup', 'copy.db')).toMatchObject({ code: 0, stderr: '' });
    expect(statSync(join(cwd, 'copy.db')).mode & 0o777).toBe(0o600);
    expect(contentsOf(join(cwd, 'copy.db'))).toEqual(contentsOf(join(cwd, DB)));
    expect(filesIn(cwd).filter((file) => !before.includes(file) && !file.endsWith('.lock'))).toEqual([
      'copy.db',
    ]);
    openRemap(join(cwd, 'copy.db')).close();
    expect((await run(cwd, 'check', '--db', 'copy.db')).code).toBe((await run(cwd, 'check')).code);
  });

  it('replaces nothing unless told, and never a file of its own', async () => {
    const cwd = copyFolder();
    writeFileSync(join(cwd, 'there.db'), 'mine');
    writeFileSync(join(cwd, 'other.db-journal'), 'of another database');
    const refused = [
      ['there.db'],
      ['there.db', '--db', DB],
      [DB, '--force'],
      [`${DB}-journal`],
      ['svc-migrate.config.json', '--force'],
      ['other.db', '--force'],
      ['.', '--force'],
      ['-'],
    ];
    for (const args of refused) {
      expect([args, (await run(cwd, 'backup', ...args)).code]).toEqual([args, 2]);
    }
    expect(readFileSync(join(cwd, 'there.db'), 'utf8')).toBe('mine');
    expect((await run(cwd, 'backup', 'there.db', '--force')).code).toBe(0);
    expect(contentsOf(join(cwd, 'there.db'))).toEqual(contentsOf(join(cwd, DB)));
    expect((await run(cwd, 'backup', 'no/such/folder.db')).code).toBe(6);
  });

  it('leaves no file where the database is damaged or missing', async () => {
    const cwd = copyFolder();
    const bytes = readFileSync(join(cwd, DB));
    // The cell count of a page in the middle.
    bytes.writeUInt16BE(0xffff, Math.floor(bytes.length / 2 / 16_384) * 16_384 + 3);
    writeFileSync(join(cwd, DB), bytes);
    const before = filesIn(cwd);
    const ended = await run(cwd, 'backup', 'copy.db');
    expect([ended.code, ended.stderr]).toEqual([6, expect.stringContaining('damaged')]);
    expect(filesIn(cwd)).toEqual(before);
    expect((await run(makeFolder(sandbox.config()), 'backup', 'copy.db')).code).not.toBe(0);
  });

  it('copies what was committed last while another process writes, and leaves its note alone', async () => {
    const cwd = copyFolder();
    const before = contentsOf(join(cwd, DB));
    const note = JSON.stringify({
      pid: process.pid,
      host: hostname(),
      since: '2026-01-01T00:00:00Z',
      command: 'x',
    });
    writeFileSync(join(cwd, `${DB}.lock`), note);
    const db = openDatabase(join(cwd, DB), 'write');
    db.pragma('cache_size = 1');
    db.exec('BEGIN IMMEDIATE; DELETE FROM remap_row');
    const ended = await spawnCli(['backup', 'copy.db', '--quiet'], { cwd });
    db.exec('COMMIT');
    closeDatabase(db);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(contentsOf(join(cwd, 'copy.db'))).toEqual(before);
    expect(readFileSync(join(cwd, `${DB}.lock`), 'utf8')).toBe(note);
    expect(filesIn(cwd).filter((name) => name.startsWith('copy.db'))).toEqual(['copy.db']);
    // bytes 18 and 19 of the header: 2 for a database with a log
    expect([...readFileSync(join(cwd, 'copy.db')).subarray(18, 20)]).toEqual([1, 1]);
    openRemap(join(cwd, 'copy.db')).close();
    expect((await run(cwd, 'check', '--db', 'copy.db')).code).toBe((await run(folder, 'check')).code);
  });
});

describe('remap', () => {
  it('refuses a file whose structure is damaged, and says what to do', async () => {
    const cwd = copyFolder();
    const db = new Sqlite(join(cwd, DB));
    const root = Number(
      db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_record_1'").pluck().get(),
    );
    db.close();
    const bytes = readFileSync(join(cwd, DB));
    // Two entries of the index in the wrong order.
    const at = (root - 1) * 16_384 + 8;
    const [first, second] = [bytes.readUInt16BE(at), bytes.readUInt16BE(at + 2)];
    bytes.writeUInt16BE(second, at);
    bytes.writeUInt16BE(first, at + 2);
    writeFileSync(join(cwd, DB), bytes);
    const ended = await run(cwd, 'remap');
    expect([ended.code, ended.stderr]).toEqual([6, expect.stringContaining('Restore a backup')]);
  });
});
