import { copyFileSync, existsSync, rmSync } from 'node:fs';
import type { ApplyContext } from '../../../src/apply/context.js';
import type { Order } from './apply-child.js';
import type { ApplyChildren } from './apply-children.js';
import type { Database, Kind } from './databases.js';
import { tapDriver } from './tap-driver.js';

/** Called before each statement (of a server also after it was sent) while a store works; throws where it dies. */
let onStep: ((connection: unknown) => void) | null = null;

const TAPPED = new Set<Kind>();

const PARTS = ['', '-journal', '-wal'];

/** What a process leaves in the files of SQLite when it is killed: put back once its connection has cleaned up. */
class LeftFiles {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
    for (const part of PARTS) {
      rmSync(`${file}.left${part}`, { force: true });
      if (existsSync(file + part)) copyFileSync(file + part, `${file}.left${part}`);
    }
  }

  putBack(): void {
    for (const part of [...PARTS, '-shm']) {
      rmSync(this.#file + part, { force: true });
      if (existsSync(`${this.#file}.left${part}`))
        copyFileSync(`${this.#file}.left${part}`, this.#file + part);
    }
  }
}

/** The socket of a connection of either driver. */
function cutOff(connection: unknown): void {
  const { connection: inner, stream } = connection as {
    readonly connection?: { readonly stream: { destroy(): void } };
    readonly stream?: { destroy(): void };
  };
  (stream ?? inner?.stream)?.destroy();
}

/**
 * Does as the processes of `startApplyChildren` do, in this one: where it dies, its connection is cut and nothing more
 * is sent; of SQLite, the files are what they were then. So every statement can be tried.
 */
export function dyingStores(database: Database, context: ApplyContext): ApplyChildren {
  return {
    run: async (order: Order) => {
      if (!TAPPED.has(order.kind)) await tapDriver(order.kind, (connection) => onStep?.(connection));
      TAPPED.add(order.kind);
      const store = database.openStore(context, order.targets);
      let steps = 0;
      let left: LeftFiles | null = null;
      let isDead = false;
      onStep = (connection) => {
        if (isDead || steps === order.dieAt) {
          if (!isDead && order.kind === 'sqlite') left = new LeftFiles(order.url);
          isDead = true;
          if (order.kind !== 'sqlite') cutOff(connection);
          throw new Error('died');
        }
        steps += 1;
      };
      const started = performance.now();
      try {
        if (order.work === 'undo') await store.undo(order.run);
        else await store.write(order.plans, { run: order.run, planSha256: 'p', isExact: true });
        await store.close();
      } catch (error) {
        if (!isDead) throw error;
        await store.close().catch(() => {});
      } finally {
        onStep = null;
      }
      (left as LeftFiles | null)?.putBack();
      return isDead ? { kind: 'killed' } : { kind: 'done', steps, tookMs: performance.now() - started };
    },
    close: async () => {},
  };
}
