import type { Decision } from '../config/decisions-file.js';
import type { StoredChild } from '../json/stored-lists.js';
import { renderDecided } from './group-evidence.js';
import type { ChildRow, ChildRows } from './judge-children.js';
import { type DecisionVerdict, judgeDecision, type NamedObject } from './judge-decision.js';

/** The children of a pair of records, as stored. */
export interface ChildrenOfPair {
  readonly v3: readonly StoredChild[];
  readonly v4: readonly StoredChild[];
  /** The pair is `matched`. */
  readonly parentsMatched: boolean;
}

export interface DecidedChildren {
  readonly rows: ChildRows;
  /** By the line of the decision. */
  readonly verdicts: ReadonlyMap<number, DecisionVerdict>;
}

/**
 * Judges the decisions about children of one pair of records by what evidence makes of them, `judged`, and applies those
 * that are taken. Rows that no taken decision names stay as they are. Pure.
 */
export function decideChildren(
  judged: ChildRows,
  children: ChildrenOfPair,
  decisions: readonly Decision[],
): DecidedChildren {
  const v3 = new Map(judged.v3.map((row) => [nameOf(row[PATH], row[V3_ID]), row]));
  const v4 = new Map(judged.v4.map((row) => [nameOf(row[PATH], row[V4_ID]), row]));
  const stored3 = byName(children.v3);
  const stored4 = byName(children.v4);
  const verdicts = new Map<number, DecisionVerdict>();
  const taken: Decision[] = [];
  for (const decision of decisions) {
    const { name3, name4 } = namesOf(decision);
    const row3 = name3 === null ? undefined : v3.get(name3);
    const isPaired4 = name4 === null || !v4.has(name4);
    const verdict = judgeDecision({
      companyPaired: true,
      v3: name3 === null ? 'none' : objectOf(stored3.get(name3), row3 !== undefined && row3[V4_ID] !== null),
      v4: name4 === null ? 'none' : objectOf(stored4.get(name4), isPaired4),
      pairedTogether: row3 !== undefined && name4 !== null && row3[V4_ID] === String(decision.v4SvcId),
      parentsMatched: children.parentsMatched,
      readInFull: true,
    });
    verdicts.set(decision.line, verdict);
    if (verdict.kind === 'taken') taken.push(decision);
  }
  for (const decision of taken) applyOne(decision, v3, v4, stored3, stored4);
  return { rows: { v3: [...v3.values()], v4: [...v4.values()] }, verdicts };
}

const PATH = 1;
const V3_ID = 2;
const V4_ID = 3;
const KEY = 4;

type RowsByName = Map<string, ChildRow>;
type StoredByName = ReadonlyMap<string, StoredChild>;

function nameOf(path: string, id: string | bigint | null): string {
  return `${path} ${id}`;
}

function namesOf({ path, v3SvcId, v4SvcId }: Decision): { name3: string | null; name4: string | null } {
  return {
    name3: v3SvcId === null ? null : nameOf(path, v3SvcId),
    name4: v4SvcId === null ? null : nameOf(path, v4SvcId),
  };
}

function byName(children: readonly StoredChild[]): StoredByName {
  return new Map(children.map((child) => [nameOf(child[0], child[1]), child]));
}

function objectOf(stored: StoredChild | undefined, paired: boolean): NamedObject | 'not_exported' {
  return stored === undefined ? 'not_exported' : { deleted: stored[4] === 1, paired };
}

function applyOne(
  decision: Decision,
  v3: RowsByName,
  v4: RowsByName,
  stored3: StoredByName,
  stored4: StoredByName,
): void {
  const { name3, name4 } = namesOf(decision);
  const name = name3 ?? name4 ?? '';
  const rows = name3 === null ? v4 : v3;
  const row = rows.get(name);
  if (row === undefined) return;
  const [gen, path, v3SvcId, v4SvcId, key, status, reason, , evidence] = row;
  const decided = { note: decision.note, insteadOf: `${status}/${reason}` };
  if (name3 === null || name4 === null) {
    const text = renderDecided(evidence, decided);
    rows.set(name, [
      gen,
      path,
      v3SvcId,
      v4SvcId,
      key,
      gen === 3 ? 'unmatched' : 'v4_only',
      'decided_none',
      null,
      text,
      0,
    ]);
    return;
  }
  const [, twinId = null, twinKey = null, twinUid = null] = stored4.get(name4) ?? [];
  const uid = stored3.get(name3)?.[3] ?? null;
  const text = renderDecided(evidence, decided, key === twinKey ? undefined : twinKey);
  const conflict = uid !== null && twinUid !== null && uid !== twinUid ? 1 : 0;
  rows.set(name, [gen, path, v3SvcId, twinId, row[KEY], 'matched', null, 'decision', text, conflict]);
  v4.delete(name4);
}
