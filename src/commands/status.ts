import { statSync } from 'node:fs';
import { sleepForReal } from '../api/limiter.js';
import type { Config } from '../config/config.js';
import { isUnfinished, STREAM_STATES, type StreamState } from '../domain.js';
import { SvcError } from '../errors.js';
import { STATUSES } from '../reasons.js';
import { buildTrend } from '../report/sections.js';
import { assertStdout, writeOutput, writeText } from '../runtime/write-output.js';
import { type Cutover, flippedState, progressOf, readCutover } from '../store/cutover.js';
import {
  findIncomplete,
  hasNoList,
  isStale,
  nameOfList,
  type Readiness,
  readReadiness,
} from '../store/readiness.js';
import { EVERYTHING } from '../store/remap.js';
import { type RemapRun, readRemapRuns } from '../store/remap-tables.js';
import type { StreamRow } from '../store/streams.js';
import { addFlags, escapeJson, escapeUnseen } from '../text/escape.js';
import { countOf, formatDuration, formatShare, formatTime, groupDigits } from '../text/numbers.js';
import { wrapText } from '../text/text-layout.js';
import type { Given, Io } from './command.js';
import { describeOwner, readDatabase } from './database.js';
import { durationOption } from './option-values.js';
import { STEP_TITLES } from './render-cutover.js';
import { withOutputs } from './with-outputs.js';

/** Moves to the top of the terminal and clears it. */
const CLEAR = '\u001b[H\u001b[2J';
/** Default and shortest pause of `--watch`. */
const EVERY_MS = 2000;
const LEAST_EVERY_MS = 200;

const OPEN_LISTS = 20;
const RUNS = 6;

/**
 * `status`: shows what the database holds, what is unfinished, and the next command. Reads no records. With `--watch`,
 * again and again until a signal.
 *
 * @throws SvcError `interrupted`, and as `openDatabase` does
 */
export async function runStatus(given: Given, io: Io): Promise<number> {
  const json = given.text('json');
  const everyMs = durationOption(given, 'every');
  const isWatching = given.isSet('watch');
  if (!isWatching && everyMs !== undefined) throw new SvcError('usage', '--every goes with --watch.');
  if (isWatching && json !== undefined) throw new SvcError('usage', '--json does not go with --watch.');
  return withOutputs(given, io, { outputs: { json } }, async (config, within) => {
    if (isWatching) await watch(config, everyMs, within);
    else await showOnce(config, json, within);
    return 0;
  });
}

async function showOnce(config: Config, json: string | undefined, io: Io): Promise<void> {
  if (json === '-') assertStdout();
  const facts = await readFacts(config, io);
  if (json !== undefined) {
    const text = `${escapeJson(JSON.stringify(buildStatusJson(facts), null, 2))}\n`;
    await writeOutput({ target: json, chunks: () => [text] }, io);
  }
  if (json !== '-') await writeText(io.stdout, [describeStatus(facts, io)]);
}

async function watch(config: Config, everyMs: number | undefined, io: Io): Promise<never> {
  for (;;) {
    const text = describeStatus(await readFacts(config, io), io);
    await writeText(io.stdout, [io.isTty ? `${CLEAR}${text}` : `${text}\n`]);
    try {
      await sleepForReal(Math.max(LEAST_EVERY_MS, everyMs ?? EVERY_MS), io.signal);
    } catch (cause) {
      throw new SvcError('interrupted', 'Stopped watching.', { cause });
    }
  }
}

function readFacts(config: Config, { flags = '' }: Io): Promise<StatusFacts> {
  return readDatabase(config, async (db) => {
    const readiness = readReadiness(db, config, EVERYTHING);
    const cutover = readCutover(db);
    return {
      database: config.database,
      owner: describeOwner(config.database),
      readiness,
      runs: readRemapRuns(db, RUNS),
      cutover,
      next: addFlags(isUnderWay(cutover) ? 'svc-migrate cutover' : findNext(readiness), flags),
    };
  });
}

function describeStatus({ database, owner, readiness, runs, cutover, next }: StatusFacts, io: Io): string {
  const now = io.clock.now();
  const lines = [
    `Database: ${database} (${groupDigits(Math.ceil(statSync(database).size / 1024))} KiB)`,
    ...(owner === null ? [] : [`In use: ${owner}`]),
    describeGeneration(readiness, 'v3', now),
    describeGeneration(readiness, 'v4', now),
    ...describeOpen(readiness.streams),
    ...describeRemap(readiness, runs),
    describeExports(readiness),
    ...(isUnderWay(cutover) ? [describeCutover(cutover)] : []),
  ];
  const text = lines.flatMap((line) => wrapText(escapeUnseen(line), io.width, /^ */.exec(line)?.[0] ?? ''));
  // A command is not wrapped: it is to be copied.
  return `${[...text, escapeUnseen(`Next: ${next}`)].join('\n')}\n`;
}

