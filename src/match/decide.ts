import { type Decision, isExpired, type StaleReason } from '../domain.js';
import { listChildPaths } from '../store/records.js';
import type { Db } from '../store/sqlite.js';
import { groupBy } from '../text/rows.js';
import { areDifferent } from './judge-group.js';
import { GROUP_OF, numberOf, withFlags } from './outcomes.js';

/** A row of the remap, with the pair of records that it is or that holds it. */
interface Row {
  readonly id: bigint;
  /** `status/reason` */
  readonly outcome: string;
  readonly isMerged: bigint;
  readonly evidence: string | null;
  readonly parent: bigint | null;
  readonly key: string | null;
  readonly v3: bigint | null;
  readonly v4: bigint | null;
  /** 1: the pair of records is `matched`. */
  readonly isInMatched: bigint;
  readonly a: bigint | null;
  readonly b: bigint | null;
}

interface NamedObject {
  readonly key: string | null;
  readonly uid: string | null;
  readonly deleted: bigint;
}

/** What a decision names. V4 children of other pairs are left out. */
interface Named {
  readonly of: 'records' | 'children';
  readonly decision: Decision;
  /** scope and path, as in the numbers of groups */
  readonly place: bigint;
  readonly readInFull: boolean;
  readonly v3Rows: readonly Row[];
  readonly v4Rows: readonly Row[];
  readonly v3: NamedObject | undefined;
  readonly v4: NamedObject | undefined;
}

/** `not_needed`: evidence alone gives the same pair. */
type Verdict = 'taken' | 'not_needed' | StaleReason;

/**
 * Judges the decisions about records or children by evidence alone, saves the verdicts, and applies the decisions that
 * are taken. A decision is judged without regard to the others, and changes only the rows that it names.
 */
export function decide(db: Db, of: Named['of'], all: readonly Decision[], nowMs: number): void {
  const decisions = all.filter(({ path }) => (path === '') === (of === 'records'));
  if (decisions.length === 0) return;
  db.exec(CREATE_INDEXES);
  const find = prepareFind(db, of);
  const save = db.prepare(`
    insert into decision(line, model, path, region, v3_company_id, v3_svc_id, v4_svc_id, note, until, outcome, why)
    values (@line, @model, @path, @region, @v3CompanyId, @v3SvcId, @v4SvcId, @note, @until, @outcome, @why)`);
  const taken: Named[] = [];
  for (const decision of decisions) {
    const named = isExpired(decision, nowMs) ? 'expired' : find(decision);
    const verdict = typeof named === 'string' ? named : judgeDecision(named);
    const isStale = verdict !== 'taken' && verdict !== 'not_needed';
    const outcome = isStale ? 'stale' : verdict;
    save.run({ ...decision, line: BigInt(decision.line), outcome, why: isStale ? verdict : null });
    if (verdict === 'taken' && typeof named !== 'string') taken.push(named);
  }
  const apply = prepareApply(db);
  for (const named of taken) apply(named);
  if (of === 'records') db.exec('drop index remap_v3; drop index remap_v4');
}

const CREATE_INDEXES = `
  create index if not exists remap_v3 on remap_row(v3_svc_id);
  create index if not exists remap_v4 on remap_row(v4_svc_id);
  create index if not exists temp.twin_b on twin(b) where b is not null;`;

const SELECT_SCOPE = `
  select id, v3_company_id is not null and v4_company_id is not null as isPaired,
    v3_known and v4_known and not provisional as readInFull
  from temp.scope where model = ? and region = ? and v3_company_id = ?`;

const selectRows = (column: 'v3' | 'v4') => `
  select r.id, ifnull(n.status || '/' || n.reason, n.status) as outcome, (r.group_id & o.merged) > 0 as isMerged,
    r.evidence, r.parent, r.platform_id as key, r.v3_svc_id as v3, r.v4_svc_id as v4,
    t.a is not null and t.b is not null and (t.outcome & 63) = o.matched as isInMatched, t.a, t.b
  from remap_row as r indexed by remap_${column}
    cross join temp.o as o
    cross join temp.outcome as n on n.number = r.group_id & 63
    cross join temp.twin as t on t.id = ifnull(r.parent, r.id)
  where r.${column}_svc_id = @svcId and r.group_id / ${GROUP_OF.path} = @place
  order by r.id`;

