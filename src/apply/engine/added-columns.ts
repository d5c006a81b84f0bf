import { columnLabel, type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { blocks, type Note } from '../plan.js';
import { type Engine, findColumn } from './dialect.js';
import { addedColumns } from './id-columns.js';
import { valueType } from './id-maps.js';
import { declaredType, type FoundTable, type TableFacts, type TableRun } from './table-facts.js';

export function dropColumnSql({ dialect }: Pick<Engine, 'dialect'>, table: string, column: string): string {
  return `ALTER TABLE ${dialect.tableSql(table)} DROP COLUMN ${dialect.quote(column)}`;
}

/** Adds the columns that a run fills, unless they are there. */
export async function addColumns(
  engine: Engine,
  { target, facts }: Pick<FoundTable, 'target' | 'facts'>,
): Promise<void> {
  const { session, dialect, context } = engine;
  const added = addedColumns(context.policy.mode, target.ids);
  const now = added.length > 0 ? await dialect.readFacts(target) : facts;
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
 * Blocks columns to add that exist although no run filled them, that a run filled and somebody dropped, and those whose ids
 * a run put into another column. Where ALTER TABLE commits, an interrupted run may have left an empty column for
 * platform_ids, or not have created its columns yet.
 */
export async function addedColumnNotes(
  engine: Engine,
  { target, facts, runs }: Pick<FoundTable, 'target' | 'facts' | 'runs'>,
): Promise<Note[]> {
  const { dialect, context } = engine;
  const { mode } = context.policy;
  const notes: Note[] = [];
  const filled: string[] = [];
  const fresh: string[] = [];
  for (const id of target.ids.filter((one) => addedColumns(mode, [one]).length > 0)) {
    const name = newColumnOf(id);
    const column = findColumn(engine, facts, name);
    const isSame = (own: IdColumn) => columnLabel(own) === columnLabel(id) && own.column === id.column;
    const filler = runs.find((run) => run.mode === mode && run.target.ids.some(isSame));
    (filler === undefined ? fresh : filled).push(name);
    if (filler === undefined) {
      if (column === undefined) continue;
      const mayBeOurs =
        mode === 'in_place' && dialect.ddlCommits && column.type === dialect.platformIdType.type;
      if (mayBeOurs && (await countFilled(engine, facts.table, name)) === 0) continue;
      const text = `A column "${name}" exists already, and svc-migrate did not fill it from this column.`;
      notes.push(blocks('new_column_exists', text));
      continue;
    }
    const { run, state } = filler;
    const own = filler.target.ids.filter(isSame).map(newColumnOf)[0] ?? name;
    if (own !== name) {
      const text = `Run ${run} filled ${own} from ${id.column}: name that column, or undo the run first.`;
      notes.push(blocks('other_run', text));
    } else if (column === undefined && !(dialect.ddlCommits && state === 'working')) {
      const text = `The column ${name}, which run ${run} filled, is gone. Undo the run with \`${context.formatUndo(run)}\`, then apply again.`;
      notes.push(blocks(mode === 'new' ? 'new_column_gone' : 'platform_column_gone', text));
    }
  }
  if (mode === 'new' && filled.length > 0 && fresh.length > 0) {
    const text = `${filled.join(', ')} of this target is there, ${fresh.join(', ')} is not: give new columns a target of their own, or undo the run first.`;
    notes.push(blocks('other_run', text));
  }
  return notes;
}

export async function countFilled(
  { session, dialect }: Engine,
  table: string,
  column: string,
): Promise<number> {
  return Number(await session.one(`SELECT count(${dialect.quote(column)}) FROM ${dialect.tableSql(table)}`));
}

/** Columns for platform_ids that an in-place run added and that no longer exist. */
export function droppedColumns(engine: Engine, facts: TableFacts, { mode, target }: TableRun): string[] {
  return addedColumns(mode, mode === 'new' ? [] : target.ids).filter(
    (name) => findColumn(engine, facts, name) === undefined,
  );
}
