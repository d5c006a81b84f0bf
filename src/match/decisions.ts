import type { Decision } from '../config/decisions-file.js';
import { saveDecisionResults } from '../store/decisions.js';
import type { Db } from '../store/open.js';
import { renderDecided } from './group-evidence.js';
import { type DecisionVerdict, judgeDecision, type NamedObject } from './judge-decision.js';
import type { Pairs } from './pairs.js';
import { PLACES } from './places.js';

/** The decisions of a remap under way, and what became of them so far. */
export interface Decisions {
  /** Decisions about children, by the row id of the V3 or V4 record that holds the child. */
  readonly ofChildren: ReadonlyMap<number, readonly Decision[]>;
  readonly verdicts: Map<number, DecisionVerdict>;
}

/**
 * Judges the decisions about records and applies those that are taken: their pairs go to `pairs` with their evidence in
 * `decided`, and `rec_result` takes the rest. Rows that no taken decision names stay as they are. Decisions about
 * children are judged where children are joined; until then they are stale.
 */
export function decideRecords(db: Db, decisions: readonly Decision[], pairs: Pairs): Decisions {
  db.exec('CREATE TEMP TABLE decided(id INTEGER PRIMARY KEY, evidence TEXT NOT NULL) STRICT');
  const verdicts = new Map<number, DecisionVerdict>();
  if (decisions.length === 0) return { ofChildren: new Map(), verdicts };
  saveLines(db, decisions);
  const byLine = new Map(decisions.map((one) => [one.line, one]));
  const apply = prepareApply(db, pairs);
  for (const row of readRecordFacts(db)) {
    const decision = byLine.get(row.line);
    if (decision === undefined) continue;
    const verdict = judgeRecords(row, decision, pairs);
    verdicts.set(row.line, verdict);
    if (verdict.kind === 'taken') apply(row, decision);
  }
  return { ofChildren: locateChildren(db, byLine, verdicts), verdicts };
}

/** Keeps what became of every decision; part of the remap's transaction. */
export function saveVerdicts(db: Db, decisions: readonly Decision[], verdicts: Decisions['verdicts']): void {
  const results = decisions.map((decision) => {
    const verdict = verdicts.get(decision.line) ?? NOT_FOUND;
    return { decision, outcome: verdict.kind, why: verdict.kind === 'stale' ? verdict.why : null };
  });
  saveDecisionResults(db, results);
}

const NOT_FOUND: DecisionVerdict = { kind: 'stale', why: 'v3_not_exported' };

function saveLines(db: Db, decisions: readonly Decision[]): void {
  db.exec(`
    CREATE TEMP TABLE decision_line(
      line INTEGER PRIMARY KEY, model_ix INTEGER NOT NULL, path TEXT NOT NULL, region TEXT NOT NULL,
      v3_company_id INTEGER NOT NULL, v3_svc_id INTEGER, v4_svc_id INTEGER
    ) STRICT;
    CREATE INDEX temp.decision_v3 ON decision_line(v3_svc_id);
    CREATE INDEX temp.decision_v4 ON decision_line(v4_svc_id);
    CREATE INDEX temp.x_list ON x(model_ix, gen, region, company_id);
  `);
  const insert = db.prepare('INSERT INTO decision_line SELECT ?, ix, ?, ?, ?, ?, ? FROM m WHERE model = ?');
  for (const { line, model, path, region, v3CompanyId, v3SvcId, v4SvcId } of decisions) {
    insert.run(BigInt(line), path, region, v3CompanyId, v3SvcId, v4SvcId, model);
  }
}

interface RecordFacts {
  readonly line: number;
  readonly place: number | null;
  readonly readInFull: number;
  readonly v3: number | null;
  readonly v3Deleted: number | null;
  readonly v3Key: string | null;
  /** Of a V3 record that is in no pair. */
  readonly v3Outcome: string | null;
  readonly v3Evidence: string | null;
  readonly v4: number | null;
  readonly v4Deleted: number | null;
  readonly v4Key: string | null;
  readonly v4Outcome: string | null;
  readonly v4Evidence: string | null;
}

/** What is stored of the records that decisions name, in the order of the V3 records. */
function readRecordFacts(db: Db): RecordFacts[] {
  return db
    .prepare<[], RecordFacts>(`
      SELECT d.line, p.place, ifnull(p.v3_full AND p.v4_full AND p.settled, 0) AS readInFull,
          a.id AS v3, a.deleted AS v3Deleted, a.platform_id AS v3Key, e.outcome AS v3Outcome, e.evidence AS v3Evidence,
          b.id AS v4, b.deleted AS v4Deleted, b.platform_id AS v4Key, f.outcome AS v4Outcome, f.evidence AS v4Evidence
        FROM decision_line AS d
        LEFT JOIN c3 ON c3.region = d.region AND c3.company_id = d.v3_company_id
        LEFT JOIN c4 ON c4.ix = c3.pair
        LEFT JOIN place AS p ON p.place = d.model_ix * ${PLACES} + c3.pair
        LEFT JOIN record AS a ON a.id = (
          SELECT r.id FROM x CROSS JOIN record AS r ON r.stream_id = x.stream_id AND r.svc_id = d.v3_svc_id
            WHERE x.gen = 3 AND x.model_ix = d.model_ix AND x.region = d.region
              AND (x.company_id IS NULL OR x.company_id = d.v3_company_id) AND r.company_id = d.v3_company_id)
        LEFT JOIN record AS b ON b.id = (
          SELECT r.id FROM x CROSS JOIN record AS r ON r.stream_id = x.stream_id AND r.svc_id = d.v4_svc_id
            WHERE x.gen = 4 AND x.model_ix = d.model_ix AND x.region = '' AND x.company_id = c4.company_id)
        LEFT JOIN rec_result AS e ON e.id = a.id
        LEFT JOIN rec_result AS f ON f.id = b.id
        WHERE d.path = '' ORDER BY a.id`)
    .safeIntegers(false)
    .all();
}

