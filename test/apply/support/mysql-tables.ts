import type mysql from 'mysql2/promise';
import type { MysqlTarget } from '../../../src/config/apply-targets.js';
import { type Case, createSql, rowsOf, targetOf } from './cases.js';
import { readMysql } from './mysql.js';
import { showRow } from './postgres-tables.js';

/** Makes the tables of some cases, as a user would have them before. */
export async function createMysqlTables(client: mysql.Connection, cases: readonly Case[]): Promise<void> {
  for (const one of cases) {
    await client.query(createSql(one, { json: 'json' }));
    const rows = rowsOf(one, false).map((row) => `(${row.map(literal).join(', ')})`);
    if (rows.length > 0) await client.query(`INSERT INTO ${one.name} VALUES ${rows.join(', ')}`);
  }
}

function literal(cell: string | null): string {
  return cell === null ? 'NULL' : `'${cell.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

/** The targets of some cases; `TEST_MYSQL` holds the connection string. */
export function mysqlTargetsOf(cases: readonly Case[]): MysqlTarget[] {
  return cases
    .map((one) => targetOf(one, { kind: 'mysql', urlEnv: 'TEST_MYSQL' }))
    .filter((one): one is MysqlTarget => one.kind === 'mysql');
}

/** The rows of every case's table as `showRow` shows them, sorted. */
export async function readMysqlTables(client: mysql.Connection, cases: readonly Case[]): Promise<string[][]> {
  const tables: string[][] = [];
  for (const one of cases)
    tables.push((await readMysql(client, `SELECT * FROM ${one.name}`)).map(showRow).sort());
  return tables;
}

/** Every row with its table, to the byte. */
export async function dumpMysqlRows(client: mysql.Connection, cases: readonly Case[]): Promise<string> {
  const tables: string[] = [];
  for (const one of cases) {
    const rows = (await readMysql(client, `SELECT * FROM ${one.name}`)).map((row) => JSON.stringify(row));
    tables.push(`${one.name}\n${rows.sort().join('\n')}`);
  }
  return tables.join('\n');
}
