import { columnLabel, type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { NamedRows } from '../context.js';
import { blocks, type Note } from '../plan.js';
import { type Engine, findColumn } from './dialect.js';
import { addedColumns, writesPlatformId } from './id-columns.js';
import { valueType } from './id-maps.js';
import { readRun, readRunsOfTable, setState } from './ledger-runs.js';
import { endUndo } from './own-tables.js';
import { declaredType, type TableFacts, type TableRun } from './table-facts.js';

export function dropColumnSql({ dialect }: Pick<Engine, 'dialect'>, table: string, column: string): string {
  return `ALTER TABLE ${dialect.tableSql(table)} DROP COLUMN ${dialect.quote(column)}`;
}

/** Adds the columns that a run fills. `isResumed`: columns that exist already belong to this run. */
export async function addColumns(
  { session, dialect, context }: Engine,
  { target, facts }: { readonly target: TableRun['target']; readonly facts: TableFacts },
  isResumed: boolean,
): Promise<void> {
  const engine = { session, dialect, context };
  const added = addedColumns(context.policy.mode, target.ids);
  const now = isResumed && added.length > 0 ? await dialect.readFacts(target) : facts;
  for (const id of target.ids) {
    const name = newColumnOf(id);
    if (!added.includes(name) || findColumn(engine, now, name) !== undefined) continue;
    const type = declaredType(valueType(dialect, facts, id));
    await session.exec(
      `ALTER TABLE ${dialect.tableSql(facts.table)} ADD COLUMN ${dialect.quote(name)} ${type}`,
    );
  }
}

/**
 * Blocks a column for platform_ids that exists although no in-place run filled it, or that was dropped after a run did.
 * Where ALTER TABLE commits, an interrupted run may have left an empty column, which does not block.
 */
export async function platformColumnNotes(
  engine: Engine,
  {
    ids,
    facts,
    runs,
  }: {
    readonly ids: readonly IdColumn[];
    readonly facts: TableFacts;
    readonly runs: readonly TableRun[];
  },
): Promise<Note[]> {
  const { dialect, context } = engine;
  if (context.policy.mode === 'new') return [];
  const notes: Note[] = [];
  for (const id of ids.filter(writesPlatformId)) {
    const name = newColumnOf(id);
    const filler = runs.find(
      ({ mode, target }) =>
        mode === 'in_place' &&
        target.ids.some((own) => columnLabel(own) === name && own.column === id.column),
    );
    const column = findColumn(engine, facts, name);
    if (filler === undefined && column !== undefined) {
      const isOurs = dialect.ddlCommits && column.type === dialect.platformIdType.type;
      if (isOurs && (await countFilled(engine, facts.table, name)) === 0) continue;
      const text = `A column "${name}" exists already, and svc-migrate did not fill it from this column.`;
      notes.push(blocks('new_column_exists', text));
    } else if (filler !== undefined && column === undefined) {
      if (dialect.ddlCommits && filler.state === 'working') continue;
      const text = `The column ${name}, which run ${filler.run} filled, is gone. Undo the run with \`svc-migrate apply undo ${filler.run}\`, then apply again.`;
      notes.push(blocks('platform_column_gone', text));
    }
  }
  return notes;
}

async function countFilled({ session, dialect }: Engine, table: string, column: string): Promise<number> {
  return Number(await session.one(`SELECT count(${dialect.quote(column)}) FROM ${dialect.tableSql(table)}`));
}

/** Columns for platform_ids that an in-place run added and that no longer exist. */
export function droppedColumns(engine: Engine, facts: TableFacts, { mode, target }: TableRun): string[] {
  return addedColumns(mode, mode === 'new' ? [] : target.ids).filter(
    (name) => findColumn(engine, facts, name) === undefined,
  );
}

/**
 * Ends the undo of an in-place run: drops the columns it added for platform_ids, unless another run or another program
 * filled them too. Returns the columns that other programs filled, each as a sentence.
 */
export async function dropPlatformColumns(engine: Engine, given: TableRun): Promise<NamedRows> {
  const { session, dialect } = engine;
  const kept = new NamedRows();
  const { ledger, unit } = given;
  const run = await session.retry(() => readRun(engine, given));
  if (run.state !== 'undoing') return kept;
  await endUndo(engine, ledger, 'latest', async () => {
    const facts = await dialect.readFacts(run.target);
    const others = (await readRunsOfTable(engine, ledger, run.table)).filter((one) => one.unit !== unit);
    for (const name of addedColumns(run.mode, run.target.ids)) {
      const isShared = others.some((one) => one.mode === 'in_place' && one.labels.includes(name));
      if (isShared || findColumn(engine, facts, name) === undefined) continue;
      const filled = await countFilled(engine, run.table, name);
      if (filled > 0) kept.add(`column ${name} stays: other programs filled it`, filled);
      else await session.exec(dropColumnSql(engine, run.table, name));
    }
    await setState(engine, run, 'undone');
  });
  return kept;
}