function judgeRecords(row: RecordFacts, { v3SvcId, v4SvcId }: Decision, pairs: Pairs): DecisionVerdict {
  const v3 = objectOf(row.v3, row.v3Deleted, row.v3Outcome);
  const v4 = objectOf(row.v4, row.v4Deleted, row.v4Outcome);
  return judgeDecision({
    companyPaired: row.place !== null,
    v3: v3SvcId === null ? 'none' : v3,
    v4: v4SvcId === null ? 'none' : v4,
    pairedTogether: row.v3 !== null && row.v4 !== null && pairs.twinOf(row.v3) === row.v4,
    parentsMatched: true,
    readInFull: row.readInFull === 1,
  });
}

/** A record without a row in `rec_result` is in a pair. */
function objectOf(
  id: number | null,
  deleted: number | null,
  outcome: string | null,
): NamedObject | 'not_exported' {
  return id === null ? 'not_exported' : { deleted: deleted === 1, paired: outcome === null };
}

function prepareApply(db: Db, pairs: Pairs): (row: RecordFacts, decision: Decision) => void {
  const forget = db.prepare('DELETE FROM rec_result WHERE id = ?');
  const keep = db.prepare('INSERT INTO decided VALUES (?, ?)');
  const conclude = db.prepare('UPDATE rec_result SET outcome = ?, evidence = ? WHERE id = ?');
  return (row, { note }) => {
    const { v3, v4, place } = row;
    if (v3 !== null && v4 !== null && place !== null) {
      const v4Key = row.v3Key === row.v4Key ? undefined : row.v4Key;
      keep.run(BigInt(v3), renderDecided(row.v3Evidence, { note, insteadOf: row.v3Outcome }, v4Key));
      pairs.addDecided(v3, v4, place);
      forget.run(BigInt(v3));
      forget.run(BigInt(v4));
    } else if (v3 !== null) {
      const evidence = renderDecided(row.v3Evidence, { note, insteadOf: row.v3Outcome });
      conclude.run('unmatched/decided_none', evidence, BigInt(v3));
    } else if (v4 !== null) {
      const evidence = renderDecided(row.v4Evidence, { note, insteadOf: row.v4Outcome });
      conclude.run('v4_only/decided_none', evidence, BigInt(v4));
    }
  };
}

type Located = readonly [line: number, parent: number];

/** Finds the records that hold the children which decisions name: the V3 child, or the V4 one where there is no other. */
function locateChildren(
  db: Db,
  byLine: ReadonlyMap<number, Decision>,
  verdicts: Map<number, DecisionVerdict>,
): Map<number, readonly Decision[]> {
  const found = new Map<number, number[]>();
  for (const [line, parent] of [...readParents(db, 3), ...readParents(db, 4)]) {
    found.set(line, [...(found.get(line) ?? []), parent]);
  }
  const paired = db
    .prepare<[number], number>(
      `SELECT 1 FROM decision_line AS d JOIN c3 ON c3.region = d.region AND c3.company_id = d.v3_company_id
        WHERE d.line = ? AND c3.pair IS NOT NULL`,
    )
    .pluck();
  const ofChildren = new Map<number, Decision[]>();
  for (const decision of byLine.values()) {
    if (decision.path === '') continue;
    const [parent, ...others] = found.get(decision.line) ?? [];
    const named = objectIn(parent, others);
    verdicts.set(
      decision.line,
      judgeDecision({
        companyPaired: paired.get(decision.line) !== undefined,
        v3: decision.v3SvcId === null ? 'none' : named,
        v4: decision.v3SvcId === null ? named : 'none',
        pairedTogether: false,
        // until the children of these records are joined, which happens only inside pairs
        parentsMatched: false,
        readInFull: true,
      }),
    );
    if (parent === undefined || others.length > 0) continue;
    ofChildren.set(parent, [...(ofChildren.get(parent) ?? []), decision]);
  }
  return ofChildren;
}

function objectIn(
  parent: number | undefined,
  others: readonly number[],
): NamedObject | 'not_exported' | 'several' {
  if (parent === undefined) return 'not_exported';
  return others.length > 0 ? 'several' : { deleted: false, paired: false };
}

function readParents(db: Db, gen: 3 | 4): Located[] {
  const isNamed = gen === 3 ? 'd.v3_svc_id IS NOT NULL' : 'd.v3_svc_id IS NULL';
  const isIn =
    gen === 3
      ? 'd.region = r.region AND d.v3_company_id = r.company_id'
      : '(d.region, d.v3_company_id) = (SELECT c3.region, c3.company_id FROM c3 WHERE c3.ix = r.pair)';
  return db
    .prepare<[], Located>(`
      SELECT d.line, r.id FROM rec${gen} AS r CROSS JOIN json_each(r.children) AS k
        CROSS JOIN decision_line AS d ON d.v${gen}_svc_id = CAST(k.value ->> 1 AS INTEGER)
          AND d.path = k.value ->> 0 AND d.model_ix = r.model_ix AND ${isNamed} AND ${isIn}
        WHERE r.model_ix IN (SELECT d.model_ix FROM decision_line AS d WHERE d.path <> '' AND ${isNamed})
        ORDER BY r.id, d.line`)
    .raw()
    .safeIntegers(false)
    .all();
}
