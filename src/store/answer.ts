import type { Status } from '../reasons.js';

/** What became of one V3 id. */
export interface Answer {
  readonly v3Id: bigint;
  /** null where there is no twin, or not beyond doubt. */
  readonly v4Id: bigint | null;
  /** `unknown`: the exports do not hold this id. */
  readonly status: Status | 'unknown';
  /** `several_records`: rows of several regions, companies or parents bear this id and disagree. */
  readonly reason: string | null;
  readonly region: string | null;
  readonly v3CompanyId: bigint | null;
  readonly v4CompanyId: bigint | null;
}
