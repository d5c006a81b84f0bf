import { countOf } from './numbers.js';

/** A V3 company that could not be paired beyond doubt, with the V4 companies that it may be, likeliest first. */
export interface AmbiguousCompany {
  readonly region: string;
  readonly v3CompanyId: string;
  readonly candidates: readonly {
    readonly v4CompanyId: string;
    /** Shared keys whose fields could be compared. */
    readonly comparableKeys: number;
    /** Those of them whose fields agree. */
    readonly agreeingKeys: number;
  }[];
}

/** `V3 company 61 in eu: V4 company 63 (92 of 92 shared records agree) or 59 (0 of 45)`. */
export function describeAmbiguous({ region, v3CompanyId, candidates }: AmbiguousCompany): string {
  const [first, ...others] = candidates;
  const company = `V3 company ${v3CompanyId} in ${region}`;
  if (first === undefined) return `${company}: no V4 candidate is known`;
  const known = `V4 company ${first.v4CompanyId} (${first.agreeingKeys} of ${countOf(first.comparableKeys, 'shared record')} agree)`;
  const more = others.map((one) => `${one.v4CompanyId} (${one.agreeingKeys} of ${one.comparableKeys})`);
  return `${company}: ${[known, ...more].join(' or ')}`;
}
