import { createHash } from 'node:crypto';
import type { Generation, StreamKey, StreamState, V4Company } from '../domain.js';
import type { SvcError } from '../errors.js';
import { sha256Of } from '../runtime/sha256.js';
import * as z from '../zod.js';
import { checksumOf, damaged, isIntact } from './checksum.js';
import { readMeta, writeMeta } from './meta.js';
import type { Db } from './sqlite.js';

/** A stream to be read, and the model name used in its requests. */
export interface PlannedStream {
  readonly key: StreamKey;
  readonly route: string;
}

/**
 * All lists of records, of one generation or both (null), in a fixed order.
 *
 * @throws SvcError `corrupt_database`
 */
export function listStreams(db: Db, generation: Generation | null = null): StreamRow[] {
  const rows = db.prepare<[string | null, string | null], StoredStream>(`
    ${STREAM_SELECT} WHERE (? IS NULL OR generation = ?) AND NOT ${IS_COMPANY_LIST}
    ORDER BY generation, region, model, company_id`);
  return Array.from(rows.iterate(generation, generation), parseStream);
}

/**
 * The row of V4's company list; null if it was not requested.
 *
 * @throws SvcError `corrupt_database`
 */
export function readCompanyList(db: Db): StreamRow | null {
  const stored = db.prepare<[], StoredStream>(`${STREAM_SELECT} WHERE ${IS_COMPANY_LIST}`).get();
  return stored === undefined ? null : parseStream(stored);
}

/** Reads `StoredStream` rows. */
export const STREAM_SELECT = `
  SELECT id, generation, region, model, company_id AS companyId, route, state, end_reason AS endReason,
    end_note AS endNote, pages, records, unique_records AS uniqueRecords, duplicates, rejected,
    total_count_first AS totalCountFirst, total_count_last AS totalCountLast, started_at AS startedAt,
    finished_at AS finishedAt, read_by AS readBy, read_at AS readAt, position, ${isIntact('stream')} AS intact
  FROM stream`;

/** All other V4 lists belong to a company. */
export const IS_COMPANY_LIST = "(generation = 'v4' AND company_id IS NULL)";

/** Ids of a generation's lists of records that were not read to the end. */
export function listUnfinished(db: Db, generation: Generation): bigint[] {
  const sql = `SELECT id FROM stream WHERE generation = ? AND state IN ('running', 'failed') AND NOT ${IS_COMPANY_LIST}`;
  return db.prepare<[string], bigint>(sql).pluck().all(generation);
}

/** Adds missing streams as `running`, and updates the routes of the others. */
export function ensureStreams(db: Db, planned: readonly PlannedStream[], startedAt: string): void {
  // One statement: a search for `company_id IS ?` would not use the index on ifnull(company_id, 'all').
  const upsert = db.prepare(`
    INSERT INTO stream(generation, region, model, company_id, route, state, started_at, position)
    VALUES (?, ?, ?, ?, ?, 'running', ?, ?)
    ON CONFLICT(generation, region, model, ifnull(company_id, 'all'))
      DO UPDATE SET route = excluded.route, checksum = 0 WHERE route <> excluded.route`);
  const position = JSON.stringify(FIRST_POSITION);
  for (const { key, route } of planned) {
    const { generation, region, model, companyId } = key;
    upsert.run(generation, region, model, companyId, route, startedAt, position);
  }
  db.prepare(`UPDATE stream SET checksum = ${checksumOf('stream')} WHERE checksum = 0`).run();
}

/** Makes the function that updates a stream's row. Call it inside a transaction. */
export function prepareSaveStream(db: Db): (row: StreamRow) => void {
  const update = db.prepare(`
    UPDATE stream SET state = ?, end_reason = ?, end_note = ?, pages = ?, records = ?, unique_records = ?,
      duplicates = ?, rejected = ?, total_count_first = ?, total_count_last = ?, started_at = ?,
      finished_at = ?, read_by = ?, read_at = ?, position = ?
    WHERE id = ?`);
  const seal = db.prepare(`UPDATE stream SET checksum = ${checksumOf('stream')} WHERE id = ?`);
  return (row) => {
    const counts = [row.pages, row.records, row.uniqueRecords, row.duplicates, row.rejected];
    const totals = [row.totalCountFirst, row.totalCountLast];
    const times = [row.startedAt, row.finishedAt, row.readBy, row.readAt];
    const ending = [row.state, row.endReason, row.endNote];
    update.run(...ending, ...counts, ...totals, ...times, JSON.stringify(row.position), row.id);
    seal.run(row.id);
  };
}

const count = z.number().int().nonnegative();

