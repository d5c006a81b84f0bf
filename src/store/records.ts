import { createHash } from 'node:crypto';
import type { PageChild, PageRecord, RejectedObject, V4Company } from '../domain.js';
import { must } from '../text/at.js';
import type { Db } from './sqlite.js';
import type { StreamRow } from './streams.js';

export interface RecordTally {
  /** Records first seen in this reading. */
  readonly unique: number;
  /** Records first seen in this walk. */
  readonly fresh: number;
  readonly changed: number;
}

interface StoredRecord {
  readonly id: bigint;
  readonly walk: bigint;
  readonly companyId: bigint;
  readonly platformId: string | null;
  readonly uniqueId: string | null;
  readonly deleted: bigint;
  readonly updatedMs: bigint | null;
  readonly latestMs: bigint | null;
  readonly createdMs: bigint | null;
  readonly childCount: bigint;
}

/**
 * Makes the function that saves the records of a page. A record that is stored already is replaced with its children.
 * Call it inside a transaction.
 */
export function prepareSaveRecords(
  db: Db,
): (row: StreamRow, records: readonly PageRecord[], pageId: bigint | null) => RecordTally {
  const insert = db.prepare(`
    insert into record(stream_id, svc_id, company_id, platform_id, unique_id, deleted, updated_ms, latest_ms, latest_is_service,
      created_ms, child_count, child_twins, page_id, walk)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    on conflict do nothing`);
  const find = db.prepare<[bigint, number | bigint], StoredRecord>(`
    select id, walk, company_id as companyId, platform_id as platformId, unique_id as uniqueId, deleted,
      updated_ms as updatedMs, latest_ms as latestMs, created_ms as createdMs, child_count as childCount
    from record where stream_id = ? and svc_id = ?`);
  const update = db.prepare(`
    update record set company_id = ?, platform_id = ?, unique_id = ?, deleted = ?, updated_ms = ?, latest_ms = ?,
      latest_is_service = ?, created_ms = ?, child_count = ?, child_twins = ?, page_id = ?, walk = ?
    where id = ?`);
  const children = prepareSaveChildren(db);
  return (row, records, pageId) => {
    let unique = 0;
    let fresh = 0;
    let changed = 0;
    for (const record of records) {
      const values = [...valuesOf(record), pageId, row.walk];
      const { changes, lastInsertRowid } = insert.run(row.id, record.svcId, ...values);
      if (changes > 0) {
        unique++;
        fresh++;
        changed++;
        children.insert(lastInsertRowid, record.children);
        continue;
      }
      const before = find.get(row.id, record.svcId);
      if (before === undefined) throw new Error(`Record ${record.svcId} is neither new nor stored.`);
      if (before.walk < row.readingWalk) unique++;
      if (before.walk < row.walk) fresh++;
      if (differs(before, record)) changed++;
      update.run(...values, before.id);
      children.replace(before.id, record.children);
    }
    return { unique, fresh, changed };
  };
}

function valuesOf(record: PageRecord): readonly (string | number | bigint | null)[] {
  return [
    record.companyId,
    record.platformId,
    record.platformUniqueId,
    record.deleted ? 1 : 0,
    record.updatedMs,
    record.latestMs,
    record.latestFrom === 'service' ? 1 : 0,
    record.createdMs,
    record.children.length,
    hasTwins(record.children) ? 1 : 0,
  ];
}

