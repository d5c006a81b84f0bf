import type { ProgressEvent, StreamKey } from './domain.js';
import { countOf, formatDuration, groupDigits } from './text/numbers.js';
import { displayWidth, fitText } from './text/text-layout.js';

interface StreamTally {
  records: number;
  /** As reported by the service; null if it is not. */
  total: number | null;
  ended: boolean;
}

/** The progress of a stage. */
export interface StageTally {
  readonly stage: string;
  readonly startedMs: number;
  readonly streams: Map<string, StreamTally>;
  records: number;
  pages: number;
  waits: number;
  wait: { readonly untilMs: number; readonly reason: string } | null;
  step: {
    readonly name: string;
    readonly done: number;
    readonly total: number | null;
    readonly text?: string | undefined;
  } | null;
  /** Number of lists that the stage reads; null if unknown. */
  lists: number | null;
  /** What an earlier process has read: ended lists, and all records. */
  resumed: { readonly lists: number; readonly ended: number; readonly records: number };
  /** The part that is done, 0 to 1, as last shown. */
  fraction: number;
  /** The time left, as last shown. */
  estimate: { readonly atMs: number; readonly leftMs: number } | null;
}

const BAR_COLUMNS = 20;
/** The step by which an export reports the number of its lists. */
const LISTS = 'lists';
/** The step before it. It has no bar, because the bar of the lists would start again from zero. */
const PREPARING = 'preparing lists';
/** Fewest steps from which the time left is estimated. */
const MANY_STEPS = 100;

/** Name of the stage for work that announced none; it prints no final line. */
export const UNNAMED_STAGE = 'working';

/** The tally of a stage that begins. */
export function beginTally(stage: string, nowMs: number): StageTally {
  return {
    stage,
    startedMs: nowMs,
    streams: new Map(),
    records: 0,
    pages: 0,
    waits: 0,
    wait: null,
    step: null,
    lists: null,
    resumed: { lists: 0, ended: 0, records: 0 },
    fraction: 0,
    estimate: null,
  };
}

/** Adds one event to the tally. */
export function countEvent(tally: StageTally, event: ProgressEvent, nowMs: number): void {
  switch (event.kind) {
    case 'page': {
      const stream = streamOf(tally, event.stream);
      stream.records += event.records;
      stream.total = event.totalCount === null ? stream.total : Math.max(stream.total ?? 0, event.totalCount);
      tally.records += event.records;
      tally.pages += 1;
      return;
    }
    case 'stream':
      streamOf(tally, event.stream).ended = true;
      return;
    case 'wait':
      tally.waits += 1;
      tally.wait = { untilMs: nowMs + event.waitMs, reason: event.reason };
      return;
    case 'step':
      if (event.name === LISTS) tally.lists = event.total;
      // Each step is measured from its own start.
      if (event.name !== tally.step?.name && tally.pages === 0)
        Object.assign(tally, { fraction: 0, estimate: null });
      tally.step = { name: event.name, done: event.done, total: event.total, text: event.text };
      return;
    case 'resume':
      for (const { stream, records, totalCount } of event.open) {
        Object.assign(streamOf(tally, stream), { records, total: totalCount });
      }
      tally.resumed = {
        lists: event.lists,
        ended: event.records,
        records: event.open.reduce((sum, { records }) => sum + records, event.records),
      };
      return;
    case 'stage':
    case 'end':
    case 'note':
      return;
  }
}

function streamOf(tally: StageTally, { generation, region, model, companyId }: StreamKey): StreamTally {
  const name = JSON.stringify([generation, region, model, companyId?.toString()]);
  const known = tally.streams.get(name);
  if (known !== undefined) return known;
  const fresh = { records: 0, total: null, ended: false };
  tally.streams.set(name, fresh);
  return fresh;
}

/** Progress in records or steps; `total` is null if unknown. */
interface Extent {
  readonly done: number;
  readonly total: number | null;
  /** Whether the total is counted, not extrapolated from the lists started so far. */
  readonly exact: boolean;
}

function measure(tally: StageTally): Extent {
  const { step, streams } = tally;
  if (tally.pages === 0) {
    return step === null || step.name === LISTS || step.name === PREPARING
      ? { done: 0, total: null, exact: false }
      : { ...step, exact: true };
  }
  const { resumed } = tally;
  const done = tally.records + resumed.records;
  let known = 0;
  for (const { records, total, ended } of streams.values()) {
    if (total === null && !ended) return { done, total: null, exact: false };
    // For a list that ended or exceeded its reported count, the records received are its length.
    known += ended ? records : Math.max(total ?? 0, records);
  }
  const lists = Math.max((tally.lists ?? 0) - resumed.lists, streams.size);
  const exact = tally.lists !== null && lists === streams.size;
  return { done, total: resumed.ended + Math.round((known * lists) / streams.size), exact };
}

/** Shortest time between two estimates, ms. */
const ESTIMATE_EVERY_MS = 1000;
/** Time after which a changed estimate is mostly believed, ms. */
const SMOOTH_MS = 10_000;

