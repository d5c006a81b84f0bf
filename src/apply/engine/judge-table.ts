import type { IdColumn, TableTarget } from '../../config/apply-targets.js';
import { didYouMeanEnding } from '../../text/suggest.js';
import { blocks, type Note, type Policy } from '../plan.js';
import { partsOf, sourceColumns } from './id-columns.js';
import { columnOf, type ForeignKey, type Handling, type TableFacts } from './table-facts.js';

/** Id columns of a table that one target rewrites. */
export interface TableIds {
  /** The target. */
  readonly name: string;
  readonly table: string;
  readonly ids: readonly IdColumn[];
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
  const untouched = { key: [], isAtomic: false, parked: [] };
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
  const ids = target.ids.map((id) => id.column);
  const isRewritten = (column: string) => ids.includes(column);
  const key = chooseKey(facts, target.key, isRewritten);
  const uniques = facts.uniques.filter(({ columns }) => columns.some(isRewritten));
  const foreignKeys = facts.foreignKeys.filter(({ columns }) => columns.some(isRewritten));
  const isChecked = facts.columns.some((column) => column.isChecked && isRewritten(column.name));
  const isAtomic = uniques.length > 0 || foreignKeys.length > 0 || isChecked || key.columns.some(isRewritten);
  const parked = new Set(uniques.flatMap(({ columns }) => columns.filter(isRewritten).slice(0, 1)));
  return {
    handling: { key: key.columns, isAtomic, parked: [...parked] },
    notes: [
      ...notes,
      ...key.notes,
      ...triggerNotes(facts),
      ...foreignKeys.flatMap((one) => foreignKeyNotes(facts, one, all)),
    ],
  };
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

function foreignKeyNotes(facts: TableFacts, key: ForeignKey, all: readonly TableIds[]): Note[] {
  const { name, direction, columns, otherTable, otherColumns, onUpdate, isDeferrable } = key;
  const note = (level: Note['level'], text: string): Note[] => [{ level, code: 'foreign_key', text }];
  const other = `${otherTable} (${otherColumns.join(', ')})`;
  const child = direction === 'in' ? other : `${facts.table} (${columns.join(', ')})`;
  const isOtherRewritten = all.some(
    ({ table, ids }) => table === otherTable && ids.some(({ column }) => otherColumns.includes(column)),
  );
  if (onUpdate === 'set')
    return note(
      'blocks',
      `${name} sets ${child} to NULL or its default when ids change: change its ON UPDATE first.`,
    );
  if (onUpdate === 'cascade' && isOtherRewritten)
    return note(
      'blocks',
      `${child} changes too, by ON UPDATE CASCADE (${name}): do not make it a target as well.`,
    );
  if (onUpdate === 'cascade' && direction === 'in')
    return note('warning', `${child} changes too, by ON UPDATE CASCADE (${name}).`);
  if (isOtherRewritten && !isDeferrable) {
    const fix = `ALTER TABLE … ALTER CONSTRAINT ${name} DEFERRABLE`;
    const text = `${name} is checked after every statement, and ${other} changes too: make it deferrable first (${fix}).`;
    return note('blocks', text);
  }
  if (isOtherRewritten) return [];
  if (direction === 'in') {
    const text = `${child} refers to these ids (${name}) and is not rewritten: make it a target too.`;
    return note('blocks', text);
  }
  const text = `${name} refers to ${other}, which is not rewritten: the new ids must already exist there.`;
  return note('warning', text);
}
