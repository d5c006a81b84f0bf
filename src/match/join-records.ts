import {
  type GroupVerdict,
  judgeGroup,
  type KeyMember,
  listGroupIds,
  renderGroupEvidence,
} from './judge-group.js';
import type { PartRecords } from './part-records.js';

/** What the keys of the records of a company pair say, by the positions of the records in their columns. */
export interface JoinedRecords {
  /** For each V3 record its V4 record; -1 for none. */
  readonly twins: Int32Array;
  /** V3 records that were paired by their unique ids. */
  readonly byUniqueId: ReadonlySet<number>;
  /** For each V4 record, how many V3 records it is the twin of: more than one only if they are deleted. */
  readonly claims: Uint32Array;
  /** Records that share their key with others and are in no pair. */
  readonly v3: ReadonlyMap<number, OpenVerdict>;
  readonly v4: ReadonlyMap<number, OpenVerdict>;
}

export interface OpenVerdict {
  readonly kind: 'superseded' | 'dup_v3' | 'dup_v4';
  /** JSON. */
  readonly evidence: string;
}

/** Joins the records of a company pair by their keys. Pure. */
export function joinRecords(v3: PartRecords, v4: PartRecords): JoinedRecords {
  const joined = {
    twins: new Int32Array(v3.length).fill(-1),
    byUniqueId: new Set<number>(),
    claims: new Uint32Array(v4.length),
    v3: new Map<number, OpenVerdict>(),
    v4: new Map<number, OpenVerdict>(),
  };
  const keys = new KeyNumbers(v3.length + v4.length);
  const ofV3 = new Chains(v3, keys);
  const ofV4 = new Chains(v4, keys);
  for (let key = 0; key < keys.count; key++) {
    const [first3, first4] = [ofV3.lastOf(key), ofV4.lastOf(key)];
    const isAlone3 = first3 < 0 || ofV3.before(first3) < 0;
    const isAlone4 = first4 < 0 || ofV4.before(first4) < 0;
    if (!isAlone3 || !isAlone4) judgeMany(joined, [...ofV3.members(key, 3, v3), ...ofV4.members(key, 4, v4)]);
    else if (first3 >= 0 && first4 >= 0) {
      joined.twins[first3] = first4;
      joined.claims[first4] = 1;
    }
  }
  return joined;
}

/** Nothing is joined: every record stands alone. */
export function joinNothing(v3: PartRecords, v4: PartRecords): JoinedRecords {
  return {
    twins: new Int32Array(v3.length).fill(-1),
    byUniqueId: new Set(),
    claims: new Uint32Array(v4.length),
    v3: new Map(),
    v4: new Map(),
  };
}

/** Numbers the keys of records of both generations. */
class KeyNumbers {
  count = 0;
  /** By hash, 1 + the number of a key; 0 for none. */
  readonly #table: Uint32Array;
  readonly #hashes: Int32Array;
  /** The first record of each key. */
  readonly #places: Uint32Array;
  readonly #records: PartRecords[] = [];

  constructor(most: number) {
    this.#table = new Uint32Array(2 ** Math.ceil(Math.log2(2 * most + 1)));
    this.#hashes = new Int32Array(most);
    this.#places = new Uint32Array(most);
  }

  numberOf(records: PartRecords, at: number): number {
    const hash = records.hashOfKey(at);
    const table = this.#table;
    const mask = table.length - 1;
    let slot = hash & mask;
    for (let found = table[slot] ?? 0; found !== 0; found = table[slot] ?? 0) {
      const known = this.#records[found - 1];
      if (this.#hashes[found - 1] === hash && known?.hasKeyOf(this.#places[found - 1] ?? 0, records, at))
        return found - 1;
      slot = (slot + 1) & mask;
    }
    const number = this.count++;
    table[slot] = number + 1;
    this.#hashes[number] = hash;
    this.#places[number] = at;
    this.#records.push(records);
    return number;
  }
}

/** The positions of the records of each key. Keys are numbered by `keys`, which both generations share. */
class Chains {
  readonly #last: number[] = [];
  readonly #before: Int32Array;

  constructor(records: PartRecords, keys: KeyNumbers) {
    this.#before = new Int32Array(records.length).fill(-1);
    for (let at = 0; at < records.length; at++) {
      if (!records.hasKey(at)) continue;
      const number = keys.numberOf(records, at);
      while (this.#last.length <= number) this.#last.push(-1);
      this.#before[at] = this.lastOf(number);
      this.#last[number] = at;
    }
  }

  /** The last record of a key; -1 for none. */
  lastOf(key: number): number {
    return this.#last[key] ?? -1;
  }

  /** The record of the same key before this one; -1 for none. */
  before(at: number): number {
    return this.#before[at] ?? -1;
  }

  *members(key: number, gen: 3 | 4, records: PartRecords): Generator<RecordMember> {
    for (let at = this.lastOf(key); at >= 0; at = this.before(at)) {
      const uid = records.uniqueIdOf(at);
      yield { gen, at, uid, deleted: records.deleted[at] === 1, svcId: records.svcIds[at] ?? 0n };
    }
  }
}

interface RecordMember extends KeyMember {
  readonly at: number;
  readonly svcId: bigint;
}

function judgeMany(
  joined: {
    readonly twins: Int32Array;
    readonly claims: Uint32Array;
    readonly byUniqueId: Set<number>;
    readonly v3: Map<number, OpenVerdict>;
    readonly v4: Map<number, OpenVerdict>;
  },
  members: readonly RecordMember[],
): void {
  const verdicts: readonly GroupVerdict<RecordMember>[] = judgeGroup(members);
  let ids: ReturnType<typeof listGroupIds> | undefined;
  for (const [index, verdict] of verdicts.entries()) {
    const member = members[index];
    if (member === undefined) continue;
    const { gen, at } = member;
    if (verdict.kind === 'pair') {
      joined.twins[at] = verdict.twin.at;
      joined.claims[verdict.twin.at] = (joined.claims[verdict.twin.at] ?? 0) + 1;
      if (verdict.by === 'platform_unique_id') joined.byUniqueId.add(at);
    } else if (verdict.kind !== 'claimed' && verdict.kind !== 'absent') {
      ids ??= listGroupIds(members, ({ svcId }) => svcId);
      const evidence = renderGroupEvidence(verdict.kind, gen, ids);
      joined[gen === 3 ? 'v3' : 'v4'].set(at, { kind: verdict.kind, evidence });
    }
  }
}
