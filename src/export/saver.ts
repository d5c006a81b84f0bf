import type { Clock, ListPage, ParsedRecord, RejectedObject } from '../domain.js';
import type { SvcError } from '../errors.js';
import { recordsOf } from '../json/record-columns.js';
import { prepareBumpExportSeq } from '../store/meta.js';
import { type Db, guardDatabase } from '../store/open.js';
import { dropParts, type Part, prepareSavePart, readKnownCompanies, readParts } from '../store/parts.js';
import { dropStalePayloads } from '../store/payloads.js';
import { type PagePlace, prepareSaveRecords, type RecordTally } from '../store/records.js';
import {
  dropCursors,
  dropExcluded,
  dropRejected,
  dropUnseen,
  isSplit,
  prepareClaimRecords,
  prepareRememberCursor,
  prepareSaveExcluded,
  prepareSaveRejected,
  prepareStoredCounts,
} from '../store/stream-contents.js';
import { prepareSaveStream, type StreamRow } from '../store/streams.js';
import { decide } from './decide-page.js';
import { decidePart, type ForeignOutcome, isLong } from './divide.js';
import {
  type ErrorOutcome,
  isUndecided,
  type PageOutcome,
  type ReadingRules,
  type Step,
  type StreamOutcome,
} from './passes.js';
import type { ArrivedPage } from './prefetch.js';

/**
 * Saves the pages and steps of streams. Each call is one transaction, committed when the promise resolves; pages of
 * several streams may share one. If a call fails, use neither the saver nor the row again, because it is unknown what was
 * committed.
 */
export interface Saver {
  /**
   * Saves the pages that `take` returns for the current row, until it returns null: their records, the next cursor and
   * the counters. The error of a page is saved too.
   */
  savePages(row: StreamRow, take: (row: StreamRow) => ArrivedPage | null): Promise<readonly SavedPage[]>;
  /**
   * The same for the pages of a list that is read company by company. `parts` are its parts by company: each is replaced
   * by its new state.
   */
  savePartPages(
    row: StreamRow,
    parts: Map<bigint, Part>,
    take: (row: StreamRow) => PartPage | null,
  ): Promise<readonly SavedPage[]>;
  /** The parts of a list that is being read company by company. */
  readParts(row: StreamRow): Map<bigint, Part>;
  /** Commits soon, because a stream waits for its pages to be saved. */
  flushSoon(): void;
  /**
   * Adds or updates records of a finished stream that were requested individually. The state and age of the reading are
   * unchanged. `changed` counts records that were new or changed.
   */
  saveSingly(row: StreamRow, records: readonly ParsedRecord[]): Promise<{ row: StreamRow; changed: number }>;
  /** Deletes a chunk of records of an older reading, from svc_id `from` on; the step is null until none is left. */
  dropChunk(row: StreamRow, from: bigint | null): Promise<{ step: Step | null; next: bigint | null }>;
}

/** A page that was saved, and the step that followed. */
export interface SavedPage {
  readonly answer: ArrivedPage['answer'];
  readonly step: Step;
}

interface JudgedPage extends SavedPage {
  readonly outcome: StreamOutcome | ForeignOutcome;
}

/** A page of a company's part of a list. */
export interface PartPage {
  readonly part: Part;
  readonly page: ArrivedPage;
}

export interface SaverOptions {
  readonly db: Db;
  readonly file: string;
  readonly payload: 'full' | 'ids';
  /** Companies whose records are counted but not stored. */
  readonly excluded: readonly bigint[];
  readonly rules: ReadingRules;
  readonly clock: Clock;
}

