import type { Decision } from '../config/user-files.js';
import type { StaleReason } from '../domain.js';
import type { Db } from './open.js';
import { type Scope, scopeParams, v3Scope } from './remap.js';

/** The result of the last remap for a line of `decisions.csv`. */
export interface DecisionResult extends Decision {
  readonly outcome: DecisionOutcome;
  /** Set if the decision is stale. */
  readonly why: StaleReason | null;
}

export type DecisionOutcome = 'taken' | 'not_needed' | 'stale';

interface NewResult {
  readonly decision: Decision;
  readonly outcome: DecisionOutcome;
  readonly why: StaleReason | null;
}

/** Replaces the results of the previous remap; part of the remap's transaction. */
export function saveDecisionResults(db: Db, results: readonly NewResult[]): void {
  db.exec('DELETE FROM decision');
  const insert = db.prepare('INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  for (const { decision, outcome, why } of results) {
    const { line, model, path, region, v3CompanyId, v3SvcId, v4SvcId, note } = decision;
    insert.run(BigInt(line), model, path, region, v3CompanyId, v3SvcId, v4SvcId, note, outcome, why);
  }
}

/** The number of decisions of a model with an outcome. */
export interface DecisionCount {
  readonly model: string;
  readonly outcome: DecisionOutcome;
  readonly n: bigint;
}

export function readDecisionCounts(db: Db, scope: Scope): DecisionCount[] {
  return db
    .prepare<[object], DecisionCount>(
      `SELECT model, outcome, count(*) AS n FROM decision AS r WHERE ${v3Scope(scope)}
       GROUP BY model, outcome ORDER BY model, outcome`,
    )
    .all(scopeParams(db, scope));
}

/** Decisions that changed nothing, in the order of the file, stale ones first. */
export function readIdleDecisions(db: Db, scope: Scope, limit: number): DecisionResult[] {
  return db
    .prepare<[object], Omit<DecisionResult, 'line'> & { readonly line: bigint }>(
      `SELECT line, model, path, region, v3_company_id AS v3CompanyId, v3_svc_id AS v3SvcId, v4_svc_id AS v4SvcId,
         note, outcome, why
       FROM decision AS r WHERE outcome <> 'taken' AND ${v3Scope(scope)} ORDER BY outcome = 'not_needed', line LIMIT @limit`,
    )
    .all({ ...scopeParams(db, scope), limit: BigInt(limit) })
    .map((row) => ({ ...row, line: Number(row.line) }));
}
