import { describe, expect, it } from 'vitest';
import { prepareSaveRecords } from '../../src/store/records.js';
import { dropStream, dropUnseen } from '../../src/store/stream-contents.js';
import { listStreams, prepareSaveStream, readCompanyList, saveCompanyList } from '../../src/store/streams.js';
import { addStreams, openTestDatabase, record, rowsOf } from './support.js';

describe('streams', () => {
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
});

describe('deleting records that a reading no longer returns', () => {
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
});

describe('deleting a stream', () => {
  it('leaves nothing of it, and everything of others', () => {
    const db = openTestDatabase();
    const [row, other] = addStreams(db, 'a/x', 'b/y');
    for (const id of [row?.id, other?.id])
      db.exec(`
        INSERT INTO cursor_seen VALUES (${id}, x'00'); INSERT INTO excluded VALUES (${id}, 1, 1);
        INSERT INTO split_record VALUES ('eu', '${id}', 1, ${id});
        INSERT INTO rejected(generation, region, model, page, position, path, reason, raw, stream_id)
          VALUES ('v3', 'eu', '', 1, 1, '', 'no_svc_id', '', ${id});`);
    dropStream(db, row?.id ?? 0n);
    for (const table of ['cursor_seen', 'excluded', 'split_record', 'rejected'])
      expect([table, rowsOf(db, `SELECT stream_id FROM ${table}`)]).toEqual([
        table,
        [{ stream_id: other?.id }],
      ]);
    expect(listStreams(db).map(({ model }) => model)).toEqual(['b/y']);
  });
});
