import type { RemapGroup } from '../store/remap-blocks.js';
import { type CountedGroup, type RemapWriter, WaitingRows } from '../store/remap-writer.js';
import { compareIds, RowColumns, type RowId, rowIdOf } from '../store/row-columns.js';
import type { Spool } from '../store/spool.js';
import { append } from '../text/rows.js';
import { decideChildren } from './decide-children.js';
import type { Decided, Decisions } from './decide-records.js';
import type { Outcomes, RecordOutcome, RecordsOfPair } from './explain-records.js';
import type { JoinedRecords } from './join-records.js';
import { type ChildRow, conflictOf, inheritOutcome, judgeChildren, membersOf } from './judge-children.js';
import { pairReason } from './judge-group.js';
import { FieldNames, PlainChildren } from './plain-children.js';
import { SharedTwin } from './shared-children.js';

/** Records and children that were found in the export, or in rows of the remap. */
export interface Found {
  v3Records: number;
  v3Children: number;
  v4Records: number;
  v4Children: number;
}

/** The rows of one model that come after those of its V3 records. */
export class RowsOfModel {
  readonly #spool: Spool;
  readonly #free: RowColumns[] = [];
  /** By path; of V3 in the order of companies, of V4 with their company. */
  readonly #v3 = new Map<string, WaitingRows[]>();
  readonly #v4 = new Map<string, { readonly companyId: bigint; readonly rows: WaitingRows }[]>();

  constructor(spool: Spool) {
    this.#spool = spool;
  }

