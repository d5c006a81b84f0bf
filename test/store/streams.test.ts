import { describe, expect, it } from 'vitest';
import { prepareBumpExportSeq, readExportSeq, readMeta, writeMeta } from '../../src/store/meta.js';
import { prepareSaveRecords } from '../../src/store/records.js';
import { dropStream, dropUnseen } from '../../src/store/stream-contents.js';
import {
  ensureStreams,
  listStreams,
  prepareSaveStream,
  readCompanyList,
  saveCompanyList,
} from '../../src/store/streams.js';
import { cpuMsOf, growthOf } from '../support/growth.js';
import { storedPayloads } from '../support/payloads.js';
import { addStreams, openTestDatabase, record, rowsOf } from './support.js';

describe('streams', () => {
  it('are added once, and keep their state if they are planned again', () => {
    const db = openTestDatabase();
    const [row] = addStreams(db, 'a/x', 'b/y');
    if (row === undefined) throw new Error('no stream');
    prepareSaveStream(db)({ ...row, state: 'complete', pages: 3 });
    addStreams(db, 'a/x', 'b/y', 'c/z');
    expect(listStreams(db).map(({ model, state, pages }) => [model, state, pages])).toEqual([
      ['a/x', 'complete', 3],
      ['b/y', 'running', 0],
      ['c/z', 'running', 0],
    ]);
  });

  it('are different for each generation, region, company, and for all companies', () => {
    const db = openTestDatabase();
    const key = { generation: 'v3', region: 'eu', model: 'a/x', companyId: null } as const;
    const keys = [
      key,
      { ...key, companyId: 0n },
      { ...key, region: 'us' },
      { ...key, generation: 'v4', companyId: 0n },
    ] as const;
    const planned = [...keys, ...keys].map((one) => ({ key: one, route: 'x' }));
    ensureStreams(db, planned, 'now');
    expect(listStreams(db)).toHaveLength(4);
    expect(listStreams(db, 'v4')).toHaveLength(1);
  });

  it('do not include the company list of V4', () => {
    const db = openTestDatabase();
    addStreams(db, 'a/x');
    expect(readCompanyList(db)).toBeNull();
    const counts = { pages: 2, records: 3, uniqueRecords: 2, totalCountFirst: 2, totalCountLast: 2 };
    const ending = { state: 'complete', endReason: 'end_of_list', endNote: null } as const;
    saveCompanyList(db, { ...counts, ...ending, startedAt: 'a', finishedAt: 'b' });
    expect(listStreams(db)).toHaveLength(1);
    expect(readCompanyList(db)).toMatchObject({
      model: 'core/companies',
      ...counts,
      duplicates: 1,
      readAt: 'a',
    });
    saveCompanyList(db, null);
    expect(readCompanyList(db)).toBeNull();
  });

  it('are read as they were saved', () => {
    const db = openTestDatabase();
    const [row] = addStreams(db, 'a/x');
    if (row === undefined) throw new Error('no stream');
    const position = {
      ...row.position,
      cursor: 'odd \ud800 "cursor"\u0000',
      since: 'then',
      excluded: 3,
      previous: { walk: 1, unique: 2 },
    };
    const counts = { pages: 1, records: 2 ** 40, uniqueRecords: 3, duplicates: 4, rejected: 5 };
    const saved = {
      ...row,
      ...counts,
      state: 'failed',
      endReason: 'network',
      endNote: 'It broke.',
      totalCountFirst: 6,
      totalCountLast: 7,
      startedAt: 'a',
      finishedAt: 'b',
      readAt: 'c',
      position,
    } as const;
    prepareSaveStream(db)(saved);
    expect(listStreams(db)).toEqual([saved]);
  });

  it('are requested by the route of the latest plan', () => {
    const db = openTestDatabase();
    const key = { generation: 'v4', region: '', model: 'a/x', companyId: 7n } as const;
    ensureStreams(db, [{ key, route: 'old' }], 'now');
    ensureStreams(db, [{ key, route: 'new' }], 'now');
    expect(listStreams(db).map(({ route }) => route)).toEqual(['new']);
  });
});

