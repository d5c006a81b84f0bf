import { applyTargetSchema, columnLabel, type TableTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import * as z from '../../zod.js';
import { ledgerRunSchema, MAX_NAMED_ROWS, type RunFacts, type WriteResult } from '../context.js';
import { type Policy, policySchema, runPolicySchema } from '../plan.js';
import type { Dialect, Engine } from './dialect.js';
import { configuredColumns, normalizeColumns } from './json-columns.js';
import type { Ledger, TableRun } from './ledger.js';
import { hasLedger } from './ledger-tables.js';
import type { Cells } from './session.js';
import type { FoundTable } from './table-facts.js';

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
  mode: policySchema.shape.mode,
  is_atomic: z.string(),
  policy: json.pipe(runPolicySchema),
  remap_sha256: z.string(),
  plan_sha256: z.string(),
  maps: z.string().regex(/^\w*$/),
  state: ledgerRunSchema.shape.state,
  /** The entries of the run have ids above `first_entry`, up to and including `last_entry`. */
  first_entry: count,
  last_entry: count,
  done_entry: count,
  changed: count,
  skipped: count,
  started_at: z.string(),
  key_types: list.default([]),
  column_types: list.default([]),
});

/** Null if the row is of another kind of database, or names a table or type that is not safe to use in SQL. */
function buildRun(dialect: Dialect, ledger: Ledger, row: z.output<typeof rowSchema>): TableRun | null {
  const target = row.definition;
  if (!('table' in target) || target.kind !== dialect.kind || !dialect.isTableName(row.table_name))
    return null;
  if (![...row.key_types, ...row.column_types].every(dialect.isTypeName)) return null;
  return {
    unit: row.unit,
    run: row.run,
    table: row.table_name,
    target: normalizeColumns<TableTarget>(target),
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
    maps: row.maps,
    state: row.state,
    first: row.first_entry,
    last: row.last_entry,
    done: row.done_entry,
    changed: row.changed,
    skipped: row.skipped,
    startedAt: row.started_at,
  };
}

/** Reads the runs that meet a condition on `$1`, oldest first. */
export async function readRuns(
  engine: Engine,
  ledger: Ledger,
  where = 'unit > $1',
  value = '0',
): Promise<TableRun[]> {
  const { session, dialect } = engine;
  if (!(await hasLedger(engine, ledger))) return [];
  const names = Object.keys(rowSchema.shape).slice(0, dialect.keepsTypes ? undefined : -2);
  const sql = `SELECT ${names.join(', ')} FROM ${ledger.run} WHERE ${where} ORDER BY unit`;
  const parse = (cells: Cells): TableRun => {
    const parsed = rowSchema.safeParse(Object.fromEntries(names.map((name, at) => [name, cells[at]])));
    const run = parsed.success ? buildRun(dialect, ledger, parsed.data) : null;
    if (run !== null) return run;
    const text = `The ledger (${ledger.run}) cannot be read: it was changed, or another version wrote it.`;
    throw new SvcError('bad_input', text, { cause: parsed.error });
  };
  return (await session.query(sql, [value])).rows.map(parse);
}

/** Reads the runs on a table that are not undone, oldest first. */
export function readRunsOfTable(engine: Engine, ledger: Ledger, table: string): Promise<TableRun[]> {
  return readRuns(engine, ledger, `${engine.dialect.isTableOfRun} AND state <> 'undone'`, table);
}

export async function readRun(engine: Engine, ledger: Ledger, unit: string): Promise<TableRun> {
  const [found] = await readRuns(engine, ledger, 'unit = $1', unit);
  if (found === undefined)
    throw new SvcError('bad_input', `The ledger no longer holds the run with unit ${unit}.`);
  return found;
}

/** A policy as the ledger records it. */
export function ledgerPolicy({ missing, mapDeleted }: Policy): string {
  return JSON.stringify({ missing, mapDeleted });
}

