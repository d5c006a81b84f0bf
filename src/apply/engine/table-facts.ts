import type { Note } from '../plan.js';

export interface TableColumn {
  readonly name: string;
  /** As declared. */
  readonly type: string;
  /** What its values can be: `other` holds no ids. */
  readonly holds: 'integer' | 'text' | 'json' | 'any' | 'other';
  readonly isNullable: boolean;
  readonly isGenerated: boolean;
  /** Whether its type has conditions of its own. */
  readonly isDomain: boolean;
  /** Smallest and largest integer it takes; null: 64 bits. */
  readonly range: readonly [bigint, bigint] | null;
  /** Longest text it takes; null: any. */
  readonly maxChars: number | null;
}

/** A unique constraint or index. */
export interface UniqueColumns {
  readonly name: string;
  /** Columns it is about, also those inside its expressions. */
  readonly columns: readonly string[];
  /** True for plain columns without condition: then equal values always collide. */
  readonly isPlain: boolean;
}

export interface ForeignKey {
  readonly name: string;
  /** `out`: this table refers to another; `in`: another refers to this one. */
  readonly direction: 'out' | 'in';
  /** This table's columns. */
  readonly columns: readonly string[];
  readonly otherTable: string;
  readonly otherColumns: readonly string[];
  readonly onUpdate: 'none' | 'cascade' | 'set';
  /** Whether it can be checked at the end of the transaction. */
  readonly isDeferrable: boolean;
}

export interface TableFacts {
  /** Its name as the database knows it, with schema where there is one. */
  readonly table: string;
  /** `table`, or what it is instead, such as `view`. */
  readonly kind: string;
  readonly columns: readonly TableColumn[];
  /** Unique sets of columns that are never null, the primary key first. */
  readonly keys: readonly (readonly string[])[];
  readonly uniques: readonly UniqueColumns[];
  readonly foreignKeys: readonly ForeignKey[];
  /** Names of triggers that an UPDATE or INSERT sets off. */
  readonly triggers: readonly string[];
  /** What the database itself must say: privileges, partitions, views. */
  readonly notes: readonly Note[];
}

/** How a table is going to be rewritten in place. */
export interface Handling {
  /** Columns that identify a row; empty where none do. */
  readonly key: readonly string[];
  /** Everything in one transaction: unique constraints, foreign keys or the key itself are touched. */
  readonly isAtomic: boolean;
  /** Id columns that must step aside first where values swap. */
  readonly parked: readonly string[];
}

/** Finds a column by name as SQL does not: exactly. */
export function columnOf(facts: TableFacts, name: string): TableColumn | undefined {
  return facts.columns.find((column) => column.name === name);
}
