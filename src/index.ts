import { type Generation, parseSvcId } from './domain.js';
import { SvcError } from './errors.js';
import { readExportSeq } from './store/meta.js';
import { type Db, guardDatabase, openDatabase } from './store/open.js';
import { isStale, readReadiness, refuseIncomplete, wasComplete } from './store/readiness.js';
import { EVERYTHING } from './store/remap-rows.js';
import { readRemapRuns } from './store/remap-tables.js';
import { readRecordGroups } from './store/scoped-streams.js';
import { type Answer, prepareLookup } from './store/verified-remap.js';
import { type TranslatedEvent, translateParsed, translateText } from './translate-event.js';

/** An id. Numbers must be safe integers: larger ones have already lost digits. */
export type IdInput = bigint | number | string;

/** Narrows an id that several records may have. */
export interface Where {
  /** Name of the V3 region in the configuration. */
  readonly region?: string;
  /** V3 company id; V4 company id for V4 ids. */
  readonly companyId?: IdInput;
  /** Field of the children to look up, such as `line_items`. Default: records. */
  readonly path?: string;
}

export type { Report } from './report/report-schema.js';
export type { Answer } from './store/verified-remap.js';
export type { TranslatedEvent } from './translate-event.js';

/** What is known of an id. */
export interface Resolution extends Omit<Answer, 'status'> {
  /** `mapped`: use the other id. `deleted`: the record is deleted in V3 or V4; the other id may be set. `unknown`: not exported. */
  readonly status: 'mapped' | 'unmatched' | 'deleted' | 'ambiguous' | 'unknown';
}

/** The V3 model of the ids that a JSON path selects, by that path, such as `$.data.lines[*].svc_id`. */
export type EventPaths = Readonly<Record<string, string | ({ readonly model: string } & Where)>>;

/** A finished remap, read-only. */
export interface Remap {
  /**
   * The V4 id of a V3 id; null if there is none, or the V3 id is unknown or ambiguous.
   *
   * @param model the V3 path, such as `accounting/invoices`
   */
  v4Id(model: string, v3Id: IdInput, where?: Where): bigint | null;
  /** The V4 id with status and reason, which tell why there is none. */
  find(model: string, v3Id: IdInput, where?: Where): Answer;
  /** What is known of a V3 or V4 id, with the id in the other generation. */
  resolve(model: string, id: IdInput, where: Where & { readonly from: Generation }): Resolution;
  /**
   * Replaces V3 ids in an event. In JSON text, everything else stays as it is. A parsed event is copied; ids beyond
   * 2^53 that are numbers in it are refused, because parsing has lost digits of them.
   *
   * @throws RangeError, TypeError and SyntaxError for events and paths that are wrong, and as `find` does
   */
  translateEvent(event: string, paths: EventPaths): TranslatedEvent<string, Resolution>;
  translateEvent<Event extends object>(event: Event, paths: EventPaths): TranslatedEvent<Event, Resolution>;
  close(): void;
}

/**
 * Opens a database written by svc-migrate, to translate ids at run time, such as those in queues and webhooks.
 *
 * @throws an Error with a `code`: `bad_input` (no such file), `usage` (unknown model), `not_our_database`,
 * `newer_database`, `older_database`, `locked`, and `incomplete` if the remap is missing or was built from unfinished
 * lists, unless `allowIncomplete` is set. `find` and `v4Id` also throw `incomplete`, if such a remap is built later. A
 * remap older than the export still answers; its answers are `stale`.
 */
