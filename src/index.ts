import { existsSync } from 'node:fs';
import { type Generation, parseSvcId } from './domain.js';
import { SvcError } from './errors.js';
import { findValues, type Hit, parseJsonPath } from './json/json-path.js';
import { readChildFields } from './store/fingerprint.js';
import { readExportSeq } from './store/meta.js';
import { type Db, guardDatabase, openDatabase } from './store/open.js';
import { isStale, readReadiness, refuseIncomplete, wasComplete } from './store/readiness.js';
import { EVERYTHING } from './store/remap-rows.js';
import { readLastRun } from './store/remap-tables.js';
import { readRecordGroups } from './store/scoped-streams.js';
import { type Answer, prepareLookup } from './store/verified-remap.js';
import { didYouMean } from './text/suggest.js';

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

export { type ErrorCode, SvcError } from './errors.js';
export type { WrittenReport as Report } from './report/report-schema.js';
export type { Answer } from './store/verified-remap.js';

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
  /** What is known of a V3 id, or with `from: 'v4'` of a V4 id: the id in the other generation, status and reason. */
  find(model: string, id: IdInput, where?: Where & { readonly from?: Generation }): Answer;
  /**
   * Replaces V3 ids in the JSON text of an event. Null and everything else stays as it is.
   *
   * @throws RangeError if a path is not a JSON path, or if two paths select one value; SyntaxError if the text is not JSON; and as
   * `find` does
   */
  translateEvent(event: string, paths: EventPaths): TranslatedEvent;
  close(): void;
}

/**
 * Opens a database written by svc-migrate, to translate ids at run time, such as those in queues and webhooks.
 *
 * @throws SvcError `bad_input` (no such file), `usage` (unknown model, region or field), `not_our_database`,
 * `newer_database`, `older_database`, `locked`, and `incomplete` if the remap is missing or was built from unfinished
 * lists, unless `allowIncomplete` is set. `find` and `v4Id` also throw `incomplete`, if such a remap is built later. A
 * remap older than the export still answers; its answers are `stale`.
 */
export function openRemap(file: string, options: { readonly allowIncomplete?: boolean } = {}): Remap {
  if (!existsSync(file)) {
    throw new SvcError('bad_input', `There is no database at ${file}.`, {
      hint: 'Name the database that `svc-migrate run` has written.',
    });
  }
  const db = openDatabase(file, 'read');
  const { places, answer } = readyToAnswer(db, file, options.allowIncomplete === true);
  const find: Remap['find'] = (model, id, { from = 'v3', ...where } = {}) => {
    assertPlace(places, model, where);
    const place = {
      path: where.path ?? '',
      region: where.region ?? null,
      companyId: where.companyId === undefined ? null : toId(where.companyId),
    };
    return guardDatabase(file, () => answer(from, model, toId(id), place));
  };
  return {
    find,
    v4Id: (...asked) => find(...asked).v4Id,
    translateEvent: (event, paths) => translateEvent(event, paths, find),
    close: () => db.close(),
  };
}

/** What was exported, and can be looked up. */
interface Places {
  readonly models: ReadonlySet<string>;
  readonly regions: ReadonlySet<string>;
  readonly childFields: ReturnType<typeof readChildFields>;
}

/** @throws SvcError `usage` for a model, region or field that was not exported */
function assertPlace(
  { models, regions, childFields }: Places,
  model: string,
  { region, path = '' }: Where,
): void {
  if (!models.has(model)) throw unknownPlace(`model ${model}`, model, [...models]);
  if (region !== undefined && !regions.has(region)) {
    throw unknownPlace(`region ${region}`, region, [...regions]);
  }
  const fields = childFields.get(model);
  if (path === '' || fields === undefined || fields.includes(path)) return;
  throw unknownPlace(`field ${path} with children of ${model}`, path, fields);
}

function unknownPlace(what: string, name: string, known: readonly string[]): SvcError {
  return new SvcError('usage', `The database holds no ${what}.`, {
    hint: didYouMean(name, known) ?? undefined,
  });
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
      const groups = readRecordGroups(db);
      const places: Places = {
        models: new Set(groups.map(({ model }) => model)),
        regions: new Set(groups.flatMap(({ generation, region }) => (generation === 'v3' ? [region] : []))),
        childFields: readChildFields(db),
      };
      return { places, answer };
    });
  } catch (error) {
    db.close();
    throw error;
  }
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
    const run = readLastRun(db);
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

/** A translated event, and what is known of each id. */
export interface TranslatedEvent {
  /** The event with V4 ids, and null in place of ids without a V4 id, so that no V3 id is taken for a V4 id. */
  readonly event: string;
  /** Every id that was replaced, in the order of the event, with the path that selected it. */
  readonly ids: readonly (Answer & { readonly path: string })[];
  /** Paths that selected nothing. */
  readonly missing: readonly string[];
  /** Whether each path selected something and each id has a V4 id. */
  readonly isComplete: boolean;
}

function translateEvent(text: string, paths: EventPaths, find: Remap['find']): TranslatedEvent {
  const bytes = Buffer.from(text, 'utf8');
  const names = Object.keys(paths);
  const hits = findHits(bytes, names);
  const parts: string[] = [];
  let at = 0;
  const ids = hits.flatMap(({ path, kind, start, end }, index) => {
    const name = names[path] ?? '';
    if (hits[index - 1]?.start === start) throw new RangeError(`Two paths select one value: ${name}.`);
    if (kind === 'null') return [];
    const quote = kind === 'string' ? '"' : '';
    const place = paths[name] ?? '';
    const { model, ...where } = typeof place === 'string' ? { model: place } : place;
    const found = find(model, bytes.toString('utf8', start + quote.length, end - quote.length), where);
    const id = found.v4Id === null ? 'null' : `${quote}${found.v4Id}${quote}`;
    parts.push(bytes.toString('utf8', at, start), id);
    at = end;
    return [{ ...found, path: name }];
  });
  const missing = names.filter((_, path) => !hits.some((hit) => hit.path === path));
  const isComplete = missing.length === 0 && ids.every(({ v4Id }) => v4Id !== null);
  return { event: parts.join('') + bytes.toString('utf8', at), ids, missing, isComplete };
}

function findHits(bytes: Uint8Array, paths: readonly string[]): readonly Hit[] {
  const parsed = paths.map((text) => {
    const path = parseJsonPath(text);
    if (path !== null) return path;
    throw new RangeError(`"${text}" is not a JSON path, such as $.invoice.id or $.lines[*].id.`);
  });
  try {
    return findValues(bytes, 0, bytes.length, parsed);
  } catch (cause) {
    throw new SyntaxError('The event is not JSON.', { cause });
  }
}
