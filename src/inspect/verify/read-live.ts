import type { OnProgress, ParsedRecord } from '../../domain.js';
import { isRequestError, SvcError } from '../../errors.js';
import { parseChildren } from '../../json/stored-lists.js';
import type { MappedPair, ParentPair } from '../../store/mapped-pairs.js';
import { inBatches } from '../../text/rows.js';
import type { PairReader } from '../live-records.js';

export type PairVerdict =
  | Comparison
  /** Not read: proves nothing about the pair. */
  | { readonly kind: 'failed'; readonly error: SvcError };

export interface LiveCheck {
  /** Children directly after their parents. */
  readonly pairs: Iterable<MappedPair>;
  readonly total: number;
  readonly reader: PairReader;
  readonly findParents: (child: MappedPair) => readonly ParentPair[];
  readonly onVerdict: (pair: MappedPair, verdict: PairVerdict) => void;
  readonly onProgress: OnProgress;
}

/** Pairs per batch; the client itself limits concurrent requests. */
const BATCH = 200;

/**
 * Reads both records of every pair and compares them. Stops if a whole batch could not be read, as in an outage.
 * Returns the number of pairs left unread.
 *
 * That a record is not found proves something only if the API finds others: if it does not know the filter, it may find
 * none. Such verdicts are held back until a record was found on their side.
 *
 * @throws SvcError `auth`, `redirect`, `config`; the signal's reason
 */
export async function readLive(check: LiveCheck): Promise<{ readonly unread: number }> {
  const { pairs, total, onVerdict, onProgress } = check;
  /** Lists in which a record was found. */
  const answering = new Set<string>();
  const waiting: (readonly [MappedPair, PairVerdict])[] = [];
  const isProved = ({ region }: MappedPair, verdict: PairVerdict): boolean => {
    const side = sideNotFound(verdict);
    return side === null || answering.has(side === 'v3' ? `v3 ${region}` : 'v4');
  };
  let done = 0;
  for (const batch of inBatches(pairs, BATCH)) {
    onProgress({ kind: 'step', name: 'pairs', done, total });
    const read = readOnce(check.reader, answering);
    const verdicts = await Promise.all(
      batch.map(async (pair) => [pair, await judgePair(pair, check, read)] as const),
    );
    for (const [pair, verdict] of verdicts) {
      if (isProved(pair, verdict)) onVerdict(pair, verdict);
      else waiting.push([pair, verdict]);
    }
    done += batch.length;
    if (verdicts.every(([, { kind }]) => kind === 'failed')) break;
  }
  for (const [pair, verdict] of waiting) {
    onVerdict(pair, isProved(pair, verdict) ? verdict : showsNothing(sideNotFound(verdict) ?? 'v3'));
  }
  return { unread: total - done };
}

/** Reads one record of a pair of records. */
type ReadSide = (side: 'v3' | 'v4', pair: MappedPair, svcId: bigint) => Promise<ParsedRecord | null>;

/** Reads each record once per batch: a parent serves all its children. */
function readOnce(reader: PairReader, answering: Set<string>): ReadSide {
  const known = new Map<string, Promise<ParsedRecord | null>>();
  return (side, pair, svcId) => {
    const region = side === 'v3' ? pair.region : '';
    const companyId = side === 'v3' ? pair.v3_company_id : pair.v4_company_id;
    const platformId = (pair.path === '' ? pair.platform_id : pair.parent_platform_id) ?? '';
    const name = `${side} ${region} ${pair.model} ${companyId} ${svcId}`;
    const earlier = known.get(name);
    if (earlier !== undefined) return earlier;
    const ref = { model: pair.model, region, companyId, svcId, platformId };
    const reading = (side === 'v3' ? reader.readV3(ref) : reader.readV4(ref)).then((record) => {
      if (record !== null) answering.add(side === 'v3' ? `v3 ${region}` : 'v4');
      return record;
    });
    known.set(name, reading);
    return reading;
  };
}

/** Children are read through the pairs of records that may contain them; one that agrees is enough. */
async function judgePair(pair: MappedPair, { findParents }: LiveCheck, read: ReadSide): Promise<PairVerdict> {
  const { path, v3_svc_id, v4_svc_id } = pair;
  let last: Comparison = { kind: 'disagrees', code: 'parent_not_mapped', v3: null, v4: null };
  try {
    for (const parent of path === '' ? [{ v3_svc_id, v4_svc_id }] : findParents(pair)) {
      if (parent.v4_svc_id === null) {
        last = { kind: 'disagrees', code: 'parent_not_mapped', v3: null, v4: null };
        continue;
      }
      const [v3, v4] = await Promise.all([
        read('v3', pair, parent.v3_svc_id),
        read('v4', pair, parent.v4_svc_id),
      ]);
      last = comparePair(pair, sideOf(v3, path, v3_svc_id), sideOf(v4, path, v4_svc_id));
      if (last.kind === 'agrees') break;
    }
    return last;
  } catch (error) {
    if (!isRequestError(error)) throw error;
    return { kind: 'failed', error };
  }
}

