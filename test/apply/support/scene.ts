import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Connection, Database } from '../../../src/apply/db/database.js';
import { LOCK_TIMEOUT_MS } from '../../../src/apply/db/database.js';
import { openSqlite } from '../../../src/apply/db/sqlite.js';
import { checkTable } from '../../../src/apply/plan-and-check.js';
import type { RemapIds } from '../../../src/apply/remap-ids.js';
import { dropEmptyStates } from '../../../src/apply/state.js';
import { switchTable, undoTable } from '../../../src/apply/switch-columns.js';
import { openTable, openWrittenTables } from '../../../src/apply/tables.js';
import { addColumns, fillTable, loadTable } from '../../../src/apply/write-columns.js';
import { type IdColumn, idColumnSchema } from '../../../src/config/apply-targets.js';
import { Sqlite } from '../../../src/store/sqlite.js';

export const CONNECTION: Connection = {
  signal: new AbortController().signal,
  runUninterruptible: async (work) => work(),
  lockTimeoutMs: LOCK_TIMEOUT_MS,
};

/** V3 ids with their V4 ids, or a reason; for all models and regions alike. */
export type FakeMap = Readonly<Record<string, number | string>>;

/** A remap of one region; `ids` by V3 id, or by `model id`. */
export function fakeRemap(ids: FakeMap, sha256 = 'sha'): RemapIds {
  return {
    sha256,
    builtAt: '2026-01-01T00:00:00.000Z',
    models: ['accounting/invoices', 'payments/items'],
    regions: [],
    judge: (ref, region, id) => {
      const names = [`${ref} ${region} ${id}`, `${ref} ${id}`, String(id)];
      const found = names.map((name) => ids[name]).find((value) => value !== undefined);
      if (typeof found === 'number') return { v4: BigInt(found), reason: null };
      return {
        v4: null,
        reason: found ?? 'unknown/not_in_remap',
        isAccepted: found?.startsWith('deleted/') === true,
      };
    },
  };
}

/** A swap, a chain and an id without a V4 id: 20→30, 30→40, 40→20, 50→51, 60: outside the window. */
export const CYCLE: FakeMap = { 20: 30, 30: 40, 40: 20, 50: 51, 60: 'unmatched/outside_backfill_window' };

export const id = (given: Partial<IdColumn> = {}): IdColumn =>
  idColumnSchema.parse({
    column: 'item',
    ...(given.modelColumn === undefined ? { model: 'payments/items' } : {}),
    ...given,
  });

/** A new SQLite file. */
export function makeFile(sql: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'apply-')), 'shop.db');
  const db = new Sqlite(file);
  db.exec(sql);
  db.close();
  return file;
}

/** The rows of a query as arrays. */
export function rowsOf(file: string, sql = 'select * from o order by 1'): unknown[][] {
  const db = new Sqlite(file);
  const rows = db.prepare<[], unknown[]>(sql).raw().all();
  db.close();
  return rows;
}

export function execute(file: string, sql: string): void {
  const db = new Sqlite(file);
  db.exec(sql);
  db.close();
}

/** Schema and rows of a file, to compare before and after. */
export function dumpOf(file: string): string {
  const schema = rowsOf(file, 'select type, name, sql from sqlite_schema order by 1, 2');
  const tables = schema.filter(([type]) => type === 'table').map(([, name]) => `"${String(name)}"`);
  return JSON.stringify([schema, tables.map((table) => rowsOf(file, `select * from ${table} order by 1`))]);
}

/** The commands on one table, in process. */
export interface Commands {
  readonly write: (remap?: RemapIds) => Promise<unknown>;
  readonly check: (remap?: RemapIds | null) => ReturnType<typeof checkTable>;
  readonly switch: (isEmptying?: boolean) => ReturnType<typeof switchTable>;
  readonly undo: () => ReturnType<typeof undoTable>;
}

export interface CommandOptions {
  readonly ids?: readonly IdColumn[];
  readonly map?: FakeMap;
  readonly table?: string;
  readonly wrap?: (db: Database) => Database;
}

/** The commands on a table of a database that is opened for each of them. */
export function commandsOn(
  open: () => Promise<Database>,
  { ids = [id()], map = CYCLE, table = 'o', wrap = (db) => db }: CommandOptions = {},
): Commands {
  const remap = fakeRemap(map);
  const use = async <T>(work: (db: Database) => Promise<T>): Promise<T> => {
    const db = await open();
    try {
      return await work(wrap(db));
    } finally {
      await db.close();
    }
  };
  type Work<T> = (opened: Awaited<ReturnType<typeof openTable>>) => Promise<T[]>;
  const eachWritten = async <T>(db: Database, work: Work<T>): Promise<T[]> => {
    const results: T[] = [];
    for (const opened of await openWrittenTables(db, null)) results.push(...(await work(opened)));
    return results;
  };
  return {
    write: (given = remap) =>
      use(async (db) => {
        const opened = await openTable(db, { name: table, table, ids });
        const loaded = await loadTable(opened, given, () => {});
        await addColumns(opened);
        return fillTable(opened, given, loaded);
      }),
    check: (given = remap) => use((db) => eachWritten(db, (opened) => checkTable(opened, given))),
    switch: (isEmptying = false) => use((db) => eachWritten(db, (opened) => switchTable(opened, isEmptying))),
    undo: () =>
      use(async (db) => {
        const results = await eachWritten(db, undoTable);
        await dropEmptyStates(db);
        return results;
      }),
  };
}

export interface Scene extends Commands {
  readonly file: string;
}

/** The commands on a table of a SQLite file. */
export function openScene({
  sql,
  file = makeFile(sql),
  ...options
}: CommandOptions & { readonly sql: string; readonly file?: string }): Scene {
  return { file, ...commandsOn(async () => openSqlite(file, 'write', CONNECTION), options) };
}

export type Cells = readonly (string | null)[];

/** A database of a user, whatever its kind. */
export interface Shop {
  readonly kind: Database['kind'];
  open(): Promise<Database>;
  /** Runs statements of the user's program; returns the rows of the last one as text. */
  run(sql: string): Promise<Cells[]>;
  /** All tables with their rows, to compare before and after. */
  dump(): Promise<string>;
}

export function sqliteShop(file: string): Shop {
  return {
    kind: 'sqlite',
    open: async () => openSqlite(file, 'write', CONNECTION),
    run: async (sql) => {
      if (!/^select\b/i.test(sql)) {
        execute(file, sql);
        return [];
      }
      return rowsOf(file, sql).map((row) => row.map((cell) => (cell === null ? null : String(cell))));
    },
    dump: async () => dumpOf(file),
  };
}
