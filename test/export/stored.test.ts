import { describe, expect, it } from 'vitest';
import { readExportSeq } from '../../src/store/meta.js';
import { createFakeService } from './fake-service.js';
import { bench, records, V3_LIST } from './support.js';

describe('the export sequence', () => {
  it('grows when records or states change, and not by looking', async () => {
    const b = bench();
    const service = createFakeService({ [V3_LIST]: records(4) });
    expect(b.look(readExportSeq)).toBe(0n);
    await b.run(service);
    const first = b.look(readExportSeq);
    expect(first).toBeGreaterThan(0n);
    expect(b.look(readExportSeq)).toBe(first);
    service.lists.set(
      V3_LIST,
      records(4).map((record) => ({ ...record, updatedMs: b.clock.now() })),
    );
    await b.run(service);
    expect(b.look(readExportSeq)).toBeGreaterThan(first);
  });
});

describe('the export sequence of an unfinished export', () => {
  it('grows with every page that brings something', async () => {
    const b = bench();
    const service = createFakeService({ [V3_LIST]: records(30) });
    const seen: bigint[] = [];
    for (let run = 0; run < 3; run++) {
      let pages = 0;
      service.onCall = () => {
        if (pages === 1) throw new Error('crash');
        pages += 1;
      };
      await expect(b.run(service)).rejects.toThrow('crash');
      seen.push(b.look(readExportSeq));
    }
    expect(seen).toEqual([...new Set(seen)].sort());
  });
});

describe('what is stored', () => {
  it('leaves no cursors behind, and no payloads of replaced records', async () => {
    const b = bench();
    const service = createFakeService({ [V3_LIST]: records(10) });
    await b.run(service);
    service.lists.set(
      V3_LIST,
      records(10).map((record) => ({ ...record, updatedMs: b.clock.now() })),
    );
    await b.run(service);
    for (const table of ['cursor_seen', 'stale_block'])
      expect(b.look((db) => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get())).toBe(0n);
  });
});
