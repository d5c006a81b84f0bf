import { expect } from 'vitest';
import type { DataStore } from '../../../src/apply/context.js';
import type { TargetPlan } from '../../../src/apply/plan.js';
import type { Order } from './apply-child.js';
import type { ApplyChildren, Ending } from './apply-children.js';
import { type Case, type Row, rowsBeside, rowsOf } from './cases.js';
import type { openCases } from './job.js';
import type { LedgerReader } from './ledger.js';
import { seeded } from './remap.js';

/** Tables and ledger at one moment. */
interface Seen {
  /** The rows of each case, as sorted texts. */
  readonly tables: readonly (readonly string[])[];
  /** As `changedRows`. */
  readonly ledger: ReadonlySet<string>;
}

/** `table key` of each row that the ledger says was changed, apart from its platform_id. */
async function changedRows(ledger: LedgerReader): Promise<ReadonlySet<string>> {
  const changes = await ledger.changes();
  return new Set(
    changes.filter(({ column }) => column !== 'platform').map(({ table, key }) => `${table} ${key}`),
  );
}

/** When a process is killed: before one of its steps, or after a share of the time an undisturbed one takes. */
export type Moment =
  | { readonly kind: 'step'; readonly at: number }
  | { readonly kind: 'time'; readonly share: number };

export interface KillTally {
  kills: number;
  /** Kills of processes that carried on what a killed one had begun. */
  whileRecovering: number;
  /** Kills that left some rows with their old ids and some with their new ones. */
  halfway: number;
  withinTransactions: number;
}

interface RowCounts {
  old: number;
  now: number;
}

type Work = Order['work'];
type Undisturbed = Extract<Ending, { kind: 'done' }>;
type CasesJob = Pick<Awaited<ReturnType<typeof openCases>>, 'database' | 'context' | 'before'>;

/** Jobs on one place, each from the tables as they were to the tables as they were. */
export class KillLives {
  readonly tally: KillTally = { kills: 0, whileRecovering: 0, halfway: 0, withinTransactions: 0 };
  lives = 0;
  readonly #job: CasesJob;
  readonly #cases: readonly Case[];
  readonly #children: ApplyChildren;
  readonly #undisturbed = new Map<Work, Undisturbed>();
  #plans: readonly TargetPlan[] = [];

  constructor(job: CasesJob, cases: readonly Case[], children: ApplyChildren) {
    this.#job = job;
    this.#cases = cases;
    this.#children = children;
  }

