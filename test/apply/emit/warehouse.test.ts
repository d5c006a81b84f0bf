import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { SqlScript } from '../../../src/apply/emit/build-script.js';
import type { Warehouse } from '../../../src/apply/emit/emit-request.js';
import { openWarehouseStore } from '../../../src/apply/emit/warehouse-store.js';
import type { Policy } from '../../../src/apply/plan.js';
import type { WarehouseTarget } from '../../../src/config/apply-targets.js';
import { campaign } from '../../support/campaign.js';
import {
  type Case,
  makeCase,
  type Row,
  remapRowsOf,
  rowsBeside,
  rowsOf,
  targetOf,
} from '../support/cases.js';
import { type AnalyticalEngine, openClickHouse, openDuckDb } from '../support/engines.js';
import { makeFolder } from '../support/folder.js';
import { createRemap, IN_PLACE, INVOICES, NEW, openContext, target } from '../support/remap.js';

const TABLES = campaign({ small: 4, full: 32, soak: 80 });
const MAPS = campaign({ small: 10, full: 60 });
const SHAPES = ['plain', 'pair', 'text', 'scoped'] as const;
const CASES = Array.from({ length: TABLES }, (_, at) => makeCase(at + 1, SHAPES[at % SHAPES.length], MAPS));

const folder = makeFolder();
const remap = join(folder, 'remap.db');
beforeAll(() =>
  createRemap(remap, [
    ...CASES.flatMap(remapRowsOf),
    { v3: 1, v4: 2 },
    { v3: 2, v4: 1 },
    { v3: 9_007_199_254_740_993n, v4: 9_223_372_036_854_775_807n },
    { v3: 3 },
    { v3: null, v4: 4, status: 'v4_only' },
  ]),
);

const ENGINES = {
  duckdb: {
    open: openDuckDb,
    types: { integer: 'BIGINT', small: 'INTEGER', text: 'VARCHAR' },
    options: '',
  },
  clickhouse: {
    open: openClickHouse,
    types: { integer: 'Nullable(Int64)', small: 'Nullable(Int32)', text: 'Nullable(String)' },
    options: ' ENGINE = MergeTree ORDER BY tuple()',
  },
} as const;
type EngineName = keyof typeof ENGINES;

const isText = ({ shape }: Case) => shape === 'text';
const columnsOf = (one: Case): string[] =>
  one.shape === 'scoped'
    ? ['k', 'svc_id', 'kind', 'region', 'company', 'note']
    : one.shape === 'pair'
      ? ['k', 'svc_id', 'other_id', 'note']
      : ['k', 'svc_id', 'note'];

function warehouseTarget(more: object): WarehouseTarget {
  const parsed = target({ kind: 'warehouse', ...more });
  if (parsed.kind !== 'warehouse') throw new Error('no warehouse');
  return parsed;
}

const targets = CASES.map((one) => {
  const { name, table, ids } = { table: '', ...targetOf(one, { kind: 'sqlite', file: 'x' }) };
  return warehouseTarget({
    name,
    table,
    ids,
    idType: isText(one) ? 'text' : 'integer',
    columns: columnsOf(one),
  });
});

async function emit(
  policy: Policy,
  warehouse: Warehouse,
  own = targets,
  parquet: string | null = null,
): Promise<SqlScript> {
  const context = openContext(remap, policy);
  try {
    const store = openWarehouseStore(context, own);
    const run = { run: 'sql-1', planSha256: 'p', isExact: true };
    const script = await store.emit?.(await store.survey(), run, { warehouse, parquet });
    if (script === undefined) throw new Error('no SQL');
    return script;
  } finally {
    context.remap.close();
  }
}

/** Runs statements one by one until one fails; a failed transaction is rolled back. */
async function run(
  engine: AnalyticalEngine,
  { begin }: SqlScript,
  statements: readonly string[],
): Promise<void> {
  const all = begin === null ? statements : [begin, ...statements, 'COMMIT'];
  try {
    for (const statement of all) await engine.query(statement);
  } catch (error) {
    if (begin !== null) await engine.query('ROLLBACK');
    throw error;
  }
}

const literal = (cell: string | null) => (cell === null ? 'NULL' : `'${cell.replaceAll("'", "''")}'`);

