import { decodeBody } from '../api/body.js';
import { pageFormat, parsePage } from '../api/pages.js';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import {
  iteratePages,
  lacksPages,
  listOtherwiseDerived,
  prepareDeriveAgain,
  saveDerivation,
} from '../store/derivation.js';
import { DAMAGED } from '../store/open.js';
import { prepareSaveRejected } from '../store/records.js';
import type { Db } from '../store/sqlite.js';
import { listStreams } from '../store/streams.js';
import { must } from '../text/at.js';

/**
 * Derives dates and children of all records from the stored pages, if the settings for them changed since. Objects in
 * the fields of children that are not valid children are rejected as an export would.
 *
 * @throws SvcError `other_configuration` if pages are missing
 */
export function deriveAgain(db: Db, config: Config): void {
  const others = new Set(listOtherwiseDerived(db, config));
  if ([...others].some((id) => lacksPages(db, id))) throw missingPages();
  saveDerivation(db, config);
  if (others.size === 0) return;
  const dropRejected = db.prepare<[bigint]>("delete from rejected where stream_id = ? and path <> ''");
  for (const id of others) dropRejected.run(id);
  const lists = new Map(
    listStreams(db).map((row) => [row.id, { row, pair: config.models.find(({ v3 }) => v3 === row.model) }]),
  );
  const derive = prepareDeriveAgain(db);
  const saveRejected = prepareSaveRejected(db);
  const pages = new Map<bigint, number>();
  for (const { id, streamId, encoding, body } of iteratePages(db)) {
    const { row, pair } = must(lists.get(streamId), 'list of a page');
    if (!others.has(streamId) || pair === undefined) continue;
    const format = pageFormat(config, row.generation, pair);
    const page = readStoredPage({ encoding, body }, (text) => parsePage(text, format, row.companyId));
    derive(streamId, id, page.records);
    const rejected = page.rejected.filter(({ path }) => path !== '');
    const earlier = pages.get(streamId) ?? 0;
    saveRejected({ ...row, pages: earlier }, rejected);
    pages.set(streamId, earlier + 1);
  }
}

function missingPages(): SvcError {
  const text =
    'Date fields or children changed since the export, and the pages to read them from were not stored (payload: "ids").';
  return new SvcError('other_configuration', text, {
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
