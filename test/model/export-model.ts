import {
  beginReading,
  type ErrorOutcome,
  nextStep,
  type PageOutcome,
  type Step,
  type SweepOverlap,
} from '../../src/export/walk.js';
import type { StreamRow } from '../../src/store/streams.js';

/** What decides: the product's own functions, or a faulty version of them. */
export interface Subject {
  readonly begin: typeof beginReading;
  readonly decide: typeof nextStep;
}

export const PRODUCT: Subject = { begin: beginReading, decide: nextStep };

/** One service and one client. */
export interface Variant {
  readonly name: string;
  readonly overlap: SweepOverlap;
  /** Records at the start, and records of a page. */
  readonly records: number;
  readonly pageSize: number;
  /** A cursor names a place in the list, or the record behind which to go on. Records vanish only with the latter: a
   * place that moves up can hide a neighbour from any client. */
  readonly cursors: 'place' | 'record';
  readonly counts: boolean;
  /** How the service dates what it sends. */
  readonly dates: 'header' | 'updates' | 'none';
  /** The client's clock minus the service's. */
  readonly clockOff: number;
  readonly mutations: number;
  readonly crashes: number;
  readonly faults: number;
  /** Whether every cursor is refused, for ever. */
  readonly cursorsExpire?: boolean;
  /** Runs of the export at most: the first, those after a crash or failure, top-ups. */
  readonly runs: number;
}

/** A record of the service; `version` is the time of its last change, `order` its place in the list. */
export interface ModelRecord {
  readonly id: number;
  readonly order: number;
  readonly version: number;
}

/** What the database holds of a record. */
export interface Stored {
  readonly version: number;
  readonly walk: number;
}

/** A page, or an error, that has arrived and is not saved yet. */
export interface Flight {
  readonly askedMs: number;
  readonly answer: ModelPage | { readonly code: ErrorOutcome['code']; readonly status: number | null };
  /** What the service held when it answered. */
  readonly snapshot: readonly ModelRecord[];
}

export interface ModelPage {
  readonly records: readonly ModelRecord[];
  readonly next: string | null;
  readonly totalCount: number | null;
  readonly servedMs: number | null;
  /** Whether nothing follows, in truth. */
  readonly isEnd: boolean;
}

export interface State {
  readonly time: number;
  readonly service: readonly ModelRecord[];
  readonly nextId: number;
  readonly row: StreamRow;
  readonly stored: ReadonlyMap<number, Stored>;
  readonly cursors: ReadonlySet<string>;
  /** A run of the export is under way. */
  readonly isRunning: boolean;
  readonly flight: Flight | null;
  /** What must be stored if nothing more is read, see `promisedBy`. */
  readonly promised: readonly ModelRecord[];
  readonly left: {
    readonly mutations: number;
    readonly crashes: number;
    readonly faults: number;
    readonly runs: number;
  };
}

/** What a replay on the real store must do, too; what only the service does is in the pages. */
export type Action =
  | { readonly kind: 'begin'; readonly nowMs: number }
  | { readonly kind: 'save'; readonly flight: Flight; readonly nowMs: number }
  | { readonly kind: 'crash' };

export interface Move {
  readonly state: State;
  readonly action: Action | null;
  /** What this move breaks. */
  readonly violation: string | null;
}

/** Instants of the model's clock: they are far enough from 0 for every clock that is off. */
const START_MS = 1_000_000;

export function initialState(variant: Variant, row: StreamRow): State {
  const { records, mutations, crashes, faults, runs } = variant;
  const service = Array.from({ length: records }, (_, at) => ({ id: at + 1, order: at, version: START_MS }));
  return {
    time: START_MS + 1,
    service,
    nextId: records + 1,
    row,
    stored: new Map(),
    cursors: new Set(),
    isRunning: false,
    flight: null,
    promised: [],
    left: { mutations, crashes, faults, runs },
  };
}

/** Every move from a state. */
export function movesFrom(state: State, variant: Variant, subject: Subject): Move[] {
  return [...clientMoves(state, variant, subject), ...crashes(state), ...mutations(state, variant)];
}

function clientMoves(state: State, variant: Variant, subject: Subject): Move[] {
  if (!state.isRunning) return beginRun(state, variant, subject);
  if (state.flight !== null) return [save(state, state.flight, variant, subject)];
  return fetches(state, variant).map((next) => ({ state: next, action: null, violation: null }));
}

