import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ParsedRecord } from '../../src/domain.js';
import { buildRemap } from '../../src/match/build-remap.js';
import { type Db, openDatabase } from '../../src/store/open.js';
import { ensureStreams, listStreams, type StreamRow } from '../../src/store/streams.js';
import { configOf, modelOf } from '../support/exported.js';

/** An open database that goes when the test has finished. */
export function openTestDatabase(): Db {
  const folder = mkdtempSync(join(tmpdir(), 'svc-store-'));
  const db = openDatabase(join(folder, 'test.db'), 'create');
  onTestFinished(() => {
    db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return db;
}

/** Streams of V3, one for each model. */
export function addStreams(db: Db, ...models: readonly string[]): StreamRow[] {
  const planned = models.map((model) => {
    return { key: { generation: 'v3', region: 'eu', model, companyId: null }, route: model } as const;
  });
  ensureStreams(db, planned, '2026-01-01T00:00:00.000Z');
  return listStreams(db).filter(({ model }) => models.includes(model));
}

export function record(changes: Partial<ParsedRecord> = {}): ParsedRecord {
  return {
    svcId: 1n,
    companyId: 7n,
    platformId: 'p',
    platformUniqueId: null,
    deleted: false,
    updatedMs: 5,
    latestMs: null,
    latestFrom: null,
    createdMs: null,
    children: null,
    members: null,
    raw: Buffer.from('{}'),
    ...changes,
  };
}

/** All rows that a query gives. */
export function rowsOf(db: Db, sql: string): unknown[] {
  return db.prepare(sql).all();
}

/** Verifies everything that was exported, as a remap does; the remap itself is not kept. */
export function verifyExport(db: Db, models = ['accounting/invoices', 'crm/companies']): void {
  const config = configOf({ models: models.map((name) => modelOf(name)) });
  db.exec('SAVEPOINT before');
  try {
    buildRemap({ db, config, named: [], clock: { now: () => 0 }, onProgress: () => {} });
  } finally {
    db.exec('ROLLBACK TO before; RELEASE before');
  }
}
