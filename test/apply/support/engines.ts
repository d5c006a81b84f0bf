import { existsSync, mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';

/** An analytical database in this process. */
export interface AnalyticalEngine {
  /** Runs one statement; its rows with every value as text, null for NULL. */
  query(sql: string): Promise<(string | null)[][]>;
  close(): void;
}

/** Beside the project, so that its own dependencies stay small. `.ci/run` fills it. */
const FOLDER = process.env['SVC_ENGINES'] ?? fileURLToPath(new URL('../../../../.engines', import.meta.url));

/** Loads a package from that folder; null, said loudly, where it is not there: then nothing is proved here. */
function load(name: string, product: string): unknown {
  const file = join(FOLDER, 'package.json');
  if (existsSync(join(FOLDER, 'node_modules', name))) return createRequire(file)(name);
  process.stderr.write(
    `\n*** NOT TESTED: ${product} is not installed, so SQL for it was not run. ***\n` +
      `*** npm install --prefix ${FOLDER} ${name}                             ***\n\n`,
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

/** Opens an empty DuckDB; null if it is not installed. */
export const openDuckDb =
  duckdb === null
    ? null
    : async (): Promise<AnalyticalEngine> => {
        const instance = await duckdb.DuckDBInstance.create(':memory:');
        const connection = await instance.connect();
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

/** One for the process: ClickHouse allows no second folder until the first is closed, which takes its time. */
let session: InstanceType<Chdb['Session']> | null = null;
let databases = 0;
afterAll(() => session?.cleanup());

/** Opens an empty database of ClickHouse; null if it is not installed. */
export const openClickHouse =
  chdb === null
    ? null
    : async (): Promise<AnalyticalEngine> => {
        session ??= new chdb.Session(mkdtempSync(join(tmpdir(), 'svc-ch-')));
        const own = session;
        databases += 1;
        const name = `shop_${databases}`;
        const start = [
          `CREATE DATABASE ${name}`,
          `USE ${name}`,
          'SET output_format_json_quote_64bit_integers = 1',
        ];
        for (const sql of start) own.query(sql, 'TSV');
        return {
          query: async (sql) => {
            const lines = own.query(sql, 'JSONCompactEachRow').split('\n');
            return lines
              .filter((line) => line.startsWith('['))
              .map((line) => asTexts(Object.values<unknown>(JSON.parse(line))));
          },
          close: () => void own.query(`DROP DATABASE ${name}`, 'TSV'),
        };
      };
