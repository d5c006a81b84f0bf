import type { ServerTarget } from '../../config/apply-targets.js';
import { SvcError, type SvcErrorOptions } from '../../errors.js';
import type { ApplyContext, DataStore } from '../context.js';
import { openDatabaseStore } from '../engine/database-store.js';
import type { Engine } from '../engine/dialect.js';
import { type Cells, interrupted, type Session, type TransactionMode } from '../engine/dialect.js';
import { readUrl, serverOf, type TlsPolicy, type UrlForm } from './server-url.js';
import { CONSTRAINT_HINT } from './shared-text.js';

/** The connection strings of a kind of server, and the meaning of its errors. */
export interface ServerKind {
  readonly url: UrlForm;
  isConnectionLost(error: unknown): boolean;
  isWorthRetrying(error: unknown): boolean;
  /** Turns errors of the driver and the server into SvcErrors; returns others unchanged. */
  toSvcError(error: unknown): unknown;
}

/** Opens the tables of one server; all targets have the same connection string. */
export function openServerStore<S extends ServerSession<unknown>, T extends ServerTarget>(
  [first, ...others]: readonly T[],
  open: (source: T) => S,
  engineOf: (session: S) => Engine,
): DataStore {
  if (first === undefined) throw new Error('a store without targets');
  const session = open(first);
  return openDatabaseStore(
    { use: (_, work) => session.guard(() => work(engineOf(session))), close: () => session.close() },
    [first, ...others],
  );
}

/** The errors that mean the same on every server. */
export const SERVER_ERRORS = {
  lost: (product: string, error: string) =>
    new SvcError('bad_input', `The connection to ${product} was lost or could not be made.`, {
      hint: 'Run the same command again: the ledger records what was carried out.',
      facts: { error },
    }),
  busy: (sentence: string, options: Omit<SvcErrorOptions, 'hint'>) =>
    new SvcError('locked', sentence, {
      ...options,
      hint: 'Other programs keep writing to these rows: try again when it is quieter, or raise apply.lockTimeoutMs.',
    }),
} as const;

/** What to do about an error of the server, by its cause. */
export const SERVER_HINTS = {
  rights: 'Check the user and its password, or grant it the rights for this.',
  ledger:
    'Grant the user the rights for this. It must be able to read the ledger of earlier runs, too: USAGE on its schema, and SELECT on all its tables.',
  tooLong:
    'A statement took too long: raise apply.statementTimeoutMs in the configuration, or set it to 0 for no limit.',
  constraint: CONSTRAINT_HINT,
  readOnly: 'This server is read-only: connect to the primary.',
} as const;

/** A session over one connection `C`, opened when it is first needed and reopened after it was lost. */
export abstract class ServerSession<C> implements Session {
  protected readonly context: ApplyContext;
  protected readonly url: string;
  protected readonly tls: TlsPolicy;
  protected connection: C | null = null;
  readonly #kind: ServerKind;
  #isInStep = false;
  readonly #stop = () => this.drop();

  constructor(context: ApplyContext, source: Pick<ServerTarget, 'urlEnv' | 'tls'>, kind: ServerKind) {
    this.context = context;
    this.tls = source.tls ?? 'verified';
    this.url = readUrl(source.urlEnv, context.env, kind.url);
    this.#kind = kind;
    // Only dropping the connection stops a running statement at once.
    context.signal.addEventListener('abort', this.#stop);
  }

  /** Host, port and database, for people. */
  abstract place(): Promise<string>;
  abstract query(
    text: string,
    values?: readonly (string | null)[],
  ): Promise<{ readonly rows: Cells[]; readonly count: number }>;
  abstract exec(text: string): Promise<void>;
  abstract read(text: string): AsyncGenerator<Cells[]>;

  /** Opens a connection, sets `connection` and prepares the session. */
  protected abstract open(): Promise<C>;
  protected abstract end(connection: C): Promise<void>;
  /** Closes the connection at once, even while a statement runs. */
  protected abstract drop(): void;
  protected abstract beginSql(mode: TransactionMode): string;
  /** Releases locks that outlive their transaction. */
  protected async releaseLocks(): Promise<void> {}

  async one(text: string, values: readonly (string | null)[] = []): Promise<string | null> {
    return (await this.query(text, values)).rows[0]?.[0] ?? null;
  }

  /**
   * Runs `step` until it succeeds, at most `tuning.attempts` times. The step must be safe to repeat: if the connection
   * is lost at COMMIT, only the ledger tells whether it was carried out.
   *
   * @throws SvcError `interrupted`, `locked`, `bad_input`, `config`
   */
  async retry<T>(step: () => Promise<T>): Promise<T> {
    const { tuning, random, sleep, signal } = this.context;
    for (let attempt = 1; ; attempt += 1) {
      if (signal.aborted) throw interrupted();
      try {
        return await this.#onOneConnection(step);
      } catch (error) {
        await this.#rollBack(error);
        if (signal.aborted) throw interrupted();
        if (attempt >= tuning.attempts || !this.#kind.isWorthRetrying(error)) throw this.#describe(error);
        await sleep(Math.min(5000, 50 * 2 ** attempt) * (0.5 + random() / 2));
      }
    }
  }

  transaction<T>(mode: TransactionMode, work: () => Promise<T>): Promise<T> {
    return this.retry(async () => {
      await this.exec(this.beginSql(mode));
      const result = await work();
      await this.exec('COMMIT');
      await this.releaseLocks();
      return result;
    });
  }

  /** Runs `work`, with errors of the driver and the server turned into SvcErrors. */
  async guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#describe(error);
    }
  }

  /** The error for people. One of the connection names the server, because several targets may have one each. */
  #describe(error: unknown): unknown {
    const told = this.#kind.toSvcError(error);
    const isOfConnection = this.connection === null || this.#kind.isConnectionLost(error);
    if (!(told instanceof SvcError) || !isOfConnection || told.code === 'interrupted') return told;
    const { hint, facts, cause, message } = told;
    // An inner call described it.
    if ('server' in facts) return told;
    const server = serverOf(this.url);
    return new SvcError(told.code, message.replace(/\.$/, ` (${server}).`), {
      hint,
      facts: { ...facts, server },
      cause,
    });
  }

  async close(): Promise<void> {
    this.context.signal.removeEventListener('abort', this.#stop);
    const { connection } = this;
    this.connection = null;
    if (connection !== null) await this.end(connection).catch(() => {});
  }

  protected async connected(): Promise<C> {
    if (this.connection !== null) return this.connection;
    if (this.#isInStep) throw new Error('connection ended between two statements');
    if (this.context.signal.aborted) throw interrupted();
    return this.open();
  }

  /** Runs a step and fails it if its connection is lost: its transaction does not exist on a new one. */
  async #onOneConnection<T>(step: () => Promise<T>): Promise<T> {
    await this.connected();
    this.#isInStep = true;
    try {
      return await step();
    } finally {
      this.#isInStep = false;
    }
  }

  async #rollBack(error: unknown): Promise<void> {
    if (this.#kind.isConnectionLost(error)) return this.drop();
    try {
      if (this.connection !== null) await this.exec('ROLLBACK');
      await this.releaseLocks();
    } catch {
      this.drop();
    }
  }
}
