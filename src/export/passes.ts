import type { ErrorCode } from '../errors.js';
import { addToIdSum } from '../store/checksum.js';
import type { KnownCompanies, Part } from '../store/parts.js';
import type { Position, StreamRow } from '../store/streams.js';

/** Maximum number of full passes after the first, if the count is disputed. */
const MAX_RECOUNTS = 4;

/** Consecutive pages without a record new to the walk; then the stream fails. */
export const MAX_IDLE_PAGES = 100;

/** Maximum number of consecutive sweeps: on a busy service, every sweep finds changes. */
export const MAX_SWEEPS = 10;

/** Starts a new reading; records that it does not return are deleted at its end. */
export function startReading(row: StreamRow, nowMs: number): Step {
  const walk = row.position.walk + 1;
  const counters = { pages: 0, records: 0, uniqueRecords: 0, duplicates: 0, rejected: 0 };
  const totals = { totalCountFirst: null, totalCountLast: null };
  const ending = { state: 'running', endReason: null, endNote: null, finishedAt: null } as const;
  const fresh = { startedAt: isoOf(nowMs), readBy: 'list' } as const;
  const reset: StreamRow = { ...row, ...counters, ...totals, ...ending, ...fresh };
  const stale = row.position.stale || row.uniqueRecords > 0;
  const position = { keepFrom: walk, stale, ending: 'complete', rounds: 0, judged: false } as const;
  const counted = { toppedUp: false, excluded: 0, excludedSum: 0 };
  const pass = startPass(movedTo(reset, { ...position, ...counted }), 'walk', null);
  return { row: pass.row, discard: ['cursors', 'rejected', 'excluded'] };
}

/** Starts the next pass of a reading. With `sinceMs`, it returns only records updated since then. */
export function startPass(row: StreamRow, phase: 'walk' | 'recount' | 'sweep', sinceMs: number | null): Step {
  const { walk, passWalk, passUnique, rounds, phase: before } = row.position;
  const previous = phase === 'recount' ? { walk: passWalk, unique: passUnique } : null;
  const counts = { passUnique: 0, passCommon: 0, passChanged: 0, rounds: phase === before ? rounds + 1 : 1 };
  const since = sinceMs === null ? null : isoOf(sinceMs);
  const asList: StreamRow = phase === 'recount' ? { ...row, readBy: 'list' } : row;
  const next = movedTo(asList, { phase, previous, since, ...counts, passWalk: walk + 1 });
  return startWalk(movedTo(next, { restartUnique: null, emptyEnd: false }));
}

/** Starts a sweep for records updated since the watermark minus the overlap; without a watermark, for the whole list. */
export function startSweep(row: StreamRow, watermarkMs: number | null, rules: ReadingRules): Step {
  return startPass(row, 'sweep', watermarkMs === null ? null : watermarkMs - rules.sweepOverlapMs);
}

/** Starts again from the beginning of the list within the same pass; stored records are kept. */
export function startWalk(row: StreamRow): Step {
  const { walk, phase } = row.position;
  const next = movedTo(row, { walk: walk + 1, cursor: null, idlePages: 0 });
  if (phase === 'sweep') return { row: next, discard: ['cursors'] };
  // Rejected objects have no id to recognise them by, so they are deleted and saved again.
  const duplicates = row.duplicates + row.rejected;
  return { row: { ...next, duplicates, rejected: 0 }, discard: ['cursors', 'rejected'] };
}

