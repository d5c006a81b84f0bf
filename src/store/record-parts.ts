import type { ParsedChild, ParsedRecord } from '../domain.js';
import type { Db } from './open.js';

/** Stores what hangs on a record: its bytes and its children. */
export interface RecordParts {
  insert(recordId: bigint, record: ParsedRecord): void;
  replace(recordId: bigint, record: ParsedRecord): void;
  /** Whether the stored bytes (or, where none are kept, the stored children) are those of `record`. */
  same(recordId: bigint, record: ParsedRecord): boolean;
}

/** With `ids` no bytes are kept, and those of an earlier `full` export go as their records are replaced. */
export function prepareParts(db: Db, payload: 'full' | 'ids'): RecordParts {
  const bodies = prepareBodies(db);
  const children = prepareChildren(db);
  return {
    insert(recordId, record) {
      if (payload === 'full') bodies.insert(recordId, record.raw);
      if (record.children.length > 0) children.insert(recordId, record.children);
    },
    replace(recordId, record) {
      if (payload === 'full') bodies.insert(recordId, record.raw);
      else bodies.drop(recordId);
      children.drop(recordId);
      children.insert(recordId, record.children);
    },
    same(recordId, record) {
      return payload === 'full'
        ? bodies.same(recordId, record.raw)
        : children.same(recordId, record.children);
    },
  };
}

function prepareBodies(db: Db) {
  const insert = db.prepare('INSERT OR REPLACE INTO payload(record_id, body) VALUES (?, ?)');
  const drop = db.prepare('DELETE FROM payload WHERE record_id = ?');
  const same = db.prepare('SELECT 1 FROM payload WHERE record_id = ? AND body = ?');
  return {
    insert: (recordId: bigint, raw: Uint8Array) => insert.run(recordId, raw),
    drop: (recordId: bigint) => drop.run(recordId),
    same: (recordId: bigint, raw: Uint8Array) => same.get(recordId, raw) !== undefined,
  };
}

interface StoredChild {
  path: string;
  svc_id: bigint;
  platform_id: string | null;
  unique_id: string | null;
  deleted: bigint;
}

/** A child listed twice in one record is stored once, as it was listed last. */
function prepareChildren(db: Db) {
  const insert = db.prepare(`
    INSERT OR REPLACE INTO child(record_id, path, svc_id, platform_id, unique_id, deleted)
    VALUES (?, ?, ?, ?, ?, ?)`);
  const drop = db.prepare('DELETE FROM child WHERE record_id = ?');
  const list = db.prepare<[bigint], StoredChild>(
    'SELECT path, svc_id, platform_id, unique_id, deleted FROM child WHERE record_id = ?',
  );
  return {
    insert(recordId: bigint, children: readonly ParsedChild[]) {
      for (const child of children) {
        const { path, svcId, platformId, platformUniqueId, deleted } = child;
        insert.run(recordId, path, svcId, platformId, platformUniqueId, deleted ? 1 : 0);
      }
    },
    drop: (recordId: bigint) => drop.run(recordId),
    same(recordId: bigint, children: readonly ParsedChild[]) {
      const stored = list.all(recordId);
      const arrived = new Map(children.map((child) => [`${child.svcId} ${child.path}`, child]));
      return stored.length === arrived.size && stored.every((child) => isSame(child, arrived));
    },
  };
}

function isSame(stored: StoredChild, arrived: ReadonlyMap<string, ParsedChild>): boolean {
  const child = arrived.get(`${stored.svc_id} ${stored.path}`);
  return (
    child !== undefined &&
    child.platformId === stored.platform_id &&
    child.platformUniqueId === stored.unique_id &&
    child.deleted === (stored.deleted === 1n)
  );
}
