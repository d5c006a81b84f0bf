import type { StoredChild } from '../json/stored-lists.js';
import { type RemapGroup, type RowId, rowIdOf } from '../store/remap-blocks.js';
import type { CountedGroup, RemapWriter } from '../store/remap-writer.js';
import { decideChildren } from './decide-children.js';
import type { Decided, Decisions } from './decide-records.js';
import type { Outcomes, RecordOutcome, RecordsOfPair } from './explain-records.js';
import type { JoinedRecords } from './join-records.js';
import { type ChildRow, conflictOf, judgeChildren, rowsOf, TwinChildren } from './judge-children.js';
import { pairReason } from './judge-group.js';

/** Records and children that were found in the export, or in rows of the remap. */
export interface Found {
  v3Records: number;
  v3Children: number;
  v4Records: number;
  v4Children: number;
}

/** A model of a company pair with the outcome of each record. */
export interface JudgedPair {
  readonly model: string;
  readonly pair: RecordsOfPair;
  readonly joined: JoinedRecords;
  readonly outcomes: Outcomes;
  readonly decided: Decided;
}

/**
 * Writes the rows of a model of a company pair: its V3 records in the order of their ids, each followed by its children, and
 * then the V4 records without a V3 record.
 *
 * @param seen counts the records and children of either generation that the rows account for
 */
export function writePair(
  judged: JudgedPair,
  writer: RemapWriter,
  verdicts: Decisions['verdicts'],
  seen: Found,
  throwIfStopped: () => void,
): void {
  new PairRows(judged, writer, verdicts, seen).write(throwIfStopped);
}

type Outcome = Pick<RemapGroup, 'status' | 'reason' | 'matchedBy' | 'provisional' | 'conflict'>;

/** The V3 record of a row, and its V4 record. */
interface Parents {
  readonly row: number;
  readonly at: number;
  readonly twin: number;
}

/** A V4 record that is the twin of several V3 records: all of them are deleted, and have the same reason. */
interface Shared {
  readonly stored: readonly StoredChild[];
  readonly children: TwinChildren;
  readonly reason: string | null;
  /** The first of the V3 records. */
  readonly first: Parents;
}

const RECORDS_PER_STEP = 1024;

class PairRows {
  readonly #judged: JudgedPair;
  readonly #writer: RemapWriter;
  readonly #verdicts: Decisions['verdicts'];
  /** The groups of each path and generation so far; they are few. */
  readonly #groups = { 3: new Map<string, CountedGroup[]>(), 4: new Map<string, CountedGroup[]>() };
  readonly #shared = new Map<number, Shared>();
  readonly #seen: Found;

  constructor(judged: JudgedPair, writer: RemapWriter, verdicts: Decisions['verdicts'], seen: Found) {
    this.#judged = judged;
    this.#writer = writer;
    this.#verdicts = verdicts;
    this.#seen = seen;
  }

  write(throwIfStopped: () => void): void {
    const { pair, joined, outcomes } = this.#judged;
    let done = 0;
    const step = () => {
      if (done++ % RECORDS_PER_STEP === 0) throwIfStopped();
    };
    for (const at of orderById(pair.v3.svcIds)) {
      step();
      const twin = joined.twins[at] ?? -1;
      if (twin < 0) this.#writeOpen(3, at, outcomes.v3.get(at));
      else {
        // each V3 record that shares a twin can have as many children as the twin
        if ((joined.claims[twin] ?? 0) > 1) throwIfStopped();
        this.#writePair(at, twin);
      }
    }
    for (const { children, reason, first } of this.#shared.values()) {
      step();
      for (const row of rowsOf(children.judgeUnclaimed(), reason)) this.#writeChild(row, first);
      this.#seen.v4Children += children.claimed.size;
    }
    for (const at of orderById(pair.v4.svcIds)) {
      step();
      this.#writeOpen(4, at, outcomes.v4.get(at));
    }
    for (const claims of joined.claims) if (claims > 0) this.#seen.v4Records += 1;
  }

