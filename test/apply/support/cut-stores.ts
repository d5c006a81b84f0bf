import { expect } from 'vitest';
import type { ApplyContext } from '../../../src/apply/context.js';
import { SvcError } from '../../../src/errors.js';
import type { Order } from './apply-child.js';
import type { ApplyChildren, Ending } from './apply-children.js';
import { type CutProxy, mysqlSize, postgresSize, startCutProxy } from './cut-proxy.js';
import type { Database } from './databases.js';

/** A proxy before the server of a database, and the connection string by way of it. */
export async function openProxy({ url, engine }: Database): Promise<{ proxy: CutProxy; through: string }> {
  const port = Number(new URL(url).port);
  const proxy = await startCutProxy(port, engine.kind === 'mysql' ? mysqlSize : postgresSize);
  return { proxy, through: url.replace(/:\d+\//, `:${proxy.port}/`) };
}

/**
 * Plans and writes, or takes back, in this process by way of a proxy that cuts the connection; the work comes to its end
 * by itself. Each message of either side is two steps: at the first it is not passed on, at the second it is, with its
 * answer lost.
 */
export class CutStores implements ApplyChildren {
  cuts = 0;
  /** The COMMITs of the last undisturbed work. */
  readonly commits: Record<Order['work'], number> = { write: 0, undo: 0 };
  /** The COMMIT from which steps are counted, from the first one again after the last; null: they are counted from the start. */
  fromCommit: number | null = null;
  /** Whether no message passes any more from the step on: then the work gives up, and says so. */
  isForGood = false;
  readonly #database: Database;
  readonly #context: ApplyContext;
  readonly #proxy: CutProxy;
  readonly #through: string;

  static async open(database: Database, context: ApplyContext): Promise<CutStores> {
    const { proxy, through } = await openProxy(database);
    return new CutStores(database, context, proxy, through);
  }

  private constructor(database: Database, context: ApplyContext, proxy: CutProxy, through: string) {
    this.#database = database;
    this.#context = context;
    this.#proxy = proxy;
    this.#through = through;
  }

  async run({ work, run, plans, targets, dieAt }: Order): Promise<Ending> {
    const after = Math.floor((dieAt ?? 0) / 2);
    const nth = this.fromCommit === null ? -1 : this.fromCommit % this.commits[work];
    let at = dieAt !== null && nth < 0 ? after : Number.POSITIVE_INFINITY;
    let commits = 0;
    this.#proxy.count = 0;
    this.#proxy.judge = (message) => {
      if (message.direction === 'frontend' && isCommit(message.bytes)) {
        if (commits === nth && dieAt !== null) at = message.at + after;
        commits += 1;
        if (dieAt === null) this.commits[work] = commits;
      }
      if (message.at < at || (message.at > at && !this.isForGood)) return 'pass';
      this.cuts += 1;
      return dieAt !== null && dieAt % 2 === 1 ? 'cut_after' : 'cut_before';
    };
    const store = this.#database.openStore(this.#context, targets, this.#through);
    const started = performance.now();
    try {
      if (work === 'undo') await store.undo(run);
      else {
        // The proxy has a port of its own.
        const agreed = plans.map((plan) => ({ ...plan, place: expect.any(String) }));
        expect(await store.survey()).toEqual(agreed);
        await store.write(plans, { run, planSha256: 'p', isExact: true });
      }
      return { kind: 'done', steps: 2 * this.#proxy.count, tookMs: performance.now() - started };
    } catch (error) {
      if (!this.isForGood) throw error;
      expect(error).toBeInstanceOf(SvcError);
      return { kind: 'killed' };
    } finally {
      this.#proxy.judge = () => 'pass';
      await store.close();
    }
  }

  close(): Promise<void> {
    return this.#proxy.close();
  }
}

/** Whether a message of a client of PostgreSQL or MySQL is the statement COMMIT. */
function isCommit(bytes: Buffer): boolean {
  return /^COMMIT\0?$/.test(bytes.toString('latin1', 5));
}
