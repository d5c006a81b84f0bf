import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { SqlScript } from '../../../src/apply/emit/build-script.js';
import { openWarehouseStore } from '../../../src/apply/emit/warehouse-store.js';
import type { Policy } from '../../../src/apply/plan.js';
import { clearCrosswalk, writeCrosswalk } from '../../../src/report/write-parquet.js';
import { openDatabase } from '../../../src/store/open.js';
import { EVERYTHING, type RemapRow, readRemap } from '../../../src/store/remap-rows.js';
import { campaign } from '../../support/campaign.js';
import { type AnalyticalEngine, openClickHouse, openDuckDb } from '../support/engines.js';
import { makeFolder } from '../support/folder.js';
import { createRemap, IN_PLACE, NEW, openContext, target } from '../support/remap.js';

/** Rows of the fact table: one case at full size, the others show that they do the same. */
const rowsOf = (name: EngineName, { mode }: Policy) =>
  campaign({
    small: 100_000,
    full: 300_000,
    soak: name === 'clickhouse' && mode === 'new' ? 10_000_000 : 1_000_000,
  });
/** V3 ids of each model. */
const IDS = campaign({ small: 2_000, full: 60_000, soak: 300_000 });
const MODELS = ['accounting/invoices', 'accounting/payments', 'crm/contacts'];
const COLUMNS = ['invoice_id', 'payment_id', 'contact_id'];

/** No double holds these ids exactly. */
const BASE = 9_007_199_254_740_993n;
/** Of the ids 1 to `IDS` of every model, these have no V4 id; the V4 ids of the others are V3 ids of other records. */
const isMissing = (id: number) => id % 100 === 17;
const newId = (id: number, model: number) => 1 + ((id * 7 + model * 13) % IDS);
/** The id in a row of the fact table, or null; the last seven are no V3 ids. */
const storedId = (row: number, model: number) =>
  row % 1009 === model ? null : 1 + ((row * 31 + model * 17) % (IDS + 7));

/** The same in SQL. */
const storedSql = (model: number) =>
  `CASE WHEN id % 1009 = ${model} THEN NULL ELSE ${BASE} + 1 + (id * 31 + ${model * 17}) % ${IDS + 7} END`;
const newSql = (model: number, otherwise: (old: string) => string) => {
  const [old, id] = [storedSql(model), `(1 + (id * 31 + ${model * 17}) % ${IDS + 7})`];
  return `CASE WHEN id % 1009 = ${model} OR ${id} > ${IDS} OR ${id} % 100 = 17 THEN ${otherwise(old)}
    ELSE ${BASE} + 1 + (${id} * 7 + ${model * 13}) % ${IDS} END`;
};

const folder = makeFolder();
const remap = join(folder, 'remap.db');
/** `test/warehouse/spark.py` reads it too. */
const crosswalk = process.env['SVC_CROSSWALK'] ?? join(folder, 'crosswalk');
const wrong = join(folder, 'wrong');

async function writeParquet(to: string, change: (row: RemapRow) => RemapRow = (row) => row): Promise<void> {
  const db = openDatabase(remap, 'read');
  const rows = function* () {
    for (const row of readRemap(db, EVERYTHING)) yield change(row);
  };
  clearCrosswalk(to);
  const facts = { tool: 't', builtAt: 't', remapSha256: 'sha-of-remap', isComplete: true };
  await writeCrosswalk(to, rows, facts, new AbortController().signal);
  db.close();
}

beforeAll(async () => {
  createRemap(
    remap,
    (function* () {
      for (const [at, model] of MODELS.entries()) {
        for (let id = 1; id <= IDS; id += 1) {
          const v4 = isMissing(id) ? null : BASE + BigInt(newId(id, at));
          yield { model, v3: BASE + BigInt(id), v4 };
        }
      }
    })(),
  );
  await writeParquet(crosswalk);
  const one = BASE + 1n;
  await writeParquet(wrong, (row) =>
    row.v3_svc_id === one && row.model === MODELS[1] ? { ...row, v4_svc_id: one } : row,
  );
});

const ENGINES = {
  duckdb: {
    open: openDuckDb,
    create: (rows: number, select: string) =>
      `CREATE TABLE facts AS SELECT ${select} FROM range(${rows}) AS r(id)`,
    integer: 'BIGINT',
  },
  clickhouse: {
    open: openClickHouse,
    create: (rows: number, select: string) =>
      `CREATE TABLE facts ENGINE = MergeTree ORDER BY id AS SELECT ${select} FROM (SELECT number AS id FROM numbers(${rows}))`,
    integer: 'Nullable(Int64)',
  },
} as const;
type EngineName = keyof typeof ENGINES;

