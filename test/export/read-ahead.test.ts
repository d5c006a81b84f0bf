import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { ListPage } from '../../src/domain.js';
import { SvcError } from '../../src/errors.js';
import { ReadAhead } from '../../src/export/read-ahead.js';
import { columnsOf } from '../../src/records/columns.js';
import type { StreamRow } from '../../src/store/stream-row.js';
import { row } from './decide-cases.js';

const rowAt = (cursor: string | null, walk = 1): StreamRow => row({ position: { cursor, walk } });

function page(next: string | null, bytes = 2): ListPage {
  const columns = { ...columnsOf([]), body: new Uint8Array(bytes) };
  return { columns, rejected: [], next, totalCount: null, requestId: null };
}

/** A list of pages named by their cursors; each answer is let go by hand, or at once. */
function readList(count: number, bytes = 2) {
  const asked: (string | null)[] = [];
  const told = { hurries: 0 };
  const backlog = {
    bytes: 0,
    hurry: () => {
      told.hurries += 1;
    },
  };
  const fetch = async (cursor: string | null) => {
    asked.push(cursor);
    const number = Number(cursor ?? 0) + 1;
    return page(number < count ? String(number) : null, bytes);
  };
  const start = (row: StreamRow) =>
    new ReadAhead(row, { fetch, backlog, clock: { now: () => asked.length } });
  return { asked, backlog, told, start };
}

const settled = async () => {
  for (let turn = 0; turn < 20; turn++) await setImmediate();
};

describe('reading ahead', () => {
  it('asks for the next page as soon as its cursor is known, eight at most', async () => {
    const { asked, told, start } = readList(100);
    const ahead = start(rowAt(null));
    await settled();
    expect(asked).toEqual([null, '1', '2', '3', '4', '5', '6', '7']);
    expect(told.hurries).toBe(1);
    expect(ahead.take(rowAt(null))?.askedMs).toBe(0);
    await settled();
    expect(asked).toHaveLength(9);
  });

  it('waits for its own pages to be saved where many bytes wait', async () => {
    const { asked, backlog, told, start } = readList(100, 3_000_000);
    const ahead = start(rowAt(null));
    await settled();
    expect([asked.length, backlog.bytes, told.hurries]).toEqual([2, 6_000_000, 1]);
    ahead.take(rowAt(null));
    ahead.take(rowAt('1'));
    await settled();
    expect([asked.length, backlog.bytes]).toEqual([4, 6_000_000]);
    ahead.end();
    expect(backlog.bytes).toBe(0);
  });

  it('gives the pages to the end, each to the row that stands before it', async () => {
    const { asked, told, start } = readList(3);
    const ahead = start(rowAt(null));
    await ahead.arrival();
    await settled();
    expect(told.hurries).toBe(1);
    for (const cursor of [null, '1', '2']) {
      expect(ahead.fits(rowAt(cursor))).toBe(true);
      expect(ahead.take(rowAt(cursor))).not.toBeNull();
    }
    expect(asked).toHaveLength(3);
    expect(ahead.fits(rowAt(null))).toBe(false);
  });

  it.each([
    ['another cursor', rowAt('elsewhere')],
    ['another walk', rowAt(null, 2)],
    ['a stream that has ended', { ...rowAt(null), state: 'failed' } as const],
  ])('gives no page to %s', async (_, row) => {
    const { start } = readList(3);
    const ahead = start(rowAt(null));
    await settled();
    expect([ahead.fits(row), ahead.take(row)]).toEqual([false, null]);
  });

  it('asks for nothing more once it has ended, though a page is under way', async () => {
    const { asked, backlog, start } = readList(100);
    const ahead = start(rowAt(null));
    ahead.end();
    await settled();
    expect([asked.length, backlog.bytes]).toEqual([1, 0]);
  });

  it('hands over an error of the list in its place, and asks on no further', async () => {
    let calls = 0;
    const fetch = async () => {
      calls += 1;
      return calls === 1 ? page('1') : new SvcError('timeout', 'late');
    };
    const ahead = new ReadAhead(rowAt(null), {
      fetch,
      backlog: { bytes: 0, hurry: () => {} },
      clock: { now: () => 0 },
    });
    await settled();
    expect(ahead.take(rowAt(null))?.answer).toMatchObject({ next: '1' });
    expect(ahead.take(rowAt('1'))?.answer).toMatchObject({ code: 'timeout' });
    expect([calls, ahead.fits(rowAt('1'))]).toEqual([2, false]);
  });

  it('throws what concerns more than the list once the pages before it are taken', async () => {
    let calls = 0;
    const fetch = async () => {
      calls += 1;
      if (calls > 1) throw new SvcError('auth', 'no');
      return page('1');
    };
    const ahead = new ReadAhead(rowAt(null), {
      fetch,
      backlog: { bytes: 0, hurry: () => {} },
      clock: { now: () => 0 },
    });
    await settled();
    await ahead.arrival();
    ahead.take(rowAt(null));
    await expect(ahead.arrival()).rejects.toMatchObject({ code: 'auth' });
  });
});