/** Adds a page to the counters. */
export function countPage(row: StreamRow, page: PageOutcome): StreamRow {
  const { position } = row;
  const total = position.phase === 'sweep' ? null : page.totalCount;
  const counted: StreamRow = {
    ...row,
    pages: row.pages + 1,
    records: row.records + page.unique + page.duplicates + page.rejected,
    uniqueRecords: row.uniqueRecords + page.unique,
    duplicates: row.duplicates + page.duplicates,
    rejected: row.rejected + page.rejected,
    totalCountFirst: row.totalCountFirst ?? total,
    totalCountLast: total ?? row.totalCountLast,
  };
  return movedTo(counted, {
    passUnique: position.passUnique + page.passUnique,
    passCommon: position.passCommon + page.passCommon,
    passChanged: position.passChanged + page.changed,
    excluded: position.excluded + page.excluded,
    excludedSum:
      position.excludedSum === null ? null : addToIdSum(position.excludedSum, [BigInt(page.excludedSum)]),
    emptyEnd: position.emptyEnd && page.passUnique + page.excluded === 0,
    idlePages: page.fresh > 0 ? 0 : position.idlePages + 1,
  });
}

/** Decides the step after a pass was read to its end. */
export function endPass(row: StreamRow, { nowMs, servedMs }: PageOutcome, rules: ReadingRules): Step {
  const readAt = isoOf(row.position.walkStartedMs);
  const read = movedTo({ ...row, readAt }, { readUntilMs: servedMs });
  return row.position.phase === 'sweep' ? endSweep(read, rules, nowMs) : endFullPass(read, rules, nowMs);
}

function endFullPass(row: StreamRow, rules: ReadingRules, nowMs: number): Step {
  const { rounds } = row.position;
  if (!isCountDisputed(row)) return endFullReading(row, 'complete', rules, nowMs);
  if (agreesWithPreviousPass(row)) return endFullReading(row, 'short', rules, nowMs);
  if (rounds < MAX_RECOUNTS) return startPass(row, 'recount', null);
  const sentence = `${rounds + 1} walks to the end each returned different records, and all fewer than total_count.`;
  return fail(row, 'incomplete', sentence);
}

/** Whether total_count is higher than the number of objects received. It never decides where a list ends. */
function isCountDisputed(row: StreamRow): boolean {
  return row.totalCountLast !== null && row.totalCountLast > objectsIn(row);
}

/** Whether this pass returned exactly the same records as the previous one. */
function agreesWithPreviousPass({ position }: StreamRow): boolean {
  const { previous, passUnique, passCommon } = position;
  return previous !== null && passUnique === previous.unique && passCommon === passUnique;
}

function endFullReading(
  row: StreamRow,
  ending: 'complete' | 'short',
  rules: ReadingRules,
  nowMs: number,
): Step {
  const read = movedTo(row, { ending });
  if (!rules.sweeps) return settle(read, nowMs);
  return startSweep(read, row.position.readingWatermarkMs, rules);
}

function endSweep(row: StreamRow, rules: ReadingRules, nowMs: number): Step {
  const { passChanged, rounds, passWatermarkMs } = row.position;
  if (passChanged === 0) return settle(row, nowMs);
  if (rounds < MAX_SWEEPS) return startSweep(row, passWatermarkMs, rules);
  const note = `${row.model} still changed during sweep ${rounds}; the next export reads later changes.`;
  return { ...settle(row, nowMs), note };
}

/** Ends the reading; records of an older reading, if any, are deleted first. */
export function settle(row: StreamRow, nowMs: number): Step {
  if (!row.position.stale) return finish(row, nowMs);
  return { row: movedTo(row, { phase: 'drop', cursor: null }), discard: ['cursors'] };
}

const END_REASONS = { complete: 'end_of_list', short: 'count_disputed', absent: 'not_found' } as const;

/** Sets the stream's completion record. */
export function finish(row: StreamRow, nowMs: number): Step {
  const { ending } = row.position;
  const done = { state: ending, endReason: END_REASONS[ending], endNote: null, finishedAt: isoOf(nowMs) };
  const next = movedTo({ ...row, ...done }, { cursor: null, stale: false });
  return { row: next, discard: ['cursors'] };
}

/** Marks the stream as failed; the next export tries again. */
export function fail(row: StreamRow, code: ErrorCode, sentence: string): Step {
  const failed: StreamRow = { ...row, state: 'failed', endReason: code, endNote: sentence };
  return { row: failed, discard: [], failure: { code, sentence } };
}

