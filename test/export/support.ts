import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { decodeBody } from '../../src/api/body.js';
import type { Generation, ProgressEvent } from '../../src/domain.js';
import { SvcError } from '../../src/errors.js';
import { type ExportOptions, type GenerationExport, runExport } from '../../src/export/run-export.js';
import { iteratePages } from '../../src/store/derivation.js';
import { openDatabase } from '../../src/store/open.js';
import type { Db } from '../../src/store/sqlite.js';
import { must } from '../../src/text/at.js';
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

type Source = ExportOptions['api'];

export interface Bench {
  readonly file: string;
  readonly clock: ReturnType<typeof tickingClock>;
  readonly events: ProgressEvent[];
  /** One run of an export, as a process of its own would do it: opens the database and closes it. */
  run(source: Source, generation?: Generation, changes?: Partial<ExportOptions>): Promise<GenerationExport>;
  /** The same for V3, with a database that is prepared first; tells how it ended. */
  runWith(prepare: (db: Db) => void, source: Source): Promise<SvcError | null>;
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
  const runOn = async (db: Db, source: Source, generation: Generation, changes: Partial<ExportOptions>) => {
    const signal = new AbortController().signal;
    const onProgress = (event: ProgressEvent) => events.push(event);
    try {
      const base = {
        db,
        config: { ...configuration, database: file },
        api: source,
        signal,
        clock,
        onProgress,
      };
      const [first] = await runExport({ ...base, generations: [generation], ...changes });
      return must(first);
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
  const bodies = new Map<bigint, ReadonlySet<string>>();
  for (const { id, body, encoding } of iteratePages(db)) {
    bodies.set(id, new Set(JSON.parse(decodeBody(body, encoding)) as string[]));
  }
  return db
    .prepare<[], Omit<StoredRecord, 'body'> & { pageId: bigint | null }>(`
      select format('%s %s %s %s', s.generation, s.region, s.model, ifnull(s.company_id, 'all')) as list,
        r.svc_id as svcId, r.company_id as companyId, r.platform_id as platformId, r.deleted,
        r.updated_ms as updatedMs, r.page_id as pageId,
        (select json_group_array(json_array((select name from child_path p where p.id = path), svc_id, platform_id)) from
          (select * from child c where c.record_id = r.id order by position)) as children
      from record r join stream s on s.id = r.stream_id and s.model <> 'core/companies'
      order by s.generation, s.region, s.model, s.company_id, r.svc_id`)
    .all()
    .map(({ pageId, ...row }) => {
      const page = pageId === null ? undefined : must(bodies.get(pageId), `page ${pageId}`);
      return { ...row, body: page === undefined ? null : bodyIn(page, row) };
    });
}

/** The body of a record in the page that the database names for it. */
function bodyIn(page: ReadonlySet<string>, row: Omit<StoredRecord, 'body'>): string {
  const lines = (JSON.parse(row.children) as [string, number, string][]).map(([, svcId, platformId]) => {
    return { svcId: BigInt(svcId), platformId };
  });
  const updatedMs = row.updatedMs === null ? null : Number(row.updatedMs);
  const body = bodyOf({ ...row, updatedMs, deleted: row.deleted === 1n, children: lines });
  return page.has(body) ? body : 'not in its page';
}

/** What should be stored of a list. */
export function expectedRecords(list: string, records: readonly FakeRecord[]): StoredRecord[] {
  const sorted = [...records].sort((a, b) => (a.svcId < b.svcId ? -1 : 1));
  return sorted.map((record) => {
    const { svcId, companyId, platformId, deleted = false, updatedMs, children = [] } = record;
    return {
      list,
      svcId,
      companyId,
      platformId,
      deleted: deleted ? 1n : 0n,
      updatedMs: updatedMs === null ? null : BigInt(updatedMs),
      body: bodyOf(record),
      children: JSON.stringify(
        children.map((child) => ['line_items', Number(child.svcId), child.platformId]),
      ),
    };
  });
}

export function countRecords(db: Db): number {
  return Number(db.prepare(`select count(*) from record ${OF_MODELS}`).pluck().get());
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
  service.companies.push(7n);
  return service;
}

/** Without the companies of V4. */
const OF_MODELS = "where stream_id not in (select id from stream where model = 'core/companies')";

/** The ids of all stored records. */
export function storedIds(db: Db): bigint[] {
  return db.prepare<[], bigint>(`select svc_id from record ${OF_MODELS} order by svc_id`).pluck().all();
}
