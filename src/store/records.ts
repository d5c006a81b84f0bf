import { createHash } from 'node:crypto';
import type { Config } from '../config/config.js';
import type { ListPage, PageChild, PageRecord, RejectedObject } from '../domain.js';
import { must } from '../text/at.js';
import type { Db } from './sqlite.js';
import { COMPANY_LIST, type StreamRow } from './streams.js';

export interface RecordTally {
  /** Records first seen in this reading. */
  unique: number;
  /** Records first seen in this walk. */
  fresh: number;
  changed: number;
}

/** @param before the last walk that saw the record; undefined: none */
function countSeen(tally: RecordTally, before: bigint | undefined, { walk, readingWalk }: StreamRow): void {
  if (before === undefined || before < readingWalk) tally.unique++;
  if (before === undefined || before < walk) tally.fresh++;
}

const COLUMNS =
  'company_id, platform_id, unique_id, deleted, updated_ms, latest_ms, latest_is_service, created_ms, child_count, child_twins, page_id, facts, walk';

/** Makes the function that saves the records of a page; one that is stored already is replaced with its children. */
export function prepareSaveRecords(
  db: Db,
): (row: StreamRow, records: readonly PageRecord[], pageId: bigint | null) => RecordTally {
  const insert = db.prepare(`
    insert into record(stream_id, svc_id, ${COLUMNS})
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    on conflict do nothing`);
  const find = db.prepare<unknown[], { id: bigint; walk: bigint; changed: bigint }>(`
    select id, walk, (company_id, platform_id, unique_id, deleted, updated_ms, latest_ms, created_ms, child_count)
      is not (?, ?, ?, ?, ?, ?, ?, ?) as changed
    from record where stream_id = ? and svc_id = ?`);
  const update = db.prepare(`
    update record set (${COLUMNS}) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) where id = ?`);
  const dropChildren = db.prepare('delete from child where record_id = ?');
  const saveChildren = prepareSaveChildren(db);
  return (row, records, pageId) => {
    const tally = { unique: 0, fresh: 0, changed: 0 };
    for (const record of records) {
      const { companyId, platformId, platformUniqueId, updatedMs, latestMs, latestFrom, createdMs } = record;
      const key = [companyId, platformId, platformUniqueId, record.deleted ? 1 : 0, updatedMs, latestMs];
      const count = record.children.length;
      const more = [count, hasTwins(record.children) ? 1 : 0, pageId, record.facts, row.walk];
      const values = [...key, latestFrom === 'service' ? 1 : 0, createdMs, ...more];
      const { changes, lastInsertRowid } = insert.run(row.id, record.svcId, ...values);
      if (changes > 0) {
        countSeen(tally, undefined, row);
        tally.changed++;
        saveChildren(lastInsertRowid, record.children);
        continue;
      }
      const before = must(find.get(...key, createdMs, count, row.id, record.svcId), 'record');
      countSeen(tally, before.walk, row);
      if (before.changed === 1n) tally.changed++;
      update.run(...values, before.id);
      dropChildren.run(before.id);
      saveChildren(before.id, record.children);
    }
    return tally;
  };
}

export function hasTwins(children: readonly PageChild[]): boolean {
  if (children.length < 2) return false;
  const keys = new Set<string>();
  for (const { path, platformId } of children) {
    if (platformId === null) continue;
    const key = `${path} ${platformId}`;
    if (keys.has(key)) return true;
    keys.add(key);
  }
  return false;
}

export function listChildPaths(db: Db): { readonly id: bigint; readonly name: string }[] {
  return db.prepare<[], { id: bigint; name: string }>('select id, name from child_path order by id').all();
}

/** Numbers the fields that hold children: these first, in their order, then others that stored children have. */
export function numberChildPaths(db: Db, names: readonly string[]): void {
  const before = listChildPaths(db);
  if (names.every((name, index) => before[index]?.name === name)) return;
  const all = new Set([...names, ...before.map(({ name }) => name)]);
  db.exec('delete from child_path');
  const insert = db.prepare('insert into child_path(name) values (?)');
  for (const name of all) insert.run(name);
  db.prepare(`
    update child set path = (
      select p.id from json_each(?) as b cross join child_path as p on p.name = b.value ->> 'name'
      where b.value ->> 'id' = child.path)`).run(
    JSON.stringify(before.map(({ id, name }) => ({ id: Number(id), name }))),
  );
}

export function prepareSaveChildren(
  db: Db,
): (recordId: number | bigint, children: readonly PageChild[]) => void {
  const add = db.prepare(`
    insert into child(record_id, position, path, svc_id, platform_id, unique_id, deleted) values (?, ?, ?, ?, ?, ?, ?)`);
  let paths: ReadonlyMap<string, bigint> | undefined;
  const numberOf = (path: string) => {
    paths ??= new Map(listChildPaths(db).map(({ id, name }) => [name, id]));
    return must(paths.get(path), 'child path');
  };
  return (recordId, children) => {
    let position = 0;
    for (const { path, svcId, platformId, platformUniqueId, deleted } of children) {
      add.run(recordId, position++, numberOf(path), svcId, platformId, platformUniqueId, deleted ? 1 : 0);
    }
  };
}