  #groupOf(path: string, generation: 3 | 4, outcome: Outcome): CountedGroup {
    const ofGeneration = this.#groups[generation];
    const ofPath = ofGeneration.get(path) ?? [];
    const known = ofPath.find((group) => isSameOutcome(group, outcome));
    if (known !== undefined) return known;
    const { v3Company, v4Company } = this.#judged.pair;
    const isV3 = generation === 3;
    const group = this.#writer.groupOf({
      model: this.#judged.model,
      path,
      region: isV3 ? (v3Company?.region ?? null) : null,
      v3CompanyId: isV3 ? (v3Company?.companyId ?? null) : null,
      v4CompanyId: v4Company?.companyId ?? null,
      ...outcome,
    });
    ofGeneration.set(path, [...ofPath, group]);
    return group;
  }

  #isProvisional(at: number): boolean {
    const { model, v3 } = this.#judged.pair;
    return !(v3.readInFull[at] === 1 && model?.v4ReadInFull === true && model.pairIsFinal);
  }

  /** Writes a record that is in no pair, and its children, which inherit its outcome. */
  #writeOpen(generation: 3 | 4, at: number, outcome: RecordOutcome | undefined): void {
    if (outcome === undefined) return;
    const isV3 = generation === 3;
    const records = isV3 ? this.#judged.pair.v3 : this.#judged.pair.v4;
    const { status, reason, evidence } = outcome;
    const write = (
      path: string,
      key: string | null,
      id: RowId,
      why: string,
      ...rest: [number | null, string | null]
    ) => {
      const group = this.#groupOf(path, generation, openOutcome(status, why));
      return this.#writer.add(group, isV3 ? id : null, isV3 ? null : id, key, ...rest);
    };
    const row = write('', records.keyOf(at), records.idOf(at), reason, null, evidence);
    if (isV3) this.#countV3(at, this.#groupOf('', 3, openOutcome(status, reason)));
    else this.#seen.v4Records += 1;
    for (const [path, svcId, key] of records.childrenOf(at)) {
      write(path, key, childIdOf(svcId), `parent_${reason}`, row, null);
      this.#seen[isV3 ? 'v3Children' : 'v4Children'] += 1;
    }
  }

  #writePair(at: number, twin: number): void {
    const { pair, joined, decided } = this.#judged;
    const { row, reason } = this.#writeRecords(at, twin);
    const parents = { row, at, twin };
    const shared = (joined.claims[twin] ?? 0) > 1 ? this.#share(parents, reason) : null;
    const [v3, v4] = [pair.v3.childrenOf(at), shared?.stored ?? pair.v4.childrenOf(twin)];
    // V4 children that are in no pair with those of any of the V3 records are written after all of these
    let rows =
      shared === null
        ? judgeChildren(v3, v4, reason)
        : { v3: rowsOf(shared.children.judge(v3), reason), v4: [] };
    const ofV4 = shared === null ? decided.ofV4Children.get(twin) : undefined;
    const named = [...(decided.ofV3Children.get(at) ?? []), ...(ofV4 ?? [])];
    if (named.length > 0) {
      const judged = decideChildren(rows, { v3, v4, parentsMatched: reason === null }, named);
      for (const [line, verdict] of judged.verdicts) this.#verdicts.set(line, verdict);
      rows = judged.rows;
    }
    for (const child of rows.v3) this.#writeChild(child, parents);
    for (const child of rows.v4) this.#writeChild(child, parents);
    if (shared === null) this.#seen.v4Children += countTwins(rows.v3, v4);
  }

  #share(first: Parents, reason: string | null): Shared {
    const known = this.#shared.get(first.twin);
    if (known !== undefined) return known;
    const stored = this.#judged.pair.v4.childrenOf(first.twin);
    const shared = { stored, children: new TwinChildren(stored), reason, first };
    this.#shared.set(first.twin, shared);
    return shared;
  }

  /** Writes the row of a pair. Its reason is null if it is matched. */
  #writeRecords(
    at: number,
    twin: number,
  ): { readonly row: number; readonly reason: ReturnType<typeof pairReason> } {
    const { pair, joined, decided } = this.#judged;
    const { v3, v4 } = pair;
    const reason = pairReason(v3.deleted[at] === 1, v4.deleted[twin] === 1);
    const evidence = decided.pairs.get(at) ?? null;
    const byKey = joined.byUniqueId.has(at) ? 'platform_unique_id' : 'platform_id';
    const group = this.#groupOf('', 3, {
      status: reason === null ? 'matched' : 'deleted',
      reason,
      matchedBy: evidence === null ? byKey : 'decision',
      provisional: this.#isProvisional(at),
      conflict: conflictOf(v3.uniqueIdOf(at), v4.uniqueIdOf(twin)) === 1,
    });
    this.#countV3(at, group);
    return { row: this.#writer.add(group, v3.idOf(at), v4.idOf(twin), v3.keyOf(at), null, evidence), reason };
  }

  #countV3(at: number, group: CountedGroup): void {
    this.#writer.countDay(group, this.#judged.pair.v3.latestMs[at] ?? Number.NaN);
    this.#seen.v3Records += 1;
  }

  #writeChild(child: ChildRow, { row, at, twin }: Parents): void {
    const [generation, path, v3SvcId, v4SvcId, key, status, reason, matchedBy, evidence, conflict] = child;
    const { v3, v4 } = this.#judged.pair;
    const group = this.#groupOf(path, generation, {
      ...{ status, reason, matchedBy, conflict: conflict === 1 },
      provisional: matchedBy !== null && this.#isProvisional(at),
    });
    this.#writer.add(
      group,
      v3SvcId === null ? null : childIdOf(v3SvcId),
      v4SvcId === null ? null : childIdOf(v4SvcId),
      key,
      row,
      // the parents' keys differ only if a decision paired them
      v4SvcId === null || v3.hasKeyOf(at, v4, twin) ? evidence : withParentKey(evidence, v4.keyOf(twin)),
    );
    this.#seen[generation === 3 ? 'v3Children' : 'v4Children'] += 1;
  }
}

