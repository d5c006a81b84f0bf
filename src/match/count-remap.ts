import { listChildPaths } from '../store/records.js';
import type { Conservation } from '../store/remap.js';
import type { Db } from '../store/sqlite.js';
import { must } from '../text/at.js';
import { sumByBlocks } from './block-sums.js';
import { describeOutcome, GROUP_OF } from './outcomes.js';

interface GroupSums {
  readonly id: bigint;
  readonly count: bigint;
  readonly v3Count: bigint;
}

interface ScopeRow {
  readonly model: string;
  readonly region: string | null;
  readonly v3CompanyId: bigint | null;
  readonly v4CompanyId: bigint | null;
  readonly provisional: bigint;
}

const COUNT_GROUPS = `
  select group_id, count(*) as count, count(v3_svc_id) as v3_count from remap_row where id > ? and id <= ? group by group_id`;

/** Describes and counts the groups that rows have. */
export function countGroups(db: Db, throwIfStopped: () => void): void {
  sumByBlocks(db, { from: 'remap_row', into: 'temp.group_count', sums: COUNT_GROUPS }, throwIfStopped);
  const groups = db.prepare<[], GroupSums>(`
    select group_id as id, sum(count) as count, sum(v3_count) as v3Count from temp.group_count group by 1`);
  const paths = new Map(listChildPaths(db).map(({ id: number, name }) => [number, name]));
  const scopeOf = db.prepare<[bigint], ScopeRow>(`
    select model, region, v3_company_id as v3CompanyId, v4_company_id as v4CompanyId, provisional
    from temp.scope where id = ?`);
  const insert = db.prepare(`
    insert into remap_group(id, model, path, region, v3_company_id, v4_company_id, status, reason, matched_by, provisional,
      unique_id_conflict, merged, count, v3_count)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  for (const { id, count, v3Count } of groups.all()) {
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

const COUNT_DAYS = `
  select r.group_id, cast(floor(t.latest_ms / 86400000.0) as integer) as day, count(*) as count,
    min(t.latest_ms) as earliest_ms, max(t.latest_ms) as latest_ms
  from temp.twin as t cross join remap_row as r on r.id = t.id
  where t.id > ? and t.id <= ? and t.a is not null
  group by 1, 2`;

export function countDays(db: Db, throwIfStopped: () => void): void {
  sumByBlocks(db, { from: 'temp.twin', into: 'temp.day_count', sums: COUNT_DAYS }, throwIfStopped);
  db.exec(`
    insert into remap_day(group_id, day, count, earliest_ms, latest_ms)
    select group_id, day, sum(count), min(earliest_ms), max(latest_ms) from temp.day_count group by 1, 2`);
}

const COUNT_RECORDS = `
  select stream_id, company_id, count(*) as records, sum(deleted) as deleted, sum(child_count) as children
  from record where id > ? and id <= ? group by 1, 2`;

/** Counts the exported objects of each model and company of the configured models. */
export function countExported(db: Db, models: readonly string[], throwIfStopped: () => void): void {
  sumByBlocks(db, { from: 'record', into: 'temp.record_count', sums: COUNT_RECORDS }, throwIfStopped);
  const columns = 'generation, region, model, company_id, records, children, deleted, rejected';
  db.prepare(`
    insert into exported_count(${columns})
    select s.generation, s.region, s.model, c.company_id, sum(c.records), sum(c.children), sum(c.deleted), 0
    from temp.record_count as c cross join stream as s on s.id = c.stream_id
    where s.model in (select value from json_each(?))
    group by s.id, c.company_id`).run(JSON.stringify(models));
  db.exec(`
    insert into exported_count(${columns})
    select generation, region, model, company_id, 0, 0, 0, count(*)
    from rejected group by generation, region, model, company_id`);
}

/** Exported objects, and those that rows account for. */
export function readConservation(
  db: Db,
): Conservation & { readonly rows: number; readonly children: bigint; readonly childRows: bigint } {
  const countBy = (sql: string) => must(db.prepare<[], bigint>(sql).pluck().get(), 'count');
  const exported = (generation: string) =>
    countBy(
      `select ifnull(sum(records + children), 0) from exported_count where generation = '${generation}'`,
    );
  const v4Rows = countBy(`
    select ifnull(sum(count), 0) from remap_group where v3_company_id is null or matched_by is not null`);
  return {
    rows: Number(countBy('select ifnull(sum(count), 0) from remap_group')),
    v3Exported: exported('v3'),
    v3Rows: countBy('select ifnull(sum(v3_count), 0) from remap_group'),
    v4Exported: exported('v4'),
    v4Seen: v4Rows - countBy(REPEATED_RECORDS) - countBy(REPEATED_CHILDREN),
    children: countBy('select ifnull(sum(children), 0) from temp.record_count'),
    childRows: countBy('select count(*) from child'),
  };
}

/** Rows that name a V4 record that another row names; their children are judged one by one. */
const REPEATED_RECORDS = 'select count(b) - count(distinct b) from temp.twin where hard';

const REPEATED_CHILDREN = `
  select count(*) - count(distinct t.b || ' ' || (r.group_id / ${GROUP_OF.path}) || ' ' || r.v4_svc_id)
  from remap_row as r cross join temp.twin as t on t.id = r.parent
  where r.v4_svc_id is not null and r.parent in (select id from temp.twin where hard and b is not null)`;
