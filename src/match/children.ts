import type { Decision } from '../config/user-files.js';
import { parseChildren } from '../json/stored-lists.js';
import type { Db } from '../store/open.js';
import { decideChildren } from './decide-children.js';
import type { Decisions } from './decisions.js';
import { type ChildRow, type ChildRows, judgeChildren } from './judge-children.js';
import { saveSharedChildren } from './shared-children.js';

/** Whether a pair was found in streams that were not all read in full, over `r` and its `paired_model`. */
export const PAIR_PROVISIONAL =
  'NOT (r.read_in_full AND paired_model.v4_read_in_full AND paired_model.pair_is_final)';

/** Pairs of records with children on either side. */
export const PARENT_PAIRS = `
  v3_record AS r CROSS JOIN pair ON pair.v3_record_id = r.id
  CROSS JOIN record AS twin ON twin.id = pair.v4_record_id AND (r.children IS NOT NULL OR twin.children IS NOT NULL)
  CROSS JOIN paired_model ON paired_model.id = r.paired_model_id`;

/**
 * The arguments of `judged_child` over `PARENT_PAIRS`. None is ever NULL: SQLite does not call a table function that
 * has a NULL argument.
 */
export const JUDGED_CHILD = `
  judged_child(ifnull(pair.reason, ''), ifnull(r.children, '[]'), ifnull(twin.children, '[]'), r.id, twin.id)`;

/** What became of the children of pairs, as far as it is not in tables. */
export interface MatchedChildren {
  /** V4 children that V3 ones became; complete once every row of `judged_child` was read, each once. */
  claimed: number;
}

/**
 * Gives the children of every pair of records their outcomes. Those of twins that several V3 records share are rows of
 * `shared_child`. All others are rows of the table function `judged_child(reason of the pair, V3 children, V4 children,
 * V3 record, V4 record)`, which judges them when it is read. Children of records without a twin are in neither: they
 * inherit their parent's outcome.
 */
export function matchChildren(db: Db, decisions: Decisions, assertGoing: () => void): MatchedChildren {
  const matched = { claimed: saveSharedChildren(db, decisions, assertGoing) };
  db.table('judged_child', {
    columns: [
      'generation',
      'path',
      'v3_svc_id',
      'v4_svc_id',
      'platform_id',
      'status',
      'reason',
      'matched_by',
      'evidence',
      'conflict',
    ],
    parameters: ['parent_reason', 'v3_children', 'v4_children', 'v3_record_id', 'v4_record_id'],
    *rows(...pair: readonly unknown[]): Generator<ChildRow> {
      assertGoing();
      const [reason, v3, v4, v3Record, v4Record] = pair;
      const decided = decisionsOf(decisions, Number(v3Record), Number(v4Record));
      const judged = judgePair(String(reason), String(v3), String(v4), decided, decisions.verdicts);
      yield* judged.rows.v3;
      yield* judged.rows.v4;
      matched.claimed += judged.claimed;
    },
  });
  return matched;
}

const NO_DECISIONS: readonly Decision[] = [];

/** The decisions about children of a pair of records. */
function decisionsOf({ ofChildren }: Decisions, v3: number, v4: number): readonly Decision[] {
  if (ofChildren.size === 0) return NO_DECISIONS;
  return [...(ofChildren.get(v3) ?? NO_DECISIONS), ...(ofChildren.get(v4) ?? NO_DECISIONS)];
}

/** Judges the children of a pair, both lists as stored. */
function judgePair(
  parentReason: string,
  v3: string,
  v4: string,
  decisions: readonly Decision[],
  verdicts: Decisions['verdicts'],
): { rows: ChildRows; claimed: number } {
  const children = { v3: parseChildren(v3), v4: parseChildren(v4), parentsMatched: parentReason === '' };
  let rows = judgeChildren(children.v3, children.v4, parentReason === '' ? null : parentReason);
  if (decisions.length > 0) {
    const decided = decideChildren(rows, children, decisions);
    for (const [line, verdict] of decided.verdicts) verdicts.set(line, verdict);
    rows = decided.rows;
  }
  return { rows, claimed: children.v4.length - rows.v4.length };
}
