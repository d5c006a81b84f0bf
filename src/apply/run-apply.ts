import {
  type ApplyTarget,
  type DatabasePlace,
  type FileTarget,
  isFile,
  type TableTarget,
} from '../config/apply-targets.js';
import type { Env, OnProgress } from '../domain.js';
import { expectedError, SvcError } from '../errors.js';
import type { Connection, Database, Obstacle } from './db/database.js';
import type { CheckedFile } from './files/file-targets.js';
import { type CheckedColumn, type ColumnPlan, checkTable, planTable } from './plan-and-check.js';
import { printScripts, type Scripts } from './print.js';
import type { RemapIds } from './remap-ids.js';
import { openPlace, placeKey, type Selection } from './select-targets.js';
import { detectStateChange, dropEmptyStates } from './state.js';
import {
  assertReady,
  findSwitchObstacles,
  RefusedSwitch,
  type SwitchedColumn,
  switchTable,
  type UndoneColumn,
  undoTable,
} from './switch-columns.js';
import { type ApplyTable, openTable, openWrittenTables, type TableColumn } from './tables.js';
import { type OutcomeCount, sumOf, unmappedOf } from './verdict.js';
import {
  addColumns,
  fillTable,
  findWriteObstacles,
  isSwitched,
  type LoadedColumn,
  loadTable,
  type WrittenColumn,
} from './write-columns.js';

export interface ApplyContext {
  readonly connection: Connection;
  readonly env: Env;
  readonly onProgress: OnProgress;
}

export interface TargetPlan {
  readonly name: string;
  readonly kind: ApplyTarget['kind'];
  /** File or table, without secrets. */
  readonly place: string;
  readonly output: string | null;
  readonly columns: readonly ColumnPlan[];
  readonly notes: readonly Obstacle[];
}

export type OfTarget<T> = T & { readonly target: string; readonly place: string };

function placeOf(target: TableTarget): DatabasePlace {
  return target.kind === 'sqlite'
    ? { kind: target.kind, file: target.file }
    : { kind: target.kind, urlEnv: target.urlEnv, tls: target.tls };
}

type Open = (place: DatabasePlace) => Promise<Database>;

/** `opened`: the databases that the work opened so far. */
async function withDatabases<T>(
  { connection, env }: ApplyContext,
  mode: 'read' | 'write',
  work: (open: Open, opened: ReadonlyMap<string, Database>) => Promise<T>,
): Promise<T> {
  const opened = new Map<string, Database>();
  const open: Open = async (place) => {
    const db = opened.get(placeKey(place)) ?? (await openPlace(place, mode, connection, env));
    opened.set(placeKey(place), db);
    return db;
  };
  try {
    return await work(open, opened);
  } finally {
    for (const db of opened.values()) await db.close();
  }
}

const tablePlace = (table: ApplyTable) => `${table.db.place}, table ${table.facts.table}`;

export function planTargets(
  targets: readonly ApplyTarget[],
  remap: RemapIds,
  context: ApplyContext,
): Promise<TargetPlan[]> {
  return withDatabases(context, 'read', async (open) => {
    const plans: TargetPlan[] = [];
    for (const target of targets) {
      if (isFile(target)) {
        plans.push(await planOneFile(target, remap, context));
        continue;
      }
      const table = await openTable(await open(placeOf(target)), target);
      const columns = await planTable(table, remap, context.onProgress);
      plans.push({
        name: target.name,
        kind: target.kind,
        place: tablePlace(table),
        output: null,
        columns,
        notes: distinct(columns.flatMap(({ notes }) => notes)),
      });
    }
    return plans;
  });
}

function distinct(notes: readonly Obstacle[]): Obstacle[] {
  return notes.filter((note, at) => notes.findIndex(({ text }) => text === note.text) === at);
}

async function planOneFile(
  target: FileTarget,
  remap: RemapIds,
  { onProgress }: ApplyContext,
): Promise<TargetPlan> {
  const { planFile } = await import('./files/file-targets.js');
  const { outputOf } = await import('../config/apply-targets.js');
  const { columns } = await planFile(target, remap, onProgress);
  return {
    name: target.name,
    kind: target.kind,
    place: target.file,
    output: outputOf(target),
    columns: columns.map((column) => ({ ...column, newColumn: null, state: 'none' })),
    notes: columns.flatMap(({ notes }) => notes),
  };
}