function beginRun(state: State, variant: Variant, subject: Subject): Move[] {
  if (state.left.runs === 0) return [];
  const nowMs = state.time + variant.clockOff;
  const step = subject.begin(state.row, false, variant.overlap, nowMs);
  const left = { ...state.left, runs: state.left.runs - 1 };
  const next = settle({ ...state, isRunning: true, left }, step, variant);
  return [{ ...next, action: { kind: 'begin', nowMs } }];
}

function crashes(state: State): Move[] {
  if (!state.isRunning || state.left.crashes === 0) return [];
  const left = { ...state.left, crashes: state.left.crashes - 1 };
  return [
    { state: { ...state, isRunning: false, flight: null, left }, action: { kind: 'crash' }, violation: null },
  ];
}

/** What the service may do between any two moves of the client, once that has begun. */
function mutations(state: State, { cursors }: Variant): Move[] {
  if (state.left.mutations === 0 || (state.row.pages === 0 && state.flight === null)) return [];
  const { service, nextId } = state;
  const time = state.time + 1;
  const left = { ...state.left, mutations: state.left.mutations - 1 };
  const orders = service.map(({ order }) => order);
  const added = (order: number) =>
    [...service, { id: nextId, order, version: time }].sort((a, b) => a.order - b.order);
  const first = added(Math.min(0, ...orders) - 1);
  const last = added(Math.max(0, ...orders) + 1);
  const changed = service.map(({ id }) =>
    service.map((one) => (one.id === id ? { ...one, version: time } : one)),
  );
  const vanished = cursors === 'place' ? [] : service.map(({ id }) => service.filter((one) => one.id !== id));
  return [first, last, ...changed, ...vanished].map((after) => {
    const id = after.length > service.length ? nextId + 1 : nextId;
    return { state: { ...state, time, service: after, nextId: id, left }, action: null, violation: null };
  });
}

/** Every answer to the request the row asks for: the true one, and faults where some are left. */
function fetches(state: State, variant: Variant): State[] {
  const { cursor } = state.row;
  const flight = (answer: Flight['answer']): Flight => {
    return { askedMs: state.time + variant.clockOff, answer, snapshot: state.service };
  };
  const expired = flight({ code: 'http_status', status: 410 });
  if (variant.cursorsExpire === true && cursor !== null) return [{ ...state, flight: expired }];
  const page = pageOf(state, variant);
  const truth = { ...state, flight: flight(page) };
  if (state.left.faults === 0) return [truth];
  const faults: Flight['answer'][] = [{ code: 'bad_response', status: null }];
  if (cursor !== null) faults.push({ ...page, records: [], next: null, totalCount: null }, expired.answer);
  const [before] = state.cursors;
  if (before !== undefined) faults.push({ ...page, next: before, isEnd: false });
  const left = { ...state.left, faults: state.left.faults - 1 };
  return [truth, ...faults.map((answer) => ({ ...state, left, flight: flight(answer) }))];
}

function pageOf({ service, row, time }: State, { cursors, pageSize, counts, dates }: Variant): ModelPage {
  const { cursor, since } = row;
  const from = since === null ? -Infinity : Date.parse(since);
  const list = service.filter(({ version }) => dates === 'none' || version >= from);
  const start = cursor === null ? 0 : placeOf(list, cursor, cursors);
  const records = list.slice(start, start + pageSize);
  const isEnd = start + pageSize >= list.length;
  const last = records.at(-1);
  const next = cursors === 'place' ? String(start + pageSize) : String(last?.order);
  const servedMs = dates === 'header' ? time : null;
  return { records, next: isEnd ? null : next, totalCount: counts ? list.length : null, servedMs, isEnd };
}

function placeOf(list: readonly ModelRecord[], cursor: string, kind: Variant['cursors']): number {
  if (kind === 'place') return Number(cursor);
  const place = list.findIndex(({ order }) => order > Number(cursor));
  return place === -1 ? list.length : place;
}

