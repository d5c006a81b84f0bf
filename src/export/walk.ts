import { EXPIRED_STATUSES, isUnfinished } from '../domain.js';
import type { ErrorCode } from '../errors.js';
import type { Discard } from '../store/records.js';
import type { StreamRow } from '../store/streams.js';
import { formatTime } from '../text/numbers.js';

/**
 * How long before the start of a walk the sweeps after it begin, ms. Null, for V4: no sweeps, and the stored records of a
 * list that now answers 404 are dropped. V3's are kept, because V3 is being shut down.
 */
export type SweepOverlap = number | null;

export interface PageOutcome {
  readonly kind: 'page';
  /** When it was requested and when it was saved, ms of the local clock. */
  readonly askedMs: number;
  readonly nowMs: number;
  /** The service's clock when it responded; null if unknown. */
  readonly servedMs: number | null;
  /** The latest `<prefix>updated_at` of its records; null if there is none. */
  readonly latestUpdateMs: number | null;
  readonly objects: number;
  /** Records first seen in this reading, and in this walk; records that were new or changed. */
  readonly unique: number;
  readonly fresh: number;
  readonly changed: number;
  readonly rejected: number;
  /** Records of excluded companies, and those first seen in this reading and in this walk. */
  readonly excluded: { readonly objects: number; readonly unique: number; readonly fresh: number };
  readonly totalCount: number | null;
  readonly next: string | null;
  /** Whether this walk had `next` before. */
  readonly cursorRepeats: boolean;
}

export interface ErrorOutcome {
  readonly kind: 'error';
  readonly askedMs: number;
  readonly nowMs: number;
  readonly code: ErrorCode;
  readonly status: number | null;
  readonly sentence: string;
  /** What the database holds of the list. */
  readonly stored: Pick<StreamRow, 'uniqueRecords' | 'rejected' | 'excluded'>;
}

export interface Step {
  readonly row: StreamRow;
  readonly discard: readonly Discard[];
  readonly failure?: { readonly code: ErrorCode; readonly sentence: string; readonly hint?: string };
  readonly note?: string;
}

/** Consecutive pages without a record that is new to the walk; then the list fails. */
const MAX_IDLE_PAGES = 100;
/** Consecutive sweeps: on a busy service, every sweep finds changes. */
export const MAX_SWEEPS = 10;
/** Walks after the first, if total_count fell or is higher than the objects received. */
const MAX_SECOND_WALKS = 1;

export function nextStep(row: StreamRow, outcome: PageOutcome | ErrorOutcome, overlap: SweepOverlap): Step {
  return outcome.kind === 'page' ? afterPage(row, outcome, overlap) : afterError(row, outcome, overlap);
}

/** Continues an unfinished reading. Updates a finished one by sweeps, or by a new walk where sweeps are not possible. */
export function beginReading(row: StreamRow, restart: boolean, overlap: SweepOverlap, nowMs: number): Step {
  const isUntouched = row.startedAt === null;
  if (isUntouched) return { row: { ...row, startedAt: isoOf(nowMs) }, discard: [] };
  if (restart || (row.endReason === 'not_found' && row.phase === 'walk')) return startReading(row, nowMs);
  if (isUnfinished(row)) return resume(row);
  if (overlap === null) return startReading(row, nowMs);
  return startSweep({ ...row, ...RUNNING, phase: 'top_up', finishedAt: null, rounds: 0 }, overlap);
}

const RUNNING = { state: 'running', endReason: null, error: null } as const;

const DEAD_ENDS: readonly (string | null)[] = ['cursor_loop', 'cursor_expired', 'no_progress'];

function resume(row: StreamRow): Step {
  const running: StreamRow = { ...row, ...RUNNING, restartRecords: null };
  return DEAD_ENDS.includes(row.endReason) ? startWalk(running) : { row: running, discard: [] };
}

/** Starts a reading; records that it does not show are dropped at its end. */
export function startReading(row: StreamRow, nowMs: number): Step {
  const reset: StreamRow = {
    ...row,
    ...RUNNING,
    pages: 0,
    records: 0,
    uniqueRecords: 0,
    duplicates: 0,
    rejected: 0,
    excluded: 0,
    totalCountFirst: null,
    startedAt: isoOf(nowMs),
    finishedAt: null,
    readingWalk: row.walk + 1,
    phase: 'walk',
    since: null,
    rounds: 0,
    restartRecords: null,
  };
  return startWalk(reset);
}

