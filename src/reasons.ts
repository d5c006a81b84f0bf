/** The statuses of remap rows, and one descriptor for each reason a row can carry. Imports nothing. */

export const STATUSES = ['matched', 'unmatched', 'deleted', 'ambiguous', 'v4_only'] as const;
export type Status = (typeof STATUSES)[number];

export const FINDING_STATUSES = STATUSES.filter((status) => status !== 'matched');

export interface ReasonText {
  /** `V?` stands for the side that lacks the record. */
  readonly title: string;
  readonly meaning: string;
  /** What changes the verdict: a command, a setting, a limit, a file to fill in, or whom to ask. */
  readonly action: string;
}

interface ReasonDescriptor extends ReasonText {
  /** The statuses that a row with this reason can have. */
  readonly statuses: readonly Exclude<Status, 'matched'>[];
  /** Set if a person can settle it in the decisions file. */
  readonly isDecidable?: true;
}

const NOTHING = 'Nothing to do.';
const DECIDE =
  'Fill in `svc-migrate findings --write-decisions decisions.csv` and set "decisions": "decisions.csv".';

const DESCRIPTORS = {
  scope_incomplete: {
    statuses: ['unmatched', 'v4_only'],
    title: 'List not read to its end',
    meaning: 'The V? list that would hold it was not read to its end.',
    action: 'Run `svc-migrate run`: it continues the lists that were not read to their end.',
  },
  no_platform_id: {
    statuses: ['unmatched', 'deleted', 'v4_only'],
    title: 'No platform_id',
    meaning: 'It has no platform_id, the only key that joins V3 and V4.',
    action: 'Handle these ids by hand, then accept them with "no_platform_id" in "limits".',
  },
  company_ambiguous: {
    statuses: ['unmatched', 'deleted', 'v4_only'],
    title: 'Company could not be paired for certain',
    meaning: 'Its company could not be paired beyond doubt.',
    action:
      'Fill in `svc-migrate findings --write-companies companies.csv` and set "companies": {"match": {"file": "companies.csv"}}.',
  },
  company_not_in_v4: {
    statuses: ['unmatched', 'deleted'],
    title: 'Company not in V4',
    meaning: 'Its company has no pair among the V4 companies that were read.',
    action:
      'Ask the operator to connect these companies to V4 (if "v4.companies" is set, name them there), or accept them with "company_not_in_v4" in "limits".',
  },
  company_not_in_v3: {
    statuses: ['v4_only'],
    title: 'No V3 company read for it',
    meaning: 'Its company has no pair among the V3 companies that were read.',
    action:
      'Name the pair in companies.csv if V3 has the company under another id. Companies connected after the move, and those that "companies" or "v3.companies" leaves out, are expected.',
  },
  model_not_in_v4: {
    statuses: ['unmatched', 'deleted'],
    title: 'Model not in V4',
    meaning: 'V4 has no such model for this company.',
    action:
      'Correct the V4 name of this model in "models" (`svc-migrate doctor` tries similar names), or accept it with "model_not_in_v4" in "limits".',
  },
  connection_inert: {
    statuses: ['unmatched'],
    title: 'Company empty in V4',
    meaning: 'The V4 company exists and holds no record in any model.',
    action:
      'Ask the operator when V4 supports the platforms of these companies, or accept them with "connection_inert" in "limits".',
  },
  key_changed: {
    statuses: ['unmatched', 'v4_only'],
    title: 'Likely twin has another platform_id',
    meaning: 'A record on the other side looks like its twin under another platform_id.',
    action: DECIDE,
    isDecidable: true,
  },
  outside_backfill_window: {
    statuses: ['unmatched'],
    title: "Older than V4's history",
    meaning: "All its dates are before the start of V4's history, so V4 did not load it.",
    action:
      'Ask the operator for a full sync of the companies listed under "Full sync", or accept it with "outside_backfill_window" in "limits".',
  },
  created_after_export: {
    statuses: ['v4_only'],
    title: 'Created after V3 was last read',
    meaning: 'It was created on the platform after V3 was last read.',
    action: 'Run `svc-migrate run`: it reads what was added to V3 since.',
  },
  unexplained: {
    statuses: ['unmatched', 'v4_only'],
    title: 'Missing from V?, cause unknown',
    meaning: 'V? does not have it and none of the known reasons applies.',
    action:
      'Report these records to the operator, with company, model and platform_id, or accept them with "unexplained" in "limits".',
  },
  decided_none: {
    statuses: ['unmatched', 'v4_only'],
    title: 'Decided: no V? record',
    meaning: 'A person decided that it has no V? record.',
    action: NOTHING,
  },
  superseded_in_v3: {
    statuses: ['deleted'],
    title: 'Deleted in V3, replaced by a live record',
    meaning: 'It is deleted in V3 and a live V3 record has its platform_id.',
    action: NOTHING,
  },
  superseded_in_v4: {
    statuses: ['deleted'],
    title: 'Deleted in V4, replaced by a live record',
    meaning: 'It is deleted in V4 and a live V4 record has its platform_id.',
    action: NOTHING,
  },
  deleted_not_in_v4: {
    statuses: ['deleted'],
    title: 'Deleted in V3, not in V4',
    meaning: 'It is deleted in V3 and V4 does not have it.',
    action: NOTHING,
  },
  deleted_in_v3: {
    statuses: ['deleted'],
    title: 'Deleted in V3, live in V4',
    meaning: 'It is deleted in V3 and live in V4.',
    action: 'Check whether V3 or V4 is right if you still store this id.',
  },
  deleted_in_v4: {
    statuses: ['deleted'],
    title: 'Live in V3, deleted in V4',
    meaning: 'It is live in V3 and deleted in V4.',
    action: 'Most often the source deleted it; check if you still store this id.',
  },
  deleted_in_both: {
    statuses: ['deleted'],
    title: 'Deleted in V3 and V4',
    meaning: 'It is deleted in V3 and in V4.',
    action: NOTHING,
  },
  deleted_v4_only: {
    statuses: ['deleted'],
    title: 'Deleted in V4, not in V3',
    meaning: 'It is deleted in V4 and V3 does not have it.',
    action: NOTHING,
  },
  duplicate_platform_id_v3: {
    statuses: ['ambiguous'],
    title: 'V3 has its platform_id several times',
    meaning: 'Several live V3 records, or line items of one record, have its platform_id.',
    action: DECIDE,
    isDecidable: true,
  },
  duplicate_platform_id_v4: {
    statuses: ['ambiguous'],
    title: 'V4 has its platform_id several times',
    meaning: 'Several V4 records, or line items of one record, have its platform_id and none is singled out.',
    action: DECIDE,
    isDecidable: true,
  },
} as const satisfies Readonly<Record<string, ReasonDescriptor>>;

