import { execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import mysql from 'mysql2/promise';
import { findUser, freePort } from './postgres.mjs';

/** A MariaDB server of the benchmark's own, durable as a user's is. */
export async function startBenchMysql() {
  const program = ['/usr/sbin/mariadbd', '/usr/libexec/mariadbd'].find(existsSync) ?? 'mariadbd';
  const user = findUser('mysql');
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-my-'));
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  const options = { ...user, cwd: folder, stdio: 'ignore' };
  const data = ['--no-defaults', `--datadir=${join(folder, 'data')}`];
  const grants = join(folder, 'grants.sql');
  writeFileSync(
    grants,
    "GRANT ALL ON *.* TO 'admin'@'127.0.0.1' IDENTIFIED BY 'bench';\nCREATE DATABASE bench;\n",
  );
  execFileSync(
    'mariadb-install-db',
    [...data, '--skip-test-db', '--skip-name-resolve', `--tmpdir=${folder}`],
    options,
  );
  const port = await freePort();
  const settings = [
    `--port=${port}`,
    `--socket=${join(folder, 'socket')}`,
    `--pid-file=${join(folder, 'pid')}`,
    `--init-file=${grants}`,
    `--tmpdir=${folder}`,
    '--bind-address=127.0.0.1',
    '--skip-name-resolve',
    '--innodb-buffer-pool-size=256M',
    '--innodb-log-file-size=512M',
  ];
  const server = spawn(program, [...data, ...settings], options);
  const url = `mysql://admin:bench@127.0.0.1:${port}/bench`;
  return {
    url,
    pid: server.pid,
    client: await untilReady(url),
    stop: async () => {
      const ended = new Promise((done) => server.once('exit', done));
      server.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilReady(url) {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    try {
      return await mysql.createConnection({ uri: url, multipleStatements: true });
    } catch {
      await sleep(50);
    }
  }
  throw new Error('MariaDB did not start');
}
