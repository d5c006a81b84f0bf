import type { Generation, StreamKey, StreamState } from '../domain.js';
import type { Db } from './sqlite.js';

/** V4's list of companies; its records have the ids of the companies. */
export const COMPANY_LIST = 'core/companies';

/** A row of the table `stream`; its comments in schema.sql describe the columns. */
export interface StreamRow extends StreamKey {
  readonly id: bigint;
  readonly route: string;
  readonly state: StreamState;
  readonly endReason: string | null;
  readonly pages: number;
  readonly records: number;
  readonly uniqueRecords: number;
  readonly duplicates: number;
  readonly rejected: number;
  readonly totalCountFirst: number | null;
  readonly totalCountLast: number | null;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly error: string | null;
  readonly readAt: string | null;
  readonly phase: 'walk' | 'sweep' | 'top_up';
  readonly walk: number;
  readonly readingWalk: number;
  readonly walkStartedAt: string | null;
  readonly cursor: string | null;
  readonly since: string | null;
  readonly watermarkMs: number | null;
  readonly walkRecords: number;
  readonly restartRecords: number | null;
  readonly changes: number;
  readonly idlePages: number;
  readonly emptyEnd: 0 | 1;
  readonly rounds: number;
  readonly excluded: number;
}

export interface PlannedStream {
  readonly key: StreamKey;
  readonly route: string;
}

const SELECT = `
  select id, generation, region, model, cast(company_id as text) as companyId, route, state, end_reason as endReason, pages,
    records, unique_records as uniqueRecords, duplicates, rejected, total_count_first as totalCountFirst,
    total_count_last as totalCountLast, started_at as startedAt, finished_at as finishedAt, error, read_at as readAt, phase,
    walk, reading_walk as readingWalk, walk_started_at as walkStartedAt, cursor, since, watermark_ms as watermarkMs,
    walk_records as walkRecords, restart_records as restartRecords, changes, idle_pages as idlePages, empty_end as emptyEnd,
    rounds, excluded
  from stream`;

/** All lists, of one generation or both, in a fixed order; with V4's list of companies. */
export function listStreams(db: Db, generation: Generation | null = null): StreamRow[] {
  const sql = `${SELECT} where ? is null or generation = ? order by generation, region, model, company_id`;
  return db
    .prepare<[string | null, string | null], StoredStream>(sql)
    .safeIntegers(false)
    .all(generation, generation)
    .map(parse);
}

export function readCompanyList(db: Db): StreamRow | null {
  return listStreams(db, 'v4').find(isCompanyList) ?? null;
}

export function isCompanyList({ generation, model }: Pick<StreamKey, 'generation' | 'model'>): boolean {
  return generation === 'v4' && model === COMPANY_LIST;
}

export const COMPANY_LIST_PLAN: PlannedStream = {
  key: { generation: 'v4', region: '', model: COMPANY_LIST, companyId: null },
  route: COMPANY_LIST,
};

/** Adds missing streams, not begun, and updates the routes of the others. */
export function ensureStreams(db: Db, planned: readonly PlannedStream[]): void {
  const upsert = db.prepare(`
    insert into stream(generation, region, model, company_id, route) values (?, ?, ?, ?, ?)
    on conflict (generation, region, model, ifnull(company_id, 'all'))
      do update set route = excluded.route where route <> excluded.route`);
  for (const { key, route } of planned) {
    upsert.run(key.generation, key.region, key.model, key.companyId, route);
  }
}

export function prepareSaveStream(db: Db): (row: StreamRow) => void {
  const update = db.prepare<[StreamRow]>(`
    update stream set state = @state, end_reason = @endReason, pages = @pages, records = @records,
      unique_records = @uniqueRecords, duplicates = @duplicates, rejected = @rejected, total_count_first = @totalCountFirst,
      total_count_last = @totalCountLast, started_at = @startedAt, finished_at = @finishedAt, error = @error,
      read_at = @readAt, phase = @phase, walk = @walk, reading_walk = @readingWalk, walk_started_at = @walkStartedAt,
      cursor = @cursor, since = @since, watermark_ms = @watermarkMs, walk_records = @walkRecords,
      restart_records = @restartRecords, changes = @changes, idle_pages = @idlePages, empty_end = @emptyEnd,
      rounds = @rounds, excluded = @excluded
    where id = @id`);
  return (row) => {
    update.run(row);
  };
}

export function streamName({ generation, region, model, companyId }: StreamKey): string {
  return JSON.stringify([generation, region, model, companyId?.toString() ?? null]);
}

/** As read: ids of companies may need 64 bits, other integers do not. */
interface StoredStream extends Omit<StreamRow, 'id' | 'companyId'> {
  readonly id: number;
  readonly companyId: string | null;
}

function parse({ id, companyId, ...stored }: StoredStream): StreamRow {
  return { ...stored, id: BigInt(id), companyId: companyId === null ? null : BigInt(companyId) };
}

/** A number that grows whenever stored records or the state of a list change; while it is the same, so is the export. */
export function readExportSeq(db: Db): bigint {
  const sql = "select value from meta where name = 'export_seq'";
  return BigInt(db.prepare<[], string>(sql).pluck().get() ?? '0');
}

/** Makes the function that increments that number. Call it in the transaction that changes records or the state of a list. */
export function prepareBumpExportSeq(db: Db): () => void {
  const bump = db.prepare(`
    insert into meta(name, value) values ('export_seq', '1')
    on conflict (name) do update set value = cast(cast(value as integer) + 1 as text)`);
  return () => {
    bump.run();
  };
}