export interface WriteResult {
  readonly written: readonly OfTarget<Omit<WrittenColumn, 'notes'> & { readonly output: string | null }>[];
  readonly switchedBefore: readonly OfTarget<{ readonly column: string }>[];
  /** If ids have no V4 id and that was not allowed: their counts. Nothing was written then. */
  readonly refused: readonly OfTarget<{
    readonly column: string;
    readonly counts: readonly OutcomeCount[];
  }>[];
}

/**
 * apply write: loads every crosswalk first, so that a refusal leaves nothing behind.
 *
 * @throws SvcError `bad_input` if something stands in the way or every column was switched before; `apply_stopped` if it
 *   stopped part-way
 */
export function writeTargets(
  targets: readonly ApplyTarget[],
  remap: RemapIds,
  { isPartial }: { readonly isPartial: boolean },
  context: ApplyContext,
): Promise<WriteResult> {
  return withDatabases(context, 'write', async (open) => {
    const tables = await openTables(targets, open);
    const switchedBefore = tables.flatMap((table) =>
      table.columns.filter(isSwitched).map(({ column }) => ({ ...nameOf(table), column: column.name })),
    );
    for (const table of tables) await assertWritable(table);
    const files = targets.filter(isFile);
    if (files.length === 0 && tables.every(({ columns }) => columns.every(isSwitched)))
      throw alreadySwitched(tables);
    const claims: Claim[] = [];
    const loads: { readonly table: ApplyTable; readonly loaded: readonly LoadedColumn[] }[] = [];
    try {
      for (const table of tables) {
        const onClaim = (column: TableColumn) => claims.push({ table, column });
        loads.push({ table, loaded: await loadTable(table, remap, context.onProgress, onClaim) });
      }
      const columns = [
        ...loads.flatMap(({ table, loaded }) => loaded.map((column) => ({ ...nameOf(table), ...column }))),
        ...(await planFiles(files, remap, context)),
      ];
      const wrongPath = columns.flatMap(({ notes }) => notes).find(({ stops }) => stops === 'write');
      if (wrongPath !== undefined)
        throw new SvcError('config', wrongPath.text, { hint: 'Correct the path. Nothing was written.' });
      const refused = columns
        .filter(({ counts }) => unmappedOf(counts).length > 0)
        .map(({ notes: _, ...column }) => column);
      if (refused.length > 0 && !isPartial) {
        await discard(claims, tables);
        return { written: [], switchedBefore, refused };
      }
      for (const table of tables) await addColumns(table);
    } catch (error) {
      await discard(claims, tables).catch(() => {});
      throw error;
    }
    const written: WriteResult['written'][number][] = [];
    const names = [...tables.map(({ target }) => target), ...files.map(({ name }) => name)];
    for (const [at, { table, loaded }] of loads.entries()) {
      const isBegun = ({ code }: SvcError) => code !== 'locked';
      const columns = await orStopped(names, at, () => fillTable(table, remap, loaded), isBegun);
      written.push(
        ...columns.map(({ notes: _, ...column }) => ({
          ...nameOf(table),
          ...column,
          output: null,
        })),
      );
    }
    for (const [at, file] of files.entries()) {
      const write = () => writeOneFile(file, remap, isPartial, context);
      written.push(...(await orStopped(names, tables.length + at, write)));
    }
    return { written, switchedBefore, refused: [] };
  });
}

async function openTables(targets: readonly ApplyTarget[], open: Open): Promise<ApplyTable[]> {
  const tables: ApplyTable[] = [];
  for (const target of targets)
    if (!isFile(target)) tables.push(await openTable(await open(placeOf(target)), target));
  return tables;
}

function nameOf(table: ApplyTable): { readonly target: string; readonly place: string } {
  return { target: table.target, place: tablePlace(table) };
}

