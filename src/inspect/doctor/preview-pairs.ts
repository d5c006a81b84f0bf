import { compareFieldDigests } from '../../api/field-digests.js';
import {
  type CompanyEvidence,
  type CompanySide,
  NO_UNCOUNTED,
  type PairingInput,
  pairCompanies,
} from '../../match/pair-companies.js';
import { groupBy } from '../../text/rows.js';
import type { AskList, ListRef, PairPreview, SampledRecord } from './probe-results.js';

const MAX_REQUESTS = 60;
const MAX_KEYS_PER_COMPANY = 2;
const KEY_LIMIT = 5;

/** Records of one list. */
export interface Sample extends ListRef {
  readonly records: readonly SampledRecord[];
}

/**
 * Looks up the latest keys of V3 companies in V4 companies: samples of long lists seldom hold the same records.
 * `v3` must hold the latest records first.
 */
export async function lookUpKeys(
  ask: AskList,
  v3: readonly Sample[],
  candidates: readonly bigint[],
): Promise<readonly Sample[]> {
  const requests = pickKeys(v3)
    .flatMap((one) => candidates.map((candidate) => ({ ...one, candidate })))
    // A company of the same id first: it is usually the pair.
    .sort((a, b) => Number(b.candidate === b.companyId) - Number(a.candidate === a.companyId))
    .slice(0, MAX_REQUESTS);
  const samples = await Promise.all(
    requests.map(async ({ pair, key, candidate }) => {
      const list = { region: '', companyId: candidate, pair };
      const answer = await ask(list, KEY_LIMIT, [['platform_id[eq]', key]]);
      return { ...list, records: answer.kind === 'answers' ? answer.records : [] };
    }),
  );
  return samples.filter(({ records }) => records.length > 0);
}

/** The latest keys of each V3 company, of different models if possible. */
function pickKeys(samples: readonly Sample[]) {
  const picked = new Map<string, (Pick<Sample, 'pair'> & { companyId: bigint; key: string })[]>();
  for (const { pair, region, records } of samples) {
    if (pair.v4 === null) continue;
    const seen = new Set<bigint>();
    for (const { companyId, platformId: key, deleted } of records) {
      if (key === null || deleted || seen.has(companyId)) continue;
      seen.add(companyId);
      const name = `${region} ${companyId}`;
      const own = picked.get(name) ?? [];
      if (own.length < MAX_KEYS_PER_COMPANY) picked.set(name, [...own, { pair, companyId, key }]);
    }
  }
  return [...picked.values()].flat();
}

export interface PreviewInput extends Pick<PairingInput, 'mode' | 'named'> {
  readonly v3: readonly Sample[];
  readonly v4: readonly Sample[];
  /** Companies that V4 lists. */
  readonly listed: readonly bigint[];
}

/**
 * Pairs the companies of two samples by the rules of the remap. A sample leaves records out, so equal ids alone decide
 * nothing here, and a company without a pair may still have one.
 */
export function previewPairs({ listed, mode, named, ...samples }: PreviewInput): readonly PairPreview[] {
  const [v3, v4] = [groupByCompany(samples.v3), groupByCompany(samples.v4)];
  const evidence = buildEvidence(v3, v4);
  const evidenceOf = groupBy(evidence, (row) => row.v3);
  const listedIds = new Set(listed);
  const pairing = pairCompanies({ v3, v4, evidence, uncounted: NO_UNCOUNTED, mode, named });
  return v3.map(({ id, region, companyId }) => {
    const { v4: twin, matchedBy } = pairing.v3.get(id) ?? { v4: null, matchedBy: 'none' as const };
    const seen = evidenceOf.get(id) ?? [];
    const own = seen.find((row) => row.v4 === twin);
    const candidates = seen
      .toSorted((a, b) => b.agreeing - a.agreeing)
      .map((row) => ({
        v4CompanyId: String(v4[row.v4]?.companyId),
        comparableKeys: row.comparable,
        agreeingKeys: row.agreeing,
      }));
    return {
      region,
      v3CompanyId: companyId,
      v4CompanyId: twin === null ? null : (v4[twin]?.companyId ?? null),
      matchedBy,
      comparable: own?.comparable ?? 0,
      agreeing: own?.agreeing ?? 0,
      candidates: matchedBy === 'ambiguous' ? candidates : [],
      hasSameId: listedIds.has(companyId),
    };
  });
}

interface SampledCompany extends CompanySide {
  /** Field digests of the company's records, by model and key. */
  readonly fieldDigests: Map<string, string[]>;
}

/** The companies of the samples; their `id` is their index. */
function groupByCompany(samples: readonly Sample[]): readonly SampledCompany[] {
  const found = new Map<string, SampledCompany>();
  for (const { pair, region, records } of samples) {
    for (const { companyId, platformId, fieldDigests } of records) {
      const name = `${region} ${companyId}`;
      const fresh = { id: found.size, region, companyId, scopeFull: false, fieldDigests: new Map() };
      const company = found.get(name) ?? fresh;
      found.set(name, company);
      if (platformId === null) continue;
      const key = `${pair.v3} ${platformId}`;
      company.fieldDigests.set(key, [...(company.fieldDigests.get(key) ?? []), fieldDigests]);
    }
  }
  return [...found.values()];
}

/** Compares the companies that share keys; by V3 company, then by V4 company. */
function buildEvidence(v3: readonly SampledCompany[], v4: readonly SampledCompany[]): CompanyEvidence[] {
  const holders = groupBy(
    v4.flatMap((company) => [...company.fieldDigests.keys()].map((key) => ({ key, company }))),
    ({ key }) => key,
  );
  return v3.flatMap((a) => {
    const sharing = new Set(
      [...a.fieldDigests.keys()].flatMap((key) => holders.get(key)?.map(({ company }) => company) ?? []),
    );
    return [...sharing]
      .sort((one, other) => one.id - other.id)
      .flatMap((b) => {
        const verdicts = [...a.fieldDigests].flatMap(([key, digests]) =>
          compareAll(digests, b.fieldDigests.get(key) ?? []),
        );
        if (verdicts.length === 0) return [];
        return {
          v3: a.id,
          v4: b.id,
          shared: verdicts.length,
          comparable: verdicts.filter((verdict) => verdict !== 'incomparable').length,
          agreeing: verdicts.filter((verdict) => verdict === 'agrees').length,
          smallerKeys: Math.min(a.fieldDigests.size, b.fieldDigests.size),
        };
      });
  });
}

/** The verdict for a shared key: `agrees` if any of its records do. */
function compareAll(a: readonly string[], b: readonly string[]) {
  const verdicts = a.flatMap((one) => b.map((other) => compareFieldDigests(one, other)));
  return (['agrees', 'differs', 'incomparable'] as const).find((one) => verdicts.includes(one)) ?? [];
}
