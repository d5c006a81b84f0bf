import type { Report } from './schema.js';

/** Rows that are not matched. */
export function totalFindings(counts: Report['totals']): number {
  const { unmatched, deleted, ambiguous, v4_only: v4Only } = counts.byStatus;
  return unmatched + deleted + ambiguous + v4Only;
}

/** `5 in eu → 50`, `only V4: 60`. */
export function nameOfCompany(company: Report['companies'][number]): string {
  if (company.v3CompanyId === null) return `only V4: ${company.v4CompanyId}`;
  return `${company.v3CompanyId} in ${company.region} → ${company.v4CompanyId ?? 'none'}`;
}