/** The changes that a decision makes to the database, in one transaction. */
export interface Step {
  readonly row: StreamRow;
  /** Data to delete: cursors of an ended walk, rejected objects that will arrive again, ids of excluded records. */
  readonly discard: readonly ('cursors' | 'parts' | 'rejected' | 'excluded')[];
  /** The parts that the list is read by from now on. */
  readonly parts?: readonly Part[];
  /** Why the stream failed with this step. */
  readonly failure?: { readonly code: ErrorCode; readonly sentence: string };
  /** A note for the user. */
  readonly note?: string;
}

/** The results of saving a page. */
export interface PageOutcome {
  readonly kind: 'page';
  /** When it was requested and when it was saved, ms of the local clock. */
  readonly askedMs: number;
  readonly nowMs: number;
  /** The service's clock when it responded; null if unknown. */
  readonly servedMs: number | null;
  /** For a first page, the latest `<prefix>updated_at` of its records; null if there is none. */
  readonly latestUpdateMs: number | null;
  /** Objects first seen in this reading, seen before, and rejected. */
  readonly unique: number;
  readonly duplicates: number;
  readonly rejected: number;
  /** Whether it contained no object at all. */
  readonly isEmpty: boolean;
  /** First seen in this pass; of these, seen in the previous pass. */
  readonly passUnique: number;
  readonly passCommon: number;
  /** First seen in this walk, including excluded records. */
  readonly fresh: number;
  readonly changed: number;
  /** Records of excluded companies first seen in this reading. */
  readonly excluded: number;
  /** The sum of their ids. */
  readonly excludedSum: number;
  readonly totalCount: number | null;
  readonly next: string | null;
  /** For a page of a long list: the companies that V3 may hold. */
  readonly companies?: KnownCompanies;
  /** Whether this walk had `next` before. */
  readonly cursorRepeats: boolean;
}

/** The error of a page request, after all retries. */
export interface ErrorOutcome {
  readonly kind: 'error';
  readonly askedMs: number;
  readonly nowMs: number;
  readonly code: ErrorCode;
  /** The HTTP status of an `http_status` error. */
  readonly status: number | null;
  readonly sentence: string;
}

/** All records of the older reading are deleted. */
export interface DroppedOutcome {
  readonly kind: 'dropped';
  readonly nowMs: number;
}

export type StreamOutcome = PageOutcome | ErrorOutcome | DroppedOutcome;

/** The differences between reading V3 and V4. */
export interface ReadingRules {
  /** Whether sweeps follow a full reading and update a finished one. */
  readonly sweeps: boolean;
  readonly sweepOverlapMs: number;
  /** Whether the stored records of a list are deleted if it now answers 404. Not for V3, which is being shut down. */
  readonly dropsMissingLists: boolean;
  /** Whether long lists are read company by company where that is proven to return all of them. */
  readonly divides?: boolean;
}

/** Whether the next page decides if the list is read company by company. */
export function isUndecided(row: StreamRow, { divides = false }: ReadingRules): boolean {
  const { phase, judged } = row.position;
  return divides && row.companyId === null && phase === 'walk' && !judged;
}

/** Whether every company's part is read, and the next page of the list decides if they are all of it. */
export function isConfirming({ readBy, position }: StreamRow): boolean {
  return readBy === 'companies' && position.phase === 'walk';
}

/** Continues a list that was read company by company at the cursor where the parts began. */
export function toOneList(row: StreamRow): Step {
  const next = movedTo(row, { phase: 'walk', walk: row.position.walk + 1, idlePages: 0 });
  return { row: next, discard: ['parts'] };
}

/** The number of objects received in a reading, each counted once. */
export function objectsIn({ uniqueRecords, rejected, position }: StreamRow): number {
  return uniqueRecords + rejected + position.excluded;
}

/** A row with another position. */
export function movedTo(row: StreamRow, position: Partial<Position>): StreamRow {
  return { ...row, position: { ...row.position, ...position } };
}

/** A time in ms as ISO 8601. */
export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
