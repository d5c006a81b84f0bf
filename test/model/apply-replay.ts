import { readFileSync, writeFileSync } from 'node:fs';
import type { ApplyContext } from '../../src/apply/context.js';
import { openSqliteStore } from '../../src/apply/dialects/sqlite-dialect.js';
import { findBlocks } from '../../src/apply/judge-plan.js';
import type { Plan } from '../../src/apply/plan.js';
import { survey } from '../../src/apply/stores.js';
import { type ColumnUnmapped, listUnmapped } from '../../src/apply/unmapped.js';
import type { SqliteTarget } from '../../src/config/apply-targets.js';
import { SvcError } from '../../src/errors.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { lookAtSqliteRuns } from '../apply/support/ledger.js';
import type { Edge } from './apply-explore.js';
import type { Session } from './apply-model.js';
import { type Disk, type Foreign, showDisk, showSeen, type World } from './apply-state.js';

/** Plays sessions with the real engine on a real database, and compares it with the model after each transaction. */
export class Replay {
  readonly #target: SqliteTarget;
  readonly #contextOf: (again: boolean) => ApplyContext;
  readonly #kindOf: (value: number) => string | null;
  #other: InstanceType<typeof Sqlite> | null = null;
  readonly #snapshots = new Map<string, Buffer>();

  /** `kindOf`: what becomes of a value that no run has entered, by the product's rule. */
  constructor(
    target: SqliteTarget,
    contextOf: (again: boolean) => ApplyContext,
    kindOf: (value: number) => string | null,
  ) {
    this.#target = target;
    this.#kindOf = kindOf;
    this.#contextOf = contextOf;
  }

  /** Makes the table of a world, as the state `key`. */
  create(key: string, { ids }: World): void {
    writeFileSync(this.#target.file, '');
    this.#reopen();
    const rows = ids.map((id, at) => `(${at + 1}, ${id})`).join(', ');
    this.#write(`CREATE TABLE t(k INTEGER PRIMARY KEY, i INTEGER); INSERT INTO t VALUES ${rows}`);
    this.#snapshots.set(key, readFileSync(this.#target.file));
  }

  /** Plays one session from its state; what differs from the model, empty where nothing does. */
  async play(
    { from, to, session, played }: Edge,
    sabotage?: (file: string) => Promise<void>,
  ): Promise<string[]> {
    const snapshot = this.#snapshots.get(from);
    if (snapshot === undefined) throw new Error(`no snapshot of ${from}`);
    writeFileSync(this.#target.file, snapshot);
    this.#reopen();
    await sabotage?.(this.#target.file);
    const seen: string[] = [];
    const left = await this.#run(session, () => seen.push(this.#show()));
    seen.push(this.#show());
    const expected = played.trace.map(showDisk);
    // A process that dies has begun the transaction that it dies before.
    const last = expected.at(-1) ?? '';
    const differences = compare(played.isComplete ? expected : [...expected, last], seen);
    const end = played.trace.at(-1);
    if (left !== null && end !== undefined)
      differences.push(...compare(expectedLeft(end, this.#kindOf), showLeft(left)));
    if (!this.#snapshots.has(to)) this.#snapshots.set(to, readFileSync(this.#target.file));
    return differences.map((text) => `${session.command} ${session.run} from ${from}: ${text}`);
  }

  /** What the run left, where it came to its end. */
  async #run(session: Session, beforeTransaction: () => void): Promise<readonly ColumnUnmapped[] | null> {
    let at = 0;
    // The transaction that creates the ledger changes no row: it is no step of the model.
    let createsLedger = session.command !== 'undo' && !this.#hasLedger();
    const isDead = (): boolean => {
      if (createsLedger) {
        createsLedger = false;
        return false;
      }
      if (session.foreign?.before === at) this.#write(sqlOf(session.foreign.write));
      beforeTransaction();
      at += 1;
      return session.dieBefore === at - 1;
    };
    const alive = this.#contextOf(session.command === 'again');
    const context = { ...alive, signal: dyingSignal(isDead) };
    const store = { ...openSqliteStore(context, this.#target.file, [this.#target]), targets: ['t'] };
    try {
      if (session.command === 'undo') {
        await store.undo(session.run);
        return null;
      }
      const plan = await survey(context, [store], [this.#target]);
      if (findBlocks(plan).length > 0) return null;
      await store.write(plan.targets, { run: session.run, planSha256: 'p', isExact: false });
    } catch (error) {
      if (!(error instanceof SvcError) || error.code !== 'interrupted') throw error;
      return null;
    }
    const after: Plan = await survey(context, [store], [this.#target], { isAfterRun: true });
    return listUnmapped(after, true);
  }

  /** Opens the database as another program does. */
  #reopen(): void {
    this.#other?.close();
    this.#other = new Sqlite(this.#target.file);
    this.#other.pragma('synchronous = OFF');
  }

  close(): void {
    this.#other?.close();
  }

  #hasLedger(): boolean {
    return (
      this.#other?.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'svc_migrate_run'").get() !== undefined
    );
  }

  #write(sql: string): void {
    this.#other?.exec(sql);
  }

  #show(): string {
    const db = this.#other;
    if (db === null) throw new Error('no database is open');
    const rows = db.prepare<[], [number, number]>('SELECT k, i FROM t ORDER BY k').raw().all();
    return showSeen(rows, lookAtSqliteRuns(db));
  }
}

/** A signal that is asked before each transaction. */
function dyingSignal(isDead: () => boolean): AbortSignal {
  const signal = new AbortController().signal;
  Object.defineProperty(signal, 'aborted', { get: isDead });
  return signal;
}

function sqlOf(write: Foreign): string {
  if (write.kind === 'delete') return `DELETE FROM t WHERE k = ${write.key}`;
  return `INSERT INTO t VALUES (${write.key}, ${write.value}) ON CONFLICT(k) DO UPDATE SET i = excluded.i`;
}

function compare(expected: readonly string[], seen: readonly string[]): string[] {
  const length = Math.max(expected.length, seen.length);
  const places = Array.from({ length }, (_, at) => at).filter((at) => expected[at] !== seen[at]);
  return places.map((at) => `step ${at}: the model has ${expected[at]}, the database ${seen[at]}`);
}

/** What must be counted of a table after a run: values that no run has entered, and cells that changed since. */
function expectedLeft({ cells, units }: Disk, kindOfValue: (value: number) => string | null): string[] {
  const entries = units.flatMap((unit) => unit.entries);
  const entered = new Set(entries.map(({ key }) => key));
  const unentered = [...cells].filter(([key]) => !entered.has(key));
  const changed = entries.filter((entry) => {
    const value = cells.get(entry.key)?.value;
    return value !== undefined && value !== entry.new;
  });
  const kinds = [
    ...unentered.map(([, { value }]) => kindOfValue(value)),
    ...changed.map(() => 'changed_since'),
  ];
  return countKinds(kinds.flatMap((kind) => (kind === null ? [] : [[kind, 1] as const])));
}

function showLeft(left: readonly ColumnUnmapped[]): string[] {
  return countKinds(left.map(({ kind, cells }) => [kind, cells] as const));
}

function countKinds(all: readonly (readonly [string, number])[]): string[] {
  const counts = new Map<string, number>();
  for (const [kind, count] of all) counts.set(kind, (counts.get(kind) ?? 0) + count);
  return [...counts].map(([kind, count]) => `${count} ${kind}`).sort();
}