export function createSaver(options: SaverOptions): Saver {
  const { db, file, rules, clock } = options;
  const savePage = prepareSavePage(options);
  const save = (row: StreamRow, { answer, askedMs }: ArrivedPage, companyId?: bigint): StreamOutcome =>
    'columns' in answer
      ? savePage(row, answer, askedMs, companyId)
      : errorOutcome(answer, askedMs, clock.now());
  const savePart = prepareSavePart(db);
  const saveSingly = prepareSaveSingly(options);
  const apply = prepareApply(db);
  const withStoredCounts = prepareStoredCounts(db);
  const bumpExportSeq = prepareBumpExportSeq(db);
  const transact = <T>(work: () => T): T => guardDatabase(file, () => db.transaction(work).immediate());
  const inTransaction = async <T>(work: () => T): Promise<T> => transact(work);
  const group = createCommitGroup(transact);
  /** Saves pages until there is no other, or a step discards: the row and what it discards are saved once, after them. */
  const saveAll = (row: StreamRow, saveNext: (current: StreamRow) => JudgedPage | null) =>
    group.add(() => {
      const saved: SavedPage[] = [];
      let last: Step = { row: withStoredCounts(row), discard: [] };
      let changed = false;
      for (let next = saveNext(last.row); next !== null; ) {
        const { answer, outcome, step } = next;
        saved.push({ answer, step });
        changed ||= outcome.kind === 'page' && outcome.changed > 0;
        last = step;
        next = step.discard.length === 0 ? saveNext(step.row) : null;
      }
      if (saved.length > 0) apply(row, last, changed);
      return saved;
    });
  return {
    flushSoon: group.flushSoon,
    savePages: (row, take) =>
      saveAll(row, (current) => {
        const page = take(current);
        if (page === null) return null;
        const outcome = save(current, page);
        return { answer: page.answer, outcome, step: decide(current, outcome, rules) };
      }),
    savePartPages: (row, parts, take) =>
      saveAll(row, (current) => {
        const isDivided = current.state === 'running' && current.position.phase === 'parts';
        const taken = isDivided ? take(current) : null;
        if (taken === null) return null;
        const { part, page } = taken;
        const outcome = isForeign(page) ? { kind: 'foreign' as const } : save(current, page, part.companyId);
        const next = decidePart(current, parts, part, outcome);
        parts.set(part.companyId, next.part);
        savePart(row.id, next.part);
        return { answer: page.answer, outcome, step: next.step };
      }),
    readParts: ({ id }) => guardDatabase(file, () => readParts(db, id)),
    saveSingly: (row, records) => inTransaction(() => saveSingly(row, records)),
    dropChunk: (row, from) =>
      inTransaction(() => {
        const { dropped, next } = dropUnseen(db, row.id, row.position.keepFrom, from);
        if (next !== null) {
          if (dropped > 0) bumpExportSeq();
          return { step: null, next };
        }
        const step = decide(withStoredCounts(row), { kind: 'dropped', nowMs: clock.now() }, rules);
        return { step: apply(row, step, dropped > 0), next };
      }),
  };
}

/** Whether a page of a company's part shows that the service does not filter by company. */
function isForeign({ answer }: ArrivedPage): boolean {
  const signs: readonly RejectedObject['reason'][] = ['other_company', 'no_company_id'];
  return 'rejected' in answer && answer.rejected.some(({ reason }) => signs.includes(reason));
}

function errorOutcome(error: SvcError, askedMs: number, nowMs: number): ErrorOutcome {
  const { status } = error.facts;
  const known = typeof status === 'number' || typeof status === 'bigint' ? Number(status) : null;
  return { kind: 'error', askedMs, nowMs, code: error.code, status: known, sentence: error.message };
}

/** Makes the function that saves a step within a transaction. `changed`: whether stored records changed. */
export function prepareApply(db: Db): (before: StreamRow, step: Step, changed: boolean) => Step {
  const saveStream = prepareSaveStream(db);
  const bumpExportSeq = prepareBumpExportSeq(db);
  const savePart = prepareSavePart(db);
  const discards = { cursors: dropCursors, parts: dropParts, rejected: dropRejected, excluded: dropExcluded };
  return (before, step, changed) => {
    for (const kind of step.discard) discards[kind](db, before.id);
    for (const part of step.parts ?? []) savePart(before.id, part);
    saveStream(step.row);
    if (changed || step.row.state !== before.state) bumpExportSeq();
    return step;
  };
}

function prepareSavePage({ db, payload, excluded, clock, rules }: SaverOptions) {
  const saveRecords = prepareSaveOwn(db, payload);
  const saveRejected = prepareSaveRejected(db);
  const saveExcluded = prepareSaveExcluded(db);
  const rememberCursor = prepareRememberCursor(db);
  const excludedIds = new Set(excluded);
  return (row: StreamRow, page: ListPage, askedMs: number, companyId?: bigint): PageOutcome => {
    const arrived = recordsOf(page.columns);
    const isExcluded = ({ companyId }: ParsedRecord) => row.companyId === null && excludedIds.has(companyId);
    const kept = excludedIds.size === 0 ? arrived : arrived.filter((record) => !isExcluded(record));
    const left = excludedIds.size === 0 ? [] : arrived.filter(isExcluded);
    const records = saveRecords(row, kept);
    const rejected = saveRejected(row, page.rejected);
    const counted = saveExcluded(
      row.id,
      row.position.walk,
      left.map(({ svcId }) => svcId),
    );
    const outcome: PageOutcome = {
      ...records,
      kind: 'page',
      askedMs,
      nowMs: clock.now(),
      servedMs: page.servedMs,
      latestUpdateMs: row.position.cursor === null ? latestUpdateOf(arrived) : null,
      duplicates: records.duplicates + rejected.duplicates,
      rejected: rejected.rejected,
      isEmpty: arrived.length === 0 && page.rejected.length === 0,
      fresh: records.fresh + counted.fresh,
      excluded: counted.unique,
      excludedSum: counted.sum,
      totalCount: page.totalCount,
      next: page.next,
      cursorRepeats: page.next !== null && rememberCursor(row.id, page.next, companyId),
    };
    if (!isUndecided(row, rules) || !isLong(outcome)) return outcome;
    const known = readKnownCompanies(db, row.region);
    return { ...outcome, companies: { ...known, inV3: [...known.inV3, ...excluded] } };
  };
}

