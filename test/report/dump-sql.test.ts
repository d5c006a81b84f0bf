import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { DUMP_RENDERERS } from '../../src/report/render-rows.js';
import type { RemapRow } from '../../src/store/remap-rows.js';
import { type MysqlServer, startMysql } from '../apply/support/mysql.js';
import { type Cluster, startPostgres } from '../apply/support/postgres.js';
import { HOSTILE_VALUES } from '../support/hostile-values.js';

/** Drops a table where a backslash escapes the quote after it. */
const DROP = "\\', NULL, 1, 1, 0x61, NULL, NULL, 0x7b7d); DROP TABLE victim; -- ";

/** Texts that leave a literal, or that a database or a client of it would alter. */
const TEXTS = [
  ...HOSTILE_VALUES.filter((text) => Buffer.from(text).toString() === text),
  DROP,
  "\\'; DROP TABLE victim; --",
  'C:\\new',
  'a\r\nb',
  '\r',
  '\n.tables\n',
  '\n\\! touch stolen\n',
  'DELIMITER //\ngo\n/\n',
  '%0%1%2%3%4%%0',
  '\\%0\n%1',
  ':name $1 ? @x',
  '𝔘nicode é e\u0301',
  '',
  ' ',
  'x'.repeat(70_000),
];
const PLAIN = TEXTS.filter((text) => !text.includes('\0'));

function rowOf(text: string, at: number): RemapRow {
  const id = 9_223_372_036_854_775_000n + BigInt(at);
  return {
    model: 'crm/stages',
    path: text.slice(0, 50),
    region: text.slice(0, 50),
    v3_company_id: 1n,
    v4_company_id: -1n,
    platform_id: text,
    parent_platform_id: null,
    v3_svc_id: id,
    v4_svc_id: null,
    status: 'unmatched',
    reason: 'unexplained',
    matched_by: null,
    evidence: JSON.stringify({ text }),
  };
}

const COLUMNS = ['path', 'region', 'platform_id', 'evidence'] as const;
const hexOf = (text: string) => Buffer.from(text).toString('hex');
/** One line per row: its id, and the bytes of its texts. */
const expected = (texts: readonly string[]) =>
  texts.map((text, at) => {
    const row = rowOf(text, at);
    return [String(row.v3_svc_id), ...COLUMNS.map((name) => hexOf(String(row[name])))].join('|');
  });
const sqlOf = (texts: readonly string[]) => [...DUMP_RENDERERS.sql(texts.map(rowOf))].join('');

const lines = (text: string) => text.trimEnd().toLowerCase().replaceAll('\t', '|').split('\n');
const hexSql = (spell: (name: string) => string) =>
  `SELECT v3_svc_id, ${COLUMNS.map(spell).join(', ')} FROM remap ORDER BY v3_svc_id`;

let file: string;
beforeAll(() => {
  file = join(mkdtempSync(join(tmpdir(), 'svc-sql-')), 'db');
});

describe('dump --format sql', () => {
  it.runIf(spawnSync('sqlite3', ['-version']).status === 0)('is read exactly by sqlite3', () => {
    const options = { input: `CREATE TABLE victim(x INTEGER);\n${sqlOf(TEXTS)}`, encoding: 'utf8' } as const;
    expect(execFileSync('sqlite3', ['-bail', file], options)).toBe('');
    expect(
      lines(execFileSync('sqlite3', [file, hexSql((name) => `hex(${name})`)], { encoding: 'utf8' })),
    ).toEqual(expected(TEXTS));
    expect(execFileSync('sqlite3', [file, 'SELECT count(*) FROM victim'], { encoding: 'utf8' })).toBe('0\n');
  });

  it('names the databases that read it', () => {
    expect(sqlOf([]).split('\n')[0]).toMatch(/SQLite, PostgreSQL, MySQL and MariaDB/);
  });
});

describe('dump --format sql in PostgreSQL', async () => {
  const cluster: Cluster | null = await startPostgres();

  function psql(url: string, args: readonly string[], input = '', env = {}) {
    const all = ['--no-psqlrc', '-q', '-v', 'ON_ERROR_STOP=1', '-d', url, ...args];
    return spawnSync('psql', all, { input, encoding: 'utf8', env: { ...process.env, ...env } });
  }

  it.runIf(cluster !== null)('is read exactly by psql', async () => {
    const url = (await cluster?.createDatabase('dump_sql')) ?? '';
    expect(psql(url, [], `CREATE TABLE victim(x INTEGER);\n${sqlOf(PLAIN)}`)).toMatchObject({
      status: 0,
      stderr: '',
    });
    const hex = (name: string) => `encode(convert_to(${name}, 'UTF8'), 'hex')`;
    expect(lines(psql(url, ['-At', '-c', hexSql(hex)]).stdout)).toEqual(expected(PLAIN));
    expect(psql(url, ['-At', '-c', 'SELECT count(*) FROM victim']).stdout).toBe('0\n');
  });

  it.runIf(cluster !== null).each([
    ['NUL, which PostgreSQL cannot store', 'a\0b', {}],
    ['another encoding', 'é', { PGCLIENTENCODING: 'LATIN1' }],
  ])('stores no row of a file with %s', async (_, text, env) => {
    const url = (await cluster?.createDatabase('dump_sql')) ?? '';
    const { status, stderr } = psql(url, [], sqlOf(['first', text]), env);
    expect([status, stderr]).toEqual([3, expect.stringContaining('ERROR')]);
    expect(psql(url, ['-At', '-c', 'SELECT count(*) FROM remap']).stdout).toBe('0\n');
  });
});

describe('dump --format sql in MySQL and MariaDB', async () => {
  const server: MysqlServer | null = await startMysql();

  function mysql(database: string, args: readonly string[], input = '') {
    const { hostname, port, username, password } = new URL(server?.url(database) ?? '');
    const login = [`-h${hostname}`, `-P${port}`, `-u${username}`, `-p${password}`, database];
    return spawnSync('mariadb', ['--no-defaults', ...login, ...args], { input, encoding: 'utf8' });
  }

  it.runIf(server !== null).each(['utf8mb4', 'latin1'])('is read exactly by mariadb: %s', async (charset) => {
    await server?.createDatabase('dump_sql');
    const before = `ALTER DATABASE dump_sql CHARACTER SET ${charset}; CREATE TABLE victim(x INTEGER);\n`;
    expect(mysql('dump_sql', [`--default-character-set=${charset}`], before + sqlOf(TEXTS))).toMatchObject({
      status: 0,
      stderr: '',
    });
    const { stdout } = mysql('dump_sql', ['-BNe', hexSql((name) => `hex(${name})`)]);
    expect(lines(stdout)).toEqual(expected(TEXTS));
    expect(mysql('dump_sql', ['-BNe', 'SELECT count(*) FROM victim']).stdout).toBe('0\n');
  });

  it.runIf(server !== null)(
    'cannot run a text as SQL even where a tool leaves out its settings',
    async () => {
      await server?.createDatabase('dump_sql');
      const rows = [{ ...rowOf(DROP, 0), path: '', region: null }];
      const sql = [...DUMP_RENDERERS.sql(rows)].join('').replaceAll(/^\/\*!40101 SET .*$/gm, '');
      const tables = 'CREATE TABLE victim(x INTEGER);\n';
      expect(mysql('dump_sql', ['--default-character-set=utf8mb4'], tables + sql).status).not.toBe(0);
      expect(mysql('dump_sql', ['-BNe', 'SELECT count(*) FROM victim']).stdout).toBe('0\n');
    },
  );
});
