import { deserialize, serialize } from 'node:v8';
import type { Status } from '../reasons.js';
import type { Db } from './open.js';
import { prepareInsertRows, type Value } from './records.js';
import { remapIndexes, remapTable } from './schema.js';

/** What rows of the remap have in common. */
export interface RemapGroup {
  readonly model: string;
  /** '' for records, else the children's field. */
  readonly path: string;
  readonly region: string | null;
  readonly v3CompanyId: bigint | null;
  readonly v4CompanyId: bigint | null;
  readonly status: Status;
  readonly reason: string | null;
  readonly matchedBy: string | null;
  /** Whether a list of the pair was not read in full. */
  readonly provisional: boolean;
  /** Whether the unique ids of a pair are both set and differ. */
  readonly conflict: boolean;
}

/** The number of rows of a group. */
export interface CountedGroup extends RemapGroup {
  count: number;
}

export interface NewRow {
  readonly group: CountedGroup;
  readonly key: string | null;
  readonly v3: bigint | null;
  readonly v4: bigint | null;
  /** JSON; null for none. */
  readonly evidence: string | null;
  /** The key of the record that holds a child. */
  readonly parentKey: string | null;
}

/** Rows that are inserted together. */
const BATCH = 512;

/** Writes a new remap, row by row in its order; part of the caller's transaction. */
export class RemapWriter {
  readonly #db: Db;
  readonly #groups = new Map<string, CountedGroup>();
  readonly #insert: ReturnType<typeof prepareInsertRows>;
  #rows: NewRow[] = [];
  #last: CountedGroup | null = null;

  constructor(db: Db) {
    this.#db = db;
    db.exec(`DROP TABLE IF EXISTS remap_next; ${remapTable('remap_next')}`);
    this.#insert = prepareInsertRows(db, 'INSERT INTO remap_next', WIDTH);
  }

  groupOf(group: RemapGroup): CountedGroup {
    if (this.#last !== null && isSameGroup(this.#last, group)) return this.#last;
    const { model, path, region, v3CompanyId, v4CompanyId, ...outcome } = group;
    const name = [model, path, region, v3CompanyId, v4CompanyId, ...Object.values(outcome)].join('\0');
    const known = this.#groups.get(name) ?? { ...group, count: 0 };
    this.#groups.set(name, known);
    this.#last = known;
    return known;
  }

  /** Rows that are `matched` without an id on both sides. */
  halfMatched = 0;

  add(row: NewRow): void {
    row.group.count += 1;
    if (row.group.status === 'matched' && (row.v3 === null || row.v4 === null)) this.halfMatched += 1;
    if (this.#rows.push(row) === BATCH) this.#flush();
  }

  get groups(): Iterable<CountedGroup> {
    return this.#groups.values();
  }

  /** Replaces the old remap. */
  finish(): void {
    this.#flush();
    this.#db.exec(`
      DROP TABLE remap;
      -- otherwise a view of the user's that reads remap is an error here
      PRAGMA legacy_alter_table = ON;
      ALTER TABLE remap_next RENAME TO remap;
      PRAGMA legacy_alter_table = OFF;
      ${remapIndexes('remap')}
    `);
  }

  #flush(): void {
    this.#insert(this.#rows.length, (values, to, at) => {
      const row = this.#rows[at];
      if (row === undefined) return;
      for (const [column, value] of valuesOf(row).entries()) values[to + column] = value;
    });
    this.#rows = [];
  }
}

const WIDTH = 14;

function valuesOf({ group, key, parentKey, v3, v4, evidence }: NewRow): readonly Value[] {
  return [
    ...[group.model, group.path, group.region, group.v3CompanyId, group.v4CompanyId, key, parentKey, v3, v4],
    ...[group.status, group.reason, group.matchedBy, renderEvidence(group, evidence), group.conflict ? 1 : 0],
  ];
}

function renderEvidence({ provisional }: RemapGroup, evidence: string | null): string {
  if (!provisional) return evidence ?? '{}';
  const before: object = evidence === null ? {} : JSON.parse(evidence);
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
      rows.map(({ parentKey }) => parentKey),
      rows.map(({ parentSvcId }) => parentSvcId),
    ];
    const { lastInsertRowid: id } = this.#insert.run(serialize(columns));
    return () => {
      const [group, key, v3, v4, evidence, parentKey, parentSvcId] = deserialize(
        this.#read.get(id) ?? Buffer.alloc(0),
      );
      return group.map((place: number, at: number) => ({
        group: groups[place],
        key: key[at],
        v3: v3[at],
        v4: v4[at],
        evidence: evidence[at],
        parentKey: parentKey[at],
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