/** Starts at the beginning of the list; records are kept. Rejected objects have no id: they are dropped as they come again. */
function startWalk(row: StreamRow): Step {
  const next: StreamRow = {
    ...row,
    walk: row.walk + 1,
    walkStartedAt: null,
    cursor: null,
    walkRecords: 0,
    idlePages: 0,
    emptyEnd: 0,
  };
  const again = row.phase === 'walk' ? row.rejected : 0;
  const counts = { duplicates: row.duplicates + again, rejected: row.rejected - again };
  return { row: { ...next, ...counts }, discard: ['cursors'] };
}

/** Starts a sweep for records updated since the last walk or sweep began; where that is unknown, for all records. */
function startSweep(row: StreamRow, overlap: number): Step {
  const { watermarkMs, rounds } = row;
  const since = watermarkMs === null ? null : isoOf(watermarkMs - overlap);
  const phase = row.phase === 'walk' ? 'sweep' : row.phase;
  return startWalk({ ...row, phase, since, changes: 0, rounds: rounds + 1, restartRecords: null });
}

function afterPage(before: StreamRow, page: PageOutcome, overlap: SweepOverlap): Step {
  const row = countPage(startClocks(before, page), page);
  if (page.next === null) return afterLastPage(row, page, overlap);
  if (page.cursorRepeats) {
    return fail(row, 'cursor_loop', 'The server sent a cursor that it had sent before in this walk.');
  }
  if (row.idlePages >= MAX_IDLE_PAGES) {
    return fail(row, 'no_progress', `${MAX_IDLE_PAGES} pages in a row had no new record.`);
  }
  return { row: { ...row, cursor: page.next, emptyEnd: 0 }, discard: [] };
}

function startClocks(row: StreamRow, page: PageOutcome): StreamRow {
  if (row.cursor !== null) return row;
  return { ...row, walkStartedAt: isoOf(page.askedMs), watermarkMs: watermarkOf(page) ?? row.watermarkMs };
}

function countPage(row: StreamRow, page: PageOutcome): StreamRow {
  const objects = page.objects - page.excluded.objects;
  const fresh = page.fresh + page.excluded.fresh;
  // A sweep's count covers its filter only.
  const total = row.phase === 'walk' ? page.totalCount : null;
  return {
    ...row,
    pages: row.pages + 1,
    records: row.records + objects,
    uniqueRecords: row.uniqueRecords + page.unique,
    duplicates: row.duplicates + objects - page.unique - page.rejected,
    rejected: row.rejected + page.rejected,
    excluded: row.excluded + page.excluded.unique,
    totalCountFirst: row.totalCountFirst ?? total,
    totalCountLast: total ?? (row.pages === 0 ? null : row.totalCountLast),
    walkRecords: row.walkRecords + fresh,
    changes: row.changes + page.changed,
    idlePages: fresh > 0 ? 0 : row.idlePages + 1,
  };
}

/** An empty last page after a cursor may be a failure of the service: it is requested once more. */
function afterLastPage(row: StreamRow, page: PageOutcome, overlap: SweepOverlap): Step {
  if (page.objects === 0 && row.cursor !== null && row.emptyEnd === 0) {
    return { row: { ...row, emptyEnd: 1 }, discard: [] };
  }
  const ended: StreamRow = { ...row, readAt: row.walkStartedAt };
  return row.phase === 'walk' || overlap === null
    ? endWalk(ended, page.nowMs, overlap)
    : endSweep(ended, page.nowMs, overlap);
}

function endWalk(row: StreamRow, nowMs: number, overlap: SweepOverlap): Step {
  if ((isShort(row) || hasShrunk(row)) && row.rounds < MAX_SECOND_WALKS) {
    return startWalk({ ...row, rounds: row.rounds + 1, restartRecords: null });
  }
  return overlap === null ? finish(row, nowMs) : startSweep({ ...row, rounds: 0 }, overlap);
}

/** Whether total_count is higher than the objects received. It never decides where a list ends. */
function isShort({ totalCountLast, uniqueRecords, rejected, excluded }: StreamRow): boolean {
  return totalCountLast !== null && totalCountLast > uniqueRecords + rejected + excluded;
}

