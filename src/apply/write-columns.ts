import type { OnProgress } from '../domain.js';
import { at, must } from '../text/at.js';
import type { CrosswalkColumn } from './crosswalk.js';
import { type Database, executeAll, type Obstacle, type Value } from './db/database.js';
import { buildJudge, describeEmptyPaths, type Judge } from './judge.js';
import type { RemapIds } from './remap-ids.js';
import {
  type ColumnState,
  changeState,
  claimColumn,
  detectStateChange,
  lockForWrite,
  WRITABLE,
} from './state.js';
import {
  addColumn,
  crosswalkColumns,
  crosswalkDefinition,
  crosswalkSql,
  fillColumn,
  scopeNames,
  selectValues,
} from './statements.js';
import { type ApplyTable, hasColumn, refresh, type TableColumn } from './tables.js';
import type { Verdict } from './verdict.js';
import { type OutcomeCount, type StoredValue, Tally } from './verdict.js';

export interface LoadedColumn {
  readonly column: string;
  readonly counts: readonly OutcomeCount[];
  /** Paths that are wrong; nothing is written then. */
  readonly notes: readonly Obstacle[];
}

export interface WrittenColumn extends LoadedColumn {
  readonly newColumn: string;
  readonly changed: number;
}

/** Judges every distinct value of a column. */
export async function* judgeValues(
  db: Database,
  column: CrosswalkColumn,
  remap: RemapIds,
  onProgress: OnProgress,
): AsyncGenerator<StoredValue[]> {
  const names = scopeNames(column);
  const judge = buildJudge(remap, column.ids);
  let done = 0;
  for await (const batch of db.read(selectValues(db, column))) {
    yield batch.map((row) => {
      const key = row.slice(0, -1);
      return { key, verdict: judgeKey(names, judge, key), rows: Number(row.at(-1)) };
    });
    done += batch.length;
    onProgress({ kind: 'step', name: `values of ${column.column.name}`, done, total: null });
  }
}

/** `key`: the value, then what its row says, as the crosswalk holds it. */
export function judgeKey(names: readonly string[], judge: Judge, key: readonly Value[]): Verdict {
  const scopeOf = (name: string) => {
    const text = names.includes(name) ? at(key, names.indexOf(name) + 1) : null;
    return text === null || text === '' ? null : String(text);
  };
  return judge(at(key, 0), { model: scopeOf('model'), region: scopeOf('region') });
}

/** Why nothing can be written to a table or a column. */
export function findWriteObstacles(table: ApplyTable, column: TableColumn): Obstacle[] {
  const stops = (code: string, text: string): Obstacle => ({ stops: 'write', code, text });
  const others = table.facts.obstacles.filter(
    (obstacle) => obstacle.column === undefined || obstacle.column === column.column.name,
  );
  const { state } = column;
  const isForeign = (name: string, isOurs: boolean) =>
    isOurs || !hasColumn(table, name)
      ? []
      : [
          stops(
            'column_exists',
            `${table.facts.table} has a column ${name} that svc-migrate did not add: rename it.`,
          ),
        ];
  return [
    ...others,
    ...(column.ids[0].path !== undefined || column.column.holds !== 'json'
      ? []
      : [stops('needs_path', `${column.column.name} holds JSON: name the "path" of the ids in it.`)]),
    ...isForeign(column.v4, state !== null),
    ...isForeign(column.v3, state !== null && !['writing', 'written', 'dropping'].includes(state.state)),
    ...(state?.state === 'undoing' || state?.state === 'dropping'
      ? [
          stops(
            'undoing',
            `An undo of ${table.facts.table}.${column.column.name} is unfinished: run apply undo.`,
          ),
        ]
      : []),
  ];
}

export function isSwitched(column: TableColumn): boolean {
  return column.state?.state === 'switched';
}

/**
 * Step 1: records the columns and loads their crosswalks. Changes nothing that the user made.
 *
 * @param onClaim called for a column when it has been recorded, so that a write that fails can take it back
 */
export async function loadTable(
  table: ApplyTable,
  remap: RemapIds,
  onProgress: OnProgress,
  onClaim: (column: TableColumn) => void = () => {},
): Promise<LoadedColumn[]> {
  const { db } = table;
  const loaded: LoadedColumn[] = [];
  for (const column of table.columns.filter((each) => !isSwitched(each))) {
    if (column.state === null) {
      await claimColumn(db, column, remap.sha256);
      onClaim(column);
    }
    await whileWritable(db, column, () => executeAll(db, db.createTable(crosswalkDefinition(db, column))));
    // A second process waits here.
    const tally = await whileWritable(db, column, () => loadCrosswalk(db, column, remap, onProgress));
    const notes = describeEmptyPaths(table.facts.table, column.ids, tally.emptyPaths());
    loaded.push({ column: column.column.name, counts: tally.list(), notes });
  }
  return loaded;
}

/**
 * Runs work in a transaction that locks the state of a column.
 *
 * @throws SvcError `locked` if another process switched the column or is taking it back
 */
function whileWritable<T>(
  db: Database,
  column: CrosswalkColumn,
  work: (state: ColumnState) => Promise<T>,
): Promise<T> {
  const run = async () => work(await lockForWrite(db, column));
  return detectStateChange(db, [column], WRITABLE, () => db.transaction('write', run));
}

/** Replaces the rows of the crosswalk: the data, the remap or the definition may have changed since the last write. */
async function loadCrosswalk(
  db: Database,
  column: CrosswalkColumn,
  remap: RemapIds,
  onProgress: OnProgress,
): Promise<Tally> {
  const tally = new Tally();
  const table = crosswalkSql(db, column);
  const names = crosswalkColumns(column);
  await db.execute(`delete from ${table}`);
  for await (const values of judgeValues(db, column, remap, onProgress)) {
    await db.insert(
      table,
      names,
      values.map(({ key, verdict }) => [...key, verdict.new, verdict.reason]),
    );
    tally.addAll(values);
  }
  return tally;
}

/** Step 2: adds the new columns. */
export async function addColumns(table: ApplyTable): Promise<void> {
  const { db } = table;
  for (const column of table.columns.filter((each) => !isSwitched(each)))
    await whileWritable(db, column, async () => {
      if (!hasColumn(await refresh(table), column.v4)) await db.execute(addColumn(db, column, column.v4));
    });
}

/** Step 3: fills the new columns by the crosswalks. */
export async function fillTable(
  table: ApplyTable,
  remap: RemapIds,
  loaded: readonly LoadedColumn[],
): Promise<WrittenColumn[]> {
  const { db } = table;
  const written: WrittenColumn[] = [];
  for (const column of table.columns.filter((each) => !isSwitched(each))) {
    const changed = await whileWritable(db, column, async (state) => {
      // Where DDL commits, another process may have prepared the switch since: COLUMN_v3 is then ours.
      const next = state === 'switching' ? state : 'written';
      await changeState(db, column, [state], next, remap.sha256);
      return executeAll(db, fillColumn(db, column));
    });
    const counts = must(loaded.find((each) => each.column === column.column.name));
    written.push({ ...counts, newColumn: column.v4, changed });
  }
  return written;
}
