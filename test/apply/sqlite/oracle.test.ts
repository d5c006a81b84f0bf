import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { openSqliteSite } from '../../../src/apply/sqlite/sqlite-site.js';
import type { SqliteTarget } from '../../../src/config/apply-targets.js';
import {
  type Case,
  createSql,
  MAPS_PER_CASE,
  makeCase,
  remapRowsOf,
  rowsOf,
  targetOf,
} from '../support/cases.js';
import { createRemap, IN_PLACE, NEW, openContext } from '../support/remap.js';

const TABLES = 1000;
const TABLES_PER_DATABASE = 20;

/** Memory where there is such a folder: what is proved here needs no disk. */
const ROOT = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

function createDatabase(file: string, cases: readonly Case[]): void {
  const db = new Database(file);
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

/** Everything the user has in the database, in text form. */
function dump(file: string): string {
  const db = new Database(file, { readonly: true });
  try {
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
  } finally {
    db.close();
  }
}

function readRows(file: string, one: Case): string[] {
  const db = new Database(file, { readonly: true });
  try {
    const names = db.prepare<[], string>(`SELECT name FROM pragma_table_info('${one.name}')`).pluck().all();
    const cells = names.map((name) => `CAST("${name}" AS TEXT)`).join(', ');
    return db
      .prepare<[], string[]>(`SELECT ${cells} FROM ${one.name}`)
      .raw()
      .all()
      .map((row) => JSON.stringify(row))
      .sort();
  } finally {
    db.close();
  }
}

const expected = (one: Case) =>
  rowsOf(one, true)
    .map((row) => JSON.stringify(row))
    .sort();

it(`agrees with the oracle on ${TABLES * MAPS_PER_CASE} mappings, is the same three times as once, and comes back exactly`, async () => {
  let rows = 0;
  for (let first = 1; first <= TABLES; first += TABLES_PER_DATABASE) {
    const folder = mkdtempSync(join(ROOT, 'svc-oracle-'));
    try {
      const cases = Array.from({ length: TABLES_PER_DATABASE }, (_, at) => makeCase(first + at));
      const file = join(folder, 'user.db');
      const remap = join(folder, 'remap.db');
      createDatabase(file, cases);
      createRemap(remap, cases.flatMap(remapRowsOf));
      const before = dump(file);
      const targets = cases.map((one) => targetOf(one, { kind: 'sqlite', file }));
      const context = openContext(remap, IN_PLACE, { batchRows: 17 });
      const site = openSqliteSite(
        context,
        file,
        targets.filter((one): one is SqliteTarget => one.kind === 'sqlite'),
      );
      for (const run of ['run-1', 'run-2', 'run-3']) {
        const plans = await site.survey();
        expect(plans.flatMap((plan) => plan.notes.filter((note) => note.level === 'blocks'))).toEqual([]);
        await site.write(plans, { run, planSha256: 'p', isExact: true });
        for (const one of cases) expect(readRows(file, one)).toEqual(expected(one));
      }
      const verified = await site.verify(null);
      expect(verified.reduce((sum, one) => sum + one.wrongCount + one.changedSinceCount, 0)).toBe(0);
      await site.undo('run-1');
      expect(dump(file)).toBe(before);
      rows += cases.reduce((sum, one) => sum + one.ids.length, 0);
      context.remap.close();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  process.stderr.write(
    `SQLite oracle: ${TABLES * MAPS_PER_CASE} mappings in ${TABLES} tables, ${rows} rows, each applied three times and taken back\n`,
  );
});

it('fills new columns with what the oracle says, and drops them without a trace', async () => {
  const folder = mkdtempSync(join(ROOT, 'svc-oracle-'));
  try {
    const cases = Array.from({ length: 90 }, (_, at) => makeCase(at + 1)).filter(({ ids }) => ids.length > 0);
    const file = join(folder, 'user.db');
    const remap = join(folder, 'remap.db');
    createDatabase(file, cases);
    createRemap(remap, cases.flatMap(remapRowsOf));
    const before = dump(file);
    const targets = cases.map((one) => targetOf(one, { kind: 'sqlite', file }));
    const context = openContext(remap, NEW, { batchRows: 17 });
    const site = openSqliteSite(
      context,
      file,
      targets.filter((one): one is SqliteTarget => one.kind === 'sqlite'),
    );
    for (const run of ['run-1', 'run-2']) {
      await site.write(await site.survey(), { run, planSha256: 'p', isExact: true });
      for (const one of cases) {
        // The new columns stand at the end, in the order of the ids; the old ones are as they were.
        const from = rowsOf(one, false);
        const places = one.shape === 'pair' ? [1, 2] : [one.shape === 'own_key' ? 0 : 1];
        const rows = rowsOf(one, true).map((row, at) =>
          JSON.stringify([...(from[at] ?? []), ...places.map((place) => row[place] ?? null)]),
        );
        expect(readRows(file, one)).toEqual(rows.sort());
      }
    }
    await site.undo('run-1');
    expect(dump(file)).toBe(before);
    context.remap.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