async function emit(policy: Policy, warehouse: EngineName, parquet: string): Promise<SqlScript> {
  const ids = COLUMNS.map((column, at) => ({ column, model: MODELS[at] }));
  const facts = target({ name: 'facts', kind: 'warehouse', table: 'facts', ids });
  if (facts.kind !== 'warehouse') throw new Error('no warehouse');
  const context = openContext(remap, { ...policy, missing: 'keep', unknown: 'keep' });
  const store = openWarehouseStore(context, [facts]);
  const run = { run: 'sql-1', planSha256: 'p', isExact: true };
  const script = await store.emit?.(await store.survey(), run, { warehouse, parquet });
  context.remap.close();
  if (script === undefined) throw new Error('no SQL');
  return script;
}

async function run(
  engine: AnalyticalEngine,
  { begin }: SqlScript,
  statements: readonly string[],
): Promise<void> {
  if (begin !== null) await engine.query(begin);
  try {
    for (const statement of statements) await engine.query(statement);
  } catch (error) {
    if (begin !== null) await engine.query('ROLLBACK');
    throw error;
  }
  if (begin !== null) await engine.query('COMMIT');
}

/** Cells that have and that lack a V4 id, of each column: counted here, row by row. */
function countIds(rows: number): { readonly mapped: number; readonly unmapped: number }[] {
  return COLUMNS.map((_, model) => {
    let [mapped, unmapped] = [0, 0];
    for (let row = 0; row < rows; row += 1) {
      const id = storedId(row, model);
      if (id !== null && id <= IDS && !isMissing(id)) mapped += 1;
      else if (id !== null) unmapped += 1;
    }
    return { mapped, unmapped };
  });
}

describe.each(Object.keys(ENGINES) as EngineName[])('a crosswalk of Parquet files in %s', (name) => {
  const { open, create, integer } = ENGINES[name];

  it.skipIf(open === null).each([
    ['beside', NEW],
    ['in place', IN_PLACE],
  ] as const)(
    'rewrites ids of three models %s, once, and is taken back',
    async (where, policy) => {
      const engine = await open?.();
      if (engine === undefined) throw new Error('not reached');
      const isNew = policy.mode === 'new';
      const rows = rowsOf(name, policy);
      const stored = COLUMNS.map((column, at) => `CAST(${storedSql(at)} AS ${integer}) AS ${column}`);
      await engine.query(create(rows, ['id', ...stored, 'id % 97 AS amount'].join(', ')));
      const countWrong = async (expected: Readonly<Record<string, string>>) => {
        const differs = Object.entries({ ...expected, amount: 'id % 97' }).map(
          ([column, term]) => `coalesce(${column}, -1) <> coalesce(CAST(${term} AS ${integer}), -1)`,
        );
        return (await engine.query(`SELECT count(*) FROM facts WHERE ${differs.join(' OR ')}`))[0]?.[0];
      };
      const size = async () => (await engine.query('SELECT count(*), count(DISTINCT id) FROM facts'))[0];
      const before = Object.fromEntries(COLUMNS.map((column, at) => [column, storedSql(at)]));
      const fresh = COLUMNS.map((column, at) => [
        isNew ? `${column}_v4` : column,
        newSql(at, (old) => (isNew ? 'NULL' : old)),
      ]);
      const after = { ...before, ...Object.fromEntries(fresh) };
      expect(await countWrong(before)).toBe('0');

      const broken = await emit(policy, name, wrong);
      await expect(run(engine, broken, [...broken.load, ...broken.up])).rejects.toThrow(
        'crosswalk of payment_id',
      );
      expect(await countWrong(before)).toBe('0');

      const script = await emit(policy, name, crosswalk);
      const up = [...script.load, ...script.up];
      const startMs = performance.now();
      await run(engine, script, up);
      const seconds = (performance.now() - startMs) / 1000;
      expect(await countWrong(after)).toBe('0');
      expect(await size()).toEqual([String(rows), String(rows)]);
      expect(await engine.query(script.verify)).toEqual([['0']]);
      const counts = countIds(rows);
      const left = counts.map(({ unmapped }) => unmapped);
      if (isNew) {
        const terms = COLUMNS.map((column) => `count(${column}_v4), count(${column}) - count(${column}_v4)`);
        const [found] = await engine.query(`SELECT ${terms.join(', ')} FROM facts`);
        expect(found).toEqual(counts.flatMap(({ mapped, unmapped }) => [String(mapped), String(unmapped)]));
      }
      await expect(run(engine, script, up)).rejects.toThrow('a run has rewritten the table already');
      expect(await countWrong(after)).toBe('0');
      await run(engine, script, script.down);
      expect(await countWrong(before)).toBe('0');
      expect(await size()).toEqual([String(rows), String(rows)]);
      expect((await engine.query('SELECT * FROM facts LIMIT 1'))[0]).toHaveLength(2 + COLUMNS.length);
      engine.close();
      process.stderr.write(
        `${name}: ${rows} rows with ids of ${COLUMNS.length} models rewritten ${where} in ${seconds.toFixed(1)} s, ` +
          `${left.join(' + ')} ids without a V4 id left; this process has used at most ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB\n`,
      );
    },
    300_000,
  );
});
