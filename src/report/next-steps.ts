import { describeOutcome, outcomeKey, splitKey } from '../reasons.js';
import type { Blocker } from '../store/readiness.js';
import type { WindowRow } from '../store/report-rows.js';
import { countOf } from '../text/numbers.js';
import { compare, groupBy, sumBy, sumOf } from '../text/rows.js';
import type { JudgedLimit, RowUnit } from './gate.js';
import type { Report } from './report-schema.js';

/** The meaning of a status and reason or of a limit, and what changes the verdict. */
interface KeyText {
  /** A few plain words; '' if the key needs none. */
  readonly title: string;
  readonly meaning: string;
  readonly action: string;
}

const COUNTERS: Readonly<Record<string, KeyText>> = {
  rejected: {
    title: 'Objects without a usable id',
    meaning: 'Objects that could not be taken as a record; the table rejected holds them as received.',
    action:
      'Report the objects of the table rejected to the operator, or accept them with "rejected" in "limits".',
  },
  short: {
    title: 'Lists shorter than their count',
    meaning: 'These lists were read to their end twice, and the service counts more than it shows.',
    action: 'Ask the operator about total_count of these lists, or accept them with "short" in "limits".',
  },
  unique_id_conflict: {
    title: 'Pairs with different platform_unique_ids',
    meaning: 'Two paired records have the same platform_id and different platform_unique_ids.',
    action:
      'Ask the operator which platform_unique_id is right, or accept the pairs with "unique_id_conflict" in "limits".',
  },
  merged: {
    title: 'V3 ids that became one V4 id',
    meaning: 'Several V3 ids have the same V4 id.',
    action:
      'Check that your product can hold one V4 id for several V3 ids, then accept it with "merged" in "limits".',
  },
  decision_stale: {
    title: 'Decisions that the data do not support',
    meaning: 'Lines of the decisions file that changed nothing; they are listed under "Decisions".',
    action: 'Correct or remove these lines of the decisions file, then run `svc-migrate remap`.',
  },
  maxAge: {
    title: 'Evidence too old',
    meaning: 'The evidence is older than "maxAge" accepts.',
    action: 'Run `svc-migrate run`: it reads both APIs again.',
  },
};

/** What changes the verdict for unexplained records where the start of V4's history is doubtful or unknown. */
const SET_BACKFILL =
  'Ask the operator since when V4 holds data, set "backfill": {"since": "…"}, and run `svc-migrate remap`.';

const ACCEPT = 'Accept these ids with a higher limit in "limits", or look why they are deleted.';
const PASSED = 'Plan the switch of your stored ids: `svc-migrate apply plan`.';

/** The text for `status`, `status/reason`, or the name of a limit such as `short`. */
export function describeKey(key: string): KeyText {
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

/**
 * What changes the verdict about findings of a `status/reason` or a counter that a limit refuses.
 *
 * @param model whose limit refuses them; null: a limit of all models
 */
export function actionFor(fullKey: string, windows: readonly WindowRow[], model: string | null): string {
  const key = outcomeKey(...splitKey(fullKey));
  const isForBackfill = windows.some(({ unexplained }) => unexplained > 0);
  if (key === 'unmatched/unexplained' && isForBackfill) return SET_BACKFILL;
  const action = key.startsWith('deleted') ? ACCEPT : describeKey(key).action;
  return model === null ? action : action.replace('"limits"', `"limits": {"models": {"${model}": …}}`);
}

/** The line `Next:`: the step of the first blocker, else of the biggest obstacle. */
export function nextStep(
  [blocker]: readonly Blocker[],
  [obstacle]: readonly { readonly key: string; readonly limit: Pick<JudgedLimit, 'model'> }[],
  windows: readonly WindowRow[],
): string {
  if (blocker !== undefined) return blocker.next;
  return obstacle === undefined ? PASSED : actionFor(obstacle.key, windows, obstacle.limit.model);
}

type Sides = Pick<Report['reasons'][number], 'v3' | 'v4'>;

/** Rows with a V3 id, and rows without one. */
export function countSides(
  rows: readonly { readonly unit: RowUnit | null; readonly count: number }[],
): Sides {
  const sum = (unit: RowUnit) => sumOf(rows, (row) => (row.unit === unit ? row.count : 0));
  return {
    v3: { records: sum('v3_record'), lineItems: sum('v3_line_item') },
    v4: { records: sum('v4_record'), lineItems: sum('v4_line_item') },
  };
}

/** `3 V3 records, 12 V3 line items, 1 V4 record`. */
export function describeIds({ v3, v4 }: Sides): string {
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

/** What one failed limit refuses: findings of one reason, or a counter. */
export interface Refusal extends Sides {
  /** `status/reason`, or the name of a counter. */
  readonly key: string;
  readonly limit: JudgedLimit;
  /** Everything of this key that the limit judged. */
  readonly count: number;
  /** By model, highest count first. */
  readonly models: readonly (readonly [model: string, count: number])[];
}

/** What the failed limits refuse, largest first. Line items of a record without a twin count under its reason. */
export function listObstacles(limits: readonly JudgedLimit[]): Refusal[] {
  return limits
    .filter(({ pass }) => !pass)
    .flatMap((limit) => {
      const byKey = groupBy(limit.contributors, ({ key }) => outcomeKey(...splitKey(key)));
      if (byKey.size === 0) byKey.set(limit.name, []);
      return [...byKey].map(([key, rows]) => obstacleOf(limit, key, rows));
    })
    .sort((a, b) => b.count - a.count || compare(a.key, b.key));
}

function obstacleOf(limit: JudgedLimit, key: string, rows: JudgedLimit['contributors']): Refusal {
  const counts = sumBy(
    rows,
    ({ model }) => model,
    ({ count }) => count,
  );
  const models = [...counts].sort(([a, ofA], [b, ofB]) => ofB - ofA || compare(a, b));
  return { key, limit, ...countSides(rows), count: sumOf(rows, ({ count }) => count), models };
}
