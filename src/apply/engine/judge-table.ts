import { columnLabel, type IdColumn, newColumnOf, type TableTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { didYouMeanEnding } from '../../text/suggest.js';
import type { ApplyContext } from '../context.js';
import { blocks, type Earlier, type Mode, NO_EARLIER, type Note, type Policy } from '../plan.js';
import { addedColumns, canMeet, isSameName, partsOf, sourceColumns, writesPlatformId } from './id-columns.js';
import { columnOf, type EarlierRun, type ForeignKey, type Handling, type TableFacts } from './table-facts.js';

/** Id columns of a table that one target rewrites. */
export interface TableIds {
  /** The target. */
  readonly name: string;
  readonly table: string;
  readonly ids: readonly IdColumn[];
  readonly foreignKeys: readonly ForeignKey[];
  /** As in `Handling`. */
  readonly isAtomic: boolean;
}

interface Judgement {
  readonly handling: Handling;
  readonly notes: readonly Note[];
}

/** Decides how to rewrite a table, and what blocks it. `all`: every table of the plan. */
export function judgeTable(
  facts: TableFacts,
  target: TableTarget,
  policy: Policy,
  all: readonly TableIds[],
): Judgement {
  const untouched = { key: [], isAtomic: false, parked: [], immediate: [] };
  if (facts.notes.some((note) => note.code === 'unknown_table')) {
    return { handling: untouched, notes: facts.notes };
  }
  const isTable = facts.kind === 'table';
  const kind = `${facts.table} is a ${facts.kind}: name the table behind it.`;
  const notes = [
    ...(isTable ? [] : [blocks('not_a_table', kind)]),
    ...facts.notes,
    ...unknownColumns(facts, target.key ?? []),
    ...sourceColumns(target.ids)
      .flatMap(partsOf)
      .flatMap((id) => columnNotes(facts, id)),
  ];
  if (policy.mode === 'new' || !isTable) return { handling: untouched, notes };
  const { isRewritten, key, uniques, foreignKeys } = readConstraints(facts, target);
  const parked = new Set(uniques.flatMap(({ columns }) => columns.filter(isRewritten).slice(0, 1)));
  const atOnce = all.filter((one) => one.isAtomic);
  const isLinked = atOnce.some((one) =>
    one.foreignKeys.some(({ otherTable }) => atOnce.some(({ table }) => table === otherTable)),
  );
  const immediate = foreignKeys.filter(
    (one) =>
      one.direction === 'out' &&
      (one.isDeferrable === 'linked' ? !isLinked : !one.isDeferrable) &&
      !isOtherRewritten(one, all),
  );
  return {
    handling: { key: key.columns, isAtomic: isAtomicTable(facts, target), parked: [...parked], immediate },
    notes: [
      ...notes,
      ...key.notes,
      ...triggerNotes(facts),
      ...foreignKeys.flatMap((one) => foreignKeyNotes(facts, one, all, isLinked)),
    ],
  };
}

/** What constrains the ids of a table. */
function readConstraints(facts: TableFacts, target: TableTarget) {
  const isRewritten = (name: string) => target.ids.some(({ column }) => column === name);
  return {
    isRewritten,
    key: chooseKey(facts, target.key, isRewritten),
    uniques: facts.uniques.filter(({ columns }) => columns.some(isRewritten)),
    foreignKeys: facts.foreignKeys.filter(({ columns }) => columns.some(isRewritten)),
  };
}

/** Whether a table is rewritten in one transaction. */
export function isAtomicTable(facts: TableFacts, target: TableTarget): boolean {
  const { isRewritten, key, uniques, foreignKeys } = readConstraints(facts, target);
  const isChecked = facts.columns.some((column) => column.isChecked && isRewritten(column.name));
  return uniques.length > 0 || foreignKeys.length > 0 || isChecked || key.columns.some(isRewritten);
}

function unknownColumns(facts: TableFacts, names: readonly (string | undefined)[]): Note[] {
  const known = facts.columns.map((column) => column.name);
  return names
    .filter((name) => name !== undefined && !known.includes(name))
    .map((name = '') =>
      blocks('unknown_column', `${facts.table} has no column "${name}"${didYouMeanEnding(name, known)}`),
    );
}

function columnNotes(facts: TableFacts, id: IdColumn): Note[] {
  const notes = unknownColumns(facts, [id.column, id.modelColumn, id.regionColumn, id.companyColumn]);
  const column = columnOf(facts, id.column);
  if (column === undefined) return notes;
  const { name, type, holds, isGenerated } = column;
  if (isGenerated) {
    notes.push(blocks('generated_column', `${name} is generated: rewrite the column it is computed from.`));
  }
  const isText = holds === 'text' || holds === 'json' || holds === 'any';
  if (holds === 'other' || (id.path !== undefined && !isText)) {
    const inJson = id.path === undefined ? '' : ' in JSON';
    notes.push(blocks('column_type', `${name} is ${type}: it cannot hold ids${inJson}.`));
  }
  if (holds === 'integer' && id.pattern !== undefined) {
    notes.push(blocks('column_type', `${name} is ${type}: a pattern needs a column of text.`));
  }
  if (holds === 'json' && id.path === undefined) {
    notes.push(blocks('column_type', `${name} is ${type}: say where in it the ids are with "path".`));
  }
  return notes;
}

function chooseKey(
  { table, keys }: TableFacts,
  named: readonly string[] | undefined,
  isRewritten: (column: string) => boolean,
): { readonly columns: readonly string[]; readonly notes: readonly Note[] } {
  const found =
    named === undefined
      ? (keys.find((key) => !key.some(isRewritten)) ?? keys[0])
      : keys.find((key) => key.length === named.length && key.every((one) => named.includes(one)));
  if (found !== undefined) return { columns: found, notes: [] };
  const text =
    named === undefined
      ? `${table} has no primary key and no unique index on columns that are never null and whose type the ledger can keep: its rows cannot be identified. Without --in-place a new column is filled instead.`
      : `${named.join(', ')} is not a unique key of ${table} whose columns are never null.`;
  return { columns: [], notes: [blocks('no_key', text)] };
}

function triggerNotes({ triggers }: TableFacts): Note[] {
  if (triggers.length === 0) return [];
  const text = `Every changed row fires ${triggers.join(', ')}.`;
  return [{ level: 'warning', code: 'triggers', text }];
}

function isOtherRewritten({ otherTable, otherColumns }: ForeignKey, all: readonly TableIds[]): boolean {
  return all.some(
    ({ table, ids }) => table === otherTable && ids.some(({ column }) => otherColumns.includes(column)),
  );
}

/** `isLinked`: foreign keys link tables that are rewritten in one transaction, so that MySQL checks none until the end. */
function foreignKeyNotes(
  facts: TableFacts,
  key: ForeignKey,
  all: readonly TableIds[],
  isLinked: boolean,
): Note[] {
  const { name, direction, columns, otherTable, otherColumns, onUpdate, isDeferrable } = key;
  const note = (level: Note['level'], text: string): Note[] => [{ level, code: 'foreign_key', text }];
  const other = `${otherTable} (${otherColumns.join(', ')})`;
  const child = direction === 'in' ? other : `${facts.table} (${columns.join(', ')})`;
  const isRewritten = isOtherRewritten(key, all);
  if (onUpdate === 'set')
    return note(
      'blocks',
      `${name} sets ${child} to NULL or its default when ids change: change its ON UPDATE first.`,
    );
  if (onUpdate === 'cascade' && isRewritten)
    return note(
      'blocks',
      `${child} changes too, by ON UPDATE CASCADE (${name}): do not make it a target as well.`,
    );
  if (onUpdate === 'cascade' && direction === 'in' && isDeferrable === 'linked' && isLinked)
    return note(
      'blocks',
      `${name} changes rows itself (ON UPDATE CASCADE), which it cannot where foreign keys link tables of the plan: change it to ON UPDATE RESTRICT, and make both of its tables targets.`,
    );
  if (onUpdate === 'cascade' && direction === 'in')
    return note('warning', `${child} changes too, by ON UPDATE CASCADE (${name}).`);
  if (isRewritten && !isDeferrable) {
    const fix = `ALTER TABLE … ALTER CONSTRAINT ${name} DEFERRABLE`;
    const text = `${name} is checked after every statement, and ${other} changes too: make it deferrable first (${fix}), and not ON UPDATE RESTRICT.`;
    return note('blocks', text);
  }
  if (isRewritten) return [];
  if (direction === 'in') {
    const text = `${child} refers to these ids (${name}) and is not rewritten: make it a target too.`;
    return note('blocks', text);
  }
  const text = `${name} refers to ${other}, which is not rewritten: the new ids must already exist there.`;
  return note('warning', text);
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one, at) => one === b[at]);
}

