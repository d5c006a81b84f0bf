import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { Command } from '@commander-js/extra-typings';
import type { DefineCommand, Io, Result, Style } from '../../src/commands/command.js';
import type { Config } from '../../src/config/config.js';
import { digestInputFiles } from '../../src/config/config.js';
import { parseConfigValue } from '../../src/config/load-config.js';
import type { Status } from '../../src/reasons.js';
import { buildReport } from '../../src/report/build-report.js';
import type { Report } from '../../src/report/report-schema.js';
import { saveFingerprint } from '../../src/store/fingerprint.js';
import { digestRemap } from '../../src/store/integrity.js';
import { closeDatabase, openDatabase } from '../../src/store/open.js';
import { buildRemapInputs } from '../../src/store/readiness.js';
import type { Scope } from '../../src/store/remap.js';
import type { Db } from '../../src/store/sqlite.js';
import { must } from '../../src/text/at.js';

export const INVOICES = 'accounting/invoices';
const ORDERS = 'payments/orders';
const READ_AT = '2026-11-01T00:00:00.000Z';
/** Two hours and three minutes later. */
export const NOW = Date.parse('2026-11-01T02:03:00Z');

/** Rows of the remap that share everything but their ids. */
export interface SceneRows {
  readonly model?: string;
  readonly path?: string;
  readonly status: Status;
  readonly reason?: string;
  readonly by?: 'platform_id' | 'platform_unique_id' | 'decision';
  readonly region?: string;
  readonly v3Company?: number | null;
  readonly v4Company?: number | null;
  /** V3 id, V4 id, platform_id and evidence of each row; null where it has none. */
  readonly ids: readonly (readonly [
    v3: number | null,
    v4: number | null,
    key?: string | null,
    evidence?: object,
  ])[];
  readonly merged?: boolean;
  readonly conflict?: boolean;
  /** Day of the latest date of V3 records. */
  readonly day?: string;
}

export interface Scene {
  readonly rows: readonly SceneRows[];
  readonly settings?: object;
  readonly streams?: readonly { readonly set: string; readonly where: string }[];
  readonly rejected?: number;
  readonly windows?: readonly SceneWindow[];
  /** Statements that run before the digest of the remap is taken. */
  readonly sql?: readonly string[];
}

interface SceneWindow {
  readonly model?: string;
  readonly v4Company?: number;
  readonly source: 'configured' | 'inferred' | 'unknown';
  readonly since?: string;
  readonly nineTenths?: string;
  readonly v4SvcId?: number;
}

export interface TestScene {
  readonly config: Config;
  readonly folder: string;
  readonly settings: object;
  readonly db: <T>(work: (db: Db) => T) => T;
  readonly report: (scope?: Scope, nowMs?: number) => Report;
}

const DAY_MS = 86_400_000;

