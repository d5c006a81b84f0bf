import { existsSync } from 'node:fs';
import { type Generation, parseSvcId } from './domain.js';
import { SvcError } from './errors.js';
import { type Answer, type LookupPlace, prepareLookup } from './store/lookup.js';
import { readExportSeq } from './store/meta.js';
import { closeDatabase, guardDatabase, openDatabase } from './store/open.js';
import { readRemapRun } from './store/remap.js';
import type { Db } from './store/sqlite.js';
import { didYouMeanClause } from './text/suggest.js';

export { type ErrorCode, SvcError } from './errors.js';
export type { Answer } from './store/lookup.js';

/** An id. Numbers must be safe integers: larger ones have already lost digits. */
export type IdInput = bigint | number | string;

/** Narrows an id that several records may have. */
export interface Where {
  readonly region?: string;
  readonly companyId?: IdInput;
  /** Field of the children to look up, such as `line_items`. Default: records. */
  readonly path?: string;
}

export interface Remap {
  /**
   * The V4 id of a V3 id; null if there is none, or the V3 id is unknown or ambiguous.
   *
   * @param model the V3 path, such as `accounting/invoices`
   */
  v4Id(model: string, v3Id: IdInput, where?: Where): bigint | null;
  /** What is known of a V3 id, or with `from: 'v4'` of a V4 id. `stale`: an export finished after the remap was built. */
  find(
    model: string,
    id: IdInput,
    where?: Where & { readonly from?: Generation },
  ): Answer & { readonly stale: boolean };
  close(): void;
}

/**
 * Opens a database written by svc-migrate, to translate ids at run time, such as those in queues and webhooks.
 *
 * @throws SvcError `bad_input` (no such file), `usage` (unknown model), `not_our_database`, `newer_database`, and
 * `incomplete` if the remap is missing or was built from unfinished lists, unless `allowIncomplete` is set; `find` and
 * `v4Id` too, if such a remap is built later
 */
export function openRemap(file: string, options: { readonly allowIncomplete?: boolean } = {}): Remap {
  if (!existsSync(file)) {
    throw new SvcError('bad_input', `There is no database at ${file}.`, {
      hint: 'Name the database that `svc-migrate run` has written.',
    });
  }
  const db = openDatabase(file, 'read');
  const readStale = prepareStale(db, options.allowIncomplete === true);
  const lookUp = prepareLookup(db);
  // One transaction per answer, so that the remap cannot be replaced while it is read.
  const answer = db.transaction((from: Generation, model: string, id: bigint, place: LookupPlace) => {
    const stale = readStale();
    assertModel(db, model);
    return { ...lookUp(from, model, id, place), stale };
  });
  const find: Remap['find'] = (model, id, { from = 'v3', ...where } = {}) => {
    const place = {
      path: where.path ?? '',
      region: where.region ?? null,
      companyId: where.companyId === undefined ? null : toId(where.companyId),
    };
    return guardDatabase(file, () => answer(from, model, toId(id), place));
  };
  try {
    guardDatabase(file, readStale);
  } catch (error) {
    closeDatabase(db);
    throw error;
  }
  return { find, v4Id: (...asked) => find(...asked).v4Id, close: () => closeDatabase(db) };
}

/** Makes a check whether the remap is older than the export; it throws if the remap is missing or incomplete. */
function prepareStale(db: Db, allowIncomplete: boolean): () => boolean {
  return () => {
    const run = readRemapRun(db);
    if (run === null || (!run.isComplete && !allowIncomplete)) {
      const what =
        run === null ? 'There is no remap yet.' : 'The remap was built before every list was read.';
      throw new SvcError('incomplete', what, { hint: 'Run `svc-migrate run`.' });
    }
    return run.inputs['export'] !== String(readExportSeq(db));
  };
}

function assertModel(db: Db, model: string): void {
  const isExported = db.prepare<[string], bigint>('select 1 from stream where model = ? limit 1');
  if (isExported.get(model) !== undefined) return;
  const models = db.prepare<[], string>('select distinct model from stream').pluck().all();
  throw new SvcError('usage', `The database holds no model ${model}${didYouMeanClause(model, models)}`);
}

function toId(value: IdInput): bigint {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    throw new TypeError(`${value} is not an exact integer: pass large ids as bigint or text.`);
  }
  const id = parseSvcId(String(value));
  if (id === null) throw new RangeError(`"${value}" is not a 64-bit integer in plain digits.`);
  return id;
}
