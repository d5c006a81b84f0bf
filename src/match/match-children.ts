import { parseChildren } from '../json/stored-lists.js';
import type { Db } from '../store/open.js';
import { decideChildren } from './decide-children.js';
import type { Decisions } from './decide-records.js';
import { type ChildRow, judgeChildren } from './judge-children.js';
import { saveSharedChildren } from './shared-children.js';

/** SQL condition over `r` and its `paired_model`: a stream of the pair was not read in full. */
export const PAIR_PROVISIONAL =
  'NOT (r.read_in_full AND paired_model.v4_read_in_full AND paired_model.pair_is_final)';

/** Pairs of records that have children on either side. */
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

/** The columns of `judged_child`, in the order of `ChildRow`. */
const COLUMNS =
  'generation path v3_svc_id v4_svc_id platform_id status reason matched_by evidence conflict'.split(' ');

/** The results of joining children that are not in tables. */
export interface MatchedChildren {
  /** Number of V4 children paired with V3 ones; correct once `judged_child` was read exactly once for each pair. */
  claimed: number;
}

/**
 * Judges the children of every pair of records. If several V3 records share a twin, the outcomes are saved in
 * `shared_child`. Otherwise they are rows of the table function `judged_child(reason of the pair, V3 children, V4
 * children, V3 record, V4 record)`, which judges them when it is read. Children of records without a twin are in
 * neither: they inherit the outcome of their record.
 */
export function matchChildren(db: Db, decisions: Decisions, throwIfStopped: () => void): MatchedChildren {
  const matched = { claimed: saveSharedChildren(db, decisions, throwIfStopped) };
  db.table('judged_child', {
    columns: COLUMNS,
    parameters: ['parent_reason', 'v3_children', 'v4_children', 'v3_record_id', 'v4_record_id'],
    *rows(...pair: readonly unknown[]): Generator<ChildRow> {
      throwIfStopped();
      const [parentReason = '', v3Children = '', v4Children = ''] = pair.map(String);
      const [v3, v4] = [parseChildren(v3Children), parseChildren(v4Children)];
      let rows = judgeChildren(v3, v4, parentReason === '' ? null : parentReason);
      const named = pair.slice(3).flatMap((record) => decisions.ofChildren.get(Number(record)) ?? []);
      if (named.length > 0) {
        const decided = decideChildren(rows, { v3, v4, parentsMatched: parentReason === '' }, named);
        for (const [line, verdict] of decided.verdicts) decisions.verdicts.set(line, verdict);
        rows = decided.rows;
      }
      yield* rows.v3;
      yield* rows.v4;
      matched.claimed += v4.length - rows.v4.length;
    },
  });
  return matched;
}
