import type { Db } from '../store/sqlite.js';
import { sumByBlocks } from './count-remap.js';

/** A window is inferred from at least as many V4 records. */
const MIN_RECORDS = 20n;

/** V4's service dates are all recent, so only dates of the platform count. */
const COUNT_DAYS = `
  select r.stream_id, floor(r.latest_ms / 86400000.0) as day, count(*) as count, min(r.latest_ms) as earliest_ms
  from record as r cross join stream as s on s.id = r.stream_id
  where r.id > ? and r.id <= ? and r.latest_ms is not null and not r.latest_is_service and s.generation = 'v4'
  group by 1, 2`;

const SAVE_WINDOWS = `
  with days as (
    select stream_id, day, sum(count) as count, min(earliest_ms) as earliest_ms from temp.v4_day group by 1, 2),
  later as (
    select stream_id, day, earliest_ms, sum(count) over (partition by stream_id order by day desc) as count,
      sum(count) over (partition by stream_id) as records
    from days),
  lists as (
    select s.id, s.model, s.company_id, ifnull(max(d.records), 0) as records, min(d.earliest_ms) as earliest_ms,
      max(d.day) filter (where d.count * 10 >= d.records * 9) as nine_tenths_day
    from stream as s left join later as d on d.stream_id = s.id
    where s.generation = 'v4' and s.company_id is not null and s.model in (select value from json_each(@models))
    group by s.id),
  windows as (
    select *, iif(@sinceMs is null and records >= @minRecords, earliest_ms, null) as inferred_ms from lists)
  insert into backfill_window(model, v4_company_id, source, since_ms, records, v4_svc_id, platform_id, nine_tenths_ms)
  select w.model, w.company_id,
    case when @sinceMs is not null then 'configured' when w.inferred_ms is null then 'unknown' else 'inferred' end,
    ifnull(@sinceMs, w.inferred_ms), w.records, r.svc_id, r.platform_id, cast(w.nine_tenths_day as integer) * 86400000
  from windows as w left join record as r on r.id = (
    select id from record
    where stream_id = w.id and latest_ms = w.inferred_ms and not latest_is_service
    order by svc_id limit 1)`;

/** Saves the start of V4's history for each V4 list: what the configuration says, else what its records show. */
export function saveWindows(db: Db, models: readonly string[], sinceMs: number | null): void {
  sumByBlocks(db, { from: 'record', into: 'v4_day', sums: COUNT_DAYS });
  const since = sinceMs === null ? null : BigInt(sinceMs);
  db.prepare(SAVE_WINDOWS).run({ models: JSON.stringify(models), sinceMs: since, minRecords: MIN_RECORDS });
}