/** A database in a folder of its own, filled without export and remap. */
export async function withScene<T>(scene: Scene, work: (test: TestScene) => T | Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-report-'));
  try {
    const settings = {
      database: 'test.db',
      v3: { regions: { default: { baseUrl: 'https://v3.example' } } },
      v4: { baseUrl: 'https://v4.example' },
      models: [
        { v3: INVOICES, v4: 'invoices', children: ['line_items'] },
        { v3: ORDERS, v4: 'orders' },
      ],
      ...scene.settings,
    };
    const config = parseConfigValue(settings, join(folder, 'svc-migrate.config.json'), NOW);
    const db = openDatabase(config.database, 'create');
    try {
      fill(db, config, scene);
    } finally {
      closeDatabase(db);
    }
    const withDb = <R>(run: (open: Db) => R): R => {
      const open = openDatabase(config.database, 'write');
      try {
        return run(open);
      } finally {
        closeDatabase(open);
      }
    };
    const report = (scope: Scope = {}, nowMs = NOW) =>
      withDb((open) => buildReport(open, { config, scope, nowMs, toolVersion: '0.0.0' }));
    return await work({ config, folder, settings, db: withDb, report });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function fill(db: Db, config: Config, scene: Scene): void {
  const streams = fillStreams(db, config);
  for (const generation of ['v3', 'v4'] as const) saveFingerprint(db, config, generation);
  for (const rows of scene.rows) fillRows(db, rows, streams);
  db.exec(`insert into company values ('default', 1, 1, 'overlap', 2, 2, 2, 2, '[]')`);
  const exported = db.prepare(
    `insert into exported_count
     select 'v3', ifnull(region, 'default'), model, v3_company_id, sum(iif(path = '', v3_count, 0)), sum(iif(path = '', 0, v3_count)),
       sum(iif(path = '' and status = 'deleted', v3_count, 0)), 0
     from remap_group where v3_count > 0 group by 1, 2, 3, 4
     union all
     select 'v4', '', g.model, g.v4_company_id, sum(g.path = ''), sum(g.path <> ''), 0, 0
     from remap_row as r join remap_group as g on g.id = r.group_id where r.v4_svc_id is not null group by 1, 2, 3, 4`,
  );
  exported.run();
  if (scene.rejected !== undefined) {
    db.prepare(`insert into exported_count values ('v3', 'default', ?, null, 0, 0, 0, ?)`).run(
      INVOICES,
      scene.rejected,
    );
  }
  for (const window of scene.windows ?? []) fillWindow(db, window);
  for (const { set, where } of scene.streams ?? []) db.exec(`update stream set ${set} where ${where}`);
  for (const sql of scene.sql ?? []) db.exec(sql);
  seal(db, config);
}

/** Notes that the remap is the one in the database. */
function seal(db: Db, config: Config): void {
  const count = (sql: string) => db.prepare<[], bigint>(sql).pluck().get() ?? 0n;
  const v3 = count('select ifnull(sum(v3_count), 0) from remap_group');
  const v4 = count('select count(*) from remap_row where v4_svc_id is not null');
  const inputs = JSON.stringify(buildRemapInputs(db, config, digestInputFiles(config)));
  db.prepare("insert or replace into remap_run values (1, ?, '', 1, ?, ?, ?, ?, ?)").run(
    '2026-11-01T01:00:00.000Z',
    inputs,
    v3,
    v3,
    v4,
    v4,
  );
  db.prepare('update remap_run set sha256 = ?').run(digestRemap(db));
}

function fillStreams(db: Db, config: Config): ReadonlyMap<string, bigint> {
  const insert = db.prepare(
    `insert into stream(generation, region, model, company_id, route, state, started_at, finished_at, read_at)
     values (?, ?, ?, ?, ?, 'complete', ?, ?, ?)`,
  );
  const streams = new Map<string, bigint>();
  const add = (generation: string, region: string, model: string, company: number | null) => {
    const { lastInsertRowid } = insert.run(
      generation,
      region,
      model,
      company,
      model,
      READ_AT,
      READ_AT,
      READ_AT,
    );
    streams.set(`${generation} ${model}`, BigInt(lastInsertRowid));
  };
  add('v4', '', 'core/companies', null);
  db.exec(`
    insert into record(stream_id, svc_id, company_id, deleted, latest_is_service, child_count, child_twins, walk)
    select id, 1, 1, 0, 0, 0, 0, 1 from stream`);
  for (const { v3 } of config.models) {
    for (const { region } of config.v3.regions) add('v3', region, v3, null);
    add('v4', '', v3, 1);
  }
  return streams;
}

function fillRows(db: Db, rows: SceneRows, streams: ReadonlyMap<string, bigint>): void {
  const { model = INVOICES, path = '', status, reason = null, region = 'default', ids, day } = rows;
  const v3Count = ids.filter(([v3]) => v3 !== null).length;
  const { v3Company = v3Count > 0 ? 1 : null, v4Company = 1 } = rows;
  const by = rows.by ?? (status === 'matched' ? 'platform_id' : null);
  const group = db
    .prepare(
      `insert into remap_group(model, path, region, v3_company_id, v4_company_id, status, reason, matched_by, provisional,
         unique_id_conflict, merged, count, v3_count) values (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)`,
    )
    .run(
      model,
      path,
      v3Company === null ? null : region,
      v3Company,
      v4Company,
      status,
      reason,
      by,
      rows.conflict ? 1 : 0,
      rows.merged ? 1 : 0,
      ids.length,
      v3Count,
    ).lastInsertRowid;
  for (const [v3, v4, key = `k${v3 ?? v4}`, evidence] of ids) {
    db.prepare(
      'insert into remap_row(group_id, platform_id, v3_svc_id, v4_svc_id, evidence) values (?, ?, ?, ?, ?)',
    ).run(group, key, v3, v4, evidence === undefined ? null : JSON.stringify(evidence));
    if (path !== '') continue;
    const deleted = status === 'deleted' ? 1 : 0;
    if (v3 !== null && v3Company !== null)
      fillRecord(db, streams.get(`v3 ${model}`), v3, v3Company, key, deleted);
    if (v4 !== null && v4Company !== null) fillRecord(db, streams.get(`v4 ${model}`), v4, v4Company, key, 0);
  }
  if (day === undefined || v3Count === 0) return;
  const ms = Date.parse(day);
  db.prepare('insert into remap_day values (?, ?, ?, ?, ?)').run(group, ms / DAY_MS, v3Count, ms, ms);
}

function fillRecord(
  db: Db,
  stream: bigint | undefined,
  id: number,
  company: number,
  key: string | null,
  deleted: number,
): void {
  db.prepare(
    `insert into record(stream_id, svc_id, company_id, platform_id, deleted, latest_ms, latest_is_service, walk, child_count, child_twins)
     values (?, ?, ?, ?, ?, ?, 0, 1, 0, 0) on conflict do nothing`,
  ).run(stream, id, company, key, deleted, Date.parse('2026-10-01'));
}

function fillWindow(db: Db, window: SceneWindow): void {
  const { model = INVOICES, v4Company = 1, source, since, nineTenths, v4SvcId = null } = window;
  const msOf = (date: string | undefined) => (date === undefined ? null : Date.parse(date));
  db.prepare('insert into backfill_window values (?, ?, ?, ?, 20, ?, ?, ?)').run(
    model,
    v4Company,
    source,
    msOf(since),
    v4SvcId,
    v4SvcId === null ? null : `k${v4SvcId}`,
    msOf(nineTenths),
  );
}

/** Matched records and line items, one before V4's history, one nobody can explain, one deleted, one only in V4. */
export const MIXED: Scene = {
  rows: [
    { status: 'matched', ids: [[1, 2]], day: '2026-10-01' },
    { path: 'line_items', status: 'matched', ids: [[11, 21]] },
    { status: 'unmatched', reason: 'outside_backfill_window', ids: [[2, null]], day: '2026-01-05' },
    {
      path: 'line_items',
      status: 'unmatched',
      reason: 'parent_outside_backfill_window',
      ids: [[12, null]],
    },
    { status: 'unmatched', reason: 'unexplained', ids: [[3, null]], day: '2026-10-03' },
    { status: 'deleted', reason: 'deleted_not_in_v4', ids: [[4, null]], day: '2026-09-03' },
    { status: 'v4_only', reason: 'unexplained', ids: [[null, 3]] },
  ],
  settings: { backfill: { since: '2026-08-20T00:00:00Z' } },
  windows: [{ source: 'configured', since: '2026-08-20' }],
};

export const CLEAN: Scene = {
  rows: [
    { status: 'matched', ids: [[1, 2]], day: '2026-10-01' },
    { model: ORDERS, status: 'matched', ids: [[5, 6]], day: '2026-10-01' },
  ],
};

/** What a command works with; `notes` collects warnings. */
export function ioOf({ config }: Pick<TestScene, 'config'>, notes: string[] = []): Io {
  return {
    stdin: Readable.from([]),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    env: {},
    clock: { now: () => NOW },
    version: '0.0.0',
    style: { width: 80, color: false, verbose: false },
    signal: new AbortController().signal,
    onProgress: (event) => {
      if (event.kind === 'note') notes.push(event.text);
    },
    runUninterruptible: async (work) => work(),
    config: async () => config,
  };
}

/** Runs a command line in the scene. */
export async function runIn(define: DefineCommand, words: readonly string[], io: Io): Promise<Result> {
  let result: Result | undefined;
  const program = new Command('svc-migrate').exitOverride().addCommand(
    define(async (_command, _outputs, work) => {
      result = await work(io);
    }),
  );
  await program.parseAsync([...words], { from: 'user' });
  return must(result, 'result');
}

/** The text that a command prints. */
export function textOf(result: Result, style: Partial<Style> = {}): string {
  return result.text?.({ width: 80, color: false, verbose: false, ...style }) ?? '';
}
