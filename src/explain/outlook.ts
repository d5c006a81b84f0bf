import type { Reason, Status } from '../domain.js';
import { bareReason } from '../report/gate.js';
import { describeRow } from '../report/reasons.js';

/** What would turn a row into another one, and what to do about it. */
export interface Outlook {
  readonly wouldChange: string;
  readonly next: string;
}

const ASK_OPERATOR =
  'Ask both APIs again with `svc-migrate recheck`; if it persists, name it to the operator by company, model and platform_id.';

const WOULD_CHANGE: Readonly<Record<Reason, string>> = {
  scope_incomplete: 'Reading that list to its end: then its twin is found, or the reason why it has none.',
  no_platform_id: 'A platform_id: the source platform or the operator would have to supply it on both sides.',
  company_ambiguous: 'Naming the company pair; then its records are joined like all others.',
  company_not_in_v4: 'The connection appearing in V4, or naming the V4 company that it is.',
  company_not_in_v3: 'Naming the V3 company that it is, if there is one.',
  model_not_in_v4: 'V4 answering for this model under the configured name.',
  connection_inert: 'V4 beginning to sync this platform.',
  key_changed: 'Both sides showing the same platform_id, character by character.',
  outside_backfill_window: 'A full sync of this company, or an earlier start of the backfill.',
  created_after_export: 'Reading V3 again: it may hold it by now.',
  unexplained: 'V4 showing a record of this company and model with exactly this platform_id.',
  decided_none: 'Taking its line out of decisions.csv, or the data no longer supporting it.',
  superseded_in_v3: 'The live record with its platform_id being deleted.',
  superseded_in_v4: 'The live record with its platform_id being deleted.',
  deleted_not_in_v4: 'It coming back to life in V3, or V4 showing it.',
  deleted_in_v3: 'It coming back to life in V3: then the two are matched.',
  deleted_in_v4: 'It coming back to life in V4: then the two are matched.',
  deleted_in_both: 'It coming back to life on both sides: then the two are matched.',
  deleted_v4_only: 'V3 showing a record with its platform_id.',
  duplicate_platform_id_v3:
    'All but one of the V3 records being deleted, or platform_unique_ids that tell them apart one to one.',
  duplicate_platform_id_v4:
    'All but one of the V4 records being deleted, or a platform_unique_id that only one of them shares.',
};

const V4_ONLY_UNEXPLAINED = 'V3 showing a record of this company and model with exactly this platform_id.';

/** What would change a row of this status, and the next step. */
export function describeOutlook(status: Status, reason: string | null): Outlook {
  if (reason === null) {
    return {
      wouldChange: 'Another live record with the same platform_id on either side, or a deletion.',
      next: 'Nothing to do; `svc-migrate verify` proves it against both APIs.',
    };
  }
  const { action } = describeRow(status, reason);
  const bare = bareReason(reason);
  const next = bare === 'unexplained' ? ASK_OPERATOR : action;
  if (bare !== reason) {
    return {
      wouldChange: `What becomes of its parent: ${lowerFirst(changeOf(status, bare))}`,
      next,
    };
  }
  return { wouldChange: changeOf(status, bare), next };
}

function changeOf(status: Status, reason: string): string {
  if (status === 'v4_only' && reason === 'unexplained') return V4_ONLY_UNEXPLAINED;
  return isReason(reason) ? WOULD_CHANGE[reason] : '';
}

function isReason(text: string): text is Reason {
  return Object.hasOwn(WOULD_CHANGE, text);
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