async function create(engine: AnalyticalEngine, name: EngineName, one: Case): Promise<void> {
  const { types, options } = ENGINES[name];
  const columns = columnsOf(one).map((column) => {
    const isId = column === 'svc_id' || column === 'other_id';
    return `${column} ${isId && !isText(one) ? types.integer : types.text}`;
  });
  await engine.query(`CREATE TABLE ${one.name}(${columns.join(', ')})${options}`);
  const rows = rowsOf(one, false).map((row) => `(${row.map(literal).join(', ')})`);
  if (rows.length > 0) await engine.query(`INSERT INTO ${one.name} VALUES ${rows.join(', ')}`);
}

const shown = (rows: readonly Row[]) => rows.map((row) => JSON.stringify(row)).sort();

describe.each(Object.keys(ENGINES) as EngineName[])('emitted SQL in %s', (name) => {
  const { open, types, options } = ENGINES[name];

  async function start(): Promise<AnalyticalEngine> {
    const engine = await open?.();
    if (engine === undefined) throw new Error('not reached');
    onTestFinished(() => engine.close());
    return engine;
  }

  it.skipIf(open === null).each([
    ['in place', IN_PLACE, (one: Case) => rowsOf(one, true)],
    ['into new columns', NEW, rowsBeside],
  ] as const)(
    'rewrites %s what the oracle says, once, and is taken back',
    async (what, policy, rowsAfter) => {
      const engine = await open?.();
      if (engine === undefined) throw new Error('not reached');
      for (const one of CASES) await create(engine, name, one);
      const read = async () => {
        const tables = [];
        for (const one of CASES) tables.push(shown(await engine.query(`SELECT * FROM ${one.name}`)));
        return tables;
      };
      const before = await read();
      const script = await emit(policy, name);
      const up = [...script.load, ...script.up];
      const expected = CASES.map((one) => shown(rowsAfter(one)));
      await run(engine, script, up);
      expect(await read()).toEqual(expected);
      expect(await engine.query(script.verify)).toEqual([['0']]);
      await expect(run(engine, script, up)).rejects.toThrow('a run has rewritten the table already');
      expect(await read()).toEqual(expected);
      await run(engine, script, script.down);
      expect(await read()).toEqual(before);
      await expect(run(engine, script, script.down)).rejects.toThrow('is not recorded');
      expect(await read()).toEqual(before);
      await run(engine, script, up);
      expect(await read()).toEqual(expected);
      process.stderr.write(`${name}: ${TABLES * MAPS} mappings rewritten ${what} by emitted SQL\n`);
    },
  );

  const ids = [{ column: 'svc_id', model: INVOICES }];
  const KEEP: Policy = { ...IN_PLACE, missing: 'keep', unknown: 'keep' };
  const CHECKS: readonly (readonly [
    string,
    Policy,
    object,
    string,
    readonly (string | null)[],
    string | readonly (string | null)[],
  ])[] = [
    ['an id without a V4 id', IN_PLACE, {}, types.integer, ['1', '3'], 'without a V4 id'],
    ['a value that is no V3 id', IN_PLACE, {}, types.integer, ['1', '4'], 'not V3 ids'],
    ['keeps both where asked', KEEP, {}, types.integer, ['1', '3', '4', null], ['2', '3', '4', null]],
    ['empties where asked', { ...KEEP, missing: 'null' }, {}, types.integer, ['2', '3'], ['1', null]],
    [
      'never keeps a V3 id in a new column',
      { ...KEEP, mode: 'new' },
      {},
      types.integer,
      ['1', '3', '4'],
      ['2', null, null],
    ],
    ['keeps 64 bits', IN_PLACE, {}, types.integer, ['9007199254740993'], ['9223372036854775807']],
    ['an id too wide for the column', IN_PLACE, {}, types.small, ['1', '2'], ['2', '1']],
    ['texts where the target says integers', IN_PLACE, {}, types.text, ['1'], 'idType'],
    ['integers where the target says texts', IN_PLACE, { idType: 'text' }, types.integer, ['1'], 'idType'],
    [
      'texts near an id',
      KEEP,
      { idType: 'text' },
      types.text,
      ['1', ' 1', '01', '1.0', ''],
      ['2', ' 1', '01', '1.0', ''],
    ],
  ];

  it.skipIf(open === null).each(CHECKS)('%s', async (_, policy, more, type, values, expected) => {
    const engine = await start();
    await engine.query(`CREATE TABLE orders(k ${types.text}, svc_id ${type})${options}`);
    await engine.query(
      `INSERT INTO orders VALUES ${values.map((id, at) => `('${at}', ${literal(id)})`).join(', ')}`,
    );
    const read = async () => (await engine.query('SELECT * FROM orders ORDER BY k')).map((row) => row.at(-1));
    const script = await emit(policy, name, [
      warehouseTarget({ name: 'orders', table: 'orders', ids, ...more }),
    ]);
    const ended = run(engine, script, [...script.load, ...script.up]);
    if (typeof expected === 'string') await expect(ended).rejects.toThrow(expected);
    else await ended;
    expect(await read()).toEqual(typeof expected === 'string' ? values : expected);
  });

  it.skipIf(open === null)('finds a table in a schema, and names beside it', async () => {
    const engine = await start();
    await engine.query(name === 'duckdb' ? 'CREATE SCHEMA sales' : 'CREATE DATABASE sales');
    await engine.query(`CREATE TABLE sales.orders(k ${types.text}, svc_id ${types.integer})${options}`);
    await engine.query("INSERT INTO sales.orders VALUES ('1', 1), ('2', 2)");
    const read = async () => shown(await engine.query('SELECT * FROM sales.orders'));
    const before = await read();
    const script = await emit(IN_PLACE, name, [
      warehouseTarget({ name: 'orders', table: 'sales.orders', ids }),
    ]);
    await run(engine, script, [...script.load, ...script.up]);
    expect(await read()).toEqual(
      shown([
        ['1', '2'],
        ['2', '1'],
      ]),
    );
    await engine.query("INSERT INTO sales.orders VALUES ('3', 1)");
    await expect(run(engine, script, script.down)).rejects.toThrow('rows were added or removed since');
    expect(await engine.query(script.verify)).not.toEqual([['0']]);
    await engine.query("DELETE FROM sales.orders WHERE k = '3'");
    await run(engine, script, script.down);
    expect(await read()).toEqual(before);
    if (name === 'clickhouse') await engine.query('DROP DATABASE sales');
  });

  it.skipIf(open === null)('never writes an id that the column cannot hold', async () => {
    const engine = await start();
    await engine.query(`CREATE TABLE orders(k ${types.text}, svc_id ${types.small})${options}`);
    await engine.query("INSERT INTO orders VALUES ('1', 1), ('2', 2)");
    const context = join(folder, `wide-${name}.db`);
    createRemap(context, [
      { v3: 1, v4: 4_294_967_297n },
      { v3: 2, v4: 1 },
    ]);
    const opened = openContext(context, IN_PLACE);
    const store = openWarehouseStore(opened, [warehouseTarget({ name: 'orders', table: 'orders', ids })]);
    const script = await store.emit?.(
      await store.survey(),
      { run: 'sql-1', planSha256: 'p', isExact: true },
      { warehouse: name, parquet: null },
    );
    opened.remap.close();
    if (script === undefined) throw new Error('no SQL');
    await expect(run(engine, script, [...script.load, ...script.up])).rejects.toThrow();
    expect(shown(await engine.query('SELECT * FROM orders'))).toEqual(
      shown([
        ['1', '1'],
        ['2', '2'],
      ]),
    );
  });
});

