import { type Decision, isExpired } from '../domain.js';
import { listChildPaths } from '../store/records.js';
import type { Db } from '../store/sqlite.js';
import { groupBy } from '../text/rows.js';
import { prepareChildren } from './join-children.js';
import type { ChildMember } from './judge-children.js';
import {
  type DecisionFacts,
  type DecisionVerdict,
  judgeDecision,
  type NamedObject,
} from './judge-decision.js';
import { areDifferent } from './judge-group.js';
import { baseOf, describeOutcome, GROUP_OF, numberOf, withFlags } from './outcomes.js';

export type Verdicts = Map<number, DecisionVerdict>;

/** Decisions that have not expired at `nowMs`, and the verdict on those that have. */
export function splitExpired(decisions: readonly Decision[], nowMs: number, verdicts: Verdicts): Decision[] {
  for (const decision of decisions) {
    if (isExpired(decision, nowMs)) verdicts.set(decision.line, { kind: 'stale', why: 'expired' });
  }
  return decisions.filter(({ line }) => !verdicts.has(line));
}

interface Scope {
  readonly id: bigint;
  readonly isPaired: bigint;
  readonly readInFull: bigint;
}

const SELECT_SCOPE = `
  select id, v3_company_id is not null and v4_company_id is not null as isPaired,
    v3_known and v4_known and not provisional as readInFull
  from temp.scope where model = ? and region = ? and v3_company_id = ?`;

interface RecordRow {
  readonly twin: bigint;
  readonly outcome: bigint;
  readonly evidence: string | null;
  readonly a: bigint | null;
  readonly b: bigint | null;
  readonly record: bigint;
  readonly key: string | null;
  readonly uid: string | null;
  readonly deleted: bigint;
}

const selectRecord = (generation: 3 | 4, column: 'a' | 'b') => `
  select t.id as twin, t.outcome, t.evidence, t.a, t.b, r.id as record, r.platform_id as key, r.unique_id as uid, r.deleted
  from temp.place as w
    cross join record as r on r.stream_id = w.stream_id and r.svc_id = @svcId and r.company_id = w.company_id
    cross join temp.twin as t indexed by twin_${column} on t.${column} = r.id
  where w.scope_id = @scope and w.generation = ${generation}
  order by t.id`;

/**
 * Judges the decisions about records by evidence alone, and applies those that are taken. Rows that no taken decision
 * names stay as they are.
 */
export function decideRecords(db: Db, decisions: readonly Decision[], verdicts: Verdicts): void {
  const ofRecords = decisions.filter(({ path }) => path === '');
  if (ofRecords.length === 0) return;
  indexTwins(db);
  const scopeOf = prepareScope(db);
  const v3Rows = db.prepare<[object], RecordRow>(selectRecord(3, 'a'));
  const v4Rows = db.prepare<[object], RecordRow>(selectRecord(4, 'b'));
  const taken: (() => void)[] = [];
  const decide = prepareApply(db);
  for (const decision of ofRecords) {
    const { line, v3SvcId, v4SvcId, note } = decision;
    const scope = scopeOf(decision);
    if (typeof scope === 'string') {
      verdicts.set(line, { kind: 'stale', why: scope });
      continue;
    }
    const v3 = v3SvcId === null ? undefined : v3Rows.get({ scope: scope.id, svcId: v3SvcId });
    const v4 = v4SvcId === null ? [] : v4Rows.all({ scope: scope.id, svcId: v4SvcId });
    const [first] = v4;
    const verdict = judgeDecision({
      v3: v3SvcId === null ? 'none' : objectOf(v3, isUniquePair),
      v4: v4SvcId === null ? 'none' : objectOf(first, ({ a }) => a !== null),
      pairedTogether: v3 !== undefined && v3.b !== null && v3.b === first?.record && isUniquePair(v3),
      parentsMatched: true,
      readInFull: scope.readInFull === 1n,
    });
    verdicts.set(line, verdict);
    if (verdict.kind === 'taken') taken.push(() => decide(v3, v4, note));
  }
  for (const apply of taken) apply();
}

