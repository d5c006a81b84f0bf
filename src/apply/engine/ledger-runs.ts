import { applyTargetSchema, columnLabel, type TableTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import * as z from '../../zod.js';
import { ledgerRunSchema, type RunFacts } from '../context.js';
import { blocks, type Note, type Policy, policySchema, runPolicySchema } from '../plan.js';
import { compileRewrite, createViewSql, rowsTable } from './compile.js';
import type { Cells, Dialect, Engine } from './dialect.js';
import { configuredColumns, normalizeColumns } from './id-columns.js';
import { keptMapTable } from './id-maps.js';
import type { FoundTable, Ledger, TableOfRun, TableRun } from './table-facts.js';

/** The columns of `run`. */
const RUN_COLUMNS = {
  unit: 'number',
  run: 'text',
  target: 'text',
  table_name: 'name',
  column_names: 'text',
  definition: 'text',
  key_columns: 'text',
  mode: 'text',
  is_atomic: 'number',
  policy: 'text',
  remap_sha256: 'text',
  plan_sha256: 'text',
  suffix: 'text',
  state: 'text',
  done: 'number',
  total: 'number',
  changed: 'number',
  skipped: 'number',
  started_at: 'text',
  finished_at: 'text',
  tool: 'text',
} as const;

const CONSTRAINTS: Readonly<Record<string, string>> = {
  unit: ' PRIMARY KEY',
  state: " NOT NULL CHECK (state IN ('working', 'done', 'undoing', 'undone'))",
  finished_at: '',
};

type LedgerText = Pick<Dialect, 'ledgerTypes'>;

function columnsOf({ ledgerTypes }: LedgerText): [name: string, type: string][] {
  return Object.entries(RUN_COLUMNS).map(([name, type]) => [name, ledgerTypes[type]]);
}

/** Creates the table `run` if it is missing. */
export function createRunSql(dialect: LedgerText, { run }: Ledger): string {
  const columns = columnsOf(dialect).map(([name, type]) => {
    const isCount = name === 'changed' || name === 'skipped' || name === 'done' || name === 'total';
    return `${name} ${type}${CONSTRAINTS[name] ?? ` NOT NULL${isCount ? ' DEFAULT 0' : ''}`}`;
  });
  return `CREATE TABLE IF NOT EXISTS ${run}(${columns.join(', ')})${dialect.ledgerTypes.options}`;
}

/** The first object with a name of the ledger but another definition; null if there is none. */
function findForeign(dialect: LedgerText, found: ReadonlyMap<string, string>): string | null {
  const run = found.get('run');
  const own = columnsOf(dialect).map((column) => column.join(' ').replace(/ COLLATE .*/, ''));
  if (run !== undefined && run !== own.join(', ')) return 'run';
  return (found.get('ledger') ?? 'view') === 'view' ? null : 'ledger';
}

function notALedger({ context }: Engine, { prefix, hint }: Ledger, name: string): [string, string] {
  return [`${prefix}${name} is not a ledger of ${context.tool}.`, hint];
}

/**
 * Whether the database holds a ledger. `parts`: which of its table and its view must be there.
 *
 * @throws SvcError `bad_input` if something else has its names
 */
async function hasLedger(
  engine: Engine,
  ledger: Ledger,
  parts: readonly ('run' | 'ledger')[] = ['run'],
): Promise<boolean> {
  const { shape } = await engine.dialect.readLedger(ledger);
  const foreign = findForeign(engine.dialect, shape);
  if (foreign === null) return parts.every((part) => shape.has(part));
  const [text, hint] = notALedger(engine, ledger, foreign);
  throw new SvcError('bad_input', text, { hint });
}

/** Notes that block keeping the ledger there: something else has its names, or `ledgerObstacles`. */
export async function ledgerNotes(engine: Engine, ledger: Ledger, table: string): Promise<readonly Note[]> {
  const { shape, notes } = await engine.dialect.readLedger(ledger, table);
  const foreign = findForeign(engine.dialect, shape);
  if (foreign === null) return notes;
  return [blocks('foreign_ledger', notALedger(engine, ledger, foreign).join(' '))];
}

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
  is_atomic: count,
  policy: json.pipe(runPolicySchema),
  remap_sha256: z.string(),
  plan_sha256: z.string(),
  suffix: z.string().regex(/^\w*$/),
  state: ledgerRunSchema.shape.state,
  done: count,
  total: count,
  changed: count,
  skipped: count,
  started_at: z.string(),
});

