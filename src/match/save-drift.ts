import { areEqualDigests, LIST_WORDS } from '../api/member-digests.js';
import type { Config } from '../config/config.js';
import { listNumber } from '../json/record-columns.js';
import { prepareReadMemberList } from '../store/member-lists.js';
import type { Db } from '../store/open.js';
import { prepareReadPayload } from '../store/payloads.js';
import { type DriftedField, type DriftRules, findDrift, isCompared } from './compare-payloads.js';
import type { JudgedPair } from './match-company-pair.js';
import type { PartMembers } from './part-records.js';

/** Compares matched pairs; part of the remap's transaction. */
export interface DriftWriter {
  /**
   * Compares the pairs of a model of two companies. Writes a row of `drift` for each that differs, and to `drift_scope` how
   * many pairs of live records there are and how many could be compared.
   */
  readonly compare: (judged: JudgedPair, throwIfStopped: () => void) => void;
}

export function prepareDrift(db: Db, { models, drift, fieldPrefix }: Config): DriftWriter {
  db.exec('DELETE FROM drift; DELETE FROM drift_scope');
  const compareMembers = prepareCompareMembers(db);
  const compareBodies = prepareCompareBodies(db);
  const rulesOf = new Map(
    models.map(({ v3, children }): [string, DriftRules] => {
      const ignored = new Set([...children, ...(drift.ignore['*'] ?? []), ...(drift.ignore[v3] ?? [])]);
      return [v3, { fieldPrefix, ignored }];
    }),
  );
  const insert = db.prepare(`
    INSERT INTO drift(model, region, v3_company_id, v4_company_id, platform_id, v3_svc_id, v4_svc_id, fields)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  const count = db.prepare(
    'INSERT INTO drift_scope(model, region, v3_company_id, pairs, compared) VALUES (?, ?, ?, ?, ?)',
  );
  const compare: DriftWriter['compare'] = ({ model, pair, joined, outcomes }, throwIfStopped) => {
    const { v3, v4, v3Company, v4Company } = pair;
    const rules = rulesOf.get(model);
    if (v3Company === null || v4Company === null || rules === undefined) return;
    const areEqual = compareMembers(v3.members, v4.members, rules);
    let [pairs, compared] = [0, 0];
    let different: Pair[] = [];
    const finishBatch = () => {
      for (const [index, fields] of compareBodies(different, pair, rules, throwIfStopped)) {
        compared += 1;
        const { at, twin } = different[index] ?? { at: 0, twin: 0 };
        const place = [model, v3Company.region, v3Company.companyId, v4Company.companyId, v3.keyOf(at) ?? ''];
        if (fields.length > 0) insert.run(...place, v3.svcIds[at], v4.svcIds[twin], JSON.stringify(fields));
      }
      different = [];
    };
    for (let at = 0; at < v3.length; at++) {
      const twin = joined.twins[at] ?? -1;
      if (twin < 0 || v3.deleted[at] === 1 || v4.deleted[twin] === 1 || outcomes.v3.has(at)) continue;
      if (pairs % 250 === 0) throwIfStopped();
      pairs += 1;
      // without both bodies, nothing is said about drift
      if (v3.hasPayload[at] === 0 || v4.hasPayload[twin] === 0) continue;
      if (areEqual(at, twin)) compared += 1;
      else if (different.push({ at, twin }) === BATCH) finishBatch();
    }
    finishBatch();
    if (pairs > 0) count.run(model, v3Company.region, v3Company.companyId, pairs, compared);
  };
  return { compare };
}

/** Pairs of lists of names that are remembered. */
const MAX_REMEMBERED = 4096;

/** Makes the function that says whether all compared members of two records have equal digests. */
function prepareCompareMembers(
  db: Db,
): (v3: PartMembers, v4: PartMembers, rules: DriftRules) => (at: number, twin: number) => boolean {
  const readNames = prepareReadMemberList(db);
  return (v3, v4, rules) => {
    const known = new Map<string, SharedMembers>();
    let [lastV3, lastV4]: number[] = [];
    let shared: SharedMembers | null = null;
    return (at, twin) => {
      const [v3Start, v4Start] = [v3.startOf(at), v4.startOf(twin)];
      if (v3Start < 0 || v4Start < 0) return false;
      const [v3List, v4List] = [listNumber(v3.words, v3Start), listNumber(v4.words, v4Start)];
      if (v3List !== lastV3 || v4List !== lastV4) {
        [lastV3, lastV4] = [v3List, v4List];
        const name = `${v3List} ${v4List}`;
        const found = known.get(name);
        shared = found ?? shareMembers(readNames(v3List), readNames(v4List), rules);
        if (known.size === MAX_REMEMBERED) known.clear();
        known.set(name, shared);
      }
      return shared !== null && areEqualMembers(shared, v3.words, v3Start, v4.words, v4Start);
    };
  };
}

/** A V3 and a V4 record, by position. */
interface Pair {
  readonly at: number;
  readonly twin: number;
}

/** Pairs whose bodies are compared together, and characters of V4's that are kept meanwhile. */
const BATCH = 10_000;
const MAX_KEPT = 16 * 1024 * 1024;

/**
 * Makes the function that compares the bodies of pairs, in their order; it leaves out those of which one is not stored. The
 * bodies of V4 are read in the order in which V4 listed them, because those that were received together are stored together.
 */
function prepareCompareBodies(db: Db) {
  const readV3 = prepareReadPayload(db);
  const readV4 = prepareReadPayload(db);
  return function* (
    pairs: readonly Pair[],
    { v3, v4 }: JudgedPair['pair'],
    rules: DriftRules,
    throwIfStopped: () => void,
  ): Generator<readonly [index: number, fields: readonly DriftedField[]]> {
    const readTwin = (index: number) => readV4(v4.ids[pairs[index]?.twin ?? 0] ?? 0);
    const kept = new Map<number, string | null>();
    const order = Uint32Array.from(pairs.keys()).sort(
      (a, b) => (pairs[a]?.twin ?? 0) - (pairs[b]?.twin ?? 0),
    );
    let length = 0;
    for (const index of order) {
      if (length > MAX_KEPT) break;
      if (kept.size % 250 === 0) throwIfStopped();
      const text = readTwin(index);
      kept.set(index, text);
      length += text?.length ?? 0;
    }
    for (const [index, { at }] of pairs.entries()) {
      if (index % 250 === 0) throwIfStopped();
      const v3Text = readV3(v3.ids[at] ?? 0);
      const v4Text = kept.has(index) ? (kept.get(index) ?? null) : readTwin(index);
      if (v3Text === null || v4Text === null) continue;
      yield [index, findDrift(JSON.parse(v3Text), JSON.parse(v4Text), rules)];
    }
  };
}

/** The compared members of two records: their places in the one and in the other, in turn. */
interface SharedMembers {
  readonly places: Uint32Array;
  readonly v3Count: number;
  readonly v4Count: number;
}

/** Finds the members that records with these names share and that are compared. Of members with one name, the last counts. */
export function shareMembers(
  v3Names: readonly string[],
  v4Names: readonly string[],
  rules: DriftRules,
): SharedMembers {
  const v4Places = new Map(v4Names.map((name, place) => [name, place]));
  const places: number[] = [];
  for (const [name, place] of new Map(v3Names.map((one, at) => [one, at]))) {
    const v4Place = v4Places.get(name);
    if (v4Place !== undefined && isCompared(name, rules)) places.push(place, v4Place);
  }
  return { places: Uint32Array.from(places), v3Count: v3Names.length, v4Count: v4Names.length };
}

/** Whether the digests of all shared members are equal. The words of the records begin at `v3Start` and `v4Start`. */
export function areEqualMembers(
  { places, v3Count, v4Count }: SharedMembers,
  v3Words: Int32Array,
  v3Start: number,
  v4Words: Int32Array,
  v4Start: number,
): boolean {
  const v3 = { words: v3Words, first: v3Start + LIST_WORDS, count: v3Count };
  const v4 = { words: v4Words, first: v4Start + LIST_WORDS, count: v4Count };
  for (let at = 0; at < places.length; at += 2) {
    if (!areEqualDigests(v3, places[at] ?? 0, v4, places[at + 1] ?? 0)) return false;
  }
  return true;
}