/** Blocks that earlier runs put on a plan for a table; `key`: the columns by which the plan identifies rows. */
export function earlierRunNotes(
  context: ApplyContext,
  target: TableTarget,
  key: readonly string[],
  runs: readonly EarlierRun[],
): Note[] {
  return [
    ...unfinishedNotes(context, target, runs),
    ...rowKeyNotes(context, target, runs),
    ...otherKeyNotes(key, runs),
  ];
}

/** Blocks everything but finishing an unfinished run, with the remap it began with, or undoing it. */
export function unfinishedNotes(
  { policy, remapVersion, formatUndo }: ApplyContext,
  target: TableTarget,
  runs: readonly EarlierRun[],
): Note[] {
  const open = runs.find(({ state }) => state !== 'done');
  if (open === undefined) return [];
  const { run, state, mode, labels } = open;
  if (state !== 'working' || mode !== policy.mode || !isSameList(labels, target.ids.map(columnLabel))) {
    const what = state === 'undoing' ? 'is partly undone: finish with' : 'is unfinished: finish it, or';
    return [blocks('other_run', `Run ${run} ${what} \`${formatUndo(run)}\`.`)];
  }
  if (open.remapSha256 === remapVersion.sha256) return [];
  const text = `Run ${run} began with another remap: finish it with that one, or \`${formatUndo(run)}\`.`;
  return [blocks('other_remap', text)];
}

