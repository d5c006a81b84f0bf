import { type Decision, isExpired } from '../config/user-files.js';
import type { Db } from '../store/open.js';
import { saveDecisionResults } from '../store/remap-tables.js';
import { groupBy } from '../text/group-by.js';
import { type DecisionVerdict, judgeDecision } from './judge-decision.js';
import { renderDecided } from './judge-group.js';
import { pairedModelSql } from './scope.js';

/** The decisions about children, and the verdicts on all decisions so far. */
export interface Decisions {
  /** Decisions about children, by the row id of the V3 or V4 record that holds the child. */
  readonly ofChildren: ReadonlyMap<number, readonly Decision[]>;
  readonly verdicts: Map<number, DecisionVerdict>;
}

/**
 * Judges the decisions about records and applies those that are taken: decided pairs are written to `pair`, all others
 * to `record_outcome`. Rows that no taken decision names are unchanged. Decisions about children are judged when
 * children are joined; until then they are stale. A decision that has expired at `nowMs`, ms since 1970, is stale.
 */
export function decideRecords(db: Db, all: readonly Decision[], nowMs: number): Decisions {
  const verdicts = new Map<number, DecisionVerdict>();
  const decisions = all.filter((one) => !isExpired(one, nowMs));
  for (const one of all) {
    if (isExpired(one, nowMs)) verdicts.set(one.line, { kind: 'stale', why: 'expired' });
  }
  if (decisions.length === 0) return { ofChildren: new Map(), verdicts };
  saveLines(db, decisions);
  const byLine = new Map(decisions.map((one) => [one.line, one]));
  const apply = prepareApply(db);
  for (const row of readDecisionRecords(db)) {
    const decision = byLine.get(row.line);
    if (decision === undefined) continue;
    const verdict = judgeRecords(row, decision);
    verdicts.set(row.line, verdict);
    if (verdict.kind === 'taken') apply(row, decision);
  }
  return { ofChildren: locateChildren(db, byLine, verdicts), verdicts };
}

/** Saves the verdict on every decision; part of the remap's transaction. */
export function saveVerdicts(db: Db, decisions: readonly Decision[], verdicts: Decisions['verdicts']): void {
  const notFound: DecisionVerdict = { kind: 'stale', why: 'v3_not_exported' };
  const results = decisions.map((decision) => {
    const verdict = verdicts.get(decision.line) ?? notFound;
    return { ...decision, outcome: verdict.kind, why: verdict.kind === 'stale' ? verdict.why : null };
  });
  saveDecisionResults(db, results);
}

function saveLines(db: Db, decisions: readonly Decision[]): void {
  db.exec(`
    CREATE TEMP TABLE decision_line(
      line INTEGER PRIMARY KEY, model_id INTEGER NOT NULL, path TEXT NOT NULL, region TEXT NOT NULL,
      v3_company_id INTEGER NOT NULL, v3_svc_id INTEGER, v4_svc_id INTEGER
    ) STRICT;
    CREATE INDEX temp.decision_v3 ON decision_line(v3_svc_id);
    CREATE INDEX temp.decision_v4 ON decision_line(v4_svc_id);
    CREATE INDEX temp.scope_stream_list ON scope_stream(model_id, generation, region, company_id);
  `);
  const insert = db.prepare(
    'INSERT INTO decision_line SELECT ?, id, ?, ?, ?, ?, ? FROM scope_model WHERE model = ?',
  );
  for (const { line, model, path, region, v3CompanyId, v3SvcId, v4SvcId } of decisions) {
    insert.run(line, path, region, v3CompanyId, v3SvcId, v4SvcId, model);
  }
}

