import { join } from 'node:path';
import { expect } from 'vitest';
import type { ApplyContext, DataStore } from '../../../src/apply/context.js';
import type { TargetPlan } from '../../../src/apply/plan.js';
import { SvcError } from '../../../src/errors.js';
import { makeCase, remapRowsOf, rowsOf } from './cases.js';
import {
  type CutProxy,
  type Message,
  mysqlSize,
  postgresSize,
  startCutProxy,
  type Verdict,
} from './cut-proxy.js';
import type { Database, Engine } from './databases.js';
import { createRemap, IN_PLACE, openContext } from './remap.js';

type Work = 'survey' | 'write' | 'undo';

const WORKS = ['survey', 'write', 'undo'] as const;

/** The messages of an undisturbed job. */
export type Messages = Readonly<Record<Work, readonly Message[]>>;

/** What is done to the message with a number, while planning, again while writing and while taking back. */
export interface Cut {
  readonly survey: number;
  readonly write: number;
  readonly undo: number;
  readonly verdict: Exclude<Verdict, 'pass'>;
}

const CASES = [makeCase(4, 'plain', 2), makeCase(7, 'unique', 1)];

type ClosableContext = ApplyContext & { readonly remap: { close(): unknown } };

/** A proxy before the server of a database, and the connection string by way of it. */
export async function openProxy({ url, engine }: Database): Promise<{ proxy: CutProxy; through: string }> {
  const port = Number(new URL(url).port);
  const proxy = await startCutProxy(port, engine.kind === 'mysql' ? mysqlSize : postgresSize);
  return { proxy, through: url.replace(/:\d+\//, `:${proxy.port}/`) };
}

/** Two small tables, one rewritten in batches and one at once, behind a proxy. */
export class CutScene {
  cuts = 0;
  readonly #proxy: CutProxy;
  readonly #through: string;
  readonly #database: Database;
  readonly #context: ClosableContext;
  readonly #before: string;
  #plans: readonly TargetPlan[] = [];
  #lives = 0;

  static async open(engine: Engine, folder: string, name: string): Promise<CutScene> {
    const database = await engine.createDatabase(name);
    await database.createCases(CASES);
    const remap = join(folder, `${engine.kind}-${name}.db`);
    createRemap(remap, CASES.flatMap(remapRowsOf));
    const { proxy, through } = await openProxy(database);
    const context = openContext(remap, IN_PLACE, { batchRows: 4 });
    return new CutScene(database, proxy, through, context, await database.dump());
  }

  private constructor(
    database: Database,
    proxy: CutProxy,
    through: string,
    context: ClosableContext,
    before: string,
  ) {
    this.#database = database;
    this.#proxy = proxy;
    this.#through = through;
    this.#context = context;
    this.#before = before;
  }

  async close(): Promise<void> {
    await this.#proxy.close();
    await this.#database.close();
    this.#context.remap.close();
  }

  /** Lets an undisturbed job pass by. */
  async record(): Promise<Messages> {
    const store = this.#openStore();
    this.#plans = await store.survey();
    await store.close();
    // The ledger is there from now on.
    await this.live(null);
    const messages = { survey: [] as Message[], write: [] as Message[], undo: [] as Message[] };
    for (const work of WORKS) {
      await this.#work(work, (message) => {
        messages[work].push(message);
        return 'pass';
      });
    }
    return messages;
  }

  /** Plans, writes and takes back, each with a cut; all must come to their end by themselves. */
  async live(cut: Cut | null): Promise<void> {
    this.#lives += 1;
    await this.#work('survey', this.#cutOnce(cut?.survey, cut?.verdict));
    await this.#work('write', this.#cutOnce(cut?.write, cut?.verdict));
    await this.#assertWritten();
    await this.#work('undo', this.#cutOnce(cut?.undo, cut?.verdict));
    await this.#assertUndone();
  }

  #cutOnce(at: number | undefined, verdict: Verdict | undefined): CutProxy['judge'] {
    return (message) => {
      if (message.at !== at || verdict === undefined) return 'pass';
      this.cuts += 1;
      return verdict;
    };
  }

  /** After so many messages nothing passes any more: the work must give up and say so. */
  async failFor(work: Exclude<Work, 'survey'>, messages: number): Promise<void> {
    let left = messages;
    const failed = this.#work(work, () => {
      left -= 1;
      return left < 0 ? 'cut_before' : 'pass';
    });
    await expect(failed).rejects.toBeInstanceOf(SvcError);
  }

  async finish(work: Exclude<Work, 'survey'>): Promise<void> {
    await this.#work(work, () => 'pass');
    if (work === 'write') await this.#assertWritten();
    else await this.#assertUndone();
  }

  async #work(work: Work, judge: CutProxy['judge']): Promise<void> {
    const run = `run-${this.#lives}`;
    const store = this.#openStore();
    this.#proxy.count = 0;
    this.#proxy.judge = judge;
    try {
      if (work === 'survey') expect(await store.survey()).toEqual(this.#plans);
      else if (work === 'undo') await store.undo(run);
      else await store.write(this.#plans, { run, planSha256: 'p', isExact: true });
    } finally {
      this.#proxy.judge = () => 'pass';
      await store.close();
    }
  }

  #openStore(): DataStore {
    return this.#database.openStore(this.#context, this.#database.targetsOf(CASES), this.#through);
  }

  async #assertWritten(): Promise<void> {
    const { showRow } = this.#database.engine;
    const expected = CASES.map((one) => rowsOf(one, true).map(showRow).sort());
    expect(await this.#database.readCases(CASES)).toEqual(expected);
    const runs = (await this.#database.ledger.progress()).filter(({ state }) => state !== 'undone');
    expect(runs.map(({ state, listed, done, skipped }) => [state, listed - done, skipped])).toEqual([
      ['done', 0, 0],
      ['done', 0, 0],
    ]);
    const changed = CASES.flatMap((one) => {
      const after = rowsOf(one, true).map(showRow);
      return rowsOf(one, false).filter((row, at) => showRow(row) !== after[at]);
    });
    const entered = await this.#database.ledger.changes();
    expect(entered.filter((one) => one.old !== one.new)).toHaveLength(changed.length);
  }

  async #assertUndone(): Promise<void> {
    expect(await this.#database.dump()).toBe(this.#before);
    expect(await this.#database.ledger.countListed()).toBe(0);
  }
}

/** Every so many messages: not passed on; a message of the client also passed on, with its answer lost. */
export function everyMessage(messages: Messages, stride: number): Cut[] {
  const most = Math.max(...WORKS.map((work) => messages[work].length));
  const cuts: Cut[] = [];
  for (let at = 0; at < most; at += stride) {
    const places = {
      survey: at % messages.survey.length,
      write: at % messages.write.length,
      undo: at % messages.undo.length,
    };
    cuts.push({ ...places, verdict: 'cut_before' }, { ...places, verdict: 'cut_after' });
  }
  return cuts;
}

/** Whether a message is a query of a client of PostgreSQL or MySQL. */
function isQuery(type: string, bytes: Buffer): boolean {
  return type === 'Q' || bytes[4] === 3;
}

/** Around every COMMIT: not sent, sent, answered but unheard, heard but not known to be ready. */
export function commitMessages(messages: Messages): Cut[] {
  const places = (work: Work) =>
    messages[work].flatMap(({ type, bytes, at }) =>
      isQuery(type, bytes) && bytes.includes('COMMIT') ? [at, at + 1, at + 2] : [],
    );
  const [write, undo] = [places('write'), places('undo')];
  return write.flatMap((at, index) => {
    const both = { survey: -1, write: at, undo: undo[index % undo.length] ?? 0 };
    return [
      { ...both, verdict: 'cut_before' as const },
      { ...both, verdict: 'cut_after' as const },
    ];
  });
}

export function describeCuts({ cuts }: CutScene, messages: Messages): string {
  const { survey, write, undo } = messages;
  return `${cuts} cuts in plans of ${survey.length} messages, applies of ${write.length} and undos of ${undo.length}`;
}