/** The V4 children that rows of V3 children name; deleted ones can share a twin. */
function countTwins(rows: readonly ChildRow[], v4: readonly StoredChild[]): number {
  const areInOrder = rows.length === v4.length && rows.every((row, at) => row[3] === v4[at]?.[1]);
  if (areInOrder) return v4.length;
  return new Set(rows.flatMap(([, path, , twin]) => (twin === null ? [] : `${path} ${twin}`))).size;
}

function openOutcome(status: Outcome['status'], reason: string): Outcome {
  return { status, reason, matchedBy: null, provisional: false, conflict: false };
}

function isSameOutcome(a: Outcome, b: Outcome): boolean {
  return (
    a.reason === b.reason &&
    a.status === b.status &&
    a.matchedBy === b.matchedBy &&
    a.provisional === b.provisional &&
    a.conflict === b.conflict
  );
}

/** Every integer of up to 15 digits is exact as a number. */
function childIdOf(digits: string): RowId {
  return digits.length <= 15 ? Number(digits) : rowIdOf(BigInt(digits));
}

function withParentKey(evidence: string | null, twinKey: string | null): string {
  const before: object = evidence === null ? {} : JSON.parse(evidence);
  return JSON.stringify({ ...before, v4_parent_platform_id: twinKey });
}

/** Positions in the order of the ids. */
function orderById(svcIds: BigInt64Array): Uint32Array {
  const order = Uint32Array.from(svcIds.keys());
  for (let at = 1; at < svcIds.length; at++) {
    if ((svcIds[at - 1] ?? 0n) <= (svcIds[at] ?? 0n)) continue;
    return order.sort((a, b) => ((svcIds[a] ?? 0n) < (svcIds[b] ?? 0n) ? -1 : 1));
  }
  return order;
}