async function planFiles(files: readonly FileTarget[], remap: RemapIds, context: ApplyContext) {
  const plans: OfTarget<Pick<ColumnPlan, 'column' | 'counts' | 'notes'>>[] = [];
  for (const file of files) {
    const { columns, place } = await planOneFile(file, remap, context);
    plans.push(
      ...columns.map(({ column, counts, notes }) => ({ target: file.name, place, column, counts, notes })),
    );
  }
  return plans;
}

async function writeOneFile(
  file: FileTarget,
  remap: RemapIds,
  isPartial: boolean,
  { onProgress }: ApplyContext,
) {
  const { writeFile } = await import('./files/file-targets.js');
  const { columns, output } = await writeFile(file, remap, { partial: isPartial, onProgress });
  return columns.map(({ column, counts }) => ({
    target: file.name,
    place: file.file,
    column,
    newColumn: column,
    counts,
    changed: sumOf(
      counts.filter(({ name }) => name === 'mapped'),
      'rows',
    ),
    output,
  }));
}

interface Claim {
  readonly table: ApplyTable;
  readonly column: TableColumn;
}

/** Undoes a write that has not changed any cell yet. */
async function discard(claims: readonly Claim[], tables: readonly ApplyTable[]): Promise<void> {
  for (const table of new Set(claims.map((claim) => claim.table))) {
    const isClaimed = (name: string) =>
      claims.some((claim) => claim.table === table && claim.column.column.name === name);
    // Another process may have written a claimed column since.
    const isToUndo = ({ column, state }: TableColumn) => state?.state === 'writing' && isClaimed(column.name);
    const [now] = await openWrittenTables(table.db, table.facts.table);
    if (now !== undefined) await undoTable({ ...now, columns: now.columns.filter(isToUndo) });
  }
  for (const db of new Set(tables.map(({ db }) => db))) await dropEmptyStates(db);
}

async function assertWritable(table: ApplyTable): Promise<void> {
  for (const column of table.columns.filter((each) => !isSwitched(each))) {
    const stop = findWriteObstacles(table, column).find(({ stops }) => stops === 'write');
    if (stop === undefined) continue;
    // A column beside it may be another process's.
    await detectStateChange(table.db, [column], [column.state?.state], async () => {
      throw new SvcError(stop.code === 'undoing' ? 'incomplete' : 'bad_input', stop.text, {
        hint: 'Nothing was written. `svc-migrate apply plan` shows everything that stands in the way.',
      });
    });
  }
}

function alreadySwitched(tables: readonly ApplyTable[]): SvcError {
  const names = tables.map(
    ({ facts, columns }) => `${facts.table}.${columns.map(({ column }) => column.name).join(', ')}`,
  );
  return new SvcError(
    'bad_input',
    `Already switched: ${names.join('; ')} ${names.length === 1 ? 'holds' : 'hold'} V4 ids.`,
    {
      hint: 'Nothing is left to do. `svc-migrate apply undo` takes the switch back.',
    },
  );
}

/**
 * Runs the work on the target `names[at]`. An error after the first change of the user's data is exit code 7, and says
 * which targets are done.
 *
 * @param isBegun whether the first target was changed before the error
 */
async function orStopped<T>(
  names: readonly string[],
  at: number,
  work: () => Promise<T>,
  isBegun: (error: SvcError) => boolean = () => false,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const expected = expectedError(error);
    if (expected === null || expected.code === 'interrupted' || (at === 0 && !isBegun(expected))) throw error;
    const done = at === 0 ? 'none' : names.slice(0, at).join(', ');
    const notDone = names.slice(at).join(', ');
    throw new SvcError(
      'apply_stopped',
      `Stopped part-way. Done: ${done}. Not done: ${notDone}. ${expected.message}`,
      {
        hint: `${expected.hint ?? ''} Run the same command again, or \`svc-migrate apply undo\`.`.trim(),
        facts: expected.facts,
        cause: expected,
      },
    );
  }
}

