import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { Io } from '../../src/commands/command.js';
import type { Config } from '../../src/config/config.js';
import { buildRemap } from '../../src/match/build-remap.js';
import { buildReport } from '../../src/report/build-report.js';
import type { WrittenReport } from '../../src/report/report-schema.js';
import { type Db, openDatabase } from '../../src/store/open.js';
import { EVERYTHING, type Scope } from '../../src/store/remap-rows.js';
import { configOf, type Exported, saveExported } from '../support/exported.js';
import { seal } from '../support/seal.js';

/** `saveExported` dates every list 2026-11-01T00:00:00Z. */
export const NOW = Date.parse('2026-11-01T02:03:00Z');
const BUILT = Date.parse('2026-11-01T01:00:00Z');

export interface TestDatabase {
  readonly config: Config;
  readonly folder: string;
  /** Changes the stored rows as a test needs. */
  readonly write: (work: (db: Db) => void) => void;
  readonly remap: () => void;
  readonly report: (scope?: Scope, nowMs?: number) => Promise<WrittenReport>;
}

/** A database in a folder of its own, with its remap built. */
export async function withDatabase<T>(
  exported: Exported,
  overrides: Partial<Config> & { regions?: readonly string[] },
  work: (database: TestDatabase) => T | Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-migrate-report-'));
  try {
    const database = newDatabase(folder, overrides);
    database.write((db) => saveExported(db, database.config, exported));
    database.remap();
    return await work(database);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function newDatabase(
  folder: string,
  overrides: Partial<Config> & { regions?: readonly string[] },
): TestDatabase {
  const { regions = ['default'], ...rest } = overrides;
  const file = join(folder, 'test.db');
  const config = { ...configOf({ regions }), ...rest, database: file, file: join(folder, 'config.json') };
  const write = (change: (db: Db) => void) => {
    const db = openDatabase(file, 'create');
    try {
      change(db);
      seal(db);
    } finally {
      db.close();
    }
  };
  const remap = () =>
    write((db) => {
      buildRemap({ db, config, named: [], clock: { now: () => BUILT }, onProgress: () => {} });
    });
  const report = async (scope: Scope = EVERYTHING, nowMs = NOW) => {
    const db = openDatabase(file, 'read');
    try {
      const inputs = { config, scope, nowMs, toolVersion: '0.0.0' };
      const { companies, completeness, fullSync, ...report } = buildReport(db, inputs);
      return {
        ...report,
        companies: [...companies],
        completeness: [...completeness],
        fullSync: [...fullSync],
      };
    } finally {
      db.close();
    }
  };
  return { config, folder, write, remap, report };
}

/** Text that a stream received. */
export class Sink extends Writable {
  text = '';
  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.text += chunk.toString();
    done();
  }
}

export interface TestIo extends Io {
  readonly stdout: Sink;
  readonly stderr: Sink;
}

export function newIo(overrides: Partial<Io> = {}): TestIo {
  return {
    env: {},
    clock: { now: () => NOW },
    isTty: false,
    width: 80,
    color: false,
    signal: new AbortController().signal,
    onProgress: () => {},
    runUninterruptible: async (work) => work(),
    ...overrides,
    stdout: new Sink(),
    stderr: new Sink(),
  };
}

/** One match, one record before the window, one nobody can explain, one deleted, one only in V4. */
export const MIXED: Exported = {
  v3: [
    { id: 1, key: 'a', latest: '2026-10-01T00:00:00Z', facts: 'x=1', kids: [{ id: 11, key: 'l1' }] },
    { id: 2, key: 'b', latest: '2026-01-05T00:00:00Z', kids: [{ id: 12, key: 'l2' }] },
    { id: 3, key: 'c', latest: '2026-10-03T00:00:00Z' },
    { id: 4, key: 'd', deleted: true, latest: '2026-09-03T00:00:00Z' },
  ],
  v4: [
    { id: 2, key: 'a', latest: '2026-10-01T00:00:00Z', facts: 'x=1', kids: [{ id: 21, key: 'l1' }] },
    { id: 3, key: 'e', latest: '2026-10-04T00:00:00Z' },
  ],
};
export const SINCE = { sinceMs: Date.parse('2026-08-20T00:00:00Z'), dateFields: ['posted_date'] };
