import type { Status } from '../reasons.js';
import { append } from '../text/rows.js';
import type { JoinedRecords, OpenVerdict } from './join-records.js';
import { lowestIds, nameIds } from './judge-group.js';
import type { PairedModel } from './paired-model.js';
import type { PartRecords } from './part-records.js';
import type { ScopeCompany } from './scope.js';

/** The outcome of a record that is in no pair. */
export interface RecordOutcome {
  status: Status;
  reason: string;
  /** JSON. */
  evidence: string | null;
}

/** The records of one model of a company pair, or of a company without a pair. */
export interface RecordsOfPair {
  readonly v3Company: ScopeCompany | null;
  readonly v4Company: ScopeCompany | null;
  /** null: the company has no pair. */
  readonly model: PairedModel | null;
  readonly v3: PartRecords;
  readonly v4: PartRecords;
}

/** The outcomes of all records that are in no pair, by position. */
export interface Outcomes {
  readonly v3: Map<number, RecordOutcome>;
  readonly v4: Map<number, RecordOutcome>;
}

/** Gives every record without a pair the first reason in the contract's order that applies. Pure. */
export function explainRecords(pair: RecordsOfPair, joined: JoinedRecords): Outcomes {
  const outcomes: Outcomes = { v3: new Map(), v4: new Map() };
  for (let at = 0; at < pair.v3.length; at++) {
    if ((joined.twins[at] ?? -1) < 0) outcomes.v3.set(at, v3Outcome(pair, at, joined.v3.get(at)));
  }
  for (let at = 0; at < pair.v4.length; at++) {
    if (joined.claims[at] === 0) outcomes.v4.set(at, v4Outcome(pair, at, joined.v4.get(at)));
  }
  if (pair.model !== null) explainAbsent(pair, pair.model, outcomes);
  for (const side of [outcomes.v3, outcomes.v4]) {
    for (const outcome of side.values()) if (outcome.reason === 'absent') outcome.reason = 'unexplained';
  }
  return outcomes;
}

function v3Outcome(pair: RecordsOfPair, at: number, open: OpenVerdict | undefined): RecordOutcome {
  const isDeleted = pair.v3.deleted[at] === 1;
  const reason = v3Reason(pair, at, open?.kind);
  const isDuplicate = reason === 'duplicate_platform_id_v3' || reason === 'duplicate_platform_id_v4';
  const ofAbsent = isDeleted && reason !== 'scope_incomplete' ? 'deleted' : 'unmatched';
  return { status: isDuplicate ? 'ambiguous' : ofAbsent, reason, evidence: open?.evidence ?? null };
}

/** `absent` stands for a key that V4 lacks; `explainAbsent` replaces it. */
function v3Reason(
  { v3, v3Company, model }: RecordsOfPair,
  at: number,
  kind: OpenVerdict['kind'] | undefined,
): string {
  const isDeleted = v3.deleted[at] === 1;
  const hasKey = v3.hasKey(at);
  if (isDeleted && !hasKey) return 'no_platform_id';
  if (model === null && v3Company?.scopeFull !== true) return 'scope_incomplete';
  if (model !== null && !hasKey && !model.v4ReadInFull) return 'scope_incomplete';
  if (!hasKey) return 'no_platform_id';
  if (model === null) return v3Company?.matchedBy === 'ambiguous' ? 'company_ambiguous' : 'company_not_in_v4';
  if (model.v4Absent) return 'model_not_in_v4';
  if (kind === 'superseded') return 'superseded_in_v3';
  if (kind === 'dup_v3') return 'duplicate_platform_id_v3';
  if (kind === 'dup_v4') return 'duplicate_platform_id_v4';
  if (!model.v4ReadInFull) return 'scope_incomplete';
  return isDeleted ? 'deleted_not_in_v4' : 'absent';
}

function v4Outcome(pair: RecordsOfPair, at: number, open: OpenVerdict | undefined): RecordOutcome {
  const reason = v4Reason(pair, at, open?.kind);
  const isDuplicate = reason === 'duplicate_platform_id_v3' || reason === 'duplicate_platform_id_v4';
  const isDeleted = reason === 'superseded_in_v4' || reason === 'deleted_v4_only';
  const status = isDuplicate ? 'ambiguous' : isDeleted ? 'deleted' : 'v4_only';
  return { status, reason, evidence: open?.evidence ?? null };
}