function indexTwins(db: Db): void {
  db.exec(
    'create index if not exists temp.twin_a on twin(a); create index if not exists temp.twin_b on twin(b) where b is not null',
  );
}

function prepareScope(db: Db): (decision: Decision) => Scope | 'company_not_paired' | 'v3_not_exported' {
  const select = db.prepare<[string, string, bigint], Scope>(SELECT_SCOPE);
  const isPaired = db.prepare<[string, bigint]>(
    'select 1 from company where region = ? and v3_company_id = ? and v4_company_id is not null',
  );
  return ({ model, region, v3CompanyId }) => {
    const scope = select.get(model, region, v3CompanyId);
    if (scope?.isPaired === 1n) return scope;
    return scope === undefined && isPaired.get(region, v3CompanyId) !== undefined
      ? 'v3_not_exported'
      : 'company_not_paired';
  };
}

function isUniquePair({ b, outcome }: RecordRow): boolean {
  return b !== null && !describeOutcome(Number(outcome)).isMerged;
}

function objectOf(
  row: RecordRow | undefined,
  isPaired: (row: RecordRow) => boolean,
): NamedObject | 'not_exported' {
  return row === undefined ? 'not_exported' : { deleted: row.deleted === 1n, paired: isPaired(row) };
}

function prepareApply(db: Db): (v3: RecordRow | undefined, v4: readonly RecordRow[], note: string) => void {
  const pair = db.prepare(`
    update temp.twin set outcome = ?, evidence = ?, b = ?, v4 = (select svc_id from record where id = ?), hard = 1
    where id = ?`);
  const share = db.prepare('update temp.twin set hard = 1 where b = ?');
  const drop = db.prepare('delete from temp.twin where b = ? and a is null');
  const addLeft = db.prepare(ADD_LEFT_RECORD);
  const accept = db.prepare(
    'update temp.twin set outcome = ?, evidence = ?, b = null, v4 = null where id = ?',
  );
  return (v3, [v4], note) => {
    const row = v3 ?? v4;
    if (row === undefined) return;
    const released = v3?.b ?? null;
    if (v3 !== undefined && v4 !== undefined) {
      const outcome = withFlags(numberOf('matched'), {
        by_decision: true,
        conflict: areDifferent(v3.uid, v4.uid),
      });
      const evidence = renderDecided(row, note, v3.key === v4.key ? undefined : v4.key);
      drop.run(v4.record);
      pair.run(outcome, evidence, v4.record, v4.record, v3.twin);
      share.run(v4.record);
    } else if (v3 !== undefined) {
      accept.run(numberOf('unmatched_decided_none'), renderDecided(v3, note), v3.twin);
    } else {
      const outcome = withFlags(numberOf('v4_only_decided_none'), { only_v4: true });
      db.prepare('update temp.twin set outcome = ?, evidence = ? where id = ?').run(
        outcome,
        renderDecided(row, note),
        row.twin,
      );
    }
    if (released !== null && released !== v4?.record) addLeft.run({ left: released, outcome: LEFT_OVER });
  };
}

/** A V4 record or child without a V3 one, after all that shared it became others. */
const LEFT_OVER = withFlags(numberOf('duplicate_v3'), { only_v4: true });

const ADD_LEFT_RECORD = `
  insert into temp.twin(scope_id, outcome, key, b, v4, hard)
  select w.scope_id, @outcome, r.platform_id, r.id, r.svc_id, 0
  from record as r cross join temp.place as w on w.stream_id = r.stream_id and w.company_id = r.company_id
  where r.id = @left and not exists (select 1 from temp.twin where b = @left)`;

/** Evidence of a decided row: the evidence before, V4's key if it differs, and the decision. */
function renderDecided(
  { evidence, outcome }: { readonly evidence: string | null; readonly outcome: bigint },
  note: string,
  v4Key?: string | null,
): string {
  const { status, reason } = describeOutcome(Number(outcome));
  const before: object = evidence === null ? {} : JSON.parse(evidence);
  return JSON.stringify({
    ...before,
    ...(v4Key === undefined ? {} : { v4_platform_id: v4Key }),
    decision: { note, instead_of: reason === null ? status : `${status}/${reason}` },
  });
}