/**
 * The progress of reading a stream. Times are in ms since 1970.
 *
 * A *walk* reads the list from its start, page by page. Walks are numbered per stream, and a record stores the number of
 * the last walk that saw it. A *pass* reads the list to its end once: the whole list, the whole list again because its
 * count is disputed (recount), or the updated records (sweep). It takes several walks if cursors expire. A *reading*
 * begins with a pass over the whole list, and includes its recounts and sweeps. In the phase `parts`, that pass is read
 * company by company.
 */
const positionSchema = z.object({
  phase: z.enum(['walk', 'parts', 'recount', 'sweep', 'drop']).default('walk'),
  /** Cursor of the next page; null at the start of a walk. */
  cursor: z.string().nullable().default(null),
  walk: count.default(1),
  /** Records last seen by an earlier walk belong to an older reading; they are deleted at the end of this one. */
  keepFrom: count.default(1),
  /** First walk of this pass. */
  passWalk: count.default(1),
  /** Time of the walk's first request, by the local clock. */
  walkStartedMs: z.number().default(0),
  /** A time of the service's clock not later than the first page of the pass, or of the reading; null if unknown. */
  passWatermarkMs: z.number().nullable().default(null),
  readingWatermarkMs: z.number().nullable().default(null),
  /** The service's clock at the end of the last completed pass; null if unknown. */
  readUntilMs: z.number().nullable().default(null),
  /** Whether an export continued or updated the reading of an earlier one. */
  toppedUp: z.boolean().default(false),
  /** For sweeps: only records updated since then. */
  since: z.string().nullable().default(null),
  /** Records first seen in this pass; how many of these the previous pass saw; records that were new or changed. */
  passUnique: count.default(0),
  passCommon: count.default(0),
  passChanged: count.default(0),
  /** The previous full pass. */
  previous: z.object({ walk: count, unique: count }).nullable().default(null),
  /** Whether it is decided how this reading reads the list: as one, or company by company. */
  judged: z.boolean().default(false),
  /** Number of recounts or sweeps begun. */
  rounds: count.default(0),
  /** Whether a cursor led to an empty last page, and no record new to this pass was seen since. */
  emptyEnd: z.boolean().default(false),
  /** Consecutive pages without a record new to this walk. */
  idlePages: count.default(0),
  /** `passUnique` when the last expired cursor was dropped. */
  restartUnique: count.nullable().default(null),
  /** The final state of the stream, once nothing is left to read. */
  ending: z.enum(['complete', 'short', 'absent']).default('complete'),
  /** Number of distinct records of excluded companies in this reading. */
  excluded: count.default(0),
  /** The sum of their ids, see `addToIdSum`; null in databases of earlier versions. */
  excludedSum: count.nullable().default(null),
  /** Whether records of an older reading may be stored. */
  stale: z.boolean().default(false),
});

export type Position = Readonly<z.infer<typeof positionSchema>>;

/** The position at the start of a stream. */
export const FIRST_POSITION: Position = positionSchema.parse({});
const FIRST_POSITION_TEXT = JSON.stringify(FIRST_POSITION);

/** A row of `stream`. Invariant: records = uniqueRecords + duplicates + rejected. */
export interface StreamRow {
  readonly id: bigint;
  readonly generation: Generation;
  readonly region: string;
  readonly model: string;
  readonly companyId: bigint | null;
  readonly route: string;
  readonly state: StreamState;
  /** `end_of_list`, `count_disputed`, `not_found`, or the code of the error; null while unfinished. */
  readonly endReason: string | null;
  /** `endReason` as a sentence for people. */
  readonly endNote: string | null;
  readonly pages: number;
  readonly records: number;
  readonly uniqueRecords: number;
  readonly duplicates: number;
  readonly rejected: number;
  readonly totalCountFirst: number | null;
  readonly totalCountLast: number | null;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** How a V3 list was read: as one list, or the records of each company for themselves. */
  readonly readBy: 'list' | 'companies';
  /** Start of the last walk or sweep that was read to the end. */
  readonly readAt: string | null;
  readonly position: Position;
}

type Count = 'pages' | 'records' | 'uniqueRecords' | 'duplicates' | 'rejected';
type TotalCount = 'totalCountFirst' | 'totalCountLast';

/** A row of `STREAM_SELECT` as returned by SQLite, integers as bigint. */
export type StoredStream = Omit<StreamRow, Count | TotalCount | 'position'> &
  Readonly<Record<Count, bigint>> &
  Readonly<Record<TotalCount, bigint | null>> & { readonly position: string; readonly intact: bigint };

/** A damaged row may hold NULL where the schema allows none. */
export function damagedList({ generation, model }: Pick<StreamKey, 'generation' | 'model'>): SvcError {
  return damaged(`The state of a ${String(generation).toUpperCase()} list of ${model}`);
}

