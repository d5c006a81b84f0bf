import type { Decision } from '../config/decisions-file.js';
import { parseChildren } from '../records/child-list.js';
import type { Db } from '../store/open.js';
import { decideChildren } from './decide-children.js';
import type { Decisions } from './decisions.js';
import { judgeChildren, type KidRow, type KidRows } from './judge-children.js';
import type { Pairs } from './pairs.js';

/** A pair's status and reason, over `r` and its twin `t`. */
export const PAIR_STATUS = `iif(r.deleted OR t.deleted, 'deleted', 'matched')`;
export const PAIR_REASON = `
  CASE r.deleted * 2 + t.deleted
    WHEN 1 THEN 'deleted_in_v4' WHEN 2 THEN 'deleted_in_v3' WHEN 3 THEN 'deleted_in_both' END`;

/** Whether a pair was found in streams that were not all read in full, over `r` and its place `p`. */
export const PAIR_PROVISIONAL = 'NOT (r.in_full AND p.v4_full AND p.settled)';

/** Pairs of records with children on either side: V3's are `r`, V4's `t`, their place is `p`. */
export const PARENT_PAIRS = `
  rec3 AS r CROSS JOIN record AS t ON t.id = twin_of(r.id) AND (r.children IS NOT NULL OR t.children IS NOT NULL)
  CROSS JOIN place AS p ON p.place = r.place`;

/**
 * Why a pair is not matched, '' where it is, its children on either side and the ids of its records, over
 * `PARENT_PAIRS`. Never NULL: SQLite asks a table function nothing whose argument is NULL.
 */
export const PAIR_KIDS = `ifnull(${PAIR_REASON}, ''), ifnull(r.children, '[]'), ifnull(t.children, '[]'), r.id, t.id`;

/** What became of the children of pairs, as far as it is not in tables. */
export interface MatchedChildren {
  /** V4 children that V3 ones became; known once the rows of `kids_of` were read, all of them and once. */
  pointed: number;
}

/**
 * Gives the children of every pair of records their outcomes, as rows of `kids_of(shared twin, reason of the pair,
 * v3 children, v4 children, v3 record, v4 record)`, see `KidRow`. V4 children of twins that several V3 records share are in `shared_kids`, a
 * JSON list of `KidRow`s for each twin. Children of all other records take their parent's outcome; they are not listed.
 */
export function matchChildren(
  db: Db,
  pairs: Pairs,
  decisions: Decisions,
  assertGoing: () => void,
): MatchedChildren {
  const matched = { pointed: 0 };
  db.exec('CREATE TEMP TABLE shared_kids(parent INTEGER PRIMARY KEY, kids TEXT NOT NULL) STRICT');
  if (pairs.hasShared) matched.pointed += saveSharedKids(db);
  db.table('kids_of', {
    columns: [
      'gen',
      'path',
      'v3_svc_id',
      'v4_svc_id',
      'key',
      'status',
      'reason',
      'by',
      'evidence',
      'conflict',
    ],
    parameters: ['shared', 'parent_reason', 'v3', 'v4', 'v3_record', 'v4_record'],
    *rows(shared: unknown, ...pair: readonly unknown[]): Generator<KidRow> {
      assertGoing();
      const [reason, v3, v4, v3Record, v4Record] = pair;
      const decided = decisionsOf(decisions, Number(v3Record), Number(v4Record));
      const judged = judge(String(reason), String(v3), String(v4), decided, decisions.verdicts);
      yield* judged.rows.v3;
      if (Number(shared) === 1) return;
      yield* judged.rows.v4;
      matched.pointed += judged.pointed;
    },
  });
  return matched;
}

const NOTHING: readonly Decision[] = [];

/** What was decided about children of a pair of records. */
function decisionsOf({ ofChildren }: Decisions, v3: number, v4: number): readonly Decision[] {
  if (ofChildren.size === 0) return NOTHING;
  return [...(ofChildren.get(v3) ?? NOTHING), ...(ofChildren.get(v4) ?? NOTHING)];
}

/** Judges the children of a pair, both lists as stored. */
function judge(
  parentReason: string,
  v3: string,
  v4: string,
  decisions: readonly Decision[],
  verdicts: Decisions['verdicts'],
): { rows: KidRows; pointed: number } {
  const children = { v3: parseChildren(v3), v4: parseChildren(v4), parentsMatched: parentReason === '' };
  let rows = judgeChildren(children.v3, children.v4, parentReason === '' ? null : parentReason);
  if (decisions.length > 0) {
    const decided = decideChildren(rows, children, decisions);
    for (const [line, verdict] of decided.verdicts) verdicts.set(line, verdict);
    rows = decided.rows;
  }
  return { rows, pointed: children.v4.length - rows.v4.length };
}

type SharedRow = [twin: bigint, parentReason: string, v3: string, v4: string];

/** Returns how many V4 children V3 ones became. */
function saveSharedKids(db: Db): number {
  const read = db.prepare<[], SharedRow>(`
    SELECT t.id, ${PAIR_KIDS} FROM ${PARENT_PAIRS} WHERE shares_twin(r.id) ORDER BY r.id`);
  const shared = new SharedTwins();
  for (const [twin, reason, v3, v4] of read.raw().iterate()) {
    // pairs that share a twin are deleted: no decision about their children is taken
    shared.add(twin, judge(reason, v3, v4, NOTHING, new Map()).rows);
  }
  const insert = db.prepare('INSERT INTO shared_kids VALUES (?, ?)');
  let pointed = 0;
  for (const one of shared.list()) {
    insert.run(one.twin, JSON.stringify(one.rows));
    pointed += one.pointed;
  }
  return pointed;
}

/**
 * V4 records that several deleted V3 records became: a child that none of these points at has the row that the first
 * gives it, with the last evidence there is.
 */
class SharedTwins {
  readonly #twins = new Map<bigint, { left: Map<string, KidRow>; readonly pointed: Set<string> }>();

  add(twin: bigint, rows: KidRows): void {
    const known = this.#twins.get(twin) ?? { left: new Map<string, KidRow>(), pointed: new Set<string>() };
    this.#twins.set(twin, known);
    for (const [, path, , v4SvcId] of rows.v3) if (v4SvcId !== null) known.pointed.add(`${path} ${v4SvcId}`);
    for (const row of rows.v4) {
      const name = `${row[PATH]} ${row[V4_ID]}`;
      // all of them inherit from deleted records of one key, so that only the evidence can differ
      if (row[EVIDENCE] !== null || !known.left.has(name)) known.left.set(name, row);
    }
  }

  *list(): Generator<{ twin: bigint; rows: readonly KidRow[]; pointed: number }> {
    for (const [twin, { left, pointed }] of this.#twins) {
      const rows = [...left].filter(([name]) => !pointed.has(name)).map(([, row]) => row);
      yield { twin, rows, pointed: pointed.size };
    }
  }
}

const PATH = 1;
const V4_ID = 3;
const EVIDENCE = 8;