/** Whether records left the list while it was read: if cursors are offsets, other records were then skipped. */
function hasShrunk({ totalCountFirst, totalCountLast }: StreamRow): boolean {
  return totalCountFirst !== null && totalCountLast !== null && totalCountLast < totalCountFirst;
}

function endSweep(row: StreamRow, nowMs: number, overlap: number): Step {
  if (row.changes === 0) return finish(row, nowMs);
  if (row.rounds < MAX_SWEEPS) return startSweep(row, overlap);
  const note = `${row.model} still changed during sweep ${row.rounds}; the next export reads later changes.`;
  return { ...finish(row, nowMs), note };
}

function finish(row: StreamRow, nowMs: number): Step {
  const ending = isShort(row)
    ? { state: 'short' as const, endReason: 'count_disputed' }
    : { state: 'complete' as const, endReason: 'end_of_list' };
  return end({ ...row, ...ending }, nowMs);
}

function end(row: StreamRow, nowMs: number): Step {
  return {
    row: { ...row, cursor: null, error: null, finishedAt: isoOf(nowMs) },
    discard: ['cursors', 'unseen'],
  };
}

function afterError(row: StreamRow, error: ErrorOutcome, overlap: SweepOverlap): Step {
  const isExpired =
    error.code === 'http_status' && row.cursor !== null && EXPIRED_STATUSES.includes(error.status);
  if (isExpired) return afterExpiry(row, error);
  if (error.status !== 404) return fail(row, error.code, error.sentence);
  if (isAbsence(row, error.stored, overlap)) return endAbsent(row, error, overlap);
  return fail(row, error.code, error.sentence, overlap === null ? {} : { hint: KEEP_V3 });
}

const KEEP_V3 =
  'It was never read in full: ask the operator to keep this list until the cutover. If V3 no longer has it, export into a new database with --db, where it counts as absent.';

/** V3's records are as old as their reading, and so is the list that holds them. */
function endAbsent(row: StreamRow, { askedMs, nowMs, stored }: ErrorOutcome, overlap: SweepOverlap): Step {
  const keeps = stored.uniqueRecords > 0 && overlap !== null;
  const readAt = (keeps ? row.readAt : null) ?? isoOf(askedMs);
  // A restart has reset the counts.
  const records = stored.uniqueRecords + row.duplicates + stored.rejected;
  const counts = keeps ? { records, ...stored } : { totalCountLast: null };
  const gone = { ...row, ...counts, readAt };
  const state = isShort(gone) ? 'short' : 'absent';
  const ended = end({ ...gone, state, endReason: 'not_found' }, nowMs);
  if (overlap === null) return { ...ended, discard: [...ended.discard, 'rejected'] };
  if (!keeps) return ended;
  const note = `V3 no longer has ${row.model} (404): it counts as ${state}, and its records are kept as they were read on ${formatTime(readAt)}.`;
  return { ...ended, discard: ['cursors'], note };
}

function afterExpiry(row: StreamRow, error: ErrorOutcome): Step {
  const { walkRecords, restartRecords } = row;
  if (restartRecords === null || walkRecords > restartRecords) {
    return startWalk({ ...row, restartRecords: walkRecords });
  }
  const sentence = `The cursor expired again before the walk got further than the last time: ${error.sentence}`;
  return fail(row, 'cursor_expired', sentence);
}

/** A list that answered is not absent. V3 may lose a list that it showed in full before, but none that is known in part. */
function isAbsence(
  { phase, walk, readingWalk, readAt }: StreamRow,
  { uniqueRecords, rejected, excluded }: ErrorOutcome['stored'],
  overlap: SweepOverlap,
): boolean {
  const isFirstWalk = phase === 'walk' && walk === readingWalk;
  if (overlap === null) return isFirstWalk;
  return readAt !== null || (isFirstWalk && uniqueRecords + rejected + excluded === 0);
}

function fail(row: StreamRow, code: ErrorCode, sentence: string, more: { hint?: string } = {}): Step {
  const failure = { code, sentence, ...more };
  return { row: { ...row, state: 'failed', endReason: code }, discard: [], failure };
}

/**
 * A time of the service's clock, not later than the moment at which it read the first page of a walk; null if unknown.
 * Records added or changed after that have an update time at or after it.
 *
 * It is the `Date` header, set when the service responds, minus the duration of the request, or else the latest update
 * time on the page. An earlier local clock is used instead, in case a proxy's clock or an update time is ahead.
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

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
