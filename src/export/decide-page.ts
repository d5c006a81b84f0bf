import { EXPIRED_STATUSES, isUnfinished } from '../domain.js';
import type { StreamRow } from '../store/streams.js';
import { divideList } from './divide.js';
import {
  countPage,
  type ErrorOutcome,
  endPass,
  fail,
  finish,
  isConfirming,
  isoOf,
  isUndecided,
  MAX_IDLE_PAGES,
  movedTo,
  objectsIn,
  type PageOutcome,
  type ReadingRules,
  type Step,
  type StreamOutcome,
  settle,
  startPass,
  startReading,
  startSweep,
  startWalk,
  toOneList,
} from './passes.js';

/** Errors that would occur again if the stream continued at its cursor. */
const DEAD_ENDS: readonly (string | null)[] = ['cursor_loop', 'cursor_expired', 'no_progress'];

/** Decides the next step of a stream after an outcome. Pure. */
export function decide(row: StreamRow, outcome: StreamOutcome, rules: ReadingRules): Step {
  switch (outcome.kind) {
    case 'page':
      return afterPage(row, outcome, rules);
    case 'error':
      return afterError(row, outcome, rules);
    case 'dropped':
      return finish(row, outcome.nowMs);
    default:
      return outcome satisfies never;
  }
}

/**
 * Decides the first step of a stream in an export. With `restart`, it is read from the start. Otherwise an unfinished
 * reading continues, and a finished one is updated by a sweep if the generation has sweeps.
 */
export function begin(row: StreamRow, restart: boolean, rules: ReadingRules, nowMs: number): Step {
  if (isUntouched(row)) {
    const startedAt = isoOf(nowMs);
    return { row: row.startedAt === startedAt ? row : { ...row, startedAt }, discard: [] };
  }
  if (restart || row.state === 'absent') return startReading(row, nowMs);
  if (isUnfinished(row)) return resume(row, rules);
  if (!rules.sweeps) return startReading(row, nowMs);
  const topUp: StreamRow = { ...row, state: 'running', endReason: null, finishedAt: null };
  return startSweep(movedTo(topUp, { rounds: 0, toppedUp: true }), row.position.passWatermarkMs, rules);
}

function isUntouched({ state, pages, position }: StreamRow): boolean {
  return state === 'running' && pages === 0 && position.walk === 1;
}

function resume(row: StreamRow, rules: ReadingRules): Step {
  const running: StreamRow = { ...row, state: 'running', endReason: null, endNote: null };
  const toppedUp = row.position.toppedUp || row.pages > 0;
  const fresh = movedTo(running, { restartUnique: null, toppedUp });
  if (row.endReason === 'incomplete') return startPass(movedTo(fresh, { rounds: 0 }), 'recount', null);
  if (DEAD_ENDS.includes(row.endReason)) return startWalk(fresh);
  const isDivided = row.position.phase === 'parts' || isConfirming(row);
  return isDivided && rules.divides !== true
    ? toOneList({ ...fresh, readBy: 'list' })
    : { row: fresh, discard: [] };
}

function afterPage(row: StreamRow, page: PageOutcome, rules: ReadingRules): Step {
  const counted = countPage(startClocks(row, page), page);
  return isConfirming(row)
    ? afterConfirmingPage(row, counted, page, rules)
    : afterCounted(counted, page, rules);
}

/** Ends a list that was read company by company if its total_count is still that of its parts; otherwise reads on. */
function afterConfirmingPage(
  before: StreamRow,
  counted: StreamRow,
  page: PageOutcome,
  rules: ReadingRules,
): Step {
  const expected = before.totalCountLast;
  if (page.totalCount === expected && objectsIn(counted) === expected) return endPass(counted, page, rules);
  const note = `${counted.model} is read as one list, not company by company: it changed meanwhile.`;
  return { note, ...afterCounted({ ...counted, readBy: 'list' }, page, rules) };
}