function isUnderWay(cutover: Cutover | null): cutover is Cutover {
  return cutover !== null && !progressOf(cutover).isFinished;
}

/** An unfinished cutover: `Cutover: 20261123-031500-ab12, begun …; check failed; the application was not flipped`. */
function describeCutover(cutover: Cutover): string {
  const { step, state } = progressOf(cutover);
  const last = step === null ? 'no step is done' : `${STEP_TITLES[step]} ${STEP_STATES[state ?? 'running']}`;
  return `Cutover: ${cutover.id}, begun ${formatTime(cutover.startedAt)}; ${last}; ${FLIPPED[flippedState(cutover)]}`;
}

const STEP_STATES = { running: 'is not finished', done: 'is done', failed: 'failed' } as const;
const FLIPPED = {
  no: 'the application was not flipped',
  unknown: 'the flip was begun, and may be done',
  yes: 'the application is flipped',
} as const;

function describeGeneration(facts: Readiness, generation: 'v3' | 'v4', now: number): string {
  const streams = facts.streams.filter((stream) => stream.generation === generation);
  const name = generation.toUpperCase();
  if (streams.length === 0) return `${name}: not exported yet`;
  const states = [...STREAM_STATES, 'not begun' as const]
    .map((state) => ({ state, n: streams.filter((stream) => stateOf(stream) === state).length }))
    .filter(({ n }) => n > 0);
  const rejected = streams.reduce((sum, stream) => sum + stream.rejected, 0);
  const parts = [
    `${countOf(streams.length, 'list')} (${states.map(({ state, n }) => `${groupDigits(n)} ${state}`).join(', ')})`,
    describeRecords(streams),
    ...(rejected > 0 ? [`${groupDigits(rejected)} rejected`] : []),
    `oldest reading ${formatDuration(now - oldestOf(streams))} ago`,
  ];
  return `${name}: ${parts.join(', ')}`;
}

/** Its state; a list of which no page was read yet is not begun. */
function stateOf({ state, pages }: StreamRow): StreamState | 'not begun' {
  return state === 'running' && pages === 0 ? 'not begun' : state;
}

/** `1,200 records`, or while lists are being read `1,200 of about 2,243 records (53 %)`. */
function describeRecords(streams: readonly StreamRow[]): string {
  const records = streams.reduce((sum, stream) => sum + stream.uniqueRecords, 0);
  const isKnown = streams.every((stream) => !isUnfinished(stream) || stream.totalCountLast !== null);
  if (!streams.some(isUnfinished) || !isKnown) return countOf(records, 'record');
  const total = streams.reduce((sum, stream) => {
    const { uniqueRecords, totalCountLast } = stream;
    return sum + (isUnfinished(stream) ? Math.max(uniqueRecords, totalCountLast ?? 0) : uniqueRecords);
  }, 0);
  return `${groupDigits(records)} of about ${countOf(total, 'record')} (${formatShare(records, total)})`;
}

function oldestOf(streams: readonly StreamRow[]): number {
  return Math.min(...streams.map((stream) => Date.parse(stream.readAt ?? stream.startedAt)));
}

function describeOpen(streams: readonly StreamRow[]): string[] {
  const open = streams.filter(isUnfinished);
  if (open.length === 0) return [];
  const shown = open.slice(0, OPEN_LISTS).map((stream) => {
    const { totalCountLast: total, uniqueRecords } = stream;
    const own = total === null ? '' : `${groupDigits(uniqueRecords)} of `;
    const records = `${own}${countOf(total ?? uniqueRecords, 'record')}`;
    const why = stream.endReason === null ? '' : `: ${stream.endNote ?? stream.endReason}`;
    const name = `  ${stream.generation.toUpperCase()} ${nameOfList(stream)}`;
    return stateOf(stream) === 'not begun'
      ? `${name}: not begun`
      : `${name}: ${stream.state} after ${countOf(stream.pages, 'page')}, ${records}${why}`;
  });
  const more = open.length - shown.length;
  return ['Unfinished:', ...shown, ...(more > 0 ? [`  … and ${groupDigits(more)} more`] : [])];
}

function describeRemap(facts: Readiness, runs: readonly RemapRun[]): string[] {
  const last = runs.at(-1);
  if (last === undefined) return ['Remap: none yet'];
  const state = isStale(last, facts.exportSeq)
    ? 'older than the exported data'
    : facts.changedInputs.length > 0
      ? 'built with other files than the configuration names now'
      : 'current';
  return [`Remap: build ${last.id} of ${formatTime(last.built_at)}, ${state}`, ...describeTrend(runs)];
}

