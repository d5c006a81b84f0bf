import type { Config } from '../../config/config.js';
import type { OnProgress } from '../../domain.js';
import { SvcError } from '../../errors.js';
import { findContradictions } from '../../store/conservation.js';
import type { RemapRun } from '../../store/evidence.js';
import {
  type MappedPair,
  prepareFindParents,
  readPairRows,
  readPairStrata,
  readPairs,
} from '../../store/mapped-pairs.js';
import type { Db } from '../../store/open.js';
import { readReadiness } from '../../store/read-readiness.js';
import { findIncomplete } from '../../store/readiness.js';
import { EVERYTHING } from '../../store/remap.js';
import { upperBound } from './confidence.js';
import type { PairReader } from './pair-reader.js';
import { createRandom } from './random.js';
import { readLive, type Verdict } from './read-live.js';
import type { Coverage, VerifyResult, WrongPair } from './result.js';
import { planSample } from './sample.js';

export interface VerifyOptions {
  readonly db: Db;
  readonly config: Config;
  readonly reader: PairReader;
  /** How many pairs to draw; null: all. */
  readonly sample: number | null;
  /** null: from the remap, so that each remap is sampled anew and each run draws the same. */
  readonly seed: number | null;
  readonly onProgress: OnProgress;
  /** Runs what cannot be interrupted. */
  readonly runUninterruptible: <T>(work: () => T) => Promise<T>;
}

/** Contradictions listed per kind. */
const LISTED = 1000;

/**
 * Proves the remap: against the exported records without the network, then pair by pair against both APIs.
 * Writes nothing.
 *
 * @throws SvcError `incomplete` where there is no current remap, and as `readLive` does
 */
export async function verifyRemap(options: VerifyOptions): Promise<VerifyResult> {
  const { db, config, reader, onProgress, runUninterruptible } = options;
  const run = readCurrentRun(db, config, onProgress);
  onProgress({ kind: 'step', name: 'hold the remap against the export', done: 0, total: null });
  const models = config.models.map(({ v3 }) => v3);
  const { contradictions, chosen } = await runUninterruptible(() => ({
    contradictions: findContradictions(db, models, LISTED),
    chosen: choosePairs(db, options, run),
  }));
  const tally = new Tally(chosen.extraRows);
  const { unread } = await readLive({
    pairs: readPairs(db, chosen.rows),
    total: chosen.coverage.drawn + chosen.coverage.extra,
    reader,
    findParents: prepareFindParents(db),
    onVerdict: (pair, verdict) => tally.count(pair, verdict),
    onProgress,
  });
  return {
    remap: { builtAt: run.built_at, sha256: run.sha256 },
    contradictions,
    coverage: chosen.coverage,
    ...tally.result(),
    unread,
    rate: chosen.rows === null ? null : tally.rate(),
  };
}

/** A remap of unfinished exports may be wrong about what is missing; its pairs can be proved all the same. */
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

interface Chosen {
  readonly coverage: Coverage;
  /** null: all. */
  readonly rows: readonly bigint[] | null;
  readonly extraRows: ReadonlySet<bigint>;
}

function choosePairs(db: Db, { sample, seed }: VerifyOptions, run: RemapRun): Chosen {
  const strata = readPairStrata(db);
  const pairs = strata.reduce((sum, { size }) => sum + size, 0);
  const facts = { pairs, strata: strata.length };
  if (sample === null || sample >= pairs) {
    const coverage = { ...facts, kind: 'all', seed: null, drawn: pairs, extra: 0 } as const;
    return { coverage, rows: null, extraRows: new Set() };
  }
  const used = seed ?? Number.parseInt(run.sha256.slice(0, 8), 16);
  const plan = planSample(
    strata.map(({ size }) => size),
    sample,
    createRandom(used),
  );
  const wanted = new Set([...plan.drawn, ...plan.extra]);
  const extra = new Set(plan.extra);
  const rows: bigint[] = [];
  const extraRows = new Set<bigint>();
  let at = 0;
  for (const row of readPairRows(db)) {
    if (wanted.has(at)) rows.push(row);
    if (extra.has(at)) extraRows.add(row);
    at += 1;
  }
  const drawn = { kind: 'sample', seed: used, drawn: plan.drawn.length, extra: plan.extra.length } as const;
  return { coverage: { ...facts, ...drawn }, rows, extraRows };
}

/** Counts verdicts; those about extra pairs say nothing about the rate. */
class Tally {
  readonly #extra: ReadonlySet<bigint>;
  readonly #wrong: WrongPair[] = [];
  #agree = 0;
  #gone = 0;
  #deletedSince = 0;
  #failed = 0;
  #firstError: string | null = null;
  #drawnRead = 0;
  #drawnWrong = 0;

  constructor(extra: ReadonlySet<bigint>) {
    this.#extra = extra;
  }

  count(pair: MappedPair, verdict: Verdict): void {
    const isDrawn = !this.#extra.has(pair.row);
    switch (verdict.kind) {
      case 'agrees':
        this.#agree += 1;
        if (verdict.deletedSince) this.#deletedSince += 1;
        if (isDrawn) this.#drawnRead += 1;
        return;
      case 'disagrees':
        this.#wrong.push({ pair, code: verdict.code, v3: verdict.v3, v4: verdict.v4 });
        if (isDrawn) this.#drawnRead += 1;
        if (isDrawn) this.#drawnWrong += 1;
        return;
      case 'gone':
        this.#gone += 1;
        return;
      case 'failed':
        this.#failed += 1;
        this.#firstError ??= verdict.error.message;
        return;
      default:
        verdict satisfies never;
    }
  }

  result() {
    return {
      agree: this.#agree,
      wrong: this.#wrong,
      gone: this.#gone,
      deletedSince: this.#deletedSince,
      failed: this.#failed,
      firstError: this.#firstError,
    };
  }

  rate(): VerifyResult['rate'] {
    const [read, wrong] = [this.#drawnRead, this.#drawnWrong];
    return read === 0 ? null : { read, wrong, atMost: upperBound(wrong, read) };
  }
}