/** One transaction: the records of the page, the cursor behind it and the counters. */
function save(state: State, flight: Flight, variant: Variant, subject: Subject): Move {
  const nowMs = state.time + variant.clockOff;
  const action = { kind: 'save', flight, nowMs } as const;
  const saved = { ...state, flight: null };
  const { answer, askedMs } = flight;
  if ('code' in answer) {
    const stored = { uniqueRecords: state.stored.size, rejected: 0, excluded: 0 };
    const outcome = {
      kind: 'error',
      askedMs,
      nowMs,
      ...answer,
      sentence: 'It broke.',
      stored,
    } as const;
    return { ...settle(saved, subject.decide(state.row, outcome, variant.overlap), variant), action };
  }
  const { stored, outcome } = storePage(state, answer, askedMs, nowMs, variant);
  const cursors = answer.next === null ? state.cursors : new Set([...state.cursors, answer.next]);
  const promised = promisedBy(state, answer, variant) ? flight.snapshot : state.promised;
  const step = subject.decide(state.row, outcome, variant.overlap);
  const next = settle({ ...saved, stored, cursors, promised }, step, variant);
  const hasEnded = step.row.walk !== state.row.walk || step.row.state !== 'running';
  const isEarly = hasEnded && step.row.state !== 'failed' && !answer.isEnd;
  return { ...next, action, violation: isEarly ? 'a pass ended before the end of the list' : next.violation };
}

/**
 * Whether a page dates what is promised: the first page of a walk, and with sweeps the last page of a full walk, since
 * what changed during it is caught by the sweep.
 */
function promisedBy({ row }: State, { isEnd }: ModelPage, { overlap }: Variant): boolean {
  return row.cursor === null || (overlap !== null && isEnd && row.phase === 'walk');
}

/** The store in miniature, see `prepareSaveRecords`; the replays hold it against the real one. */
function storePage(
  { row, stored: before, cursors }: State,
  page: ModelPage,
  askedMs: number,
  nowMs: number,
  { dates }: Variant,
): { stored: Map<number, Stored>; outcome: PageOutcome } {
  const stored = new Map(before);
  const tally = { unique: 0, fresh: 0, changed: 0 };
  for (const { id, version } of page.records) {
    const seen = stored.get(id)?.walk ?? -1;
    if (seen < row.readingWalk) tally.unique += 1;
    if (seen < row.walk) tally.fresh += 1;
    if (version !== stored.get(id)?.version) tally.changed += 1;
    stored.set(id, { version, walk: row.walk });
  }
  const versions = dates === 'none' ? [] : page.records.map(({ version }) => version);
  const outcome: PageOutcome = {
    kind: 'page',
    askedMs,
    nowMs,
    servedMs: page.servedMs,
    latestUpdateMs: versions.length === 0 ? null : Math.max(...versions),
    ...tally,
    objects: page.records.length,
    rejected: 0,
    excluded: { objects: 0, unique: 0, fresh: 0 },
    totalCount: page.totalCount,
    next: page.next,
    cursorRepeats: page.next !== null && cursors.has(page.next),
  };
  return { stored, outcome };
}

/** The state after a step of the product, and what it breaks. */
function settle(state: State, step: Step, variant: Variant): Omit<Move, 'action'> {
  const cursors = step.discard.includes('cursors') ? new Set<string>() : state.cursors;
  const isRunning = step.row.state === 'running';
  const stored = step.discard.includes('unseen')
    ? new Map([...state.stored].filter(([, { walk }]) => walk >= step.row.readingWalk))
    : state.stored;
  const next: State = { ...state, row: step.row, stored, cursors, isRunning };
  return { state: next, violation: brokenPromise(next, variant) };
}

/** More walks than this in so small a world are no progress. */
const MAX_WALKS = 40;

function brokenPromise({ row, stored, service, promised }: State, { overlap }: Variant): string | null {
  const { state, walk: walks, readingWalk, records, uniqueRecords, duplicates, rejected } = row;
  if (walks > MAX_WALKS) return 'restarts without progress';
  if (records !== uniqueRecords + duplicates + rejected) return 'the counters do not add up';
  const current = [...stored.values()].filter(({ walk }) => walk >= readingWalk).length;
  if (uniqueRecords !== current) return 'unique records are miscounted';
  if (state !== 'complete' && state !== 'short') return null;
  if (overlap === null && current < stored.size) return 'records of an older reading were kept';
  const lost = promised.find(
    ({ id, version }) => service.some((one) => one.id === id) && (stored.get(id)?.version ?? -1) < version,
  );
  return lost === undefined ? null : `record ${lost.id} is missing or out of date in a ${state} list`;
}
