import * as z from '../zod.js';

const count = z.int().min(0);

/** What other programs wait for while a run writes. */
const lockSchema = z.strictObject({
  /** `rows`: of one batch. `database`: the whole file. */
  what: z.enum(['rows', 'table', 'database']),
  /** Who waits: only programs that write, or also those that read. */
  blocks: z.enum(['writers', 'everyone']),
  /** `batch`: again for each batch. `step`: once, for a part of the run. `run`: from its start to its end. */
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
  /** WriteResult to PostgreSQL's WAL or to the redo log of MySQL; for SQLite, the largest size of its journal or WAL file. */
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
  readonly kind: 'sqlite' | 'postgres' | 'mysql';
  readonly mode: 'new' | 'in_place';
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

interface Sizes {
  readonly ledger: number;
  readonly data: number;
  readonly log: number;
}

/**
 * `ledger`: bytes of an empty ledger. `entry`: bytes of one entry and its index entries, not counting the key and the two
 * cell values it stores. `readRows` and `writeCells`: rows read and cells changed per second.
 *
 * These and the factors below were measured on SQLite 3.53, PostgreSQL 15 and MariaDB 10.11 with 100,000 rows, with and
 * without secondary indexes. `test/apply/estimates.test.ts` prints estimates beside the measured sizes.
 */
const COSTS = {
  sqlite: { ledger: 12_288, entry: 14, readRows: 250_000, writeCells: 250_000 },
  postgres: { ledger: 57_344, entry: 110, readRows: 300_000, writeCells: 60_000 },
  mysql: { ledger: 212_992, entry: 82, readRows: 150_000, writeCells: 40_000 },
} as const satisfies Record<TableWork['kind'], object>;

const LOGS = { sqlite: 'journal', postgres: 'wal', mysql: 'redo' } as const;

/** A SQLite WAL file is reused from this size on (`wal_autocheckpoint`: 1,000 pages of 4 KiB). */
const WAL_REUSED_AT = 4_096_000;

/** Estimates the work on a table. */
export function estimateTable(work: TableWork): Estimate {
  const { kind, rows, columns, cells } = work;
  if (cells === 0) return { ...NO_WORK, rowsRead: rows };
  const { ledger, data, log } = sizesOf(work);
  const { readRows, writeCells } = COSTS[kind];
  const seconds = { read: (rows * columns) / readRows, write: cells / writeCells };
  return {
    rowsRead: rows,
    cellsToChange: cells,
    ledgerBytes: Math.round(ledger),
    diskBytes: Math.round(ledger + data),
    logBytes: Math.round(log),
    log: LOGS[kind],
    seconds: round(seconds.read + seconds.write),
    locks: locksOf(work, seconds),
  };
}

function sizesOf(work: TableWork): Sizes {
  switch (work.kind) {
    case 'sqlite':
      return sizesInSqlite(work);
    case 'postgres':
      return sizesInPostgres(work);
    case 'mysql':
      return sizesInMysql(work);
  }
}

/** A run into new columns leaves one row in the ledger; in place, one entry for each cell. */
function ledgerBytes({ kind, mode, cells, keyBytes, cellBytes }: TableWork, keyCopies = 1): number {
  const { ledger, entry } = COSTS[kind];
  return mode === 'new' ? ledger : ledger + cells * (entry + keyCopies * keyBytes + 2 * cellBytes);
}

function sizesInSqlite(work: TableWork): Sizes {
  const { mode, isAtomic, rows, cells, cellBytes, batchRows, bytes } = work;
  const ledger = ledgerBytes(work);
  // Growing rows split pages that are full. The growth measured was 4 to 15 % of the table.
  const data = mode === 'new' ? cells * (cellBytes + 1) + (0.064 * bytes.table * cells) / rows : 0;
  const share = isAtomic ? 1 : Math.min(1, batchRows / rows);
  const touched = (bytes.table + (mode === 'new' ? 0 : bytes.indexes)) * share;
  const log = bytes.hasWal
    ? Math.max(ledger, touched, Math.min(WAL_REUSED_AT, ledger + bytes.table))
    : touched;
  return { ledger, data, log };
}

/** Every change writes a new version of its row and, because pages are full, new entries in all indexes. */
function sizesInPostgres(work: TableWork): Sizes {
  const { rows, cells, bytes } = work;
  const ledger = ledgerBytes(work);
  // PostgreSQL logs whole pages when they first change after a checkpoint.
  const pages = bytes.table + bytes.indexes;
  const data = (pages * cells) / rows;
  const log = ledger * 1.5 + data + cells * (50 + 40 * bytes.indexCount) + pages;
  return { ledger, data, log };
}

/** Bytes of an InnoDB page, of the part that it keeps free for rows to grow, and of a new integer cell with its overhead. */
const INNODB = { page: 16_384, free: 1024, newCell: 9 } as const;

/** Bytes that InnoDB reserves for the indexes of the ledger: per entry, and at most in total. */
const RESERVED = { entry: 400, most: 8_600_000 } as const;

function sizesInMysql(work: TableWork): Sizes {
  const { mode, rows, cells, keyBytes, cellBytes, isOrdered, bytes } = work;
  const reserved = mode === 'new' ? 0 : Math.min(RESERVED.most, cells * RESERVED.entry);
  const ledger = ledgerBytes(work, 2) + reserved;
  if (mode === 'in_place') {
    const log = cells * (175 + 91 * bytes.indexCount + 8 * keyBytes + 4 * cellBytes);
    return { ledger, data: (bytes.indexes * cells) / rows, log };
  }
  if (!isOrdered) {
    // Rows inserted in random order leave pages half empty.
    return { ledger, data: 0.5 * bytes.table, log: ledger + cells * 355 };
  }
  const added = (INNODB.newCell * cells * INNODB.page) / Math.max(INNODB.page, bytes.table);
  // In a full page, each row that grows makes InnoDB move other rows, and log that.
  const log = ledger + cells * 640 + (6.5 * bytes.table * cells) / rows;
  return { ledger, data: added > INNODB.free ? 1.25 * bytes.table : 0, log };
}

function locksOf(work: TableWork, seconds: { readonly read: number; readonly write: number }): Lock[] {
  const { kind, mode, isAtomic, cells, batchRows, bytes } = work;
  const whole = round(seconds.read + seconds.write);
  const inBatch = Math.min(cells, batchRows);
  const forBatch = {
    during: 'batch',
    rows: inBatch,
    seconds: round((seconds.write * inBatch) / cells),
  } as const;
  if (kind === 'sqlite') {
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

/** Measured like `COSTS`. */
const SIDE_CAR_BYTES = 1000;
const FILE_BYTES_PER_SECOND = 30_000_000;

function round(seconds: number): number {
  return Number(seconds.toPrecision(2));
}