/** Blocks changes to columns by which earlier runs identify their rows. */
function rowKeyNotes({ policy }: ApplyContext, { ids }: TableTarget, runs: readonly EarlierRun[]): Note[] {
  if (policy.mode === 'new') return [];
  return sourceColumns(ids).flatMap((id) => {
    const keyed = runs.find((run) => run.mode === 'in_place' && isKeyOf(run, id));
    if (keyed === undefined || isCovered(runs, id)) return [];
    const text = `Run ${keyed.run} identifies its rows by ${id.column}: undo it first, or leave ${id.column} as it is.`;
    return [blocks('other_run', text)];
  });
}

/** Blocks a key other than that of earlier runs: their ledger entries are found only by the key they were made with. */
function otherKeyNotes(key: readonly string[], runs: readonly EarlierRun[]): Note[] {
  const other = runs.find((run) => run.mode === 'in_place' && !isSameList(run.key, key));
  if (other === undefined || key.length === 0) return [];
  const text = `Run ${other.run} identified rows by ${other.key.join(', ')}: set "key" to that.`;
  return [blocks('other_key', text)];
}

/** Whether a run rewrote this column. */
function isCovered(runs: readonly EarlierRun[], id: IdColumn): boolean {
  return runs.some((run) => run.mode === 'in_place' && run.labels.includes(columnLabel(id)));
}

/** Whether a run identifies its rows by a column that it did not rewrite itself. */
function isKeyOf({ key, labels }: EarlierRun, { column, path }: IdColumn): boolean {
  return path === undefined && key.includes(column) && !labels.includes(column);
}

/**
 * Checks that no other run identifies its rows by a column that this run rewrote: it must be undone first.
 *
 * @throws SvcError `bad_input`
 */
export function assertNoDependent(run: EarlierRun, all: readonly EarlierRun[]): void {
  const isDependent = (other: EarlierRun) => run.target.ids.some((id) => isKeyOf(other, id));
  const found = all.find((one) => one.run !== run.run && one.mode === 'in_place' && isDependent(one));
  if (found === undefined) return;
  throw new SvcError(
    'bad_input',
    `Run ${found.run} identifies its rows by a column that run ${run.run} rewrote.`,
    {
      hint: `Undo run ${found.run} first.`,
    },
  );
}

/** Whether the plan looks a column up. In place it does not if a run is unfinished or, without `again`, if a run rewrote the column. */
export function needsLookUp(
  { policy }: ApplyContext,
  { runs, earlier }: { readonly runs: readonly EarlierRun[]; readonly earlier: Earlier },
  id: IdColumn,
): boolean {
  if (policy.mode === 'new') return true;
  return earlier.state !== 'unfinished' && (policy.again || !isCovered(runs, id));
}