interface DecisionRecords {
  readonly line: number;
  readonly pairedModel: number | null;
  readonly readInFull: number;
  readonly v3: number | null;
  readonly v3Deleted: number | null;
  readonly v3Key: string | null;
  /** Only of a V3 record that is in no pair. */
  readonly v3Outcome: string | null;
  readonly v3Evidence: string | null;
  /** The V4 record that evidence pairs it with. */
  readonly twin: number | null;
  readonly v4: number | null;
  readonly v4Deleted: number | null;
  readonly v4Key: string | null;
  readonly v4Outcome: string | null;
  readonly v4Evidence: string | null;
}

/** The stored data of the records that decisions name, in the order of the V3 records. */
function readDecisionRecords(db: Db): DecisionRecords[] {
  return db
    .prepare<[], DecisionRecords>(`
      SELECT line.line, paired_model.id AS pairedModel,
          ifnull(v3_read_in_full AND v4_read_in_full AND pair_is_final, 0) AS readInFull,
          v3.id AS v3, v3.deleted AS v3Deleted, v3.platform_id AS v3Key,
          v3_outcome.status || '/' || v3_outcome.reason AS v3Outcome, v3_outcome.evidence AS v3Evidence,
          pair.v4_record_id AS twin,
          v4.id AS v4, v4.deleted AS v4Deleted, v4.platform_id AS v4Key,
          v4_outcome.status || '/' || v4_outcome.reason AS v4Outcome, v4_outcome.evidence AS v4Evidence
        FROM decision_line AS line
        LEFT JOIN scope_v3_company AS v3_company
          ON v3_company.region = line.region AND v3_company.company_id = line.v3_company_id
        LEFT JOIN scope_v4_company AS v4_company ON v4_company.id = v3_company.paired_id
        LEFT JOIN paired_model ON paired_model.id = ${pairedModelSql('line.model_id', 'v3_company.paired_id')}
        LEFT JOIN record AS v3 ON v3.id = (
          SELECT record.id FROM scope_stream AS stream CROSS JOIN record USING (stream_id)
            WHERE generation = 3 AND model_id = line.model_id AND stream.region = line.region
              AND (stream.company_id IS NULL OR stream.company_id = line.v3_company_id)
              AND record.svc_id = line.v3_svc_id AND record.company_id = line.v3_company_id)
        LEFT JOIN record AS v4 ON v4.id = (
          SELECT record.id FROM scope_stream AS stream CROSS JOIN record USING (stream_id)
            WHERE generation = 4 AND model_id = line.model_id AND stream.region = ''
              AND stream.company_id = v4_company.company_id AND record.svc_id = line.v4_svc_id)
        LEFT JOIN pair ON pair.v3_record_id = v3.id
        LEFT JOIN record_outcome AS v3_outcome ON v3_outcome.record_id = v3.id
        LEFT JOIN record_outcome AS v4_outcome ON v4_outcome.record_id = v4.id
        WHERE line.path = '' ORDER BY v3.id`)
    .safeIntegers(false)
    .all();
}

function judgeRecords(row: DecisionRecords, { v3SvcId, v4SvcId }: Decision): DecisionVerdict {
  // a record without a row in `record_outcome` is in a pair
  const objectOf = (id: number | null, deleted: number | null, outcome: string | null) =>
    id === null ? 'not_exported' : { deleted: deleted === 1, paired: outcome === null };
  return judgeDecision({
    companyPaired: row.pairedModel !== null,
    v3: v3SvcId === null ? 'none' : objectOf(row.v3, row.v3Deleted, row.v3Outcome),
    v4: v4SvcId === null ? 'none' : objectOf(row.v4, row.v4Deleted, row.v4Outcome),
    pairedTogether: row.v4 !== null && row.twin === row.v4,
    parentsMatched: true,
    readInFull: row.readInFull === 1,
  });
}

