import { type Decision, isExpired } from '../domain.js';
import type { Db } from '../store/open.js';
import { saveDecisionResults } from '../store/remap-tables.js';
import { append, groupBy } from '../text/rows.js';
import type { Outcomes, RecordsOfPair } from './explain-records.js';
import type { JoinedRecords } from './join-records.js';
import { type DecisionVerdict, judgeDecision, type NamedObject } from './judge-decision.js';
import { renderDecided } from './judge-group.js';
import type { PartRecords } from './part-records.js';

/** The rows of `decisions.csv` by the place of what they name, and the verdicts so far by line. */
export interface Decisions {
  readonly byPlace: ReadonlyMap<string, readonly Decision[]>;
  readonly verdicts: Map<number, DecisionVerdict>;
}

/** A decision that has expired at `nowMs`, ms since 1970, is stale. */
export function groupDecisions(all: readonly Decision[], nowMs: number): Decisions {
  const verdicts = new Map<number, DecisionVerdict>();
  for (const { line } of all.filter((one) => isExpired(one, nowMs))) {
    verdicts.set(line, { kind: 'stale', why: 'expired' });
  }
  const valid = all.filter(({ line }) => !verdicts.has(line));
  const byPlace = groupBy(valid, ({ model, region, v3CompanyId }) => placeOf(model, region, v3CompanyId));
  return { byPlace, verdicts };
}

/** The decisions about a model of a V3 company. */
export function decisionsOf(
  { byPlace }: Decisions,
  model: string,
  region: string,
  v3CompanyId: bigint,
): readonly Decision[] {
  return byPlace.get(placeOf(model, region, v3CompanyId)) ?? [];
}

function placeOf(model: string, region: string, v3CompanyId: bigint): string {
  return `${model} ${v3CompanyId} ${region}`;
}

/** Saves the verdict on every decision; part of the remap's transaction. */
export function saveVerdicts(
  db: Db,
  decisions: readonly Decision[],
  verdicts: Decisions['verdicts'],
  models: readonly string[],
): void {
  // a decision about a V3 company without a pair is judged nowhere else
  const unjudged = (model: string): DecisionVerdict => ({
    kind: 'stale',
    why: models.includes(model) ? 'company_not_paired' : 'v3_not_exported',
  });
  const results = decisions.map((decision) => {
    const verdict = verdicts.get(decision.line) ?? unjudged(decision.model);
    return { ...decision, outcome: verdict.kind, why: verdict.kind === 'stale' ? verdict.why : null };
  });
  saveDecisionResults(db, results);
}

/** What decisions change in a company pair. */
export interface Decided {
  /** Evidence of decided pairs, by V3 record. */
  readonly pairs: ReadonlyMap<number, string>;
  /** Decisions about children, by the record that holds the child. */
  readonly ofV3Children: ReadonlyMap<number, readonly Decision[]>;
  readonly ofV4Children: ReadonlyMap<number, readonly Decision[]>;
}

/**
 * Judges the decisions about records of a company pair and applies those that are taken to `joined` and `outcomes`. Rows that
 * no taken decision names are unchanged. Decisions about children are judged when children are joined; until then they are
 * stale.
 */
export function decideRecords(
  pair: RecordsOfPair,
  decisions: readonly Decision[],
  joined: JoinedRecords,
  outcomes: Outcomes,
  verdicts: Decisions['verdicts'],
): Decided {
  const decided = {
    pairs: new Map<number, string>(),
    ofV3Children: new Map<number, Decision[]>(),
    ofV4Children: new Map<number, Decision[]>(),
  };
  if (decisions.length === 0) return decided;
  const named = decisions
    .filter(({ path }) => path === '')
    .map((decision) => nameRecords(pair, decision, joined, outcomes));
  for (const { decision, verdict } of named) verdicts.set(decision.line, verdict);
  for (const { decision, verdict, v3, v4 } of named) {
    if (verdict.kind === 'taken') applyOne(pair, decision, { v3, v4 }, joined, outcomes, decided.pairs);
  }
  for (const decision of decisions) {
    if (decision.path !== '') locateChild(pair, decision, decided, verdicts);
  }
  return decided;
}

