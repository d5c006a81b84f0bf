import { afterEach, describe, expect, it } from 'vitest';
import type { ParsedRecord } from '../../../src/domain.js';
import { createSaver } from '../../../src/export/saver.js';
import { readExportSeq } from '../../../src/store/meta.js';
import { listStreams, type StreamRow } from '../../../src/store/streams.js';
import { configOf, type Exported, openExported } from '../../support/exported.js';

const EXPORTED: Exported = { v3: [{ id: 1, key: 'a' }], v4: [] };

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

function newSaver(exported: Exported = EXPORTED) {
  const { db, close } = openExported(configOf(), exported);
  closing.push(close);
  const clock = { now: () => Date.parse('2026-11-20T00:00:00Z') };
  const rules = { sweeps: false, sweepOverlapMs: 0, dropsMissingLists: false };
  const saver = createSaver({ db, file: 'test.db', payload: 'full', excluded: [], rules, clock });
  return { db, saver, stream: () => firstOf(listStreams(db, 'v3')) };
}

function firstOf(rows: readonly StreamRow[]): StreamRow {
  const [first] = rows;
  if (first === undefined) throw new Error('There is no list.');
  return first;
}

function recordOf(svcId: bigint, platformId: string): ParsedRecord {
  const dates = { updatedMs: null, latestMs: null, latestFrom: null, createdMs: null } as const;
  const rest = {
    platformUniqueId: null,
    deleted: false,
    children: null,
    members: null,
    raw: Buffer.from('{}'),
  };
  return { svcId, companyId: 1n, platformId, ...dates, ...rest };
}

describe('records saved one by one', () => {
  it('are added and updated, and leave the reading as complete and as old as it was', async () => {
    const { db, saver, stream } = newSaver();
    const before = stream();
    const seq = readExportSeq(db);
    const saved = await saver.saveSingly(before, [recordOf(1n, 'changed'), recordOf(2n, 'new')]);
    expect(saved.changed).toBe(2);
    expect(stream()).toEqual(saved.row);
    expect(saved.row).toEqual({
      ...before,
      records: before.records + 2,
      uniqueRecords: before.uniqueRecords + 1,
      duplicates: 1,
    });
    expect(readExportSeq(db)).toBe(seq + 1n);
    const keys = db.prepare('SELECT platform_id FROM record ORDER BY svc_id').pluck().all();
    expect(keys).toEqual(['changed', 'new']);
  });

  it('change nothing that makes a remap stale where they are as they were', async () => {
    const { db, saver, stream } = newSaver();
    await saver.saveSingly(stream(), [recordOf(1n, 'a')]);
    const seq = readExportSeq(db);
    expect((await saver.saveSingly(stream(), [recordOf(1n, 'a')])).changed).toBe(0);
    expect(readExportSeq(db)).toBe(seq);
  });

  it.each(['running', 'failed', 'absent'] as const)('are refused by a list that is %s', async (state) => {
    const { db, saver, stream } = newSaver({
      ...EXPORTED,
      states: { 'v3 default accounting/invoices': state },
    });
    await expect(saver.saveSingly(stream(), [recordOf(2n, 'new')])).rejects.toThrow(`is ${state}`);
    expect(db.prepare('SELECT count(*) FROM record').pluck().get()).toBe(1n);
  });
});
