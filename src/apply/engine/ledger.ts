import { z } from 'zod';
import { applyTargetSchema, columnLabel, type TableTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { ApplyContext, RunFacts } from '../context.js';
import type { Dialect, Engine, Ledger } from './dialect.js';
import { mergePaths, splitPaths } from './json-columns.js';
import type { Cells } from './session.js';

/**
 * The ledger in the user's database. `entry` is written ahead: all changes of a table run (one table in one run)
 * are entered first, then carried out in batches; `done_entry` moves in the same transaction as the rows.
 */

/** One table in one run. */
export interface TableRun {
  readonly unit: string;
  readonly run: string;
  /** As `TableFacts` has it. */
  readonly table: string;
  readonly target: TableTarget;
  readonly ledger: Ledger;
  /** Labels of the columns, in the order that `col` counts. */
  readonly labels: readonly string[];
  readonly key: readonly string[];
  /** Types of the key's columns and of the id columns; empty where they are not needed. */
  readonly keyTypes: readonly string[];
  readonly types: readonly string[];
  readonly mode: 'new' | 'in_place';
  readonly isAtomic: boolean;
  readonly policy: z.output<typeof policySchema>;
  readonly remapSha256: string;
  readonly planSha256: string;
  readonly state: 'working' | 'done' | 'undoing' | 'undone';
  /** Entries of the run are those after `first` up to `last`; those up to `done` are carried out. */
  readonly first: number;
  readonly last: number;
  readonly done: number;
  readonly changed: number;
  readonly skipped: number;
  readonly startedAt: string;
}

const policySchema = z.object({ missing: z.enum(['fail', 'keep', 'null']), mapDeleted: z.boolean() });
const json = z.string().transform((text): unknown => JSON.parse(text));
const list = json.pipe(z.array(z.string()));
const count = z.string().transform(Number).pipe(z.int());

const rowSchema = z.object({
  unit: z.string().regex(/^\d+$/),
  run: z.string(),
  table_name: z.string(),
  column_names: list,
  definition: json.pipe(applyTargetSchema),
  key_columns: list,
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
  started_at: z.string(),
  key_types: list,
  column_types: list,
});

const COLUMNS = Object.keys(rowSchema.shape);

function columnTerms({ runTable }: Dialect): string {
  const [keyTypes, types] = runTable.types;
  return [...COLUMNS.slice(0, -2), keyTypes, types].join(', ');
}

/** The ledger is where it was found, whatever it says of that. */
function parseRun({ dialect }: Engine, ledger: Ledger, cells: Cells): TableRun {
  const parsed = rowSchema.safeParse(Object.fromEntries(COLUMNS.map((name, at) => [name, cells[at]])));
  const row = parsed.success ? buildRun(dialect, ledger, parsed.data) : null;
  if (row !== null) return row;
  throw new SvcError(
    'bad_input',
    `The ledger (${ledger.run}) cannot be read: it was changed or is of another version.`,
    { cause: parsed.error },
  );
}

/** Null where a name or a type is none of this database. */
function buildRun(
  { kind, runTable }: Dialect,
  ledger: Ledger,
  row: z.output<typeof rowSchema>,
): TableRun | null {
  const target = row.definition;
  const types = [...row.key_types, ...row.column_types];
  if (!isTableTarget(target) || target.kind !== kind || !runTable.isTable(row.table_name)) return null;
  if (!types.every(runTable.isType)) return null;
  return {
    unit: row.unit,
    run: row.run,
    table: row.table_name,
    target: mergePaths(target),
    ledger,
    labels: row.column_names,
    key: row.key_columns,
    keyTypes: row.key_types,
    types: row.column_types,
    mode: row.mode,
    isAtomic: row.is_atomic === '1' || row.is_atomic === 't',
    policy: row.policy,
    remapSha256: row.remap_sha256,
    planSha256: row.plan_sha256,
    state: row.state,
    first: row.first_entry,
    last: row.last_entry,
    done: row.done_entry,
    changed: row.changed,
    skipped: row.skipped,
    startedAt: row.started_at,
  };
}

function isTableTarget(target: z.output<typeof applyTargetSchema>): target is TableTarget {
  return target.kind === 'sqlite' || target.kind === 'postgres';
}

/** Every run of the ledger, oldest first. */
export function readRuns(engine: Engine, ledger: Ledger): Promise<TableRun[]> {
  return select(engine, ledger, 'unit > $1', '0');
}

/** Runs that touched a table, oldest first, without those taken back. */
export function readRunsOfTable(engine: Engine, ledger: Ledger, table: string): Promise<TableRun[]> {
  return select(engine, ledger, `${engine.dialect.runTable.ofTable} AND state <> 'undone'`, table);
}

export function readTablesOfRun(engine: Engine, ledger: Ledger, run: string): Promise<TableRun[]> {
  return select(engine, ledger, 'run = $1', run);
}

/** Every table run that was carried out and not taken back. */
export function readDoneRuns(engine: Engine, ledger: Ledger): Promise<TableRun[]> {
  return select(engine, ledger, 'state = $1', 'done');
}

export async function readRun(engine: Engine, ledger: Ledger, unit: string): Promise<TableRun> {
  const [found] = await select(engine, ledger, 'unit = $1', unit);
  if (found === undefined) throw new SvcError('bad_input', `The ledger lost unit ${unit}.`);
  return found;
}

async function select(engine: Engine, ledger: Ledger, where: string, value: string): Promise<TableRun[]> {
  const { session, dialect } = engine;
  if (!(await dialect.hasLedger(ledger))) return [];
  const sql = `SELECT ${columnTerms(dialect)} FROM ${ledger.run} WHERE ${where} ORDER BY unit`;
  return (await session.query(sql, [value])).rows.map((row) => parseRun(engine, ledger, row));
}

export interface NewTableRun {
  readonly target: TableTarget;
  readonly ledger: Ledger;
  readonly table: string;
  readonly key: readonly string[];
  readonly keyTypes: readonly string[];
  readonly types: readonly string[];
  readonly isAtomic: boolean;
}

/** Enters a new table run, in state `working`; returns its number. Call inside the transaction that locked the ledger. */
export async function insertRun(engine: Engine, run: RunFacts, table: NewTableRun): Promise<string> {
  const { session, dialect } = engine;
  const { run: runs, entry } = table.ledger;
  const unit = (await session.one(`SELECT coalesce(max(unit), 0) + 1 FROM ${runs}`)) ?? '1';
  const base = (await session.one(`SELECT coalesce(max(id), 0) FROM ${entry}`)) ?? '0';
  const row = {
    unit,
    ...describeRun(engine.context, run, table),
    first_entry: base,
    last_entry: base,
    done_entry: base,
    ...(dialect.runTable.types[0] === 'key_types'
      ? { key_types: JSON.stringify(table.keyTypes), column_types: JSON.stringify(table.types) }
      : {}),
  };
  const places = Object.keys(row).map((_, at) => `$${at + 1}`);
  await session.query(
    `INSERT INTO ${runs}(${Object.keys(row).join(', ')}) VALUES (${places.join(', ')})`,
    Object.values(row),
  );
  return unit;
}

function describeRun(
  { policy, facts, now, tool }: ApplyContext,
  run: RunFacts,
  { target, table, key, isAtomic }: NewTableRun,
): Readonly<Record<string, string>> {
  return {
    run: run.run,
    target: target.name,
    table_name: table,
    column_names: JSON.stringify(target.ids.map(columnLabel)),
    definition: JSON.stringify(splitPaths(target)),
    key_columns: JSON.stringify(key),
    mode: policy.mode,
    is_atomic: isAtomic ? '1' : '0',
    policy: JSON.stringify({ missing: policy.missing, mapDeleted: policy.mapDeleted }),
    remap_sha256: facts.sha256,
    plan_sha256: run.planSha256,
    state: 'working',
    started_at: new Date(now()).toISOString(),
    tool,
  };
}

export async function setState(
  { session }: Engine,
  { ledger, unit }: Pick<TableRun, 'ledger' | 'unit'>,
  state: TableRun['state'],
): Promise<void> {
  await session.query(`UPDATE ${ledger.run} SET state = $1 WHERE unit = $2`, [state, unit]);
}

/** Rows that have an entry for a column, as a subquery with the one column `row_key`; null: none. */
export function enteredRows(
  dialect: Pick<Dialect, 'inPairs'>,
  ledger: Ledger,
  runs: readonly Pick<TableRun, 'unit' | 'labels'>[],
  label: string,
): string | null {
  const pairs = runs.flatMap((run) => {
    const at = run.labels.indexOf(label);
    return at < 0 ? [] : [`(${run.unit}, ${at})`];
  });
  if (pairs.length === 0) return null;
  return `(SELECT row_key FROM ${ledger.entry} WHERE (unit, col) IN ${dialect.inPairs(pairs)})`;
}

/** `FROM` and `WHERE` of a table's rows that no run has entered for a column. */
export function unenteredRows(
  dialect: Pick<Dialect, 'tableSql' | 'keySql' | 'quote'>,
  table: string,
  key: readonly string[],
  entered: string | null,
): string {
  const from = `${dialect.tableSql(table)} AS t`;
  if (entered === null) return `${from} WHERE TRUE`;
  const rowKey = dialect.keySql(key.map((column) => `t.${dialect.quote(column)}`));
  return `${from} LEFT JOIN ${entered} AS e ON e.row_key = ${rowKey} WHERE e.row_key IS NULL`;
}

/** A condition by which rows `t` are found from a ledger key. */
export function keyMatch(
  dialect: Pick<Dialect, 'isKey' | 'keyPart' | 'quote'>,
  run: Pick<TableRun, 'key' | 'keyTypes'>,
  rowKey: string,
): string {
  return run.key
    .map((column, at) => dialect.isKey(`t.${dialect.quote(column)}`, dialect.keyPart(run, rowKey, at)))
    .join(' AND ');
}

/** Entries of a column that are carried out, and their rows `t`: FROM and WHERE. */
export function enteredCells(dialect: Dialect, run: TableRun, col: number, join = 'JOIN'): string {
  return `${run.ledger.entry} AS e ${join} ${dialect.tableSql(run.table)} AS t ON ${keyMatch(dialect, run, 'e.row_key')}
    WHERE e.unit = ${run.unit} AND e.col = ${col} AND e.id <= ${run.done}`;
}
