import type { CompanyEvidence, CompanySide, PairingInput } from '../../src/match/pair-companies.js';

type Row = { readonly v4: number | null; readonly matchedBy: string };
type Row4 = { readonly v3: number | null; readonly matchedBy: string };

export interface ListedInput extends PairingInput {
  readonly v3: readonly CompanySide[];
  readonly v4: readonly CompanySide[];
  readonly evidence: readonly CompanyEvidence[];
}

/** The contract's sentences about company pairs, one predicate each, by nested loops over all companies. */
export function oraclePairing(input: ListedInput): {
  readonly v3: Record<number, Row>;
  readonly v4: Record<number, Row4>;
} {
  const { v3, v4, mode } = input;
  const isAbsent = (id: number) =>
    v3.some(
      (a) =>
        a.id === id &&
        input.named.some(
          (pair) => pair.v4CompanyId === null && pair.region === a.region && pair.v3CompanyId === a.companyId,
        ),
    );
  const evidence = input.evidence.filter((row) => !isAbsent(row.v3));
  const numbers = (a: CompanySide, b: CompanySide): CompanyEvidence =>
    evidence.find((row) => row.v3 === a.id && row.v4 === b.id) ?? {
      v3: a.id,
      v4: b.id,
      shared: 0,
      sampled: 0,
      comparable: 0,
      agreeing: 0,
      smallerKeys: 0,
    };
  const agreeing = (a: CompanySide, b: CompanySide) => numbers(a, b).agreeing;

  // keys that may agree with any company stand for one more company that agrees on all of them
  const hidden3 = (a: CompanySide) => (mode === 'same_id' ? 0 : (input.uncounted.v3.get(a.id) ?? 0));
  const hidden4 = (b: CompanySide) => (mode === 'same_id' ? 0 : (input.uncounted.v4.get(b.id) ?? 0));

  // "named in companies.csv"
  const isFile = (a: CompanySide, b: CompanySide) =>
    input.named.some(
      (pair) =>
        pair.region === a.region && pair.v3CompanyId === a.companyId && pair.v4CompanyId === b.companyId,
    );
  // a company that is not in V4 takes no part
  const isGone = (a: CompanySide) =>
    input.named.some(
      (pair) => pair.region === a.region && pair.v3CompanyId === a.companyId && pair.v4CompanyId === null,
    );
  const isNamed3 = (a: CompanySide) => isGone(a) || v4.some((b) => isFile(a, b));
  const isNamed4 = (b: CompanySide) => v3.some((a) => isFile(a, b));

  // "where agreeing keys are under 1 % of the smaller side's keys (chance)"
  const isMoreThanChance = (a: CompanySide, b: CompanySide) =>
    agreeing(a, b) > 0 && agreeing(a, b) * 100 >= numbers(a, b).smallerKeys;

  // "each is the other's best by agreeing keys, at least half of their comparable shared keys agree, and the
  // runner-up on either side has less than half as many": over all companies, whatever became of them
  const isBest = (a: CompanySide, b: CompanySide) =>
    v4.every((other) => agreeing(a, other) <= agreeing(a, b)) &&
    v3.every((other) => agreeing(other, b) <= agreeing(a, b));
  // "ties pair nothing", also not one with a company that has a clear pair with another, unless the file says it
  const isTied = (a: CompanySide, b: CompanySide) =>
    v4.some((other) => other !== b && !isNamed4(other) && agreeing(a, other) === agreeing(a, b)) ||
    v3.some((other) => other !== a && !isNamed3(other) && agreeing(other, b) === agreeing(a, b));
  // "companies that already have a clear pair are no runners-up"
  const clear = new Set<string>();
  const has3 = (a: CompanySide) => isNamed3(a) || v4.some((b) => clear.has(`${a.id} ${b.id}`));
  const has4 = (b: CompanySide) => isNamed4(b) || v3.some((a) => clear.has(`${a.id} ${b.id}`));
  const isClear = (a: CompanySide, b: CompanySide) =>
    isMoreThanChance(a, b) &&
    agreeing(a, b) >= numbers(a, b).comparable / 2 &&
    isBest(a, b) &&
    !isTied(a, b) &&
    hidden3(a) < agreeing(a, b) / 2 &&
    hidden4(b) < agreeing(a, b) / 2 &&
    v4.every((other) => other === b || has4(other) || agreeing(a, other) < agreeing(a, b) / 2) &&
    v3.every((other) => other === a || has3(other) || agreeing(other, b) < agreeing(a, b) / 2);
  for (let before = -1; mode !== 'same_id' && before !== clear.size; ) {
    before = clear.size;
    const next = v3.flatMap((a) =>
      v4.flatMap((b) => (!has3(a) && !has4(b) && isClear(a, b) ? [`${a.id} ${b.id}`] : [])),
    );
    for (const pair of next) clear.add(pair);
  }
  const isOverlap = (a: CompanySide, b: CompanySide) => clear.has(`${a.id} ${b.id}`);
  const isProven3 = (a: CompanySide) => v4.some((b) => isOverlap(a, b));
  const isProven4 = (b: CompanySide) => v3.some((a) => isOverlap(a, b));

  // "equal ids decide only where neither company has an agreeing key with any company, and not if they share
  // comparable keys"; with `same_id` the user says so, and only the two companies' own keys can object
  const contradicts = (a: CompanySide, b: CompanySide) => agreeing(a, b) < numbers(a, b).comparable / 2;
  const mayDecide = (a: CompanySide, b: CompanySide) =>
    mode === 'same_id'
      ? !contradicts(a, b)
      : a.scopeFull &&
        b.scopeFull &&
        hidden3(a) + hidden4(b) === 0 &&
        v4.every((other) => agreeing(a, other) === 0) &&
        v3.every((other) => agreeing(other, b) === 0) &&
        numbers(a, b).comparable === 0;
  const bears = (b: CompanySide) =>
    v3.filter((a) => a.companyId === b.companyId && !isProven3(a) && !isGone(a));
  const isClaimed = (a: CompanySide, b: CompanySide) =>
    bears(b).includes(a) && !isNamed3(a) && !isNamed4(b) && !isProven4(b);
  const isSameId = (a: CompanySide, b: CompanySide) =>
    isClaimed(a, b) && bears(b).length === 1 && mayDecide(a, b);

  // "Ties and contradictions (equal ids whose comparable keys do not agree, agreeing keys without a clear best)"
  const isOpen = (a: CompanySide, b: CompanySide) =>
    (mode !== 'same_id' && isMoreThanChance(a, b)) ||
    (isClaimed(a, b) && (bears(b).length > 1 || contradicts(a, b)));

  const by = (a: CompanySide, b: CompanySide) => {
    if (isFile(a, b)) return 'file';
    if (isOverlap(a, b)) return 'overlap';
    return isSameId(a, b) ? 'same_id' : null;
  };
  const rows3 = v3.map((a): [number, Row] => {
    if (isGone(a)) return [a.id, { v4: null, matchedBy: 'file' }];
    const twin = v4.find((b) => by(a, b) !== null);
    if (twin !== undefined) return [a.id, { v4: twin.id, matchedBy: String(by(a, twin)) }];
    return [
      a.id,
      { v4: null, matchedBy: hidden3(a) > 0 || v4.some((b) => isOpen(a, b)) ? 'ambiguous' : 'none' },
    ];
  });
  const rows4 = v4.map((b): [number, Row4] => {
    const twin = v3.find((a) => by(a, b) !== null);
    if (twin !== undefined) return [b.id, { v3: twin.id, matchedBy: String(by(twin, b)) }];
    return [
      b.id,
      { v3: null, matchedBy: hidden4(b) > 0 || v3.some((a) => isOpen(a, b)) ? 'ambiguous' : 'none' },
    ];
  });
  return { v3: Object.fromEntries(rows3), v4: Object.fromEntries(rows4) };
}
