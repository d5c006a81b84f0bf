import type { ListPage } from '../domain.js';
import type { Db } from './sqlite.js';

export interface StoredPage {
  readonly id: bigint;
  readonly streamId: bigint;
  /** `identity`, `gzip` or `br` */
  readonly encoding: string;
  readonly body: Buffer;
}

/** Makes the function that stores the body of a page; it returns the page's id. */
export function prepareSaveBody(
  db: Db,
): (streamId: bigint, page: Pick<ListPage, 'body' | 'encoding'>) => bigint {
  const insert = db.prepare<[bigint, string, Uint8Array]>(
    'insert into page(stream_id, encoding, body) values (?, ?, ?)',
  );
  return (streamId, { body, encoding }) => BigInt(insert.run(streamId, encoding, body).lastInsertRowid);
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

/** Deletes pages that no record refers to any more. Returns their number. */
export function dropUnusedPages(db: Db): number {
  return db
    .prepare('delete from page where id not in (select page_id from record where page_id is not null)')
    .run().changes;
}