/** The tables of selections as the targets themselves record them; columns that were never written have no state. */
async function openSelections(
  selections: readonly Selection[],
  open: Open,
  withUnwritten: boolean,
): Promise<ApplyTable[]> {
  const tables: ApplyTable[] = [];
  for (const selection of selections) {
    if (selection.kind === 'place') {
      tables.push(...(await openWrittenTables(await open(selection.place), selection.table)));
      continue;
    }
    const { target } = selection;
    if (isFile(target)) continue;
    const db = await open(placeOf(target));
    const [written] = await openWrittenTables(db, target.table, target.name);
    if (!withUnwritten) {
      if (written !== undefined) tables.push(written);
      continue;
    }
    const configured = await openTable(db, target);
    tables.push({ ...configured, columns: written?.columns ?? [] }, configured);
  }
  return merge(tables);
}

function merge(tables: readonly ApplyTable[]): ApplyTable[] {
  const merged: ApplyTable[] = [];
  for (const table of tables) {
    const at = merged.findIndex(({ db, facts }) => db === table.db && facts.table === table.facts.table);
    const before = merged[at];
    if (before === undefined) merged.push(table);
    else {
      const isKnown = (name: string) => before.columns.some(({ column }) => column.name === name);
      const columns = [...before.columns, ...table.columns.filter(({ column }) => !isKnown(column.name))];
      merged[at] = { ...before, columns };
    }
  }
  return merged;
}

function filesOfSelections(selections: readonly Selection[]): FileTarget[] {
  return selections.flatMap((selection) =>
    selection.kind === 'target' && isFile(selection.target) ? [selection.target] : [],
  );
}

export interface CheckResult {
  readonly columns: readonly OfTarget<CheckedColumn>[];
  readonly files: readonly OfTarget<CheckedFile>[];
}

/** apply check. `remap`: null if there is none to compare the crosswalks with. */
export function checkTargets(
  selections: readonly Selection[],
  remap: RemapIds | null,
  context: ApplyContext,
): Promise<CheckResult> {
  return withDatabases(context, 'read', async (open) => {
    const columns: OfTarget<CheckedColumn>[] = [];
    for (const table of await openSelections(selections, open, true))
      columns.push(...(await checkTable(table, remap)).map((column) => ({ ...nameOf(table), ...column })));
    const files: OfTarget<CheckedFile>[] = [];
    for (const target of filesOfSelections(selections)) {
      if (remap === null)
        throw new SvcError('incomplete', 'Files are checked against the remap, and there is none.', {
          hint: 'Run `svc-migrate run` first.',
        });
      const { checkFile } = await import('./files/file-targets.js');
      files.push({
        target: target.name,
        place: target.file,
        ...(await checkFile(target, remap, context.onProgress)),
      });
    }
    return { columns, files };
  });
}

export interface SwitchResult {
  readonly switched: readonly OfTarget<SwitchedColumn>[];
  /** If a column has ids without a V4 id and that was not allowed. Its table is as it was. */
  readonly refused: OfTarget<{
    readonly column: string;
    readonly unmapped: readonly { readonly name: string; readonly rows: number }[];
  }> | null;
  readonly skipped: readonly string[];
}

export function switchTargets(
  selections: readonly Selection[],
  { isEmptying }: { readonly isEmptying: boolean },
  context: ApplyContext,
): Promise<SwitchResult> {
  return withDatabases(context, 'write', async (open) => {
    const tables = await openSelections(selections, open, true);
    const skipped = filesOfSelections(selections).map(({ name }) => name);
    if (tables.length === 0 && skipped.length === 0) throw nothingWritten();
    for (const table of tables) assertSwitchable(table);
    if (tables.length > 0 && tables.every(({ columns }) => columns.every(isSwitched)))
      throw alreadySwitched(tables);
    const switched: OfTarget<SwitchedColumn>[] = [];
    const names = tables.map(({ target }) => target);
    const switchOne = async (table: ApplyTable, at: number) => {
      const columns = await orStopped(names, at, () => switchTable(table, isEmptying));
      switched.push(...columns.map((column) => ({ ...nameOf(table), ...column })));
    };
    const refused =
      (await orRefused(tables, (table) => assertReady(table, isEmptying))) ??
      (await orRefused(tables, switchOne));
    return { switched, refused, skipped };
  });
}

