import type { Db } from '../../../src/store/open.js';
import { Sqlite } from '../../../src/store/sqlite.js';

type Kind = 'sqlite' | 'postgres' | 'mysql';
type Row = readonly (string | null)[];
/** Carries out a statement; its rows as text. */
type Query = (sql: string) => Promise<readonly Row[]>;

/** A cell that a run changed. */
export interface Change {
  readonly run: string;
  readonly target: string;
  readonly table: string;
  /** The row's key; of several columns as the ledger has it. */
  readonly key: string;
  readonly column: string;
  readonly old: string | null;
  readonly new: string | null;
  /** The types of key, old and new, where each value has its own. */
  readonly types: string;
}

interface RunProgress {
  readonly run: string;
  readonly state: string;
  /** Cells on the run's list, and how many of them it has come to. */
  readonly listed: number;
  readonly done: number;
  readonly changed: number;
  readonly skipped: number;
}

/** SQL that differs between the databases. */
const TEXT = {
  sqlite: {
    prefix: 'svc_migrate_',
    text: (value: string) => `CAST(${value} AS TEXT)`,
    key: 'CAST(row_key AS TEXT)',
    table: 'table_name',
    types: "typeof(row_key) || ' ' || typeof(old) || ' ' || typeof(new)",
    names:
      "SELECT substr(name, 13) FROM sqlite_schema WHERE type IN ('table', 'view') AND name GLOB 'svc_migrate_*'",
  },
  postgres: {
    prefix: 'svc_migrate.',
    text: (value: string) => value,
    key: 'row_key',
    table: `split_part(table_name, '"', 4)`,
    types: "''",
    names:
      "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace('svc_migrate') AND relkind IN ('r', 'v')",
  },
  mysql: {
    prefix: 'svc_migrate_',
    text: (value: string) => value,
    key: 'row_key',
    table: 'table_name',
    types: "''",
    names: `SELECT substr(TABLE_NAME, 13) FROM information_schema.TABLES
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'svc\\_migrate\\_%'`,
  },
} as const;

/** What the ledger keeps as long as it is there, in the order in which it is made. */
const LASTING = ['run', 'ledger'] as const;

/** The names of tables of the ledger that are the same for every run, as SQL. */
export function ledgerTables(kind: Kind): string[] {
  return LASTING.filter((name) => name !== 'ledger').map((name) => `${TEXT[kind].prefix}${name}`);
}

/** Columns of a run whose contents are read as JSON and become SQL, with what somebody may have put there (PostgreSQL). */
export const HOSTILE_RUNS: readonly (readonly [column: string, value: string])[] = [
  ['table_name', `'t; DROP TABLE t; --'`],
  ['table_name', `'"public"."t" WHERE true; DROP TABLE t; --'`],
  ['suffix', `'1; DROP TABLE t; --'`],
  ['definition', `(definition::jsonb || '{"kind":"csv","file":"/etc/passwd"}')::text`],
];

/** The ledger of a database, for tests: nothing else here knows its tables. */
export class LedgerReader {
  readonly #sql: (typeof TEXT)[Kind];
  readonly #query: Query;
  readonly #run: string;

  constructor(kind: Kind, query: Query) {
    this.#sql = TEXT[kind];
    this.#query = query;
    this.#run = `${this.#sql.prefix}run`;
  }