/** The records that a decision names, by position; -1: none, or not exported. */
interface NamedRecords {
  readonly v3: number;
  readonly v4: number;
}

function nameRecords(
  pair: RecordsOfPair,
  decision: Decision,
  joined: JoinedRecords,
  outcomes: Outcomes,
): NamedRecords & { readonly decision: Decision; readonly verdict: DecisionVerdict } {
  const v3 = findRecord(pair.v3, decision.v3SvcId);
  const v4 = findRecord(pair.v4, decision.v4SvcId);
  const objectOf = (records: PartRecords, at: number, side: 'v3' | 'v4'): NamedObject | 'not_exported' =>
    at < 0 ? 'not_exported' : { deleted: records.deleted[at] === 1, paired: !outcomes[side].has(at) };
  const verdict = judgeDecision({
    v3: decision.v3SvcId === null ? 'none' : objectOf(pair.v3, v3, 'v3'),
    v4: decision.v4SvcId === null ? 'none' : objectOf(pair.v4, v4, 'v4'),
    pairedTogether: v3 >= 0 && v4 >= 0 && joined.twins[v3] === v4,
    parentsMatched: true,
    readInFull: pair.model?.v3ReadInFull === true && pair.model.v4ReadInFull && pair.model.pairIsFinal,
  });
  return { decision, verdict, v3, v4 };
}

function findRecord({ svcIds }: PartRecords, svcId: bigint | null): number {
  return svcId === null ? -1 : svcIds.indexOf(svcId);
}

function applyOne(
  { v3: v3Records, v4: v4Records }: RecordsOfPair,
  { note }: Decision,
  { v3, v4 }: NamedRecords,
  joined: JoinedRecords,
  outcomes: Outcomes,
  pairs: Map<number, string>,
): void {
  const outcome = v3 >= 0 ? outcomes.v3.get(v3) : outcomes.v4.get(v4);
  if (outcome === undefined) return;
  const insteadOf = `${outcome.status}/${outcome.reason}`;
  if (v3 >= 0 && v4 >= 0) {
    const [v3Key, v4Key] = [v3Records.keyOf(v3), v4Records.keyOf(v4)];
    pairs.set(v3, renderDecided(outcome.evidence, { note, insteadOf }, v3Key === v4Key ? undefined : v4Key));
    joined.twins[v3] = v4;
    joined.claims[v4] = 1;
    outcomes.v3.delete(v3);
    outcomes.v4.delete(v4);
    return;
  }
  outcome.status = v3 >= 0 ? 'unmatched' : 'v4_only';
  outcome.reason = 'decided_none';
  outcome.evidence = renderDecided(outcome.evidence, { note, insteadOf });
}

/** Finds the record that holds the child of a decision: its V3 child, or its V4 child if it names no V3 child. */
function locateChild(
  pair: RecordsOfPair,
  decision: Decision,
  decided: { readonly ofV3Children: Map<number, Decision[]>; readonly ofV4Children: Map<number, Decision[]> },
  verdicts: Decisions['verdicts'],
): void {
  const isOfV3 = decision.v3SvcId !== null;
  const parents = findParents(
    isOfV3 ? pair.v3 : pair.v4,
    decision.path,
    String(decision.v3SvcId ?? decision.v4SvcId),
  );
  const [first, second] = parents;
  const named = first === undefined ? 'not_exported' : { deleted: false, paired: false };
  const child = second === undefined ? named : 'several';
  const verdict = judgeDecision({
    v3: isOfV3 ? child : 'none',
    v4: isOfV3 ? 'none' : child,
    pairedTogether: false,
    // provisional: children are joined later, and only inside pairs of records
    parentsMatched: false,
    readInFull: true,
  });
  verdicts.set(decision.line, verdict);
  if (first === undefined || second !== undefined) return;
  append(isOfV3 ? decided.ofV3Children : decided.ofV4Children, first, decision);
}

function findParents(records: PartRecords, path: string, svcId: string): number[] {
  const found: number[] = [];
  for (let at = 0; at < records.length; at++) {
    if (records.childrenTextOf(at)?.includes(`"${svcId}"`) !== true) continue;
    if (records.childrenOf(at).some((child) => child[0] === path && child[1] === svcId)) found.push(at);
  }
  return found;
}
