import type { IdColumn, TableTarget } from '../../config/apply-targets.js';
import { orMeantEnd } from '../../text/suggest.js';
import { blocks } from '../column-work.js';
import type { Note, Policy } from '../plan.js';
import { partsOf } from './json-columns.js';
import { columnOf, type ForeignKey, type Handling, type TableFacts } from './table-facts.js';

/** Id columns of a table that are rewritten in the same run. */
export interface Rewritten {
  /** The target. */
  readonly name: string;
  readonly table: string;
  readonly ids: readonly IdColumn[];
  readonly columns: readonly string[];
}

export interface Judgement {
  readonly handling: Handling;
  readonly notes: readonly Note[];
}

/** What stands against rewriting a table, and how it is to be done; pure. */
export function judgeTable(
  facts: TableFacts,
  target: TableTarget,
  policy: Policy,
  rewritten: readonly Rewritten[],
): Judgement {
  if (facts.notes.some((note) => note.code === 'unknown_table')) {
    return { handling: { key: [], isAtomic: false, parked: [] }, notes: facts.notes };
  }
  const notes = [
    ...kindNotes(facts),
    ...facts.notes,
    ...unknownColumns(facts, target.key ?? []),
    ...target.ids.flatMap(partsOf).flatMap((id) => columnNotes(facts, id)),
  ];
  if (policy.mode === 'new' || notes.some((note) => note.code === 'not_a_table')) {
    return { handling: { key: [], isAtomic: false, parked: [] }, notes };
  }
  const ids = target.ids.map((id) => id.column);
  const key = chooseKey(facts, target);
  const touching = facts.uniques.filter((unique) => unique.columns.some((column) => ids.includes(column)));
  const keys = facts.foreignKeys.filter(({ columns }) => columns.some((column) => ids.includes(column)));
  const isAtomic =
    touching.length > 0 || keys.length > 0 || key.columns.some((column) => ids.includes(column));
  const parked = new Set(
    touching.flatMap(({ columns }) => columns.filter((column) => ids.includes(column)).slice(0, 1)),
  );
  return {
    handling: { key: key.columns, isAtomic, parked: [...parked] },
    notes: [
      ...notes,
      ...key.notes,
      ...triggerNotes(facts),
      ...keys.flatMap((one) => foreignKeyNotes(facts, one, rewritten)),
      ...touching.map(uniqueNote),
      ...generatedNotes(facts),
      ...(isAtomic ? [ATOMIC] : []),
    ],
  };
}

const ATOMIC: Note = {
  level: 'info',
  code: 'one_transaction',
  text: 'Rewritten in one transaction: writers wait until it is done.',
};

function kindNotes({ kind, table }: TableFacts): Note[] {
  return kind === 'table' ? [] : [blocks('not_a_table', `${table} is a ${kind}: name the table behind it.`)];
}

function unknownColumns(facts: TableFacts, names: readonly (string | undefined)[]): Note[] {
  const known = facts.columns.map((column) => column.name);
  return names
    .filter((name) => name !== undefined && !known.includes(name))
    .map((name = '') =>
      blocks('unknown_column', `${facts.table} has no column "${name}"${orMeantEnd(name, known)}`),
    );
}

function columnNotes(facts: TableFacts, id: IdColumn): Note[] {
  const notes = unknownColumns(facts, [id.column, id.modelColumn, id.regionColumn, id.companyColumn]);
  const column = columnOf(facts, id.column);
  if (column === undefined) return notes;
  if (column.isGenerated) {
    notes.push(
      blocks('generated_column', `${column.name} is generated: rewrite the column it is made from.`),
    );
  }
  const isText = column.holds === 'text' || column.holds === 'json' || column.holds === 'any';
  if (column.holds === 'other' || (id.path !== undefined && !isText)) {
    notes.push(
      blocks(
        'column_type',
        `${column.name} is ${column.type}: it cannot hold ids${id.path === undefined ? '' : ' in JSON'}.`,
      ),
    );
  }
  if (column.holds === 'json' && id.path === undefined) {
    notes.push(
      blocks('column_type', `${column.name} is ${column.type}: name the ids' place in it with "path".`),
    );
  }
  return notes;
}

