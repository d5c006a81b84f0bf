import { deserialize, serialize } from 'node:v8';
import { prepareInsertRows, type Value } from './records.js';
import { BlockDigest, type RemapGroup, RowDigests, type RowsText, renderGroup } from './remap-blocks.js';
import { ROWS_PER_BLOCK } from './remap-rows.js';
import { REMAP_INDEXES, REMAP_TABLES } from './schema.js';
import type { Db } from './sqlite.js';

/** V3 records of one day, ms since 1970. */
interface DayCount {
  count: number;
  earliestMs: number | null;
  latestMs: number | null;
}

/** A group with what is counted while its rows are written. */
export interface CountedGroup extends RemapGroup {
  readonly id: number;
  count: number;
  firstRow: number;
  lastRow: number;
  /** The ids of its first few rows, unless they are matched. */
  readonly firstRows: number[];
  /** By day since 1970; null if the date is unreadable. */
  readonly days: Map<number | null, DayCount>;
}

/** An id of a row: a bigint only beyond 2^53, because other numbers need no object. */
export type RowId = number | bigint;

export function rowIdOf(id: bigint): RowId {
  const number = Number(id);
  return Number.isSafeInteger(number) ? number : id;
}

/** Takes a row. Values and not objects, because there are millions of rows. */
export type AddRow<Result> = (
  group: CountedGroup,
  key: string | null,
  v3: RowId | null,
  v4: RowId | null,
  /** JSON; null for none. */
  evidence: string | null,
  /** The row of the record that holds a child. */
  parent: number | null,
) => Result;

const MAX_FIRST_ROWS = 5;
const DAY_MS = 86_400_000;

/** Writes a new remap, row by row in its order; part of the caller's transaction, which keeps the old remap if it fails. */
export class RemapWriter {
  readonly #db: Db;
  readonly #groups = new Map<string, CountedGroup>();
  readonly #texts: string[] = [];
  readonly #insert: ReturnType<typeof prepareInsertRows>;
  readonly #digests = new RowDigests();
  readonly #blockDigest = new BlockDigest((group) => this.#texts[group] ?? '');
  /** The rows of the current block, value by value. */
  readonly #block: Value[] = Array.from({ length: ROW_WIDTH * ROWS_PER_BLOCK }, () => null);
  #inBlock = 0;
  #rows = 0;
  /** Rows that are `matched` without an id on both sides. */
  halfMatched = 0;

  constructor(db: Db) {
    this.#db = db;
    db.exec(`DROP TABLE remap_group; DROP TABLE remap_row; DROP TABLE remap_day; ${REMAP_TABLES}`);
    this.#insert = prepareInsertRows(db, 'INSERT INTO remap_row', ROW_WIDTH);
  }

  groupOf(group: RemapGroup): CountedGroup {
    const name = renderGroup(0, group);
    let known = this.#groups.get(name);
    if (known === undefined) {
      known = {
        ...group,
        id: this.#groups.size + 1,
        count: 0,
        firstRow: Number.POSITIVE_INFINITY,
        lastRow: 0,
        firstRows: [],
        days: new Map(),
      };
      this.#groups.set(name, known);
      this.#texts[known.id] = renderGroup(known.id, group);
    }
    return known;
  }

  /** Returns the id of the row. */
  readonly add: AddRow<number> = (group, key, v3, v4, ofRow, parent) => {
    const row = ++this.#rows;
    group.count += 1;
    if (row < group.firstRow) group.firstRow = row;
    group.lastRow = row;
    if (group.status !== 'matched') {
      if (group.firstRows.length < MAX_FIRST_ROWS) group.firstRows.push(row);
    } else if (v3 === null || v4 === null) this.halfMatched += 1;
    const evidence = evidenceOf(group, ofRow);
    const block = this.#block;
    const to = this.#inBlock * ROW_WIDTH;
    block[to] = row;
    block[to + 1] = group.id;
    block[to + 2] = parent;
    block[to + 3] = v3;
    block[to + 4] = v4;
    block[to + 5] = key;
    block[to + 6] = evidence;
    this.#blockDigest.add(group.id, parent, v3, v4, key, evidence);
    if (++this.#inBlock === ROWS_PER_BLOCK) this.#flush();
    return row;
  };

  /** Counts the V3 record of a row by its latest date, ms since 1970 or NaN. */
  countDay({ days }: CountedGroup, latestMs: number): void {
    const ms = Number.isNaN(latestMs) ? null : latestMs;
    const day = ms === null ? null : Math.floor(ms / DAY_MS);
    const known = days.get(day);
    if (known === undefined) days.set(day, { count: 1, earliestMs: ms, latestMs: ms });
    else {
      known.count += 1;
      if (ms !== null && known.earliestMs !== null) known.earliestMs = Math.min(known.earliestMs, ms);
      if (ms !== null && known.latestMs !== null) known.latestMs = Math.max(known.latestMs, ms);
    }
  }

  get groups(): Iterable<CountedGroup> {
    return this.#groups.values();
  }

  /** The id of the next row. */
  get nextRow(): number {
    return this.#rows + 1;
  }

  /** Ends the remap; returns the digests of its rows. */
  finish(): RowsText {
    this.#flush();
    const insertGroup = this.#db.prepare(
      `INSERT INTO remap_group VALUES (${Array.from({ length: GROUP_WIDTH }, () => '?').join(', ')})`,
    );
    const insertDay = this.#db.prepare('INSERT INTO remap_day VALUES (?, ?, ?, ?, ?)');
    for (const group of this.#groups.values()) {
      const { id, model, path, region, v3CompanyId, v4CompanyId, status, reason, matchedBy } = group;
      insertGroup.run(
        ...[id, model, path, region, v3CompanyId, v4CompanyId, status, reason, matchedBy],
        ...[group.provisional ? 1 : 0, group.conflict ? 1 : 0, group.count, group.firstRow, group.lastRow],
        JSON.stringify(group.firstRows),
      );
      for (const [day, { count, earliestMs, latestMs }] of group.days) {
        insertDay.run(id, day, count, earliestMs, latestMs);
      }
    }
    this.#db.exec(REMAP_INDEXES);
    return this.#digests.finish(this.#rows);
  }

