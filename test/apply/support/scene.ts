import { afterAll, beforeEach } from 'vitest';
import type {
  ApplyContext,
  DataStore,
  RunVerification,
  Tuning,
  UndoResult,
} from '../../../src/apply/context.js';
import { findBlocks, judgeCheck, type PlanVerdict } from '../../../src/apply/judge-plan.js';
import type { Plan, Policy } from '../../../src/apply/plan.js';
import { survey } from '../../../src/apply/stores.js';
import type { TableTarget } from '../../../src/config/apply-targets.js';
import type { ReportLimit } from '../../../src/domain.js';
import { type Database, type Engine, type Kind, targetIn } from './databases.js';
import { IN_PLACE, INVOICES, makeRemap, openContext, pairs, type RemapRow } from './remap.js';

interface Options {
  /** Default: the column `i` of the table `t`. */
  readonly targets?: readonly TableTarget[];
  readonly run?: string;
  /** The role that applies; default: whoever owns everything. */
  readonly role?: string;
  readonly tuning?: Partial<Tuning>;
  readonly more?: Partial<ApplyContext>;
}

/** The limit on the exports' age, kept. */
const FRESH: ReportLimit = {
  name: 'maxAge',
  model: null,
  allowed: 1,
  actual: 0,
  base: null,
  unit: 'hours',
  configured: true,
  pass: true,
  detail: null,
  contributors: [],
};

/** Types of ids that are rewritten in batches, and at once. A server tries the first where tests are small. */
export const ID_TYPES: Readonly<Record<Kind, readonly string[]>> = {
  sqlite: ['bigint', 'bigint UNIQUE'],
  postgres: ['bigint', 'bigint UNIQUE'],
  mysql: ['bigint UNIQUE', 'bigint'],
};

/** Five ids, and every V4 id but one is a V3 id too. */
const CHAIN = pairs([
  [5, 6],
  [6, 7],
  [7, 8],
  [8, 5],
  [20, 20],
]);

/** A remap and an empty database for each test of the file or of the group around. */
export function openScene(engine: Engine, rows: Iterable<RemapRow> = CHAIN) {
  const remap = makeRemap(rows);
  let database: Database | null = null;
  const current = (): Database => {
    if (database === null) throw new Error('no database yet');
    return database;
  };
  beforeEach(async () => {
    await database?.close();
    database = await engine.createDatabase('scene');
  });
  afterAll(() => database?.close());

  const tableOf = (more: object = {}): TableTarget =>
    targetIn(engine, 'scene', { name: 'under-test', ids: [{ column: 'i', model: INVOICES }], ...more });

  async function withStore<T>(
    policy: Policy,
    { targets = [tableOf()], role, tuning, more }: Options,
    work: (store: DataStore, plan: () => Promise<Plan>, context: ApplyContext) => Promise<T>,
  ): Promise<T> {
    const opened = openContext(remap, policy, { batchRows: 2, lockTimeoutMs: 10_000, ...tuning });
    const context = { ...opened, ...more };
    const { url } = current();
    const own = role === undefined ? url : url.replace(`//${engine.owner}:`, `//${role}:`);
    const store = current().openStore(context, targets, own);
    const open = { ...store, targets: targets.map(({ name }) => name) };
    try {
      return await work(store, () => survey(context, [open], targets), context);
    } finally {
      await store.close();
      opened.remap.close();
    }
  }

  return {
    tableOf,
    database: current,
    sql: (text: string) => current().query(text),
    /** What stands in the way, as `code: text`, and what is warned of. */
    look: (policy: Policy, options: Options = {}) =>
      withStore(policy, options, async (_, plan) => {
        const found = await plan();
        const warnings = found.targets.flatMap(({ notes }) =>
          notes.filter(({ level }) => level === 'warning'),
        );
        return {
          blocks: findBlocks(found).map(({ note }) => `${note.code}: ${note.text}`),
          warnings: warnings.map(({ code, text }) => `${code}: ${text}`),
        };
      }),
    /** Plans, and writes where nothing is in the way; the codes of what is. */
    apply: (policy: Policy, options: Options = {}): Promise<string[]> =>
      withStore(policy, options, async (store, plan) => {
        const found = await plan();
        const codes = findBlocks(found).map(({ note }) => note.code);
        const run = { run: options.run ?? 'run-1', planSha256: 'p', isExact: true };
        if (codes.length === 0) await store.write(found.targets, run);
        return [...new Set(codes)];
      }),
    /** What `--check --in-place` says. */
    check: (targets?: readonly TableTarget[]): Promise<PlanVerdict> =>
      withStore(IN_PLACE, targets === undefined ? {} : { targets }, async (_, plan) =>
        judgeCheck(await plan(), FRESH),
      ),
    verify: (targets?: readonly TableTarget[]): Promise<readonly RunVerification[]> =>
      withStore(IN_PLACE, targets === undefined ? {} : { targets }, (store) => store.verify(null)),
    undo: (run = 'run-1', options: Options = {}): Promise<readonly UndoResult[]> =>
      withStore(IN_PLACE, options, (store) => store.undo(run)),
    withStore,
  };
}

export type Scene = ReturnType<typeof openScene>;