/** Works on one table after the other until a switch is refused. */
async function orRefused(
  tables: readonly ApplyTable[],
  work: (table: ApplyTable, at: number) => Promise<void>,
): Promise<SwitchResult['refused']> {
  for (const [at, table] of tables.entries()) {
    try {
      await work(table, at);
    } catch (error) {
      if (!(error instanceof RefusedSwitch)) throw error;
      const unmapped = error.unmapped.map(([name, rows]) => ({ name, rows }));
      return { ...nameOf(table), column: error.column, unmapped };
    }
  }
  return null;
}

function nothingWritten(): SvcError {
  return new SvcError('incomplete', 'Nothing was written there yet.', {
    hint: 'Run `svc-migrate apply write` first.',
  });
}

function assertSwitchable(table: ApplyTable): void {
  for (const column of table.columns.filter((each) => !isSwitched(each))) {
    const stop = [...table.facts.obstacles, ...findSwitchObstacles(table, column)].find(
      (obstacle) =>
        obstacle.stops !== 'none' && (obstacle.column ?? column.column.name) === column.column.name,
    );
    if (stop !== undefined) throw new SvcError('bad_input', stop.text, { hint: 'Nothing was switched.' });
  }
}

export interface UndoResult {
  readonly undone: readonly OfTarget<UndoneColumn>[];
  readonly files: readonly OfTarget<{ readonly output: string; readonly removed: boolean }>[];
}

export function undoTargets(selections: readonly Selection[], context: ApplyContext): Promise<UndoResult> {
  return withDatabases(context, 'write', async (open, opened) => {
    const undone: OfTarget<UndoneColumn>[] = [];
    const tables = await openSelections(selections, open, false);
    const selectedFiles = filesOfSelections(selections);
    const names = [...tables.map(({ target }) => target), ...selectedFiles.map(({ name }) => name)];
    for (const [at, table] of tables.entries()) {
      const columns: UndoneColumn[] = [];
      const isBegun = () => columns.length > 0;
      await orStopped(names, at, () => undoTable(table, columns), isBegun);
      undone.push(...columns.map((column) => ({ ...nameOf(table), ...column })));
    }
    for (const db of opened.values()) await dropEmptyStates(db);
    const files: UndoResult['files'][number][] = [];
    for (const [at, target] of selectedFiles.entries()) {
      const { undoFile } = await import('./files/file-targets.js');
      const result = await orStopped(names, tables.length + at, () => undoFile(target));
      files.push({ target: target.name, place: target.file, ...result });
    }
    return { undone, files };
  });
}

/**
 * apply sql. Changes nothing.
 *
 * @throws SvcError `usage` for a target of another kind; `bad_input` for a column that was written
 */
export function printTargets(
  targets: readonly ApplyTarget[],
  remap: RemapIds,
  { dialect, isEmptying }: { readonly dialect: Database['kind']; readonly isEmptying: boolean },
  context: ApplyContext,
): Promise<Scripts> {
  return withDatabases(context, 'read', async (open) => {
    const other = targets.find(({ kind }) => kind !== dialect);
    if (other !== undefined)
      throw new SvcError('usage', `The target ${other.name} is ${other.kind}, not ${dialect}.`, {
        hint: `Name targets of ${dialect}.`,
      });
    const tables = await openTables(targets, open);
    const places = new Set(tables.map(({ db }) => db.place));
    if (places.size > 1)
      throw new SvcError('usage', `The targets are in ${places.size} databases: ${[...places].join('; ')}.`, {
        hint: 'Name the targets of one database: its scripts run in that one.',
      });
    for (const table of tables) {
      await assertWritable(table);
      const written = table.columns.find(({ state }) => state !== null);
      if (written !== undefined) {
        throw new SvcError('bad_input', `${table.facts.table}.${written.column.name} was written already.`, {
          hint: 'Go on with `svc-migrate apply check`, or take it back with `svc-migrate apply undo`.',
        });
      }
    }
    return printScripts(tables, remap, { isEmptying }, context.onProgress);
  });
}
