import { compileRewrite, createViewSql, rowsTable, type TableOfRun } from './compile.js';
import type { Engine } from './dialect.js';
import { keptMapTable } from './id-maps.js';
import { createRunSql, hasLedger, readRuns } from './ledger-runs.js';
import type { Ledger, TableRun } from './table-facts.js';

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
