import { decodeBody } from '../api/body.js';
import { type PageFormat, pageFormat, parsePage } from '../api/pages.js';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { isDerivedWith, saveDerivation } from '../store/fingerprint.js';
import { DAMAGED } from '../store/open.js';
import { prepareDeriveAgain, prepareSaveRejected } from '../store/records.js';
import type { Db } from '../store/sqlite.js';
import { iteratePages } from '../store/stored-pages.js';
import { listStreams, type StreamRow } from '../store/streams.js';
import { must } from '../text/at.js';

/**
 * Derives dates and children of all records from the stored pages, if the settings for them changed since. Objects in
 * the fields of children that are not valid children are rejected as an export would.
 *
 * @throws SvcError `other_configuration` if pages are missing
 */
export function deriveAgain(db: Db, config: Config, throwIfStopped: () => void): void {
  if (isDerivedWith(db, config) || db.prepare('select 1 from record limit 1').get() === undefined) return;
  assertPagesStored(db);
  saveDerivation(db, config);
  db.exec("delete from rejected where path <> ''");
  const lists = new Map(
    listStreams(db).map((row) => [row.id, { row, format: formatOf(config, row), pages: 0 }]),
  );
  const derive = prepareDeriveAgain(db);
  const saveRejected = prepareSaveRejected(db);
  for (const { id, streamId, encoding, body } of iteratePages(db)) {
    throwIfStopped();
    const list = must(lists.get(streamId), 'list of a page');
    const { row, format, pages } = list;
    list.pages += 1;
    if (format === null) continue;
    const page = readStoredPage({ encoding, body }, (text) => parsePage(text, format, row.companyId));
    derive(id, page.records);
    saveRejected(
      { ...row, pages },
      page.rejected.filter(({ path }) => path !== ''),
    );
  }
}

function formatOf(config: Config, { generation, model }: StreamRow): PageFormat | null {
  const pair = config.models.find(({ v3 }) => v3 === model);
  return pair === undefined ? null : pageFormat(config, generation, pair);
}

function assertPagesStored(db: Db): void {
  if (db.prepare('select 1 from record where page_id is null limit 1').get() === undefined) return;
  const text =
    'Date fields or children changed since the export, and the pages to read them from were not stored (payload: "ids").';
  throw new SvcError('other_configuration', text, {
    hint: 'Restore backfill.dateFields and the children of the models, or export again with --restart.',
  });
}

/** What `parse` makes of a stored page. @throws SvcError `corrupt_database` if it cannot be read */
export function readStoredPage<T>(
  page: { readonly encoding: string; readonly body: Buffer } | undefined,
  parse: (text: string) => T,
): T {
  try {
    const { encoding, body } = must(page, 'page');
    return parse(decodeBody(body, encoding));
  } catch (cause) {
    throw new SvcError('corrupt_database', 'The database is damaged: a stored page cannot be read.', {
      hint: DAMAGED,
      cause,
    });
  }
}
