import type { ChangeList } from '../engine/change-list.js';
import type { EmitText, Engine, IdMap } from '../engine/dialect.js';
import type { Cells } from '../engine/session.js';
import type { FoundTable } from '../engine/table-facts.js';

/** One stored value, and its V4 id: null if the cell is emptied, undefined if it keeps its value. */
export interface CrosswalkRow {
  /** The value as `exactText` of its `exact` form. */
  readonly old: string;
  /** Model, region and company of the row, where other columns name them. */
  readonly scope: Cells;
  readonly result: string | null | undefined;
}

/** One table of a script. */
export interface EmitTable {
  readonly found: FoundTable;
  /** By id column. */
  readonly crosswalks: readonly (readonly CrosswalkRow[])[];
  /** By column, SQL for the temporary value of row `w` while ids swap; columns without a unique key have none. */
  readonly parking: ReadonlyMap<string, string>;
  /** What the names of its crosswalks have in common. */
  readonly name: string;
  /** By id column. */
  readonly maps: readonly IdMap[];
  /** The staging table of the rows that change. */
  readonly list: string;
}

/** What the statements of a script share. */
export interface EmitScript {
  readonly engine: Engine;
  readonly text: EmitText;
  readonly run: string;
  readonly planSha256: string;
  /** The staging table of the checks. */
  readonly checks: string;
}

/** The name of a run as a part of names in SQL. */
export function sqlRunName({ run }: Pick<EmitScript, 'run'>): string {
  return run.replaceAll('-', '_');
}

/** A condition on a row of the ledger's `run`: it is this script's run of the target. `state`: a comparison for its state. */
export function isOwnRun(
  { text, run }: EmitScript,
  { target }: Pick<FoundTable, 'target'>,
  state: string,
  alias: 'r.' | 'u.' | '' = '',
): string {
  return `${alias}run = ${text.literal(run)} AND ${alias}target = ${text.literal(target.name)} AND ${alias}state ${state}`;
}

/** A condition: the ledger holds this script's run of the target. `state`: a comparison for its state. */
export function isRecorded(script: EmitScript, found: FoundTable, state: string): string {
  return `EXISTS (SELECT 1 FROM ${found.ledger.run} AS r WHERE ${isOwnRun(script, found, state, 'r.')})`;
}

/** The rows of a table that change, in the terms of the list that `apply` itself makes. */
export function changeListOf({ facts, handling, target, types }: FoundTable): Omit<ChangeList, 'parked'> {
  const columns = target.ids.map(({ column }) => column);
  return { table: facts.table, key: handling.key, columns, types };
}