const SELECT_OBJECT = {
  records: 'select platform_id as key, unique_id as uid, deleted from record where id = @record',
  children: `
    select platform_id as key, unique_id as uid, deleted from child
    where record_id = @record and path = @place % 256 and svc_id = @svcId
    order by position limit 1`,
};

function prepareFind(db: Db, of: Named['of']): (decision: Decision) => Named | StaleReason {
  const selectScope = db.prepare<[string, string, bigint], Record<'id' | 'isPaired' | 'readInFull', bigint>>(
    SELECT_SCOPE,
  );
  const isPaired = db.prepare<[string, bigint]>(
    'select 1 from company where region = ? and v3_company_id = ? and v4_company_id is not null',
  );
  const paths = new Map(listChildPaths(db).map(({ id, name }) => [name, id]));
  const rows = {
    v3: db.prepare<[object], Row>(selectRows('v3')),
    v4: db.prepare<[object], Row>(selectRows('v4')),
  };
  const object = db.prepare<[object], NamedObject>(SELECT_OBJECT[of]);
  return (decision) => {
    const { model, region, v3CompanyId, v3SvcId, v4SvcId } = decision;
    const scope = selectScope.get(model, region, v3CompanyId);
    if (scope?.isPaired !== 1n) {
      const isUnread = scope === undefined && isPaired.get(region, v3CompanyId) !== undefined;
      return isUnread ? 'v3_not_exported' : 'company_not_paired';
    }
    const path = of === 'records' ? 0n : paths.get(decision.path);
    if (path === undefined) return v3SvcId === null ? 'v4_not_exported' : 'v3_not_exported';
    const place = scope.id * BigInt(GROUP_OF.scope / GROUP_OF.path) + path;
    const v3Rows = v3SvcId === null ? [] : rows.v3.all({ place, svcId: v3SvcId });
    const [pair] = of === 'records' ? [] : v3Rows;
    const v4Rows = (v4SvcId === null ? [] : rows.v4.all({ place, svcId: v4SvcId })).filter(
      ({ b }) => pair === undefined || b === pair.b,
    );
    const v3 = object.get({ record: v3Rows[0]?.a ?? null, place, svcId: v3SvcId });
    const v4 = object.get({ record: v4Rows[0]?.b ?? null, place, svcId: v4SvcId });
    const readInFull = of === 'children' || scope.readInFull === 1n;
    return { of, decision, place, readInFull, v3Rows, v4Rows, v3, v4 };
  };
}

function judgeDecision({ of, decision, readInFull, v3Rows, v4Rows, v3, v4 }: Named): Verdict {
  const { v3SvcId, v4SvcId } = decision;
  const [v3Row] = v3Rows;
  const [v4Row] = v4Rows;
  const row = v3SvcId === null ? v4Row : v3Row;
  const isUnique = v3Row !== undefined && v3Row.v4 !== null && v3Row.isMerged === 0n;
  if (v3SvcId !== null && v3 === undefined) return 'v3_not_exported';
  if (row === undefined) return 'v4_not_exported';
  if (groupBy(v3Rows, ({ id, parent }) => parent ?? id).size > 1) return 'v3_several';
  if (v3SvcId === null && groupBy(v4Rows, ({ b }) => b).size > 1) return 'v4_several';
  if (isUnique && v3Row.v4 === v4SvcId) return 'not_needed';
  if (of === 'children' && row.isInMatched === 0n) return 'parents_not_matched';
  if (v4SvcId !== null && v4 === undefined) return 'v4_not_exported';
  if (v3?.deleted === 1n) return 'v3_deleted';
  if (v4?.deleted === 1n) return 'v4_deleted';
  if (isUnique) return 'v3_paired';
  // several V3 ids may become one V4 id, but a V4 id that has a V3 record cannot be decided to have none
  if (v3SvcId === null && row.v3 !== null) return 'v4_paired';
  // "no counterpart" cannot be concluded from a list that was not read in full
  if ((v3SvcId === null || v4SvcId === null) && !readInFull) return 'not_read_in_full';
  return 'taken';
}

