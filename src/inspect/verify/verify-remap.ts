import type { Config } from '../../config/config.js';
import type { OnProgress, RunUninterruptible } from '../../domain.js';
import { SvcError } from '../../errors.js';
import {
  type ContradictionCode,
  type ContradictionList,
  findContradictions,
} from '../../store/conservation.js';
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
import { renderJson } from '../../text/escape.js';
import { countOf, formatTime, groupDigits } from '../../text/numbers.js';
import { wrapLines } from '../../text/text-layout.js';
import type { PairReader } from '../live-records.js';
import { DISAGREEMENTS, type Disagreeing, type PairSide, type PairVerdict, readLive } from './read-live.js';

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
 * @throws SvcError `incomplete` if there is no current remap, or an incomplete one without a pair, and as `readLive` does
 */
export async function verifyRemap(options: VerifyOptions): Promise<VerifyResult> {
  const { db, config, reader, onProgress, runUninterruptible } = options;
  const { run, open } = readCurrentRun(db, config, onProgress);
  onProgress({ kind: 'step', name: 'compare the remap with the export', done: 0, total: null });
  const models = config.models.map(({ v3 }) => v3);
  const { contradictions, chosen } = await runUninterruptible(() => ({
    contradictions: findContradictions(db, models, MAX_LISTED),
    chosen: choosePairs(db, options, run),
  }));
  const { coverage, rows } = chosen;
  if (open !== undefined && coverage.pairs === 0 && contradictions.length === 0) {
    throw new SvcError('incomplete', `The remap holds no pair yet. ${open.text}`, {
      hint: `Run \`${open.next}\`.`,
    });
  }
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

/**
 * The run of the current remap, and the first reason why it is incomplete, if it is. A remap of unfinished exports may be
 * wrong about missing ids, but its pairs can be verified.
 */
function readCurrentRun(db: Db, config: Config, onProgress: OnProgress) {
  const facts = readReadiness(db, config, EVERYTHING);
  const blockers = findIncomplete(facts);
  const stale = blockers.find(({ code }) => code === 'remap_missing' || code === 'remap_stale');
  if (facts.lastRun === undefined || stale !== undefined) {
    throw new SvcError('incomplete', stale?.text ?? 'There is no remap yet.', {
      hint: 'Run `svc-migrate remap` first.',
    });
  }
  for (const { text } of blockers) onProgress({ kind: 'note', level: 'warning', text });
  return { run: facts.lastRun, open: blockers[0] };
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

/** Items listed per kind; `--json` lists more. */
const MAX_SHOWN = 10;

const CONTRADICTIONS: Readonly<Record<ContradictionCode, string>> = {
  not_in_remap: 'exported from V3, and in no row of the remap',
  twice_in_remap: 'exported from V3 once, and in several rows of the remap',
  not_exported: 'in the remap with a V3 id or platform_id that was not exported',
  v4_not_in_remap: 'exported from V4, and in no row of the remap',
  v4_not_exported: 'in the remap with a V4 id that was not exported with this company and platform_id',
  v4_claimed_twice: 'a V4 id that several V3 records are matched to',
  ids_against_status: 'a row whose status contradicts its ids',
  deletion_against_status: 'a row whose status contradicts what was deleted on either side',
  unique_id_differs: 'paired by platform_unique_id, and these differ',
  child_outside_parent: 'a pair of children that are not in a pair of records',
  child_against_parent: 'a child whose status contradicts that of the record it is in',
  company_not_paired: 'a pair of records whose companies are not paired',
  key_exists_in_v4: 'a row that says V4 has no such record, though V4 has one with the same platform_id',
};

/** The command to run after each exit code but 0. */
const NEXT = {
  1: 'svc-migrate run',
  4: 'svc-migrate verify',
  5: 'svc-migrate run',
} as const;

/** Renders what was compared, the result. `next`: the command to run next if all agree. */
export function renderVerify(result: VerifyResult, width: number, next: string): string {
  const { remap, wrong } = result;
  const code = judgeVerify(result);
  const lines = [
    `Remap of ${formatTime(remap.builtAt)}, sha256 ${remap.sha256.slice(0, 12)}…: unchanged since it was built.`,
    ...describeContradictions(result),
    ...describeReading(result),
    ...(wrong.length === 0 ? [] : ['Disagree:', ...listFirst(wrong, wrong.length, describeWrong)]),
    describeOutcome(result),
    `Next: ${code === 0 ? next : NEXT[code]}`,
  ];
  return wrapLines(lines, width);
}

function listFirst<T>(items: readonly T[], total: number, describe: (item: T) => string): string[] {
  const more = total > MAX_SHOWN ? [`  … and ${groupDigits(total - MAX_SHOWN)} more; --json lists more`] : [];
  return [...items.slice(0, MAX_SHOWN).map((item) => `  ${describe(item)}`), ...more];
}

function describeContradictions({ contradictions }: VerifyResult): string[] {
  if (contradictions.length === 0) {
    return [
      'Against the export: every V3 record and child is in exactly one row, every V4 one in at least one, and no row contradicts the records.',
    ];
  }
  return contradictions.flatMap(({ code, total, first }) => [
    `Against the export: ${groupDigits(total)} × ${CONTRADICTIONS[code]}:`,
    ...listFirst(first, total, ({ model, path, region, ...one }) => {
      const place = [model, path, region, `company ${one.company_id}`].filter(Boolean).join(' ');
      return `${place}: V3 ${one.v3_svc_id ?? '-'}, V4 ${one.v4_svc_id ?? '-'}, platform_id ${one.platform_id ?? '(none)'}`;
    }),
  ]);
}

function describeReading(result: VerifyResult): string[] {
  const { coverage, agree, wrong, gone, deletedSince, failed, unread, firstError } = result;
  const { kind, pairs, matched, strata, drawn } = coverage;
  const models = countOf(strata, 'model of a company', 'models of companies');
  const whole = `${countOf(pairs, 'pair')} (${groupDigits(matched)} matched, ${groupDigits(pairs - matched)} deleted)`;
  const asked =
    kind === 'all'
      ? `all ${whole}`
      : `${groupDigits(drawn)} of ${whole}, drawn in proportion to ${models}, at least one of each`;
  const lines = [
    `Against both APIs: ${asked}.`,
    `  ${groupDigits(agree)} agree in company and platform_id, ${groupDigits(wrong.length)} disagree`,
  ];
  const were = (count: number): string => `${groupDigits(count)} ${count === 1 ? 'was' : 'were'}`;
  if (deletedSince > 0) {
    lines.push(
      `  ${groupDigits(deletedSince)} of them ${deletedSince === 1 ? 'was' : 'were'} deleted in V4 since the export`,
    );
  }
  if (gone > 0)
    lines.push(`  ${were(gone)} deleted in V4 and ${gone === 1 ? 'is' : 'are'} no longer shown: not proved`);
  if (failed + unread > 0) {
    const stopped = unread > 0 ? `, ${groupDigits(unread)} not asked for after that` : '';
    lines.push(`  ${groupDigits(failed)} could not be read${stopped}. First: ${firstError ?? ''}`);
  }
  return lines;
}

function describeWrong({ pair, code, v3, v4 }: WrongPair): string {
  const what = pair.path === '' ? pair.model : `${pair.model} ${pair.path}`;
  const name = `${what} V3 ${pair.v3_svc_id} (${pair.region}, company ${pair.v3_company_id}) → V4 ${pair.v4_svc_id} (company ${pair.v4_company_id}), platform_id ${pair.platform_id ?? '(none)'}`;
  const now = [
    ['V3', v3],
    ['V4', v4],
  ] as const;
  const said = now.flatMap(([side, one]) =>
    one === null ? [] : `${side} says company ${one.companyId}, platform_id ${one.platformId ?? '(none)'}`,
  );
  return `${name}: ${DISAGREEMENTS[code]}${said.length === 0 ? '' : ` (${said.join('; ')})`}`;
}

function describeOutcome(result: VerifyResult): string {
  switch (judgeVerify(result)) {
    case 0:
      return result.coverage.kind === 'all'
        ? 'Verified: all pairs agree.'
        : 'Verified: all sampled pairs agree.';
    case 1:
      return 'NOT verified: the remap is wrong somewhere. Do not use it; export again and verify again.';
    case 4:
      return 'Not verified: not every pair could be read.';
    case 5:
      return 'There is nothing to verify: the remap holds no pair.';
  }
}

/** The result for scripts; ids are digits in text. */
export function renderVerifyJson(result: VerifyResult): string {
  const { wrong, contradictions, ...rest } = result;
  return renderJson({
    schemaVersion: 1,
    exitCode: judgeVerify(result),
    ...rest,
    disagree: wrong.length,
    contradictions: contradictions.map(({ first, ...list }) => ({
      ...list,
      first: first.map(({ code: _, ...one }) => one),
    })),
    disagreements: wrong.map(({ pair, code, v3, v4 }) => {
      const { row: _row, parent: _parent, matched_by: _by, v4_platform_id: _key, ...named } = pair;
      return { code, ...named, v3: sideJson(v3), v4: sideJson(v4) };
    }),
  });
}

function sideJson(side: PairSide | null) {
  if (side === null) return null;
  const { companyId: company_id, platformId: platform_id, platformUniqueId, deleted } = side;
  return { company_id, platform_id, platform_unique_id: platformUniqueId, deleted };
}
