import { join } from 'node:path';
import { digestInputFiles } from '../../../src/config/config.js';
import { loadConfig } from '../../../src/config/load-config.js';
import { digestRemap } from '../../../src/store/integrity.js';
import { closeDatabase, openDatabase } from '../../../src/store/open.js';
import { buildRemapInputs } from '../../../src/store/readiness.js';
import { type Ended, makeFolder, runCli } from '../../support/run-cli.js';

/** A row of the remap to apply. */
export interface IdRow {
  readonly v3: number | bigint;
  readonly v4?: number | bigint | null;
  readonly model?: string;
  readonly path?: string;
  readonly region?: string;
  readonly status?: string;
  readonly reason?: string;
}

/** `payments/items`: V3 ids 1 to 50 with V4 id `(id * 7 % 50) + 31`; 60 is outside of V4's window, 61 deleted. */
export const ITEMS: readonly IdRow[] = [
  ...Array.from({ length: 50 }, (_, at) => ({ v3: at + 1, v4: (((at + 1) * 7) % 50) + 31 })),
  { v3: 60, status: 'unmatched', reason: 'outside_backfill_window' },
  { v3: 61, status: 'deleted', reason: 'deleted_not_in_v4' },
];

/** A folder with a configuration and a remap. */
export interface Job {
  readonly cwd: string;
  readonly file: (name: string) => string;
  readonly run: (...words: readonly string[]) => Promise<Ended>;
}

const V3 = { regions: { default: { baseUrl: 'http://127.0.0.1:1/v3' } } };

export async function openJob(
  rows: readonly IdRow[],
  config: object = {},
  env: Readonly<Record<string, string>> = {},
): Promise<Job> {
  const cwd = makeFolder({ v3: V3, v4: { baseUrl: 'http://127.0.0.1:1' }, ...config });
  const file = (name: string) => join(cwd, name);
  await saveRemap(cwd, rows);
  return { cwd, file, run: (...words) => runCli(words, { cwd, env }) };
}

/** Replaces the remap of a folder. */
export async function saveRemap(cwd: string, rows: readonly IdRow[]): Promise<void> {
  const flags = { config: join(cwd, 'svc-migrate.config.json'), db: undefined };
  const config = await loadConfig({ env: {}, flags, nowMs: Date.parse('2026-11-01') });
  const db = openDatabase(config.database, 'create');
  db.exec(
    'delete from remap_run; delete from remap_row; delete from remap_group; delete from exported_count',
  );
  const group = db.prepare(
    `insert into remap_group(id, model, path, region, v3_company_id, v4_company_id, status, reason, matched_by, provisional,
       unique_id_conflict, merged, count, v3_count) values (?, ?, ?, ?, 1, 1, ?, ?, null, 0, 0, 0, 1, 1)`,
  );
  const row = db.prepare('insert into remap_row(id, group_id, v3_svc_id, v4_svc_id) values (?, ?, ?, ?)');
  const exported = db.prepare(
    'insert into exported_count(generation, region, model, company_id, records, children, deleted, rejected) values (?, ?, ?, 1, 1, 0, 0, 0)',
  );
  db.transaction(() => {
    for (const [
      at,
      { v3, v4 = null, model = 'payments/items', path = '', region = 'default', ...given },
    ] of rows.entries()) {
      const { status = v4 === null ? 'unmatched' : 'matched', reason = v4 === null ? 'unexplained' : null } =
        given;
      group.run(at + 1, model, path, region, status, reason);
      row.run(at + 1, at + 1, v3, v4);
      exported.run('v3', region, model);
      if (v4 !== null) exported.run('v4', '', model);
    }
  })();
  const inV4 = rows.filter(({ v4 = null }) => v4 !== null).length;
  const inputs = JSON.stringify(buildRemapInputs(db, config, digestInputFiles(config)));
  db.prepare("insert into remap_run values (1, '2026-11-01T00:00:00.000Z', '', 1, ?, ?, ?, ?, ?)").run(
    inputs,
    rows.length,
    rows.length,
    inV4,
    inV4,
  );
  db.prepare('update remap_run set sha256 = ?').run(digestRemap(db));
  closeDatabase(db);
}
