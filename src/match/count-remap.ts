import { listChildPaths } from '../store/records.js';
import type { Conservation } from '../store/remap.js';
import type { Db } from '../store/sqlite.js';
import { must } from '../text/at.js';
import { describeOutcome, GROUP_OF } from './outcomes.js';
import { blocksOf, type Place } from './places.js';

const ROWS_PER_BLOCK = 8192n;
const DAY_MS = 86_400_000;

interface GroupSums {
  count: bigint;
  v3Count: bigint;
}

interface ScopeRow {
  readonly model: string;
  readonly region: string | null;
  readonly v3CompanyId: bigint | null;
  readonly v4CompanyId: bigint | null;
  readonly provisional: bigint;
}

/** Describes and counts the groups that rows have. Sums of blocks are cheaper than one sort of all rows. */
export function countGroups(db: Db, throwIfStopped: () => void): void {
  const block = db.prepare<[bigint, bigint], { id: bigint; count: bigint; v3Count: bigint }>(`
    select group_id as id, count(*) as count, count(v3_svc_id) as v3Count
    from remap_row where id > ? and id <= ? group by group_id`);
  const groups = new Map<bigint, GroupSums>();
  for (const range of blocksOf(db, 'remap_row', ROWS_PER_BLOCK, throwIfStopped)) {
    for (const { id, count, v3Count } of block.all(...range)) {
      const sums = groups.get(id) ?? { count: 0n, v3Count: 0n };
      sums.count += count;
      sums.v3Count += v3Count;
      groups.set(id, sums);
    }
  }
  const paths = new Map(listChildPaths(db).map(({ id: number, name }) => [number, name]));
  const scopeOf = db.prepare<[bigint], ScopeRow>(`
    select model, region, v3_company_id as v3CompanyId, v4_company_id as v4CompanyId, provisional
    from temp.scope where id = ?`);
  const insert = db.prepare(`
    insert into remap_group(id, model, path, region, v3_company_id, v4_company_id, status, reason, matched_by, provisional,
      unique_id_conflict, merged, count, v3_count)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  for (const [id, { count, v3Count }] of groups) {
    const scope = must(scopeOf.get(id / BigInt(GROUP_OF.scope)), 'scope');
    const path = (id % BigInt(GROUP_OF.scope)) / BigInt(GROUP_OF.path);
    const outcome = describeOutcome(Number(id % BigInt(GROUP_OF.path)));
    const { status, reason, matchedBy, isConflict, isMerged, isOnlyV4 } = outcome;
    const v3Place = isOnlyV4 ? [null, null] : [scope.region, scope.v3CompanyId];
    const isProvisional = scope.provisional === 1n && matchedBy !== null;
    insert.run(
      ...[
        id,
        scope.model,
        path === 0n ? '' : must(paths.get(path), 'child path'),
        ...v3Place,
        scope.v4CompanyId,
      ],
      ...[status, reason, matchedBy, isProvisional ? 1n : 0n, isConflict ? 1n : 0n, isMerged ? 1n : 0n],
      ...[count, v3Count],
    );
  }
  markProvisional(db);
}

/** Pairs that carry evidence of their own name there that they are provisional. */
function markProvisional(db: Db): void {
  if (db.prepare('select 1 from remap_group where provisional limit 1').get() === undefined) return;
  db.exec(`
    update remap_row set evidence = json_set(evidence, '$.provisional', json('true'))
    where evidence is not null and group_id in (select id from remap_group where provisional)`);
}

export function countDays(db: Db, throwIfStopped: () => void): void {
  const block = db.prepare<
    [bigint, bigint],
    { groupId: bigint; day: bigint | null; count: bigint; earliest: bigint | null; latest: bigint | null }
  >(`
    select r.group_id as groupId, (t.latest_ms - (t.latest_ms % ${DAY_MS} + ${DAY_MS}) % ${DAY_MS}) / ${DAY_MS} as day,
      count(*) as count, min(t.latest_ms) as earliest, max(t.latest_ms) as latest
    from temp.twin as t cross join remap_row as r on r.id = t.id
    where t.id > ? and t.id <= ? and t.a is not null
    group by 1, 2`);
  const days = new Map<string, { groupId: bigint; day: bigint | null; count: bigint; range: bigint[] }>();
  for (const range of blocksOf(db, 'temp.twin', ROWS_PER_BLOCK, throwIfStopped)) {
    for (const { groupId, day, count, earliest, latest } of block.all(...range)) {
      const name = `${groupId} ${day}`;
      const sums = days.get(name) ?? { groupId, day, count: 0n, range: [] };
      const times = [...sums.range, ...(earliest === null || latest === null ? [] : [earliest, latest])];
      sums.count += count;
      if (times.length > 0) sums.range = [times.reduce(lower), times.reduce(higher)];
      days.set(name, sums);
    }
  }
  const insert = db.prepare(
    'insert into remap_day(group_id, day, count, earliest_ms, latest_ms) values (?, ?, ?, ?, ?)',
  );
  for (const { groupId, day, count, range } of days.values()) {
    insert.run(groupId, day, count, range[0] ?? null, range[1] ?? null);
  }
}

function lower(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function higher(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

export function countExported(db: Db, places: readonly Place[]): void {
  const insert = db.prepare(`
    insert into exported_count(generation, region, model, company_id, records, children, deleted, rejected)
    values (?, ?, ?, ?, ?, ?, ?, ?)`);
  for (const { list, companyId, records, children, deleted } of places) {
    const { generation, region, model } = list;
    insert.run(generation, region, model, companyId, BigInt(records), BigInt(children), BigInt(deleted), 0n);
  }
  db.exec(`
    insert into exported_count(generation, region, model, company_id, records, children, deleted, rejected)
    select generation, region, model, company_id, 0, 0, 0, count(*)
    from rejected group by generation, region, model, company_id`);
}

/**
 * Exported objects, and those that rows account for.
 *
 * @param allChildren what records say that they have
 */
export function readConservation(
  db: Db,
  places: readonly Place[],
  allChildren: bigint,
): Conservation & { readonly rows: number; readonly children: bigint; readonly childRows: bigint } {
  const exported = { v3: 0, v4: 0 };
  for (const { list, records, children } of places) {
    exported[list.generation] += records + children;
  }
  const countBy = (sql: string) => db.prepare<[], bigint>(sql).pluck().get() ?? 0n;
  const v4Rows = countBy(`
    select ifnull(sum(count), 0) from remap_group where v3_company_id is null or matched_by is not null`);
  return {
    rows: Number(countBy('select ifnull(sum(count), 0) from remap_group')),
    v3Exported: BigInt(exported.v3),
    v3Rows: countBy('select ifnull(sum(v3_count), 0) from remap_group'),
    v4Exported: BigInt(exported.v4),
    v4Seen: v4Rows - countBy(REPEATED_RECORDS) - countBy(REPEATED_CHILDREN),
    children: allChildren,
    childRows: countBy('select count(*) from child'),
  };
}

/** Rows that name a V4 record that another row names; their children are judged one by one. */
const REPEATED_RECORDS = 'select count(b) - count(distinct b) from temp.twin where hard';

const REPEATED_CHILDREN = `
  select count(*) - count(distinct t.b || ' ' || (r.group_id / ${GROUP_OF.path}) || ' ' || r.v4_svc_id)
  from remap_row as r cross join temp.twin as t on t.id = r.parent
  where r.v4_svc_id is not null and r.parent in (select id from temp.twin where hard and b is not null)`;
