import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Config, Endpoint } from '../../src/config/config.js';
import type { Generation, ModelPair, ProgressEvent } from '../../src/domain.js';
import { exportV3 } from '../../src/export/export-v3.js';
import { exportV4 } from '../../src/export/export-v4.js';
import type { ExportOptions, ExportSummary } from '../../src/export/run-export.js';
import type { PageSource } from '../../src/export/source.js';
import { type Db, openDatabase } from '../../src/store/open.js';

/** A file name in a folder that goes when the test has finished. */
export function databaseFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-export-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'test.db');
}

export function pair(v3: string, v4: string | null = v3.replace('/', '_')): ModelPair {
  return { v3, v4, expand: [], children: ['line_items'], v4Guessed: false };
}

function endpoint(region: string): Endpoint {
  const limits = { pageSize: 3, concurrency: 4, requestsPerSecond: 1000 };
  return { region, baseUrl: 'http://127.0.0.1:9', keySource: 'KEY', ...limits };
}

export interface ConfigChanges {
  readonly models?: readonly ModelPair[];
  readonly regions?: readonly string[];
  readonly v3Companies?: readonly bigint[];
  readonly v4Companies?: readonly bigint[];
  readonly companies?: Partial<Config['companies']>;
  readonly payload?: Config['payload'];
}

export function config(changes: ConfigChanges = {}): Config {
  const regions = (changes.regions ?? ['eu']).map(endpoint);
  const v4 = {
    ...endpoint(''),
    includeDeleted: 'auto',
    companies: changes.v4Companies ?? [],
    companyIdField: null,
  } as const;
  return {
    file: 'config.json',
    database: 'test.db',
    fieldPrefix: 'svc_',
    v3: { regions, companies: changes.v3Companies ?? [], sweepOverlapMs: 1000 },
    v4,
    models: changes.models ?? [pair('accounting/invoices')],
    companies: { match: 'auto', include: [], exclude: [], ...changes.companies },
    backfill: { sinceMs: null, dateFields: [] },
    http: { timeoutMs: 1, attempts: 1, maxWaitMs: 1, maxBodyBytes: 1, allowHttp: false },
    payload: changes.payload ?? 'full',
    limits: { global: {}, models: {} },
    maxAgeMs: 86_400_000,
  };
}

/** A clock whose time passes only when it is read. */
export function tickingClock(startMs = 1_000_000_000_000): { now(): number; advance(ms: number): void } {
  let nowMs = startMs;
  return {
    now: () => {
      nowMs += 1;
      return nowMs;
    },
    advance: (ms) => {
      nowMs += ms;
    },
  };
}

export interface Bench {
  readonly file: string;
  readonly clock: ReturnType<typeof tickingClock>;
  readonly events: ProgressEvent[];
  /** One run of an export, as a process of its own would do it: opens the database and closes it. */
  run(source: PageSource, generation?: Generation, changes?: Partial<ExportOptions>): Promise<ExportSummary>;
  /** Looks into the database between runs. */
  look<T>(work: (db: Db) => T): T;
}

/** Everything an export needs, around one database file. */
export function bench(configuration = config()): Bench {
  const file = databaseFile();
  const clock = tickingClock();
  const events: ProgressEvent[] = [];
  const look = <T>(work: (db: Db) => T): T => {
    const db = openDatabase(file, 'create');
    try {
      return work(db);
    } finally {
      db.close();
    }
  };
  const run: Bench['run'] = async (source, generation = 'v3', changes = {}) => {
    const db = openDatabase(file, 'create');
    const signal = new AbortController().signal;
    const onProgress = (event: ProgressEvent) => events.push(event);
    try {
      const options = { db, file, config: configuration, fingerprint: {}, source, signal, clock, onProgress };
      return await (generation === 'v3' ? exportV3 : exportV4)({ ...options, ...changes });
    } finally {
      db.close();
    }
  };
  return { file, clock, events, run, look };
}

/** What is stored of each record, by stream: the body and the derived columns, without internal ones. */
export function storedRecords(db: Db): string[] {
  return db
    .prepare<[], string>(`
      SELECT json_array(s.generation, s.region, s.model, s.company_id, r.svc_id, r.company_id, r.platform_id,
        r.deleted, r.updated_ms, CAST(p.body AS TEXT),
        (SELECT json_group_array(json_array(path, svc_id, platform_id)) FROM child c WHERE c.record_id = r.id))
      FROM record r JOIN stream s ON s.id = r.stream_id LEFT JOIN payload p ON p.record_id = r.id
      ORDER BY s.generation, s.region, s.model, s.company_id, r.svc_id`)
    .pluck()
    .all();
}