/** Updates the part that is done, which never shrinks, and the time left, which changes slowly. */
export function updateEstimate(tally: StageTally, nowMs: number): void {
  const { done, total } = measure(tally);
  if (total === null || total === 0) return;
  tally.fraction = Math.max(tally.fraction, Math.min(1, done / total));
  const passedMs = nowMs - (tally.estimate?.atMs ?? tally.startedMs);
  if (passedMs < ESTIMATE_EVERY_MS) return;
  const rawMs = timeLeftMs(tally, { done, total }, nowMs);
  const before = tally.estimate?.leftMs ?? rawMs;
  if (rawMs === null || before === null) return;
  const expectedMs = tally.estimate === null ? rawMs : Math.max(0, before - passedMs);
  // Early estimates rest on little and give way sooner.
  const smoothMs = Math.min(SMOOTH_MS, (nowMs - tally.startedMs) / 3);
  const leftMs = expectedMs + (rawMs - expectedMs) * (1 - Math.exp(-passedMs / Math.max(1, smoothMs)));
  tally.estimate = { atMs: nowMs, leftMs };
}

/** The state of a stage in at most `width` columns; less important parts are left out first. */
export function renderLine(tally: StageTally, nowMs: number, width: number): string {
  const parts = [tally.stage, ...listParts(tally, nowMs)];
  let line = '';
  for (const part of parts) {
    const longer = line === '' ? part : `${line} · ${part}`;
    if (displayWidth(longer) <= width) line = longer;
  }
  return line === '' ? fitText(tally.stage, width) : line;
}

/** As `renderLine`, with a progress bar in front, for terminals. */
export function renderBarLine(tally: StageTally, nowMs: number, width: number): string {
  const { done, total } = measure(tally);
  if (total === null || total === 0 || width < 3 * BAR_COLUMNS) return renderLine(tally, nowMs, width);
  const fraction = Math.max(tally.fraction, Math.min(1, done / total));
  const filled = Math.floor(fraction * BAR_COLUMNS);
  const bar = `${'█'.repeat(filled)}${'░'.repeat(BAR_COLUMNS - filled)}`;
  return `${bar} ${renderLine(tally, nowMs, width - BAR_COLUMNS - 1)}`;
}

/** The final line of a stage; null if there is nothing to add. */
export function renderEnd(tally: StageTally, nowMs: number, end: 'done' | 'failed'): string | null {
  const took = formatDuration(nowMs - tally.startedMs);
  if (tally.pages === 0) {
    return end === 'done' && tally.stage !== UNNAMED_STAGE ? `${tally.stage}: done in ${took}` : null;
  }
  const waits = tally.waits === 0 ? '' : `, ${countOf(tally.waits, 'wait')}`;
  const stopped = end === 'done' ? '' : 'stopped after ';
  const records = `${countOf(tally.records, 'record')} in ${countOf(tally.pages, 'page')}`;
  return `${tally.stage}: ${stopped}${records}, ${took}${waits}`;
}

/** Parts of the line by importance; a wait comes first because it explains the rest. */
function listParts(tally: StageTally, nowMs: number): string[] {
  const { wait, step } = tally;
  const parts: string[] = [];
  if (wait !== null && wait.untilMs > nowMs) {
    parts.push(`waiting ${formatDuration(Math.max(1000, wait.untilMs - nowMs))}: ${wait.reason}`);
  }
  if (tally.pages === 0) {
    if (step !== null && step.name !== LISTS) parts.push(...listStepParts(tally, step, nowMs));
    return parts;
  }
  const { done, total, exact } = measure(tally);
  const isKnown = total !== null && exact;
  parts.push(isKnown ? `${groupDigits(done)} of ${countOf(total, 'record')}` : countOf(done, 'record'));
  parts.push(`${groupDigits(Math.round(tally.records / secondsOf(tally, nowMs)))}/s`);
  parts.push(...timeLeft(tally, { done, total }, nowMs));
  const ended = tally.resumed.lists + [...tally.streams.values()].filter((stream) => stream.ended).length;
  if (tally.lists !== null && tally.lists > 1) parts.push(`${ended} of ${countOf(tally.lists, 'list')}`);
  parts.push(countOf(tally.pages, 'page'));
  if (tally.waits > 0) parts.push(countOf(tally.waits, 'wait'));
  return parts;
}

function listStepParts(tally: StageTally, step: NonNullable<StageTally['step']>, nowMs: number): string[] {
  if (step.text !== undefined) return step.text.split(' · ');
  if (step.total === null) return [step.name];
  const count = `${step.name} ${groupDigits(step.done)} of ${groupDigits(step.total)}`;
  // A few steps may differ too much in length for an estimate.
  return step.total < MANY_STEPS ? [count] : [count, ...timeLeft(tally, step, nowMs)];
}

function timeLeft(tally: StageTally, { done, total }: Omit<Extent, 'exact'>, nowMs: number): string[] {
  const leftMs = tally.estimate?.leftMs ?? timeLeftMs(tally, { done, total }, nowMs);
  if (leftMs === null || total === null || total <= done) return [];
  return [`${formatDuration(Math.max(1000, leftMs))} left`];
}

/** The time left at the average speed of this process; null if it cannot be told yet. */
function timeLeftMs(tally: StageTally, { done, total }: Omit<Extent, 'exact'>, nowMs: number): number | null {
  const fresh = tally.pages === 0 ? done : tally.records;
  if (total === null || total <= done || fresh === 0) return null;
  return ((total - done) / fresh) * secondsOf(tally, nowMs) * 1000;
}

function secondsOf(tally: StageTally, nowMs: number): number {
  return Math.max(0.001, (nowMs - tally.startedMs) / 1000);
}
