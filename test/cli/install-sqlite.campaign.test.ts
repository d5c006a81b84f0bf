import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const BIN = fileURLToPath(new URL('../../bin', import.meta.url));
const ADDON = 'node_modules/better-sqlite3/build/Release/better_sqlite3.node';
/** Later Nodes need no build. */
const NEEDS_BUILD = Number(process.versions.napi) < 10;

let folder: string;
let sqlite: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-install-'));
  // without what SQLite was compiled from
  const isNeeded = (file: string) => !/better-sqlite3[\\/](deps|src|build[\\/]Release[\\/]obj)/.test(file);
  cpSync(BIN, join(folder, 'bin'), { recursive: true, filter: isNeeded });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  // Stands for npm: it only says how it was called.
  writeFileSync(
    join(folder, 'npm.cjs'),
    `require('node:fs').writeFileSync(${JSON.stringify(join(folder, 'called'))}, process.argv.slice(2).join(' '))`,
  );
  sqlite = join(folder, 'bin/sqlite-node20');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What npm was told; null if it was not called. */
function install(): string | null {
  const { status, stdout } = spawnSync(process.execPath, [join(folder, 'bin/install-sqlite.js')], {
    env: { ...process.env, npm_execpath: join(folder, 'npm.cjs') },
    encoding: 'utf8',
  });
  expect([status, stdout]).toEqual([0, '']);
  const called = join(folder, 'called');
  return existsSync(called) ? readFileSync(called, 'utf8') : null;
}

describe.runIf(NEEDS_BUILD)('the installer of SQLite for older Nodes', () => {
  it('leaves a build alone that answers', () => {
    expect(install()).toBeNull();
  });

  it.each<[string, () => void]>([
    ['is missing', () => rmSync(join(sqlite, 'node_modules'), { recursive: true })],
    ['lacks its addon', () => rmSync(join(sqlite, ADDON))],
    ['was compiled in part', () => truncateSync(join(sqlite, ADDON), 100_000)],
    [
      'is of another version',
      () => {
        const file = join(sqlite, 'package.json');
        writeFileSync(file, readFileSync(file, 'utf8').replace(/"12\.[\d.]+"/, '"12.0.0"'));
      },
    ],
  ])('installs one that %s', (_, spoil) => {
    spoil();
    expect(install()).toMatch(/^ci --prefix /);
  });
});