describe('deleting records that a reading no longer returns', () => {
  it('leaves newer records and other streams alone', () => {
    const db = openTestDatabase();
    const save = prepareSaveRecords(db, 'full');
    const place = { streamId: 1n, walk: 1, keepFrom: 1, passWalk: 1, previousWalk: null };
    save(
      place,
      [1n, 2n, 3n].map((svcId) => record({ svcId })),
    );
    save({ ...place, streamId: 2n }, [record()]);
    save({ ...place, walk: 2 }, [record({ svcId: 2n })]);
    expect(dropUnseen(db, 1n, 2, null)).toEqual({ dropped: 2, next: 4n });
    expect(dropUnseen(db, 1n, 2, 4n)).toEqual({ dropped: 0, next: null });
    expect(rowsOf(db, 'SELECT stream_id, svc_id FROM record ORDER BY 1, 2')).toEqual([
      { stream_id: 1n, svc_id: 2n },
      { stream_id: 2n, svc_id: 1n },
    ]);
    expect(storedPayloads(db)).toHaveLength(2);
  });

  it('processes a long list in chunks', () => {
    const db = openTestDatabase();
    const save = prepareSaveRecords(db, 'ids');
    const many = Array.from({ length: 25_000 }, (_, at) => record({ svcId: BigInt(at) }));
    db.transaction(() =>
      save({ streamId: 1n, walk: 1, keepFrom: 1, passWalk: 1, previousWalk: null }, many),
    )();
    const dropped: number[] = [];
    for (let from: bigint | null = 0n; from !== null; ) {
      const chunk = dropUnseen(db, 1n, 2, from);
      dropped.push(chunk.dropped);
      from = chunk.next;
    }
    expect(dropped).toEqual([10_000, 10_000, 5_000, 0]);
  });

  it('leaves nothing of a deleted stream', () => {
    const db = openTestDatabase();
    const [row, other] = addStreams(db, 'a/x', 'b/y');
    if (row === undefined || other === undefined) throw new Error('no streams');
    db.exec(`
      INSERT INTO cursor_seen VALUES (${row.id}, x'00'); INSERT INTO excluded VALUES (${row.id}, 1, 1);
      INSERT INTO rejected(generation, region, model, page, position, path, reason, raw, stream_id)
        VALUES ('v3', 'eu', 'a/x', 1, 1, '', 'no_svc_id', '', ${row.id});`);
    dropStream(db, row.id);
    expect(listStreams(db).map(({ model }) => model)).toEqual(['b/y']);
    for (const table of ['cursor_seen', 'excluded', 'rejected'])
      expect(rowsOf(db, `SELECT * FROM ${table}`)).toEqual([]);
  });
});

describe('a setting of the database', () => {
  it('is null until it is written, and then the last value', () => {
    const db = openTestDatabase();
    expect(readMeta(db, 'x')).toBeNull();
    writeMeta(db, 'x', '1');
    writeMeta(db, 'x', '2');
    expect(readMeta(db, 'x')).toBe('2');
  });

  it('export_seq grows with every change of the export', () => {
    const db = openTestDatabase();
    const bump = prepareBumpExportSeq(db);
    expect(readExportSeq(db)).toBe(0n);
    bump();
    bump();
    expect(readExportSeq(db)).toBe(2n);
  });
});

describe('many streams', () => {
  /** CPU time of planning lists for so many companies twice, ms. */
  function measurePlanning(companies: number): number {
    const planned = Array.from({ length: companies }, (_, at) => ({
      key: { generation: 'v4', region: '', model: 'a/x', companyId: BigInt(at) } as const,
      route: 'x',
    }));
    const db = openTestDatabase();
    const plan = db.transaction(() => {
      ensureStreams(db, planned, 'now');
      ensureStreams(db, planned, 'later');
    });
    const took = cpuMsOf(plan);
    db.close();
    return took;
  }

  it('take time in proportion to their number', () => {
    const growth = growthOf(
      () => measurePlanning(4000),
      () => measurePlanning(16_000),
      7,
    );
    expect(growth).toBeLessThan(7);
  });
});
