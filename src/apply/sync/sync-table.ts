import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import * as z from '../../zod.js';
import type { Dialect } from '../engine/dialect.js';
import type { Ledger, TableRun } from '../engine/ledger-tables.js';
import { valueType } from '../engine/platform-columns.js';
import { columnOf, type TableFacts } from '../engine/table-facts.js';
import { blocks, type Mode, type Note, noteSchema, type Policy } from '../plan.js';

/** One column that triggers keep filled, and the names of the objects that do so in the user's database. */
export interface SyncColumn {
  /** As `TableFacts.table`. */
  readonly table: string;
  readonly id: IdColumn;
  /** The run that makes or made the new column. */
  readonly unit: string;
  readonly newColumn: string;
  /** The policy of the run that fills the column. */
  readonly policy: Policy;
  /** Type of the new column. */
  readonly type: string;
  /** Columns that name a row in the list of cells that were not mapped; empty if the table has no key. */
  readonly key: readonly string[];
  readonly keyTypes: readonly string[];
  /** Columns by which an UPDATE finds the row again, where a trigger needs that. */
  readonly rowId: readonly string[];
  /** The prefix of its triggers' names. */
  readonly trigger: string;
  /** Its tables, as SQL: the crosswalk, the next crosswalk while it is loaded, and the list of cells that were not mapped. */
  readonly ids: string;
  readonly next: string;
  readonly unmapped: string;
}

/** A comment in every trigger of ours. */
export const SYNC_MARK = 'svc-migrate sync';

/** Where a column is: its table, and its number among those of the run that made the new column. */
interface SyncPlace {
  readonly facts: TableFacts;
  readonly unit: string;
  readonly at: number;
  readonly ledger: Ledger;
  readonly policy: Policy;
}

/** A column that triggers keep filled. */
export function syncColumn(
  dialect: Dialect,
  id: IdColumn,
  { facts, unit, at, ledger, policy }: SyncPlace,
): SyncColumn {
  const key = facts.keys[0] ?? [];
  const typeOf = (name: string) => columnOf(facts, name)?.type ?? 'text';
  const tableOf = (name: string) => dialect.emit.staging(`sync_${unit}_${at}_${name}`, ledger);
  const rowId = dialect.rowIdNames(facts);
  return {
    table: facts.table,
    id,
    unit,
    newColumn: newColumnOf(id),
    policy,
    type: valueType(dialect, facts, id),
    key,
    keyTypes: key.map(typeOf),
    rowId: rowId.length > 0 ? rowId : key,
    trigger: `${dialect.sync.prefix}${unit}_${at}_`,
    ids: tableOf('ids'),
    next: tableOf('next'),
    unmapped: tableOf('unmapped'),
  };
}

/** The unit of the run whose new column a trigger fills, by the trigger's name in `TableFacts.triggers`. */
function unitOfTrigger(name: string): string | undefined {
  return /svc_migrate_sync_(\d+)_\d+_/.exec(name)?.[1];
}

export function isSyncTrigger(name: string): boolean {
  return unitOfTrigger(name) !== undefined;
}

/** Notes on a plan for a table that has triggers of `--sync`. */
export function syncedNotes(
  mode: Mode,
  ids: readonly IdColumn[],
  { triggers }: TableFacts,
  runs: readonly Pick<TableRun, 'unit' | 'target'>[],
): Note[] {
  const units = new Set(triggers.map(unitOfTrigger));
  const synced = runs
    .filter(({ unit }) => units.has(unit))
    .flatMap((run) => run.target.ids.filter((id) => ids.some(({ column }) => column === id.column)));
  const [first] = synced;
  if (first === undefined) return [];
  const text = `Triggers fill ${newColumnOf(first)} from ${first.column} (apply --sync)`;
  return mode === 'new'
    ? [{ level: 'info', code: 'synced', text: `${text}.` }]
    : [blocks('synced', `${text} and would look its V4 ids up as V3 ids: apply --sync off first.`)];
}

const count = z.int().min(0);
const texts = z.array(z.string()).readonly();

const syncedColumnSchema = z.strictObject({
  column: z.string(),
  newColumn: z.string(),
  mapped: count.describe('V3 ids in the crosswalk that have a V4 id.'),
  missing: count.describe('V3 ids in the crosswalk without a V4 id.'),
});

const recordedCellSchema = z.strictObject({
  column: z.string(),
  row: z.string().nullable().describe('Key of the row; null if the table has no key.'),
  value: z.string(),
  /** Status and reason in the remap; `unknown` if it is no V3 id there, or names several. */
  reason: z.string(),
  at: z.string(),
});

/** What `--sync` does, or did, to one table. */
export const syncedTableSchema = z.strictObject({
  target: z.string(),
  place: z.string(),
  wasOn: z.boolean().describe('Whether triggers were there before.'),
  columns: z.array(syncedColumnSchema).readonly(),
  makes: texts.describe('Columns, triggers, functions and tables that --sync on makes.'),
  removes: texts.describe('What --sync off removes.'),
  /** Rows of crosswalks that were added, changed and removed; null if no crosswalk was written. */
  refreshed: z.strictObject({ added: count, changed: count, removed: count }).nullable(),
  unmapped: z
    .array(recordedCellSchema)
    .readonly()
    .describe('Cells that triggers could not map and that still have no V4 id: the first 1000.'),
  unmappedCount: count,
  notes: z.array(noteSchema).readonly(),
});
export type SyncedTable = Readonly<z.output<typeof syncedTableSchema>>;
export type RecordedCells = Pick<SyncedTable, 'unmapped' | 'unmappedCount'>;
export type Refreshed = NonNullable<SyncedTable['refreshed']>;

/** The result for a table where --sync finds and does nothing. */
export const NOTHING_SYNCED = {
  wasOn: false,
  columns: [],
  makes: [],
  removes: [],
  refreshed: null,
  unmapped: [],
  unmappedCount: 0,
} as const satisfies Partial<SyncedTable>;
