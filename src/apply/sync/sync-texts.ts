import type { IdColumn } from '../../config/apply-targets.js';
import { sha256Of } from '../../runtime/sha256.js';
import { mustBeListed } from '../emit/crosswalk.js';
import type { Dialect } from '../engine/dialect.js';
import { scopeTerms } from '../engine/judge-cells.js';
import type { Ledger } from '../engine/ledger-tables.js';
import { writesPlatformId } from '../engine/platform-ids.js';
import type { Session } from '../engine/session.js';
import type { TableFacts } from '../engine/table-facts.js';
import { blocks, type Note } from '../plan.js';
import { SYNC_MARK, type SyncColumn } from './sync-table.js';

/** The name of an object, and the statement that creates it. */
export interface CreateStatement {
  readonly name: string;
  readonly sql: string;
}

/** The mark of a trigger, which shows whether this statement created it. */
export function markOf({ sql }: CreateStatement): string {
  return `${SYNC_MARK} ${sha256Of(sql).slice(0, 16)}`;
}

/** SQL text that only triggers need. */
export interface SyncText {
  /** The beginning of the names of our triggers. */
  readonly prefix: string;
  /** Conditions for cells that can be ids, where a column holds values of several types. */
  typeChecks(cell: string): readonly string[];
  /** Functions that the triggers call, with their names as SQL; the statements replace existing ones. */
  functions(dialect: Dialect, column: SyncColumn): readonly CreateStatement[];
  triggers(dialect: Dialect, column: SyncColumn): readonly CreateStatement[];
  dropTrigger(table: string, name: string): string;
  /**
   * A query of the objects that have names of ours: kind (`trigger`, `function` or `table`); name, without schema or
   * prefix except for triggers; text or, for a table, columns; and whether it is on this table (1 for other kinds).
   */
  readObjects(dialect: Dialect, table: string, ledger: Ledger): string;
  /** What prevents triggers on a table that can be rewritten. */
  readNotes(session: Session, facts: TableFacts, ids: readonly IdColumn[]): Promise<readonly Note[]>;
}

/** SQL terms for the triggers of a column; `row` is the name of a row, such as `NEW`. */
export function triggerTerms(dialect: Dialect, column: SyncColumn) {
  const { emit, sync } = dialect;
  const { id, type, ids } = column;
  const isId = !writesPlatformId(id);
  const cell = (row: string, name = id.column) => `${row}.${dialect.quote(name)}`;
  const inputColumns = [id.column, id.modelColumn, id.regionColumn, id.companyColumn].flatMap(
    (name) => name ?? [],
  );
  const answer = (row: string, term: string) => {
    const scopes = scopeTerms(dialect, id, row).map((one, at) => `svc_m.s${at} = ${one}`);
    const terms = [`svc_m.v3 = ${dialect.asText(cell(row))}`, ...sync.typeChecks(cell(row)), ...scopes];
    return `(SELECT ${term} FROM ${ids} AS svc_m WHERE ${terms.join(' AND ')})`;
  };
  return {
    inputColumns,
    /** Whether cells that are not mapped are listed. A missing platform_id is not, as in `apply`. */
    listsUnmapped: isId,
    newCell: (row: string) => cell(row, column.newColumn),
    isSet: (row: string) => `${cell(row)} IS NOT NULL`,
    isChanged: inputColumns
      .map(
        (name) =>
          `NOT ${dialect.isSame(dialect.exactText(cell('OLD', name)), dialect.exactText(cell('NEW', name)))}`,
      )
      .join(' OR '),
    /** The application did not write the new column itself. */
    isUntouched: `(${cell('NEW', column.newColumn)} IS NULL OR ${dialect.isSame(
      dialect.exactText(cell('NEW', column.newColumn)),
      dialect.exactText(cell('OLD', column.newColumn)),
    )})`,
    isUnmapped: (row: string) =>
      `${cell(row, column.newColumn)} IS NULL AND ${mustBeListed({ dialect }, emit.literal, id, row)}`,
    newId: (row: string) =>
      answer(row, dialect.fromEntry(isId ? emit.newCell(cell(row), 'svc_m.v4') : 'svc_m.v4', type)),
    entry: (row: string) =>
      [
        column.key.length === 0 ? 'NULL' : dialect.keySql(column.key.map((name) => cell(row, name))),
        dialect.asEntry(cell(row)),
        `coalesce(${answer(row, 'svc_m.reason')}, 'unknown')`,
        emit.now,
      ].join(', '),
  };
}

/** When a trigger fires: before the row is written to fill the new column, after it to list cells that are not mapped. */
interface SyncEvent {
  readonly when: 'BEFORE' | 'AFTER';
  readonly event: 'INSERT' | 'UPDATE';
  readonly condition: string;
}

/** Triggers on UPDATE come first: where each CREATE TRIGGER commits, no row may be filled before its updates are noticed. */
export function triggerEvents(terms: ReturnType<typeof triggerTerms>): SyncEvent[] {
  const { newCell, isSet, isChanged, isUntouched, isUnmapped } = terms;
  const events: SyncEvent[] = [
    { when: 'BEFORE', event: 'UPDATE', condition: `(${isChanged}) AND ${isUntouched}` },
    { when: 'AFTER', event: 'UPDATE', condition: `(${isChanged}) AND ${isUnmapped('NEW')}` },
    { when: 'BEFORE', event: 'INSERT', condition: `${newCell('NEW')} IS NULL AND ${isSet('NEW')}` },
    { when: 'AFTER', event: 'INSERT', condition: isUnmapped('NEW') },
  ];
  return events.filter(({ when }) => when === 'BEFORE' || terms.listsUnmapped);
}

/** Blocks new columns that a CHECK of their table uses. */
export function checkNotes(names: readonly string[]): Note[] {
  return names.map((name) =>
    blocks('sync_check', `A CHECK of the table uses ${name}, and could refuse rows of the application.`),
  );
}
