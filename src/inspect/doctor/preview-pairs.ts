import { compareFacts } from '../../api/facts.js';
import type { CompanyMatching } from '../../config/config.js';
import {
  type CompanyEvidence,
  type CompanySide,
  type NamedPair,
  NOTHING,
  pairCompanies,
} from '../../match/pair-companies.js';
import type { PairPreview, SampledRecord } from './facts.js';

/** Records of a sample with the model they are of; `region` is '' in V4. */
export interface Sample {
  readonly model: string;
  readonly region: string;
  readonly records: readonly SampledRecord[];
}

export interface PreviewInput {
  readonly v3: readonly Sample[];
  readonly v4: readonly Sample[];
  /** Companies that V4 lists. */
  readonly listed: readonly bigint[];
  readonly matching: CompanyMatching;
  readonly named: readonly NamedPair[];
}

/**
 * How the companies of two samples would be paired, by the rules of the remap. A sample leaves records out, so
 * equal ids alone decide nothing here, and a company without a pair may have one.
 */
export function previewPairs(input: PreviewInput): readonly PairPreview[] {
  const v3 = sidesOf(input.v3);
  const v4 = sidesOf(input.v4);
  const evidence = buildEvidence(v3, v4);
  const mode = typeof input.matching === 'string' ? input.matching : 'auto';
  const sides = { v3: v3.map(({ side }) => side), v4: v4.map(({ side }) => side) };
  const pairing = pairCompanies({ ...sides, evidence, uncounted: NOTHING, mode, named: input.named });
  return v3.map(({ side }) => {
    const { v4, matchedBy } = pairing.v3.get(side.id) ?? { v4: null, matchedBy: 'none' as const };
    const own = evidence.find((row) => row.v3 === side.id && row.v4 === v4);
    return {
      region: side.region,
      v3CompanyId: side.companyId,
      v4CompanyId: v4 === null ? null : (sides.v4[v4]?.companyId ?? null),
      matchedBy,
      comparable: own?.comparable ?? 0,
      agreeing: own?.agreeing ?? 0,
      hasSameId: input.listed.includes(side.companyId),
    };
  });
}

/** A company with the facts of its keyed records: by model and key. */
interface Sampled {
  readonly side: CompanySide;
  readonly facts: Map<string, string[]>;
}

function sidesOf(samples: readonly Sample[]): readonly Sampled[] {
  const found = new Map<string, Sampled>();
  for (const { model, region, records } of samples) {
    for (const { companyId, platformId, facts } of records) {
      const name = `${region} ${companyId}`;
      const fresh = { id: found.size, region, companyId, scopeFull: false };
      const company: Sampled = found.get(name) ?? { side: fresh, facts: new Map() };
      found.set(name, company);
      if (platformId === null) continue;
      const key = `${model} ${platformId}`;
      company.facts.set(key, [...(company.facts.get(key) ?? []), facts]);
    }
  }
  return [...found.values()];
}

function buildEvidence(v3: readonly Sampled[], v4: readonly Sampled[]): readonly CompanyEvidence[] {
  return v3.flatMap((a) =>
    v4.flatMap((b) => {
      const verdicts = [...a.facts].flatMap(([key, facts]) => compareAll(facts, b.facts.get(key)));
      if (verdicts.length === 0) return [];
      return [
        {
          v3: a.side.id,
          v4: b.side.id,
          shared: verdicts.length,
          comparable: verdicts.filter((verdict) => verdict !== 'incomparable').length,
          agreeing: verdicts.filter((verdict) => verdict === 'agrees').length,
          smallerKeys: Math.min(a.facts.size, b.facts.size),
        },
      ];
    }),
  );
}

/** One verdict for a shared key: it agrees where any of its records do. */
function compareAll(a: readonly string[], b: readonly string[] | undefined) {
  if (b === undefined) return [];
  const verdicts = a.flatMap((one) => b.map((other) => compareFacts(one, other)));
  return [
    verdicts.find((verdict) => verdict === 'agrees') ??
      verdicts.find((verdict) => verdict === 'differs') ??
      'incomparable',
  ];
}
