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

/**
 * `V3 company 61 in eu: V4 company 63 (92 of 92 shared records agree) or 59 (92 of 92); V3 company 62 in us may be 63
 * too`. `all`: every company that could not be paired. Candidates whose records all differ are left out after better ones.
 */
export function describeAmbiguous(company: AmbiguousCompany, all: readonly AmbiguousCompany[]): string {
  const [first, ...others] = company.candidates;
  if (first === undefined) return `${nameOf(company)}: no V4 candidate is known`;
  const known = `V4 company ${first.v4CompanyId} (${first.agreeingKeys} of ${countOf(first.comparableKeys, 'shared record')} agree)`;
  const more = others
    .filter(({ agreeingKeys }) => agreeingKeys > 0 || first.agreeingKeys === 0)
    .map((one) => `${one.v4CompanyId} (${one.agreeingKeys} of ${one.comparableKeys})`);
  const likely = all.filter((one) => isLikely(one, first.v4CompanyId)).map(nameOf);
  const rivals = likely.filter((name) => name !== nameOf(company));
  const rest = rivals.length === 0 ? '' : `; ${rivals.join(' or ')} may be ${first.v4CompanyId} too`;
  return `${nameOf(company)}: ${[known, ...more].join(' or ')}${rest}`;
}

function nameOf({ region, v3CompanyId }: AmbiguousCompany): string {
  return `V3 company ${v3CompanyId} in ${region}`;
}

function isLikely({ candidates }: AmbiguousCompany, v4CompanyId: string): boolean {
  return candidates.some((one) => one.v4CompanyId === v4CompanyId && one.agreeingKeys > 0);
}