/** @throws SvcError `corrupt_database` if the row is not what was saved */
function parseStream(stored: StoredStream): StreamRow {
  const { position } = stored;
  return {
    ...parseList(stored),
    // saves parsing for new streams, of which there can be a hundred thousand
    position: position === FIRST_POSITION_TEXT ? FIRST_POSITION : positionSchema.parse(JSON.parse(position)),
  };
}

/** A stream without its position, which takes most of the time to parse. */
export type ListRow = Omit<StreamRow, 'position'>;

/** @throws SvcError `corrupt_database` if the row is not what was saved */
export function parseList({ intact, position: _, ...stored }: StoredStream): ListRow {
  if (intact !== 1n) {
    throw damagedList(stored);
  }
  const { totalCountFirst, totalCountLast } = stored;
  return {
    ...stored,
    pages: Number(stored.pages),
    records: Number(stored.records),
    uniqueRecords: Number(stored.uniqueRecords),
    duplicates: Number(stored.duplicates),
    rejected: Number(stored.rejected),
    totalCountFirst: totalCountFirst === null ? null : Number(totalCountFirst),
    totalCountLast: totalCountLast === null ? null : Number(totalCountLast),
  };
}

/** The key of a stream, for messages and requests. */
export function streamKeyOf(row: StreamRow): StreamKey {
  return { generation: row.generation, region: row.region, model: row.model, companyId: row.companyId };
}

/** The model of the company list's row in `stream`. */
export const COMPANY_LIST = 'core/companies';

type ListCounts = 'pages' | 'records' | 'uniqueRecords' | TotalCount;

/** The row of the company list in `stream`. */
export interface CompanyListRow extends Pick<StreamRow, ListCounts | 'endNote' | 'startedAt' | 'finishedAt'> {
  readonly state: 'complete' | 'short' | 'failed';
  readonly endReason: string;
}

/** Replaces the row of the company list; null if the list was not requested. */
export function saveCompanyList(db: Db, row: CompanyListRow | null): void {
  db.prepare("DELETE FROM stream WHERE generation = 'v4' AND company_id IS NULL").run();
  if (row === null) return;
  db.prepare(`
    INSERT INTO stream(generation, region, model, route, state, end_reason, end_note, pages, records, unique_records,
      duplicates, total_count_first, total_count_last, started_at, finished_at, read_at)
    VALUES ('v4', '', @model, @model, @state, @endReason, @endNote, @pages, @records, @uniqueRecords,
      @records - @uniqueRecords, @totalCountFirst, @totalCountLast, @startedAt, @finishedAt,
      iif(@state = 'failed', NULL, @startedAt))`).run({ ...row, model: COMPANY_LIST });
  db.prepare(
    `UPDATE stream SET checksum = ${checksumOf('stream')} WHERE generation = 'v4' AND company_id IS NULL`,
  ).run();
}

/** Replaces the listed companies. Call it inside a transaction. */
export function saveV4Companies(db: Db, companies: readonly V4Company[]): void {
  db.prepare('DELETE FROM v4_company').run();
  const insert = db.prepare('INSERT OR REPLACE INTO v4_company(company_id, body) VALUES (?, ?)');
  for (const { companyId, raw } of companies) insert.run(companyId, Buffer.from(raw).toString('utf8'));
  sealV4Companies(db);
}

/** Saves the digest of the listed companies. */
export function sealV4Companies(db: Db): void {
  writeMeta(db, LISTED, digestListed(db));
}

/** The setting that holds the digest of the listed companies. */
const LISTED = 'v4_companies';

/**
 * The companies that V4 listed.
 *
 * @throws SvcError `corrupt_database`
 */
export function readV4Companies(db: Db): bigint[] {
  assertV4Companies(db);
  return db.prepare<[], bigint>(COMPANY_IDS).pluck().all();
}

/** Verifies the companies that V4 listed without keeping them. @throws SvcError `corrupt_database` */
export function assertV4Companies(db: Db): void {
  if ((readMeta(db, LISTED) ?? sha256Of('')) !== digestListed(db)) throw damaged("V4's company list");
}

const COMPANY_IDS = 'SELECT company_id FROM v4_company ORDER BY company_id';

/** The SHA-256 of the ids in order, with commas between them. */
function digestListed(db: Db): string {
  const hash = createHash('sha256');
  let separator = '';
  for (const id of db.prepare<[], bigint>(COMPANY_IDS).pluck().iterate()) {
    hash.update(`${separator}${id}`);
    separator = ',';
  }
  return hash.digest('hex');
}
