import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** An analytical database in this process. */
export interface AnalyticalEngine {
  /** Runs one statement; its rows with every value as text, null for NULL. */
  query(sql: string): Promise<(string | null)[][]>;
  close(): void;
}

/** Beside the project, so that its own dependencies stay small. `.ci/run` fills it. */
export const ENGINES =
  process.env['SVC_ENGINES'] ?? fileURLToPath(new URL('../../../.engines', import.meta.url));

/** Loads a package from that folder; null, said loudly, where it is not there: then nothing is proved here. */
function load(name: string, product: string): unknown {
  const file = join(ENGINES, 'package.json');
  if (existsSync(join(ENGINES, 'node_modules', name))) return createRequire(file)(name);
  process.stderr.write(
    `\n*** NOT TESTED: ${product} is not installed, so SQL for it was not run. ***\n` +
      `*** .ci/run installs it in ${ENGINES}. ***\n\n`,
  );
  return null;
}

interface DuckDb {
  readonly DuckDBInstance: {
    create(file: string): Promise<{
      connect(): Promise<{
        runAndReadAll(sql: string): Promise<{ getRowsJson(): unknown[][] }>;
        closeSync(): void;
      }>;
      closeSync(): void;
    }>;
  };
}

const asTexts = (cells: readonly unknown[]) => cells.map((cell) => (cell === null ? null : String(cell)));

const duckdb = load('@duckdb/node-api', 'DuckDB') as DuckDb | null;

/** Opens an empty DuckDB whose relative paths begin in `folder`; null if it is not installed. */
export const openDuckDb =
  duckdb === null
    ? null
    : async (folder: string): Promise<AnalyticalEngine> => {
        const instance = await duckdb.DuckDBInstance.create(':memory:');
        const connection = await instance.connect();
        await connection.runAndReadAll(`SET file_search_path = '${folder}'`);
        return {
          query: async (sql) => (await connection.runAndReadAll(sql)).getRowsJson().map(asTexts),
          close: () => {
            connection.closeSync();
            instance.closeSync();
          },
        };
      };

interface Chdb {
  readonly Session: new (folder: string) => { query(sql: string, format: string): string; cleanup(): void };
}

const chdb = load('chdb', 'ClickHouse') as Chdb | null;

/** Opens an empty ClickHouse, which reads files in `user_files` of `folder`; null if it is not installed. */
export const openClickHouse =
  chdb === null
    ? null
    : async (folder: string): Promise<AnalyticalEngine> => {
        const session = new chdb.Session(folder);
        session.query('CREATE DATABASE shop', 'TSV');
        session.query('USE shop', 'TSV');
        session.query('SET output_format_json_quote_64bit_integers = 1', 'TSV');
        return {
          query: async (sql) =>
            session
              .query(sql, 'JSONCompactEachRow')
              .split('\n')
              .filter((line) => line.startsWith('['))
              .map((line) => asTexts(Object.values<unknown>(JSON.parse(line)))),
          close: () => session.cleanup(),
        };
      };

interface Frame {
  rows(): unknown[][];
}
export interface Polars {
  readonly readParquet: (file: string) => Frame;
  readonly SQLContext: (frames: Readonly<Record<string, Frame>>) => {
    execute(sql: string, options: { readonly eager: true }): Frame;
  };
}

/** Polars; null if it is not installed. */
export const polars =
  load('nodejs-polars-linux-x64-gnu', 'Polars') === null ? null : (load('nodejs-polars', 'Polars') as Polars);

interface Migrations {
  readonly directory: string;
  readonly loadExtensions: readonly string[];
}
interface KnexClient {
  readonly migrate: {
    latest(config: Migrations): Promise<[batch: number, names: string[]]>;
    up(config: Migrations): Promise<[batch: number, names: string[]]>;
    down(config: Migrations): Promise<[batch: number, names: string[]]>;
  };
  destroy(): Promise<void>;
}

const knex = load('knex', 'Knex') as
  | ((config: { readonly client: 'pg'; readonly connection: string }) => KnexClient)
  | null;

/** Opens Knex, the migration tool, on a PostgreSQL database; null if it is not installed. */
export const openKnex = knex === null ? null : (url: string) => knex({ client: 'pg', connection: url });
