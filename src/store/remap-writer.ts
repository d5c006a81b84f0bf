import { deserialize, serialize } from 'node:v8';
import type { Db } from './open.js';
import { prepareInsertRows } from './records.js';
import {
  digestBlock,
  type RemapGroup,
  RowDigests,
  type RowsText,
  renderGroup,
  type StoredRow,
} from './remap-blocks.js';
import { ROWS_PER_BLOCK } from './remap-rows.js';
import { REMAP_INDEXES, REMAP_TABLES } from './schema.js';

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

export interface NewRow {
  readonly group: CountedGroup;
  readonly key: string | null;
  readonly v3: bigint | null;
  readonly v4: bigint | null;
  /** JSON; null for none. */
  readonly evidence: string | null;
  /** The row of the record that holds a child. */
  readonly parent: number | null;
}

const MAX_FIRST_ROWS = 5;
const DAY_MS = 86_400_000;

/** Writes a new remap, row by row in its order; part of the caller's transaction, which keeps the old remap if it fails. */
export class RemapWriter {
  readonly #db: Db;
  readonly #groups = new Map<string, CountedGroup>();
  readonly #texts: string[] = [];
  readonly #insert: ReturnType<typeof prepareInsertRows>;
  readonly #digests = new RowDigests();
  /** The last group of each path: most rows are of the same group as the one before. */
  readonly #last = new Map<string, CountedGroup>();
  #block: StoredRow[] = [];
  #rows = 0;
  /** Rows that are `matched` without an id on both sides. */
  halfMatched = 0;

  constructor(db: Db) {
    this.#db = db;
    db.exec(`DROP TABLE remap_group; DROP TABLE remap_row; DROP TABLE remap_day; ${REMAP_TABLES}`);
    this.#insert = prepareInsertRows(db, 'INSERT INTO remap_row', ROW_WIDTH);
  }

  groupOf(group: RemapGroup): CountedGroup {
    const last = this.#last.get(group.path);
    if (last !== undefined && isSameGroup(last, group)) return last;
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
    this.#last.set(group.path, known);
    return known;
  }

  /** Returns the id of the row. */
  add({ group, parent, v3, v4, key, evidence }: NewRow): number {
    this.#rows += 1;
    group.count += 1;
    group.firstRow = Math.min(group.firstRow, this.#rows);
    group.lastRow = this.#rows;
    if (group.status !== 'matched' && group.firstRows.length < MAX_FIRST_ROWS)
      group.firstRows.push(this.#rows);
    if (group.status === 'matched' && (v3 === null || v4 === null)) this.halfMatched += 1;
    const stored = { group: group.id, parent, v3, v4, key, evidence: evidenceOf(group, evidence) };
    if (this.#block.push(stored) === ROWS_PER_BLOCK) this.#flush();
    return this.#rows;
  }

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
    if (block.length === 0) return;
    const first = this.#rows - block.length + 1;
    this.#insert(block.length, (values, to, at) => {
      const row = block[at];
      if (row === undefined) return;
      values[to] = first + at;
      values[to + 1] = row.group;
      values[to + 2] = row.parent;
      values[to + 3] = row.v3;
      values[to + 4] = row.v4;
      values[to + 5] = row.key;
      values[to + 6] = row.evidence;
    });
    this.#digests.add(digestBlock(block, (group) => this.#texts[group] ?? ''));
    this.#block = [];
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

function isSameGroup(a: RemapGroup, b: RemapGroup): boolean {
  return (
    a.reason === b.reason &&
    a.path === b.path &&
    a.status === b.status &&
    a.matchedBy === b.matchedBy &&
    a.provisional === b.provisional &&
    a.conflict === b.conflict &&
    a.v3CompanyId === b.v3CompanyId &&
    a.v4CompanyId === b.v4CompanyId &&
    a.region === b.region &&
    a.model === b.model
  );
}

/** A row to be written later. */
export interface WaitingRow extends NewRow {
  /** The id of the record that holds a child, by which rows with equal ids are ordered. */
  readonly parentSvcId: bigint;
}

const ROWS_PER_CHUNK = 4096;

/** Rows that are written after others, kept in a temporary table. */
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

  /** Returns the function that reads the rows. */
  save(rows: readonly WaitingRow[]): () => readonly WaitingRow[] {
    const groups = [...new Set(rows.map(({ group }) => group))];
    const places = new Map(groups.map((group, place) => [group, place]));
    const columns = [
      rows.map(({ group }) => places.get(group) ?? 0),
      rows.map(({ key }) => key),
      rows.map(({ v3 }) => v3),
      rows.map(({ v4 }) => v4),
      rows.map(({ evidence }) => evidence),
      rows.map(({ parent }) => parent),
      rows.map(({ parentSvcId }) => parentSvcId),
    ];
    const { lastInsertRowid: id } = this.#insert.run(serialize(columns));
    return () => {
      const [group, key, v3, v4, evidence, parent, parentSvcId] = deserialize(
        this.#read.get(id) ?? Buffer.alloc(0),
      );
      return group.map((place: number, at: number) => ({
        group: groups[place],
        key: key[at],
        v3: v3[at],
        v4: v4[at],
        evidence: evidence[at],
        parent: parent[at],
        parentSvcId: parentSvcId[at],
      }));
    };
  }
}

/** The rows of one field and company, which are written in the order of their ids. */
export class WaitingRows {
  readonly #spool: RowSpool;
  readonly #chunks: (() => readonly WaitingRow[])[] = [];
  #rows: WaitingRow[] = [];
  #last: WaitingRow | null = null;
  #isSorted = true;

  constructor(spool: RowSpool) {
    this.#spool = spool;
  }

  add(row: WaitingRow): void {
    if (this.#last !== null && compareRows(this.#last, row) > 0) this.#isSorted = false;
    this.#last = row;
    if (this.#rows.push(row) === ROWS_PER_CHUNK) this.#saveChunk();
  }

  /** Sorts the rows. Only a few of them stay in memory. */
  seal(): void {
    if (!this.#isSorted) {
      const all = [...this.#chunks.flatMap((read) => read()), ...this.#rows].sort(compareRows);
      this.#chunks.length = 0;
      for (let at = 0; at < all.length; at += ROWS_PER_CHUNK) {
        this.#rows = all.slice(at, at + ROWS_PER_CHUNK);
        this.#saveChunk();
      }
      this.#isSorted = true;
    }
    if (this.#rows.length >= FEW_ROWS) this.#saveChunk();
  }

  *read(): Generator<WaitingRow> {
    for (const read of this.#chunks) yield* read();
    yield* this.#rows;
  }

  #saveChunk(): void {
    this.#chunks.push(this.#spool.save(this.#rows));
    this.#rows = [];
  }
}

/** Fewer rows stay in memory: there can be 100,000 companies. */
const FEW_ROWS = 64;

function compareRows(a: WaitingRow, b: WaitingRow): number {
  return compareIds(a.v3, b.v3) || compareIds(a.v4, b.v4) || compareIds(a.parentSvcId, b.parentSvcId);
}

/** Null comes first, as in SQLite. */
export function compareIds(a: bigint | null, b: bigint | null): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? -1 : 1;
  return a < b ? -1 : 1;
}
