import type { StreamKey } from '../domain.js';
import { must } from '../text/at.js';
import type { RemapRow } from './remap.js';
import type { Db } from './sqlite.js';

export interface StoryRow extends RemapRow {
  readonly id: bigint;
  readonly parent_v3_svc_id: bigint | null;
  readonly parent_v4_svc_id: bigint | null;
}

const STORY_ROWS = `
  select e.id, e.model, e.path, e.region, e.v3_company_id, e.v4_company_id, e.platform_id, e.parent_platform_id,
    e.v3_svc_id, e.v4_svc_id, e.status, e.reason, e.matched_by, e.evidence,
    p.v3_svc_id as parent_v3_svc_id, p.v4_svc_id as parent_v4_svc_id
  from remap_entry as e left join remap_row as p on p.id = e.parent`;

export interface StoryQuestion {
  readonly model: string;
  /** Null: records and children. */
  readonly path: string | null;
  readonly region: string | null;
  readonly companyId: bigint | null;
  readonly id: bigint;
}

export function readStoryRows(db: Db, question: StoryQuestion, limit: number): StoryRow[] {
  return db
    .prepare<[object], StoryRow>(`
      ${STORY_ROWS}
      where (e.v3_svc_id = @id or e.v4_svc_id = @id) and e.model = @model
        and (@path is null or e.path = @path)
        and (@region is null or e.region = @region or (e.region is null and e.v4_svc_id = @id))
        and (@companyId is null or e.v3_company_id = @companyId or e.v4_company_id = @companyId)
      order by e.v3_svc_id is not @id, e.path <> '', e.id limit @limit`)
    .all({ ...question, limit });
}

/** Where a record is stored; `region` is '' for V4. */
export interface StoredPlace extends StreamKey {
  readonly companyId: bigint;
  readonly svcId: bigint;
}

export interface StoredSide {
  readonly platform_id: string | null;
  readonly unique_id: string | null;
  readonly deleted: bigint;
  readonly latest_ms: bigint | null;
  readonly created_ms: bigint | null;
  /** Null with `payload: "ids"`. */
  readonly encoding: string | null;
  readonly body: Uint8Array | null;
}

export function readStoredSide(db: Db, place: StoredPlace): StoredSide | undefined {
  return db
    .prepare<[StoredPlace], StoredSide>(`
      select r.platform_id, r.unique_id, r.deleted, r.latest_ms, r.created_ms, p.encoding, p.body
      from stream as s cross join record as r on r.stream_id = s.id and r.svc_id = @svcId
        left join page as p on p.id = r.page_id
      where s.generation = @generation and s.region = @region and s.model = @model and r.company_id = @companyId
      limit 1`)
    .get(place);
}

interface CompanyPairing extends Pick<RemapRow, 'region' | 'v3_company_id' | 'v4_company_id'> {
  readonly matched_by: string;
  readonly shared_keys: bigint;
  readonly agreeing_keys: bigint;
}

export function readCompanyPairing(db: Db, row: RemapRow): CompanyPairing | undefined {
  return db
    .prepare<[object], CompanyPairing>(`
      select region, v3_company_id, v4_company_id, matched_by, shared_keys, agreeing_keys
      from company
      where iif(@v3 is null, v4_company_id = @v4, region = @region and v3_company_id = @v3)`)
    .get({ region: row.region, v3: row.v3_company_id, v4: row.v4_company_id });
}

/** Rows with both ids, in the order of the remap: about `wanted`, at least one of each group. */
export function readPairSample(db: Db, wanted: number): StoryRow[] {
  return db
    .prepare<[object], StoryRow>(`
      ${STORY_ROWS}
      where e.id in (
        select id from (
          select r.id, row_number() over (partition by r.group_id order by r.id) as place,
            count(*) over () as total
          from remap_row as r
          where r.v3_svc_id is not null and r.v4_svc_id is not null)
        -- A share of each group, evenly spaced.
        where place = 1 or (place * @wanted) / total > ((place - 1) * @wanted) / total)
      order by e.id`)
    .all({ wanted: BigInt(wanted) });
}

export function countPairs(db: Db): { readonly pairs: number; readonly matched: number } {
  const sql = `
    select ifnull(sum(count), 0) as pairs, ifnull(sum(iif(status = 'matched', count, 0)), 0) as matched
    from remap_group where v3_company_id is not null and matched_by is not null`;
  return must(db.prepare<[], { pairs: number; matched: number }>(sql).safeIntegers(false).get());
}
