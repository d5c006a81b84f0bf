import type { CompanyMatch, NamedCompanyPair } from '../domain.js';
import { groupBy } from '../text/rows.js';

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
  /** Shared keys whose records were compared; the following counts are of these. */
  readonly sampled: number;
  /** Keys whose records have at least one field in common. */
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
 * contradictions leave companies unpaired: `ambiguous` if there is evidence for any pair, otherwise `none`. A company that
 * the file says is not in V4 takes no part.
 */
export function pairCompanies(input: PairingInput): Pairing {
  const { pairs, absent } = findNamed(input);
  const isAuto = input.mode === 'auto';
  const evidence = isAuto ? input.evidence.filter(({ v3 }) => !absent.has(v3)) : [];
  const hidden = isAuto ? listHidden(input.uncounted) : [];
  const links = new Links();
  links.add(pairs, 'file');
  addClearPairs(evidence, hidden, links);
  const claims = findIdClaims(input, links, absent);
  const best = bestOfSides([...evidence, ...hidden]);
  const isUndisputed = ({ a, b }: IdClaim) =>
    a.scopeFull && b.scopeFull && !best.v3.get(a.id)?.first && !best.v4.get(b.id)?.first;
  const byId = claims.filter((claim) => !claim.isOpen && (!isAuto || isUndisputed(claim)));
  links.add(
    byId.map(({ a, b }) => [a.id, b.id]),
    'same_id',
  );
  const open = [
    ...evidence.filter(isAboveChance),
    ...hidden,
    ...claims.filter(({ isOpen }) => isOpen).map(({ a, b }) => ({ v3: a.id, v4: b.id })),
  ];
  const open3 = new Set(open.map(({ v3 }) => v3));
  const open4 = new Set(open.map(({ v4 }) => v4));
  const unpaired = (isOpen: boolean): CompanyMatch => (isOpen ? 'ambiguous' : 'none');
  const ofV3 = (id: number) =>
    absent.has(id) ? FILE_NONE : (links.v3.get(id) ?? { v4: null, matchedBy: unpaired(open3.has(id)) });
  const ofV4 = (id: number) => links.v4.get(id) ?? { v3: null, matchedBy: unpaired(open4.has(id)) };
  return {
    v3: new Map(input.v3.map(({ id }) => [id, ofV3(id)])),
    v4: new Map(input.v4.map(({ id }) => [id, ofV4(id)])),
  };
}

const FILE_NONE = { v4: null, matchedBy: 'file' } as const;

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

/** Agreeing keys of a pair; null: an unknown company. */
interface Agreement {
  readonly v3: number | null;
  readonly v4: number | null;
  readonly agreeing: number;
}

function listHidden({ v3, v4 }: Uncounted): Agreement[] {
  return [
    ...[...v3].map(([id, agreeing]) => ({ v3: id, v4: null, agreeing })),
    ...[...v4].map(([id, agreeing]) => ({ v3: null, v4: id, agreeing })),
  ];
}

/**
 * Pairs companies that are each other's best by agreeing keys and agree on at least half of the comparable ones, without
 * a runner-up that has half as many. A company with a pair is not a runner-up, so each pair can make others clear; but if
 * it agrees on as many keys, these are what every company has, such as the stages of a CRM.
 */
function addClearPairs(
  evidence: readonly CompanyEvidence[],
  hidden: readonly Agreement[],
  links: Links,
): void {
  const best = bestOfSides([...evidence, ...hidden]);
  const isUnpaired = ({ v3, v4 }: CompanyEvidence) => !links.v3.has(v3) && !links.v4.has(v4);
  const unnamed = bestOfSides(evidence.filter(isUnpaired));
  const candidates = evidence.filter(
    (row) =>
      isAboveChance(row) &&
      row.agreeing * 2 >= row.comparable &&
      best.v3.get(row.v3)?.first === row.agreeing &&
      best.v4.get(row.v4)?.first === row.agreeing &&
      unnamed.v3.get(row.v3)?.second !== row.agreeing &&
      unnamed.v4.get(row.v4)?.second !== row.agreeing,
  );
  for (;;) {
    const rivals = bestOfSides([...evidence.filter(isUnpaired), ...hidden]);
    const isClear = ({ v3, v4, agreeing }: CompanyEvidence) =>
      [rivals.v3.get(v3), rivals.v4.get(v4)].every(
        (rival) => rival?.first === agreeing && rival.second * 2 < agreeing,
      );
    const clear = candidates.filter((row) => isUnpaired(row) && isClear(row));
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

function bestOfSides(rows: readonly Agreement[]): Record<'v3' | 'v4', ReadonlyMap<number, Best>> {
  const bestOf = (side: 'v3' | 'v4') => {
    const bests = new Map<number, Best>();
    for (const { [side]: company, agreeing } of rows) {
      if (company === null) continue;
      const { first, second } = bests.get(company) ?? { first: 0, second: 0 };
      bests.set(company, {
        first: Math.max(first, agreeing),
        second: agreeing > first ? first : Math.max(second, agreeing),
      });
    }
    return bests;
  };
  return { v3: bestOf('v3'), v4: bestOf('v4') };
}

/** Assumes that all shared keys agree as often as the compared ones. */
function isAboveChance({ agreeing, shared, sampled, smallerKeys }: CompanyEvidence): boolean {
  return agreeing > 0 && (agreeing * shared) / sampled >= CHANCE * smallerKeys;
}

/** A V3 and a V4 company with equal ids, neither of which is paired by the file or evidence. */
interface IdClaim {
  readonly a: CompanySide;
  readonly b: CompanySide;
  /** Whether V3 companies of other regions claim the same V4 company, or the compared keys of the two differ. */
  readonly isOpen: boolean;
}

/**
 * Finds unpaired companies with equal ids. A V3 company that the file pairs does not claim the V4 company with its id,
 * but it still makes the id ambiguous for V3 companies of other regions.
 */
function findIdClaims(input: PairingInput, links: Links, absent: ReadonlySet<number>): IdClaim[] {
  const v3ByCompanyId = groupBy(
    input.v3.filter(({ id }) => links.v3.get(id)?.matchedBy !== 'overlap' && !absent.has(id)),
    ({ companyId }) => companyId,
  );
  const contradictions = new Set(
    input.evidence
      .filter(({ agreeing, comparable }) => agreeing * 2 < comparable)
      .map(({ v3, v4 }) => `${v3} ${v4}`),
  );
  return input.v4
    .filter((b) => !links.v4.has(b.id))
    .flatMap((b) => {
      const same = v3ByCompanyId.get(b.companyId) ?? [];
      return same
        .filter((a) => !links.v3.has(a.id))
        .map((a) => ({ a, b, isOpen: same.length > 1 || contradictions.has(`${a.id} ${b.id}`) }));
    });
}
