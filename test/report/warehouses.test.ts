import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parquetWriteFile } from 'hyparquet-writer';
import { beforeAll, describe, expect, it } from 'vitest';
import { readTopic } from '../../src/docs/topics.js';
import { writeParquet } from '../../src/report/write-parquet.js';
import type { RemapRow } from '../../src/store/remap-rows.js';
import { openClickHouse, openDuckDb, polars } from '../support/engines.js';

const PAGE = readTopic('warehouses') ?? '';
/** The statement that the page has for an engine, and those for all: first the check, then the join. */
const loadOf = (engine: string) => new RegExp(`^\\| ${engine} \\| \`(.*)\` \\|$`, 'm').exec(PAGE)?.[1] ?? '';
const [CHECK = '', JOIN = ''] = [...PAGE.matchAll(/```text\n([\s\S]*?)```/g)].map(([, sql]) => sql);

const BIG = 9_007_199_254_740_993n;
const MODEL = 'accounting/invoices';
const row = (v3: bigint | null, v4: bigint | null, more: Partial<RemapRow> = {}): RemapRow => ({
  model: MODEL,
  path: '',
  region: 'default',
  v3_company_id: 1n,
  v4_company_id: 2n,
  platform_id: 'P',
  parent_platform_id: null,
  v3_svc_id: v3,
  v4_svc_id: v4,
  status: 'matched',
  reason: null,
  matched_by: 'platform_id',
  evidence: '{}',
  ...more,
});
const ROWS = [
  row(1n, 11n),
  row(1n, 99n, { model: 'accounting/payments' }),
  row(1n, 98n, { path: 'line_items', parent_platform_id: 'Q' }),
  row(BIG, BIG + 2n),
  row(BIG + 1n, 2n ** 63n - 1n),
  row(3n, null, { status: 'unmatched', reason: 'unexplained' }),
  row(4n, 97n, { status: 'deleted', reason: 'deleted_in_v4' }),
  row(null, 96n, { status: 'v4_only', reason: 'unexplained' }),
];
/** The facts by row number, and the V4 id of each. */
const FACTS = [1n, null, BIG, BIG + 1n, 3n, 4n, 5n, 1n];
const EXPECTED = [11n, null, BIG + 2n, 2n ** 63n - 1n, null, null, null, 11n].map((v4, at) =>
  [at, FACTS[at] ?? null, v4].map((cell) => (cell === null ? null : String(cell))),
);
const VALUES = FACTS.map((id, at) => `(${at}, ${id === null ? 'NULL' : id})`).join(', ');
const byFact = (rows: readonly (readonly (string | null)[])[]) =>
  rows.toSorted((a, b) => Number(a[0]) - Number(b[0]));

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-warehouse-'));
  mkdirSync(join(folder, 'user_files'));
  const facts = { tool: 'test', builtAt: 't', remapSha256: 's', isComplete: true };
  for (const place of [folder, join(folder, 'user_files')])
    await writeParquet(join(place, 'remap.parquet'), () => ROWS, facts, new AbortController().signal);
});

describe('the statements of "help warehouses" map every id, and no look-alike', () => {
  it.runIf(openDuckDb !== null)('on DuckDB', async () => {
    const engine = await openDuckDb?.(folder);
    await engine?.query(loadOf('DuckDB'));
    await engine?.query(`CREATE TABLE facts AS SELECT * FROM (VALUES ${VALUES}) AS f(id, invoice_id)`);
    expect(await engine?.query(CHECK)).toEqual([]);
    expect(byFact((await engine?.query(JOIN)) ?? [])).toEqual(EXPECTED);
    engine?.close();
  });

  it.runIf(openClickHouse !== null)('on ClickHouse', async () => {
    const engine = await openClickHouse?.(folder);
    await engine?.query(
      loadOf('ClickHouse').replace("'remap.parquet'", `'${join(folder, 'user_files/remap.parquet')}'`),
    );
    await engine?.query(
      'CREATE TABLE facts (id Int64, invoice_id Nullable(Int64)) ENGINE = MergeTree ORDER BY id',
    );
    await engine?.query(`INSERT INTO facts VALUES ${VALUES}`);
    expect(await engine?.query(CHECK)).toEqual([]);
    expect(byFact((await engine?.query(JOIN)) ?? [])).toEqual(EXPECTED);
    engine?.close();
  });

  it.runIf(polars !== null)('on polars', () => {
    if (polars === null) return;
    const [, file = ''] = /scan_parquet\("(.*)"\)/.exec(loadOf('polars')) ?? [];
    const columns = [
      { name: 'id', data: FACTS.map((_, at) => BigInt(at)), type: 'INT64' as const },
      { name: 'invoice_id', data: FACTS, type: 'INT64' as const },
    ];
    parquetWriteFile({ filename: join(folder, 'facts.parquet'), columnData: columns });
    const { readParquet } = polars;
    const open = (name: string) => readParquet(join(folder, name));
    const db = polars.SQLContext({ facts: open('facts.parquet'), remap: open(file) });
    const query = (sql: string) =>
      db
        .execute(sql, { eager: true })
        .rows()
        .map((cells) => cells.map((cell) => (cell === null ? null : String(cell))));
    expect(query(CHECK)).toEqual([]);
    // As text: JavaScript would round the ids.
    const texts = ['id', 'invoice_id', 'invoice_id_v4'].map((name) => `CAST(${name} AS VARCHAR) AS ${name}`);
    expect(byFact(query(`SELECT ${texts.join(', ')} FROM (${JOIN}) AS j`))).toEqual(EXPECTED);
  });
});