function prepareApply(db: Db): (row: DecisionRecords, decision: Decision) => void {
  const dropOutcomes = db.prepare('DELETE FROM record_outcome WHERE record_id IN (?, ?)');
  const savePair = db.prepare("INSERT INTO pair VALUES (?, ?, ?, NULL, 'decision', 0, ?)");
  const claim = db.prepare('INSERT INTO claimed_record VALUES (?)');
  const conclude = db.prepare(
    "UPDATE record_outcome SET status = ?, reason = 'decided_none', evidence = ? WHERE record_id = ?",
  );
  return (row, { note }) => {
    const { v3, v4, pairedModel } = row;
    const ofV3 = { note, insteadOf: row.v3Outcome };
    if (v3 !== null && v4 !== null && pairedModel !== null) {
      const v4Key = row.v3Key === row.v4Key ? undefined : row.v4Key;
      savePair.run(v3, v4, pairedModel, renderDecided(row.v3Evidence, ofV3, v4Key));
      claim.run(v4);
      dropOutcomes.run(v3, v4);
    } else if (v3 !== null) {
      conclude.run('unmatched', renderDecided(row.v3Evidence, ofV3), v3);
    } else if (v4 !== null) {
      conclude.run('v4_only', renderDecided(row.v4Evidence, { note, insteadOf: row.v4Outcome }), v4);
    }
  };
}

/** Finds the record that holds the child of each decision: its V3 child, or its V4 child if it names no V3 child. */
function locateChildren(
  db: Db,
  byLine: ReadonlyMap<number, Decision>,
  verdicts: Map<number, DecisionVerdict>,
): Map<number, readonly Decision[]> {
  const parents = groupBy([...readParents(db, 3), ...readParents(db, 4)], ([line]) => line);
  const paired = db.prepare<[number]>(
    `SELECT 1 FROM decision_line AS line JOIN scope_v3_company AS v3_company
        ON v3_company.region = line.region AND v3_company.company_id = line.v3_company_id
      WHERE line.line = ? AND v3_company.paired_id IS NOT NULL`,
  );
  const ofChildren = new Map<number, Decision[]>();
  for (const decision of byLine.values()) {
    if (decision.path === '') continue;
    const [first, second] = parents.get(decision.line) ?? [];
    const named = first === undefined ? 'not_exported' : { deleted: false, paired: false };
    const child = second === undefined ? named : 'several';
    verdicts.set(
      decision.line,
      judgeDecision({
        companyPaired: paired.get(decision.line) !== undefined,
        v3: decision.v3SvcId === null ? 'none' : child,
        v4: decision.v3SvcId === null ? child : 'none',
        pairedTogether: false,
        // provisional: children are joined later, and only inside pairs of records
        parentsMatched: false,
        readInFull: true,
      }),
    );
    if (first === undefined || second !== undefined) continue;
    const [, parent] = first;
    ofChildren.set(parent, [...(ofChildren.get(parent) ?? []), decision]);
  }
  return ofChildren;
}

/** Decisions by line, each with the row id of a record that holds the child it names. */
function readParents(db: Db, generation: 3 | 4): [line: number, parent: number][] {
  const isNamed = generation === 3 ? 'line.v3_svc_id IS NOT NULL' : 'line.v3_svc_id IS NULL';
  const isOfCompany =
    generation === 3
      ? 'line.region = r.region AND line.v3_company_id = r.company_id'
      : '(line.region, line.v3_company_id) = (SELECT region, company_id FROM scope_v3_company WHERE id = r.paired_id)';
  return db
    .prepare<[], [number, number]>(`
      SELECT line.line, r.id FROM v${generation}_record AS r CROSS JOIN json_each(r.children) AS child
        CROSS JOIN decision_line AS line ON line.v${generation}_svc_id = CAST(child.value ->> 1 AS INTEGER)
          AND line.path = child.value ->> 0 AND line.model_id = r.model_id AND ${isNamed} AND ${isOfCompany}
        WHERE r.model_id IN (SELECT line.model_id FROM decision_line AS line WHERE line.path <> '' AND ${isNamed})
        ORDER BY r.id, line.line`)
    .raw()
    .safeIntegers(false)
    .all();
}
