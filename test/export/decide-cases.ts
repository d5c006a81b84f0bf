import type { ErrorOutcome, PageOutcome, ReadingRules } from '../../src/export/passes.js';
import { FIRST_POSITION, type Position, type StreamRow } from '../../src/store/streams.js';

export const NOW = 1_000_000;
export const ISO_NOW = new Date(NOW).toISOString();
export const V3: ReadingRules = { sweeps: true, sweepOverlapMs: 100, dropsMissingLists: false };
export const V4: ReadingRules = { sweeps: false, sweepOverlapMs: 0, dropsMissingLists: true };

type RowChanges = Partial<Omit<StreamRow, 'position'>> & { position?: Partial<Position> };

export function row({ position, ...changes }: RowChanges = {}): StreamRow {
  return {
    id: 1n,
    generation: 'v3',
    region: 'eu',
    model: 'accounting/invoices',
    companyId: null,
    route: 'accounting/invoices',
    state: 'running',
    endReason: null,
    endNote: null,
    pages: 4,
    records: 10,
    uniqueRecords: 7,
    duplicates: 1,
    rejected: 2,
    totalCountFirst: 9,
    totalCountLast: 9,
    startedAt: ISO_NOW,
    finishedAt: null,
    readBy: 'list',
    readAt: null,
    ...changes,
    position: { ...FIRST_POSITION, cursor: 'c4', walkStartedMs: 500, ...position },
  };
}

export function page(changes: Partial<PageOutcome> = {}): PageOutcome {
  const counts = {
    unique: 0,
    duplicates: 0,
    rejected: 0,
    passUnique: 0,
    passCommon: 0,
    fresh: 0,
    changed: 0,
  };
  const ending = {
    isEmpty: false,
    excluded: 0,
    excludedSum: 0,
    totalCount: null,

    next: null,
    cursorRepeats: false,
  };
  const clocks = { askedMs: NOW - 5, nowMs: NOW, servedMs: null, latestUpdateMs: null };
  return { kind: 'page', ...clocks, ...counts, ...ending, ...changes };
}

export function error(changes: Partial<ErrorOutcome>): ErrorOutcome {
  const failure = { code: 'http_status', status: 409, sentence: 'It broke.' } as const;
  return { kind: 'error', askedMs: NOW - 5, nowMs: NOW, ...failure, ...changes };
}

/** What the tables compare: the state, and the part of the position that drives the next request. */
export function gist({ row: { state, endReason, position } }: { readonly row: StreamRow }): string {
  const { phase, cursor, walk, passWalk, keepFrom, since } = position;
  const place = `${phase} ${cursor} walk ${walk}/${passWalk}/${keepFrom}`;
  const filter = since === null ? '' : ` since ${Date.parse(since)}`;
  return endReason === null ? `${state} ${place}${filter}` : `${state} ${endReason}`;
}
