import { z } from 'zod';
import { applyTargetSchema, columnLabel, type PostgresTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { ApplyContext, RunFacts } from '../context.js';
import { quoteName } from '../sql-names.js';
import { mergePaths, splitPaths } from '../tables/merged-column.js';
import { hasLedger } from './pg-ledger-check.js';
import { BEGIN_LATEST, type Cells, type PgSession } from './pg-session.js';

/**
 * The ledger in the user's database, in a schema of its own. `entry` is written ahead: all changes of a unit (one
 * table in one run) are entered first, then carried out in batches; `done_entry` moves in the same transaction as
 * the rows. The view `ledger` shows what was carried out.
 */
function ledgerSql(schema: string): string {
  const s = quoteName(schema);
  return `
CREATE TABLE IF NOT EXISTS ${s}.run(
  unit bigint PRIMARY KEY, run text NOT NULL, target text NOT NULL, table_name text NOT NULL,
  column_names jsonb NOT NULL, definition jsonb NOT NULL, key_columns jsonb NOT NULL, key_types jsonb NOT NULL,
  column_types jsonb NOT NULL, mode text NOT NULL, is_atomic boolean NOT NULL, policy jsonb NOT NULL,
  remap_sha256 text NOT NULL, plan_sha256 text NOT NULL,
  state text NOT NULL CHECK (state IN ('working', 'done', 'undoing', 'undone')),
  first_entry bigint NOT NULL, last_entry bigint NOT NULL, done_entry bigint NOT NULL,
  changed bigint NOT NULL DEFAULT 0, skipped bigint NOT NULL DEFAULT 0,
  started_at text NOT NULL, finished_at text, tool text NOT NULL
);
CREATE TABLE IF NOT EXISTS ${s}.entry(
  id bigint PRIMARY KEY, unit bigint NOT NULL, col integer NOT NULL, row_key text[] NOT NULL,
  old text NOT NULL, new text
);
CREATE TABLE IF NOT EXISTS ${s}.skipped(
  unit bigint NOT NULL, col integer NOT NULL, row_key text[] NOT NULL, old text NOT NULL, new text
);
CREATE OR REPLACE VIEW ${s}.ledger AS
  SELECT r.run, r.target, r.table_name, e.row_key, r.column_names ->> e.col AS column_name, e.old, e.new, r.remap_sha256
  FROM ${s}.entry e JOIN ${s}.run r ON r.unit = e.unit WHERE e.id <= r.done_entry;`;
}

/** One table in one run. */
export interface Unit {
  readonly unit: string;
  readonly run: string;
  /** Schema and table, quoted where needed. */
  readonly table: string;
  readonly target: PostgresTarget;
  readonly labels: readonly string[];
  readonly key: readonly string[];
  readonly keyTypes: readonly string[];
  /** Types of the id columns, in the order of `labels`. */
  readonly types: readonly string[];
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

const COLUMNS = [
  'unit',
  'run',
  'table_name',
  'column_names',
  'definition',
  'key_columns',
  'key_types',
  'column_types',
  'mode',
  'is_atomic',
  'policy',
  'remap_sha256',
  'plan_sha256',
  'state',
  'first_entry',
  'last_entry',
  'done_entry',
  'changed',
  'skipped',
] as const;

const policySchema = z.object({ missing: z.enum(['fail', 'keep', 'null']), mapDeleted: z.boolean() });
const json = z.string().transform((text): unknown => JSON.parse(text));
const list = json.pipe(z.array(z.string()));
const count = z.string().transform(Number).pipe(z.int());
/** As the catalog shows them: names and types become part of statements. */
const quotedTable = z.string().regex(/^"(?:[^"]|"")+"\."(?:[^"]|"")+"$/);
const typeName = z
  .string()
  .regex(
    /^(?:"(?:[^"]|"")+"|[a-z_][a-z0-9_ ]*)(?:\.(?:"(?:[^"]|"")+"|[a-z_][a-z0-9_]*))?(?:\(\d+(?:,-?\d+)?\))?(?:\[\])*$/,
  );
const target = json.pipe(applyTargetSchema).transform((one, context) => {
  if (one.kind === 'postgres') return mergePaths(one);
  context.addIssue('is no PostgreSQL table');
  return z.NEVER;
});

const rowSchema = z
  .object({
    unit: z.string().regex(/^\d+$/),
    run: z.string(),
    table_name: quotedTable,
    column_names: list,
    definition: target,
    key_columns: list,
    key_types: list.pipe(z.array(typeName)),
    column_types: list.pipe(z.array(typeName)),
    mode: z.enum(['new', 'in_place']),
    is_atomic: z.string(),
    policy: json.pipe(policySchema),
    remap_sha256: z.string(),
    plan_sha256: z.string(),
    state: z.enum(['working', 'done', 'undoing', 'undone']),
    first_entry: count,
    last_entry: count,
    done_entry: count,
    changed: count,
    skipped: count,
  })
  .transform(
    (row): Unit => ({
      unit: row.unit,
      run: row.run,
      table: row.table_name,
      target: row.definition,
      labels: row.column_names,
      key: row.key_columns,
      keyTypes: row.key_types,
      types: row.column_types,
      mode: row.mode,
      isAtomic: row.is_atomic === 't',
      policy: row.policy,
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

/** The ledger is where it was found, whatever it says of that. */
function parseUnit(cells: Cells, schema: string): Unit {
  const row = Object.fromEntries(COLUMNS.map((column, at) => [column, cells[at]]));
  const parsed = rowSchema.safeParse(row);
  if (parsed.success) return { ...parsed.data, target: { ...parsed.data.target, ledgerSchema: schema } };
  throw new SvcError(
    'bad_input',
    'The ledger (table run) cannot be read: it was changed or is of another version.',
    {
      cause: parsed.error,
    },
  );
}

/** Makes the ledger where it is missing; its own transaction, for two processes may do it at once. */
export async function ensureLedger(session: PgSession, schema: string): Promise<void> {
  if (await session.retry(() => hasLedger(session, schema))) return;
  await session.transaction(BEGIN_LATEST, async () => {
    await session.exec("SELECT pg_advisory_xact_lock(hashtextextended('svc-migrate ledger', 0))");
    const hasSchema = await session.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
    // Also where the schema is there it would take the right to make one.
    if (hasSchema.count === 0) await session.exec(`CREATE SCHEMA ${quoteName(schema)}`);
    await session.exec(ledgerSql(schema));
  });
}

/** Schemas with a ledger that the user may read. */
export async function listLedgers(session: PgSession): Promise<string[]> {
  const { rows } = await session.query(
    `SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relname = 'run' AND c.relkind = 'r' AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
       AND (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname IN ('plan_sha256', 'remap_sha256', 'done_entry')) = 3
     ORDER BY 1`,
  );
  return rows.map(([name]) => name ?? '');
}

/** Keeps every other process from beginning; before the first query, so that its snapshot is the latest. */
export async function lockLedger(session: PgSession, schema: string): Promise<void> {
  await session.exec(`LOCK TABLE ${quoteName(schema)}.run IN SHARE ROW EXCLUSIVE MODE`);
}

/** Runs that touched a table, oldest first, without those taken back. */
export function readUnits(session: PgSession, schema: string, table: string): Promise<Unit[]> {
  return select(session, schema, "table_name = $1 AND state <> 'undone'", table);
}

export function readUnitsOfRun(session: PgSession, schema: string, run: string): Promise<Unit[]> {
  return select(session, schema, 'run = $1', run);
}

/** Every unit that was carried out and not taken back. */
export function readDoneUnits(session: PgSession, schema: string): Promise<Unit[]> {
  return select(session, schema, 'state = $1', 'done');
}

export async function readUnit(session: PgSession, schema: string, unit: string): Promise<Unit> {
  const [found] = await select(session, schema, 'unit = $1::bigint', unit);
  if (found === undefined) throw new SvcError('bad_input', `The ledger lost unit ${unit}.`);
  return found;
}

async function select(session: PgSession, schema: string, where: string, value: string): Promise<Unit[]> {
  if (!(await hasLedger(session, schema))) return [];
  const sql = `SELECT ${COLUMNS.join(', ')} FROM ${quoteName(schema)}.run WHERE ${where} ORDER BY unit`;
  return (await session.query(sql, [value])).rows.map((row) => parseUnit(row, schema));
}

export interface NewUnit {
  readonly target: PostgresTarget;
  readonly table: string;
  readonly key: readonly string[];
  readonly keyTypes: readonly string[];
  readonly types: readonly string[];
  readonly isAtomic: boolean;
}

/** Enters a new unit, in state `working`. Call inside the transaction that locked the ledger. */
export async function insertUnit(
  session: PgSession,
  context: ApplyContext,
  run: RunFacts,
  unit: NewUnit,
): Promise<{ readonly unit: string; readonly base: number }> {
  const { policy, facts } = context;
  const { ledgerSchema } = unit.target;
  const s = quoteName(ledgerSchema);
  const base = Number(await session.one(`SELECT coalesce(max(id), 0) FROM ${s}.entry`));
  const inserted = await session.one(
    `INSERT INTO ${s}.run(unit, run, target, table_name, column_names, definition, key_columns, key_types, column_types,
       mode, is_atomic, policy, remap_sha256, plan_sha256, state, first_entry, last_entry, done_entry, started_at, tool)
     SELECT coalesce(max(unit), 0) + 1, $1, $2, $3, $4::jsonb, $5::jsonb, $6::jsonb, $7::jsonb, $8::jsonb, $9,
       $10::boolean, $11::jsonb, $12, $13, 'working', $14::bigint, $14::bigint, $14::bigint, $15, $16 FROM ${s}.run
     RETURNING unit`,
    [
      run.run,
      unit.target.name,
      unit.table,
      JSON.stringify(unit.target.ids.map(columnLabel)),
      JSON.stringify(splitPaths(unit.target)),
      JSON.stringify(unit.key),
      JSON.stringify(unit.keyTypes),
      JSON.stringify(unit.types),
      policy.mode,
      String(unit.isAtomic),
      JSON.stringify({ missing: policy.missing, mapDeleted: policy.mapDeleted }),
      facts.sha256,
      run.planSha256,
      String(base),
      new Date(context.now()).toISOString(),
      context.tool,
    ],
  );
  return { unit: inserted ?? '', base };
}

/** Rows that have an entry for a column, as a subquery with the one column `row_key`; null: none. */
export function enteredRows(units: readonly Unit[], schema: string, label: string): string | null {
  const places = units.flatMap((unit) => {
    const at = unit.labels.indexOf(label);
    return at < 0 ? [] : [`(${unit.unit}, ${at})`];
  });
  if (places.length === 0) return null;
  return `(SELECT row_key FROM ${quoteName(schema)}.entry WHERE (unit, col) IN (${places.join(', ')}))`;
}

/** A row's key as the ledger holds it. */
export function keySql(columns: readonly string[], term: (column: string) => string): string {
  return `ARRAY[${columns.map((column) => `${term(column)}::text`).join(', ')}]`;
}

/** A condition by which rows are found from a ledger key, through the key's own index. */
export function keyMatch(
  key: readonly string[],
  types: readonly string[],
  term: (column: string) => string,
  rowKey: string,
): string {
  return key.map((column, at) => `${term(column)} = (${rowKey}[${at + 1}])::${types[at]}`).join(' AND ');
}
