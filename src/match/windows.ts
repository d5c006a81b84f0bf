import type { Db } from '../store/sqlite.js';
import { blocksOf, type ModelList } from './places.js';

export interface BackfillWindow {
  readonly model: string;
  readonly v4CompanyId: bigint;
  readonly source: 'configured' | 'inferred' | 'unknown';
  readonly sinceMs: number | null;
  readonly records: number;
  readonly from: { readonly svcId: bigint; readonly platformId: string | null } | null;
  /** Nine in ten of V4's records are from this day on. */
  readonly nineTenthsMs: number | null;
}

/** A window is inferred from at least as many V4 records. */
const MIN_RECORDS = 20;
const DAY_MS = 86_400_000;
const RECORDS_PER_BLOCK = 8192n;

/** The dates of V4's records of a list. V4's service dates are all recent, so only dates of the platform count. */
interface Dates {
  earliestMs: number;
  readonly byDay: Map<number, number>;
}

/** The windows of all V4 lists, by the id of the list. */
export function readWindows(
  db: Db,
  lists: readonly ModelList[],
  sinceMs: number | null,
  throwIfStopped: () => void,
): ReadonlyMap<bigint, BackfillWindow> {
  const dates = readDates(db, throwIfStopped);
  const earliest = db.prepare<[bigint, bigint], { svcId: bigint; platformId: string | null }>(`
    select svc_id as svcId, platform_id as platformId
    from record where stream_id = ? and latest_ms = ? and not latest_is_service
    order by svc_id limit 1`);
  const windows = new Map<bigint, BackfillWindow>();
  for (const { id, generation, model, companyId } of lists) {
    if (generation === 'v3' || companyId === null) continue;
    const ofList = dates.get(id);
    const records =
      ofList === undefined ? 0 : [...ofList.byDay.values()].reduce((sum, count) => sum + count, 0);
    const isInferred = sinceMs === null && ofList !== undefined && records >= MIN_RECORDS;
    const configured = sinceMs === null ? 'unknown' : 'configured';
    windows.set(id, {
      model,
      v4CompanyId: companyId,
      records,
      source: isInferred ? 'inferred' : configured,
      sinceMs: isInferred ? ofList.earliestMs : sinceMs,
      from: isInferred ? (earliest.get(id, BigInt(ofList.earliestMs)) ?? null) : null,
      nineTenthsMs: ofList === undefined ? null : findNineTenths(ofList, records),
    });
  }
  return windows;
}

function readDates(db: Db, throwIfStopped: () => void): ReadonlyMap<bigint, Dates> {
  const dates = new Map<bigint, Dates>();
  const block = db.prepare<
    [bigint, bigint],
    { stream: bigint; day: bigint; count: bigint; earliestMs: bigint }
  >(`
    select r.stream_id as stream, (r.latest_ms - (r.latest_ms % ${DAY_MS} + ${DAY_MS}) % ${DAY_MS}) / ${DAY_MS} as day,
      count(*) as count, min(r.latest_ms) as earliestMs
    from record as r cross join stream as s on s.id = r.stream_id
    where r.id > ? and r.id <= ? and r.latest_ms is not null and not r.latest_is_service and s.generation = 'v4'
    group by 1, 2`);
  for (const range of blocksOf(db, 'record', RECORDS_PER_BLOCK, throwIfStopped)) {
    for (const { stream, day, count, earliestMs } of block.all(...range)) {
      const ofList = dates.get(stream) ?? {
        earliestMs: Number(earliestMs),
        byDay: new Map<number, number>(),
      };
      ofList.earliestMs = Math.min(ofList.earliestMs, Number(earliestMs));
      ofList.byDay.set(Number(day), (ofList.byDay.get(Number(day)) ?? 0) + Number(count));
      dates.set(stream, ofList);
    }
  }
  return dates;
}

function findNineTenths({ byDay }: Dates, records: number): number | null {
  let later = records;
  let since: number | null = null;
  for (const [day, count] of [...byDay].sort(([a], [b]) => a - b)) {
    if (later * 10 < records * 9) break;
    since = day * DAY_MS;
    later -= count;
  }
  return since;
}

export function saveWindows(db: Db, windows: Iterable<BackfillWindow>): void {
  const insert = db.prepare(`
    insert into backfill_window(model, v4_company_id, source, since_ms, records, v4_svc_id, platform_id, nine_tenths_ms)
    values (?, ?, ?, ?, ?, ?, ?, ?)`);
  for (const { model, v4CompanyId, source, sinceMs, records, from, nineTenthsMs } of windows) {
    const record = [from?.svcId ?? null, from?.platformId ?? null];
    insert.run(model, v4CompanyId, source, sinceMs, records, ...record, nineTenthsMs);
  }
}
