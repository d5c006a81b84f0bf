import type { CompanyMatch, NamedCompanyPair } from '../domain.js';
import { append } from '../text/rows.js';

/** A company of one generation; `id` is unique within the generation. */
export interface CompanySide {
  readonly id: number;
  /** '' for V4. */
  readonly region: string;
  readonly companyId: bigint;
  /** Whether "no pair" is certain, because every stream that could hold its counterpart was read in full. */
  readonly scopeFull: boolean;
}

/** Counts of the keys that a V3 and a V4 company share. */
export interface CompanyEvidence {
  readonly v3: number;
  readonly v4: number;
  readonly shared: number;
  /** Shared keys whose records have at least one field in common. */
  readonly comparable: number;
  /** Comparable keys with more than half of those fields equal. */
  readonly agreeing: number;
  /** Number of keys of the company with fewer keys. */
  readonly smallerKeys: number;
}

/** For each company, how many of its keys may agree with companies that are not in the evidence. */
export interface Uncounted {
  readonly v3: ReadonlyMap<number, number>;
  readonly v4: ReadonlyMap<number, number>;
}

export interface PairingInput {
  readonly v3: readonly CompanySide[];
  readonly v4: readonly CompanySide[];
  readonly evidence: readonly CompanyEvidence[];
  /** Treated like a rival company that agrees on all of these keys. */
  readonly uncounted: Uncounted;
  readonly mode: 'auto' | 'same_id' | 'overlap';
  /** Pairs named by the user; they override everything else. */
  readonly named: readonly NamedCompanyPair[];
}

export interface Pairing {
  readonly v3: ReadonlyMap<number, { readonly v4: number | null; readonly matchedBy: CompanyMatch }>;
  readonly v4: ReadonlyMap<number, { readonly v3: number | null; readonly matchedBy: CompanyMatch }>;
}

/** Agreeing keys below this share of the smaller company's keys are considered coincidence. */
const CHANCE = 0.01;

type CompanyLink = readonly [v3: number, v4: number];

/** The pairs found so far, by the company of either side. */
class Links {
  readonly v3 = new Map<number, { readonly v4: number; readonly matchedBy: CompanyMatch }>();
  readonly v4 = new Map<number, { readonly v3: number; readonly matchedBy: CompanyMatch }>();

  add(links: readonly CompanyLink[], matchedBy: CompanyMatch): void {
    for (const [v3, v4] of links) {
      this.v3.set(v3, { v4, matchedBy });
      this.v4.set(v4, { v3, matchedBy });
    }
  }
}

/**
 * Pairs each V3 company with at most one V4 company. Pure.
 *
 * Named pairs come first, then evidence, then equal ids if neither company has any evidence. Ties and contradictions
 * leave companies unpaired. Evidence that involves a named or paired company still counts against other pairs.
 */
export function pairCompanies(input: PairingInput): Pairing {
  const evidence =
    input.mode === 'same_id'
      ? indexEvidence([], NO_UNCOUNTED)
      : indexEvidence(input.evidence, input.uncounted);
  const links = new Links();
  links.add(findNamed(input), 'file');
  links.add(findByEvidence(evidence, links), 'overlap');
  const claims = input.mode === 'overlap' ? [] : findIdClaims(input, links);
  const decide = input.mode === 'same_id' ? () => true : (claim: IdClaim) => canDecideById(evidence, claim);
  const byId = claims.filter((claim) => !isOpen(claim) && decide(claim));
  links.add(
    byId.map(({ a, b }) => [a.id, b.id]),
    'same_id',
  );
  return describePairing(input, { links, evidence, claims });
}

/** The two highest counts of agreeing keys among a company's evidence. */
interface Best {
  readonly first: number;
  readonly second: number;
}

interface EvidenceIndex {
  readonly rows: readonly CompanyEvidence[];
  readonly uncounted: Uncounted;
  readonly v3: ReadonlyMap<number, Best>;
  readonly v4: ReadonlyMap<number, Best>;
}

/** Every key was counted. */
export const NO_UNCOUNTED: Uncounted = { v3: new Map(), v4: new Map() };

function indexEvidence(rows: readonly CompanyEvidence[], uncounted: Uncounted): EvidenceIndex {
  const v3 = bestBy(rows, (row) => row.v3, uncounted.v3);
  return { rows, uncounted, v3, v4: bestBy(rows, (row) => row.v4, uncounted.v4) };
}

function bestBy(
  rows: readonly CompanyEvidence[],
  companyOf: (row: CompanyEvidence) => number,
  uncounted: ReadonlyMap<number, number>,
): Map<number, Best> {
  const best = new Map<number, Best>();
  for (const [company, keys] of uncounted) best.set(company, { first: keys, second: 0 });
  for (const row of rows) {
    const { first, second } = best.get(companyOf(row)) ?? NO_EVIDENCE;
    const { agreeing } = row;
    best.set(companyOf(row), {
      first: Math.max(first, agreeing),
      second: agreeing > first ? first : Math.max(second, agreeing),
    });
  }
  return best;
}

const NO_EVIDENCE: Best = { first: 0, second: 0 };

