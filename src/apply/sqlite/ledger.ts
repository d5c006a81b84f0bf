import { z } from 'zod';
import { applyTargetSchema, columnLabel, type SqliteTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { Sqlite } from '../../store/sqlite.js';
import { blocks } from '../column-work.js';
import type { ApplyContext, RunFacts } from '../context.js';
import type { Note } from '../plan.js';
import { mergePaths, splitPaths } from '../tables/merged-column.js';
import type { UserDb } from './user-db.js';

/**
 * The ledger in the user's database. `svc_migrate_entry` is written ahead: all changes of a unit (one table in
 * one run) are entered first, then carried out in batches; `done_entry` moves in the same transaction as the
 * rows. `svc_migrate_ledger` shows what was carried out.
 */
const LEDGER = `
CREATE TABLE IF NOT EXISTS svc_migrate_run(
  unit INTEGER PRIMARY KEY, run TEXT NOT NULL, target TEXT NOT NULL, table_name TEXT NOT NULL,
  column_names TEXT NOT NULL, definition TEXT NOT NULL, key_columns TEXT NOT NULL,
  mode TEXT NOT NULL, is_atomic INTEGER NOT NULL, policy TEXT NOT NULL,
  remap_sha256 TEXT NOT NULL, plan_sha256 TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('working', 'done', 'undoing', 'undone')),
  first_entry INTEGER NOT NULL, last_entry INTEGER NOT NULL, done_entry INTEGER NOT NULL,
  changed INTEGER NOT NULL DEFAULT 0, skipped INTEGER NOT NULL DEFAULT 0,
  started_at TEXT NOT NULL, finished_at TEXT, tool TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS svc_migrate_entry(
  id INTEGER PRIMARY KEY, unit INTEGER NOT NULL, col INTEGER NOT NULL, row_key ANY NOT NULL, old ANY NOT NULL, new ANY
) STRICT;
CREATE TABLE IF NOT EXISTS svc_migrate_skipped(
  unit INTEGER NOT NULL, col INTEGER NOT NULL, row_key ANY NOT NULL, old ANY NOT NULL, new ANY
) STRICT;
CREATE VIEW IF NOT EXISTS svc_migrate_ledger AS
  SELECT r.run, r.target, r.table_name, e.row_key, json_extract(r.column_names, '$[' || e.col || ']') AS column_name,
    e.old, e.new, r.remap_sha256
  FROM svc_migrate_entry e JOIN svc_migrate_run r ON r.unit = e.unit WHERE e.id <= r.done_entry;`;

/** One table in one run. */
export interface Unit {
  readonly unit: number;
  readonly run: string;
  readonly table: string;
  readonly target: SqliteTarget;
  /** Labels of the columns, in the order that `col` counts. */
  readonly labels: readonly string[];
  readonly key: readonly string[];
  readonly mode: 'new' | 'in_place';
  readonly isAtomic: boolean;
  readonly policy: z.output<typeof policySchema>;
  readonly remapSha256: string;
  readonly planSha256: string;
  readonly state: 'working' | 'done' | 'undoing' | 'undone';
  /** Entries of the unit are those after `first` up to `last`; those up to `done` are carried out. */
  readonly first: number;
  readonly last: number;
  readonly done: number;
  readonly changed: number;
  readonly skipped: number;
}

const policySchema = z.object({ missing: z.enum(['fail', 'keep', 'null']), mapDeleted: z.boolean() });
const listSchema = z.array(z.string());
const rowSchema = z
  .object({
    unit: z.int(),
    run: z.string(),
    table_name: z.string(),
    column_names: z.string(),
    definition: z.string(),
    key_columns: z.string(),
    mode: z.enum(['new', 'in_place']),
    is_atomic: z.int(),
    policy: z.string(),
    remap_sha256: z.string(),
    plan_sha256: z.string(),
    state: z.enum(['working', 'done', 'undoing', 'undone']),
    first_entry: z.int(),
    last_entry: z.int(),
    done_entry: z.int(),
    changed: z.int(),
    skipped: z.int(),
  })
  .transform(
    (row): Unit => ({
      unit: row.unit,
      run: row.run,
      table: row.table_name,
      target: sqliteTargetOf(row.definition),
      labels: listSchema.parse(JSON.parse(row.column_names)),
      key: listSchema.parse(JSON.parse(row.key_columns)),
      mode: row.mode,
      isAtomic: row.is_atomic === 1,
      policy: policySchema.parse(JSON.parse(row.policy)),
      remapSha256: row.remap_sha256,
      planSha256: row.plan_sha256,
      state: row.state,
      first: row.first_entry,
      last: row.last_entry,
      done: row.done_entry,
      changed: row.changed,
      skipped: row.skipped,
    }),
  );

function sqliteTargetOf(definition: string): SqliteTarget {
  const target = applyTargetSchema.parse(JSON.parse(definition));
  if (target.kind !== 'sqlite')
    throw new SvcError('bad_input', 'The ledger names a target that is no SQLite table.');
  return mergePaths(target);
}

function parseUnits(rows: readonly unknown[]): Unit[] {
  const parsed = z.array(rowSchema).safeParse(rows);
  if (parsed.success) return parsed.data;
  throw new SvcError(
    'bad_input',
    'The ledger (svc_migrate_run) cannot be read: it was changed or is of another version.',
    {
      cause: parsed.error,
    },
  );
}

/** Call inside a transaction. */
export function ensureLedger(db: UserDb): void {
  db.exec(LEDGER);
}

/**
 * Whether the database holds a ledger.
 *
 * @throws SvcError `bad_input` where tables of these names are something else
 */
export function hasLedger(db: UserDb): boolean {
  const foreign = foreignLedger(db);
  if (foreign === null) return readShape(db).size > 0;
  throw new SvcError('bad_input', `${foreign} is not a ledger of svc-migrate.`, { hint: 'Rename it first.' });
}

/** What speaks against keeping the ledger here: other tables of the same names. */
export function ledgerNotes(db: UserDb): Note[] {
  const foreign = foreignLedger(db);
  if (foreign === null) return [];
  return [blocks('foreign_ledger', `${foreign} is not a ledger of svc-migrate: rename it first.`)];
}

/** The name of the first part of the ledger that is there and not as we make it; null where there is none. */
function foreignLedger(db: UserDb): string | null {
  const found = readShape(db);
  if (found.size === 0) return null;
  const ours = new Sqlite(':memory:');
  try {
    ours.exec(LEDGER);
    for (const [name, shape] of readShape(ours)) if (found.get(name) !== shape) return name;
    return null;
  } finally {
    ours.close();
  }
}

/** The columns of everything that goes by a name of the ledger. */
function readShape(db: UserDb): Map<string, string> {
  const rows = db
    .prepare<[], { name: string; shape: string | null }>(
      `SELECT m.name, m.type || ' ' || (SELECT group_concat(c.name || ' ' || c.type) FROM pragma_table_info(m.name) AS c) AS shape
       FROM sqlite_schema AS m WHERE m.name IN ('svc_migrate_run', 'svc_migrate_entry', 'svc_migrate_skipped', 'svc_migrate_ledger')`,
    )
    .all();
  return new Map(rows.map(({ name, shape }) => [name, shape ?? '']));
}

/** Runs that touched a table, oldest first, without those taken back. */
export function readUnits(db: UserDb, table: string): Unit[] {
  return select(db, "table_name = ? COLLATE NOCASE AND state <> 'undone'", table);
}

export function readUnitsOfRun(db: UserDb, run: string): Unit[] {
  return select(db, 'run = ?', run);
}

/** Every unit that was carried out and not taken back. */
export function readDoneUnits(db: UserDb): Unit[] {
  return select(db, 'state = ?', 'done');
}

export function readUnit(db: UserDb, unit: number): Unit {
  const [found] = select(db, 'unit = ?', unit);
  if (found === undefined) throw new SvcError('bad_input', `The ledger lost unit ${unit}.`);
  return found;
}

function select(db: UserDb, where: string, value: string | number): Unit[] {
  if (!hasLedger(db)) return [];
  return parseUnits(db.prepare(`SELECT * FROM svc_migrate_run WHERE ${where} ORDER BY unit`).all(value));
}

export interface NewUnit {
  readonly target: SqliteTarget;
  readonly table: string;
  readonly key: readonly string[];
  readonly isAtomic: boolean;
}

/** Enters a new unit, in state `working`; returns its number. Call inside a transaction. */
export function insertUnit(db: UserDb, context: ApplyContext, run: RunFacts, unit: NewUnit): number {
  const { policy, facts } = context;
  const base = db.prepare('SELECT ifnull(max(id), 0) FROM svc_migrate_entry').pluck().get();
  const inserted = db
    .prepare(
      `INSERT INTO svc_migrate_run(run, target, table_name, column_names, definition, key_columns, mode, is_atomic,
         policy, remap_sha256, plan_sha256, state, first_entry, last_entry, done_entry, started_at, tool)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'working', ?, ?, ?, ?, ?)`,
    )
    .run(
      run.run,
      unit.target.name,
      unit.table,
      JSON.stringify(unit.target.ids.map(columnLabel)),
      JSON.stringify(splitPaths(unit.target)),
      JSON.stringify(unit.key),
      policy.mode,
      unit.isAtomic ? 1 : 0,
      JSON.stringify({ missing: policy.missing, mapDeleted: policy.mapDeleted }),
      facts.sha256,
      run.planSha256,
      base,
      base,
      base,
      new Date(context.now()).toISOString(),
      context.tool,
    );
  return Number(inserted.lastInsertRowid);
}

/** A unit's places in the ledger that stand for this column, as `(unit, col)` pairs in SQL; null: none. */
function entryPlaces(units: readonly Pick<Unit, 'unit' | 'labels'>[], label: string): string | null {
  const places = units.flatMap((unit) => {
    const at = unit.labels.indexOf(label);
    return at < 0 ? [] : [`(${unit.unit}, ${at})`];
  });
  return places.length === 0 ? null : `VALUES ${places.join(', ')}`;
}

/** Rows that have an entry for a column, as a subquery with the one column `row_key`. */
export function enteredRows(units: readonly Pick<Unit, 'unit' | 'labels'>[], label: string): string | null {
  const places = entryPlaces(units, label);
  return places === null ? null : `(SELECT row_key FROM svc_migrate_entry WHERE (unit, col) IN (${places}))`;
}

/** A column without its affinity: with it, SQLite finds entries by their key in no index, but reads all for each row. */
export function plain(column: string): string {
  return `+${column}`;
}

/** A row's key as the ledger holds it: the value itself, or the values as a JSON list. */
export function keySql(columns: readonly string[], term: (column: string) => string): string {
  const [only] = columns;
  if (columns.length === 1 && only !== undefined) return term(only);
  return `json_array(${columns.map(term).join(', ')})`;
}

/**
 * A condition by which rows are found from a ledger key, through the key's own index. Compared exactly too: an index
 * may tell keys apart that the column's own collation does not.
 */
export function keyMatch(
  columns: readonly string[],
  term: (column: string) => string,
  rowKey: string,
): string {
  const isKey = (column: string, value: string) => isExactly(term(column), value);
  const [only] = columns;
  if (columns.length === 1 && only !== undefined) return isKey(only, rowKey);
  return columns.map((column, at) => isKey(column, `json_extract(${rowKey}, '$[${at}]')`)).join(' AND ');
}

/** Equal by the term's collation, for its index, and to the last byte. */
export function isExactly(term: string, value: string): string {
  return `${term} = ${value} AND ${term} = ${value} COLLATE BINARY`;
}
