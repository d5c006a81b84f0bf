import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Generation, ProgressEvent } from '../../src/domain.js';
import { SvcError } from '../../src/errors.js';
import type { ExportOptions } from '../../src/export/begin-export.js';
import type { PageSource } from '../../src/export/prefetch.js';
import { createPageSupply } from '../../src/export/prefetch.js';
import type { ExportSummary } from '../../src/export/run-export.js';
import { exportV3, exportV4 } from '../../src/export/run-export.js';
import { type Db, openDatabase } from '../../src/store/open.js';
import { prepareReadPayload } from '../../src/store/payloads.js';
import { config } from './config.js';
import { bodyOf, createFakeService, type FakeRecord, type FakeService } from './fake-service.js';

/** A file name in a folder that goes when the test has finished. */
function databaseFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-export-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'test.db');
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
  /** The same for V3, with a database that is prepared first; tells how it ended. */
  runWith(prepare: (db: Db) => void, source: PageSource): Promise<SvcError | null>;
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
  const runOn = async (
    db: Db,
    source: PageSource,
    generation: Generation,
    changes: Partial<ExportOptions>,
  ) => {
    const signal = new AbortController().signal;
    const onProgress = (event: ProgressEvent) => events.push(event);
    try {
      const supply = createPageSupply(source, clock);
      const options = { db, file, config: configuration, fingerprint: {}, supply, signal, clock, onProgress };
      return await (generation === 'v3' ? exportV3 : exportV4)({ ...options, ...changes });
    } finally {
      db.close();
    }
  };
  const run: Bench['run'] = (source, generation = 'v3', changes = {}) =>
    runOn(openDatabase(file, 'create'), source, generation, changes);
  const runWith: Bench['runWith'] = (prepare, source) => {
    const db = openDatabase(file, 'create');
    prepare(db);
    return errorOf(runOn(db, source, 'v3', {}));
  };
  return { file, clock, events, run, runWith, look };
}

/** What is stored of a record, without what is internal. */
export interface StoredRecord {
  readonly list: string;
  readonly svcId: bigint;
  readonly companyId: bigint;
  readonly platformId: string | null;
  readonly deleted: bigint;
  readonly updatedMs: bigint | null;
  readonly body: string | null;
  /** As JSON: path, svc_id, platform_id. */
  readonly children: string;
}

export function storedRecords(db: Db): StoredRecord[] {
  const readPayload = prepareReadPayload(db);
  return db
    .prepare<[], Omit<StoredRecord, 'body'> & { body: bigint }>(`
      SELECT format('%s %s %s %s', s.generation, s.region, s.model, ifnull(s.company_id, 'all')) AS list,
        r.svc_id AS svcId, r.company_id AS companyId, r.platform_id AS platformId, r.deleted,
        r.updated_ms AS updatedMs, r.id AS body,
        (SELECT json_group_array(json_array(path, svc_id, platform_id)) FROM
          (SELECT * FROM child c WHERE c.record_id = r.id ORDER BY svc_id)) AS children
      FROM record r JOIN stream s ON s.id = r.stream_id
      ORDER BY s.generation, s.region, s.model, s.company_id, r.svc_id`)
    .all()
    .map((row) => ({ ...row, body: readPayload(row.body) }));
}

/** What should be stored of a list. */
export function expectedRecords(list: string, records: readonly FakeRecord[]): StoredRecord[] {
  const sorted = [...records].sort((a, b) => (a.svcId < b.svcId ? -1 : 1));
  return sorted.map((record) => {
    const { svcId, companyId, platformId, deleted = false, updatedMs, children = [] } = record;
    const lines = [...children].sort((a, b) => (a.svcId < b.svcId ? -1 : 1));
    return {
      list,
      svcId,
      companyId,
      platformId,
      deleted: deleted ? 1n : 0n,
      updatedMs: updatedMs === null ? null : BigInt(updatedMs),
      body: bodyOf(record),
      children: JSON.stringify(lines.map((child) => ['line_items', Number(child.svcId), child.platformId])),
    };
  });
}

export function countRecords(db: Db): number {
  return Number(db.prepare('SELECT count(*) FROM record').pluck().get());
}

/** The error that a promise ends with, or null. */
export async function errorOf(work: Promise<unknown>): Promise<SvcError | null> {
  try {
    await work;
    return null;
  } catch (error) {
    if (error instanceof SvcError) return error;
    throw error;
  }
}

export const V3_LIST = 'v3 eu accounting/invoices all';
export const V4_LIST = 'v4  accounting/invoices 7';

/** Records of company 7 with ids in a row. */
export function records(count: number, from = 1): FakeRecord[] {
  return Array.from({ length: count }, (_, at) => {
    return { svcId: BigInt(from + at), companyId: 7n, platformId: `p${from + at}`, updatedMs: 5 };
  });
}

/** A service whose V4 lists company 7. */
export function v4Service(lists: Record<string, FakeRecord[]>): FakeService {
  const service = createFakeService(lists);
  service.companies.push({ companyId: 7n, raw: Buffer.from('{"name":"Seven"}') });
  return service;
}

/** The ids of all stored records. */
export function storedIds(db: Db): bigint[] {
  return db.prepare<[], bigint>('SELECT svc_id FROM record ORDER BY svc_id').pluck().all();
}
