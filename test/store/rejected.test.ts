import { describe, expect, it } from 'vitest';
import type { RejectedObject } from '../../src/domain.js';
import { prepareSaveRejected } from '../../src/store/stream-contents.js';
import { addStreams, openTestDatabase, rowsOf } from './support.js';

function rejected(raw: string, position = 0, path = ''): RejectedObject {
  return { position, path, reason: 'no_svc_id', raw: Buffer.from(raw) };
}

function open() {
  const db = openTestDatabase();
  const [row] = addStreams(db, 'a/x');
  if (row === undefined) throw new Error('no stream');
  return { db, row, save: prepareSaveRejected(db) };
}

describe('rejected objects', () => {
  it('are listed with their stream, page, position, reason and bytes', () => {
    const { db, row, save } = open();
    save({ ...row, pages: 3 }, [rejected('{"name":"Zoë\u0000"}', 5)]);
    expect(
      rowsOf(
        db,
        'SELECT generation, region, model, company_id, page, position, path, reason, raw FROM rejected',
      ),
    ).toEqual([
      {
        generation: 'v3',
        region: 'eu',
        model: 'a/x',
        company_id: null,
        page: 4n,
        position: 5n,
        path: '',
        reason: 'no_svc_id',
        raw: '{"name":"Zoë\u0000"}',
      },
    ]);
  });

  it('are counted once if their page is repeated, and again if it has more of them', () => {
    const { db, row, save } = open();
    save(row, [rejected('null', 0), rejected('null', 1)]);
    expect(save(row, [rejected('null', 0), rejected('null', 1)])).toEqual({ rejected: 0, duplicates: 2 });
    const three = [rejected('null', 0), rejected('null', 1), rejected('null', 2)];
    expect(save(row, three)).toEqual({ rejected: 1, duplicates: 2 });
    expect(rowsOf(db, 'SELECT raw FROM rejected')).toHaveLength(3);
  });

  it('are counted for each stream by itself', () => {
    const { db, row, save } = open();
    save(row, [rejected('null')]);
    const [other = row] = addStreams(db, 'b/y');
    expect(save(other, [rejected('null')])).toEqual({ rejected: 1, duplicates: 0 });
  });

  it('are listed but not counted if they are children', () => {
    const { db, row, save } = open();
    expect(save(row, [rejected('null', 0, 'line_items')])).toEqual({ rejected: 0, duplicates: 0 });
    expect(rowsOf(db, 'SELECT path FROM rejected')).toEqual([{ path: 'line_items' }]);
  });
});
