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
  /** Null: derived from the remap, so that every run on one remap draws the same sample. */
  readonly seed: number | null;
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
  readonly seed: number | null;
  /** Pairs drawn at random, and those added so that no stratum is left out. */
  readonly drawn: number;
  readonly extra: number;
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
  /** The rate of wrong pairs, from those drawn at random; null if all were requested or none could be read. */
  readonly rate: { readonly read: number; readonly wrong: number; readonly atMost: number } | null;
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
  const { coverage, rows, extraRows } = chosen;
  const wrong: WrongPair[] = [];
  const counts = { agree: 0, gone: 0, deletedSince: 0, failed: 0 };
  const drawn = { read: 0, wrong: 0 };
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
    // Extra pairs were not drawn at random, so they do not count for the rate.
    if (extraRows.has(pair.row)) return;
    if (verdict.kind === 'agrees' || verdict.kind === 'disagrees') drawn.read += 1;
    if (verdict.kind === 'disagrees') drawn.wrong += 1;
  };
  const { unread } = await readLive({
    pairs: readPairs(db, rows),
    total: coverage.drawn + coverage.extra,
    reader,
    findParents: prepareFindParents(db),
    onVerdict,
    onProgress,
  });
  const hasRate = rows !== null && drawn.read > 0;
  const rate = hasRate ? { ...drawn, atMost: upperBound(drawn.wrong, drawn.read) } : null;
  const remap = { builtAt: run.built_at, sha256: run.sha256 };
  return { remap, contradictions, coverage, ...counts, wrong, firstError, unread, rate };
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
  readonly extraRows: ReadonlySet<bigint>;
}

function choosePairs(db: Db, { sample, seed: given }: VerifyOptions, run: RemapRun): ChosenPairs {
  const all = readPairStrata(db);
  const sizes = all.map(({ size }) => size);
  const pairs = sizes.reduce((sum, size) => sum + size, 0);
  const counts = { pairs, matched: all.reduce((sum, { matched }) => sum + matched, 0), strata: all.length };
  if (sample === null || sample >= pairs) {
    const coverage = { kind: 'all', ...counts, seed: null, drawn: pairs, extra: 0 } as const;
    return { coverage, rows: null, extraRows: new Set() };
  }
  const seed = given ?? Number.parseInt(run.sha256.slice(0, 8), 16);
  const plan = planSample(sizes, sample, createRandom(seed));
  const drawn = new Set(plan.drawn);
  const extra = new Set(plan.extra);
  const rows: bigint[] = [];
  const extraRows = new Set<bigint>();
  let at = 0;
  for (const row of readPairRows(db)) {
    if (drawn.has(at) || extra.has(at)) rows.push(row);
    if (extra.has(at)) extraRows.add(row);
    at += 1;
  }
  const coverage = { kind: 'sample', ...counts, seed, drawn: drawn.size, extra: extra.size } as const;
  return { coverage, rows, extraRows };
}

/** A sample of strata in a fixed order, whose members are numbered consecutively from 0. */
export interface SamplePlan {
  /** Numbers of the members drawn, each with the same probability; ascending. */
  readonly drawn: readonly number[];
  /** One more of each stratum without a drawn member; not used for the rate. */
  readonly extra: readonly number[];
}

/**
 * Draws `wanted` of all members, in proportion to the sizes of the strata: systematic sampling decides the number per
 * stratum, random sampling the members. Draws all of them if `wanted` is enough.
 *
 * @param sizes of the strata
 * @param random a number in [0, 1)
 */
export function planSample(sizes: readonly number[], wanted: number, random: () => number): SamplePlan {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (wanted >= total) return { drawn: Array.from({ length: total }, (_, at) => at), extra: [] };
  const step = total / wanted;
  const start = random() * step;
  /** How many of the points start, start + step, … are less than `end`. */
  const pointsBefore = (end: number): number =>
    Math.min(wanted, Math.max(0, Math.ceil((end - start) / step)));
  const drawn: number[] = [];
  const extra: number[] = [];
  let first = 0;
  for (const size of sizes) {
    const quota = pointsBefore(first + size) - pointsBefore(first);
    const chosen = chooseSome(size, Math.max(quota, Math.min(1, size)), random);
    (quota === 0 ? extra : drawn).push(...chosen.map((at) => first + at));
    first += size;
  }
  return { drawn, extra };
}

/** `count` different numbers below `size`, ascending (Floyd's algorithm). */
function chooseSome(size: number, count: number, random: () => number): number[] {
  const chosen = new Set<number>();
  for (let top = size - count; top < size; top++) {
    const at = Math.floor(random() * (top + 1));
    chosen.add(chosen.has(at) ? top : at);
  }
  return [...chosen].sort((a, b) => a - b);
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

/** Probability that a statement about all pairs is true. */
export const CONFIDENCE = 0.95;

/**
 * An upper bound on the share of wrong pairs, given `wrong` of `read` sampled ones: the exact one-sided bound of Clopper
 * and Pearson. For none wrong it is 1 − (1 − confidence)^(1/read), the exact form of the rule of three (3/read).
 * Stratified sampling only makes it more conservative.
 */
export function upperBound(wrong: number, read: number): number {
  if (read === 0 || wrong >= read) return 1;
  const doubt = 1 - CONFIDENCE;
  if (wrong === 0) return 1 - doubt ** (1 / read);
  let low = wrong / read;
  let high = 1;
  while (high - low > 1e-12) {
    const middle = (low + high) / 2;
    if (chanceOfAtMost(wrong, read, middle) > doubt) low = middle;
    else high = middle;
  }
  return high;
}

/** Chance of at most `wrong` hits in `read` draws that each hit with `share`. */
function chanceOfAtMost(wrong: number, read: number, share: number): number {
  if (share >= 1) return 0;
  let logTerm = read * Math.log1p(-share);
  let sum = Math.exp(logTerm);
  for (let hits = 1; hits <= wrong; hits++) {
    logTerm += Math.log((read - hits + 1) / hits) + Math.log(share) - Math.log1p(-share);
    sum += Math.exp(logTerm);
  }
  return sum;
}
