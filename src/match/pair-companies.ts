import type { CompanyMatch } from '../domain.js';

/** A company of one generation, by its row in the scope tables. */
export interface CompanySide {
  readonly ix: number;
  /** '' for V4. */
  readonly region: string;
  readonly companyId: bigint;
  /** Whether "no pair" could be known: every stream that could hold one was read in full. */
  readonly scopeFull: boolean;
}

/** What the shared keys of one V3 and one V4 company say. */
export interface CompanyEvidence {
  readonly v3: number;
  readonly v4: number;
  readonly shared: number;
  /** Shared keys with at least one field both sides carry. */
  readonly comparable: number;
  /** Comparable keys of which more than half of those fields are equal. */
  readonly agreeing: number;
  /** Keys of the company that has fewer. */
  readonly smallerKeys: number;
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
  readonly mode: 'auto' | 'same_id' | 'overlap';
  /** Pairs the user named; they come before everything else. */
  readonly named: readonly NamedPair[];
}

export interface Pairing {
  readonly v3: ReadonlyMap<number, { readonly v4: number | null; readonly matchedBy: CompanyMatch }>;
  readonly v4: ReadonlyMap<number, { readonly v3: number | null; readonly matchedBy: CompanyMatch }>;
}

/** Agreeing keys under this share of the smaller side's keys are chance. */
const CHANCE = 0.01;

type Found = readonly [v3: number, v4: number, matchedBy: CompanyMatch];

/**
 * Pairs V3 companies with V4 companies, one to at most one, or says why not. Pure.
 *
 * Named pairs first, then evidence, then equal ids where neither side has any evidence at all. Ties and
 * contradictions pair nothing.
 */
export function pairCompanies(input: PairingInput): Pairing {
  const named = findNamed(input);
  const free = withoutTaken(input, named);
  const byEvidence = input.mode === 'same_id' ? [] : findByEvidence(free);
  const left = withoutTaken(free, byEvidence);
  const byId = input.mode === 'overlap' ? [] : findByEqualIds(left, input.mode === 'same_id');
  const found = [...named, ...byEvidence, ...byId];
  return describePairing(input, found, withoutTaken(left, byId));
}

function findNamed({ v3, v4, named }: PairingInput): Found[] {
  const found: Found[] = [];
  for (const pair of named) {
    const a = v3.find((c) => c.region === pair.region && c.companyId === pair.v3CompanyId);
    const b = v4.find((c) => c.companyId === pair.v4CompanyId);
    if (a !== undefined && b !== undefined) found.push([a.ix, b.ix, 'file']);
  }
  return found;
}

function withoutTaken(input: PairingInput, found: readonly Found[]): PairingInput {
  const taken3 = new Set(found.map(([v3]) => v3));
  const taken4 = new Set(found.map(([, v4]) => v4));
  return {
    ...input,
    v3: input.v3.filter(({ ix }) => !taken3.has(ix)),
    v4: input.v4.filter(({ ix }) => !taken4.has(ix)),
    evidence: input.evidence.filter(({ v3, v4 }) => !taken3.has(v3) && !taken4.has(v4)),
  };
}

/** Each the other's best by agreeing keys, most comparable keys agree, and no rival with half as many. */
function findByEvidence(input: PairingInput): Found[] {
  const rows3 = groupBy(input.evidence, (row) => row.v3);
  const rows4 = groupBy(input.evidence, (row) => row.v4);
  const clear = (row: CompanyEvidence): boolean =>
    row.agreeing > 0 &&
    row.agreeing * 2 >= row.comparable &&
    isAboveChance(row) &&
    !hasRival(rows3.get(row.v3) ?? [], row) &&
    !hasRival(rows4.get(row.v4) ?? [], row);
  return input.evidence.filter(clear).map((row) => [row.v3, row.v4, 'overlap'] as const);
}

function hasRival(rows: readonly CompanyEvidence[], best: CompanyEvidence): boolean {
  return rows.some((row) => row !== best && row.agreeing * 2 >= best.agreeing);
}

