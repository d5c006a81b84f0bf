import type { Config } from '../../config/config.js';
import { type Generation, isUnfinished, type OnProgress, type ParsedRecord } from '../../domain.js';
import { isNotFound, isRequestError, type SvcError } from '../../errors.js';
import type { Saver } from '../../export/saver.js';
import { type RecheckScope, recheckScope } from '../../reasons.js';
import type { Db } from '../../store/open.js';
import { type CompanyPairs, type OpenRow, readControlRecord } from '../../store/open-findings.js';
import type { StreamRow } from '../../store/streams.js';
import { createLiveReader, type LiveReader, type RecordApi } from '../live-records.js';

/** A request for the records of one list with one id or key. */
export interface RecordQuestion {
  readonly stream: StreamRow;
  readonly companyId: bigint;
  readonly by: 'svc_id' | 'platform_id';
  readonly value: string;
}

/** What a recheck requests. */
export interface RecheckPlan {
  readonly questions: readonly RecordQuestion[];
  /** Lists to read again, because single requests would not suffice or would cost more. */
  readonly lists: ReadonlySet<StreamRow>;
  /** Whether V4's list of companies is read again. */
  readonly readsCompanies: boolean;
}

export interface PlanInput {
  /** Open rows of records, and the records in which children are open. */
  readonly findings: Iterable<OpenRow>;
  readonly parents: Iterable<OpenRow>;
  readonly streams: readonly StreamRow[];
  readonly pairs: CompanyPairs;
  readonly config: Config;
}

/** Up to this many single requests per list are sent in any case; more only if it has more pages. */
const FEW = 25;

/** Decides what to request again for the open findings. */
export function planRecheck(input: PlanInput): RecheckPlan {
  const planner = new Planner(input);
  for (const row of input.findings) if (row.path === '') planner.addFinding(row);
  for (const row of input.parents) planner.addIds(row);
  return planner.finish();
}

class Planner {
  readonly #input: PlanInput;
  readonly #questions = new Map<StreamRow, Map<string, RecordQuestion>>();
  readonly #lists = new Set<StreamRow>();
  readonly #streams = new Map<string, StreamRow>();
  /** Scopes whose lists were added already. */
  readonly #added = new Set<RecheckScope>();

  constructor(input: PlanInput) {
    this.#input = input;
    for (const stream of input.streams) {
      const { generation, region, model, companyId } = stream;
      this.#streams.set(nameOf(generation, region, model, companyId), stream);
    }
  }

  addFinding(row: OpenRow): void {
    const scope = recheckScope(row.reason ?? '');
    this.addIds(row);
    this.#addListsOf(scope);
    if (scope !== 'v4_list') {
      this.#addKeys(row);
      return;
    }
    const stream = this.#streams.get(nameOf('v4', '', row.model, row.v4_company_id));
    if (stream !== undefined) this.#lists.add(stream);
  }

  /** Requests the records of the row by id. */
  addIds({ model, region, v3_company_id, v3_svc_id, v4_company_id, v4_svc_id }: OpenRow): void {
    if (v3_svc_id !== null && v3_company_id !== null && region !== null) {
      this.#ask('v3', region, model, v3_company_id, 'svc_id', String(v3_svc_id));
    }
    if (v4_svc_id !== null && v4_company_id !== null) {
      this.#ask('v4', '', model, v4_company_id, 'svc_id', String(v4_svc_id));
    }
  }

