import type { Config } from '../config/config.js';
import type { Clock, ListPage, PageRecord } from '../domain.js';
import { SvcError } from '../errors.js';
import { guardDatabase, transact } from '../store/open.js';
import {
  discard,
  prepareRememberCursor,
  prepareSaveBody,
  prepareSaveExcluded,
  prepareSaveRecords,
  prepareSaveRejected,
} from '../store/records.js';
import type { Db } from '../store/sqlite.js';
import { isCompanyList, prepareBumpExportSeq, prepareSaveStream, type StreamRow } from '../store/streams.js';
import { type ErrorOutcome, nextStep, type PageOutcome, type Step, type SweepOverlap } from './walk.js';

export interface StreamAnswer {
  /** When it was requested, ms of the local clock. */
  readonly askedMs: number;
  readonly result: ListPage | SvcError;
}

/** Saves what a list answers, each answer in one transaction with the state of the list that follows from it. */
export interface Saver {
  /** @throws SvcError `disk`, `locked`, `corrupt_database`: what was committed is then unknown, so read the row again */
  saveAnswer(row: StreamRow, answer: StreamAnswer): Step;
  saveStep(before: StreamRow, step: Step): Step;
}

export interface SaverOptions {
  readonly db: Db;
  readonly config: Config;
  readonly sweepOverlap: SweepOverlap;
  readonly clock: Clock;
}

export function createSaver(options: SaverOptions): Saver {
  const { db, config, sweepOverlap, clock } = options;
  const savePage = prepareSavePage(options);
  const saveStep = prepareSaveStep(db);
  const count = (sql: string) => {
    const statement = db.prepare<[bigint], bigint>(sql).pluck();
    return (row: StreamRow) => Number(statement.get(row.id));
  };
  const countRecords = count('select count(*) from record where stream_id = ?');
  const countRejected = count("select count(*) from rejected where stream_id = ? and path = ''");
  const countExcluded = count('select count(*) from excluded where stream_id = ?');
  const buildError = (row: StreamRow, error: SvcError, askedMs: number): ErrorOutcome => ({
    kind: 'error',
    askedMs,
    nowMs: clock.now(),
    code: error.code,
    status: typeof error.facts['status'] === 'number' ? error.facts['status'] : null,
    sentence: error.message,
    stored: {
      uniqueRecords: countRecords(row),
      rejected: countRejected(row),
      excluded: countExcluded(row),
    },
  });
  return {
    saveStep: (before, step) => saveStep(before, step, false),
    saveAnswer: (row, { askedMs, result }) =>
      guardDatabase(config.database, () =>
        transact(db, () => {
          const isError = result instanceof SvcError;
          const outcome = isError ? buildError(row, result, askedMs) : savePage(row, result, askedMs);
          const step = nextStep(row, outcome, sweepOverlap);
          const changed = outcome.kind === 'page' && outcome.changed + outcome.rejected > 0;
          return saveStep(row, withError(step, isError ? result : null), changed);
        }),
      ),
  };
}

function withError(step: Step, thrown: SvcError | null): Step {
  if (step.failure === undefined) return step;
  const { code, sentence, hint = thrown?.hint ?? null } = step.failure;
  const { facts = {} } = thrown ?? {};
  const error = JSON.stringify({ code, message: sentence, hint, facts }, (_name, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
  return { ...step, row: { ...step.row, error } };
}

function prepareSaveStep(db: Db): (before: StreamRow, step: Step, changed: boolean) => Step {
  const saveStream = prepareSaveStream(db);
  const bumpExportSeq = prepareBumpExportSeq(db);
  return (before, step, changed) => {
    let dropped = 0;
    for (const what of step.discard) {
      const count = discard(db, step.row, what);
      if (what === 'unseen') dropped += count;
    }
    saveStream(step.row);
    if (changed || dropped > 0 || step.row.state !== before.state) bumpExportSeq();
    return step;
  };
}

function prepareSavePage({ db, config, clock }: SaverOptions) {
  const saveRecords = prepareSaveRecords(db);
  const saveRejected = prepareSaveRejected(db);
  const saveExcluded = prepareSaveExcluded(db);
  const saveBody = prepareSaveBody(db);
  const rememberCursor = prepareRememberCursor(db);
  const excluded = new Set(config.companies.exclude);
  const isExcluded = ({ companyId }: PageRecord) => excluded.has(BigInt(companyId));
  return (row: StreamRow, page: ListPage, askedMs: number): PageOutcome => {
    const filters = excluded.size > 0 && row.companyId === null && !isCompanyList(row);
    const kept = filters ? page.records.filter((record) => !isExcluded(record)) : page.records;
    const dropped = filters ? page.records.filter(isExcluded) : [];
    const keepsBody = config.payload === 'full' && kept.length > 0 && !isCompanyList(row);
    const pageId = keepsBody ? saveBody(row.id, page) : null;
    if (row.phase === 'walk' && row.cursor === null) discard(db, row, 'rejected');
    const { next } = page;
    return {
      ...saveRecords(row, kept, pageId),
      kind: 'page',
      askedMs,
      nowMs: clock.now(),
      servedMs: page.servedMs,
      latestUpdateMs: latestUpdateOf(page.records),
      objects: countObjects(page),
      rejected: saveRejected(row, page.rejected),
      excluded: { ...saveExcluded(row, dropped), objects: dropped.length },
      totalCount: page.totalCount,
      next,
      cursorRepeats: next !== null && rememberCursor(row.id, next),
    };
  };
}

/** The records and rejected objects of a page; children do not count. */
export function countObjects({ records, rejected }: ListPage): number {
  return records.length + rejected.filter(({ path }) => path === '').length;
}

function latestUpdateOf(records: readonly PageRecord[]): number | null {
  const latest = records.reduce(
    (ms, { updatedMs }) => Math.max(ms, updatedMs ?? ms),
    Number.NEGATIVE_INFINITY,
  );
  return Number.isFinite(latest) ? latest : null;
}
