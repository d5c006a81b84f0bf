import type { Config } from '../../config/config.js';
import type { OnProgress, ParsedRecord } from '../../domain.js';
import { isRequestError, type SvcError } from '../../errors.js';
import type { Saver } from '../../export/saver.js';
import type { Db } from '../../store/open.js';
import { readControlRecord } from '../../store/open-findings.js';
import type { StreamRow } from '../../store/streams.js';
import { createRecordSource, type RecordApi, type RecordSource } from '../read-records.js';
import type { RecordQuestion } from './plan-recheck.js';

export interface AskOptions {
  readonly db: Db;
  readonly config: Config;
  readonly api: RecordApi;
  readonly saver: Saver;
  readonly onProgress: OnProgress;
}

/** The results of requests for single records. */
export interface AskResult {
  /** Records that were new or had changed. */
  readonly changed: number;
  /** V3 records that V3 no longer shows, not even as deleted. */
  readonly vanished: readonly RecordQuestion[];
  /** Lists that must be read in full: they honour no filter, or a record is gone from them. */
  readonly lists: ReadonlySet<StreamRow>;
  readonly failed: number;
  readonly firstError: SvcError | null;
}

/** Questions per batch; the client itself limits concurrent requests. */
const BATCH = 100;

/**
 * Requests single records and stores those that changed. A filter is used only if it finds a record that is known to
 * exist.
 *
 * @throws SvcError `auth`, `redirect`, `config`; the signal's reason
 */
export async function askAgain(
  questions: readonly RecordQuestion[],
  { db, config, api, saver, onProgress }: AskOptions,
): Promise<AskResult> {
  const read = prepareRead(db, createRecordSource(api, config));
  /** Lists as updated by saving records, by id. */
  const savedLists = new Map<bigint, StreamRow>();
  const lists = new Set<StreamRow>();
  const vanished: RecordQuestion[] = [];
  let changed = 0;
  let settled = 0;
  let firstError: SvcError | null = null;
  const save = async ({ stream }: RecordQuestion, records: readonly ParsedRecord[]): Promise<void> => {
    const saved = await saver.saveSingly(savedLists.get(stream.id) ?? stream, records);
    savedLists.set(stream.id, saved.row);
    changed += saved.changed;
  };
  for (let at = 0; at < questions.length; at += BATCH) {
    onProgress({ kind: 'step', name: 'records', done: at, total: questions.length });
    const batch = questions.slice(at, at + BATCH);
    const answers = await Promise.all(
      batch.map(async (question) => ({ question, ...(await read(question)) })),
    );
    for (const { question, records, error } of answers) {
      if (error === null) settled += 1;
      else firstError ??= error;
      if (records === null && error === null) lists.add(question.stream);
      if (records === null) continue;
      if (records.length > 0) await save(question, records);
      else if (question.by === 'svc_id') {
        // One request does not prove that a V4 record is gone.
        if (question.stream.generation === 'v4') lists.add(question.stream);
        else vanished.push(question);
      }
    }
    // Stops at an outage instead of waiting for its end.
    if (answers.every(({ error }) => error !== null)) break;
  }
  return { changed, vanished, lists, failed: questions.length - settled, firstError };
}

/** Neither records nor error: only reading the whole list can answer. */
interface Answered {
  readonly records: readonly ParsedRecord[] | null;
  readonly error: SvcError | null;
}

const READ_LIST: Answered = { records: null, error: null };

function prepareRead(db: Db, source: RecordSource): (question: RecordQuestion) => Promise<Answered> {
  const trials = new Map<string, Promise<boolean>>();
  /** Whether a filter finds a record that is known to exist. Tried once per model and filter. */
  const isHonoured = ({ stream, by }: RecordQuestion): Promise<boolean> => {
    const { generation, region, model } = stream;
    const name = `${generation} ${region} ${model} ${by}`;
    const known = trials.get(name);
    if (known !== undefined) return known;
    const trial = tryFilter(db, source, stream, by);
    trials.set(name, trial);
    return trial;
  };
  return async (question) => {
    const { stream, companyId, by, value } = question;
    const { generation, region, model } = stream;
    try {
      if (generation === 'v4' && by === 'svc_id') {
        const record = await source.byRoute(model, companyId, BigInt(value));
        if (record !== null) return { records: [record], error: null };
      }
      if (!(await isHonoured(question))) return READ_LIST;
      const answer = await source.byFilter({ generation, region, model, companyId, by, value });
      return answer.kind === 'records' ? { records: answer.records, error: null } : READ_LIST;
    } catch (error) {
      if (!isRequestError(error)) throw error;
      // The list no longer exists; reading it will record that.
      return error.facts['status'] === 404 ? READ_LIST : { records: null, error };
    }
  };
}

async function tryFilter(
  db: Db,
  source: RecordSource,
  { generation, region, model }: StreamRow,
  by: RecordQuestion['by'],
): Promise<boolean> {
  const control = readControlRecord(db, generation, region, model);
  if (control === undefined) return false;
  const { companyId, svcId, platformId } = control;
  const value = by === 'svc_id' ? String(svcId) : platformId;
  const answer = await source.byFilter({ generation, region, model, companyId, by, value });
  return answer.kind === 'records' && answer.records.some((record) => record.svcId === svcId);
}