/** The latest `<prefix>updated_at` of the records, ms since 1970; null if none has one. */
function latestUpdateOf(records: readonly ParsedRecord[]): number | null {
  let latest: number | null = null;
  for (const { updatedMs } of records)
    if (updatedMs !== null && updatedMs > (latest ?? -Infinity)) latest = updatedMs;
  return latest;
}

function prepareSaveSingly({ db, payload }: SaverOptions) {
  const saveRecords = prepareSaveOwn(db, payload);
  const withStoredCounts = prepareStoredCounts(db);
  const saveStream = prepareSaveStream(db);
  const bumpExportSeq = prepareBumpExportSeq(db);
  return (row: StreamRow, records: readonly ParsedRecord[]) => {
    if (row.state !== 'complete' && row.state !== 'short') {
      throw new Error(`Stream ${row.id} is ${row.state}: its walk must find the records itself.`);
    }
    const { unique, duplicates, changed } = saveRecords(row, records);
    const before = withStoredCounts(row);
    const counted: StreamRow = {
      ...before,
      records: before.records + unique + duplicates,
      uniqueRecords: before.uniqueRecords + unique,
      duplicates: before.duplicates + duplicates,
    };
    dropStalePayloads(db);
    saveStream(counted);
    if (changed > 0) bumpExportSeq();
    return { row: counted, changed };
  };
}

/** Makes the function that saves a page's records. A record of a split list is stored in only one of the lists. */
function prepareSaveOwn(db: Db, payload: 'full' | 'ids') {
  const saveRecords = prepareSaveRecords(db, payload);
  const claim = prepareClaimRecords(db);
  return (row: StreamRow, records: readonly ParsedRecord[]): RecordTally => {
    const { kept, lost } = isSplit(row) ? claim(row, records) : { kept: records, lost: 0 };
    const tally = saveRecords(placeOf(row), kept);
    return { ...tally, duplicates: tally.duplicates + lost };
  };
}

function placeOf({ id, position }: StreamRow): PagePlace {
  const { walk, keepFrom, passWalk, previous } = position;
  return { streamId: id, walk, keepFrom, passWalk, previousWalk: previous?.walk ?? null };
}

/** Added work waits at most this long for more, unless `flushSoon` is called. */
const MAX_WAIT_MS = 40;

/** Combines the work of several callers in one transaction. */
export interface CommitGroup {
  /** Resolves with the result of `work` once it is committed. If any work of a transaction fails, all of it does. */
  add<T>(work: () => T): Promise<T>;
  /** Commits soon, because a caller waits for work that was added or is about to be. */
  flushSoon(): void;
}

interface Entry {
  /** Does the work within the transaction; returns a function that reports success after the commit. */
  readonly run: () => () => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Creates a commit group. Committing eight pages takes about as long as committing one. `inTransaction` runs its
 * argument in a transaction, which is committed when it returns.
 */
export function createCommitGroup(inTransaction: <T>(work: () => T) => T): CommitGroup {
  let waiting: Entry[] = [];
  let isUrgent = false;
  let isDue = false;
  let timer: NodeJS.Timeout | undefined;
  const commit = (): void => {
    const entries = waiting;
    waiting = [];
    isUrgent = false;
    isDue = false;
    clearTimeout(timer);
    timer = undefined;
    try {
      const succeed = inTransaction(() => entries.map(({ run }) => run()));
      for (const report of succeed) report();
    } catch (error) {
      for (const { fail } of entries) fail(error);
    }
  };
  const commitSoon = (): void => {
    // two turns of the event loop, to send pending requests and receive responses before the commit blocks
    if (!isDue) setImmediate(() => setImmediate(commit));
    isDue = true;
  };
  return {
    add: (work) =>
      new Promise((resolve, fail) => {
        const run = () => {
          const value = work();
          return () => resolve(value);
        };
        waiting.push({ run, fail });
        if (isUrgent) commitSoon();
        else timer ??= setTimeout(commitSoon, MAX_WAIT_MS);
      }),
    flushSoon: () => {
      isUrgent = true;
      if (waiting.length > 0) commitSoon();
    },
  };
}