  /** The cells that hold what a run wrote, as far as it knows. */
  async changes(): Promise<Change[]> {
    if (!(await this.#has('ledger'))) return [];
    const { key, table, types, text } = this.#sql;
    const rows = await this.#query(
      `SELECT run, target, ${table}, ${key}, column_name, ${text('old')}, ${text('new')}, ${types}
       FROM ${this.#sql.prefix}ledger ORDER BY 1, 2, 3, 4, 5`,
    );
    return rows.map(([run, target, name, row, column, old = null, now = null, kinds]) => ({
      run: run ?? '',
      target: target ?? '',
      table: name ?? '',
      key: row ?? '',
      column: column ?? '',
      old,
      new: now,
      types: kinds ?? '',
    }));
  }

  /** The keys of rows that were left to another program. */
  async skippedKeys(): Promise<string[]> {
    const keys: string[] = [];
    for (const { list, columns } of await this.#lists())
      keys.push(
        ...(await this.#column(
          `SELECT k0 FROM ${list} WHERE ${columns.map((at) => `r${at} = 2`).join(' OR ')}`,
        )),
      );
    return keys;
  }

  /** How many cells the lists of all runs still hold, changed or not. */
  async countListed(): Promise<number> {
    let count = 0;
    for (const { list } of await this.#lists())
      count += Number((await this.#column(`SELECT count(*) FROM ${list}`))[0]);
    return count;
  }

  /** Every run on a table, oldest first. */
  async progress(): Promise<RunProgress[]> {
    if (!(await this.#has('run'))) return [];
    const rows = await this.#query(
      `SELECT unit, run, state, done, changed, skipped FROM ${this.#run} ORDER BY unit`,
    );
    const lists = await this.#lists();
    const progress: RunProgress[] = [];
    for (const [unit, run, state, ...counts] of rows) {
      const [done = 0, changed = 0, skipped = 0] = counts.map(Number);
      const own = lists.find((one) => one.unit === unit);
      const count = async (states: string, where: string) => {
        if (own === undefined) return 0;
        const cells = own.columns
          .map((at) => `CASE WHEN r${at} IN (${states}) THEN 1 ELSE 0 END`)
          .join(' + ');
        return Number(
          (await this.#column(`SELECT coalesce(sum(${cells}), 0) FROM ${own.list} WHERE ${where}`))[0],
        );
      };
      progress.push({
        run: run ?? '',
        state: state ?? '',
        listed: await count('1, 2, 4', 'id > 0'),
        done: await count('1, 2, 4', `id <= ${done}`),
        changed,
        skipped: state === 'working' ? await count('2', 'id > 0') : skipped,
      });
    }
    return progress;
  }

  /** `run state` of every run on a table, oldest first. */
  async states(): Promise<string[]> {
    return (await this.progress()).map(({ run, state }) => `${run} ${state}`);
  }

  /** Everything that runs recorded of themselves, apart from times and numbers. */
  async records(): Promise<readonly Row[]> {
    return this.#query(
      `SELECT target, table_name, column_names, key_columns, mode, is_atomic, policy, remap_sha256, state, changed, skipped, tool
       FROM ${this.#run} ORDER BY unit`,
    );
  }

  /** What the ledger is made of. */
  tables(): Promise<string[]> {
    return this.#column(this.#sql.names);
  }

  /** Tables that the ledger holds for the time that a run needs them. */
  async temporaryTables(): Promise<string[]> {
    const names = await this.tables();
    return names.filter((name) => !LASTING.some((one) => one === name)).sort();
  }

  /** Changes columns of all runs, given as SQL. */
  async editRuns(columns: Readonly<Record<string, string>>): Promise<void> {
    const set = Object.entries(columns).map(([name, value]) => `${name} = ${value}`);
    await this.#query(`UPDATE ${this.#run} SET ${set.join(', ')}`);
  }

  /** Records the first run once more under another name. */
  async copyRun(name: string): Promise<void> {
    const [columns = ''] = await this.#column(
      `SELECT group_concat(name) FROM pragma_table_info('${this.#run}') WHERE name NOT IN ('unit', 'run')`,
    );
    await this.#query(
      `INSERT INTO ${this.#run}(run, ${columns}) SELECT '${name}', ${columns} FROM ${this.#run} ORDER BY unit LIMIT 1`,
    );
  }

  /** Forgets which cells were changed. */
  async forgetChanges(): Promise<void> {
    for (const { list } of await this.#lists()) await this.#query(`DELETE FROM ${list}`);
  }

  /** Leaves of the ledger what a process may have made before it was killed, where each CREATE TABLE commits. */
  async halve(): Promise<void> {
    await this.#query(`DROP VIEW ${this.#sql.prefix}ledger`);
  }

  /** Takes the ledger away with all that is in it. */
  async drop(): Promise<void> {
    const names = await this.tables();
    if (names.includes('ledger')) await this.#query(`DROP VIEW ${this.#sql.prefix}ledger`);
    for (const name of names)
      if (name !== 'ledger') await this.#query(`DROP TABLE ${this.#sql.prefix}${name}`);
  }

  /** The lists of in-place runs, with the numbers of their columns. */
  async #lists(): Promise<{ unit: string; list: string; columns: number[] }[]> {
    if (!(await this.#has('run'))) return [];
    const rows = await this.#query(
      `SELECT unit, suffix, column_names FROM ${this.#run} WHERE mode = 'in_place' AND suffix <> '' ORDER BY unit`,
    );
    return rows.map(([unit, suffix, names]) => ({
      unit: unit ?? '',
      list: `${this.#sql.prefix}rows_${suffix}`,
      columns: [...(JSON.parse(names ?? '[]') as string[]).keys()],
    }));
  }

  async #has(table: (typeof LASTING)[number]): Promise<boolean> {
    return (await this.tables()).includes(table);
  }

  async #column(sql: string): Promise<string[]> {
    return (await this.#query(sql)).map(([value]) => value ?? '');
  }
}

/** A run in a SQLite database with its list: cells it changed, and ones that it will change if it goes on. */
export interface SeenRun {
  readonly run: string;
  readonly state: string;
  readonly changed: number;
  readonly skipped: number;
  /** `key:old>new` of each cell, in the order of the list. */
  readonly applied: readonly string[];
  readonly pending: readonly string[];
}

/** What each run did, in the middle of another's work. */
export function lookAtSqliteRuns(db: Db): SeenRun[] {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'svc_migrate_run'").get() === undefined) return [];
  const runs = db
    .prepare<[], Omit<SeenRun, 'applied' | 'pending'> & { suffix: string; done: number }>(
      'SELECT run, state, suffix, done, changed, skipped FROM svc_migrate_run ORDER BY unit',
    )
    .all();
  return runs.map(({ suffix, done, ...run }) => {
    if (suffix === '') return { ...run, applied: [], pending: [] };
    const list = `svc_migrate_rows_${suffix}`;
    const cells = db
      .prepare<[], [number, string]>(
        `SELECT id, k0 || ':' || o0 || '>' || n0 FROM ${list} WHERE r0 IN (1, 4) ORDER BY id`,
      )
      .raw()
      .all();
    const isWorking = run.state === 'working';
    const skipped = db.prepare<[], number>(`SELECT count(*) FROM ${list} WHERE r0 = 2`).pluck().get() ?? 0;
    return {
      ...run,
      skipped: isWorking ? skipped : run.skipped,
      applied: cells.filter(([id]) => id <= done).map(([, cell]) => cell),
      pending: isWorking ? cells.filter(([id]) => id > done).map(([, cell]) => cell) : [],
    };
  });
}

/** The ledger in a SQLite file, opened for each question. */
export function sqliteLedger(file: string): LedgerReader {
  return new LedgerReader('sqlite', async (sql) => {
    const db = new Sqlite(file, { timeout: 5000 });
    try {
      const statement = db.prepare<[], unknown[]>(sql);
      if (!statement.reader) {
        statement.run();
        return [];
      }
      const rows = statement.raw().safeIntegers().all();
      return rows.map((row) => row.map((cell) => (cell === null ? null : String(cell))));
    } finally {
      db.close();
    }
  });
}
