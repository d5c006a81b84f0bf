/** Walks of the V4 company list at most. */
const MAX_WALKS = 5;

/** What one walk to the end of the V4 company list showed. */
export interface CompanyWalk {
  readonly pages: number;
  /** Of its last page. */
  readonly totalCount: number | null;
  /** Distinct companies. */
  readonly ids: ReadonlySet<bigint>;
  /** Those that no earlier walk had shown. */
  readonly added: number;
}

/** Whether the list is read: `short` is read in full, with a count that says there are more. */
export type WalkVerdict = 'complete' | 'short' | 'again' | 'incomplete';

/**
 * What follows the last of these walks, of which there is at least one; `found` is how many companies they showed
 * together. A count above that is a reason to walk again, and so is a list of several pages without a count, where
 * a company may have moved over the edge of a page.
 */
export function judgeWalks(walks: readonly CompanyWalk[], found: number): WalkVerdict {
  const last = walks.at(-1);
  const before = walks.at(-2);
  if (last === undefined) return 'again';
  if (last.totalCount !== null && last.totalCount <= found) return 'complete';
  if (last.totalCount === null && (last.pages === 1 || (before !== undefined && last.added === 0)))
    return 'complete';
  if (last.totalCount !== null && before !== undefined && isSame(last.ids, before.ids)) return 'short';
  return walks.length < MAX_WALKS ? 'again' : 'incomplete';
}

function isSame(a: ReadonlySet<bigint>, b: ReadonlySet<bigint>): boolean {
  return a.size === b.size && [...a].every((id) => b.has(id));
}