  newRows(): WaitingRows {
    return new WaitingRows(this.#spool, this.#free);
  }

  addV3(path: string, rows: WaitingRows): void {
    rows.seal();
    append(this.#v3, path, rows);
  }

  addV4(path: string, companyId: bigint, rows: WaitingRows): void {
    rows.seal();
    append(this.#v4, path, { companyId, rows });
  }

  /** Writes the rows in the order of the remap. */
  write(writer: RemapWriter, throwIfStopped: () => void): void {
    const paths = [...new Set([...this.#v3.keys(), ...this.#v4.keys()])];
    const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
    // the first row of a V4 company's records without a V3 record
    const firstRows = new Map<bigint, number>();
    for (const path of paths.sort(byBytes)) {
      for (const waiting of this.#v3.get(path) ?? []) {
        throwIfStopped();
        for (const rows of waiting.read()) writer.write(rows);
      }
      const v4 = [...(this.#v4.get(path) ?? [])].sort((a, b) => compareIds(a.companyId, b.companyId));
      for (const { companyId, rows: waiting } of v4) {
        throwIfStopped();
        if (path === '') firstRows.set(companyId, writer.nextRow);
        for (const rows of waiting.read()) writer.write(rows, firstRows.get(companyId));
      }
    }
  }
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
 * Writes the rows of the V3 records of a company pair, in the order of their ids, and adds all others to `later`: V4 records
 * without a V3 record, and children.
 *
 * @returns the records and children of either generation that the rows account for
 */
export function writePair(
  judged: JudgedPair,
  writer: RemapWriter,
  later: RowsOfModel,
  verdicts: Decisions['verdicts'],
  throwIfStopped: () => void,
): Found {
  return new PairRows(judged, writer, later, verdicts).write(throwIfStopped);
}

type Outcome = Pick<RemapGroup, 'status' | 'reason' | 'matchedBy' | 'provisional' | 'conflict'>;

/** Where to add plain children of a field. */
interface PlainField {
  /** The reason of their parents' pair; null if it is matched. */
  readonly reason: string | null;
  readonly group: CountedGroup;
  readonly rows: WaitingRows;
}

const RECORDS_PER_WRITE = 1024;

class PairRows {
  readonly #judged: JudgedPair;
  readonly #writer: RemapWriter;
  readonly #later: RowsOfModel;
  readonly #verdicts: Decisions['verdicts'];
  readonly #v3Children = new Map<string, WaitingRows>();
  readonly #v4Children = new Map<string, WaitingRows>();
  /** The groups of each path and generation so far; they are few. */
  readonly #groups = { 3: new Map<string, CountedGroup[]>(), 4: new Map<string, CountedGroup[]>() };
  /** The next rows of V3 records. */
  readonly #records = new RowColumns();
  readonly #fieldNames = new FieldNames();
  readonly #plain = { v3: new PlainChildren(this.#fieldNames), v4: new PlainChildren(this.#fieldNames) };
  /** By number of the field: where its children were added last. */
  readonly #plainFields: PlainField[] = [];
  /** The rows of the V3 records. */
  readonly #rowOf: Float64Array;
  readonly #seen: Found = { v3Records: 0, v3Children: 0, v4Records: 0, v4Children: 0 };

  constructor(judged: JudgedPair, writer: RemapWriter, later: RowsOfModel, verdicts: Decisions['verdicts']) {
    this.#judged = judged;
    this.#rowOf = new Float64Array(judged.pair.v3.length);
    this.#writer = writer;
    this.#later = later;
    this.#verdicts = verdicts;
  }

  write(throwIfStopped: () => void): Found {
    const { pair, joined } = this.#judged;
    const shared = new Map<number, number[]>();
    for (const [done, at] of orderById(pair.v3.svcIds).entries()) {
      if (done % RECORDS_PER_WRITE === 0) {
        throwIfStopped();
        this.#flush();
      }
      const twin = joined.twins[at] ?? -1;
      if (twin < 0) this.#writeOpenV3(at);
      else {
        const reason = this.#writePair(at, twin);
        if ((joined.claims[twin] ?? 0) > 1) append(shared, twin, at);
        else this.#addChildrenOfPair(at, twin, reason);
      }
      this.#seen.v3Records += 1;
    }
    this.#flush();
    for (const [twin, v3] of shared) this.#addSharedChildren(twin, v3, throwIfStopped);
    this.#addOpenV4(throwIfStopped);
    for (const claims of joined.claims) if (claims > 0) this.#seen.v4Records += 1;
    for (const [path, rows] of this.#v3Children) this.#later.addV3(path, rows);
    for (const [path, rows] of this.#v4Children) this.#later.addV4(path, this.#v4CompanyId ?? 0n, rows);
    return this.#seen;
  }

  get #v4CompanyId(): bigint | null {
    return this.#judged.pair.v4Company?.companyId ?? null;
  }

  #groupOf(path: string, generation: 3 | 4, outcome: Outcome): CountedGroup {
    const known = this.#groups[generation].get(path)?.find((group) => isSameOutcome(group, outcome));
    if (known !== undefined) return known;
    const { v3Company } = this.#judged.pair;
    const isV3 = generation === 3;
    const group = this.#writer.groupOf({
      model: this.#judged.model,
      path,
      region: isV3 ? (v3Company?.region ?? null) : null,
      v3CompanyId: isV3 ? (v3Company?.companyId ?? null) : null,
      v4CompanyId: this.#v4CompanyId,
      ...outcome,
    });
    append(this.#groups[generation], path, group);
    return group;
  }

  #isProvisional(at: number): boolean {
    const { model, v3 } = this.#judged.pair;
    return !(v3.readInFull[at] === 1 && model?.v4ReadInFull === true && model.pairIsFinal);
  }

  #writeOpenV3(at: number): void {
    const outcome = this.#judged.outcomes.v3.get(at);
    if (outcome === undefined) return;
    const group = this.#groupOf('', 3, openOutcome(outcome.status, outcome.reason));
    const row = this.#writeV3(at, group, null, outcome.evidence);
    this.#inheritChildren(3, at, row, outcome);
  }

  /** Returns the reason of the pair; null if it is matched. */
  #writePair(at: number, twin: number): ReturnType<typeof pairReason> {
    const { pair, joined, decided } = this.#judged;
    const { v3, v4 } = pair;
    const reason = pairReason(v3.deleted[at] === 1, v4.deleted[twin] === 1);
    const evidence = decided.pairs.get(at) ?? null;
    const byKey = joined.byUniqueId.has(at) ? 'platform_unique_id' : 'platform_id';
    const outcome: Outcome = {
      status: reason === null ? 'matched' : 'deleted',
      reason,
      matchedBy: evidence === null ? byKey : 'decision',
      provisional: this.#isProvisional(at),
      conflict: conflictOf(v3.uniqueIdOf(at), v4.uniqueIdOf(twin)) === 1,
    };
    this.#writeV3(at, this.#groupOf('', 3, outcome), v4.idOf(twin), evidence);
    return reason;
  }

  /** Returns the id of the row. */
  #writeV3(at: number, group: CountedGroup, v4: RowId | null, evidence: string | null): number {
    const { v3 } = this.#judged.pair;
    this.#writer.countDay(group, v3.latestMs[at] ?? Number.NaN);
    const id = this.#writer.nextRow + this.#records.length;
    v3.addRow(this.#records, at, group.id, v3.idOf(at), v4, evidence);
    this.#rowOf[at] = id;
    return id;
  }

  #flush(): void {
    this.#writer.write(this.#records);
    this.#records.clear();
  }

  #addChildrenOfPair(at: number, twin: number, reason: string | null): void {
    const { v3, v4 } = this.#judged.pair;
    const { ofV3Children, ofV4Children } = this.#judged.decided;
    const named = [...(ofV3Children.get(at) ?? []), ...(ofV4Children.get(twin) ?? [])];
    if (named.length === 0 && this.#addPlainChildren(at, twin, reason)) return;
    const children = { v3: v3.childrenOf(at), v4: v4.childrenOf(twin) };
    if (children.v3.length + children.v4.length === 0) return;
    let rows = judgeChildren(children.v3, children.v4, reason);
    if (named.length > 0) {
      const decided = decideChildren(rows, { ...children, parentsMatched: reason === null }, named);
      for (const [line, verdict] of decided.verdicts) this.#verdicts.set(line, verdict);
      rows = decided.rows;
    }
    for (const row of rows.v3) this.#addChild(row, at, twin);
    for (const row of rows.v4) this.#addChild(row, at, twin);
    this.#seen.v4Children += children.v4.length - rows.v4.length;
  }

  /** Adds the usual children, which have the same keys on both sides in the same order; returns false if they do not. */
  #addPlainChildren(at: number, twin: number, reason: string | null): boolean {
    const { v3, v4 } = this.#judged.pair;
    const [children, twins] = [this.#plain.v3, this.#plain.v4];
    if (!v3.readPlainChildren(at, children) || !v4.readPlainChildren(twin, twins)) return false;
    if (!children.areLike(twins) || !v3.hasKeyOf(at, v4, twin)) return false;
    if (children.length === 0) return true;
    const provisional = this.#isProvisional(at);
    const parent = this.#rowOf[at] ?? null;
    const holder = v3.idOf(at);
    for (let child = 0; child < children.length; child++) {
      const field = children.fields[child] ?? 0;
      let known = this.#plainFields[field];
      if (known === undefined || known.reason !== reason || known.group.provisional !== provisional) {
        known = this.#plainField(field, reason, provisional);
        this.#plainFields[field] = known;
      }
      known.rows.open.addBytes(
        known.group.id,
        children.bytes,
        children.keyStarts[child] ?? 0,
        children.keyEnds[child] ?? 0,
        children.ids[child] ?? 0,
        twins.ids[child] ?? 0,
        null,
        parent,
        holder,
      );
    }
    this.#seen.v3Children += children.length;
    this.#seen.v4Children += twins.length;
    return true;
  }

  #plainField(field: number, parentReason: string | null, provisional: boolean): PlainField {
    const path = this.#fieldNames.names[field] ?? '';
    const [status, reason] =
      parentReason === null ? (['matched', null] as const) : inheritOutcome(parentReason);
    const outcome: Outcome = { status, reason, matchedBy: 'platform_id', provisional, conflict: false };
    return { reason: parentReason, group: this.#groupOf(path, 3, outcome), rows: this.#rowsOf(3, path) };
  }

  /**
   * The V4 record is the twin of several V3 records. Only deleted records share a twin, so all of these children inherit the
   * reason of their pair, and decisions about them are judged but never taken.
   */
  #addSharedChildren(twin: number, v3Records: readonly number[], throwIfStopped: () => void): void {
    const { pair, decided } = this.#judged;
    const stored = pair.v4.childrenOf(twin);
    const reason = pair.v4.deleted[twin] === 1 ? 'deleted_in_both' : 'deleted_in_v3';
    const shared = new SharedTwin(membersOf(4, stored), reason);
    for (const at of v3Records) {
      throwIfStopped();
      const v3 = pair.v3.childrenOf(at);
      const rows = shared.judge(pair.v3.svcIds[at] ?? 0n, membersOf(3, v3));
      for (const row of rows) this.#addChild(row, at, twin);
      const named = decided.ofV3Children.get(at) ?? [];
      if (named.length === 0) continue;
      const { verdicts } = decideChildren(
        { v3: rows, v4: [] },
        { v3, v4: stored, parentsMatched: false },
        named,
      );
      for (const [line, verdict] of verdicts) this.#verdicts.set(line, verdict);
    }
    for (const row of shared.listUnclaimed()) this.#addChild(row, v3Records[0] ?? 0, twin);
    this.#seen.v4Children += shared.claimed.size;
  }

  #addChild(row: ChildRow, at: number, twin: number): void {
    const [generation, path, v3SvcId, v4SvcId, key, status, reason, matchedBy, evidence, conflict] = row;
    const { v3, v4 } = this.#judged.pair;
    const outcome: Outcome = {
      ...{ status, reason, matchedBy, conflict: conflict === 1 },
      provisional: matchedBy !== null && this.#isProvisional(at),
    };
    this.#addRow(
      generation,
      path,
      this.#groupOf(path, generation, outcome).id,
      key,
      v3SvcId === null ? null : childIdOf(v3SvcId),
      v4SvcId === null ? null : childIdOf(v4SvcId),
      // the parents' keys differ only if a decision paired them
      v4SvcId === null || v3.hasKeyOf(at, v4, twin) ? evidence : withParentKey(evidence, v4.keyOf(twin)),
      this.#rowOf[at] ?? null,
      generation === 3 ? v3.idOf(at) : v4.idOf(twin),
    );
  }

  /** Children of a record that is in no pair inherit its outcome. */
  #inheritChildren(generation: 3 | 4, at: number, parent: number, { status, reason }: RecordOutcome): void {
    const records = generation === 3 ? this.#judged.pair.v3 : this.#judged.pair.v4;
    const outcome = openOutcome(status, `parent_${reason}`);
    for (const [path, svcId, key] of records.childrenOf(at)) {
      const id = childIdOf(svcId);
      this.#addRow(
        generation,
        path,
        this.#groupOf(path, generation, outcome).id,
        key,
        generation === 3 ? id : null,
        generation === 3 ? null : id,
        null,
        parent,
        records.idOf(at),
      );
    }
  }

  #addRow(generation: 3 | 4, path: string, ...row: Parameters<RowColumns['add']>): void {
    this.#seen[generation === 3 ? 'v3Children' : 'v4Children'] += 1;
    this.#rowsOf(generation, path).open.add(...row);
  }

  #rowsOf(generation: 3 | 4, path: string): WaitingRows {
    const lists = generation === 3 ? this.#v3Children : this.#v4Children;
    const known = lists.get(path);
    if (known !== undefined) return known;
    const rows = this.#later.newRows();
    lists.set(path, rows);
    return rows;
  }

  #addOpenV4(throwIfStopped: () => void): void {
    const { pair, outcomes } = this.#judged;
    if (outcomes.v4.size === 0) return;
    const rows = this.#later.newRows();
    const { svcIds } = pair.v4;
    const idOf = (at: number) => svcIds[at] ?? null;
    const byId = [...outcomes.v4].sort(([a], [b]) => compareIds(idOf(a), idOf(b)));
    for (const [rank, [at, outcome]] of byId.entries()) {
      if (rank % 1000 === 0) throwIfStopped();
      const group = this.#groupOf('', 4, openOutcome(outcome.status, outcome.reason));
      pair.v4.addRow(rows.open, at, group.id, null, pair.v4.idOf(at), outcome.evidence);
      // the row of the record is not known yet: the children name its rank among those of its company
      this.#inheritChildren(4, at, -1 - rank, outcome);
      this.#seen.v4Records += 1;
    }
    this.#later.addV4('', this.#v4CompanyId ?? 0n, rows);
  }
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
    return order.sort((a, b) => compareIds(svcIds[a] ?? null, svcIds[b] ?? null));
  }
  return order;
}