  #flush(): void {
    const block = this.#block;
    if (this.#inBlock === 0) return;
    this.#insert(this.#inBlock, (values, to, at) => {
      for (let column = 0; column < ROW_WIDTH; column++)
        values[to + column] = block[at * ROW_WIDTH + column] ?? null;
    });
    this.#digests.add(this.#blockDigest.take());
    this.#inBlock = 0;
  }
}

const ROW_WIDTH = 7;
const GROUP_WIDTH = 15;

/** The evidence of a row without any of its own is that of its group. */
function evidenceOf({ provisional }: RemapGroup, evidence: string | null): string | null {
  if (evidence === null || !provisional) return evidence;
  const before: object = JSON.parse(evidence);
  return JSON.stringify({ ...before, provisional: true });
}

/** A row to be written later. */
type WaitingRow = [...row: Parameters<AddRow<void>>, parentSvcId: RowId];

/** Takes a row, and the id of the record that holds a child, by which rows with equal ids are ordered. */
type AddWaitingRow = (...row: WaitingRow) => void;

const ROWS_PER_CHUNK = 4096;
/** Fewer rows stay in memory: there can be 100,000 companies. */
const FEW_ROWS = 64;

/** What is serialized of rows by column. */
interface SavedRows {
  readonly groups: Uint32Array;
  readonly numbers: Float64Array;
  readonly keys: readonly (string | null)[];
  readonly evidence: ReadonlyMap<number, string>;
  readonly large: ReadonlyMap<number, bigint>;
}

/** Numbers of a row: v3, v4, parent, parentSvcId. */
const NUMBERS = 4;

/** Rows by column, because as objects they would be most of what garbage collection copies. */
class RowColumns {
  readonly #knownGroups: CountedGroup[] = [];
  #groups = new Uint32Array(FEW_ROWS);
  /** NaN for none, and for ids beyond 2^53, which are in `#large`. */
  #numbers = new Float64Array(FEW_ROWS * NUMBERS);
  readonly #large = new Map<number, bigint>();
  readonly #keys: (string | null)[] = [];
  readonly #evidence = new Map<number, string>();

  get length(): number {
    return this.#keys.length;
  }

