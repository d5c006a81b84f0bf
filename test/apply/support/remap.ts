import { join } from 'node:path';
import { type ApplyContext, DEFAULT_TUNING, type Tuning } from '../../../src/apply/context.js';
import { RemapIds } from '../../../src/apply/ids/remap-ids.js';
import type { Policy } from '../../../src/apply/plan.js';
import { type ApplyTarget, applyTargetSchema } from '../../../src/config/apply-targets.js';
import { type Db, openDatabase } from '../../../src/store/open.js';
import { allowEdits } from '../../support/remap-edits.js';
import { seal } from '../../support/seal.js';
import { makeFolder } from './folder.js';

export const INVOICES = 'accounting/invoices';

/** One row of a remap under test. */
export interface RemapRow {
  readonly v3: bigint | number | null;
  readonly v4?: bigint | number | null;
  readonly model?: string;
  readonly path?: string;
  readonly region?: string;
  readonly company?: bigint | number;
  readonly platformId?: string | null;
  readonly status?: string;
  readonly reason?: string | null;
}

/** Fills a new svc-migrate database with a current, complete remap. */
export function createRemap(file: string, rows: Iterable<RemapRow>): void {
  const db = openDatabase(file, 'create');
  try {
    allowEdits(db);
    const insert = db.prepare(
      `INSERT INTO remap_entry(model, path, region, v3_company_id, platform_id, v3_svc_id, v4_svc_id, status, reason, evidence)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '{}')`,
    );
    db.transaction(() => {
      for (const row of rows) insert.run(...cellsOf(row));
      db.prepare("INSERT INTO meta(key, value) VALUES ('export_seq', '7') ON CONFLICT DO NOTHING").run();
      db.exec("INSERT INTO remap_run(built_at, sha256, export_seq) VALUES ('t', '', 7)");
      seal(db);
    })();
  } finally {
    db.close();
  }
}

/** A remap file that is removed when the file's tests are done. */
export function makeRemap(rows: Iterable<RemapRow>): string {
  const file = join(makeFolder(), 'remap.db');
  createRemap(file, rows);
  return file;
}

/** The ids of a remap. */
export function openIds(rows: Iterable<RemapRow>): { readonly ids: RemapIds } {
  return { ids: new RemapIds(openDatabase(makeRemap(rows), 'read')) };
}

function cellsOf(row: RemapRow) {
  const status = row.status ?? (row.v4 === undefined || row.v4 === null ? 'unmatched' : 'matched');
  return [
    row.model ?? INVOICES,
    row.path ?? '',
    row.region ?? 'default',
    big(row.company ?? 1),
    row.platformId ?? null,
    big(row.v3),
    big(row.v4 ?? null),
    status,
    row.reason === undefined ? (status === 'matched' ? null : 'unexplained') : row.reason,
  ];
}

function big(value: bigint | number | null): bigint | null {
  return value === null ? null : BigInt(value);
}

/** Pairs as remap rows. */
export function pairs(entries: Iterable<readonly [bigint | number, bigint | number]>): RemapRow[] {
  return [...entries].map(([v3, v4]) => ({ v3, v4 }));
}

export const IN_PLACE: Policy = {
  mode: 'in_place',
  missing: 'fail',
  unknown: 'fail',
  others: 'fail',
  mapDeleted: false,
  again: false,
};
export const NEW: Policy = { ...IN_PLACE, mode: 'new' };

/** A context over a remap file; nothing in it waits or looks at a clock. */
export function openContext(
  remapFile: string,
  policy: Policy,
  tuning: Partial<Tuning> = {},
): ApplyContext & { readonly remap: Db } {
  const remap = openDatabase(remapFile, 'read');
  // as for the commands: one snapshot
  remap.exec('BEGIN');
  return {
    remap,
    ids: new RemapIds(remap),
    remapVersion: { sha256: 'sha-of-remap', builtAt: 't' },
    policy,
    formatUndo: (run) => `svc-migrate apply undo ${run}`,
    tool: 'svc-migrate test',
    now: () => Date.parse('2026-11-20T00:00:00Z'),
    sleep: async () => {},
    random: () => 0.5,
    env: process.env,
    signal: new AbortController().signal,
    onProgress: () => {},
    tuning: { ...DEFAULT_TUNING, ...tuning },
  };
}

/** A target as a configuration file would give it. */
export function target(input: object): ApplyTarget {
  return applyTargetSchema.parse({ name: 'under-test', ...input });
}

/** Integers below `max`, the same for the same seed (mulberry32). */
export function seeded(seed: number): (max: number) => number {
  let state = seed >>> 0;
  return (max) => {
    state = (state + 0x6d2b_79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4_294_967_296) * max);
  };
}

export function shuffle<T>(items: readonly T[], random: (max: number) => number): T[] {
  const list = [...items];
  for (let at = list.length - 1; at > 0; at -= 1) {
    const other = random(at + 1);
    const [a, b] = [list[at], list[other]];
    if (a !== undefined && b !== undefined) {
      list[at] = b;
      list[other] = a;
    }
  }
  return list;
}
