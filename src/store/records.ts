import type { ParsedRecord } from '../domain.js';
import { checksumOfValues } from './checksum.js';
import { prepareMemberDigests } from './member-lists.js';
import { type PayloadWriter, preparePayloadWriter } from './payloads.js';
import type { Db } from './sqlite.js';

/** The stream of a page, and the walk numbers to compare its records with, see `Position`. */
export interface PagePlace {
  readonly streamId: bigint;
  readonly walk: number;
  readonly keepFrom: number;
  readonly passWalk: number;
  readonly previousWalk: number | null;
}

/** Counts of a page's records. `unique` and `duplicates` add up to all of them; the others are subsets. */
export interface RecordTally {
  /** First seen in this reading. */
  unique: number;
  duplicates: number;
  /** First seen in this pass; of these, seen in the previous pass. */
  passUnique: number;
  passCommon: number;
  /** First seen in this walk. */
  fresh: number;
  /** New in the database, or stored with new content. */
  changed: number;
}

/** Makes the function that stores a page's records. Call it inside the page's transaction. */
export function prepareSaveRecords(
  db: Db,
  payload: 'full' | 'ids',
): (place: PagePlace, records: readonly ParsedRecord[]) => RecordTally {
  const payloads = preparePayloadWriter(db, payload);
  const insert = prepareInsert(db, payloads);
  const revisit = prepareRevisit(db, payloads);
  const beginMembers = prepareMemberDigests(db);
  return (place, records) => {
    const tally: RecordTally = {
      unique: 0,
      duplicates: 0,
      passUnique: 0,
      passCommon: 0,
      fresh: 0,
      changed: 0,
    };
    const blocks = payloads.begin(records.map(({ raw }) => raw));
    const membersOf = beginMembers();
    const contents = records.map((record) => contentOf(record, membersOf(record.members)));
    const isNew = insert(place, records, contents, blocks);
    for (const [at, record] of records.entries()) {
      if (isNew(at)) countNew(tally);
      else countKnown(tally, place, revisit(place, record, contents[at] ?? [], blocks[at] ?? null));
    }
    payloads.end();
    return tally;
  };
}

function countNew(tally: RecordTally): void {
  tally.unique += 1;
  tally.passUnique += 1;
  tally.fresh += 1;
  tally.changed += 1;
}

function countKnown(tally: RecordTally, place: PagePlace, known: Revisited): void {
  if (known.walk < place.keepFrom) tally.unique += 1;
  else tally.duplicates += 1;
  if (known.walk < place.passWalk) {
    tally.passUnique += 1;
    if (place.previousWalk !== null && known.walk >= place.previousWalk) tally.passCommon += 1;
  }
  if (known.walk < place.walk) tally.fresh += 1;
  if (known.changed) tally.changed += 1;
}

/** The result for a record that was already stored. */
interface Revisited {
  /** The last walk that had seen it before. */
  readonly walk: number;
  readonly changed: boolean;
}

const CONTENT =
  'company_id, platform_id, unique_id, deleted, updated_ms, latest_ms, latest_from, created_ms, children, members';

/** The values of `CONTENT`. */
function contentOf(record: ParsedRecord, members: Uint8Array | null): Value[] {
  return [
    record.companyId,
    record.platformId,
    record.platformUniqueId,
    record.deleted ? 1 : 0,
    record.updatedMs,
    record.latestMs,
    record.latestFrom,
    record.createdMs,
    record.children,
    members,
  ];
}

/**
 * Makes the function that inserts the records of a page that are not stored yet, and returns whether the record at an
 * index was inserted. Of new records with the same id, the first is inserted.
 */
function prepareInsert(
  db: Db,
  payloads: PayloadWriter,
): (
  place: PagePlace,
  page: readonly ParsedRecord[],
  contents: readonly (readonly Value[])[],
  blocks: readonly (number | null)[],
) => (at: number) => boolean {
  const lastId = db.prepare<[], bigint | null>('SELECT max(id) FROM record').pluck();
  // OR IGNORE skips records with a stored id; if it skipped one for another reason, `prepareFind` would throw
  const records = prepareInsertRows(
    db,
    `INSERT OR IGNORE INTO record(id, stream_id, svc_id, walk, payload_block, checksum, ${CONTENT})`,
    RECORD_WIDTH,
    BATCH,
  );
  const count = db.prepare<[number, bigint]>('UPDATE stream SET stored = stored + ? WHERE id = ?');
  const added = db.prepare<[number], bigint>('SELECT id FROM record WHERE id >= ?').pluck();
  return (place, page, contents, blocks) => {
    const { length } = page;
    const first = Number(lastId.get() ?? 0n) + 1;
    let inserted = 0;
    for (const [at, { svcId }] of page.entries()) {
      const content = contents[at] ?? [];
      const { values } = records;
      const to = (at % BATCH) * RECORD_WIDTH;
      values[to] = first + at;
      values[to + 1] = place.streamId;
      values[to + 2] = svcId;
      values[to + 3] = place.walk;
      const block = blocks[at] ?? null;
      values[to + 4] = block;
      values[to + 5] = checksumOfValues([place.streamId, svcId, block, ...content]);
      for (let index = 0; index < content.length; index++) values[to + 6 + index] = content[index] ?? null;
      if ((at + 1) % BATCH === 0 || at + 1 === length) inserted += records.run((at % BATCH) + 1);
    }
    if (inserted > 0) count.run(inserted, place.streamId);
    const ids = inserted === length ? null : new Set(added.all(first).map(Number));
    for (const [at, { raw }] of page.entries()) {
      if (ids?.has(first + at) ?? true) payloads.add(blocks[at] ?? null, first + at, raw);
    }
    return (at) => ids?.has(first + at) ?? true;
  };
}