function v4Reason(
  { v4, v4Company, model }: RecordsOfPair,
  at: number,
  kind: OpenVerdict['kind'] | undefined,
): string {
  const isDeleted = v4.deleted[at] === 1;
  if (kind === 'superseded') return 'superseded_in_v4';
  if (model === null && v4Company?.scopeFull !== true) return 'scope_incomplete';
  if (kind === 'dup_v4') return 'duplicate_platform_id_v4';
  if (kind === 'dup_v3') return 'duplicate_platform_id_v3';
  if (model !== null && !model.v3ReadInFull) return 'scope_incomplete';
  if (isDeleted) return 'deleted_v4_only';
  if (!v4.hasKey(at)) return 'no_platform_id';
  if (model === null) return v4Company?.matchedBy === 'ambiguous' ? 'company_ambiguous' : 'company_not_in_v3';
  return 'absent';
}

type OpenRecords = readonly (readonly [at: number, outcome: RecordOutcome])[];

/** Says why the other generation lacks the key of live records. */
function explainAbsent({ v3, v4 }: RecordsOfPair, model: PairedModel, outcomes: Outcomes): void {
  if (model.isInert) {
    for (const one of outcomes.v3.values()) if (one.reason === 'absent') one.reason = 'connection_inert';
  }
  const isOpen = ([, { status, reason }]: OpenRecords[number]) =>
    (status === 'unmatched' || status === 'v4_only') && (reason === 'absent' || reason === 'no_platform_id');
  const open = { v3: [...outcomes.v3].filter(isOpen), v4: [...outcomes.v4].filter(isOpen) };
  const near = { v3: new NearKeys(v3), v4: new NearKeys(v4) };
  if (open.v3.length > 0 && open.v4.length > 0) {
    near.v3.addAll(open.v3);
    near.v4.addAll(open.v4);
  }
  for (const [at, outcome] of open.v3) {
    if (outcome.reason !== 'absent') continue;
    const ids = near.v4.find(near.v3, at);
    const latestMs = v3.latestMs[at] ?? Number.NaN;
    if (ids.length > 0) explainAs(outcome, 'key_changed', { v4_svc_ids: nameIds(ids) });
    else if (model.windowStartMs !== null && latestMs < model.windowStartMs) {
      explainAs(outcome, 'outside_backfill_window', {
        latest_date: isoOf(latestMs),
        latest_from: v3.fromPlatform[at] === 1 ? 'platform' : 'service',
        window_start: isoOf(model.windowStartMs),
        window: model.isWindowInferred ? 'inferred' : 'configured',
      });
    }
  }
  for (const [at, outcome] of open.v4) {
    if (outcome.reason !== 'absent') continue;
    const ids = near.v3.find(near.v4, at);
    // only the platform's own creation date counts: V4's service dates are all recent
    const createdMs = v4.createdMs[at] ?? Number.NaN;
    if (ids.length > 0) explainAs(outcome, 'key_changed', { v3_svc_ids: nameIds(ids) });
    else if (model.v3ReadUntilMs !== null && createdMs > model.v3ReadUntilMs) {
      const evidence = { created: isoOf(createdMs), v3_read_until: isoOf(model.v3ReadUntilMs) };
      explainAs(outcome, 'created_after_export', evidence);
    }
  }
}

function explainAs(outcome: RecordOutcome, reason: string, evidence: object): void {
  outcome.reason = reason;
  outcome.evidence = JSON.stringify(evidence);
}

/** null if the year does not have four digits. */
function isoOf(ms: number): string | null {
  const year = new Date(ms).getUTCFullYear();
  return year >= 0 && year <= 9999 ? new Date(ms).toISOString() : null;
}

/** Ids of records by unique id and by folded key. Two records with one of them in common may be one whose key changed. */
class NearKeys {
  readonly #records: PartRecords;
  readonly #ids = new Map<string, bigint[]>();

  constructor(records: PartRecords) {
    this.#records = records;
  }

  addAll(open: OpenRecords): void {
    for (const [at] of open) {
      for (const name of this.namesOf(at)) append(this.#ids, name, this.#records.svcIds[at] ?? 0n);
    }
    // evidence names few ids, and any number of records may share a name
    for (const [name, ids] of this.#ids) this.#ids.set(name, lowestIds(ids));
  }

  /** The ids of records that may be the record at `at` of `others`. */
  find(others: NearKeys, at: number): readonly bigint[] {
    if (this.#ids.size === 0) return [];
    return [...new Set(others.namesOf(at).flatMap((name) => this.#ids.get(name) ?? []))];
  }

  namesOf(at: number): string[] {
    const uniqueId = this.#records.uniqueIdOf(at);
    const key = this.#records.keyOf(at);
    const ofUniqueId = uniqueId === null ? [] : [`unique_id ${uniqueId}`];
    return key === null ? ofUniqueId : [...ofUniqueId, `key ${foldKey(key)}`];
  }
}

/**
 * Folds a key for finding near misses: trimmed, NFC, case folded, without leading zeros (a single 0 stays).
 *
 * Used only to name candidates to a person, never to join.
 */
export function foldKey(key: string): string {
  const folded = key.trim().normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');
  return folded.replace(/^0+(?=.)/su, '');
}