/** What the ledger records of a new table run in state `working`, as text by column, apart from numbers and times. */
export function newRunRow(
  { context, dialect }: Engine,
  { run, planSha256 }: Pick<RunFacts, 'run' | 'planSha256'>,
  { target, facts, handling, keyTypes, types }: FoundTable,
  maps: string,
): Readonly<Record<string, string>> {
  const { policy, remapVersion, tool } = context;
  return {
    run,
    target: target.name,
    table_name: facts.table,
    column_names: JSON.stringify(target.ids.map(columnLabel)),
    definition: JSON.stringify(configuredColumns(target)),
    key_columns: JSON.stringify(handling.key),
    mode: policy.mode,
    is_atomic: handling.isAtomic ? '1' : '0',
    policy: ledgerPolicy(policy),
    remap_sha256: remapVersion.sha256,
    plan_sha256: planSha256,
    maps,
    state: 'working',
    tool,
    ...(dialect.keepsTypes
      ? { key_types: JSON.stringify(keyTypes), column_types: JSON.stringify(types) }
      : {}),
  };
}

/** Records a new table run in state `working`; returns its `unit`. `maps`: as `TableRun.maps`. Call inside the transaction that locked the ledger. */
export async function insertRun(
  engine: Engine,
  run: RunFacts,
  found: FoundTable,
  maps = '',
): Promise<string> {
  const { session, context } = engine;
  const { ledger } = found;
  const unit = (await session.one(`SELECT coalesce(max(unit), 0) + 1 FROM ${ledger.run}`)) ?? '1';
  const base = await lastEntry(engine, ledger);
  const row: Readonly<Record<string, string>> = {
    unit,
    ...newRunRow(engine, run, found, maps),
    started_at: new Date(context.now()).toISOString(),
    first_entry: base,
    last_entry: base,
    done_entry: base,
  };
  const places = Object.keys(row).map((_, at) => `$${at + 1}`);
  await session.query(
    `INSERT INTO ${ledger.run}(${Object.keys(row).join(', ')}) VALUES (${places.join(', ')})`,
    Object.values(row),
  );
  return unit;
}

/** The id of the latest entry; 0 if there is none. */
export async function lastEntry({ session }: Engine, ledger: Ledger): Promise<string> {
  return (await session.one(`SELECT coalesce(max(id), 0) FROM ${ledger.entry}`)) ?? '0';
}

export async function setState(
  { session }: Engine,
  { ledger, unit }: Pick<TableRun, 'ledger' | 'unit'>,
  state: TableRun['state'],
): Promise<void> {
  await session.query(`UPDATE ${ledger.run} SET state = $1 WHERE unit = $2`, [state, unit]);
}

/**
 * Finds the unit of this run on this table if an earlier attempt recorded it and then lost the connection; null if not.
 *
 * @throws SvcError `locked` if another process changed the runs of the table since they were read
 */
export async function findRecordedRun(
  engine: Engine,
  { target, facts, ledger, runs }: FoundTable,
  { run }: RunFacts,
): Promise<string | null> {
  const now = await readRunsOfTable(engine, ledger, facts.table);
  const known = new Set(runs.map(({ unit }) => unit));
  const ours = now.find((one) => !known.has(one.unit) && one.run === run && one.target.name === target.name);
  if (ours !== undefined) return ours.unit;
  const states = (all: readonly TableRun[]) => all.map(({ unit, state }) => `${unit} ${state}`).join();
  if (states(now) === states(runs)) return null;
  throw new SvcError('locked', `Another svc-migrate is rewriting ${facts.table}.`, {
    hint: 'Wait until it has finished.',
  });
}

/** Marks an in-place run as done and records its counts. */
export async function finishRun(
  { context, session }: Engine,
  { ledger, unit }: Pick<TableRun, 'ledger' | 'unit'>,
): Promise<void> {
  await session.query(
    `UPDATE ${ledger.run} SET state = 'done', finished_at = $1,
       changed = (SELECT count(*) FROM ${ledger.entry} AS e WHERE e.unit = $2 AND e.id > first_entry AND e.id <= last_entry),
       skipped = (SELECT count(*) FROM ${ledger.skipped} AS s WHERE s.unit = $2)
     WHERE unit = $2 AND state = 'working'`,
    [new Date(context.now()).toISOString(), unit],
  );
}

export async function describeWritten(engine: Engine, ledger: Ledger, unit: string): Promise<WriteResult> {
  const { target, run, changed, skipped } = await readRun(engine, ledger, unit);
  const { rows } = await engine.session.query(
    `SELECT ${engine.dialect.keyName('row_key')} FROM ${ledger.skipped} WHERE unit = $1 LIMIT ${MAX_NAMED_ROWS}`,
    [unit],
  );
  return {
    target: target.name,
    run,
    changed,
    skipped: rows.map(([key]) => `row ${key ?? ''}`),
    skippedCount: skipped,
    alreadyDone: false,
  };
}
