import type { CompanyMatch, NamedCompanyPair } from '../domain.js';
import { append } from '../text/rows.js';

/** A company of one generation; `id` is unique within the generation. */
export interface CompanySide {
  readonly id: number;
  /** '' for V4. */
  readonly region: string;
  readonly companyId: bigint;
  /** Whether "no pair" is certain, because every list that could hold its counterpart was read in full. */
  readonly scopeFull: boolean;
}

export interface CompanyEvidence {
  readonly v3: number;
  readonly v4: number;
  readonly shared: number;
  /** Shared keys whose records were compared. */
  readonly sampled: number;
  /** Sampled keys whose records have at least one field in common. */
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
  readonly mode: 'auto' | 'same_id';
  readonly named: readonly NamedCompanyPair[];
}

export interface Pairing {
  readonly v3: ReadonlyMap<number, { readonly v4: number | null; readonly matchedBy: CompanyMatch }>;
  readonly v4: ReadonlyMap<number, { readonly v3: number | null; readonly matchedBy: CompanyMatch }>;
}

/** Agreeing keys below this share of the smaller company's keys are considered coincidence. */
const CHANCE = 0.01;

type CompanyLink = readonly [v3: number, v4: number];

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
 * Pairs each V3 company with at most one V4 company.
 *
 * The user's file comes first, then evidence, then equal ids if neither company has any evidence. Ties and
 * contradictions leave companies unpaired. A company that the file says is not in V4 takes no part.
 */
export function pairCompanies(input: PairingInput): Pairing {
  const { pairs, absent } = findNamed(input);
  const counted = input.mode === 'same_id' ? [] : input.evidence.filter(({ v3 }) => !absent.has(v3));
  const uncounted = input.mode === 'same_id' ? NO_UNCOUNTED : input.uncounted;
  const links = new Links();
  links.add(pairs, 'file');
  const evidence = { rows: counted, uncounted };
  addClearPairs(evidence, links);
  const claims = findIdClaims(input, links, absent);
  const agreeing = { v3: bestOf(evidence, 'v3'), v4: bestOf(evidence, 'v4') };
  const decide = ({ a, b }: IdClaim) =>
    input.mode === 'same_id' ||
    (a.scopeFull && b.scopeFull && !agreeing.v3.get(a.id)?.first && !agreeing.v4.get(b.id)?.first);
  const byId = claims.filter((claim) => !isOpen(claim) && decide(claim));
  links.add(
    byId.map(({ a, b }) => [a.id, b.id]),
    'same_id',
  );
  return describePairing(input, { links, evidence, claims, absent });
}

const NO_UNCOUNTED: Uncounted = { v3: new Map(), v4: new Map() };

function findNamed({ v3, v4, named }: PairingInput): { pairs: CompanyLink[]; absent: ReadonlySet<number> } {
  const v3Ids = new Map(v3.map(({ id, region, companyId }) => [`${companyId} ${region}`, id]));
  const v4Ids = new Map(v4.map(({ id, companyId }) => [companyId, id]));
  const pairs: CompanyLink[] = [];
  const absent = new Set<number>();
  for (const { region, v3CompanyId, v4CompanyId } of named) {
    const a = v3Ids.get(`${v3CompanyId} ${region}`);
    const b = v4CompanyId === null ? undefined : v4Ids.get(v4CompanyId);
    if (a === undefined) continue;
    if (v4CompanyId === null) absent.add(a);
    else if (b !== undefined) pairs.push([a, b]);
  }
  return { pairs, absent };
}

interface CountedEvidence {
  readonly rows: readonly CompanyEvidence[];
  readonly uncounted: Uncounted;
}

/**
 * Pairs companies that are each other's best by agreeing keys and agree on at least half of the comparable ones, without
 * a runner-up that has half as many. A company with a pair is no runner-up, so each pair can make others clear.
 */
function addClearPairs(evidence: CountedEvidence, links: Links): void {
  const best = { v3: bestOf(evidence, 'v3'), v4: bestOf(evidence, 'v4') };
  const isBest = ({ v3, v4, agreeing }: CompanyEvidence) =>
    best.v3.get(v3)?.first === agreeing && best.v4.get(v4)?.first === agreeing;
  const candidates = evidence.rows.filter(
    (row) => isAboveChance(row) && row.agreeing * 2 >= row.comparable && isBest(row),
  );
  for (;;) {
    const open = {
      rows: evidence.rows.filter(({ v3, v4 }) => !links.v3.has(v3) && !links.v4.has(v4)),
      uncounted: evidence.uncounted,
    };
    const rivals = { v3: bestOf(open, 'v3'), v4: bestOf(open, 'v4') };
    const isClear = ({ v3, v4, agreeing }: CompanyEvidence) =>
      [rivals.v3.get(v3), rivals.v4.get(v4)].every(
        (rival) => rival?.first === agreeing && rival.second * 2 < agreeing,
      );
    const clear = candidates.filter((row) => !links.v3.has(row.v3) && !links.v4.has(row.v4) && isClear(row));
    if (clear.length === 0) return;
    links.add(
      clear.map(({ v3, v4 }) => [v3, v4]),
      'overlap',
    );
  }
}