function sideNotFound(verdict: PairVerdict): 'v3' | 'v4' | null {
  if (verdict.kind === 'gone') return 'v4';
  if (verdict.kind !== 'disagrees') return null;
  if (verdict.code === 'v3_not_found') return 'v3';
  return verdict.code === 'v4_not_found' ? 'v4' : null;
}

function showsNothing(side: 'v3' | 'v4'): PairVerdict {
  const sentence = `${side.toUpperCase()} showed none of the records that it was asked for by id.`;
  const hint = 'Perhaps it does not know that route or filter: run `svc-migrate doctor`.';
  return { kind: 'failed', error: new SvcError('bad_response', sentence, { hint }) };
}

/** How a pair can disagree with the current data of the APIs. */
export const DISAGREEMENTS = {
  v3_not_found: 'V3 does not show it',
  v4_not_found: 'V4 does not show it',
  parent_not_mapped: 'it is in no pair of records',
  company_differs: 'another company',
  platform_id_differs: 'the two have different platform_ids',
  platform_id_changed: 'both have another platform_id than when they were exported',
  unique_id_differs: 'the two have different platform_unique_ids, by which they were paired',
} as const;
export type Disagreement = keyof typeof DISAGREEMENTS;

/** The part of a record or child that a pair is compared by. */
export type PairSide = Pick<ParsedRecord, 'companyId' | 'platformId' | 'platformUniqueId' | 'deleted'>;

export interface Disagreeing {
  readonly kind: 'disagrees';
  readonly code: Disagreement;
  /** The current data of each API; null if there is none. */
  readonly v3: PairSide | null;
  readonly v4: PairSide | null;
}

export type Comparison =
  | Disagreeing
  /** `deletedSince`: live in V4 when exported, deleted now. */
  | { readonly kind: 'agrees'; readonly deletedSince: boolean }
  /** V4 no longer returns a record that was already deleted: nothing to compare, and nothing wrong. */
  | { readonly kind: 'gone' };

/** Compares a pair with the current records; null if a side has none. */
function comparePair(pair: MappedPair, v3: PairSide | null, v4: PairSide | null): Comparison {
  const wasDeleted = pair.status === 'deleted' && /(^|_)deleted_in_(v4|both)$/.test(pair.reason ?? '');
  const code = findDisagreement(pair, v3, v4);
  if (code === null) return { kind: 'agrees', deletedSince: v4?.deleted === true && !wasDeleted };
  if (code === 'v4_not_found' && wasDeleted) return { kind: 'gone' };
  return { kind: 'disagrees', code, v3, v4 };
}

function findDisagreement(pair: MappedPair, v3: PairSide | null, v4: PairSide | null): Disagreement | null {
  if (v3 === null) return 'v3_not_found';
  if (v4 === null) return 'v4_not_found';
  if (v3.companyId !== pair.v3_company_id || v4.companyId !== pair.v4_company_id) return 'company_differs';
  if (pair.matched_by === 'decision') {
    const isSame = v3.platformId === pair.platform_id && v4.platformId === pair.v4_platform_id;
    return isSame ? null : 'platform_id_changed';
  }
  if (v3.platformId === null || v3.platformId !== v4.platformId) return 'platform_id_differs';
  if (v3.platformId !== pair.platform_id) return 'platform_id_changed';
  // Several records have this key, so it alone does not identify the pair.
  const byUniqueId = pair.matched_by === 'platform_unique_id';
  return byUniqueId && v3.platformUniqueId !== v4.platformUniqueId ? 'unique_id_differs' : null;
}

/** The record, or the child in it, that a side of a pair names. */
function sideOf(record: ParsedRecord | null, path: string, svcId: bigint): PairSide | null {
  if (record === null || path === '') return record;
  const children = record.children === null ? [] : parseChildren(record.children);
  const child = children.find(([childPath, childId]) => childPath === path && BigInt(childId) === svcId);
  if (child === undefined) return null;
  const [, , platformId, platformUniqueId, deleted] = child;
  return { companyId: record.companyId, platformId, platformUniqueId, deleted: deleted === 1 };
}