function findNamed({ v3, v4, named }: PairingInput): CompanyLink[] {
  if (named.length === 0) return [];
  const v3Rows = new Map<string, number>();
  const v4Rows = new Map<bigint, number>();
  for (const { id, region, companyId } of v3) v3Rows.set(`${companyId} ${region}`, id);
  for (const { id, companyId } of v4) v4Rows.set(companyId, id);
  return named.flatMap(({ region, v3CompanyId, v4CompanyId }) => {
    const a = v3Rows.get(`${v3CompanyId} ${region}`);
    const b = v4Rows.get(v4CompanyId);
    return a === undefined || b === undefined ? [] : [[a, b] as const];
  });
}

/**
 * Pairs of companies that are each other's best by agreeing keys and agree on most comparable keys, without a rival that
 * has half as many.
 */
function findByEvidence(evidence: EvidenceIndex, named: Links): CompanyLink[] {
  const isBest = (best: Best = NO_EVIDENCE, agreeing: number): boolean =>
    best.first === agreeing && best.second * 2 < agreeing;
  const isClear = (row: CompanyEvidence): boolean =>
    isAboveChance(row) &&
    row.agreeing * 2 >= row.comparable &&
    isBest(evidence.v3.get(row.v3), row.agreeing) &&
    isBest(evidence.v4.get(row.v4), row.agreeing);
  const found: CompanyLink[] = [];
  for (const row of evidence.rows) {
    if (!named.v3.has(row.v3) && !named.v4.has(row.v4) && isClear(row)) found.push([row.v3, row.v4]);
  }
  return found;
}

function isAboveChance(row: CompanyEvidence): boolean {
  return row.agreeing > 0 && row.agreeing >= CHANCE * row.smallerKeys;
}

/** A V3 and a V4 company with equal ids, neither of which is paired by name or evidence. */
interface IdClaim {
  readonly a: CompanySide;
  readonly b: CompanySide;
  /** Whether V3 companies of other regions claim the same V4 company. */
  readonly isTied: boolean;
  readonly own: CompanyEvidence | undefined;
}

/**
 * Finds unpaired companies with equal ids. A named V3 company does not claim the V4 company with its id, but it still
 * makes the id ambiguous for V3 companies of other regions.
 */
function findIdClaims(input: PairingInput, links: Links): IdClaim[] {
  const v3ByCompanyId = new Map<bigint, CompanySide[]>();
  for (const a of input.v3) {
    if (links.v3.get(a.id)?.matchedBy !== 'overlap') append(v3ByCompanyId, a.companyId, a);
  }
  const claims: Omit<IdClaim, 'own'>[] = [];
  for (const b of input.v4) {
    if (links.v4.has(b.id)) continue;
    const same = v3ByCompanyId.get(b.companyId) ?? [];
    const free = same.filter(({ id }) => !links.v3.has(id));
    claims.push(...free.map((a) => ({ a, b, isTied: same.length > 1 })));
  }
  const own = evidenceOfClaims(input.evidence, claims);
  return claims.map((claim) => ({ ...claim, own: own.get(claim.a.id) }));
}

/** Evidence of each claim, by its V3 company. */
function evidenceOfClaims(
  evidence: readonly CompanyEvidence[],
  claims: readonly Pick<IdClaim, 'a' | 'b'>[],
): Map<number, CompanyEvidence> {
  const claimed = new Map(claims.map(({ a, b }) => [a.id, b.id]));
  const found = new Map<number, CompanyEvidence>();
  for (const row of evidence) if (claimed.get(row.v3) === row.v4) found.set(row.v3, row);
  return found;
}

/** Whether the claim is tied, or contradicted by the keys. */
function isOpen({ isTied, own }: IdClaim): boolean {
  return isTied || (own !== undefined && own.agreeing * 2 < own.comparable);
}

/** Neither company has an agreeing key with any company, and both were read in full. */
function canDecideById(evidence: EvidenceIndex, { a, b }: IdClaim): boolean {
  return (
    a.scopeFull &&
    b.scopeFull &&
    (evidence.v3.get(a.id)?.first ?? 0) === 0 &&
    (evidence.v4.get(b.id)?.first ?? 0) === 0
  );
}

interface PairingEvidence {
  readonly links: Links;
  readonly evidence: EvidenceIndex;
  readonly claims: readonly IdClaim[];
}

/** Unpaired companies are `ambiguous` if there is evidence for any pair, otherwise `none`. */
function describePairing({ v3, v4 }: PairingInput, { links, evidence, claims }: PairingEvidence): Pairing {
  const openV3 = new Set(evidence.uncounted.v3.keys());
  const openV4 = new Set(evidence.uncounted.v4.keys());
  const leaveOpen = (a: number, b: number) => {
    if (!links.v3.has(a)) openV3.add(a);
    if (!links.v4.has(b)) openV4.add(b);
  };
  for (const row of evidence.rows) if (isAboveChance(row)) leaveOpen(row.v3, row.v4);
  for (const claim of claims) if (isOpen(claim)) leaveOpen(claim.a.id, claim.b.id);
  const unpaired = (isOpen: boolean): CompanyMatch => (isOpen ? 'ambiguous' : 'none');
  const pairing = { v3: new Map(), v4: new Map() } satisfies Pairing;
  for (const { id } of v3)
    pairing.v3.set(id, links.v3.get(id) ?? { v4: null, matchedBy: unpaired(openV3.has(id)) });
  for (const { id } of v4)
    pairing.v4.set(id, links.v4.get(id) ?? { v3: null, matchedBy: unpaired(openV4.has(id)) });
  return pairing;
}
