import type { CompanyMatch } from '../domain.js';
import { groupBy } from '../text/group-by.js';

/** A company of one generation; `id` is its row id in the scope table, unique within the generation. */
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

export interface NamedPair {
  readonly region: string;
  readonly v3CompanyId: bigint;
  readonly v4CompanyId: bigint;
}

export interface PairingInput {
  readonly v3: readonly CompanySide[];
  readonly v4: readonly CompanySide[];
  readonly evidence: readonly CompanyEvidence[];
  /** Treated like a rival company that agrees on all of these keys. */
  readonly uncounted: Uncounted;
  readonly mode: 'auto' | 'same_id' | 'overlap';
  /** Pairs named by the user; they override everything else. */
  readonly named: readonly NamedPair[];
}

export interface Pairing {
  readonly v3: ReadonlyMap<number, { readonly v4: number | null; readonly matchedBy: CompanyMatch }>;
  readonly v4: ReadonlyMap<number, { readonly v3: number | null; readonly matchedBy: CompanyMatch }>;
}

/** Agreeing keys below this share of the smaller company's keys are considered coincidence. */
const CHANCE = 0.01;

type CompanyLink = readonly [v3: number, v4: number, matchedBy: CompanyMatch];

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
  const named = findNamed(input);
  const byEvidence = findByEvidence(evidence, pairsOf(named));
  const claims = input.mode === 'overlap' ? [] : findIdClaims(input, named, byEvidence);
  const decide = input.mode === 'same_id' ? () => true : (claim: IdClaim) => canDecideById(evidence, claim);
  const byId = claims.filter((claim) => !isOpen(claim) && decide(claim));
  return describePairing(input, {
    found: [...named, ...byEvidence, ...byId.map(({ a, b }) => [a.id, b.id, 'same_id'] as const)],
    open: [
      ...evidence.rows.filter(isAboveChance),
      ...claims.filter(isOpen).map(({ a, b }) => ({ v3: a.id, v4: b.id })),
    ],
    uncounted: evidence.uncounted,
  });
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
  const rows3 = new Map(v3.map(({ id, region, companyId }) => [`${companyId} ${region}`, id]));
  const rows4 = new Map(v4.map(({ id, companyId }) => [companyId, id]));
  return named.flatMap(({ region, v3CompanyId, v4CompanyId }) => {
    const a = rows3.get(`${v3CompanyId} ${region}`);
    const b = rows4.get(v4CompanyId);
    return a === undefined || b === undefined ? [] : [[a, b, 'file'] as const];
  });
}

interface Paired {
  readonly v3: ReadonlySet<number>;
  readonly v4: ReadonlySet<number>;
}

function pairsOf(found: readonly CompanyLink[]): Paired {
  return { v3: new Set(found.map(([v3]) => v3)), v4: new Set(found.map(([, v4]) => v4)) };
}

/**
 * Pairs of companies that are each other's best by agreeing keys and agree on most comparable keys, without a rival that
 * has half as many.
 */
function findByEvidence(evidence: EvidenceIndex, named: Paired): CompanyLink[] {
  const isBest = (best: Best = NO_EVIDENCE, agreeing: number): boolean =>
    best.first === agreeing && best.second * 2 < agreeing;
  const isClear = (row: CompanyEvidence): boolean =>
    isAboveChance(row) &&
    row.agreeing * 2 >= row.comparable &&
    isBest(evidence.v3.get(row.v3), row.agreeing) &&
    isBest(evidence.v4.get(row.v4), row.agreeing);
  return evidence.rows
    .filter((row) => !named.v3.has(row.v3) && !named.v4.has(row.v4) && isClear(row))
    .map((row) => [row.v3, row.v4, 'overlap']);
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
function findIdClaims(
  input: PairingInput,
  named: readonly CompanyLink[],
  byEvidence: readonly CompanyLink[],
): IdClaim[] {
  const isNamed = pairsOf(named);
  const isProven = pairsOf(byEvidence);
  const v3ByCompanyId = groupBy(
    input.v3.filter(({ id }) => !isProven.v3.has(id)),
    ({ companyId }) => companyId,
  );
  const claims = input.v4
    .filter(({ id }) => !isNamed.v4.has(id) && !isProven.v4.has(id))
    .flatMap((b) => {
      const same = v3ByCompanyId.get(b.companyId) ?? [];
      const free = same.filter(({ id }) => !isNamed.v3.has(id));
      return free.map((a) => ({ a, b, isTied: same.length > 1 }));
    });
  const own = evidenceOfClaims(input.evidence, claims);
  return claims.map((claim) => ({ ...claim, own: own.get(claim.a.id) }));
}

/** Evidence of each claim, by its V3 company. */
function evidenceOfClaims(
  evidence: readonly CompanyEvidence[],
  claims: readonly Pick<IdClaim, 'a' | 'b'>[],
): Map<number, CompanyEvidence> {
  const claimed = new Map(claims.map(({ a, b }) => [a.id, b.id]));
  return new Map(evidence.filter((row) => claimed.get(row.v3) === row.v4).map((row) => [row.v3, row]));
}

/** Whether the claim is tied, or contradicted by the keys. */
function isOpen({ isTied, own }: IdClaim): boolean {
  return isTied || (own !== undefined && own.agreeing * 2 < own.comparable);
}

/** Neither company has an agreeing key with any other, they share no comparable key, and both were read in full. */
function canDecideById(evidence: EvidenceIndex, { a, b, own }: IdClaim): boolean {
  return (
    a.scopeFull &&
    b.scopeFull &&
    (evidence.v3.get(a.id)?.first ?? 0) === 0 &&
    (evidence.v4.get(b.id)?.first ?? 0) === 0 &&
    (own?.comparable ?? 0) === 0
  );
}

interface PairingEvidence {
  readonly found: readonly CompanyLink[];
  /** Company pairs with evidence that is not sufficient. */
  readonly open: readonly { readonly v3: number; readonly v4: number }[];
  readonly uncounted: Uncounted;
}

/** Unpaired companies are `ambiguous` if there is evidence for any pair, otherwise `none`. */
function describePairing({ v3, v4 }: PairingInput, { found, open, uncounted }: PairingEvidence): Pairing {
  const twins3 = new Map(found.map(([a, b, by]) => [a, { v4: b, matchedBy: by }]));
  const twins4 = new Map(found.map(([a, b, by]) => [b, { v3: a, matchedBy: by }]));
  const open3 = new Set([...open.map((link) => link.v3), ...uncounted.v3.keys()]);
  const open4 = new Set([...open.map((link) => link.v4), ...uncounted.v4.keys()]);
  const unpaired = (isOpen: boolean): CompanyMatch => (isOpen ? 'ambiguous' : 'none');
  return {
    v3: new Map(v3.map(({ id }) => [id, twins3.get(id) ?? { v4: null, matchedBy: unpaired(open3.has(id)) }])),
    v4: new Map(v4.map(({ id }) => [id, twins4.get(id) ?? { v3: null, matchedBy: unpaired(open4.has(id)) }])),
  };
}
