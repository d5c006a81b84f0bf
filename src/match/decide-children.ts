import type { Decision } from '../domain.js';
import type { StoredChild } from '../json/stored-lists.js';
import { type ChildRow, type ChildRows, conflictOf } from './judge-children.js';
import { type DecisionVerdict, judgeDecision, type NamedObject } from './judge-decision.js';
import { renderDecided } from './judge-group.js';

/** The children of a pair of records, as stored. */
export interface ChildrenOfPair {
  readonly v3: readonly StoredChild[];
  readonly v4: readonly StoredChild[];
  /** Whether the pair of records is `matched`. */
  readonly parentsMatched: boolean;
}

/**
 * Judges the decisions about children of one pair of records and applies those that are taken. `judged` are the rows
 * that evidence alone gives; rows that no taken decision names are unchanged. Verdicts are by line of the decision. Pure.
 */
export function decideChildren(
  judged: ChildRows,
  children: ChildrenOfPair,
  decisions: readonly Decision[],
): { readonly rows: ChildRows; readonly verdicts: ReadonlyMap<number, DecisionVerdict> } {
  const v3 = new Map(judged.v3.map((row) => [nameOf(row[PATH], row[V3_ID]), row]));
  const v4 = new Map(judged.v4.map((row) => [nameOf(row[PATH], row[V4_ID]), row]));
  const stored = { v3: byName(children.v3), v4: byName(children.v4) };
  const verdicts = new Map<number, DecisionVerdict>();
  const taken: Decision[] = [];
  for (const decision of decisions) {
    const { name3, name4 } = namesOf(decision);
    const row3 = name3 === null ? undefined : v3.get(name3);
    const isV4Paired = name4 === null || !v4.has(name4);
    const verdict = judgeDecision({
      v3:
        name3 === null ? 'none' : objectOf(stored.v3.get(name3), row3 !== undefined && row3[V4_ID] !== null),
      v4: name4 === null ? 'none' : objectOf(stored.v4.get(name4), isV4Paired),
      pairedTogether: row3 !== undefined && name4 !== null && row3[V4_ID] === String(decision.v4SvcId),
      parentsMatched: children.parentsMatched,
      readInFull: true,
    });
    verdicts.set(decision.line, verdict);
    if (verdict.kind === 'taken') taken.push(decision);
  }
  for (const decision of taken) applyOne(decision, v3, v4, stored);
  return { rows: { v3: [...v3.values()], v4: [...v4.values()] }, verdicts };
}

const [PATH, V3_ID, V4_ID] = [1, 2, 3] as const;

function nameOf(path: string, id: string | bigint | null): string {
  return `${path} ${id}`;
}

/** The names of the children in a decision; null if it names none of that generation. */
function namesOf({ path, v3SvcId, v4SvcId }: Decision): { name3: string | null; name4: string | null } {
  return {
    name3: v3SvcId === null ? null : nameOf(path, v3SvcId),
    name4: v4SvcId === null ? null : nameOf(path, v4SvcId),
  };
}

function byName(children: readonly StoredChild[]): ReadonlyMap<string, StoredChild> {
  return new Map(children.map((child) => [nameOf(child[0], child[1]), child]));
}

function objectOf(stored: StoredChild | undefined, paired: boolean): NamedObject | 'not_exported' {
  return stored === undefined ? 'not_exported' : { deleted: stored[4] === 1, paired };
}

type RowsByName = Map<string, ChildRow>;

function applyOne(
  decision: Decision,
  v3: RowsByName,
  v4: RowsByName,
  stored: { readonly [gen in 'v3' | 'v4']: ReadonlyMap<string, StoredChild> },
): void {
  const { name3, name4 } = namesOf(decision);
  const name = name3 ?? name4 ?? '';
  const rows = name3 === null ? v4 : v3;
  const row = rows.get(name);
  if (row === undefined) return;
  const [gen, path, v3SvcId, v4SvcId, key, status, reason, , evidence] = row;
  const decided = { note: decision.note, insteadOf: `${status}/${reason}` };
  if (name3 === null || name4 === null) {
    const none = gen === 3 ? 'unmatched' : 'v4_only';
    const text = renderDecided(evidence, decided);
    rows.set(name, [gen, path, v3SvcId, v4SvcId, key, none, 'decided_none', null, text, 0]);
    return;
  }
  const [, twinId = null, twinKey = null, twinUid = null] = stored.v4.get(name4) ?? [];
  const text = renderDecided(evidence, decided, key === twinKey ? undefined : twinKey);
  const conflict = conflictOf(stored.v3.get(name3)?.[3] ?? null, twinUid);
  rows.set(name, [gen, path, v3SvcId, twinId, key, 'matched', null, 'decision', text, conflict]);
  v4.delete(name4);
}
