import { describe, expect, it } from 'vitest';
import type { ParsedRecord } from '../../src/domain.js';
import { prepareMemberDigests } from '../../src/store/member-lists.js';
import type { Db } from '../../src/store/open.js';
import { type PagePlace, prepareSaveRecords } from '../../src/store/records.js';
import { storedPayloads } from '../support/payloads.js';
import { type Child, renderChildren } from '../support/stored-children.js';
import { openTestDatabase, record, rowsOf } from './support.js';

const FIRST: PagePlace = { streamId: 1n, walk: 1, keepFrom: 1, passWalk: 1, previousWalk: null };
/** The first walk of another reading. */
const ANEW: PagePlace = { ...FIRST, walk: 4, keepFrom: 4, passWalk: 4 };

function child(changes: Partial<Child> = {}): Child {
  const fields = { path: 'line_items', svcId: 1n, platformId: 'c', platformUniqueId: null, deleted: false };
  return { ...fields, ...changes };
}

const children = (db: Db) => rowsOf(db, 'SELECT path, svc_id, platform_id FROM child ORDER BY path, svc_id');

/** How many records changed when `second` arrives after `first`. */
function changedBy(
  payload: 'full' | 'ids',
  first: Partial<ParsedRecord>,
  second: Partial<ParsedRecord>,
): number {
  const save = prepareSaveRecords(openTestDatabase(), payload);
  save(FIRST, [record(first)]);
  return save(FIRST, [record(second)]).changed;
}

describe('a record that arrives again', () => {
  it.each<[string, Partial<ParsedRecord>]>([
    ['company', { companyId: 8n }],
    ['platform id', { platformId: 'q' }],
    ['missing platform id', { platformId: null }],
    ['unique id', { platformUniqueId: 'u' }],
    ['deletion', { deleted: true }],
    ['update time', { updatedMs: 6 }],
    ['date', { latestMs: 6, latestFrom: 'platform' }],
    ['creation date', { createdMs: 6 }],
    ['digest of a field', { members: { names: '["code"]', words: Int32Array.of(0, 1, 4) } }],
    ['children', { children: renderChildren([child()]) }],
  ])('has changed with another %s, with or without payload', (_, change) => {
    // A change of the children is a change of the bytes.
    expect(changedBy('full', {}, { raw: Buffer.from('{"x":1}'), ...change })).toBe(1);
    expect(changedBy('ids', {}, change)).toBe(1);
  });

  it('is stored with the names of its members after an earlier page was rolled back', () => {
    const db = openTestDatabase();
    const save = prepareSaveRecords(db, 'ids');
    const page = [record({ members: { names: '["code"]', words: Int32Array.of(0, 1, 4) } })];
    const failing = db.transaction(() => {
      save(FIRST, page);
      throw new Error('full');
    });
    expect(failing).toThrow('full');
    save(FIRST, page);
    expect(rowsOf(db, 'SELECT id, names FROM member_list')).toEqual([{ id: 1n, names: '["code"]' }]);
  });

  it('is replaced by what a new reading shows, even if that claims to be older', () => {
    const db = openTestDatabase();
    const save = prepareSaveRecords(db, 'full');
    save(FIRST, [record()]);
    save(ANEW, [record({ raw: Buffer.from('older'), updatedMs: 4 })]);
    expect(storedPayloads(db)).toEqual(['older']);
  });

  it('counts as changed if only its bytes differ, but only where payloads are stored', () => {
    const raw = Buffer.from('{ }');
    expect([changedBy('full', {}, { raw }), changedBy('ids', {}, { raw })]).toEqual([1, 0]);
  });

  it.each<[string, Partial<Child>]>([
    ['id', { svcId: 2n }],
    ['path', { path: 'other' }],
    ['platform id', { platformId: null }],
    ['unique id', { platformUniqueId: 'u' }],
    ['deletion', { deleted: true }],
  ])('has changed with another %s of a child', (_, change) => {
    expect(
      changedBy(
        'ids',
        { children: renderChildren([child()]) },
        { children: renderChildren([child(change)]) },
      ),
    ).toBe(1);
  });
});

it('names of members that another list has the number of are not stored', () => {
  const membersOf = prepareMemberDigests(openTestDatabase())();
  const words = Int32Array.of(0, 1, 4);
  expect(membersOf({ names: '["code"]', words })).not.toBeNull();
  expect(membersOf({ names: '["edoc"]', words })).toBeNull();
});

describe('a child listed twice in one record', () => {
  it('is stored once, as listed last', () => {
    const db = openTestDatabase();
    const save = prepareSaveRecords(db, 'full');
    const twice = record({
      children: renderChildren([child({ platformId: 'a' }), child({ platformId: 'b' })]),
    });
    save(FIRST, [twice]);
    expect(children(db)).toEqual([{ path: 'line_items', svc_id: 1n, platform_id: 'b' }]);
    expect(prepareSaveRecords(db, 'ids')(FIRST, [twice]).changed).toBe(0);
  });
});

describe('the tally of a page', () => {
  const ids = (...svcIds: readonly bigint[]) => svcIds.map((svcId) => record({ svcId }));
  const none = { unique: 0, duplicates: 0, passUnique: 0, passCommon: 0, fresh: 0, changed: 0 };

  it('counts what is new to the reading, the pass and the walk', () => {
    const save = prepareSaveRecords(openTestDatabase(), 'full');
    expect(save(FIRST, ids(1n, 2n, 2n))).toEqual({
      ...none,
      unique: 2,
      duplicates: 1,
      passUnique: 2,
      fresh: 2,
      changed: 2,
    });
    // A second walk of the same pass.
    expect(save({ ...FIRST, walk: 2 }, ids(1n, 3n))).toEqual({
      ...none,
      unique: 1,
      duplicates: 1,
      passUnique: 1,
      fresh: 2,
      changed: 1,
    });
    // A second pass: 2 was seen by the first pass in its first walk.
    const second = { ...FIRST, walk: 3, passWalk: 3, previousWalk: 1 };
    expect(save(second, ids(1n, 2n, 4n))).toEqual({
      ...none,
      unique: 1,
      duplicates: 2,
      passUnique: 3,
      passCommon: 2,
      fresh: 3,
      changed: 1,
    });
    expect(save(second, ids(1n))).toEqual({ ...none, duplicates: 1 });
    // A new reading: 3 was last seen two passes ago, nothing counts as a duplicate.
    expect(save(ANEW, ids(1n, 3n))).toEqual({ ...none, unique: 2, passUnique: 2, fresh: 2 });
  });

  it('compares a pass with what the previous pass saw, not with what is stored', () => {
    const save = prepareSaveRecords(openTestDatabase(), 'full');
    save(FIRST, ids(1n, 2n));
    save({ ...FIRST, walk: 2, passWalk: 2, previousWalk: 1 }, ids(2n));
    const third = save({ ...FIRST, walk: 3, passWalk: 3, previousWalk: 2 }, ids(1n, 2n));
    expect(third).toMatchObject({ passUnique: 2, passCommon: 1 });
  });
});