  get #isNew(): boolean {
    return this.#job.context.policy.mode === 'new';
  }

  #openStore(): DataStore {
    return this.#job.database.openStore(this.#job.context, this.#job.database.targetsOf(this.#cases));
  }

  #order(work: Work, run: string, dieAt: number | null): Order {
    const { remap, policy, tuning } = this.#job.context;
    return {
      kind: this.#job.database.engine.kind,
      url: this.#job.database.url,
      remap: remap.name,
      targets: this.#job.database.targetsOf(this.#cases),
      policy,
      plans: this.#plans,
      batchRows: tuning.batchRows,
      work,
      run,
      dieAt,
    };
  }

  #look(): Promise<Seen> {
    return this.#job.database.freeze(async (frozen) => ({
      tables: await frozen.readCases(this.#cases),
      ledger: await changedRows(frozen.ledger),
    }));
  }

  /** Steps of an undisturbed process. */
  steps(work: Work): number {
    return this.#undisturbed.get(work)?.steps ?? 0;
  }

  /** Lets undisturbed processes write and take back. */
  async measure(): Promise<void> {
    const store = this.#openStore();
    this.#plans = await store.survey();
    await store.close();
    for (const work of ['write', 'undo'] as const) {
      const ending = await this.#children.run(this.#order(work, 'run-0', null));
      if (ending.kind === 'killed') throw new Error('killed by somebody else');
      this.#undisturbed.set(work, ending);
    }
    expect(await this.#job.database.dump()).toBe(this.#job.before);
  }

  /**
   * Processes that write are killed, the last one comes to its end, and the rows must be what the oracle says;
   * the same again for taking it back.
   */
  async live(moments: Readonly<Record<Work, readonly Moment[]>>): Promise<void> {
    this.lives += 1;
    const run = `run-${this.lives}`;
    await this.#finishWriting(run, await this.#killAll('write', run, moments.write));
    await this.#finishUndo(run, await this.#killAll('undo', run, moments.undo));
  }

  /** A life for one in so many steps, each with a process that dies there, while it writes and while it takes back. */
  async liveEach(stride: number): Promise<void> {
    const [write, undo] = [this.steps('write'), this.steps('undo')];
    // From another one each time where not all are tried.
    for (let at = Math.floor(stride / 2); at < Math.max(write, undo); at += stride)
      await this.liveAt(at, at % undo);
  }

  liveAt(write: number, undo: number): Promise<void> {
    return this.live({ write: [{ kind: 'step', at: write }], undo: [{ kind: 'step', at: undo }] });
  }

  /** False where every process was killed. */
  async #killAll(work: Work, run: string, moments: readonly Moment[]): Promise<boolean> {
    for (const [at, moment] of moments.entries()) {
      const dieAt = moment.kind === 'step' ? moment.at : null;
      const tookMs = this.#undisturbed.get(work)?.tookMs ?? 0;
      const after = moment.kind === 'time' ? moment.share * tookMs : undefined;
      const ending = await this.#children.run(this.#order(work, run, dieAt), after);
      if (ending.kind === 'done') return true;
      this.tally.kills += 1;
      if (at > 0) this.tally.whileRecovering += 1;
      if (await this.#job.database.isHalfDone()) this.tally.withinTransactions += 1;
      const { old, now } = await this.#countRows();
      if (old > 0 && now > 0) this.tally.halfway += 1;
    }
    return false;
  }

  /**
   * The tables must hold what the ledger says was carried out, and nothing else.
   *
   * @returns how many of the rows to be changed hold their old and their new ids
   */
  async #countRows(): Promise<RowCounts> {
    const { tables, ledger } = await this.#look();
    const seen = { old: 0, now: 0 };
    const show = this.#job.database.engine.showRow;
    for (const [at, one] of this.#cases.entries()) {
      if (this.#isNew) {
        this.#countFilled(one, tables[at] ?? [], seen);
        continue;
      }
      const rows = expectedHalfway(one, ledger, seen);
      // Platform_ids are filled after the ids of their rows.
      const width = rowsOf(one, false)[0]?.length;
      const found = (tables[at] ?? []).map((row) => show((JSON.parse(row) as Row).slice(0, width)));
      expect(found.sort()).toEqual(rows.map((row) => show(row.slice(0, width))).sort());
    }
    return seen;
  }

  /**
   * The ids are as they were, and new columns hold what they must or nothing. MySQL and MariaDB drop them one by one, so of
   * an undo that was killed there may be the last ones alone.
   */
  #countFilled(one: Case, found: readonly string[], seen: RowCounts): void {
    const width = rowsOf(one, false)[0]?.length ?? 0;
    const rows = rowsBeside(one).map((row) => JSON.parse(this.#job.database.engine.showRow(row)) as Row);
    const full = new Map(rows.map((row) => [String(row.slice(0, width)), row]));
    expect(found).toHaveLength(full.size);
    for (const row of found.map((text) => JSON.parse(text) as Row)) {
      const expected = full.get(String(row.slice(0, width))) ?? [];
      const kept = expected.slice(expected.length - (row.length - width));
      const cells = row.slice(width).map((cell, at) => [cell, kept[at]]);
      expect(cells.filter(([cell, final]) => cell !== null && cell !== final)).toEqual([]);
      if (String(expected.slice(width)).length > expected.length - width)
        seen[cells.some(([cell]) => cell !== null) ? 'now' : 'old'] += 1;
    }
  }

  async #finishWriting(run: string, isDone: boolean): Promise<void> {
    const rows = this.#isNew ? rowsBeside : (one: Case) => rowsOf(one, true);
    const expected = this.#cases.map((one) => rows(one).map(this.#job.database.engine.showRow).sort());
    const changed = this.#cases.map(placesOfChanges).reduce((sum, rows) => sum + rows.length, 0);
    const store = this.#openStore();
    const check = async () => {
      expect((await this.#look()).tables).toEqual(expected);
      if (!this.#isNew) expect(await this.#countRows()).toEqual({ old: 0, now: changed });
    };
    if (isDone) await check();
    // Once more where all is done already, now and then.
    for (const name of [...(isDone ? [] : [run]), ...(this.lives % 4 === 1 ? [`${run}-again`] : [])]) {
      const plans = await store.survey();
      expect(plans.flatMap((plan) => plan.notes.filter((note) => note.level === 'blocks'))).toEqual([]);
      const written = await store.write(plans, { run: name, planSha256: 'p', isExact: true });
      expect(written.filter((one) => one.skippedCount > 0)).toEqual([]);
      await check();
    }
    const states = (await this.#job.database.ledger.records()).map((record) => record[8]);
    expect(states.filter((state) => state !== 'undone')).toEqual(this.#cases.map(() => 'done'));
    const verified = await store.verify(run);
    expect(verified.filter((one) => one.wrongCount + one.changedSinceCount > 0)).toEqual([]);
    await store.close();
  }

  async #finishUndo(run: string, isDone: boolean): Promise<void> {
    const store = this.#openStore();
    const undone = isDone ? [] : await store.undo(run);
    expect(undone.filter((one) => one.changedSinceCount > 0)).toEqual([]);
    await store.close();
    expect(await this.#job.database.dump()).toBe(this.#job.before);
    expect((await this.#look()).ledger.size).toBe(0);
  }
}

/** Shapes whose ids are under no constraint: rewritten row by row; the others at once. */
const BATCHED = new Set<Case['shape']>(['plain', 'indexed', 'text', 'json', 'scoped']);

function expectedHalfway(one: Case, ledger: ReadonlySet<string>, seen: RowCounts): readonly Row[] {
  const before = rowsOf(one, false);
  const after = rowsOf(one, true);
  const isWhole = [...ledger].some((entry) => entry.startsWith(`${one.name} `));
  const changed = new Set(placesOfChanges(one));
  return before.map((row, at) => {
    const isNew = BATCHED.has(one.shape) ? ledger.has(`${one.name} ${row[0]}`) : isWhole;
    if (changed.has(at)) seen[isNew ? 'now' : 'old'] += 1;
    return isNew ? (after[at] ?? row) : row;
  });
}

/** Places of the rows that a case changes. */
function placesOfChanges(one: Case): number[] {
  const before = rowsOf(one, false);
  const after = rowsOf(one, true).map((row) => String(row.slice(0, before[0]?.length)));
  return before.flatMap((row, at) => (String(row) === after[at] ? [] : [at]));
}

/**
 * Kills until so many processes were killed: in each life one at its step `first` (of the life, from 0, and of the steps
 * of an undisturbed process), then others soon after they began or at a random moment, until the job is done or `chain`
 * were killed.
 */
export async function killMany(
  lives: KillLives,
  kills: number,
  {
    seed,
    first,
    chain,
  }: {
    readonly seed: number;
    readonly first: (life: number, steps: number) => number;
    readonly chain: number;
  },
): Promise<void> {
  const random = seeded(seed);
  const next = (work: Work): Moment =>
    random(3) === 0
      ? { kind: 'time', share: random(600) / 1000 }
      : { kind: 'step', at: random(1 + lives.steps(work) / 2) };
  for (let life = 0; lives.tally.kills < kills; life += 1) {
    const moments = (work: Work): Moment[] => [
      { kind: 'step', at: first(life, lives.steps(work)) },
      ...Array.from({ length: chain - 1 }, () => next(work)),
    ];
    await lives.live({ write: moments('write'), undo: moments('undo') });
  }
}

/** Steps that, however many lives there are, lie all over the work: each in the middle of a wide gap between the others. */
export function spread(life: number, steps: number): number {
  const golden = (Math.sqrt(5) - 1) / 2;
  return Math.floor(((life * golden) % 1) * steps);
}

export function describeKills({ lives, tally }: KillLives): string {
  const { kills, whileRecovering, halfway, withinTransactions } = tally;
  return `${kills} kills in ${lives} jobs, ${halfway} halfway through the rows, ${withinTransactions} within a transaction, ${whileRecovering} while recovering from one`;
}
