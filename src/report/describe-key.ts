import { describeOutcome } from '../reasons.js';

/** What a status and reason, or a limit, mean and what the user does about it. */
export interface KeyText {
  /** A few plain words; '' where the key needs none. */
  readonly title: string;
  readonly meaning: string;
  readonly action: string;
}

const BY_LIMIT: Readonly<Record<string, KeyText>> = {
  rejected: {
    title: 'Objects without a usable id',
    meaning: 'Objects that could not be taken as a record; they are in the table rejected, raw.',
    action: 'Look at the table rejected and report them to the operator, or accept them in "limits".',
  },
  short: {
    title: 'Lists shorter than their count',
    meaning: 'A list was read to its end twice and the service counts more than it shows.',
    action: 'Ask the operator about total_count of this list, or accept it in "limits".',
  },
  unique_id_conflict: {
    title: 'Pairs with different platform_unique_ids',
    meaning: 'Two paired records have the same platform_id and different platform_unique_ids.',
    action: 'Compare the pairs: `svc-migrate explain MODEL ID`.',
  },
  decision_stale: {
    title: 'Decisions that the data do not support',
    meaning: 'Lines of decisions.csv that the data do not support; nothing was changed for them.',
    action: 'Correct these lines or take them out, then run `svc-migrate remap`: the report lists them.',
  },
  drift: {
    title: 'Pairs with different fields',
    meaning: 'Fields of a matched pair differ.',
    action: 'Compare the pairs: `svc-migrate explain MODEL ID`.',
  },
  maxAge: {
    title: 'Evidence too old',
    meaning: 'The evidence is older than the configuration accepts.',
    action: 'Run `svc-migrate run` again.',
  },
};

/** The text for `status`, `status/reason`, or the name of a limit such as `short`. */
export function describeKey(key: string): KeyText {
  const [status = '', reason = null] = key.split('/');
  return BY_LIMIT[key] ?? describeOutcome(status, reason);
}

/** The title with the key beside it: `Older than V4's history (unmatched/outside_backfill_window)`. */
export function nameKey(key: string): string {
  const { title } = describeKey(key);
  return title === '' ? key : `${title} (${key})`;
}
