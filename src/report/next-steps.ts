import type { ReportLimit } from '../domain.js';
import { describeOutcome, outcomeKey } from '../reasons.js';
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
    meaning: 'Several V3 records have the same V4 record.',
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
  const [status = '', reason = null] = key.split('/');
  return COUNTERS[key] ?? describeOutcome(status, reason);
}

/** The plain words for a `status/reason`, the same for line items of a record that is a finding; else the key. */
export function titleOfKey(key: string): string {
  const [status = '', reason = null] = key.split('/');
  const { title } = describeKey(outcomeKey(status, reason));
  return title === '' ? key : title;
}

/**
 * What changes the verdict about findings of a `status/reason` or a counter that a limit refuses.
 *
 * @param model whose limit refuses them; null: a limit of all models
 */
export function actionFor(fullKey: string, windows: Report['windows'], model: string | null): string {
  const [status = '', reason = null] = fullKey.split('/');
  const key = outcomeKey(status, reason);
  const isDoubtful = windows.some(({ doubtful, source }) => doubtful > 0 || source === 'unknown');
  if (key === 'unmatched/unexplained' && isDoubtful) return SET_BACKFILL;
  const action = key.startsWith('deleted') ? ACCEPT : describeKey(key).action;
  return model === null ? action : action.replace('"limits"', `"limits": {"models": {"${model}": …}}`);
}

/** The line `Next:`: the step of the first blocker, else of the biggest obstacle. */
export function nextStep(
  [blocker]: Report['blockers'],
  [obstacle]: readonly { readonly key: string; readonly limit: Pick<ReportLimit, 'model'> }[],
  windows: Report['windows'],
): string {
  if (blocker !== undefined) return stepOf(blocker);
  return obstacle === undefined ? PASSED : actionFor(obstacle.key, windows, obstacle.limit.model);
}

/** What ends a blocker, as a sentence. */
export function stepOf({ next }: Report['blockers'][number]): string {
  return next.startsWith('svc-migrate ') ? `Run \`${next}\`.` : next;
}
