import type { Config } from '../../config/config.js';
import type { OnProgress, RunUninterruptible } from '../../domain.js';
import { SvcError } from '../../errors.js';
import { type ContradictionList, findContradictions } from '../../store/conservation.js';
import {
  type MappedPair,
  prepareFindParents,
  readPairRows,
  readPairStrata,
  readPairs,
} from '../../store/mapped-pairs.js';
import type { Db } from '../../store/open.js';
import { findIncomplete, readReadiness } from '../../store/readiness.js';
import { EVERYTHING } from '../../store/remap-rows.js';
import type { RemapRun } from '../../store/remap-tables.js';
import type { PairReader } from '../live-records.js';
import { type Disagreeing, type PairVerdict, readLive } from './read-live.js';

export interface VerifyOptions {
  readonly db: Db;
  readonly config: Config;
  readonly reader: PairReader;
  /** How many pairs to draw; null: all. */
  readonly sample: number | null;
  readonly onProgress: OnProgress;
  readonly runUninterruptible: RunUninterruptible;
}

/** A pair that disagrees with the two APIs. */
export interface WrongPair extends Omit<Disagreeing, 'kind'> {
  readonly pair: MappedPair;
}

/** Which pairs were read. */
export interface Coverage {
  readonly kind: 'all' | 'sample';
  /** Pairs in the remap, those of them that are matched (the others are deleted), and the number of strata (models of companies). */
  readonly pairs: number;
  readonly matched: number;
  readonly strata: number;
  /** Pairs that were chosen, of each stratum at least one. */
  readonly drawn: number;
}

/** The result of `verify`. */
export interface VerifyResult {
  readonly remap: { readonly builtAt: string; readonly sha256: string };
  readonly contradictions: readonly ContradictionList[];
  readonly coverage: Coverage;
  readonly agree: number;
  readonly wrong: readonly WrongPair[];
  /** Deleted in V4 when exported, and no longer returned. */
  readonly gone: number;
  /** Deleted in V4 since the export. */
  readonly deletedSince: number;
  readonly failed: number;
  readonly unread: number;
  /** Why the first read failed. */
  readonly firstError: string | null;
}

/** The exit code: 0 if all agree, 1 if something differs, 4 if some pairs could not be read, 5 if there is no pair. */
export function judgeVerify(result: VerifyResult): 0 | 1 | 4 | 5 {
  const { contradictions, wrong, failed, unread, coverage } = result;
  if (wrong.length > 0 || contradictions.length > 0) return 1;
  if (failed + unread > 0) return 4;
  return coverage.pairs === 0 ? 5 : 0;
}

const MAX_LISTED = 1000;

/**
 * Checks the remap: against the exported records without the network, then pair by pair against both APIs. Writes
 * nothing.
 *
 * @throws SvcError `incomplete` if there is no current remap, and as `readLive` does
 */
export async function verifyRemap(options: VerifyOptions): Promise<VerifyResult> {
  const { db, config, reader, onProgress, runUninterruptible } = options;
  const run = readCurrentRun(db, config, onProgress);
  onProgress({ kind: 'step', name: 'compare the remap with the export', done: 0, total: null });
  const models = config.models.map(({ v3 }) => v3);
  const { contradictions, chosen } = await runUninterruptible(() => ({
    contradictions: findContradictions(db, models, MAX_LISTED),
    chosen: choosePairs(db, options, run),
  }));
  const { coverage, rows } = chosen;
  const wrong: WrongPair[] = [];
  const counts = { agree: 0, gone: 0, deletedSince: 0, failed: 0 };
  let firstError: string | null = null;
  const onVerdict = (pair: MappedPair, verdict: PairVerdict): void => {
    if (verdict.kind === 'gone') counts.gone += 1;
    if (verdict.kind === 'failed') {
      counts.failed += 1;
      firstError ??= verdict.error.message;
    }
    if (verdict.kind === 'agrees') {
      counts.agree += 1;
      if (verdict.deletedSince) counts.deletedSince += 1;
    }
    if (verdict.kind === 'disagrees') {
      const { code, v3, v4 } = verdict;
      wrong.push({ pair, code, v3, v4 });
    }
  };
  const { unread } = await readLive({
    pairs: readPairs(db, rows),
    total: coverage.drawn,
    reader,
    findParents: prepareFindParents(db),
    onVerdict,
    onProgress,
  });
  const remap = { builtAt: run.built_at, sha256: run.sha256 };
  return { remap, contradictions, coverage, ...counts, wrong, firstError, unread };
}

/** The run of the current remap. A remap of unfinished exports may be wrong about missing ids, but its pairs can be verified. */
function readCurrentRun(db: Db, config: Config, onProgress: OnProgress): RemapRun {
  const facts = readReadiness(db, config, EVERYTHING);
  const blockers = findIncomplete(facts);
  const stale = blockers.find(({ code }) => code === 'remap_missing' || code === 'remap_stale');
  if (facts.lastRun === undefined || stale !== undefined) {
    throw new SvcError('incomplete', stale?.text ?? 'There is no remap yet.', {
      hint: 'Run `svc-migrate remap` first.',
    });
  }
  for (const { text } of blockers) onProgress({ kind: 'note', level: 'warning', text });
  return facts.lastRun;
}

interface ChosenPairs {
  readonly coverage: Coverage;
  /** null: all. */
  readonly rows: readonly bigint[] | null;
}

function choosePairs(db: Db, { sample }: VerifyOptions, run: RemapRun): ChosenPairs {
  const all = readPairStrata(db);
  const sizes = all.map(({ size }) => size);
  const pairs = sizes.reduce((sum, size) => sum + size, 0);
  const counts = { pairs, matched: all.reduce((sum, { matched }) => sum + matched, 0), strata: all.length };
  if (sample === null || sample >= pairs) {
    return { coverage: { kind: 'all', ...counts, drawn: pairs }, rows: null };
  }
  // Derived from the remap, so that every run on one remap draws the same sample.
  const random = createRandom(Number.parseInt(run.sha256.slice(0, 8), 16));
  const drawn = new Set(planSample(sizes, sample, random));
  const rows: bigint[] = [];
  let at = 0;
  for (const row of readPairRows(db)) if (drawn.has(at++)) rows.push(row);
  return { coverage: { kind: 'sample', ...counts, drawn: drawn.size }, rows };
}

/**
 * Draws about `wanted` of all members of strata, which are numbered consecutively from 0: every so many-th from a random
 * start, so that each stratum has its share, and one of each stratum that would have none.
 *
 * @param sizes of the strata
 * @param random a number in [0, 1)
 */
export function planSample(sizes: readonly number[], wanted: number, random: () => number): number[] {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const count = Math.min(wanted, total);
  const step = total / count;
  const start = random() * step;
  let [drawn, first] = [0, 0];
  return sizes.flatMap((size) => {
    const end = first + size;
    const own: number[] = [];
    for (; drawn < count && start + drawn * step < end; drawn++) own.push(Math.floor(start + drawn * step));
    if (own.length === 0 && size > 0) own.push(first + Math.floor(random() * size));
    first = end;
    return own;
  });
}

/** Random numbers in [0, 1), the same for the same seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
