import { existsSync, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { SvcError } from '../../errors.js';
import { APPLICATION_ID } from '../../store/schema.js';
import { Sqlite } from '../../store/sqlite.js';
import type { ApplyContext } from '../context.js';
import { type Cell, type Cells, interrupted, type Session, type TransactionMode } from '../engine/dialect.js';
import { CONSTRAINT_HINT } from './shared-text.js';

/** A SQLite database of the user. */
export type UserDb = Database;

/** Longest single wait for a lock. Short, because SQLite blocks signal handling while it waits; `transaction` waits again. */
const BUSY_MS = 100;

/**
 * Opens the user's database, read-only or for writing.
 *
 * @throws SvcError `bad_input` if it is missing, not SQLite, or the svc-migrate database itself
 */
export function openUserDb(file: string, isWriter: boolean): UserDb {
  if (!existsSync(file) || !statSync(file).isFile()) {
    throw new SvcError('bad_input', `There is no SQLite database at ${file}.`, { hint: 'Check the path.' });
  }
  try {
    const db = isWriter ? connect(file, false) : openReader(file);
    if (db.pragma('application_id', { simple: true }) === APPLICATION_ID) {
      db.close();
      throw new SvcError('bad_input', `${file} is the svc-migrate database, not your own data.`, {
        hint: 'Name the database that holds your records.',
      });
    }
    if (isWriter) db.pragma('synchronous = FULL');
    db.pragma('temp_store = FILE');
    return db;
  } catch (error) {
    throw sqliteError(error, file);
  }
}

function connect(file: string, readonly: boolean): UserDb {
  return new Sqlite(file, { readonly, fileMustExist: true, timeout: BUSY_MS });
}

/**
 * A killed writer leaves a journal that must be rolled back before the file can be read. A read-only connection cannot
 * do that, so a writing one is opened first, as any program that uses the file would.
 */
function openReader(file: string): UserDb {
  const db = connect(file, true);
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return db;
  } catch (error) {
    db.close();
    if (!(error instanceof Sqlite.SqliteError) || !NEEDS_RECOVERY.has(error.code)) throw error;
  }
  const writer = connect(file, false);
  try {
    writer.prepare('SELECT count(*) FROM sqlite_schema').get();
  } finally {
    writer.close();
  }
  return connect(file, true);
}

const NEEDS_RECOVERY = new Set(['SQLITE_READONLY_ROLLBACK', 'SQLITE_READONLY_RECOVERY']);

/** Turns SQLite's errors on the user's database into SvcErrors; returns others unchanged. */
export function sqliteError(error: unknown, file: string): unknown {
  if (!(error instanceof Sqlite.SqliteError)) return error;
  const options = { facts: { error: error.code }, cause: error };
  if (isBusy(error)) {
    return new SvcError('locked', `${file} is locked by another program.`, {
      ...options,
      hint: 'Try again when it is less busy, or raise apply.lockTimeoutMs.',
    });
  }
  if (/^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|PERM)/.test(error.code)) {
    return new SvcError('disk', `Cannot write ${file}: ${error.message}.`, {
      ...options,
      hint: 'Free disk space or fix the permissions, then run the same command again.',
    });
  }
  const isUsed = error.message.includes(' after drop column');
  const isRefused = error.code.startsWith('SQLITE_CONSTRAINT');
  const used = 'Drop what uses the column, then run the same command again.';
  const hint = isUsed ? used : isRefused ? CONSTRAINT_HINT : undefined;
  return new SvcError('bad_input', `${file}: ${error.message}.`, { ...options, hint });
}

function isBusy(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code);
}

/** Rows read between two checks for a signal. */
const BATCH_ROWS = 1000;

/** The SQL function that takes the rows of a query. */
const TAKE_ROW = 'svc_migrate_take';

/** Names the rows of a query. In that query, it hides a table of the user's of the same name. */
const ROWS = 'svc_migrate_rows';

/** Bounds the attempts even if the clock stands still. */
const MAX_ATTEMPTS = 10_000;

/** A session on an open connection that nothing else uses. */
export class SqliteSession implements Session {
  readonly db: UserDb;
  readonly #context: ApplyContext;
  #batch: Cell[][] = [];

  constructor(context: ApplyContext, db: UserDb) {
    this.#context = context;
    this.db = db;
    db.function(TAKE_ROW, { directOnly: true, varargs: true }, (...row: Cell[]) =>
      this.#batch.push(row) < BATCH_ROWS ? 0 : 1,
    );
  }

  async query(
    sql: string,
    values: readonly (string | null)[] = [],
  ): Promise<{ rows: Cells[]; count: number }> {
    const statement = this.db.prepare<unknown[], unknown[]>(sql);
    const named = values.length === 0 ? [] : [Object.fromEntries(values.map((value, at) => [at + 1, value]))];
    if (!statement.reader) return { rows: [], count: statement.run(...named).changes };
    const rows = statement
      .raw()
      .safeIntegers()
      .all(...named);
    return { rows: rows.map((row) => row.map(cellText)), count: rows.length };
  }

  async exec(sql: string): Promise<void> {
    this.db.exec(sql);
  }

  async place(): Promise<string> {
    return this.db.name;
  }

  async one(sql: string, values: readonly (string | null)[] = []): Promise<string | null> {
    return (await this.query(sql, values)).rows[0]?.[0] ?? null;
  }

  /** The query passes its rows to a function and returns a row of its own only after each batch: one step per row takes twice as long. */
  async *read(sql: string): AsyncGenerator<Cell[][]> {
    const names = this.db
      .prepare(sql)
      .columns()
      .map((_, at) => `c${at}`);
    // LIMIT -1 keeps SQLite from calling the function before all tables are joined.
    const batches = this.db
      .prepare(
        `WITH ${ROWS}(${names.join(', ')}) AS (${sql} LIMIT -1) SELECT 1 FROM ${ROWS} WHERE ${TAKE_ROW}(${names.join(', ')})`,
      )
      .iterate();
    try {
      for (let isLast = false; !isLast; ) {
        this.#batch = [];
        isLast = batches.next().done === true;
        yield this.#batch;
        if (!isLast) await this.throwIfInterrupted();
      }
    } finally {
      batches.return?.();
    }
  }

  /** Runs `step` once: SQLite itself waits for short locks, and there is no connection to lose. */
  retry<T>(step: () => Promise<T>): Promise<T> {
    return step();
  }

  /** Reads run without a transaction, which would keep writers from committing. Writes are retried while the database is busy, up to the lock timeout. */
  async transaction<T>(mode: TransactionMode, work: () => Promise<T>): Promise<T> {
    if (mode === 'read') return work();
    const { now, tuning, sleep, random } = this.#context;
    const until = now() + tuning.lockTimeoutMs;
    for (let attempt = 1; ; attempt += 1) {
      await this.throwIfInterrupted();
      try {
        return await this.#runOnce(work);
      } catch (error) {
        if (!isBusy(error) || now() > until || attempt > MAX_ATTEMPTS) throw error;
        await sleep(50 + random() * 100);
      }
    }
  }

  /** @throws SvcError `interrupted` */
  async throwIfInterrupted(): Promise<void> {
    await setImmediate();
    if (this.#context.signal.aborted) throw interrupted();
  }

  async #runOnce<T>(work: () => Promise<T>): Promise<T> {
    this.db.exec('BEGIN IMMEDIATE');
    try {
      const result = await work();
      this.db.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.db.inTransaction) this.db.exec('ROLLBACK');
      throw error;
    }
  }
}

/** Converts a value to text; the queries have already converted blobs. */
function cellText(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}
