import type { ProgressEvent, StreamKey } from './domain.js';
import { countOf, formatDuration, groupDigits } from './report/numbers.js';
import { displayWidth, fitText } from './report/text-layout.js';

interface StreamTally {
  records: number;
  /** As the service says it; null where it does not. */
  total: number | null;
  ended: boolean;
}

/** What a stage has done so far. */
export interface Tally {
  readonly stage: string;
  readonly startedMs: number;
  readonly streams: Map<string, StreamTally>;
  records: number;
  pages: number;
  waits: number;
  wait: { readonly untilMs: number; readonly reason: string } | null;
  step: { readonly name: string; readonly done: number; readonly total: number | null } | null;
}

const BAR_COLUMNS = 20;

/** A stage that begins. */
export function beginTally(stage: string, nowMs: number): Tally {
  return {
    stage,
    startedMs: nowMs,
    streams: new Map(),
    records: 0,
    pages: 0,
    waits: 0,
    wait: null,
    step: null,
  };
}

/** Takes one event into the tally. */
export function countEvent(tally: Tally, event: ProgressEvent, nowMs: number): void {
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
      tally.step = { name: event.name, done: event.done, total: event.total };
      return;
    case 'stage':
    case 'note':
      return;
  }
}

function streamOf(tally: Tally, { generation, region, model, companyId }: StreamKey): StreamTally {
  const name = JSON.stringify([generation, region, model, companyId?.toString()]);
  const known = tally.streams.get(name);
  if (known !== undefined) return known;
  const fresh = { records: 0, total: null, ended: false };
  tally.streams.set(name, fresh);
  return fresh;
}

/** Records or steps done and to do; `total` is null where nothing says it. */
function measure(tally: Tally): { readonly done: number; readonly total: number | null } {
  if (tally.pages === 0 && tally.step !== null) return tally.step;
  let total: number | null = 0;
  for (const stream of tally.streams.values()) {
    // A list that ended, or goes on beyond its count, is as long as what arrived.
    const own = stream.ended ? stream.records : stream.total;
    total = own === null || total === null ? null : total + Math.max(own, stream.records);
  }
  return { done: tally.records, total: tally.streams.size === 0 ? null : total };
}

/** The state of a stage in at most `width` columns; what matters less is left out where room is short. */
export function renderLine(tally: Tally, nowMs: number, width: number): string {
  const parts = [tally.stage, ...listParts(tally, nowMs)];
  let line = '';
  for (const part of parts) {
    const longer = line === '' ? part : `${line} · ${part}`;
    if (displayWidth(longer) <= width) line = longer;
  }
  return line === '' ? fitText(tally.stage, width) : line;
}

/** The same with a bar in front, for terminals. */
export function renderBarLine(tally: Tally, nowMs: number, width: number): string {
  const { done, total } = measure(tally);
  if (total === null || total === 0 || width < 3 * BAR_COLUMNS) return renderLine(tally, nowMs, width);
  const filled = Math.min(BAR_COLUMNS, Math.floor((done / total) * BAR_COLUMNS));
  const bar = `${'█'.repeat(filled)}${'░'.repeat(BAR_COLUMNS - filled)}`;
  return `${bar} ${renderLine(tally, nowMs, width - BAR_COLUMNS - 1)}`;
}

/** What remains to be said once a stage is over; null where an error says it all. */
export function renderEnd(tally: Tally, nowMs: number, end: 'done' | 'failed'): string | null {
  const took = formatDuration(nowMs - tally.startedMs);
  if (tally.pages === 0) return end === 'done' ? `${tally.stage}: done in ${took}` : null;
  const waits = tally.waits === 0 ? '' : `, ${countOf(tally.waits, 'wait')}`;
  const stopped = end === 'done' ? '' : 'stopped after ';
  const records = `${countOf(tally.records, 'record')} in ${countOf(tally.pages, 'page')}`;
  return `${tally.stage}: ${stopped}${records}, ${took}${waits}`;
}

/** By importance: a wait explains everything else. */
function listParts(tally: Tally, nowMs: number): string[] {
  const { done, total } = measure(tally);
  const parts: string[] = [];
  const { wait, step } = tally;
  if (wait !== null && wait.untilMs > nowMs) {
    parts.push(`waiting ${formatDuration(Math.max(1000, wait.untilMs - nowMs))}: ${wait.reason}`);
  }
  if (tally.pages === 0) {
    if (step !== null) {
      parts.push(step.total === null ? step.name : `${step.name} ${step.done}/${step.total}`);
    }
    return parts;
  }
  parts.push(`${groupDigits(done)}${total === null ? '' : ` of ${groupDigits(total)}`} records`);
  const perSecond = done / Math.max(0.001, (nowMs - tally.startedMs) / 1000);
  parts.push(`${groupDigits(Math.round(perSecond))}/s`);
  if (total !== null && total > done && perSecond > 0) {
    parts.push(`${formatDuration(Math.max(1000, ((total - done) / perSecond) * 1000))} left`);
  }
  parts.push(`${groupDigits(tally.pages)} pages`);
  if (tally.waits > 0) parts.push(`${groupDigits(tally.waits)} waits`);
  return parts;
}