/**
 * Null if the row names no table.
 *
 * @throws SvcError `bad_input` if that is not safe to use in SQL
 */
function buildRun(dialect: Dialect, ledger: Ledger, row: z.output<typeof rowSchema>): TableRun | null {
  const target = row.definition;
  if (!('table' in target)) return null;
  dialect.tableSql(row.table_name);
  return {
    unit: row.unit,
    run: row.run,
    table: row.table_name,
    target: normalizeColumns<TableTarget>(target),
    ledger,
    labels: row.column_names,
    key: row.key_columns,
    mode: row.mode,
    isAtomic: row.is_atomic === 1,
    policy: row.policy,
    remapSha256: row.remap_sha256,
    planSha256: row.plan_sha256,
    suffix: row.suffix,
    state: row.state,
    done: row.done,
    total: row.total,
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
  const names = Object.keys(rowSchema.shape);
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
  return readRuns(engine, ledger, "table_name = $1 AND state <> 'undone'", table);
}

export async function readRun(
  engine: Engine,
  { ledger, unit }: Pick<TableRun, 'ledger' | 'unit'>,
): Promise<TableRun> {
  const [found] = await readRuns(engine, ledger, 'unit = $1', unit);
  if (found === undefined)
    throw new SvcError('bad_input', `The ledger no longer holds the run with unit ${unit}.`);
  return found;
}

/** A policy as the ledger records it. */
export function ledgerPolicy({ missing, mapDeleted }: Policy): string {
  return JSON.stringify({ missing, mapDeleted });
}

/** What the ledger records of a new table run in state `working`, as text by column, apart from its number and times. */
export function newRunRow(
  { context }: Pick<Engine, 'context'>,
  { run, planSha256 }: Pick<RunFacts, 'run' | 'planSha256'>,
  { target, facts, handling }: Pick<FoundTable, 'target' | 'facts' | 'handling'>,
  suffix: string,
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
    suffix,
    state: 'working',
    tool,
  };
}

/** Records a new table run in state `working`; returns its `unit`. Call inside the transaction that locked the ledger. */
export async function insertRun(
  engine: Engine,
  run: RunFacts,
  found: FoundTable,
  suffix: string,
): Promise<string> {
  const { session, context } = engine;
  const { ledger } = found;
  const unit = (await session.one(`SELECT coalesce(max(unit), 0) + 1 FROM ${ledger.run}`)) ?? '1';
  const startedAt = new Date(context.now()).toISOString();
  const row = { unit, ...newRunRow(engine, run, found, suffix), started_at: startedAt };
  const places = Object.keys(row).map((_, at) => `$${at + 1}`);
  await session.query(
    `INSERT INTO ${ledger.run}(${Object.keys(row).join(', ')}) VALUES (${places.join(', ')})`,
    Object.values(row),
  );
  return unit;
}

/**
 * What the names of a new run's tables end with; `nth`: how many tables of the run come before it. Once recorded, it is
 * never given to another table.
 */
export async function newSuffix(
  { session }: Engine,
  { run }: Ledger,
  { run: name }: Pick<RunFacts, 'run'>,
  nth: number,
): Promise<string> {
  const before = Number(await session.one(`SELECT count(*) FROM ${run} WHERE run = $1`, [name]));
  return `${name.replaceAll(/\W/g, '_')}_${before + nth + 1}`;
}

