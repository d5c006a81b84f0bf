import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { schema } from '../../../src/commands/apply.js';
import { parseConfigValue } from '../../../src/config/load-config.js';
import { buildRemap } from '../../../src/match/build-remap.js';
import { openDatabase } from '../../../src/store/open.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { type Ended, type RunOptions, runCli } from '../../cli/run-cli.js';
import { type SpawnOptions, spawnCli } from '../../cli/spawn-cli.js';
import { saveExported, type Thing } from '../../support/exported.js';
import type { Database, Engine } from '../support/databases.js';
import { makeFolder } from '../support/folder.js';
import { seeded, shuffle } from '../support/remap.js';

/** V3 ids that map; their V4 ids are the same numbers in another order. */
export const MAPPED = 180;
/** V3 ids without a twin: 181 to 190. */
const UNMAPPED = 10;
/** A V4 id that is no V3 id. */
const V4_ONLY = 1001;

export const IDS = [{ column: 'invoice_id', model: 'accounting/invoices' }];

export interface Scene {
  readonly folder: string;
  /** What a V3 id became. */
  readonly v4Of: (id: number) => number;
  readonly run: (args: readonly string[], more?: Partial<RunOptions>) => Promise<Ended>;
  /** As a process of its own. */
  readonly spawn: (args: readonly string[], more: Partial<SpawnOptions>) => Promise<Ended>;
  /** Runs `apply` with these words, which must end with this code. */
  readonly apply: (words: string, code?: number, more?: Partial<RunOptions>) => Promise<Said>;
  /** The JSON of `apply` with these words: it follows the schema, and says the exit code. */
  readonly json: (words: string, code?: number) => Promise<ApplyJson>;
  readonly path: (name: string) => string;
  /** Replaces the configuration by one with these targets. */
  readonly configure: (targets: readonly object[]) => void;
  readonly read: (name: string) => string;
}

interface Said extends Ended {
  /** All of its output, its lines joined. */
  readonly said: string;
}

// biome-ignore lint/suspicious/noExplicitAny: `json` compares each answer with the schema, a union of nine that tests would have to narrow at each use.
type ApplyJson = any;

const MODELS = [{ v3: 'accounting/invoices', v4: 'invoices' }];

/** A folder with a configuration, a complete remap and whatever the test puts beside them. `settings`: further ones of apply. */
export function makeScene(
  targets: readonly object[] = [],
  env: Readonly<Record<string, string>> = {},
  settings: object = {},
): Scene {
  const folder = makeFolder();
  const configure = (named: readonly object[]) => {
    const config = {
      v3: { regions: { default: { baseUrl: 'http://127.0.0.1:1/v3' } } },
      v4: { baseUrl: 'http://127.0.0.1:1' },
      models: MODELS,
      maxAge: '36500d',
      apply: { targets: named, ...settings },
    };
    writeFileSync(join(folder, 'svc-migrate.config.json'), JSON.stringify(config));
    return config;
  };
  const config = configure(targets);
  const news = makeNewIds();
  saveDatabase(folder, config, news);
  const run: Scene['run'] = (args, more = {}) =>
    runCli(args, { cwd: folder, ...more, env: { ...env, ...more.env } });
  const apply: Scene['apply'] = async (words, code = 0, more = {}) => {
    const ended = await run(['apply', ...words.split(' ')], more);
    const said = `${ended.stdout}${ended.stderr}`;
    if (ended.code !== code) throw new Error(`apply ${words}: exit ${ended.code}, not ${code}: ${said}`);
    return { ...ended, said: said.replace(/\s+/g, ' ') };
  };
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  return {
    folder,
    configure,
    v4Of: (id) => news[id - 1] ?? 0,
    run,
    apply,
    json: async (words, code) => {
      await apply(`${words} --json out.json`, code);
      const value = JSON.parse(read('out.json'));
      schema.parse(value);
      expect(value.exitCode).toBe(code ?? 0);
      return value;
    },
    spawn: (args, more) => spawnCli(args, { cwd: folder, ...more, env: { ...env, ...more.env } }),
    path: (name) => join(folder, name),
    read,
  };
}