function afterCounted(counted: StreamRow, page: PageOutcome, rules: ReadingRules): Step {
  if (page.next === null) return afterLastPage(counted, page, rules);
  if (page.cursorRepeats) {
    return fail(counted, 'cursor_loop', 'The server sent a cursor that it had sent before in this walk.');
  }
  if (counted.position.idlePages >= MAX_IDLE_PAGES) {
    return fail(counted, 'no_progress', `${MAX_IDLE_PAGES} pages in a row had no new record.`);
  }
  const next = movedTo(counted, { cursor: page.next });
  return isUndecided(counted, rules) ? withParts(next, page) : { row: next, discard: [] };
}

/** Decides whether the list is read company by company from here on. */
function withParts(row: StreamRow, page: PageOutcome): Step {
  const parts = divideList(row, page, page.companies ?? { inV3: [], inV4: [] });
  if (parts === 'later') return { row, discard: [] };
  if (parts.length === 0) return { row: movedTo(row, { judged: true }), discard: [] };
  return { row: movedTo(row, { phase: 'parts', judged: true }), discard: [], parts };
}

/** An empty last page after a cursor may be an error of the service: the same page is requested once more. */
function afterLastPage(row: StreamRow, page: PageOutcome, rules: ReadingRules): Step {
  const { cursor, emptyEnd } = row.position;
  if (!page.isEmpty || cursor === null || emptyEnd) return endPass(row, page, rules);
  return { row: movedTo(row, { emptyEnd: true }), discard: [] };
}

/** The first page of a walk sets its start, and the watermarks of the pass and the reading that begin with the walk. */
function startClocks(row: StreamRow, page: PageOutcome): StreamRow {
  const { cursor, walk, passWalk, keepFrom, passWatermarkMs } = row.position;
  if (cursor !== null) return row;
  const watermark = watermarkOf(page) ?? passWatermarkMs;
  return movedTo(row, {
    walkStartedMs: page.askedMs,
    ...(walk === passWalk ? { passWatermarkMs: watermark } : {}),
    ...(walk === keepFrom ? { readingWatermarkMs: watermark } : {}),
  });
}

function afterError(row: StreamRow, error: ErrorOutcome, rules: ReadingRules): Step {
  const { cursor, passUnique, restartUnique } = row.position;
  if (error.code !== 'http_status') return fail(row, error.code, error.sentence);
  if (cursor !== null && EXPIRED_STATUSES.includes(error.status)) {
    if (restartUnique !== null && passUnique <= restartUnique) {
      const sentence = `The cursor expired again before the walk got further than the last time: ${error.sentence}`;
      return fail(row, 'cursor_expired', sentence);
    }
    return startWalk(movedTo(row, { restartUnique: passUnique }));
  }
  if (error.status === 404 && isAbsence(row, rules)) return absent(row, error);
  return fail(row, error.code, error.sentence);
}

/** A list cannot be absent if it returned pages in this reading, or if records of an earlier reading must be kept. */
function isAbsence({ position }: StreamRow, rules: ReadingRules): boolean {
  const isFirstPage = position.phase === 'walk' && position.walk === position.keepFrom;
  return isFirstPage && (rules.dropsMissingLists || !position.stale);
}

function absent(row: StreamRow, error: ErrorOutcome): Step {
  const known: StreamRow = { ...row, readAt: isoOf(error.askedMs) };
  return settle(movedTo(known, { ending: 'absent' }), error.nowMs);
}

/**
 * The watermark from the first page of a walk: a time of the service's clock, not later than the moment at which the
 * service read the page; null if unknown. Records added or changed after that have an update time at or after it.
 *
 * It is the `Date` header, which is set when the service responds, minus the duration of the request. Without that
 * header, it is the latest update time on the page, which the service had stored by then. If the local clock is earlier,
 * it is used instead, in case a proxy's clock or an update time is ahead.
 */
export function watermarkOf({
  askedMs,
  nowMs,
  servedMs,
  latestUpdateMs,
}: Pick<PageOutcome, 'askedMs' | 'nowMs' | 'servedMs' | 'latestUpdateMs'>): number | null {
  const serviceMs = servedMs === null ? latestUpdateMs : servedMs - Math.max(0, nowMs - askedMs);
  return serviceMs === null ? null : Math.min(serviceMs, askedMs);
}
