import type { PageRecord } from '../../src/domain.js';
import { SvcError } from '../../src/errors.js';
import { createSaver, type StreamAnswer } from '../../src/export/save-page.js';
import { beginReading } from '../../src/export/walk.js';
import type { Db } from '../../src/store/sqlite.js';
import { ensureStreams, listStreams, type StreamRow } from '../../src/store/streams.js';
import { config } from '../export/config.js';
import { openEmptyDatabase } from '../support/empty-database.js';
import type { Action, Flight, ModelRecord, State, Variant } from './export-model.js';

/** A database with one stream that was never read. */
export function openModelDatabase(variant: Variant): Db {
  const db = openEmptyDatabase();
  resetStream(db, variant);
  return db;
}

function resetStream(db: Db, { overlap }: Variant): void {
  db.exec('delete from stream; delete from record; delete from cursor_seen; delete from meta');
  const generation = overlap !== null ? 'v3' : 'v4';
  const key = { generation, region: '', model: 'a/b', companyId: overlap !== null ? null : 1n } as const;
  ensureStreams(db, [{ key, route: 'b' }]);
}

export function readRow(db: Db): StreamRow {
  const [row] = listStreams(db);
  if (row === undefined) throw new Error('There is no stream.');
  return row;
}

/** What the real store holds after the same actions; after each the row is read back, as after a crash. */
export function replay(db: Db, variant: Variant, actions: readonly Action[]): Pick<State, 'row' | 'stored'> {
  resetStream(db, variant);
  let nowMs = 0;
  const clock = { now: () => nowMs };
  const saver = createSaver({ db, config: config({ payload: 'ids' }), sweepOverlap: variant.overlap, clock });
  for (const action of actions) {
    if (action.kind === 'crash') continue;
    nowMs = action.nowMs;
    const row = readRow(db);
    if (action.kind === 'begin') saver.saveStep(row, beginReading(row, false, variant.overlap, nowMs));
    else saver.saveAnswer(row, answerOf(action.flight, variant));
  }
  return { row: readRow(db), stored: readStored(db) };
}

function answerOf({ askedMs, answer }: Flight, { dates }: Variant): StreamAnswer {
  if ('code' in answer) {
    const facts = answer.status === null ? {} : { status: answer.status };
    return { askedMs, result: new SvcError(answer.code, 'It broke.', { facts }) };
  }
  const { next, totalCount, servedMs } = answer;
  const records = answer.records.map((record) => pageRecord(record, dates));
  const nothing = { rejected: [], body: new Uint8Array(), encoding: 'br' } as const;
  return { askedMs, result: { ...nothing, records, next, totalCount, servedMs } };
}

function pageRecord({ id, version }: ModelRecord, dates: Variant['dates']): PageRecord {
  return {
    svcId: id,
    companyId: 1,
    platformId: `version ${version}`,
    platformUniqueId: null,
    deleted: false,
    updatedMs: dates === 'none' ? null : version,
    latestMs: null,
    latestFrom: null,
    createdMs: null,
    children: [],
    facts: null,
  };
}

function readStored(db: Db): State['stored'] {
  const rows = db
    .prepare<[], { id: bigint; version: string; walk: bigint }>(
      'select svc_id as id, substr(platform_id, 9) as version, walk from record order by svc_id',
    )
    .all();
  return new Map(
    rows.map(({ id, version, walk }) => [Number(id), { version: Number(version), walk: Number(walk) }]),
  );
}
