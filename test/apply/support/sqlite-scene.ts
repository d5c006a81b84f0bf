import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ApplyContext, RunVerification, UndoResult } from '../../../src/apply/context.js';
import { openSqliteStore } from '../../../src/apply/dialects/sqlite-dialect.js';
import { findBlocks, judgeCheck, type PlanVerdict } from '../../../src/apply/judge-plan.js';
import type { Policy } from '../../../src/apply/plan.js';
import { survey } from '../../../src/apply/stores.js';
import type { SqliteTarget } from '../../../src/config/apply-targets.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { makeFastFolder } from '../../support/fast-folder.js';
import { FRESH } from './fresh.js';
import { createRemap, IN_PLACE, INVOICES, openContext, pairs, type RemapRow, target } from './remap.js';

interface Options {
  readonly targets?: readonly SqliteTarget[];
  readonly run?: string;
  readonly more?: Partial<ApplyContext>;
  readonly batchRows?: number;
}

/**
 * A remap and a user's database, `file`, that is not there yet. Call once for each test file. Without `rows`, every V4 id
 * is a V3 id too.
 */
export function openSqliteScene(
  rows: Iterable<RemapRow> = pairs([
    ...[5, 6, 7, 8].map((id) => [id, id === 8 ? 5 : id + 1] as const),
    [20, 20],
  ]),
) {
  const folder = makeFastFolder();
  const remap = join(folder, 'remap.db');
  const file = join(folder, 'user.db');
  createRemap(remap, rows);

  function tableOf(more: object = {}): SqliteTarget {
    const given = { kind: 'sqlite', file, table: 't', ids: [{ column: 'i', model: INVOICES }], ...more };
    const parsed = target(given);
    if (parsed.kind !== 'sqlite') throw new Error('no SQLite target');
    return parsed;
  }

  function sql(text: string): unknown[] {
    const db = new Sqlite(file);
    try {
      if (!text.startsWith('SELECT')) {
        db.exec(text);
        return [];
      }
      return db.prepare(text).raw().all();
    } finally {
      db.close();
    }
  }

  /** Plans, and writes where nothing is in the way; the codes of what is. */
  async function apply(policy: Policy, options: Options = {}): Promise<string[]> {
    const { targets = [tableOf()], run = 'run-1' } = options;
    const opened = openContext(remap, policy, { batchRows: options.batchRows ?? 2 });
    const context = { ...opened, ...options.more };
    try {
      const store = { ...openSqliteStore(context, file, targets), targets: targets.map(({ name }) => name) };
      const plan = await survey(context, [store], targets);
      const found = findBlocks(plan).map(({ note }) => note.code);
      if (found.length === 0) await store.write(plan.targets, { run, planSha256: 'p', isExact: true });
      return [...new Set(found)];
    } finally {
      opened.remap.close();
    }
  }

  /** What `--check --in-place` says. */
  async function check(targets = [tableOf()]): Promise<PlanVerdict> {
    const context = openContext(remap, IN_PLACE);
    try {
      const store = { ...openSqliteStore(context, file, targets), targets: targets.map(({ name }) => name) };
      const plan = await survey(context, [store], targets);
      return judgeCheck(plan, FRESH);
    } finally {
      context.remap.close();
    }
  }

  async function undo(run: string): Promise<readonly UndoResult[]> {
    const context = openContext(remap, IN_PLACE);
    try {
      return await openSqliteStore(context, file, [tableOf()]).undo(run);
    } finally {
      context.remap.close();
    }
  }

  async function verify(targets = [tableOf()]): Promise<readonly RunVerification[]> {
    const context = openContext(remap, IN_PLACE);
    try {
      return await openSqliteStore(context, file, targets).verify(null);
    } finally {
      context.remap.close();
    }
  }

  /** Takes the database away, for the next test. */
  function clear(): void {
    if (existsSync(file)) rmSync(file);
  }

  const close = () => rmSync(folder, { recursive: true, force: true });
  return { remap, file, tableOf, sql, apply, check, verify, undo, clear, close };
}
