import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import type { Database } from './databases.js';
import { MYSQL_PRODUCT } from './mysql.js';

/** The programs that people run SQL files with, as our documentation says. */
function commandOf({ engine, url }: Database): readonly [string, ...string[]] | null {
  if (engine.kind === 'sqlite') return ['sqlite3', '-bail', '-batch', url];
  if (engine.kind === 'postgres') return ['psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', url];
  // The client of MariaDB does not know how MySQL's server authenticates.
  if (MYSQL_PRODUCT === 'MySQL') return null;
  const { hostname, port, username, password, pathname } = new URL(url);
  const where = [`-h${hostname}`, `-P${port}`, `-u${username}`, `-p${password}`, pathname.slice(1)];
  return [
    'mariadb',
    '--no-defaults',
    '--batch',
    '--skip-column-names',
    '--default-character-set=utf8mb4',
    ...where,
  ];
}

function isInstalled(program: string): boolean {
  return (process.env['PATH'] ?? '').split(':').some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

const MISSING = new Set<string>();

/** Runs SQL as a file, with the client program where it is installed. */
export async function runFile(database: Database, sql: string): Promise<void> {
  const command = commandOf(database);
  if (command === null) return database.run(sql);
  const [program, ...args] = command;
  if (!isInstalled(program)) {
    if (!MISSING.has(program))
      process.stderr.write(
        `\n*** NOT TESTED: ${program} is not installed; printed SQL was run without it. ***\n\n`,
      );
    MISSING.add(program);
    return database.run(sql);
  }
  const child = spawn(program, args, { stdio: ['pipe', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (bytes) => {
    errors += String(bytes);
  });
  // It may end before it has read everything.
  child.stdin.on('error', () => {});
  child.stdin.end(`${sql}\n`);
  const code = await new Promise((done, fail) => {
    child.once('error', fail);
    child.once('close', done);
  });
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${errors}`);
}