function chooseKey(facts: TableFacts, target: TableTarget): { columns: readonly string[]; notes: Note[] } {
  const ids = target.ids.map((id) => id.column);
  const named = target.key;
  if (named !== undefined) {
    const found = facts.keys.find(
      (key) => key.length === named.length && key.every((one) => named.includes(one)),
    );
    if (found !== undefined) return { columns: found, notes: [] };
    const text = `${named.join(', ')} is not a unique key of ${facts.table} whose columns are never null.`;
    return { columns: [], notes: [blocks('no_key', text)] };
  }
  const key = facts.keys.find((one) => !one.some((column) => ids.includes(column))) ?? facts.keys[0];
  if (key !== undefined) return { columns: key, notes: [] };
  const text = `${facts.table} has no primary key and no unique index on columns that are never null: rows cannot be told apart. Without --in-place a new column is filled instead.`;
  return { columns: [], notes: [blocks('no_key', text)] };
}

function triggerNotes({ triggers }: TableFacts): Note[] {
  if (triggers.length === 0) return [];
  const text = `Every changed row sets off ${triggers.join(', ')}.`;
  return [{ level: 'warning', code: 'triggers', text }];
}

function uniqueNote({ name, columns }: { readonly name: string; readonly columns: readonly string[] }): Note {
  return {
    level: 'info',
    code: 'unique',
    text: `${name} (${columns.join(', ')}) is kept: ids that swap step aside first.`,
  };
}

function generatedNotes({ columns }: TableFacts): Note[] {
  const names = columns.filter((column) => column.isGenerated).map((column) => column.name);
  if (names.length === 0) return [];
  return [
    {
      level: 'info',
      code: 'generated',
      text: `Generated columns follow by themselves: ${names.join(', ')}.`,
    },
  ];
}

function foreignKeyNotes(facts: TableFacts, key: ForeignKey, rewritten: readonly Rewritten[]): Note[] {
  const other = `${key.otherTable} (${key.otherColumns.join(', ')})`;
  const isTied = rewritten.some(
    ({ table, columns }) =>
      table === key.otherTable && key.otherColumns.some((column) => columns.includes(column)),
  );
  const child = key.direction === 'in' ? other : `${facts.table} (${key.columns.join(', ')})`;
  if (key.onUpdate === 'set') {
    return [
      blocks('foreign_key', `${key.name} would empty ${child} when ids change: change its ON UPDATE first.`),
    ];
  }
  if (key.onUpdate === 'cascade') {
    if (isTied)
      return [
        blocks(
          'foreign_key',
          `${child} follows by ON UPDATE CASCADE (${key.name}): do not name it as a target too.`,
        ),
      ];
    if (key.direction === 'in')
      return [note('warning', `${child} follows by ON UPDATE CASCADE (${key.name}).`)];
  }
  if (isTied && !key.isDeferrable) {
    const fix = `ALTER TABLE … ALTER CONSTRAINT ${key.name} DEFERRABLE`;
    return [
      blocks(
        'foreign_key',
        `${key.name} ties ${facts.table} to ${other} at every step: make it deferrable first (${fix}).`,
      ),
    ];
  }
  if (isTied)
    return [note('info', `${key.name} ties ${facts.table} to ${other}: both change in one transaction.`)];
  if (key.direction === 'in') {
    return [
      blocks(
        'foreign_key',
        `${child} refers to these ids (${key.name}) and is not rewritten: name it as a target too.`,
      ),
    ];
  }
  return [
    note(
      'warning',
      `${key.name} refers to ${other}, which is not rewritten: the new ids must be there already.`,
    ),
  ];
}

function note(level: Note['level'], text: string): Note {
  return { level, code: 'foreign_key', text };
}