  finish(): RecheckPlan {
    const questions: RecordQuestion[] = [];
    for (const [stream, own] of this.#questions) {
      if (this.#lists.has(stream)) continue;
      if (own.size > Math.max(FEW, this.#pagesOf(stream))) this.#lists.add(stream);
      else questions.push(...own.values());
    }
    return { questions, lists: this.#lists, readsCompanies: [...this.#added].some(readsCompanies) };
  }

  /** Requests the records with the row's key on either side: a twin, or competing records. */
  #addKeys({ model, platform_id: key, v4_company_id, status }: OpenRow): void {
    if (key === null || v4_company_id === null) return;
    if (status !== 'v4_only') this.#ask('v4', '', model, v4_company_id, 'platform_id', key);
    const v3 = this.#input.pairs.v3Of.get(v4_company_id);
    if (status === 'unmatched' || v3 === undefined) return;
    this.#ask('v3', v3.region, model, v3.companyId, 'platform_id', key);
  }

  /** Adds the lists that a scope needs for any record. */
  #addListsOf(scope: RecheckScope): void {
    if (this.#added.has(scope)) return;
    this.#added.add(scope);
    const unpaired = new Set(readsCompanies(scope) ? this.#input.pairs.unpairedV4 : []);
    for (const stream of this.#input.streams) {
      const { generation, companyId } = stream;
      const isWanted =
        (generation === 'v4' && companyId !== null && unpaired.has(companyId)) ||
        (generation === 'v3' && scope === 'companies_and_v3') ||
        (scope === 'unread_lists' && isUnfinished(stream));
      if (isWanted) this.#lists.add(stream);
    }
  }

  #ask(
    generation: Generation,
    region: string,
    model: string,
    companyId: bigint,
    by: RecordQuestion['by'],
    value: string,
  ): void {
    const stream =
      this.#streams.get(nameOf(generation, region, model, companyId)) ??
      this.#streams.get(nameOf(generation, region, model, null));
    if (stream === undefined) return;
    // No record can be saved singly in an absent list.
    if (isUnfinished(stream) || stream.state === 'absent') {
      this.#lists.add(stream);
      return;
    }
    const own = this.#questions.get(stream) ?? new Map<string, RecordQuestion>();
    this.#questions.set(stream, own.set(`${companyId} ${by} ${value}`, { stream, companyId, by, value }));
  }

  #pagesOf({ generation, region, uniqueRecords }: StreamRow): number {
    const { v3, v4 } = this.#input.config;
    const endpoint = generation === 'v4' ? v4 : v3.regions.find((one) => one.region === region);
    return Math.ceil(uniqueRecords / (endpoint?.pageSize ?? 1)) + 1;
  }
}

function readsCompanies(scope: RecheckScope): boolean {
  return scope === 'companies' || scope === 'companies_and_v3';
}

function nameOf(generation: Generation, region: string, model: string, companyId: bigint | null): string {
  return JSON.stringify([generation, region, model, companyId === null ? null : String(companyId)]);
}

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
  const read = prepareRead(db, createLiveReader(api, config));
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
  let asked = 0;
  const ask = async (question: RecordQuestion) => {
    const answer = { question, ...(await read(question)) };
    asked += 1;
    onProgress({ kind: 'step', name: 'records', done: asked, total: questions.length });
    return answer;
  };
  for (let at = 0; at < questions.length; at += BATCH) {
    const answers = await Promise.all(questions.slice(at, at + BATCH).map(ask));
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

function prepareRead(db: Db, source: LiveReader): (question: RecordQuestion) => Promise<Answered> {
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
      return answer === null ? READ_LIST : { records: answer, error: null };
    } catch (error) {
      if (!isRequestError(error)) throw error;
      // The list no longer exists; reading it will record that.
      return isNotFound(error) ? READ_LIST : { records: null, error };
    }
  };
}

async function tryFilter(
  db: Db,
  source: LiveReader,
  { generation, region, model }: StreamRow,
  by: RecordQuestion['by'],
): Promise<boolean> {
  const control = readControlRecord(db, generation, region, model);
  if (control === undefined) return false;
  const { companyId, svcId, platformId } = control;
  const value = by === 'svc_id' ? String(svcId) : platformId;
  const answer = await source.byFilter({ generation, region, model, companyId, by, value });
  return answer?.some((record) => record.svcId === svcId) === true;
}