interface ChildPlace {
  readonly id: bigint;
  readonly groupId: bigint;
  readonly evidence: string | null;
  readonly parent: bigint;
  readonly v3: bigint | null;
  readonly v4: bigint | null;
  readonly key: string | null;
  readonly parentOutcome: bigint;
  readonly a: bigint | null;
  readonly b: bigint | null;
}

const selectChildren = (column: 'v3' | 'v4') => `
  select r.id, r.group_id as groupId, r.evidence, r.parent, r.v3_svc_id as v3, r.v4_svc_id as v4, r.platform_id as key,
    t.outcome as parentOutcome, t.a, t.b
  from remap_row as r indexed by remap_${column} cross join temp.twin as t on t.id = r.parent
  where r.${column}_svc_id = @svcId
    and r.group_id / ${GROUP_OF.path} = @scope * ${GROUP_OF.scope / GROUP_OF.path} + @path`;

/**
 * Judges and applies the decisions about children, after the rows of children. A child is named by its id, which several
 * records can have.
 */
export function decideChildren(db: Db, decisions: readonly Decision[], verdicts: Verdicts): void {
  const ofChildren = decisions.filter(({ path }) => path !== '');
  if (ofChildren.length === 0) return;
  const scopeOf = prepareScope(db);
  const rows = {
    v3: db.prepare<[object], ChildPlace>(selectChildren('v3')),
    v4: db.prepare<[object], ChildPlace>(selectChildren('v4')),
  };
  const childrenOf = prepareChildren(db);
  const paths = new Map(listChildPaths(db).map(({ id, name }) => [name, id]));
  const taken: { decision: Decision; row: ChildPlace; v3: ChildMember | null; v4: ChildMember | null }[] = [];
  for (const decision of ofChildren) {
    const { line, v3SvcId, v4SvcId } = decision;
    const pathId = paths.get(decision.path) ?? 0n;
    const scope = scopeOf(decision);
    if (typeof scope === 'string') {
      verdicts.set(line, { kind: 'stale', why: scope });
      continue;
    }
    const find = (side: 'v3' | 'v4', svcId: bigint | null) =>
      svcId === null ? [] : rows[side].all({ scope: scope.id, path: pathId, svcId });
    const candidates = v3SvcId === null ? find('v4', v4SvcId) : find('v3', v3SvcId);
    const parents = groupBy(candidates, ({ parent, b }) => (v3SvcId === null ? (b ?? parent) : parent));
    const [row] = candidates;
    const memberOf = (gen: 3 | 4, record: bigint | null, svcId: bigint | null) =>
      record === null || svcId === null
        ? null
        : (childrenOf(gen, record).find((child) => child.svcId === svcId && child.path === pathId) ?? null);
    const v3 = memberOf(3, row?.a ?? null, v3SvcId);
    const v4 = memberOf(4, row?.b ?? null, v4SvcId);
    const isMatched = row !== undefined && isMatchedPair(row);
    const facts = { v3SvcId, v4SvcId, row, v3, v4, isSeveral: parents.size > 1, isMatched };
    const verdict = judgeDecision(childFacts(facts));
    verdicts.set(line, verdict);
    if (verdict.kind === 'taken' && row !== undefined) taken.push({ decision, row, v3, v4 });
  }
  const apply = prepareApplyChild(db);
  for (const { decision, row, v3, v4 } of taken) apply(decision, row, v3, v4);
}

function isMatchedPair({ parentOutcome, a, b }: ChildPlace): boolean {
  return a !== null && b !== null && baseOf(Number(parentOutcome)) === numberOf('matched');
}

