import type { SqliteTarget } from '../../../src/config/apply-targets.js';
import type { Db } from '../../../src/store/open.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { type Case, createSql, rowsOf, targetOf } from './cases.js';

export type JournalMode = 'delete' | 'wal';

/** A new database that holds the tables of some cases, as a user would have them before. */
export function createTables(file: string, cases: readonly Case[], journal: JournalMode = 'delete'): void {
  const db = new Sqlite(file);
  db.pragma(`journal_mode = ${journal}`);
  db.pragma('synchronous = OFF');
  db.transaction(() => {
    for (const one of cases) {
      db.exec(createSql(one, { json: 'text' }));
      const rows = rowsOf(one, false);
      if (rows.length === 0) continue;
      const insert = db.prepare(
        `INSERT INTO ${one.name} VALUES (${(rows[0] ?? []).map(() => '?').join(', ')})`,
      );
      for (const row of rows) insert.run(...row);
    }
  })();
  db.close();
}

export function targetsOf(cases: readonly Case[], file: string): SqliteTarget[] {
  return cases
    .map((one) => targetOf(one, { kind: 'sqlite', file }))
    .filter((one): one is SqliteTarget => one.kind === 'sqlite');
}

/** Everything the user has in the database, in the order it is stored, in text form. */
export function dumpTables(file: string): string {
  return look(file, (db) => {
    const schema = db
      .prepare("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'svc_migrate%' ORDER BY type, name")
      .all();
    const tables = db
      .prepare<[], string>(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 't%' ORDER BY name",
      )
      .pluck()
      .all();
    const rows = tables.map((table) => {
      const names = db.prepare<[], string>(`SELECT name FROM pragma_table_info('${table}')`).pluck().all();
      const terms = names.map((name) => `quote("${name}")`).join(" || ',' || ");
      return `${table}: ${db.prepare<[], string>(`SELECT ${terms} FROM ${table} ORDER BY 1`).pluck().all().join(' | ')}`;
    });
    return `${JSON.stringify(schema)}\n${rows.join('\n')}`;
  });
}

/** The rows of every case's table as text, in no order. */
export function readTables(file: string, cases: readonly Case[]): string[][] {
  return look(file, (db) =>
    cases.map((one) => {
      const names = db.prepare<[], string>(`SELECT name FROM pragma_table_info('${one.name}')`).pluck().all();
      const cells = names.map((name) => `CAST("${name}" AS TEXT)`).join(', ');
      const rows = db.prepare<[], string[]>(`SELECT ${cells} FROM ${one.name}`).raw().all();
      return rows.map((row) => JSON.stringify(row)).sort();
    }),
  );
}

function look<T>(file: string, read: (db: Db) => T): T {
  const db = new Sqlite(file, { readonly: true });
  try {
    return read(db);
  } finally {
    db.close();
  }
}
