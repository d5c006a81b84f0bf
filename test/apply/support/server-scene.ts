import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { ApplyContext, DataStore, WriteResult } from '../../../src/apply/context.js';
import { findBlocks } from '../../../src/apply/judge-plan.js';
import type { Plan, Policy } from '../../../src/apply/plan.js';
import { survey } from '../../../src/apply/stores.js';
import { isServer, type ServerTarget } from '../../../src/config/apply-targets.js';
import { makeFolder } from './folder.js';
import { createRemap, IN_PLACE, INVOICES, openContext, type RemapRow, target } from './remap.js';

interface Options {
  readonly targets?: readonly ServerTarget[];
  readonly run?: string;
  readonly lockTimeoutMs?: number;
  /** The role that applies; default: the superuser who owns everything. */
  readonly role?: string;
}

/** A server for scenes. */
export interface SceneServer {
  readonly kind: ServerTarget['kind'];
  /** The user who owns everything. */
  readonly owner: string;
  createDatabase(name: string): Promise<string>;
  openStore(context: ApplyContext, targets: readonly ServerTarget[]): DataStore;
  connect(url: string): Promise<SceneSession>;
}

/** A session that reads everything as text. */
interface SceneSession {
  query(sql: string): Promise<(string | null)[][]>;
  end(): Promise<void>;
}

/** A remap and a database of a user on a test server. Call once for each test file. */
export function openServerScene(server: SceneServer, rows: Iterable<RemapRow>) {
  const remap = join(makeFolder(), 'remap.db');
  createRemap(remap, rows);
  let url = '';
  let session: Promise<SceneSession> | null = null;

  async function endSession(): Promise<void> {
    await (await session)?.end();
    session = null;
  }
  afterAll(endSession);

  /** An empty database for the next test. */
  async function clear(): Promise<void> {
    await endSession();
    url = await server.createDatabase('scene');
  }

  function tableOf(more: object = {}): ServerTarget {
    const ids = [{ column: 'i', model: INVOICES }];
    const parsed = target({ kind: server.kind, urlEnv: 'TEST_URL', table: 't', ids, ...more });
    if (!isServer(parsed)) throw new Error('no table of a server');
    return parsed;
  }

  /** Runs one statement; its rows as text. */
  async function sql(text: string): Promise<(string | null)[][]> {
    session ??= server.connect(url);
    return (await session).query(text);
  }

  async function withSite<T>(
    policy: Policy,
    { targets = [tableOf()], role = server.owner, lockTimeoutMs = 10_000 }: Options,
    work: (store: DataStore, plan: () => Promise<Plan>) => Promise<T>,
  ): Promise<T> {
    const context = openContext(remap, policy, { batchRows: 2, lockTimeoutMs });
    const env = { TEST_URL: url.replace(`//${server.owner}:`, `//${role}:`) };
    const store = server.openStore({ ...context, env }, targets);
    const open = { ...store, targets: targets.map(({ name }) => name) };
    try {
      return await work(store, () => survey({ ...context, env }, [open], targets));
    } finally {
      await store.close();
      context.remap.close();
    }
  }

  /** What stands in the way, as `code: text`, and what is warned of. */
  function look(policy: Policy, options: Options = {}): Promise<{ blocks: string[]; warnings: string[] }> {
    return withSite(policy, options, async (_, plan) => {
      const found = await plan();
      const warnings = found.targets
        .flatMap(({ notes }) => notes)
        .filter(({ level }) => level === 'warning')
        .map(({ code, text }) => `${code}: ${text}`);
      return { blocks: findBlocks(found).map(({ note }) => `${note.code}: ${note.text}`), warnings };
    });
  }

  /** Plans, and writes where nothing is in the way; the codes of what is. */
  function apply(policy: Policy, options: Options = {}): Promise<string[]> {
    return withSite(policy, options, async (store, plan) => {
      const found = await plan();
      const codes = findBlocks(found).map(({ note }) => note.code);
      if (codes.length === 0) await write(store, found, options.run ?? 'run-1');
      return [...new Set(codes)];
    });
  }

  function write(store: DataStore, plan: Plan, run: string): Promise<readonly WriteResult[]> {
    return store.write(plan.targets, { run, planSha256: 'p', isExact: true });
  }

  async function undo(run = 'run-1', options: Options = {}): Promise<void> {
    await withSite(IN_PLACE, options, (store) => store.undo(run));
  }

  /** Works with the database's store. */
  function open<T>(work: (store: DataStore) => Promise<T>): Promise<T> {
    return withSite(IN_PLACE, {}, work);
  }

  return { tableOf, sql, url: () => url, look, apply, undo, open, clear };
}
