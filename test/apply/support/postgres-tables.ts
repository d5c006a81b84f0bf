import type pg from 'pg';
import type { PostgresTarget } from '../../../src/config/apply-targets.js';
import { type Case, createSql, type Row, rowsOf, targetOf } from './cases.js';
import { type Cluster, readAll } from './postgres.js';

/** Makes the tables of some cases, as a user would have them before. */
export async function createTables(client: pg.Client, cases: readonly Case[]): Promise<void> {
  const statements: string[] = [];
  for (const [at, one] of cases.entries()) {
    statements.push(createSql(one, { json: at % 20 < 10 ? 'json' : 'jsonb' }));
    const rows = rowsOf(one, false).map((row) => `(${row.map(literal).join(', ')})`);
    if (rows.length > 0) statements.push(`INSERT INTO ${one.name} VALUES ${rows.join(', ')}`);
  }
  await client.query(statements.join(';\n'));
}

function literal(cell: string | null): string {
  return cell === null ? 'NULL' : `'${cell.replaceAll("'", "''")}'`;
}

/** The targets of some cases; `TEST_PG` holds the connection string. */
export function targetsOf(cases: readonly Case[]): PostgresTarget[] {
  return cases
    .map((one) => targetOf(one, { kind: 'postgres', urlEnv: 'TEST_PG' }))
    .filter((one): one is PostgresTarget => one.kind === 'postgres');
}

/** The rows of every case's table as `showRow` shows them, in no order; one query for all. */
export async function readTables(client: pg.Client, cases: readonly Case[]): Promise<string[][]> {
  const sql = cases.map((one, at) => `SELECT ${at}, to_json(t.*)::text FROM ${one.name} AS t`);
  const tables: string[][] = cases.map(() => []);
  for (const [at, row] of await readAll(client, sql.join(' UNION ALL '))) {
    const cells = Object.values(JSON.parse(row ?? '{}') as Record<string, unknown>).map(asCell);
    tables[Number(at)]?.push(showRow(cells));
  }
  return tables.map((rows) => rows.sort());
}

function asCell(value: unknown): string | null {
  if (value === null) return null;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A row as text; jsonb has a form of its own. */
export function showRow(row: Row): string {
  return JSON.stringify(row.map((cell) => (cell?.startsWith('{') ? sorted(cell) : cell)));
}

function sorted(json: string): string {
  return JSON.stringify(JSON.parse(json), (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Every row with its table, in the order of their texts. */
export async function dumpRows(client: pg.Client, cases: readonly Case[]): Promise<string> {
  const rows = cases.map((one) => `SELECT '${one.name}', t::text FROM ${one.name} AS t`);
  const all = await readAll(client, `${rows.join(' UNION ALL ')} ORDER BY 1, 2`);
  return all.map((row) => row.join(' ')).join('\n');
}

/** All that `pg_dump` says of the user's own schema; sorted, for rows have no order. */
export function dumpDatabase(cluster: Cluster, url: string): string {
  const args = ['--schema=public', '--restrict-key=test', url];
  return cluster.execute('pg_dump', args).split('\n').sort().join('\n');
}
