import type { StaleReason } from '../domain.js';
import { describeOutcome } from '../reasons.js';
import { countOf, groupDigits } from '../text/numbers.js';
import type { Counts, FullSync, Report, ReportCompany } from './report-schema.js';

/** The meaning of a status and reason or of a limit, and what to do about it. */
export interface KeyText {
  /** A few plain words; '' if the key needs none. */
  readonly title: string;
  readonly meaning: string;
  readonly action: string;
}

const BY_LIMIT: Readonly<Record<string, KeyText>> = {
  rejected: {
    title: 'Objects without a usable id',
    meaning: 'Objects that could not be read as a record; the table rejected holds them as received.',
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
    action: 'Compare them: `svc-migrate report --ndjson findings.ndjson` lists the pairs with both values.',
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

/** Rows that are not matched. */
export function sumFindings({ byStatus }: Pick<Counts, 'byStatus'>): number {
  return byStatus.unmatched + byStatus.deleted + byStatus.ambiguous + byStatus.v4_only;
}

/** Number of remap rows with a V3 id, and without one. */
export function countIds({ byStatus, v3ByStatus }: Pick<Counts, 'byStatus' | 'v3ByStatus'>): {
  readonly v3: number;
  readonly v4Only: number;
} {
  const v3 = Object.values(v3ByStatus).reduce((sum, n) => sum + n, 0);
  return { v3, v4Only: byStatus.matched + sumFindings({ byStatus }) - v3 };
}

/** `5 in eu → 50`, `only V4: 60`. */
export function nameOfCompany(company: ReportCompany): string {
  if (company.v3CompanyId === null) return `only V4: ${company.v4CompanyId}`;
  return `${company.v3CompanyId} in ${company.region} → ${company.v4CompanyId ?? 'none'}`;
}

/** Numbers of companies, records and line items in what to ask the operator for. */
export function countFullSync(rows: Iterable<FullSync>): {
  readonly companies: number;
  readonly records: number;
  readonly lineItems: number;
} {
  const companies = new Set<string>();
  let [records, lineItems] = [0, 0];
  for (const row of rows) {
    companies.add(`${row.v3CompanyId} ${row.region}`);
    records += row.records;
    lineItems += row.children;
  }
  return { companies: companies.size, records, lineItems };
}

/** `2024-01-02 to 2026-08-01`. */
export function nameOfRange({ earliest, latest }: Pick<FullSync, 'earliest' | 'latest'>): string {
  return `${earliest?.slice(0, 10) ?? '–'} to ${latest?.slice(0, 10) ?? '–'}`;
}

/** `Only models a, b and companies 5.`; null if the scope is everything. */
export function describeScope({ models, companies }: Report['scope']): string | null {
  const parts = [
    ...(models === null ? [] : [`models ${models.join(', ')}`]),
    ...(companies === null ? [] : [`companies ${companies.join(', ')}`]),
  ];
  return parts.length === 0 ? null : `Only ${parts.join(' and ')}.`;
}

const WHY_IDLE: Readonly<Record<StaleReason, string>> = {
  expired: 'its date in the column until has come',
  company_not_paired: 'its V3 company has no V4 company',
  v3_not_exported: 'V3 shows no such id in this model, path, region and company',
  v4_not_exported: 'V4 shows no such id in this model, path and company (for a child: in the same record)',
  v3_several: 'several records hold a V3 child with this id',
  v4_several: 'several records hold a V4 child with this id',
  parents_not_matched: 'the records that hold the child are not matched',
  v3_deleted: 'the V3 record is deleted',
  v4_deleted: 'the V4 record is deleted',
  v3_paired: 'the V3 record is in a pair that the data prove',
  v4_paired: 'the V4 record is in a pair that the data prove',
  not_read_in_full: 'a list that may hold the counterpart was not read in full',
};

/** Why a decision changed nothing, as the end of a sentence. */
export function whyIdle({
  outcome,
  why,
}: {
  readonly outcome: string;
  readonly why: StaleReason | null;
}): string {
  if (outcome === 'not_needed') return 'not needed: the data prove it by themselves';
  return why === null ? 'not taken' : `not taken: ${WHY_IDLE[why]}`;
}

/** `crm/stages 3, crm/companies 2, 5 more models`. */
export function listModels(
  models: readonly { readonly model: string; readonly count: number }[],
  shown: number,
): string {
  const names = models.slice(0, shown).map(({ model, count }) => `${model} ${groupDigits(count)}`);
  if (models.length > shown) names.push(countOf(models.length - shown, 'more model'));
  return names.join(', ');
}
