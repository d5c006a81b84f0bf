import type { ErrorOutcome, PageOutcome, SweepOverlap } from '../../src/export/walk.js';
import type { StreamRow } from '../../src/store/streams.js';

export const NOW = 1_000_000;
export const V3: SweepOverlap = 100;
export const V4: SweepOverlap = null;

/** A list in the middle of its first walk. */
export function row(changes: Partial<StreamRow> = {}): StreamRow {
  return {
    id: 1n,
    generation: 'v3',
    region: 'eu',
    model: 'accounting/invoices',
    companyId: null,
    route: 'accounting/invoices',
    state: 'running',
    endReason: null,
    pages: 4,
    records: 10,
    uniqueRecords: 7,
    duplicates: 1,
    rejected: 2,
    totalCountFirst: 9,
    totalCountLast: 9,
    startedAt: new Date(NOW).toISOString(),
    finishedAt: null,
    error: null,
    readAt: null,
    phase: 'walk',
    walk: 1,
    readingWalk: 1,
    walkStartedAt: new Date(500).toISOString(),
    cursor: 'c4',
    since: null,
    watermarkMs: 600,
    walkRecords: 7,
    restartRecords: null,
    changes: 0,
    idlePages: 0,
    emptyEnd: 0,
    rounds: 0,
    excluded: 0,
    ...changes,
  };
}

/** A page of one record that was read before in this walk. */
export function page(changes: Partial<PageOutcome> = {}): PageOutcome {
  return {
    kind: 'page',
    askedMs: NOW - 5,
    nowMs: NOW,
    servedMs: null,
    latestUpdateMs: null,
    objects: 1,
    unique: 0,
    fresh: 0,
    changed: 0,
    rejected: 0,
    excluded: { objects: 0, unique: 0, fresh: 0 },
    totalCount: null,
    next: null,
    cursorRepeats: false,
    ...changes,
  };
}

export function error(changes: Partial<ErrorOutcome> = {}): ErrorOutcome {
  const failure = {
    code: 'http_status',
    status: 409,
    sentence: 'It broke.',
    stored: { uniqueRecords: 0, rejected: 0, excluded: 0 },
  } as const;
  return { kind: 'error', askedMs: NOW - 5, nowMs: NOW, ...failure, ...changes };
}

/** What the tables compare: the state, and what drives the next request. */
export function gist({ row: { state, endReason, ...row } }: { readonly row: StreamRow }): string {
  const since = row.since === null ? '' : ` since ${Date.parse(row.since)}`;
  const place = `${row.phase} ${row.walk}/${row.readingWalk} at ${row.cursor}${since}`;
  return endReason === null ? `${state} ${place}` : `${state} ${endReason}`;
}
