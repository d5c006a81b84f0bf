import { REASONS, type Reason, type Status } from '../domain.js';
import { bareReason } from './gate.js';

/** What a status and reason mean and what the user does about it, one sentence each. */
export interface ReasonText {
  readonly sentence: string;
  readonly action: string;
}

const NOTHING = 'Nothing to do.';

const BY_REASON: Readonly<Record<Reason, ReasonText>> = {
  scope_incomplete: {
    sentence: 'The V4 list that would hold it was not read to its end.',
    action: 'Finish the export: run `svc-migrate run` again.',
  },
  no_platform_id: {
    sentence: 'It has no platform_id, the only key that joins V3 and V4.',
    action: 'It cannot be joined; handle it by hand.',
  },
  company_ambiguous: {
    sentence: 'Its company could not be paired beyond doubt.',
    action: 'Name the pair in companies.csv and set "companies": {"match": {"file": "companies.csv"}}.',
  },
  company_not_in_v4: {
    sentence: 'Its company has no pair in V4.',
    action: 'Ask the operator whether the connection was copied.',
  },
  company_not_in_v3: {
    sentence: 'Its company has no pair in V3.',
    action: 'Expected for companies connected after the move; else name the pair in companies.csv.',
  },
  model_not_in_v4: {
    sentence: 'V4 has no such model for this company.',
    action: 'Check the V4 name of the model pair in the configuration: `svc-migrate doctor` looks for it.',
  },
  connection_inert: {
    sentence: 'The V4 company exists and holds no record in any model.',
    action: 'Its platform is not yet supported by V4: wait, or accept it in "limits".',
  },
  key_changed: {
    sentence: 'A record on the other side looks like its twin under another platform_id.',
    action: 'Compare the two in the evidence and confirm by hand; it is never mapped silently.',
  },
  outside_backfill_window: {
    sentence: "All its dates are before the start of V4's backfill window, so V4 did not load it.",
    action: 'Ask the operator for a full sync (see fullSync), or accept it in "limits".',
  },
  created_after_export: {
    sentence: 'It was created on the platform after V3 was last read.',
    action: 'Run `svc-migrate export v3` again to top V3 up.',
  },
  unexplained: {
    sentence: 'None of the known reasons applies.',
    action: 'Look at the records: `svc-migrate explain MODEL ID`.',
  },
  decided_none: {
    sentence: 'A person decided that it became nothing in V4.',
    action: 'Nothing to do; the line of decisions.csv says why.',
  },
  superseded_in_v3: {
    sentence: 'It is deleted in V3 and a live V3 record has its platform_id.',
    action: NOTHING,
  },
  superseded_in_v4: {
    sentence: 'It is deleted in V4 and a live V4 record has its platform_id.',
    action: NOTHING,
  },
  deleted_not_in_v4: { sentence: 'It is deleted in V3 and V4 does not have it.', action: NOTHING },
  deleted_in_v3: {
    sentence: 'It is deleted in V3 and live in V4.',
    action: 'Check whether V3 or V4 is right if you still store this id.',
  },
  deleted_in_v4: {
    sentence: 'It is live in V3 and deleted in V4.',
    action: 'Most often the source deleted it; check if you still store this id.',
  },
  deleted_in_both: { sentence: 'It is deleted in V3 and in V4.', action: NOTHING },
  deleted_v4_only: { sentence: 'It is deleted in V4 and V3 does not have it.', action: NOTHING },
  duplicate_platform_id_v3: {
    sentence: 'Several live V3 records have its platform_id.',
    action: 'Decide by hand which V4 record each of them is.',
  },
  duplicate_platform_id_v4: {
    sentence: 'Several V4 records have its platform_id and none is singled out.',
    action: 'Decide by hand which of them it is.',
  },
};

/** Where a reason means something else under this status. */
const BY_KEY: Readonly<Record<string, ReasonText>> = {
  'v4_only/scope_incomplete': {
    sentence: 'The V3 list that would hold it was not read to its end.',
    action: 'Finish the export: run `svc-migrate run` again.',
  },
  'v4_only/unexplained': {
    sentence: 'V3 does not have it and none of the known reasons applies.',
    action: 'Look at the records: `svc-migrate explain MODEL ID`.',
  },
  'v4_only/decided_none': {
    sentence: 'A person decided that it has no V3 record.',
    action: 'Nothing to do; the line of decisions.csv says why.',
  },
  'deleted/no_platform_id': {
    sentence: 'It is deleted in V3 and has no platform_id.',
    action: NOTHING,
  },
};

const BY_LIMIT: Readonly<Record<string, ReasonText>> = {
  rejected: {
    sentence: 'Objects that could not be taken as a record; they are in the table rejected, raw.',
    action: 'Look at the table rejected and report them to the operator, or accept them in "limits".',
  },
  short: {
    sentence: 'A list was read to its end twice and the service counts more than it shows.',
    action: 'Ask the operator about total_count of this list, or accept it in "limits".',
  },
  unique_id_conflict: {
    sentence: 'Two paired records have the same platform_id and different platform_unique_ids.',
    action: 'Compare the pairs: `svc-migrate explain MODEL ID`.',
  },
  decision_stale: {
    sentence: 'Lines of decisions.csv that the data do not support; nothing was changed for them.',
    action: 'Correct these lines or take them out, then run `svc-migrate remap`: the report lists them.',
  },
  drift: {
    sentence: 'Fields of a matched pair differ.',
    action: 'Compare the pairs: `svc-migrate explain MODEL ID`.',
  },
  maxAge: {
    sentence: 'The evidence is older than the configuration accepts.',
    action: 'Run `svc-migrate run` again.',
  },
  matched: { sentence: 'It has exactly one twin.', action: NOTHING },
};

/** The plain words for `status`, `status/reason`, or the name of a limit such as `short`. */
export function describeKey(key: string): ReasonText {
  const slash = key.indexOf('/');
  if (slash < 0) return BY_LIMIT[key] ?? { sentence: '', action: '' };
  const reason = key.slice(slash + 1);
  const bare = bareReason(reason);
  const text = BY_KEY[`${key.slice(0, slash)}/${bare}`] ?? textOf(bare);
  return bare === reason ? text : { ...text, sentence: `Its parent: ${lowerFirst(text.sentence)}` };
}

/** Like `describeKey`, for a row of the remap. */
export function describeRow(status: Status, reason: string | null): ReasonText {
  return describeKey(reason === null ? status : `${status}/${reason}`);
}

function textOf(reason: string): ReasonText {
  const known = REASONS.find((name) => name === reason);
  return known === undefined ? { sentence: '', action: '' } : BY_REASON[known];
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
