import { describe, expect, it } from 'vitest';
import { assertSameExport, compareFingerprint, saveFingerprint } from '../../src/store/fingerprint.js';
import { prepareSaveRecords } from '../../src/store/records.js';
import { ensureStreams, listStreams } from '../../src/store/streams.js';
import { openTestDatabase, record } from './support.js';

const THEN = { prefix: 'svc_', 'v3.url': 'https://three', 'v4.url': 'https://four' };

function exported(...generations: readonly ('v3' | 'v4')[]) {
  const db = openTestDatabase();
  for (const generation of generations) {
    saveFingerprint(db, generation, THEN);
    const key = { generation, region: '', model: 'a/x', companyId: generation === 'v3' ? null : 7n };
    ensureStreams(db, [{ key, route: 'x' }], 'now');
    const place = { walk: 1, keepFrom: 1, passWalk: 1, previousWalk: null };
    for (const { id } of listStreams(db, generation)) {
      prepareSaveRecords(db, 'ids')({ ...place, streamId: id }, [record()]);
    }
  }
  return db;
}

describe('the check of the configuration against the export in a database', () => {
  it('lists every changed, removed and added setting once', () => {
    const now = { 'v3.url': 'https://elsewhere', 'v4.url': 'https://four', 'v4.model': 'x' };
    expect(compareFingerprint(exported('v3', 'v4'), now)).toEqual([
      { name: 'prefix', stored: 'svc_', current: null },
      { name: 'v3.url', stored: 'https://three', current: 'https://elsewhere' },
      { name: 'v4.model', stored: null, current: 'x' },
    ]);
  });

  it('refuses any other with exit code 6, and lists the differences', () => {
    const refuse = () => assertSameExport(exported('v3'), { ...THEN, prefix: 'x_', 'v3.new': '1' });
    expect(refuse).toThrow(expect.objectContaining({ code: 'other_configuration', exitCode: 6 }));
    expect(refuse).toThrow(/prefix: svc_ → x_; v3\.new: \(none\) → 1/);
  });

  it('suggests reading V4 again only if that is enough', () => {
    const hintOf = (now: Record<string, string>) => {
      try {
        assertSameExport(exported('v3', 'v4'), now);
        return null;
      } catch (error) {
        return error;
      }
    };
    const v4Only = { ...THEN, 'v4.url': 'https://elsewhere' };
    expect(hintOf(v4Only)).toMatchObject({ hint: expect.stringContaining('export v4 --restart') });
    expect(hintOf({ ...v4Only, prefix: 'x_' })).toMatchObject({ hint: expect.stringContaining('--db') });
  });
});