function hasTwins(children: readonly PageChild[]): boolean {
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

function differs(before: StoredRecord, record: PageRecord): boolean {
  return (
    !isSameTime(before.updatedMs, record.updatedMs) ||
    before.platformId !== record.platformId ||
    before.uniqueId !== record.platformUniqueId ||
    (before.deleted === 1n) !== record.deleted ||
    BigInt(record.companyId) !== before.companyId ||
    Number(before.childCount) !== record.children.length ||
    !isSameTime(before.latestMs, record.latestMs) ||
    !isSameTime(before.createdMs, record.createdMs)
  );
}

function isSameTime(stored: bigint | null, ms: number | null): boolean {
  return stored === null ? ms === null : ms !== null && Number(stored) === ms;
}

export function listChildPaths(db: Db): { readonly id: bigint; readonly name: string }[] {
  return db.prepare<[], { id: bigint; name: string }>('select id, name from child_path order by id').all();
}

interface ChildWriter {
  insert(recordId: number | bigint, children: readonly PageChild[]): void;
  replace(recordId: bigint, children: readonly PageChild[]): void;
}

function prepareSaveChildren(db: Db): ChildWriter {
  const add = db.prepare(`
    insert into child(record_id, position, path, svc_id, platform_id, unique_id, deleted) values (?, ?, ?, ?, ?, ?, ?)`);
  const drop = db.prepare<[bigint]>('delete from child where record_id = ?');
  let paths: ReadonlyMap<string, bigint> | undefined;
  const numberOf = (path: string) => {
    paths ??= new Map(listChildPaths(db).map(({ id, name }) => [name, id]));
    return must(paths.get(path), 'child path');
  };
  const insert: ChildWriter['insert'] = (recordId, children) => {
    let position = 0;
    for (const { path, svcId, platformId, platformUniqueId, deleted } of children) {
      add.run(recordId, position++, numberOf(path), svcId, platformId, platformUniqueId, deleted ? 1 : 0);
    }
  };
  return {
    insert,
    replace: (recordId, children) => {
      drop.run(recordId);
      insert(recordId, children);
    },
  };
}

/**
 * Makes the function that replaces the dates and children of a page's records, for another configuration of them. Records
 * that a later page replaced are left alone.
 */
export function prepareDeriveAgain(db: Db): (pageId: bigint, records: readonly PageRecord[]) => void {
  const find = db
    .prepare<[bigint, number | bigint], bigint>(`
      select r.id
      from page as p cross join record as r on r.stream_id = p.stream_id
      where p.id = ? and r.svc_id = ? and r.page_id = p.id`)
    .pluck();
  const update = db.prepare(`
    update record set latest_ms = ?, latest_is_service = ?, created_ms = ?, child_count = ?, child_twins = ? where id = ?`);
  const children = prepareSaveChildren(db);
  return (pageId, records) => {
    for (const record of records) {
      const id = find.get(pageId, record.svcId);
      if (id === undefined) continue;
      const counts = [record.children.length, hasTwins(record.children) ? 1 : 0];
      const isOfService = record.latestFrom === 'service' ? 1 : 0;
      update.run(record.latestMs, isOfService, record.createdMs, ...counts, id);
      children.replace(id, record.children);
    }
  };
}

/** Makes the function that saves a page of V4's list of companies. */
export function prepareSaveCompanies(
  db: Db,
): (row: StreamRow, companies: readonly V4Company[]) => RecordTally {
  const find = db.prepare<[number | bigint], { walk: bigint; body: string }>(
    'select walk, body from v4_company where company_id = ?',
  );
  const save = db.prepare(`
    insert into v4_company(company_id, body, walk) values (?, ?, ?)
    on conflict (company_id) do update set body = excluded.body, walk = excluded.walk`);
  return (row, companies) => {
    const tally = { unique: 0, fresh: 0, changed: 0 };
    for (const { companyId, body } of companies) {
      const before = find.get(companyId);
      if (before === undefined || before.walk < row.readingWalk) tally.unique++;
      if (before === undefined || before.walk < row.walk) tally.fresh++;
      if (before === undefined || before.body !== body) tally.changed++;
      save.run(companyId, body, row.walk);
    }
    return tally;
  };
}

/** Replaces V4's companies by the configured ones. */
export function saveNamedCompanies(db: Db, companyIds: readonly bigint[]): void {
  db.prepare('delete from v4_company').run();
  const insert = db.prepare("insert or ignore into v4_company(company_id, body) values (?, '{}')");
  for (const companyId of companyIds) insert.run(companyId);
}

export function listV4Companies(db: Db): bigint[] {
  return db.prepare<[], bigint>('select company_id from v4_company order by company_id').pluck().all();
}

/** Makes the function that counts records of excluded companies. */
export function prepareSaveExcluded(
  db: Db,
): (row: StreamRow, records: readonly PageRecord[]) => Omit<RecordTally, 'changed'> {
  const find = db
    .prepare<[bigint, number | bigint], bigint>(
      'select walk from excluded where stream_id = ? and svc_id = ?',
    )
    .pluck();
  const save = db.prepare(`
    insert into excluded(stream_id, svc_id, walk) values (?, ?, ?)
    on conflict (stream_id, svc_id) do update set walk = excluded.walk`);
  return (row, records) => {
    const tally = { unique: 0, fresh: 0 };
    for (const { svcId } of records) {
      const walk = find.get(row.id, svcId);
      if (walk === undefined || walk < row.readingWalk) tally.unique++;
      if (walk === undefined || walk < row.walk) tally.fresh++;
      save.run(row.id, svcId, row.walk);
    }
    return tally;
  };
}

/** Rejected objects and children of a page: saved for the first time in this walk, or again. */
export interface RejectedTally {
  readonly rejected: number;
  readonly duplicates: number;
}

/** Makes the function that saves rejected objects. It counts those that stand for records. */
export function prepareSaveRejected(
  db: Db,
): (row: StreamRow, rejected: readonly RejectedObject[]) => RejectedTally {
  const insert = db.prepare(`
    insert into rejected(generation, region, model, company_id, page, position, path, reason, raw, stream_id, digest)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`);
  return (row, rejected) => {
    const tally = { rejected: 0, duplicates: 0 };
    const equalBefore = new Map<string, number>();
    for (const { position, path, reason, raw } of rejected) {
      const object = `${path}\0${reason}\0${raw}`;
      const count = equalBefore.get(object) ?? 0;
      equalBefore.set(object, count + 1);
      const digest = createHash('sha256').update(`${count}\0${object}`).digest().subarray(0, 16);
      const place = [row.generation, row.region, row.model, row.companyId, row.pages + 1, position];
      const { changes } = insert.run(...place, path, reason, raw, row.id, digest);
      if (path === '') tally[changes > 0 ? 'rejected' : 'duplicates']++;
    }
    return tally;
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

/** What the next walk or reading of a list begins without. */
export type Discard = 'cursors' | 'rejected' | 'unseen';

/** Makes the function that deletes what a list no longer needs. `unseen`: records that its reading did not show. */
export function prepareDiscard(db: Db): (row: StreamRow, what: Discard) => number {
  const cursors = db.prepare<[bigint]>('delete from cursor_seen where stream_id = ?');
  const rejected = db.prepare<[bigint]>('delete from rejected where stream_id = ?');
  const children = db.prepare<[bigint, number]>(`
    delete from child where record_id in (select id from record where stream_id = ? and walk < ?)`);
  const records = db.prepare<[bigint, number]>('delete from record where stream_id = ? and walk < ?');
  const excluded = db.prepare<[bigint, number]>('delete from excluded where stream_id = ? and walk < ?');
  const companies = db.prepare<[number]>('delete from v4_company where walk < ?');
  return (row, what) => {
    if (what === 'cursors') return cursors.run(row.id).changes;
    if (what === 'rejected') return rejected.run(row.id).changes;
    if (row.model === 'core/companies') return companies.run(row.readingWalk).changes;
    children.run(row.id, row.readingWalk);
    excluded.run(row.id, row.readingWalk);
    return records.run(row.id, row.readingWalk).changes;
  };
}

/** Deletes a list with everything that was read from it. */
export function dropStream(db: Db, id: bigint): void {
  db.prepare('delete from child where record_id in (select id from record where stream_id = ?)').run(id);
  for (const table of ['record', 'excluded', 'rejected', 'cursor_seen', 'page']) {
    db.prepare(`delete from ${table} where stream_id = ?`).run(id);
  }
  db.prepare('delete from stream where id = ?').run(id);
}
