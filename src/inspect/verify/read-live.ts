import type { OnProgress, ParsedRecord } from '../../domain.js';
import { isRequestError, SvcError } from '../../errors.js';
import type { MappedPair, ParentPair } from '../../store/mapped-pairs.js';
import { type Comparison, comparePair, sideOf } from './compare.js';
import type { PairReader, RecordRef } from './pair-reader.js';

export type Verdict =
  | Comparison
  /** Not read: says nothing about the pair. */
  | { readonly kind: 'failed'; readonly error: SvcError };

export interface LiveCheck {
  /** Children directly after their parents. */
  readonly pairs: Iterable<MappedPair>;
  readonly total: number;
  readonly reader: PairReader;
  readonly findParents: (child: MappedPair) => readonly ParentPair[];
  readonly onVerdict: (pair: MappedPair, verdict: Verdict) => void;
  readonly onProgress: OnProgress;
}

/** Pairs read at once; the client itself limits the requests under way. */
const BATCH = 200;

/**
 * Reads both records of every pair and compares them. Stops early where a whole batch could not be read: an
 * outage is not waited out record by record. Tells how many pairs were left unread.
 *
 * @throws SvcError `auth`, `redirect`, `config`; the signal's reason
 */
export async function readLive(check: LiveCheck): Promise<{ readonly unread: number }> {
  const absences = new Absences(check.onVerdict);
  let done = 0;
  for (const batch of inBatches(check.pairs, BATCH)) {
    check.onProgress({ kind: 'step', name: 'pairs', done, total: check.total });
    const reads = new Reads(check.reader, absences);
    const verdicts = await Promise.all(batch.map((pair) => judge(pair, check, reads)));
    for (const [at, pair] of batch.entries()) {
      const verdict = verdicts[at];
      if (verdict !== undefined) absences.take(pair, verdict);
    }
    done += batch.length;
    if (verdicts.every(({ kind }) => kind === 'failed')) break;
  }
  absences.settle();
  return { unread: check.total - done };
}

function* inBatches<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let batch: T[] = [];
  for (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

async function judge(pair: MappedPair, check: LiveCheck, reads: Reads): Promise<Verdict> {
  const { v3SvcId, v4SvcId, platformId, path } = pair;
  try {
    if (path === '') return await judgeIn(pair, { v3SvcId, v4SvcId }, platformId ?? '', reads);
    const parents = check.findParents(pair);
    let last: Comparison = { kind: 'disagrees', code: 'parent_not_mapped', v3: null, v4: null };
    for (const parent of parents) {
      last = await judgeIn(pair, parent, pair.parentPlatformId ?? '', reads);
      if (last.kind === 'agrees') break;
    }
    return last;
  } catch (error) {
    if (!isRequestError(error)) throw error;
    return { kind: 'failed', error };
  }
}

/** `parent` is the pair of records to read; of a pair of records, the pair itself. */
async function judgeIn(
  pair: MappedPair,
  parent: ParentPair,
  platformId: string,
  reads: Reads,
): Promise<Comparison> {
  const { model, region, path, v3CompanyId, v4CompanyId } = pair;
  if (parent.v4SvcId === null) return { kind: 'disagrees', code: 'parent_not_mapped', v3: null, v4: null };
  const ref = { model, platformId };
  const [v3, v4] = await Promise.all([
    reads.v3({ ...ref, region, companyId: v3CompanyId, svcId: parent.v3SvcId }),
    reads.v4({ ...ref, region: '', companyId: v4CompanyId, svcId: parent.v4SvcId }),
  ]);
  return comparePair(pair, sideOf(v3, path, pair.v3SvcId), sideOf(v4, path, pair.v4SvcId));
}

/** Reads each record once per batch: a parent serves all its children. */
class Reads {
  readonly #reader: PairReader;
  readonly #absences: Absences;
  readonly #known = new Map<string, Promise<ParsedRecord | null>>();

  constructor(reader: PairReader, absences: Absences) {
    this.#reader = reader;
    this.#absences = absences;
  }

  v3(ref: RecordRef): Promise<ParsedRecord | null> {
    return this.#once('v3', ref, () => this.#reader.readV3(ref));
  }

  v4(ref: RecordRef): Promise<ParsedRecord | null> {
    return this.#once('v4', ref, () => this.#reader.readV4(ref));
  }

  #once(
    side: 'v3' | 'v4',
    { model, region, companyId, svcId }: RecordRef,
    read: () => Promise<ParsedRecord | null>,
  ): Promise<ParsedRecord | null> {
    const name = `${side} ${region} ${model} ${companyId} ${svcId}`;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const reading = read().then((record) => {
      if (record !== null) this.#absences.sawRecord(side, region);
      return record;
    });
    this.#known.set(name, reading);
    return reading;
  }
}

/**
 * A record that is not found proves something only where others are: an API that ignores the question shows
 * nothing for every id. Such verdicts wait until something was found on their side.
 */
class Absences {
  readonly #tell: LiveCheck['onVerdict'];
  readonly #seen = new Set<string>();
  readonly #open: { pair: MappedPair; verdict: Verdict }[] = [];

  constructor(tell: LiveCheck['onVerdict']) {
    this.#tell = tell;
  }

  sawRecord(side: 'v3' | 'v4', region: string): void {
    this.#seen.add(`${side} ${region}`);
  }

  take(pair: MappedPair, verdict: Verdict): void {
    if (this.#isSettled(pair, verdict)) this.#tell(pair, verdict);
    else this.#open.push({ pair, verdict });
  }

  settle(): void {
    for (const { pair, verdict } of this.#open) {
      if (this.#isSettled(pair, verdict)) this.#tell(pair, verdict);
      else this.#tell(pair, { kind: 'failed', error: showsNothing(sideNotFound(verdict) ?? 'v3') });
    }
  }

  #isSettled(pair: MappedPair, verdict: Verdict): boolean {
    const side = sideNotFound(verdict);
    if (side === null) return true;
    return this.#seen.has(side === 'v3' ? `v3 ${pair.region}` : 'v4 ');
  }
}

function sideNotFound(verdict: Verdict): 'v3' | 'v4' | null {
  if (verdict.kind === 'gone') return 'v4';
  if (verdict.kind !== 'disagrees') return null;
  if (verdict.code === 'v3_not_found') return 'v3';
  return verdict.code === 'v4_not_found' ? 'v4' : null;
}

function showsNothing(side: 'v3' | 'v4'): SvcError {
  const sentence = `${side.toUpperCase()} showed none of the records that it was asked for by id.`;
  return new SvcError('bad_response', sentence, {
    hint: 'Perhaps it does not know that route or filter: run `svc-migrate doctor`.',
  });
}