/** A scene with a table `orders(id, invoice_id)`, which is the configured target `orders`. */
export interface Shop extends Scene {
  /** Names the table on the command line: its database, and with `target` all of it. */
  readonly place: string;
  readonly target: string;
  readonly database: Database;
  /** The first column of a query. */
  readonly sql: (text: string) => Promise<(string | null)[]>;
  readonly orders: () => Promise<(string | null)[]>;
}

export async function openShop(
  engine: Engine,
  values: readonly (number | null)[] = [1, 2, 3],
  ids: readonly object[] = IDS,
): Promise<Shop> {
  const { kind } = engine;
  const database = await engine.createDatabase('shop');
  onTestFinished(() => database.close());
  const type = kind === 'sqlite' ? '' : 'bigint';
  const rows = values.map((id, at) => `(${at + 1}, ${id ?? 'NULL'})`);
  await database.run(
    `CREATE TABLE orders(id integer PRIMARY KEY, invoice_id ${type}); INSERT INTO orders VALUES ${rows}`,
  );
  const where = kind === 'sqlite' ? { file: database.url } : { urlEnv: 'SHOP_URL' };
  const place = kind === 'sqlite' ? database.url : 'SHOP_URL';
  const sql: Shop['sql'] = async (text) => (await database.query(text)).map(([value = null]) => value);
  return {
    ...makeScene([{ name: 'orders', kind, ...where, table: 'orders', ids }], { SHOP_URL: database.url }),
    database,
    place,
    target: `${place} --table orders --ids invoice_id=accounting/invoices`,
    sql,
    orders: () => sql('SELECT invoice_id FROM orders ORDER BY id'),
  };
}

/** A permutation: every id is both a V3 and a V4 id, of different records. */
function makeNewIds(): number[] {
  return shuffle(upTo(MAPPED), seeded(7));
}

/** Always the same: built once. */
let built: Buffer | undefined;

function saveDatabase(folder: string, input: object, news: readonly number[]): void {
  const file = join(folder, 'svc-migrate.db');
  if (built !== undefined) writeFileSync(file, built, { mode: 0o600 });
  else buildDatabase(folder, input, news);
  built ??= readFileSync(file);
}

function buildDatabase(folder: string, input: object, news: readonly number[]): void {
  const now = Date.parse('2026-11-20T00:00:00Z');
  const config = parseConfigValue(input, join(folder, 'svc-migrate.config.json'), now);
  const v3: Thing[] = Array.from({ length: MAPPED + UNMAPPED }, (_, at) => ({
    id: at + 1,
    key: `k${at + 1}`,
  }));
  const v4: Thing[] = news.map((id, at) => ({ id, key: `k${at + 1}` }));
  const db = openDatabase(join(folder, 'svc-migrate.db'), 'create');
  try {
    saveExported(db, config, { v3, v4: [...v4, { id: V4_ONLY, key: 'new' }] });
    buildRemap({ db, config, named: [], clock: { now: () => now }, onProgress: () => {} });
  } finally {
    db.close();
  }
}

/** A table of orders with these ids. */
export function createOrders(
  file: string,
  ids: readonly (number | string | null)[],
  columns = 'invoice_id',
): void {
  const db = new Sqlite(file);
  db.exec(`CREATE TABLE orders(id INTEGER PRIMARY KEY, ${columns})`);
  const insert = db.prepare('INSERT INTO orders(invoice_id) VALUES (?)');
  for (const id of ids) insert.run(typeof id === 'number' ? BigInt(id) : id);
  db.close();
}

/** The values of one query's column, as text. */
export function query(file: string, sql: string): (string | null)[] {
  const db = new Sqlite(file);
  try {
    const statement = db.prepare<[], unknown>(sql);
    if (!statement.reader) {
      statement.run();
      return [];
    }
    const rows = statement.pluck().all();
    return rows.map((value) => (value === null ? null : String(value)));
  } finally {
    db.close();
  }
}

export const ordersIn = (file: string): (string | null)[] =>
  query(file, 'SELECT invoice_id FROM orders ORDER BY id');

/** The run that a first `apply write` names. */
export function runOf({ stdout }: Ended): string {
  return /run (\d{8}-\d{6}-[0-9a-f]+)/.exec(stdout)?.[1] ?? 'no run';
}

/** `1` to `count`. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at + 1);
}