/** The state that earlier runs left; `covered`: columns whose rows without a ledger entry must be counted; `open`: the unfinished run whose cells are still to be counted. */
export function findEarlier<R extends EarlierRun>(
  { policy }: ApplyContext,
  target: TableTarget,
  runs: readonly R[],
): { readonly earlier: Earlier; readonly covered: readonly IdColumn[]; readonly open?: R } {
  const labels = target.ids.map(columnLabel);
  const own = runs.filter(
    (run) => run.mode === policy.mode && run.labels.some((name) => labels.includes(name)),
  );
  const last = own.at(-1);
  if (last === undefined) return { earlier: NO_EARLIER, covered: [] };
  const base = { ...NO_EARLIER, run: last.run, done: own.reduce((sum, run) => sum + run.changed, 0) };
  if (policy.mode === 'new' || last.state !== 'done') {
    const earlier = { ...base, state: 'unfinished', left: 0 } as const;
    return policy.mode === 'new' ? { earlier, covered: [] } : { earlier, covered: [], open: last };
  }
  const covered = target.ids.filter((id) => isCovered(runs, id));
  const state = covered.length === target.ids.length ? 'finished' : 'none';
  return { earlier: { ...base, state }, covered };
}

/**
 * Blocks columns whose V4 ids would be taken for V3 ids and rewritten again: those that a run rewrote or filled, also
 * through another path to the same values.
 */
export function rewrittenNotes(mode: Mode, ids: readonly IdColumn[], runs: readonly EarlierRun[]): Note[] {
  return ids.flatMap((id) => {
    const filler = runs.find(
      (run) => run.mode === 'new' && run.target.ids.some((own) => isSameName(newColumnOf(own), id.column)),
    );
    if (filler !== undefined) {
      return [blocks('v4_column', `${id.column} was filled by run ${filler.run}: its ids are V4 ids.`)];
    }
    // The same column in place is fine: the ledger lists the cells already rewritten.
    const isListed = (run: EarlierRun, own: IdColumn) =>
      mode === 'in_place' &&
      (writesPlatformId(id) ? run.labels.includes(columnLabel(id)) : columnLabel(own) === columnLabel(id));
    const writer = runs.find(
      (run) =>
        run.mode === 'in_place' &&
        sourceColumns(run.target.ids).some((own) => canMeet(own, id) && !isListed(run, own)),
    );
    if (writer === undefined) return [];
    const text = `${writesPlatformId(id) ? id.column : columnLabel(id)} was rewritten in place by run ${writer.run}: its ids are V4 ids.`;
    return [blocks('rewritten', text)];
  });
}

/** Why new columns cannot be recomputed: the column they were filled from no longer holds V3 ids. Null if they can be. */
export function lostSource(run: EarlierRun, runs: readonly EarlierRun[]): string | null {
  if (run.mode !== 'new') return null;
  for (const { column } of run.target.ids) {
    const writer = runs.find(
      (one) => one.mode === 'in_place' && one.target.ids.some((own) => isSameName(own.column, column)),
    );
    if (writer !== undefined) return `${column} was rewritten in place by run ${writer.run}`;
  }
  return null;
}

/**
 * Blocks targets of one plan that rewrite the same ids, fill the same new column, or change one table in a single
 * transaction (`isAtomic`), which supports only one target per table.
 */
export function otherTargetNotes(
  mode: Mode,
  { name, table, ids }: Pick<TableIds, 'name' | 'table' | 'ids'>,
  isAtomic: boolean,
  all: readonly TableIds[],
): Note[] {
  const others = all.filter((one) => one.name !== name && one.table === table);
  const rewritten = others.flatMap((other) =>
    sourceColumns(ids)
      .filter((id) => sourceColumns(other.ids).some((own) => canMeet(own, id)))
      .map((id) =>
        blocks('named_twice', `${columnLabel(id)} is named by target ${other.name} too: name it once.`),
      ),
  );
  const sameTable = others.slice(0, isAtomic ? 1 : 0).map((other) => {
    const text = `Target ${other.name} is the same table: name all its columns in one target.`;
    return blocks('same_table', text);
  });
  return [...rewritten, ...newColumnTwice(mode, ids, others), ...sameTable];
}

function newColumnTwice(mode: Mode, ids: readonly IdColumn[], others: readonly TableIds[]): Note[] {
  const added = addedColumns(mode, ids);
  const names = added.map((name) => name.toLowerCase());
  const own = added
    .filter((_, at) => names.indexOf(names[at] ?? '') !== at)
    .map((name) => ({ name, where: 'twice' }));
  const rivals = others.flatMap((one) =>
    addedColumns(mode, one.ids).map((name) => ({ name, where: `by target ${one.name} too` })),
  );
  return [...own, ...rivals]
    .filter(({ name }) => names.includes(name.toLowerCase()))
    .map(({ name, where }) => {
      const text = `The new column ${name} is filled ${where}: give each its own "newColumn" and "platformIdColumn".`;
      return blocks('named_twice', text);
    });
}
