import { Sqlite } from '../../../src/store/sqlite.js';
import type { Kind } from './databases.js';

/** Lets a database driver call `step` before each statement; that of a server also once it was sent. */
export async function tapDriver(kind: Kind, step: (connection: unknown) => void): Promise<void> {
  if (kind === 'sqlite') {
    const db = new Sqlite(':memory:');
    tap(Sqlite.prototype, 'exec', step, false);
    tap(Object.getPrototypeOf(db.prepare('SELECT 1')), 'run', step, false);
    db.close();
    return;
  }
  const { prototype } =
    kind === 'postgres'
      ? (await import('pg')).default.Client
      : ((await import('mysql2')).default as unknown as { Connection: { prototype: object } }).Connection;
  tap(prototype, 'query', step, true);
}

function tap(prototype: object, name: string, step: (connection: unknown) => void, isSent: boolean): void {
  const original: unknown = Reflect.get(prototype, name);
  if (typeof original !== 'function') throw new Error(`no method ${name}`);
  Reflect.set(prototype, name, function tapped(this: unknown, ...args: unknown[]): unknown {
    step(this);
    const result: unknown = Reflect.apply(original, this, args);
    if (!isSent) return result;
    // Nobody waits for the answer of a statement after which the client is gone.
    if (result instanceof Promise) result.catch(() => {});
    step(this);
    return result;
  });
}
