import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { at } from '../../src/text/at.js';
import { readRemapRows } from '../contract.js';
import { openProject } from '../support/project.js';

const ENGINES = resolve(process.env['SVC_ENGINES'] ?? new URL('../../../.engines', import.meta.url).pathname);
const HAS_DUCKDB = existsSync(join(ENGINES, 'node_modules/@duckdb/node-api'));
if (!HAS_DUCKDB) process.stdout.write(`NOT TESTED: DuckDB, because it is not in ${ENGINES}\n`);

interface DuckDb {
  readonly DuckDBInstance: {
    create(file: string): Promise<{
      connect(): Promise<{
        run(sql: string): Promise<unknown>;
        runAndReadAll(sql: string): Promise<{ getRows(): readonly (readonly unknown[])[] }>;
      }>;
    }>;
  };
}

const { cwd, run } = await openProject({ seed: 5, scale: 300 });
const page = readFileSync(new URL('../../src/docs/warehouses.md', import.meta.url), 'utf8');

describe.runIf(HAS_DUCKDB)('the page of warehouses', () => {
  it('loads the remap into DuckDB and joins it', async () => {
    expect((await run('run', '--quiet')).code).toBe(0);
    expect((await run('dump', '--format', 'parquet', '--output', 'remap.parquet')).code).toBe(0);
    const require = createRequire(join(ENGINES, 'package.json'));
    const { DuckDBInstance } = require('@duckdb/node-api') as DuckDb;
    const db = await (await DuckDBInstance.create(':memory:')).connect();
    const load = at(/^\| DuckDB \| `(.*)` \|$/m.exec(page) ?? [], 1);
    const [count = '', join_ = ''] = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map((match) =>
      at(match, 1),
    );
    await db.run(load.replace('remap.parquet', join(cwd, 'remap.parquet')));
    const pairs = readRemapRows(cwd).filter(
      ({ model, path, status }) => model === 'accounting/invoices' && path === '' && status === 'matched',
    );
    const ids = pairs.map(({ v3_svc_id }) => `(${v3_svc_id})`);
    await db.run(
      `create table facts as select * from (values ${[...ids, '(123456789)'].join(', ')}) as t(invoice_id)`,
    );
    expect((await db.runAndReadAll(count)).getRows()).toEqual([]);
    const joined = (await db.runAndReadAll(join_)).getRows();
    expect(new Map(joined.map(([v3, v4]) => [String(v3), v4 === null ? null : String(v4)]))).toEqual(
      new Map([
        ...pairs.map(({ v3_svc_id, v4_svc_id }) => [String(v3_svc_id), String(v4_svc_id)] as const),
        ['123456789', null] as const,
      ]),
    );
  });
});