/** Every reason a remap row can carry; children of a parent without a twin carry `parent_` + its reason. */
export type Reason = keyof typeof DESCRIPTORS;

const BY_REASON: Readonly<Record<Reason, ReasonDescriptor>> = DESCRIPTORS;

export const REASONS: readonly Reason[] = Object.keys(DESCRIPTORS).filter(isReason);

/** Reasons that a person can settle in the decisions file. */
export const DECIDABLE_REASONS = REASONS.filter((reason) => BY_REASON[reason].isDecidable);

/** The reasons that a status can carry (without `parent_`); `matched` carries none. */
export function reasonsOf(status: Status): readonly Reason[] {
  return REASONS.filter((reason) => BY_REASON[reason].statuses.some((candidate) => candidate === status));
}

const MATCHED: ReasonText = {
  title: 'Matched',
  meaning: 'It has exactly one twin.',
  action: NOTHING,
};

const UNKNOWN: ReasonText = { title: '', meaning: '', action: '' };

/** Whether this is a reason without `parent_`. */
export function isReason(text: string): text is Reason {
  return Object.hasOwn(DESCRIPTORS, text);
}

/** The reason without the prefix that children of a parent without a twin carry. */
export function bareReason(reason: string): string {
  return reason.startsWith('parent_') ? reason.slice('parent_'.length) : reason;
}

/** The text for a row of the remap; empty for a reason that does not exist. */
export function describeOutcome(status: string, reason: string | null): ReasonText {
  if (reason === null) return status === 'matched' ? MATCHED : UNKNOWN;
  const bare = bareReason(reason);
  if (!isReason(bare)) return UNKNOWN;
  const { title, meaning, action, statuses } = BY_REASON[bare];
  const name = (text: string) => text.replaceAll('V?', status === 'v4_only' ? 'V3' : 'V4');
  const isParent = bare !== reason;
  return {
    title: isParent ? `Parent: ${name(title)}` : name(title),
    meaning: isParent ? `Its parent: ${name(meaning)}` : name(meaning),
    // What is deleted needs no counterpart.
    action: status === 'deleted' && statuses.length > 1 ? NOTHING : action,
  };
}

/** `status/reason` without `parent_`, the key by which findings are counted; the status alone if there is no reason. */
export function outcomeKey(status: string, reason: string | null): string {
  return reason === null ? status : `${status}/${bareReason(reason)}`;
}

/** The status and the reason of a `status/reason`. */
export function splitKey(key: string): [status: string, reason: string | null] {
  const [status = '', reason = null] = key.split('/');
  return [status, reason];
}

/** The position of a `status/reason` in lists: by status, then as in `REASONS`. */
export function rankOfKey(key: string): number {
  const [status, reason] = splitKey(key);
  const names: readonly string[] = REASONS;
  return (
    STATUSES.map(String).indexOf(status) * (names.length + 1) + names.indexOf(bareReason(reason ?? '')) + 1
  );
}
