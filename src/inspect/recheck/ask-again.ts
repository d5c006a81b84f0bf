import type { Api } from '../../api/client.js';
import { type FetchNarrow, prepareFetchNarrow } from '../../api/narrow-list.js';
import type { Config } from '../../config/config.js';
import type { ModelPair, OnProgress, ParsedRecord } from '../../domain.js';
import { isRequestError, type SvcError } from '../../errors.js';
import type { Saver } from '../../export/saver.js';
import type { Db } from '../../store/open.js';
import { type ControlRecord, readControlRecord } from '../../store/open-findings.js';
import type { StreamRow } from '../../store/stream-row.js';
import type { Ask } from './plan.js';

export interface AskOptions {
  readonly db: Db;
  readonly config: Config;
  readonly api: Pick<Api, 'fetchRecord' | 'fetchWorded'>;
  readonly saver: Saver;
  readonly onProgress: OnProgress;
}

/** What came of the narrow questions. */
export interface AskResult {
  /** Questions that were answered. */
  readonly answered: number;
  /** Records that were new or had changed. */
  readonly changed: number;
  /** V3 records that V3 shows no more, not even as deleted. */
  readonly vanished: readonly Ask[];
  /** Lists to read after all: no filter is honoured there, or a record is gone from them. */
  readonly lists: ReadonlySet<StreamRow>;
  readonly failed: number;
  readonly firstError: SvcError | null;
}

/** Questions put at once; the client itself limits the requests under way. */
const BATCH = 100;

/**
 * Puts narrow questions and stores what has changed. Only where a filter finds a record that is known to be
 * there does it say anything about one that is not.
 *
 * @throws SvcError `auth`, `redirect`, `config`; the signal's reason
 */
export async function askAgain(asks: readonly Ask[], options: AskOptions): Promise<AskResult> {
  const asker = new Asker(options);
  for (let at = 0; at < asks.length; at += BATCH) {
    options.onProgress({ kind: 'step', name: 'records', done: at, total: asks.length });
    const batch = asks.slice(at, at + BATCH);
    if (!(await asker.putAll(batch))) break;
  }
  return asker.result(asks.length);
}

type Answer =
  | { readonly kind: 'records'; readonly records: readonly ParsedRecord[] }
  | { readonly kind: 'list' }
  | { readonly kind: 'failed'; readonly error: SvcError };

class Asker {
  readonly #options: AskOptions;
  readonly #fetchNarrow: FetchNarrow;
  readonly #pairs: ReadonlyMap<string, ModelPair>;
  readonly #controls = new Map<string, Promise<boolean>>();
  readonly #rows = new Map<bigint, StreamRow>();
  readonly #lists = new Set<StreamRow>();
  readonly #vanished: Ask[] = [];
  #answered = 0;
  #changed = 0;
  #left = 0;
  #firstError: SvcError | null = null;

  constructor(options: AskOptions) {
    this.#options = options;
    this.#fetchNarrow = prepareFetchNarrow(options.api, options.config);
    this.#pairs = new Map(options.config.models.map((pair) => [pair.v3, pair]));
  }

  /** False where none of them could be answered: an outage is not waited out. */
  async putAll(batch: readonly Ask[]): Promise<boolean> {
    const answers = await Promise.all(batch.map((ask) => this.#put(ask)));
    for (const [at, ask] of batch.entries()) {
      const answer = answers[at];
      if (answer !== undefined) await this.#take(ask, answer);
    }
    return answers.some(({ kind }) => kind !== 'failed');
  }

  result(asked: number): AskResult {
    return {
      answered: this.#answered,
      changed: this.#changed,
      vanished: this.#vanished,
      lists: this.#lists,
      failed: asked - this.#answered - this.#left,
      firstError: this.#firstError,
    };
  }

  async #put(ask: Ask): Promise<Answer> {
    const { stream, companyId, by, value } = ask;
    const pair = this.#pairs.get(stream.model);
    if (pair === undefined) throw new TypeError(`Model ${stream.model} is not in the configuration.`);
    try {
      if (stream.generation === 'v4' && by === 'svc_id') {
        const request = { pair, companyId, svcId: BigInt(value) };
        const record = await this.#options.api.fetchRecord(request);
        if (record !== null) return { kind: 'records', records: [record] };
      }
      if (!(await this.#isHonoured(stream, pair, by))) return { kind: 'list' };
      const { generation, region } = stream;
      const answer = await this.#fetchNarrow({ generation, region, pair, companyId, by, value });
      return answer.kind === 'records' ? answer : { kind: 'list' };
    } catch (error) {
      if (!isRequestError(error)) throw error;
      // A list that is there no more: for a reading of it to find out.
      return error.facts['status'] === 404 ? { kind: 'list' } : { kind: 'failed', error };
    }
  }

  /** Whether a filter finds the one record that is known to be there. Tried once per model and filter. */
  #isHonoured({ generation, region, model }: StreamRow, pair: ModelPair, by: Ask['by']): Promise<boolean> {
    const name = `${generation} ${region} ${model} ${by}`;
    const known = this.#controls.get(name);
    if (known !== undefined) return known;
    const control = readControlRecord(this.#options.db, generation, region, model);
    const trial =
      control === undefined ? Promise.resolve(false) : this.#try(control, { generation, region, pair, by });
    this.#controls.set(name, trial);
    return trial;
  }

  async #try(
    { companyId, svcId, platformId }: ControlRecord,
    request: Pick<Parameters<FetchNarrow>[0], 'generation' | 'region' | 'pair' | 'by'>,
  ): Promise<boolean> {
    const value = request.by === 'svc_id' ? String(svcId) : platformId;
    const answer = await this.#fetchNarrow({ ...request, companyId, value });
    return answer.kind === 'records' && answer.records.some((record) => record.svcId === svcId);
  }

  async #take(ask: Ask, answer: Answer): Promise<void> {
    switch (answer.kind) {
      case 'failed':
        this.#firstError ??= answer.error;
        return;
      case 'list':
        this.#left += 1;
        this.#lists.add(ask.stream);
        return;
      case 'records':
        this.#answered += 1;
        await this.#save(ask, answer.records);
        return;
      default:
        answer satisfies never;
    }
  }

  async #save(ask: Ask, records: readonly ParsedRecord[]): Promise<void> {
    if (records.length > 0) {
      const row = this.#rows.get(ask.stream.id) ?? ask.stream;
      const saved = await this.#options.saver.saveSingly(row, records);
      this.#rows.set(row.id, saved.row);
      this.#changed += saved.changed;
    } else if (ask.by === 'svc_id') {
      // Not for a narrow read to conclude that a record is gone.
      if (ask.stream.generation === 'v4') this.#lists.add(ask.stream);
      else this.#vanished.push(ask);
    }
  }
}