/** Rows of a V4 record or child. */
const IS_V4_OBJECT = `
  v4_svc_id = @v4 and group_id / ${GROUP_OF.path} = @place
    and ifnull(parent, id) in (select id from temp.twin where b = @b)`;

/** A V4 record or child without a V3 one, after all that shared it became others. */
const LEFT_OVER = withFlags(numberOf('duplicate_v3'), { only_v4: true });

function prepareApply(db: Db): (named: Named) => void {
  const dropOpen = db.prepare(`delete from remap_row where v3_svc_id is null and ${IS_V4_OBJECT}`);
  const dropTwin = db.prepare('delete from temp.twin where b = ? and a is null');
  const share = db.prepare('update temp.twin set hard = 1 where b = ?');
  const update = db.prepare(`
    update remap_row set group_id = @place * ${GROUP_OF.path} + @outcome, evidence = @evidence, v4_svc_id = @v4
    where id = @id`);
  const updateTwin = db.prepare('update temp.twin set outcome = @outcome, b = @b, hard = 1 where id = @id');
  const addLeft = db.prepare(`
    insert into remap_row(group_id, parent, platform_id, v4_svc_id)
    select @place * ${GROUP_OF.path} + ${LEFT_OVER}, @parent, @key, @v4
    where not exists (select 1 from remap_row where ${IS_V4_OBJECT})`);
  const addTwin = db.prepare(`
    insert into temp.twin(id, scope_id, outcome, b, hard)
    values (?, ? / ${GROUP_OF.scope / GROUP_OF.path}, ${LEFT_OVER}, ?, 0)`);
  return ({ of, decision, place, v3Rows: [v3Row], v4Rows: [v4Row], v3, v4 }) => {
    const row = v3Row ?? v4Row;
    if (row === undefined) return;
    const { id, parent, key } = row;
    const isRecord = of === 'records';
    const target = { v4: v4Row?.v4 ?? null, b: v4Row?.b ?? null, place };
    const outcome = outcomeOf(v3, v4);
    if (v3 !== undefined && v4 !== undefined) {
      dropOpen.run(target);
      if (isRecord) dropTwin.run(target.b);
      share.run(target.b);
    }
    const evidence = renderDecided(row, decision.note, v3 && v4 && v3.key !== v4.key ? v4.key : undefined);
    update.run({ id, place, outcome, evidence, v4: target.v4 });
    if (isRecord) updateTwin.run({ id, outcome, b: target.b });
    const released = { v4: row.v4, b: row.b, place };
    if (v3 === undefined || released.v4 === null || released.v4 === target.v4) return;
    const { changes, lastInsertRowid } = addLeft.run({ ...released, parent, key });
    if (isRecord && changes > 0) addTwin.run(lastInsertRowid, place, released.b);
  };
}

function outcomeOf(v3: NamedObject | undefined, v4: NamedObject | undefined): number {
  if (v3 === undefined) return withFlags(numberOf('v4_only_decided_none'), { only_v4: true });
  if (v4 === undefined) return numberOf('unmatched_decided_none');
  return withFlags(numberOf('matched'), { by_decision: true, conflict: areDifferent(v3.uid, v4.uid) });
}

/** Evidence of a decided row: the evidence before, V4's key if it differs, and the decision. */
function renderDecided({ evidence, outcome }: Row, note: string, v4Key: string | null | undefined): string {
  const before: object = evidence === null ? {} : JSON.parse(evidence);
  return JSON.stringify({
    ...before,
    ...(v4Key === undefined ? {} : { v4_platform_id: v4Key }),
    decision: { note, instead_of: outcome },
  });
}