interface Best {
  readonly first: number;
  readonly second: number;
}

function bestOf({ rows, uncounted }: CountedEvidence, side: 'v3' | 'v4'): ReadonlyMap<number, Best> {
  const best = new Map<number, Best>();
  for (const [company, keys] of uncounted[side]) best.set(company, { first: keys, second: 0 });
  for (const { [side]: company, agreeing } of rows) {
    const { first, second } = best.get(company) ?? NO_EVIDENCE;
    best.set(company, {
      first: Math.max(first, agreeing),
      second: agreeing > first ? first : Math.max(second, agreeing),
    });
  }
  return best;
}

const NO_EVIDENCE: Best = { first: 0, second: 0 };

/** The agreement of the sample holds for all shared keys. */
function isAboveChance({ agreeing, shared, sampled, smallerKeys }: CompanyEvidence): boolean {
  return agreeing > 0 && (agreeing * shared) / sampled >= CHANCE * smallerKeys;
}

/** A V3 and a V4 company with equal ids, neither of which is paired by the file or evidence. */
interface IdClaim {
  readonly a: CompanySide;
  readonly b: CompanySide;
  /** Whether V3 companies of other regions claim the same V4 company. */
  readonly isTied: boolean;
  readonly own: CompanyEvidence | undefined;
}

/**
 * Finds unpaired companies with equal ids. A V3 company that the file pairs does not claim the V4 company with its id,
 * but it still makes the id ambiguous for V3 companies of other regions.
 */
function findIdClaims(input: PairingInput, links: Links, absent: ReadonlySet<number>): IdClaim[] {
  const v3ByCompanyId = new Map<bigint, CompanySide[]>();
  for (const a of input.v3) {
    const isElsewhere = links.v3.get(a.id)?.matchedBy === 'overlap' || absent.has(a.id);
    if (!isElsewhere) append(v3ByCompanyId, a.companyId, a);
  }
  const evidenceByPair = new Map(input.evidence.map((row) => [`${row.v3} ${row.v4}`, row]));
  return input.v4
    .filter((b) => !links.v4.has(b.id))
    .flatMap((b) => {
      const same = v3ByCompanyId.get(b.companyId) ?? [];
      return same
        .filter((a) => !links.v3.has(a.id))
        .map((a) => ({ a, b, isTied: same.length > 1, own: evidenceByPair.get(`${a.id} ${b.id}`) }));
    });
}

function isOpen({ isTied, own }: IdClaim): boolean {
  return isTied || (own !== undefined && own.agreeing * 2 < own.comparable);
}

interface PairingEvidence {
  readonly links: Links;
  readonly evidence: CountedEvidence;
  readonly claims: readonly IdClaim[];
  readonly absent: ReadonlySet<number>;
}

/** Unpaired companies are `ambiguous` if there is evidence for any pair, otherwise `none`. */
function describePairing(
  { v3, v4 }: PairingInput,
  { links, evidence, claims, absent }: PairingEvidence,
): Pairing {
  const open = { v3: new Set(evidence.uncounted.v3.keys()), v4: new Set(evidence.uncounted.v4.keys()) };
  for (const row of evidence.rows.filter(isAboveChance)) {
    open.v3.add(row.v3);
    open.v4.add(row.v4);
  }
  for (const { a, b } of claims.filter(isOpen)) {
    open.v3.add(a.id);
    open.v4.add(b.id);
  }
  const unpaired = (isOpen: boolean): CompanyMatch => (isOpen ? 'ambiguous' : 'none');
  const ofV3 = (id: number) =>
    absent.has(id) ? FILE_NONE : (links.v3.get(id) ?? { v4: null, matchedBy: unpaired(open.v3.has(id)) });
  const ofV4 = (id: number) => links.v4.get(id) ?? { v3: null, matchedBy: unpaired(open.v4.has(id)) };
  return {
    v3: new Map(v3.map(({ id }) => [id, ofV3(id)])),
    v4: new Map(v4.map(({ id }) => [id, ofV4(id)])),
  };
}

const FILE_NONE = { v4: null, matchedBy: 'file' } as const;
