import type { ParsedRecord } from '../domain.js';
import { renderChildren } from './child-list.js';
import type { Db } from './open.js';

/** The stream a page belongs to and the walks that its records are measured against, see `Position`. */
export interface PagePlace {
  readonly streamId: bigint;
  readonly walk: number;
  readonly keepFrom: number;
  readonly passWalk: number;
  readonly previousWalk: number | null;
}

/** What a page's records were. `unique` and `duplicates` count all of them, the rest are subsets. */
export interface RecordTally {
  /** First seen in this reading. */
  unique: number;
  duplicates: number;
  /** First seen in this pass; of these, seen by the pass before. */
  passUnique: number;
  passCommon: number;
  /** First seen in this walk. */
  fresh: number;
  /** New in the database, or stored anew with other content. */
  changed: number;
}

/** Makes the function that stores a page's records. Call that inside the page's transaction. */
export function prepareSaveRecords(
  db: Db,
  payload: 'full' | 'ids',
): (place: PagePlace, records: readonly ParsedRecord[]) => RecordTally {
  const writer = prepareWriter(db, payload);
  return (place, records) => {
    const tally: RecordTally = {
      unique: 0,
      duplicates: 0,
      passUnique: 0,
      passCommon: 0,
      fresh: 0,
      changed: 0,
    };
    for (const record of records) {
      if (writer.insert(place, record)) countNew(tally);
      else countKnown(tally, place, writer.revisit(place, record));
    }
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

/** A record that was stored already. */
interface Revisited {
  /** The walk that had seen it last. */
  readonly walk: number;
  readonly changed: boolean;
}

interface Writer {
  /** False where the record is stored already. */
  insert(place: PagePlace, record: ParsedRecord): boolean;
  revisit(place: PagePlace, record: ParsedRecord): Revisited;
}

type Value = string | number | bigint | Uint8Array | null;

const CONTENT =
  'company_id, platform_id, unique_id, deleted, updated_ms, latest_ms, latest_from, created_ms, facts, children';

function prepareWriter(db: Db, payload: 'full' | 'ids'): Writer {
  const insert = db.prepare<Value[]>(`
    INSERT INTO record(stream_id, svc_id, walk, ${CONTENT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING`);
  const replace = db.prepare<Value[]>(`
    UPDATE record SET walk = ?, (${CONTENT}) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE id = ?`);
  const mark = db.prepare<Value[]>('UPDATE record SET walk = ? WHERE id = ?');
  const find = prepareFind(db);
  const bodies = prepareBodies(db);
  const keepsBodies = payload === 'full';
  return {
    insert(place, record) {
      const done = insert.run(place.streamId, record.svcId, place.walk, ...contentOf(record));
      if (done.changes > 0 && keepsBodies) bodies.save(done.lastInsertRowid, record.raw);
      return done.changes > 0;
    },
    revisit(place, record) {
      const stored = find(place.streamId, record);
      const walk = Number(stored.walk);
      const wins = walk < place.keepFrom || arrivalWins(stored, record);
      const isSame = stored.same_content === 1n && (!keepsBodies || bodies.same(stored.id, record.raw));
      const changed = wins && !isSame;
      if (changed) {
        replace.run(place.walk, ...contentOf(record), stored.id);
        // with `ids` the bytes of an earlier full export go as their records are replaced
        if (keepsBodies) bodies.save(stored.id, record.raw);
        else bodies.drop(stored.id);
      } else if (walk < place.walk) {
        mark.run(place.walk, stored.id);
      }
      return { walk, changed };
    },
  };
}

/** The bytes of records as received. */
function prepareBodies(db: Db) {
  const save = db.prepare('INSERT OR REPLACE INTO payload(record_id, body) VALUES (?, ?)');
  const drop = db.prepare('DELETE FROM payload WHERE record_id = ?');
  const same = db.prepare('SELECT 1 FROM payload WHERE record_id = ? AND body = ?');
  return {
    save: (recordId: bigint | number, raw: Uint8Array) => save.run(recordId, raw),
    drop: (recordId: bigint) => drop.run(recordId),
    same: (recordId: bigint, raw: Uint8Array) => same.get(recordId, raw) !== undefined,
  };
}

interface StoredRecord {
  id: bigint;
  walk: bigint;
  updated_ms: bigint | null;
  same_content: bigint;
}

function prepareFind(db: Db): (streamId: bigint, arrival: ParsedRecord) => StoredRecord {
  const find = db.prepare<Value[], StoredRecord>(`
    SELECT id, walk, updated_ms, (${CONTENT}) IS (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) AS same_content
    FROM record WHERE stream_id = ? AND svc_id = ?`);
  return (streamId, arrival) => {
    const stored = find.get(...contentOf(arrival), streamId, arrival.svcId);
    if (stored !== undefined) return stored;
    throw new Error(`Record ${arrival.svcId} of stream ${streamId} is neither new nor stored.`);
  };
}

/** The newer version stays; of two of the same age, or of unknown age, the later arrival. */
function arrivalWins(stored: StoredRecord, arrival: ParsedRecord): boolean {
  if (stored.updated_ms === null || arrival.updatedMs === null) return true;
  return arrival.updatedMs >= Number(stored.updated_ms);
}

function contentOf(record: ParsedRecord): Value[] {
  return [
    record.companyId,
    record.platformId,
    record.platformUniqueId,
    record.deleted ? 1 : 0,
    record.updatedMs,
    record.latestMs,
    record.latestFrom,
    record.createdMs,
    record.facts,
    renderChildren(record.children),
  ];
}
