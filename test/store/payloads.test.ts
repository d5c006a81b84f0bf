import { createHash } from 'node:crypto';
import { brotliDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Db } from '../../src/store/open.js';
import {
  countPayloads,
  deletePayloads,
  dropStalePayloads,
  prepareReadPayload,
} from '../../src/store/payloads.js';
import { type PagePlace, prepareSaveRecords } from '../../src/store/records.js';
import { dropUnseen } from '../../src/store/stream-contents.js';
import { campaign } from '../support/campaign.js';
import { codeOf } from '../support/code-of.js';
import { storedPayloads } from '../support/payloads.js';
import { openTestDatabase, record, rowsOf } from './support.js';

const place = (walk: number, streamId = 1n): PagePlace => {
  return { streamId, walk, keepFrom: walk, passWalk: walk, previousWalk: null };
};
const raw = (text: string) => Buffer.from(JSON.stringify(text));

/** A page of records whose payloads cannot be compressed. */
function page(from: number, count: number, salt = '') {
  return Array.from({ length: count }, (_, at) => {
    const hash = createHash('sha512')
      .update(`${salt} ${from + at}`)
      .digest('hex');
    return record({ svcId: BigInt(from + at), raw: raw(hash) });
  });
}

/** All payloads in the blocks of the database, with those that no record has any more. */
function held(db: Db): number {
  return db
    .prepare<[], Buffer>('SELECT content FROM payload_block')
    .pluck()
    .all()
    .map((content) => brotliDecompressSync(content).toString().split('"').length >> 1)
    .reduce((sum, count) => sum + count, 0);
}

describe('stored payloads', () => {
  it('are what was saved last, whatever pages, updates, deletions and clean-ups come in between', () => {
    const operation = fc.oneof(
      fc.record({
        kind: fc.constant('page' as const),
        stream: fc.constantFrom(1n, 2n),
        ids: fc.array(fc.integer({ min: 1, max: 150 }), { maxLength: 150 }),
        text: fc.constantFrom('a', 'b', 'c', 'long'.repeat(10_000)),
      }),
      fc.record({ kind: fc.constant('drop' as const), stream: fc.constantFrom(1n, 2n) }),
      fc.record({ kind: fc.constantFrom('clean' as const, 'reopen' as const, 'purge' as const) }),
    );
    fc.assert(
      fc.property(fc.array(operation, { minLength: 1, maxLength: 25 }), (operations) => {
        const db = openTestDatabase();
        const expected = new Map<string, string | null>();
        let savers = [prepareSaveRecords(db, 'full'), prepareSaveRecords(db, 'full')] as const;
        let walk = 1;
        for (const one of operations) {
          walk += 1;
          if (one.kind === 'page') {
            const records = one.ids.map((id) =>
              record({ svcId: BigInt(id), raw: raw(one.text), updatedMs: walk }),
            );
            savers[Number(one.stream) - 1]?.(place(walk, one.stream), records);
            for (const id of one.ids) expected.set(`${one.stream} ${id}`, JSON.stringify(one.text));
          } else if (one.kind === 'drop') {
            dropUnseen(db, one.stream, walk - 2, null);
            const left = new Set(db.prepare("SELECT stream_id || ' ' || svc_id FROM record").pluck().all());
            for (const key of expected.keys()) if (!left.has(key)) expected.delete(key);
          } else if (one.kind === 'purge') {
            deletePayloads(db);
            for (const key of expected.keys()) expected.set(key, null);
          } else if (one.kind === 'clean') {
            while (dropStalePayloads(db));
          } else savers = [prepareSaveRecords(db, 'full'), prepareSaveRecords(db, 'full')];
        }
        const read = prepareReadPayload(db);
        const found = db
          .prepare<[], { key: string; id: bigint }>(
            "SELECT stream_id || ' ' || svc_id AS key, id FROM record",
          )
          .all()
          .map(({ key, id }) => [key, read(id)] as const);
        expect(new Map(found)).toEqual(expected);
        expect(countPayloads(db)).toBe(found.filter(([, text]) => text !== null).length);
      }),
      { numRuns: campaign({ small: 30, full: 300 }) },
    );
  });
  it('of records that were replaced or deleted stay until they are dropped', () => {
    const db = openTestDatabase();
    const save = prepareSaveRecords(db, 'full');
    save(place(1), page(1, 200));
    save(place(2), [...page(1, 50, 'new'), ...page(151, 10)]);
    expect(dropUnseen(db, 1n, 2, null).dropped).toBe(140);
    expect(held(db)).toBe(250);
    expect(dropStalePayloads(db)).toBe(false);
    expect([held(db), countPayloads(db), rowsOf(db, 'SELECT * FROM stale_block')]).toEqual([60, 60, []]);
    expect(storedPayloads(db)).toEqual(
      [...page(1, 50, 'new'), ...page(151, 10)].map(({ raw }) => raw.toString()),
    );
  });

  it('are dropped in steps', () => {
    const db = openTestDatabase();
    const save = prepareSaveRecords(db, 'full');
    for (let block = 0; block < 250; block++) save(place(1), page(block, 1));
    save(place(2), page(0, 250, 'new'));
    expect([dropStalePayloads(db), dropStalePayloads(db), dropStalePayloads(db)]).toEqual([
      true,
      true,
      false,
    ]);
    expect([held(db), countPayloads(db)]).toEqual([250, 250]);
  });

  it('of an unchanged record are written once, also after other changes of its block', () => {
    const db = openTestDatabase();
    const save = prepareSaveRecords(db, 'full');
    save(place(1), page(1, 64));
    save(place(2), page(1, 1, 'new'));
    while (dropStalePayloads(db));
    expect(save(place(3), page(2, 63)).changed).toBe(0);
    expect(prepareSaveRecords(db, 'full')(place(4), page(2, 63)).changed).toBe(0);
    expect(held(db)).toBe(64);
  });

  it('are stored anew after a purge', () => {
    const db = openTestDatabase();
    const save = prepareSaveRecords(db, 'full');
    save(place(1), page(1, 100));
    deletePayloads(db);
    expect([storedPayloads(db), countPayloads(db)]).toEqual([[], 0]);
    expect(prepareSaveRecords(db, 'ids')(place(2), page(1, 100)).changed).toBe(0);
    expect(save(place(3), page(1, 100)).changed).toBe(100);
    expect(storedPayloads(db)).toHaveLength(100);
  });

  it.each([
    'DELETE FROM payload_block WHERE id = 2',
    'UPDATE payload_block SET id = id + 10 WHERE id = 2',
    'UPDATE payload_block SET id = iif(id = 1, 9, 1) WHERE id < 3',
    'UPDATE payload_block SET (content, checksum) = (SELECT content, checksum FROM payload_block WHERE id = 1) WHERE id = 2',
    "UPDATE payload_block SET content = x'' WHERE id = 2",
    'UPDATE payload_block SET content = substr(content, 2) WHERE id = 2',
    'UPDATE payload_block SET checksum = checksum + 1 WHERE id = 2',
    'UPDATE record SET payload_block = 1 WHERE payload_block = 2',
    'UPDATE record SET id = id + 1000 WHERE payload_block = 2',
  ])('are damaged after %s', (sql) => {
    const db = openTestDatabase();
    prepareSaveRecords(db, 'full')(place(1), page(1, 200));
    expect(storedPayloads(db)).toHaveLength(200);
    db.exec(sql);
    const ids = db.prepare<[], bigint>('SELECT id FROM record').pluck().all();
    const read = prepareReadPayload(db);
    expect(ids.map((id) => codeOf(() => read(id)))).toContain('corrupt_database');
  });
});
