import * as z from '../zod.js';
import type { Mode } from './plan.js';

const count = z.int().min(0);

/** What other programs wait for while a run writes. */
const lockSchema = z.strictObject({
  /** `rows`: of one batch. `database`: the whole file. */
  what: z.enum(['rows', 'table', 'database']),
  /** Who waits: only programs that write, or also those that read. */
  blocks: z.enum(['writers', 'everyone']),
  /** `batch`: for each batch again. `step`: once, for a part of the run. `run`: for the whole run. */
  during: z.enum(['batch', 'step', 'run']),
  /** Rows locked at a time; null: all. */
  rows: count.nullable(),
  seconds: z.number(),
});
export type Lock = Readonly<z.output<typeof lockSchema>>;

/** What carrying out a plan takes. Sizes are right within a factor of two, times depend on the machine. */
export const estimateSchema = z.strictObject({
  rowsRead: count,
  cellsToChange: count,
  /** Growth of the ledger. */
  ledgerBytes: count,
  /** Total growth on disk: ledger, table and indexes, or the new file. */
  diskBytes: count,
  /** Written to PostgreSQL's WAL or to the redo log of MySQL; for SQLite, the largest size of its journal or WAL file. */
  logBytes: count.nullable(),
  log: z.enum(['wal', 'redo', 'journal']).nullable(),
  seconds: z.number(),
  locks: z.array(lockSchema).readonly(),
});
export type Estimate = Readonly<z.output<typeof estimateSchema>>;

/** The estimate if nothing is read or changed. */
export const NO_WORK: Estimate = {
  rowsRead: 0,
  cellsToChange: 0,
  ledgerBytes: 0,
  diskBytes: 0,
  logBytes: null,
  log: null,
  seconds: 0,
  locks: [],
};

/** The size of a table on disk, and of its indexes that change with the id columns. */
export interface TableBytes {
  readonly table: number;
  readonly indexes: number;
  readonly indexCount: number;
  /** Whether a SQLite database has a write-ahead log; false for others. */
  readonly hasWal: boolean;
}

/** The work on one table, as the plan counts it. */
export interface TableWork {
  readonly costs: DatabaseCosts;
  readonly mode: Mode;
  readonly isAtomic: boolean;
  readonly rows: number;
  readonly columns: number;
  readonly cells: number;
  readonly batchRows: number;
  readonly bytes: TableBytes;
  /** Average size of a row's key, and of a cell that changes, as text. */
  readonly keyBytes: number;
  readonly cellBytes: number;
  /** Whether rows are usually inserted in the order of the primary key, as with integer keys. */
  readonly isOrdered: boolean;
}

export interface Sizes {
  readonly ledger: number;
  readonly data: number;
  readonly log: number;
}

/**
 * What one kind of database costs. The figures and factors were measured on SQLite 3.53, PostgreSQL 15 and MariaDB 10.11 with 100,000
 * rows, with and without secondary indexes. `test/apply/estimates.campaign.test.ts` prints estimates beside the measured sizes.
 */
export interface DatabaseCosts {
  /** Bytes of an empty ledger. */
  readonly ledger: number;
  /** Bytes of one entry and its index entries, not counting the key and the two cell values it stores. */
  readonly entry: number;
  /** Rows read and cells changed per second. */
  readonly readRows: number;
  readonly writeCells: number;
  readonly log: NonNullable<Estimate['log']>;
  /** Whether writers lock the whole database. */
  readonly locksDatabase: boolean;
  sizesOf(work: TableWork): Sizes;
}

/** Estimates the work on a table. */
export function estimateTable(work: TableWork): Estimate {
  const { costs, rows, columns, cells } = work;
  if (cells === 0) return { ...NO_WORK, rowsRead: rows };
  const { ledger, data, log } = costs.sizesOf(work);
  const seconds = { read: (rows * columns) / costs.readRows, write: cells / costs.writeCells };
  return {
    rowsRead: rows,
    cellsToChange: cells,
    ledgerBytes: Math.round(ledger),
    diskBytes: Math.round(ledger + data),
    logBytes: Math.round(log),
    log: costs.log,
    seconds: round(seconds.read + seconds.write),
    locks: locksOf(work, seconds),
  };
}

/** A run into new columns leaves one row in the ledger; in place, one entry for each cell. */
export function ledgerBytes({ costs, mode, cells, keyBytes, cellBytes }: TableWork, keyCopies = 1): number {
  const { ledger, entry } = costs;
  return mode === 'new' ? ledger : ledger + cells * (entry + keyCopies * keyBytes + 2 * cellBytes);
}

function locksOf(work: TableWork, seconds: { readonly read: number; readonly write: number }): Lock[] {
  const { costs, mode, isAtomic, cells, batchRows, bytes } = work;
  const whole = round(seconds.read + seconds.write);
  const inBatch = Math.min(cells, batchRows);
  const forBatch = {
    during: 'batch',
    rows: inBatch,
    seconds: round((seconds.write * inBatch) / cells),
  } as const;
  if (costs.locksDatabase) {
    // Without a WAL, a commit also blocks readers.
    const file = { what: 'database', blocks: bytes.hasWal ? 'writers' : 'everyone', rows: null } as const;
    if (isAtomic) return [{ ...file, during: 'run', seconds: whole }];
    return [
      { ...file, during: 'step', seconds: round(seconds.read) },
      { ...file, ...forBatch, rows: null },
    ];
  }
  if (isAtomic) return [{ what: 'table', blocks: 'writers', during: 'run', rows: null, seconds: whole }];
  const rows: Lock = { what: 'rows', blocks: 'writers', ...forBatch };
  if (mode === 'in_place') return [rows];
  // ALTER TABLE … ADD COLUMN.
  return [{ what: 'table', blocks: 'everyone', during: 'step', rows: null, seconds: 0 }, rows];
}

/** A new file, or a changed copy that replaces the original. Nothing is locked: a file that changes meanwhile is refused. */
export function estimateFile(rows: number, cells: number, bytes: number): Estimate {
  return {
    ...NO_WORK,
    rowsRead: rows,
    cellsToChange: cells,
    ledgerBytes: SIDE_CAR_BYTES,
    diskBytes: bytes + SIDE_CAR_BYTES,
    seconds: round(bytes / FILE_BYTES_PER_SECOND),
  };
}

/** Measured like `DatabaseCosts`. */
const SIDE_CAR_BYTES = 1000;
const FILE_BYTES_PER_SECOND = 30_000_000;

function round(seconds: number): number {
  return Number(seconds.toPrecision(2));
}
