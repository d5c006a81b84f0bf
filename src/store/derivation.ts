import type { Config } from '../config/config.js';
import type { PageRecord } from '../domain.js';
import { dropRecords, hasTwins, numberChildPaths, prepareSaveChildren } from './records.js';
import type { Db } from './sqlite.js';
import type { StreamRow } from './streams.js';

/** The settings that dates and children of a list's records are derived with, by model, as texts to compare. */
function derivations({ backfill, models }: Config): string {
  return JSON.stringify(
    Object.fromEntries(
      models.map((model) => [model.v3, JSON.stringify([backfill.dateFields, model.children])]),
    ),
  );
}

/** The lists with records of which some were derived with other settings than these. */
export function listOtherwiseDerived(db: Db, config: Config): bigint[] {
  const sql = `
    select s.id from json_each(?) as m cross join stream as s on s.model = m.key
    where s.derived is not m.value and exists (select 1 from record as r where r.stream_id = s.id)`;
  return db.prepare<[string], bigint>(sql).pluck().all(derivations(config));
}

export function lacksPages(db: Db, listId: bigint): boolean {
  return db.prepare('select 1 from record where stream_id = ? and page_id is null').get(listId) !== undefined;
}

/** Notes that all stored records are derived with these settings. */
export function saveDerivation(db: Db, config: Config): void {
  numberChildPaths(db, listChildFields(config));
  db.prepare(`
    update stream set derived = m.value
    from json_each(?) as m where m.key = stream.model and stream.derived is not m.value`).run(
    derivations(config),
  );
}

/**
 * Notes that records of these lists will be derived with these settings. Records that were derived with others and cannot
 * be derived again are dropped if the reading brings them anew.
 */
export function noteDerivation(db: Db, config: Config, lists: readonly StreamRow[]): void {
  numberChildPaths(db, listChildFields(config));
  const others = new Set(listOtherwiseDerived(db, config));
  for (const { id, readingWalk } of lists) {
    if (others.has(id) && lacksPages(db, id)) dropRecords(db, id, readingWalk);
  }
  db.prepare(`
    update stream set derived = iif(exists (select 1 from record as r where r.stream_id = stream.id), null, m.value)
    from json_each(@derivations) as m
    where m.key = stream.model and stream.derived is not m.value and stream.id in (select value from json_each(@lists))`).run(
    { derivations: derivations(config), lists: `[${lists.map(({ id }) => id).join()}]` },
  );
}

function listChildFields({ models }: Config): string[] {
  return [...new Set(models.flatMap(({ children }) => children))].sort();
}

interface StoredPage {
  readonly id: bigint;
  readonly streamId: bigint;
  readonly encoding: string;
  readonly body: Buffer;
}

/** All stored pages, by id. The database may be written meanwhile. */
export function* iteratePages(db: Db): Generator<StoredPage> {
  const next = db.prepare<[bigint], StoredPage>(`
    select id, stream_id as streamId, encoding, body from page where id > ? order by id limit 1`);
  let page = next.get(0n);
  while (page !== undefined) {
    yield page;
    page = next.get(page.id);
  }
}

/** Makes the function that replaces the dates and children of a page's records, unless a later page holds them. */
export function prepareDeriveAgain(
  db: Db,
): (streamId: bigint, pageId: bigint, records: readonly PageRecord[]) => void {
  const update = db
    .prepare<unknown[], bigint>(`
      update record set latest_ms = ?, latest_is_service = ?, created_ms = ?, child_count = ?, child_twins = ?
      where stream_id = ? and svc_id = ? and page_id = ? returning id`)
    .pluck();
  const dropChildren = db.prepare('delete from child where record_id = ?');
  const saveChildren = prepareSaveChildren(db);
  return (streamId, pageId, records) => {
    for (const record of records) {
      const counts = [record.children.length, hasTwins(record.children) ? 1 : 0];
      const dates = [record.latestMs, record.latestFrom === 'service' ? 1 : 0, record.createdMs];
      const id = update.get(...dates, ...counts, streamId, record.svcId, pageId);
      if (id === undefined) continue;
      dropChildren.run(id);
      saveChildren(id, record.children);
    }
  };
}
