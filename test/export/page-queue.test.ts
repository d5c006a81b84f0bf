import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { ListRequest } from '../../src/api/queries.js';
import type { ListPage } from '../../src/domain.js';
import { type ErrorCode, EXIT_BY_CODE, SvcError } from '../../src/errors.js';
import { createPageSupply, PageQueue } from '../../src/export/prefetch.js';
import { type StreamRow, streamKeyOf } from '../../src/store/streams.js';
import { columnsOf } from '../support/columns-of.js';
import { row } from './decide-cases.js';

const rowAt = (cursor: string | null, walk = 1): StreamRow => row({ position: { cursor, walk } });

function page(next: string | null, bytes = 2): ListPage {
  const columns = { ...columnsOf([]), body: new Uint8Array(bytes) };
  return { columns, rejected: [], next, totalCount: null, servedMs: null };
}

type Answer = (cursor: string | null) => ListPage | Error;

/** A service whose answers come at once, and who reads ahead there. */
function readLists(answer: Answer) {
  const asked: (string | null)[] = [];
  const told = { hurries: 0 };
  const source = {
    fetchV4Companies: async () => ({ companies: [], reading: null }),
    fetchPage: async ({ cursor }: ListRequest) => {
      asked.push(cursor);
      const given = answer(cursor);
      if (given instanceof Error) throw given;
      return given;
    },
  };
  const supply = createPageSupply(source, { now: () => asked.length });
  const start = (row: StreamRow, single = false) => {
    const pair = { v3: row.model, v4: null, expand: [], children: [], v4Guessed: false };
    const { cursor, since } = row.position;
    const request = { stream: streamKeyOf(row), pair, cursor, updatedSince: since, single };
    return new PageQueue(
      row,
      (onArrival) => supply.subscribe(request, onArrival),
      () => {
        told.hurries += 1;
      },
      single,
    );
  };
  return { asked, told, start };
}

/** Pages are named by their cursors. */
const listOf =
  (count: number, bytes = 2): Answer =>
  (cursor) => {
    const number = Number(cursor ?? 0) + 1;
    return page(number < count ? String(number) : null, bytes);
  };

/** Another list may still be read after these. */
const OF_ONE_LIST: readonly ErrorCode[] = [
  'network',
  'timeout',
  'unavailable',
  'http_status',
  'bad_response',
  'body_too_large',
  'wait_too_long',
];

const settled = async () => {
  for (let turn = 0; turn < 20; turn++) await setImmediate();
};

describe('reading ahead', () => {
  it('asks for the next page as soon as its cursor is known, eight at most', async () => {
    const { asked, told, start } = readLists(listOf(100));
    const ahead = start(rowAt(null));
    await settled();
    expect(asked).toEqual([null, '1', '2', '3', '4', '5', '6', '7']);
    expect(told.hurries).toBe(1);
    expect(ahead.take(rowAt(null))?.askedMs).toBe(0);
    await settled();
    expect(asked).toHaveLength(9);
  });

  it('waits for its own pages to be taken where many bytes wait', async () => {
    const { asked, told, start } = readLists(listOf(100, 2_000_000));
    const ahead = start(rowAt(null));
    await settled();
    expect([asked.length, told.hurries]).toEqual([2, 1]);
    ahead.take(rowAt(null));
    ahead.take(rowAt('1'));
    await settled();
    expect([asked.length, told.hurries]).toEqual([4, 2]);
  });

  it('has one page at a time of a list where others hold many bytes, and more once these have ended', async () => {
    const { asked, start } = readLists(listOf(100, 2_000_000));
    const other = start(rowAt(null));
    await settled();
    const ahead = start(rowAt(null));
    await settled();
    ahead.take(rowAt(null));
    await settled();
    expect(asked).toHaveLength(4);
    other.end();
    ahead.take(rowAt('1'));
    await settled();
    expect(asked).toEqual([null, '1', null, '1', '2', '3']);
  });

  it('gives the pages to the end, each to the row that stands before it', async () => {
    const { asked, told, start } = readLists(listOf(3));
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

  it('asks for one page only, and gives no other, where that page decides how the list is read', async () => {
    const { asked, told, start } = readLists(listOf(3));
    const ahead = start(rowAt(null), true);
    await settled();
    expect([asked, told.hurries]).toEqual([[null], 1]);
    expect([ahead.take(rowAt(null))?.answer, ahead.fits(rowAt('1'))]).toMatchObject([{ next: '1' }, false]);
  });

  it.each([
    ['another cursor', rowAt('elsewhere')],
    ['another walk', rowAt(null, 2)],
    ['a stream that has ended', { ...rowAt(null), state: 'failed' } as const],
  ])('gives no page to %s', async (_, row) => {
    const { start } = readLists(listOf(3));
    const ahead = start(rowAt(null));
    await settled();
    expect([ahead.fits(row), ahead.take(row)]).toEqual([false, null]);
  });

  it('hands over an error of the list in its place, and asks on no further', async () => {
    const { asked, told, start } = readLists((cursor) =>
      cursor === null ? page('1') : new SvcError('timeout', 'late'),
    );
    const ahead = start(rowAt(null));
    await settled();
    expect(told.hurries).toBe(1);
    expect(ahead.take(rowAt(null))?.answer).toMatchObject({ next: '1' });
    expect(ahead.take(rowAt('1'))).toMatchObject({ askedMs: 1, answer: { code: 'timeout' } });
    expect([asked.length, ahead.fits(rowAt('1'))]).toEqual([2, false]);
  });

  it.each(Object.keys(EXIT_BY_CODE) as ErrorCode[])(
    'knows whether %s concerns the list alone',
    async (code) => {
      const { start } = readLists(() => new SvcError(code, 'no'));
      const ahead = start(rowAt(null));
      await settled();
      const taken = ahead.take(rowAt(null))?.answer ?? null;
      expect(taken).toEqual(OF_ONE_LIST.includes(code) ? expect.objectContaining({ code }) : null);
    },
  );

  it.each([new SvcError('auth', 'no'), new TypeError('a fault of the program')])(
    'throws what concerns more than the list once the pages before it are taken: %s',
    async (error) => {
      const { start } = readLists((cursor) => (cursor === null ? page('1') : error));
      const ahead = start(rowAt(null));
      await settled();
      await ahead.arrival();
      ahead.take(rowAt(null));
      await expect(ahead.arrival()).rejects.toBe(error);
    },
  );
});