export function prepareSaveBody(
  db: Db,
): (streamId: bigint, page: Pick<ListPage, 'body' | 'encoding'>) => bigint {
  const insert = db.prepare<[bigint, string, Uint8Array]>(
    'insert into page(stream_id, encoding, body) values (?, ?, ?)',
  );
  return (streamId, { body, encoding }) => BigInt(insert.run(streamId, encoding, body).lastInsertRowid);
}

/** V4's companies: the configured ones, else the ones that its list shows. */
export function listV4Companies(db: Db, { v4 }: Config): readonly bigint[] {
  if (v4.companies.length > 0) return v4.companies;
  const sql = `
    select r.svc_id from stream as s cross join record as r on r.stream_id = s.id
    where s.model = '${COMPANY_LIST}' order by r.svc_id`;
  return db.prepare<[], bigint>(sql).pluck().all();
}

export function prepareSaveExcluded(db: Db): (row: StreamRow, records: readonly PageRecord[]) => RecordTally {
  const find = db
    .prepare<[bigint, number | bigint], bigint>(
      'select walk from excluded where stream_id = ? and svc_id = ?',
    )
    .pluck();
  const save = db.prepare(`
    insert into excluded(stream_id, svc_id, walk) values (?, ?, ?)
    on conflict (stream_id, svc_id) do update set walk = excluded.walk`);
  return (row, records) => {
    const tally = { unique: 0, fresh: 0, changed: 0 };
    for (const { svcId } of records) {
      countSeen(tally, find.get(row.id, svcId), row);
      save.run(row.id, svcId, row.walk);
    }
    return tally;
  };
}

/** Makes the function that saves rejected objects of a page, once in each walk. It returns how many stand for records. */
export function prepareSaveRejected(db: Db): (row: StreamRow, rejected: readonly RejectedObject[]) => number {
  const insert = db.prepare(`
    insert into rejected(generation, region, model, company_id, page, position, path, reason, raw, stream_id, digest)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`);
  return (row, rejected) => {
    let saved = 0;
    const equalBefore = new Map<string, number>();
    for (const { position, path, parentSvcId, reason, raw } of rejected) {
      const object = `${path}\0${parentSvcId}\0${reason}\0${raw}`;
      const count = equalBefore.get(object) ?? 0;
      equalBefore.set(object, count + 1);
      const digest = createHash('sha256').update(`${count}\0${object}`).digest().subarray(0, 16);
      const place = [row.generation, row.region, row.model, row.companyId, row.pages + 1, position];
      const { changes } = insert.run(...place, path, reason, raw, row.id, digest);
      if (path === '') saved += changes;
    }
    return saved;
  };
}

/** Makes the function that remembers a cursor of the current walk; it returns whether it was remembered before. */
export function prepareRememberCursor(db: Db): (streamId: bigint, cursor: string) => boolean {
  const insert = db.prepare(
    'insert into cursor_seen(stream_id, digest) values (?, ?) on conflict do nothing',
  );
  return (streamId, cursor) =>
    insert.run(streamId, createHash('sha256').update(cursor).digest()).changes === 0;
}

/** What is deleted before the next walk of a list, or at the end of a reading. */
export type Discard = 'cursors' | 'rejected' | 'unseen';

/** Deletes what a list no longer needs. `unseen`: records that its reading did not show. Returns the number of rows. */
export function discard(db: Db, { id, readingWalk }: StreamRow, what: Discard): number {
  if (what === 'cursors') return db.prepare('delete from cursor_seen where stream_id = ?').run(id).changes;
  if (what === 'rejected') return db.prepare('delete from rejected where stream_id = ?').run(id).changes;
  db.prepare('delete from excluded where stream_id = ? and walk < ?').run(id, readingWalk);
  return dropRecords(db, id, readingWalk);
}

/** Deletes the records of a list, with their children, that no walk since `walk` saw. Returns their number. */
export function dropRecords(db: Db, streamId: bigint, walk: number): number {
  db.prepare(
    'delete from child where record_id in (select id from record where stream_id = ? and walk < ?)',
  ).run(streamId, walk);
  return db.prepare('delete from record where stream_id = ? and walk < ?').run(streamId, walk).changes;
}

export function dropStream(db: Db, id: bigint): void {
  dropRecords(db, id, Number.MAX_SAFE_INTEGER);
  for (const table of ['excluded', 'rejected', 'cursor_seen', 'page']) {
    db.prepare(`delete from ${table} where stream_id = ?`).run(id);
  }
  db.prepare('delete from stream where id = ?').run(id);
}

export function dropUnusedPages(db: Db): void {
  db.exec('delete from page where id not in (select page_id from record where page_id is not null)');
}