export function openRemap(file: string, options: { readonly allowIncomplete?: boolean } = {}): Remap {
  const db = openDatabase(file, 'read');
  const { known, answer } = readyToAnswer(db, file, options.allowIncomplete === true);
  const lookUp = (from: Generation, model: string, id: IdInput, where: Where = {}): Answer => {
    if (!known.has(model)) throw unknownModel(model, [...known]);
    const place = {
      path: where.path ?? '',
      region: where.region ?? null,
      companyId: where.companyId === undefined ? null : toId(where.companyId),
    };
    return guardDatabase(file, () => answer(from, model, toId(id), place));
  };
  const find: Remap['find'] = (...asked) => lookUp('v3', ...asked);
  const resolve: Remap['resolve'] = (model, id, { from, ...where }) =>
    resolutionOf(lookUp(from, model, id, where));
  return {
    find,
    resolve,
    v4Id: (...asked) => find(...asked).v4Id,
    translateEvent: prepareTranslate(resolve),
    close: () => db.close(),
  };
}

function resolutionOf(answer: Answer): Resolution {
  const { status } = answer;
  return { ...answer, status: status === 'matched' ? 'mapped' : status === 'v4_only' ? 'unmatched' : status };
}

function prepareTranslate(resolve: Remap['resolve']): Remap['translateEvent'] {
  function translateEvent(event: string, paths: EventPaths): TranslatedEvent<string, Resolution>;
  function translateEvent<Event extends object>(
    event: Event,
    paths: EventPaths,
  ): TranslatedEvent<Event, Resolution>;
  function translateEvent(event: string | object, paths: EventPaths) {
    const places = Object.values(paths).map((place) =>
      typeof place === 'string' ? { model: place } : place,
    );
    const names = Object.keys(paths);
    const find = (id: string, path: number) => {
      const { model = '', ...where } = places[path] ?? {};
      return resolve(model, id, { ...where, from: 'v3' });
    };
    return typeof event === 'string'
      ? translateText(event, names, find)
      : translateParsed(event, names, find);
  }
  return translateEvent;
}

function readyToAnswer(db: Db, file: string, allowIncomplete: boolean) {
  try {
    return guardDatabase(file, () => {
      const readStale = prepareStale(db, allowIncomplete);
      const find = prepareLookup(db);
      // One transaction per answer, so that the remap cannot be replaced while it is read.
      const answer = db.transaction((...asked: Parameters<typeof find>): Answer => {
        return { stale: readStale(), ...find(...asked) };
      });
      db.transaction(readStale)();
      return { known: new Set(readRecordGroups(db).map(({ model }) => model)), answer };
    });
  } catch (error) {
    db.close();
    throw error;
  }
}

function unknownModel(model: string, known: readonly string[]): SvcError {
  return new SvcError('usage', `The database holds no model ${model}.`, {
    hint: `Known: ${known.join(', ')}.`,
  });
}

/** Prepares to check whether the remap is stale; the check throws if it was built from incomplete lists. */
function prepareStale(db: Db, allowIncomplete: boolean): () => boolean {
  // The version changes when another connection commits.
  const readVersion = db.prepare<[], bigint>('PRAGMA data_version').pluck();
  let version: bigint | undefined;
  let stale = false;
  return () => {
    const now = readVersion.get();
    if (version === now) return stale;
    const [run] = readRemapRuns(db, 1);
    stale = run !== undefined && isStale(run, readExportSeq(db));
    if (!allowIncomplete && !(run !== undefined && stale && wasComplete(db, run))) assertComplete(db);
    version = now;
    return stale;
  };
}

/** Takes the models from the stored lists, because there is no configuration; every planned list has a row from the start. */
function assertComplete(db: Db): void {
  const streams = readRecordGroups(db);
  const inV4 = new Set(streams.filter(({ generation }) => generation === 'v4').map(({ model }) => model));
  const names = [...new Set(streams.map(({ model }) => model))];
  const models = names.map((v3) => ({ v3, v4: inV4.size === 0 || inV4.has(v3) ? v3 : null }));
  refuseIncomplete(readReadiness(db, { models, v3: { regions: [] } }, EVERYTHING));
}

function toId(value: IdInput): bigint {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    throw new TypeError(`${value} is not an exact integer: pass large ids as bigint or text.`);
  }
  const id = parseSvcId(String(value));
  if (id === null) throw new RangeError(`"${value}" is not a 64-bit integer in plain digits.`);
  return id;
}