/** Rows of the latest builds by status, such as `unmatched 1,204 → 310 → 12`. */
function describeTrend(runs: readonly RemapRun[]): string[] {
  const trend = buildTrend(runs);
  return STATUSES.flatMap((status) => {
    const counts = trend.map((run) => run.byStatus[status]);
    const isShown = status === 'unmatched' || counts.some((count) => count > 0);
    return isShown ? [`  ${status} ${counts.map(groupDigits).join(' → ')}`] : [];
  });
}

/** What each export would do now. */
function describeExports({ streams }: Readiness): string {
  const absent = absentOf(streams);
  if (absent.length > 0) {
    const names = absent.map((generation) => generation.toUpperCase()).join(' and ');
    return `${names} answered 404 to every list: the names or the address are wrong.`;
  }
  const of = (generation: 'v3' | 'v4', words: { readonly first: string; readonly again: string }) => {
    const own = streams.filter((stream) => stream.generation === generation);
    if (own.length === 0) return words.first;
    return own.some(isUnfinished) ? 'continues where it stopped' : words.again;
  };
  const v3 = of('v3', { first: 'reads V3', again: 'reads what changed in V3' });
  const v4 = of('v4', { first: 'reads V4', again: 'reads V4 again' });
  return `\`export v3\` ${v3}; \`export v4\` ${v4}.`;
}

function absentOf(streams: readonly StreamRow[]) {
  return (['v3', 'v4'] as const).filter((generation) => hasNoList(streams, generation));
}

/** The command to run next. */
function findNext(facts: Readiness): string {
  if (absentOf(facts.streams).length > 0) return 'svc-migrate doctor';
  const commands = new Set(findIncomplete(facts).map((blocker) => blocker.next));
  const [only] = commands;
  return commands.size > 1 ? 'svc-migrate run' : (only ?? 'svc-migrate check');
}

/** What `status --json` describes. */
interface StatusFacts {
  readonly database: string;
  /** The process that uses the database; null if none does. */
  readonly owner: string | null;
  readonly readiness: Readiness;
  /** The latest builds of the remap, oldest first. */
  readonly runs: readonly RemapRun[];
  /** The last cutover that was begun; null if none was. */
  readonly cutover: Cutover | null;
  readonly next: string;
}

/** The state of the database for programs. */
function buildStatusJson({ database, owner, readiness, runs, cutover, next }: StatusFacts): object {
  const { streams } = readiness;
  const last = runs.at(-1);
  return {
    schemaVersion: 1,
    exitCode: 0,
    database: { file: database, bytes: statSync(database).size, owner },
    v3: describeLists(streams.filter(({ generation }) => generation === 'v3')),
    v4: describeLists(streams.filter(({ generation }) => generation === 'v4')),
    unfinished: streams.filter(isUnfinished).map(describeList),
    remap: last === undefined ? null : { ...describeBuild(last), isCurrent: isCurrent(readiness, last) },
    trend: buildTrend(runs).map(({ builtAt, byStatus }) => ({ builtAt, byStatus })),
    cutover: cutover === null ? null : summariseCutover(cutover),
    next,
  };
}

function summariseCutover(cutover: Cutover) {
  const { id, startedAt } = cutover;
  return { id, startedAt, flipped: flippedState(cutover), ...progressOf(cutover) };
}

function describeBuild({ id, built_at: builtAt, sha256 }: RemapRun) {
  return { build: Number(id), builtAt, sha256 };
}

function isCurrent({ exportSeq, changedInputs }: Readiness, run: RemapRun): boolean {
  return !isStale(run, exportSeq) && changedInputs.length === 0;
}

function describeLists(streams: readonly StreamRow[]) {
  const sum = (of: 'uniqueRecords' | 'rejected') => streams.reduce((all, stream) => all + stream[of], 0);
  const read = streams.map(({ readAt, startedAt }) => readAt ?? startedAt).sort();
  return {
    lists: Object.fromEntries(
      STREAM_STATES.map((state) => [state, streams.filter((stream) => stream.state === state).length]),
    ),
    records: sum('uniqueRecords'),
    rejected: sum('rejected'),
    oldestReadAt: read[0] ?? null,
  };
}

function describeList(stream: StreamRow) {
  const { generation, region, model, companyId, state, endReason, endNote, pages } = stream;
  return {
    generation,
    region: region === '' ? null : region,
    model,
    companyId: companyId === null ? null : String(companyId),
    state,
    pages,
    records: stream.uniqueRecords,
    totalCount: stream.totalCountLast,
    endReason,
    endNote,
  };
}
