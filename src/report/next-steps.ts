import { describeOutcome, outcomeKey, type ReasonText, splitKey } from '../reasons.js';
import type { Blocker } from '../store/readiness.js';
import type { WindowRow } from '../store/report-rows.js';
import { countOf } from '../text/numbers.js';
import { compare } from '../text/rows.js';
import type { IdCounts, JudgedLimit } from './gate.js';

/** Limits that are not reasons. */
const COUNTERS: Readonly<Record<string, Omit<ReasonText, 'meaning'>>> = {
  rejected: {
    title: 'Objects without a usable id',
    action:
      'Report the objects of the table rejected to the operator, or accept them with "rejected" in "limits".',
  },
  short: {
    title: 'Lists shorter than their count',
    action: 'Ask the operator about total_count of these lists, or accept them with "short" in "limits".',
  },
  unique_id_conflict: {
    title: 'Pairs with different platform_unique_ids',
    action:
      'Ask the operator which platform_unique_id is right, or accept the pairs with "unique_id_conflict" in "limits".',
  },
  merged: {
    title: 'V3 ids that became one V4 id',
    action:
      'Check that your product can hold one V4 id for several V3 ids, then accept it with "merged" in "limits".',
  },
  decision_stale: {
    title: 'Decisions that the data do not support',
    action:
      'Correct or remove the lines of the decisions file that are listed under "Decisions", then run `svc-migrate remap`.',
  },
  maxAge: {
    title: 'Evidence too old',
    action: 'Run `svc-migrate run`: it reads both APIs again.',
  },
};

/** What changes the verdict for unexplained records where the start of V4's history is doubtful or unknown. */
const SET_BACKFILL =
  'Ask the operator from which date on V4 holds data, set "backfill": {"since": "…"}, and run `svc-migrate remap`.';

/** What changes the verdict for companies without a pair where V4 has companies without one. */
const PAIR_COMPANIES =
  'If a V4 company without a pair is one of these companies, fill in `svc-migrate findings --write-companies companies.csv` and set "companies": {"match": {"file": "companies.csv"}}; else ask the operator to connect them to V4, or accept them with "company_not_in_v4" in "limits".';

const ACCEPT = 'Accept these ids with a higher limit in "limits", or find out why they are deleted.';
const PASSED = 'Plan the switch of your stored ids: `svc-migrate apply plan`.';

/** The text for `status`, `status/reason`, or the name of a limit such as `short`. */
function describeKey(key: string): Omit<ReasonText, 'meaning'> {
  return COUNTERS[key] ?? describeOutcome(...splitKey(key));
}

/** The plain words for a `status/reason`, the same for line items of a record that is a finding; else the key. */
export function titleOfKey(key: string): string {
  const { title } = describeKey(outcomeKey(...splitKey(key)));
  return title === '' ? key : title;
}

/** `Older than V4's history (unmatched/outside_backfill_window)`. */
export function titleWithKey(key: string): string {
  const { title } = describeKey(key);
  return title === '' ? key : `${title} (${key})`;
}

/** What the next step depends on, besides the reason. */
interface StepFacts {
  readonly windows: readonly WindowRow[];
  /** V4 companies without a pair. */
  readonly spareV4Companies: number;
}

/**
 * What changes the verdict about findings of a `status/reason` or a counter that a limit refuses.
 *
 * @param model whose limit refuses them; null: a limit of all models
 */
export function actionFor(
  fullKey: string,
  { windows, spareV4Companies }: StepFacts,
  model: string | null,
): string {
  const key = outcomeKey(...splitKey(fullKey));
  const inScope = windows.filter((window) => model === null || window.model === model);
  const isForBackfill = inScope.some(({ unexplained }) => unexplained > 0);
  if (key === 'unmatched/unexplained' && isForBackfill) return SET_BACKFILL;
  const isPairable = key === 'unmatched/company_not_in_v4' && spareV4Companies > 0;
  const usual = isPairable ? PAIR_COMPANIES : describeKey(key).action;
  const action = key.startsWith('deleted') ? ACCEPT : usual;
  return model === null ? action : action.replace('"limits"', `"limits": {"models": {"${model}": …}}`);
}

/** The line `Next:`: the step of the first blocker, else of the biggest obstacle. */
export function nextStep(
  [blocker]: readonly Blocker[],
  [obstacle]: readonly { readonly key: string; readonly limit: Pick<JudgedLimit, 'model'> }[],
  facts: StepFacts,
): string {
  if (blocker !== undefined) return blocker.next;
  return obstacle === undefined ? PASSED : actionFor(obstacle.key, facts, obstacle.limit.model);
}

/** `3 V3 records, 12 V3 line items, 1 V4 record`. */
export function describeIds({ v3, v4 }: IdCounts): string {
  return [
    { count: v3.records, noun: 'V3 record' },
    { count: v3.lineItems, noun: 'V3 line item' },
    { count: v4.records, noun: 'V4 record' },
    { count: v4.lineItems, noun: 'V4 line item' },
  ]
    .filter(({ count }) => count > 0)
    .map(({ count, noun }) => countOf(count, noun))
    .join(', ');
}

/** What a failed limit refuses. */
export type LimitObstacle = JudgedLimit['refused'][number] & { readonly limit: JudgedLimit };

/** What the failed limits refuse, largest first. */
export function listObstacles(limits: readonly JudgedLimit[]): LimitObstacle[] {
  return limits
    .flatMap((limit) => limit.refused.map((refused) => ({ ...refused, limit })))
    .sort((a, b) => b.count - a.count || compare(a.key, b.key));
}