export async function markUndone(
  { session }: Engine,
  { ledger, unit }: Pick<TableRun, 'ledger' | 'unit'>,
): Promise<void> {
  await session.query(`UPDATE ${ledger.run} SET state = 'undone' WHERE unit = $1`, [unit]);
}

/**
 * Finds this run on this table if an earlier attempt recorded it and then lost the connection; null if not.
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

/** Creates the ledger if it is missing. A process that was killed may have left only a part. */
export async function ensureLedger(engine: Engine, ledger: Ledger): Promise<void> {
  const { session, dialect } = engine;
  const isThere = () => session.retry(() => hasLedger(engine, ledger, ['run', 'ledger']));
  if (await isThere()) return;
  try {
    await session.transaction('latest', async () => {
      if (ledger.createSchema !== null && !(await hasSchema(engine, ledger)))
        await session.exec(ledger.createSchema);
      await session.exec(createRunSql(dialect, ledger));
      await replaceView(engine, ledger);
    });
  } catch (error) {
    // Another process may have been faster.
    if (!(await isThere())) throw error;
  }
}

/** CREATE SCHEMA IF NOT EXISTS needs a privilege even if the schema exists. */
async function hasSchema({ session }: Engine, { name }: Ledger): Promise<boolean> {
  return (
    (await session.one('SELECT 1 FROM information_schema.schemata WHERE schema_name = $1', [name])) !== null
  );
}

/** Makes the view of all changes anew. `more`: lists of runs that are not recorded yet. */
export async function replaceView(
  engine: Engine,
  ledger: Ledger,
  more: readonly TableOfRun[] = [],
): Promise<void> {
  const { session, dialect } = engine;
  const runs = await readRuns(engine, ledger, "mode = $1 AND state <> 'undone'", 'in_place');
  for (const statement of createViewSql(dialect, ledger, [...runs, ...more])) await session.exec(statement);
}

/** How many cells of the listed rows that meet a condition are the run's. */
export async function countCells(
  { session, dialect }: Engine,
  run: TableRun,
  where: string,
): Promise<number> {
  const { list, countIn } = compileRewrite(dialect, run);
  return Number(await session.one(`SELECT ${countIn('ours')} FROM ${list} AS w WHERE ${where}`));
}

/** Runs the transaction that ends an undo, and drops the tables of the runs that are undone then. */
export async function endUndo<T>(
  engine: Engine,
  ledger: Ledger,
  mode: 'latest' | 'exclusive',
  work: () => Promise<T>,
): Promise<T> {
  const { session, dialect } = engine;
  const result = await session.transaction(mode, async () => {
    await dialect.lockLedger(ledger);
    const result = await work();
    if (!dialect.ddlCommits) await dropTables(engine, ledger);
    return result;
  });
  if (dialect.ddlCommits) await dropUnusedTables(engine, ledger);
  return result;
}

/** Drops tables of undone runs that an interruption left. */
export async function dropUnusedTables(engine: Engine, ledger: Ledger): Promise<void> {
  const { session, dialect } = engine;
  if ((await session.retry(() => readUnused(engine, ledger))).length === 0) return;
  await session.transaction('latest', async () => {
    await dialect.lockLedger(ledger);
    await dropTables(engine, ledger);
  });
}

function readUnused(engine: Engine, ledger: Ledger): Promise<TableRun[]> {
  return readRuns(engine, ledger, "state = $1 AND suffix <> ''", 'undone');
}

async function dropTables(engine: Engine, ledger: Ledger): Promise<void> {
  const { session } = engine;
  const unused = await readUnused(engine, ledger);
  if (unused.length === 0) return;
  await replaceView(engine, ledger);
  for (const run of unused) {
    for (const table of tablesOf(run)) await session.exec(`DROP TABLE IF EXISTS ${table}`);
    await session.exec(`UPDATE ${ledger.run} SET suffix = '' WHERE unit = ${run.unit}`);
  }
}

function tablesOf(run: TableRun): string[] {
  if (run.mode === 'in_place') return [rowsTable(run)];
  return run.target.ids.map((_, at) => keptMapTable(run, at));
}