/** Makes the function that updates a stored record: it keeps the newer content, and sets the walk that saw it. */
function prepareRevisit(
  db: Db,
  payloads: PayloadWriter,
): (place: PagePlace, record: ParsedRecord, content: readonly Value[], block: number | null) => Revisited {
  const replace = db.prepare<Value[]>(`
    UPDATE record SET walk = ?, checksum = ?, payload_block = ?, (${CONTENT}) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      WHERE id = ?`);
  const mark = db.prepare<Value[]>('UPDATE record SET walk = ? WHERE id = ?');
  const find = prepareFind(db);
  return (place, record, content, block) => {
    const stored = find(place.streamId, record.svcId, content);
    const [id, walk] = [Number(stored.id), Number(stored.walk)];
    const before = stored.payload_block === null ? null : Number(stored.payload_block);
    const wins = walk < place.keepFrom || arrivalWins(stored.updated_ms, record.updatedMs);
    const changed = wins && !(stored.same_content === 1n && payloads.isSame(before, id, record.raw));
    if (changed) {
      const checksum = checksumOfValues([place.streamId, record.svcId, block, ...content]);
      replace.run(place.walk, checksum, block, ...content, stored.id);
      // with `ids`, payloads of an earlier full export are deleted when their records change
      payloads.release(before);
      payloads.add(block, id, record.raw);
    } else if (walk < place.walk) {
      mark.run(place.walk, stored.id);
    }
    return { walk, changed };
  };
}

interface StoredRecord {
  id: bigint;
  walk: bigint;
  payload_block: bigint | null;
  updated_ms: bigint | null;
  same_content: bigint;
}

function prepareFind(db: Db): (streamId: bigint, svcId: bigint, content: readonly Value[]) => StoredRecord {
  const find = db.prepare<Value[], StoredRecord>(`
    SELECT id, walk, payload_block, updated_ms, (${CONTENT}) IS (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) AS same_content
    FROM record WHERE stream_id = ? AND svc_id = ?`);
  return (streamId, svcId, content) => {
    const stored = find.get(...content, streamId, svcId);
    if (stored !== undefined) return stored;
    throw new Error(`Record ${svcId} of stream ${streamId} is neither new nor stored.`);
  };
}

/** The newer version wins; if both have the same age or one is unknown, the later arrival. */
function arrivalWins(storedMs: bigint | null, arrivalMs: number | null): boolean {
  return storedMs === null || arrivalMs === null || arrivalMs >= Number(storedMs);
}

/** Rows of one INSERT; larger batches are hardly faster. */
const BATCH = 32;
const RECORD_WIDTH = 16;

export type Value = string | number | bigint | Uint8Array | null;

/** Inserts rows. It inserts many with each statement, which takes a third of the time. */
export interface RowInsert {
  /** The values of a batch, row by row. */
  readonly values: Value[];
  /** Inserts the first rows of the batch, and returns how many were inserted. */
  readonly run: (rows: number) => number;
}

/**
 * @param into the INSERT up to its VALUES
 * @param width values in a row
 * @param batch rows in a batch
 */
export function prepareInsertRows(db: Db, into: string, width: number, batch: number): RowInsert {
  const row = `(${Array.from({ length: width }, () => '?').join(', ')})`;
  const many = db.prepare(`${into} VALUES ${Array.from({ length: batch }, () => row).join(', ')}`);
  const one = db.prepare(`${into} VALUES ${row}`);
  const values: Value[] = Array.from({ length: width * batch }, () => null);
  const run = (rows: number): number => {
    // spread, because binding an array is slower: it costs a sixth of the time
    if (rows === batch) return many.run(...values).changes;
    let inserted = 0;
    for (let at = 0; at < rows; at++)
      inserted += one.run(...values.slice(at * width, (at + 1) * width)).changes;
    return inserted;
  };
  return { values, run };
}