it.each(['spark', 'bigquery', 'snowflake'] as const)(
  'writes the SQL for %s that was read',
  async (warehouse) => {
    const ids = [
      {
        column: 'ref_id',
        modelColumn: 'ref_type',
        models: { invoice: INVOICES, note: null },
        companyColumn: 'company',
      },
    ];
    const own = [
      warehouseTarget({
        name: 'orders',
        table: 'sales.orders',
        ids: [{ column: 'invoice_id', model: INVOICES }],
        columns: ['id', 'invoice_id', 'note'],
      }),
      warehouseTarget({
        name: 'links',
        table: 'links',
        idType: 'text',
        ids,
        columns: ['ref_type', 'ref_id', 'company'],
      }),
    ];
    const text = async (policy: Policy) => {
      const { load, up, down, verify } = await emit(policy, warehouse, own);
      return [...load, ...up, '-- down', ...down, '-- verify', verify].join(';\n\n');
    };
    const loads = (await emit(NEW, warehouse, own, 'lake/crosswalk')).load.join(';\n\n');
    const file = `../../../fixtures/apply/emit/${warehouse}.sql`;
    await expect(
      `${await text(IN_PLACE)};\n\n-- new columns\n\n${await text(NEW)};\n\n-- crosswalk from Parquet files\n\n${loads};\n`,
    ).toMatchFileSnapshot(file);
  },
);