  readonly add: AddWaitingRow = (group, key, v3, v4, evidence, parent, parentSvcId) => {
    const at = this.length;
    if (at === this.#groups.length) this.#grow();
    let place = this.#knownGroups.lastIndexOf(group);
    if (place < 0) place = this.#knownGroups.push(group) - 1;
    this.#groups[at] = place;
    this.#keys.push(key);
    if (evidence !== null) this.#evidence.set(at, evidence);
    this.#setNumber(at * NUMBERS, v3);
    this.#setNumber(at * NUMBERS + 1, v4);
    this.#setNumber(at * NUMBERS + 2, parent);
    this.#setNumber(at * NUMBERS + 3, parentSvcId);
  };

  /** Returns the function that reads the rows, which are saved, and removes them from memory. */
  save(spool: RowSpool): ReadRows {
    const groups = [...this.#knownGroups];
    const read = spool.save({
      groups: this.#groups.subarray(0, this.length),
      numbers: this.#numbers.subarray(0, this.length * NUMBERS),
      keys: this.#keys,
      evidence: this.#evidence,
      large: this.#large,
    });
    this.#knownGroups.length = 0;
    this.#keys.length = 0;
    this.#evidence.clear();
    this.#large.clear();
    return (onRow) => forEachRow(read(), groups, onRow);
  }

  /** Returns the function that reads the rows, in little memory. */
  keep(): ReadRows {
    const rows: WaitingRow[] = [];
    this.forEach((...row) => void rows.push(row));
    return (onRow) => {
      for (const row of rows) onRow(...row);
    };
  }

  forEach(onRow: AddWaitingRow): void {
    const [groups, numbers, keys] = [this.#groups, this.#numbers, this.#keys];
    forEachRow(
      { groups, numbers, keys, evidence: this.#evidence, large: this.#large },
      this.#knownGroups,
      onRow,
    );
  }

  #setNumber(at: number, id: RowId | null): void {
    this.#numbers[at] = typeof id === 'number' ? id : Number.NaN;
    if (typeof id === 'bigint') this.#large.set(at, id);
  }

  #grow(): void {
    const [groups, numbers] = [this.#groups, this.#numbers];
    this.#groups = new Uint32Array(4 * groups.length);
    this.#groups.set(groups);
    this.#numbers = new Float64Array(4 * numbers.length);
    this.#numbers.set(numbers);
  }
}

/** Calls the function with each row. */
type ReadRows = (onRow: AddWaitingRow) => void;

function forEachRow(
  { groups, numbers, keys, evidence, large }: SavedRows,
  knownGroups: readonly CountedGroup[],
  onRow: AddWaitingRow,
): void {
  const numberAt = (at: number): RowId | null => {
    const number = numbers[at] ?? Number.NaN;
    return Number.isNaN(number) ? (large.get(at) ?? null) : number;
  };
  for (let at = 0; at < keys.length; at++) {
    const group = knownGroups[groups[at] ?? 0];
    if (group === undefined) continue;
    const first = at * NUMBERS;
    const parent = numbers[first + 2] ?? Number.NaN;
    onRow(
      group,
      keys[at] ?? null,
      numberAt(first),
      numberAt(first + 1),
      evidence.get(at) ?? null,
      Number.isNaN(parent) ? null : parent,
      numberAt(first + 3) ?? 0,
    );
  }
}

/** Keeps rows by column in a temporary table. */
export class RowSpool {
  readonly #db: Db;
  readonly #insert;
  readonly #read;

  constructor(db: Db) {
    this.#db = db;
    db.exec('CREATE TEMP TABLE waiting_rows(id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT');
    this.#insert = db.prepare<[Buffer]>('INSERT INTO waiting_rows(body) VALUES (?)');
    this.#read = db.prepare<[bigint | number], Buffer>('SELECT body FROM waiting_rows WHERE id = ?').pluck();
  }

  clear(): void {
    this.#db.exec('DELETE FROM waiting_rows');
  }

  save(rows: SavedRows): () => SavedRows {
    const { lastInsertRowid: id } = this.#insert.run(serialize(rows));
    return () => deserialize(this.#read.get(id) ?? Buffer.alloc(0));
  }
}

/** The rows of one field and company, which are written in the order of their ids. */
export class WaitingRows {
  readonly #spool: RowSpool;
  #chunks: ReadRows[] = [];
  #open: RowColumns | null = null;
  #isSorted = true;
  /** The ids of the row before. */
  #v3: RowId | null = null;
  #v4: RowId | null = null;
  #parentSvcId: RowId | null = null;

  constructor(spool: RowSpool) {
    this.#spool = spool;
  }

  readonly add: AddWaitingRow = (group, key, v3, v4, evidence, parent, parentSvcId) => {
    const order =
      compareIds(this.#v3, v3) || compareIds(this.#v4, v4) || compareIds(this.#parentSvcId, parentSvcId);
    if (order > 0) this.#isSorted = false;
    this.#v3 = v3;
    this.#v4 = v4;
    this.#parentSvcId = parentSvcId;
    this.#open ??= new RowColumns();
    this.#open.add(group, key, v3, v4, evidence, parent, parentSvcId);
    if (this.#open.length === ROWS_PER_CHUNK) this.#chunks.push(this.#open.save(this.#spool));
  };

  /** Sorts the rows. Only a few of them stay in memory. */
  seal(): void {
    if (!this.#isSorted) {
      const all: WaitingRow[] = [];
      this.forEach((...row) => void all.push(row));
      all.sort(compareRows);
      this.#chunks = [];
      this.#open = null;
      for (const row of all) this.add(...row);
      this.#isSorted = true;
    }
    const open = this.#open;
    if (open === null || open.length === 0) return;
    this.#chunks.push(open.length < FEW_ROWS ? open.keep() : open.save(this.#spool));
    this.#open = null;
  }

  forEach(onRow: AddWaitingRow): void {
    for (const read of this.#chunks) read(onRow);
    this.#open?.forEach(onRow);
  }
}

function compareRows(
  [, , v3, v4, , , parent]: WaitingRow,
  [, , otherV3, otherV4, , , other]: WaitingRow,
): number {
  return compareIds(v3, otherV3) || compareIds(v4, otherV4) || compareIds(parent, other);
}

/** Null comes first, as in SQLite. */
export function compareIds(a: RowId | null, b: RowId | null): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? -1 : 1;
  return a < b ? -1 : 1;
}
