import type { Generation } from '../domain.js';
import { must } from '../text/at.js';
import { filterParams, onlyFindings, REMAP_FILTER, type RemapFilter, type RemapRow } from './remap.js';
import type { Db } from './sqlite.js';

/** A row of the remap, and the ids of the record that a child belongs to. */
export interface RemapEntry extends RemapRow {
  readonly id: bigint;
  readonly parent_v3_svc_id: bigint | null;
  readonly parent_v4_svc_id: bigint | null;
}

const ENTRIES = `
  select g.id, g.model, g.path, g.region, g.v3_company_id, g.v4_company_id, g.platform_id, g.parent_platform_id,
    g.v3_svc_id, g.v4_svc_id, g.status, g.reason, g.matched_by, g.evidence,
    p.v3_svc_id as parent_v3_svc_id, p.v4_svc_id as parent_v4_svc_id
  from remap_entry as g left join remap_row as p on p.id = g.parent`;

export interface EntryQuestion {
  readonly model: string;
  /** Null: records and children. */
  readonly path: string | null;
  readonly region: string | null;
  readonly companyId: bigint | null;
  readonly id: bigint;
}

export function readEntries(db: Db, question: EntryQuestion, limit: number): RemapEntry[] {
  return db
    .prepare<[object], RemapEntry>(`
      ${ENTRIES}
      where (g.v3_svc_id = @id or g.v4_svc_id = @id) and g.model = @model
        and (@path is null or g.path = @path)
        and (@region is null or g.region = @region or (g.region is null and g.v4_svc_id = @id))
        and (@companyId is null or g.v3_company_id = @companyId or g.v4_company_id = @companyId)
      order by g.v3_svc_id is not @id, g.path <> '', g.id limit @limit`)
    .all({ ...question, limit });
}

export function readFindingEntries(db: Db, filter: RemapFilter): Iterable<RemapEntry> {
  return db
    .prepare<[object], RemapEntry>(`${ENTRIES} where ${REMAP_FILTER} order by g.id`)
    .iterate(filterParams(onlyFindings(filter)));
}

/** A record or child as it is stored. */
export interface StoredSide {
  readonly svcId: bigint;
  /** The record that holds it: itself, or its parent. */
  readonly holder: bigint;
  readonly platform_id: string | null;
  readonly unique_id: string | null;
  readonly deleted: bigint;
  readonly latest_ms: bigint | null;
  readonly created_ms: bigint | null;
  /** Null with `payload: "ids"`. */
  readonly encoding: string | null;
  readonly body: Uint8Array | null;
}

const STORED_RECORD = `
  select @svcId as svcId, @holder as holder, r.platform_id, r.unique_id, r.deleted, r.latest_ms, r.created_ms, p.encoding, p.body
  from stream as s cross join record as r on r.stream_id = s.id and r.svc_id = @holder
    left join page as p on p.id = r.page_id
  where s.generation = @generation and s.region = @region and s.model = @model and r.company_id = @companyId
  limit 1`;

const STORED_CHILD = `
  select @svcId as svcId, @holder as holder, c.platform_id, c.unique_id, c.deleted, null as latest_ms, null as created_ms,
    p.encoding, p.body
  from stream as s cross join record as r on r.stream_id = s.id and r.svc_id = @holder
    cross join child as c on c.record_id = r.id and c.svc_id = @svcId
      and c.path = (select id from child_path where name = @path)
    left join page as p on p.id = r.page_id
  where s.generation = @generation and s.region = @region and s.model = @model and r.company_id = @companyId
  limit 1`;

/**
 * The record of a row, or the child in the row's parent; undefined if there is none.
 *
 * @param svcId another id in the row's companies, or parents, such as a candidate
 */
export function readStoredSide(
  db: Db,
  row: RemapEntry,
  generation: Generation,
  svcId = row[`${generation}_svc_id`],
): StoredSide | undefined {
  const { model, path } = row;
  const companyId = row[`${generation}_company_id`];
  const region = generation === 'v4' ? '' : row.region;
  const holder = path === '' ? svcId : row[`parent_${generation}_svc_id`];
  if (svcId === null || holder === null || companyId === null || region === null) return undefined;
  const place = { generation, region, model, path, companyId, holder, svcId };
  return db.prepare<[object], StoredSide>(path === '' ? STORED_RECORD : STORED_CHILD).get(place);
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
export function readPairSample(db: Db, wanted: number): RemapEntry[] {
  return db
    .prepare<[object], RemapEntry>(`
      ${ENTRIES}
      where g.id in (
        select id from (
          select r.id, row_number() over (partition by r.group_id order by r.id) as place,
            count(*) over () as total
          from remap_row as r
          where r.v3_svc_id is not null and r.v4_svc_id is not null)
        -- A share of each group, evenly spaced.
        where place = 1 or (place * @wanted) / total > ((place - 1) * @wanted) / total)
      order by g.id`)
    .all({ wanted: BigInt(wanted) });
}

export function countPairs(db: Db): { readonly pairs: number; readonly matched: number } {
  const sql = `
    select ifnull(sum(count), 0) as pairs, ifnull(sum(iif(status = 'matched', count, 0)), 0) as matched
    from remap_group where v3_company_id is not null and matched_by is not null`;
  return must(db.prepare<[], { pairs: number; matched: number }>(sql).safeIntegers(false).get());
}
