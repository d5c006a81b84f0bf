import { describe, expect, it } from 'vitest';
import { reportSchema } from '../../src/report/report-schema.js';
import type { Since } from '../../src/report/sections.js';
import { givenOf, type OptionValues, runNamed } from '../support/given.js';
import { MIXED, newIo, type TestDatabase, withDatabase } from './support.js';

/** Build 1 is of `MIXED`; then the record nobody could explain is gone, and build 2 is made. */
function withTwoBuilds(work: (database: TestDatabase) => Promise<void>): Promise<void> {
  return withDatabase(MIXED, {}, (database) => {
    database.write((db) =>
      db.exec(`
        DELETE FROM record WHERE platform_id = 'c';
        UPDATE remap_run SET counts = json_set(counts, '$."unmatched/unexplained"', 1310)`),
    );
    database.remap();
    return work(database);
  });
}

async function since({ config }: TestDatabase, from: Since) {
  const io = newIo();
  expect(await runNamed('report', givenOf(config, { json: '-', since: from }), io)).toBe(0);
  return { section: reportSchema.parse(JSON.parse(io.stdout.text)).since, stderr: io.stderr.text };
}

describe('report --since', () => {
  it('shows the counts that changed, then and now', async () => {
    await withTwoBuilds(async (database) => {
      const { section } = await since(database, 'previous');
      expect(section).toMatchObject({ from: { run: '1' }, to: { run: '2' }, sameRows: false });
      expect(section?.changes).toEqual([{ key: 'unmatched/unexplained', before: 1310, after: 1 }]);
      expect((await since(database, 1n)).section).toEqual(section);
      const io = newIo({ width: 120 });
      await runNamed('report', givenOf(database.config, { since: 'previous' }), io);
      expect(io.stdout.text).toContain(
        [
          '\nSince build 1 of the remap (2026-11-01 01:00 UTC):',
          '  Missing from V4, cause unknown (unmatched/unexplained): 1,310 → 1 (−1,309)',
          '  Of earlier builds only counts are kept: which rows changed is not known.\n',
        ].join('\n'),
      );
    });
  });

  it('says so where nothing changed, and where there is nothing earlier', async () => {
    await withDatabase(MIXED, {}, async (database) => {
      expect(await since(database, 'previous')).toEqual({
        section: null,
        stderr: 'There is no earlier build of the remap to compare with.\n',
      });
      expect((await since(database, 1n)).section).toMatchObject({ sameRows: true, changes: [] });
      database.remap();
      const io = newIo({ width: 120 });
      await runNamed('report', givenOf(database.config, { since: 'previous' }), io);
      expect(io.stdout.text).toContain(
        '\nSince build 1 of the remap (2026-11-01 01:00 UTC): nothing changed.\n',
      );
    });
  });

  it('is refused for a build that is not there, and for a part of the data', async () => {
    await withTwoBuilds(async ({ config }) => {
      const refused = (options: OptionValues) =>
        expect(runNamed('report', givenOf(config, options), newIo())).rejects.toMatchObject({
          code: 'usage',
        });
      await refused({ since: 3n });
      await refused({ since: 'previous', model: ['accounting/invoices'] });
      await refused({ since: 'previous', company: ['1'] });
    });
  });
});

it('status shows the trend of every status', async () => {
  await withTwoBuilds(async ({ config }) => {
    const io = newIo();
    await runNamed('status', givenOf(config), io);
    expect(io.stdout.text).toContain(
      [
        '\nRemap: build 2 of 2026-11-01 01:00 UTC, current; its rows, of V3 and V4:',
        '  matched 2 → 2',
        '  unmatched 1,311 → 2',
        '  deleted 1 → 1',
        '  v4_only 1 → 1\n',
      ].join('\n'),
    );
  });
});