function childFacts(named: {
  readonly v3SvcId: bigint | null;
  readonly v4SvcId: bigint | null;
  readonly row: ChildPlace | undefined;
  readonly v3: ChildMember | null;
  readonly v4: ChildMember | null;
  readonly isSeveral: boolean;
  readonly isMatched: boolean;
}): DecisionFacts {
  const { v3SvcId, v4SvcId, row, v3, v4, isSeveral, isMatched } = named;
  const isUnique = row !== undefined && row.v3 !== null && row.v4 !== null && !isMergedRow(row);
  const several = isSeveral ? 'several' : null;
  const ofV3 = v3 === null ? 'not_exported' : { deleted: v3.deleted, paired: isUnique };
  const isPaired = row?.v3 != null;
  // a V4 child of another record cannot be the child's
  const ofV4 = v4 === null ? 'not_exported' : { deleted: v4.deleted, paired: isPaired };
  const unknownV4 = row !== undefined && !isMatched && v3SvcId !== null ? UNKNOWN : ofV4;
  return {
    v3: v3SvcId === null ? 'none' : (several ?? ofV3),
    v4: v4SvcId === null ? 'none' : ((v3SvcId === null ? several : null) ?? unknownV4),
    pairedTogether: isUnique && v4SvcId !== null && row.v4 === v4SvcId && v3SvcId !== null,
    parentsMatched: isMatched,
    readInFull: true,
  };
}

const UNKNOWN = { deleted: false, paired: false } as const;

function isMergedRow({ groupId }: ChildPlace): boolean {
  return describeOutcome(Number(groupId % BigInt(GROUP_OF.path))).isMerged;
}

type ApplyToChild = (
  decision: Decision,
  row: ChildPlace,
  v3: ChildMember | null,
  v4: ChildMember | null,
) => void;

function prepareApplyChild(db: Db): ApplyToChild {
  const update = db.prepare('update remap_row set group_id = ?, evidence = ?, v4_svc_id = ? where id = ?');
  const share = db.prepare('update temp.twin set hard = 1 where b = ?');
  const dropOpen = db.prepare(`delete from remap_row where v3_svc_id is null and ${IS_CHILD}`);
  const addLeft = db.prepare(`
    insert into remap_row(group_id, parent, platform_id, v4_svc_id)
    select @place * ${GROUP_OF.path} + @outcome, @parent, @key, @v4
    where not exists (select 1 from remap_row where ${IS_CHILD})`);
  return ({ note }, row, v3, v4) => {
    const place = row.groupId / BigInt(GROUP_OF.path);
    const group = place * BigInt(GROUP_OF.path);
    const before = { evidence: row.evidence, outcome: row.groupId - group };
    share.run(row.b);
    if (v3 !== null && v4 !== null) {
      const outcome = withFlags(numberOf('matched'), {
        by_decision: true,
        conflict: areDifferent(v3.uid, v4.uid),
      });
      dropOpen.run({ v4: v4.svcId, place, b: row.b });
      const evidence = renderDecided(before, note, v3.key === v4.key ? undefined : v4.key);
      update.run(group + BigInt(outcome), evidence, v4.svcId, row.id);
    } else {
      const outcome = numberOf(v3 === null ? 'v4_only_decided_none' : 'unmatched_decided_none');
      const flagged = BigInt(withFlags(outcome, { only_v4: v3 === null }));
      update.run(group + flagged, renderDecided(before, note), v3 === null ? row.v4 : null, row.id);
    }
    const released = v3 === null ? null : row.v4;
    if (released === null || released === v4?.svcId) return;
    const { parent, key } = row;
    addLeft.run({ v4: released, place, b: row.b, parent, key, outcome: LEFT_OVER });
  };
}

const IS_CHILD = `
  v4_svc_id = @v4 and group_id / ${GROUP_OF.path} = @place and parent in (select id from temp.twin where b = @b)`;

/** Saves the verdict on every decision. A decision about a company without a pair is judged nowhere else. */
export function saveVerdicts(db: Db, decisions: readonly Decision[], verdicts: Verdicts): void {
  const insert = db.prepare(`
    insert into decision(line, model, path, region, v3_company_id, v3_svc_id, v4_svc_id, note, until, outcome, why)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  for (const { line, model, path, region, v3CompanyId, v3SvcId, v4SvcId, note, until } of decisions) {
    const verdict = verdicts.get(line) ?? ({ kind: 'stale', why: 'company_not_paired' } as const);
    const why = verdict.kind === 'stale' ? verdict.why : null;
    const ids = [v3CompanyId, v3SvcId, v4SvcId];
    insert.run(BigInt(line), model, path, region, ...ids, note, until, verdict.kind, why);
  }
}