function isAboveChance(row: CompanyEvidence): boolean {
  return row.agreeing > 0 && row.agreeing >= CHANCE * row.smallerKeys;
}

/**
 * Equal ids. `asserted`: the user said ids survive, so evidence may only contradict. Otherwise they decide
 * only where neither has an agreeing key with anybody, the two share no comparable key, and both were read
 * in full.
 */
function findByEqualIds(input: PairingInput, asserted: boolean): Found[] {
  const found: Found[] = [];
  for (const { a, b } of equalIds(input)) {
    if (asserted ? isContradicted(input, a, b) : !canDecideById(input, a, b)) continue;
    found.push([a.ix, b.ix, 'same_id']);
  }
  return found;
}

/** Pairs of equal ids where no second region claims the same V4 company. */
function equalIds({ v3, v4 }: PairingInput): { a: CompanySide; b: CompanySide }[] {
  const claims = groupBy(v3, ({ companyId }) => companyId);
  return v4.flatMap((b) => {
    const [a, second] = claims.get(b.companyId) ?? [];
    return a === undefined || second !== undefined ? [] : [{ a, b }];
  });
}

function canDecideById(input: PairingInput, a: CompanySide, b: CompanySide): boolean {
  return (
    a.scopeFull &&
    b.scopeFull &&
    !input.evidence.some((row) => (row.v3 === a.ix || row.v4 === b.ix) && row.agreeing > 0) &&
    !input.evidence.some((row) => row.v3 === a.ix && row.v4 === b.ix && row.comparable > 0)
  );
}

function isContradicted(input: PairingInput, a: CompanySide, b: CompanySide): boolean {
  return input.evidence.some(
    (row) => row.v3 === a.ix && row.v4 === b.ix && row.comparable > 0 && row.agreeing * 2 < row.comparable,
  );
}

/** `left` holds the companies nothing paired: those with evidence or a claim are ambiguous, the rest have none. */
function describePairing(input: PairingInput, found: readonly Found[], left: PairingInput): Pairing {
  const ambiguous3 = new Set<number>();
  const ambiguous4 = new Set<number>();
  for (const [v3, v4] of openClaims(input, left)) {
    ambiguous3.add(v3);
    ambiguous4.add(v4);
  }
  const pair3 = new Map(found.map(([v3, v4, by]) => [v3, { v4, matchedBy: by }]));
  const pair4 = new Map(found.map(([v3, v4, by]) => [v4, { v3, matchedBy: by }]));
  const none = (isOpen: boolean): CompanyMatch => (isOpen ? 'ambiguous' : 'none');
  return {
    v3: new Map(
      input.v3.map(({ ix }) => [ix, pair3.get(ix) ?? { v4: null, matchedBy: none(ambiguous3.has(ix)) }]),
    ),
    v4: new Map(
      input.v4.map(({ ix }) => [ix, pair4.get(ix) ?? { v3: null, matchedBy: none(ambiguous4.has(ix)) }]),
    ),
  };
}

/** Links of unpaired companies that speak for a pair without settling it. */
function openClaims(input: PairingInput, left: PairingInput): (readonly [number, number])[] {
  const links: (readonly [number, number])[] = [];
  if (input.mode !== 'same_id') {
    const free3 = new Set(left.v3.map(({ ix }) => ix));
    const free4 = new Set(left.v4.map(({ ix }) => ix));
    for (const row of input.evidence) {
      if (!isAboveChance(row)) continue;
      if (free3.has(row.v3) || free4.has(row.v4)) links.push([row.v3, row.v4]);
    }
  }
  if (input.mode !== 'overlap') links.push(...openIds(left));
  return links;
}

/** Equal ids of two unpaired companies that contradict their keys, or that several regions claim. */
function openIds(left: PairingInput): (readonly [number, number])[] {
  const claims = groupBy(left.v3, ({ companyId }) => companyId);
  return left.v4.flatMap((b) => {
    const same = claims.get(b.companyId) ?? [];
    const open = same.length > 1 ? same : same.filter((a) => isContradicted(left, a, b));
    return open.map((a) => [a.ix, b.ix] as const);
  });
}

function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
