import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { prepareBumpExportSeq, writeRemapInputs } from '../../src/store/meta.js';
import { type Db, openDatabase } from '../../src/store/open.js';
import { givenOf, runNamed } from '../support/given.js';
import { MIXED, newIo, withDatabase } from './support.js';

function status(spoil: string): Promise<string[]> {
  return withDatabase(MIXED, {}, async ({ config, write }) => {
    write((db) => db.exec(spoil));
    const io = newIo({ width: 100 });
    expect(await runNamed('status', givenOf(config), io)).toBe(0);
    const [database = '', ...lines] = io.stdout.text.trimEnd().split('\n');
    expect(database).toMatch(/^Database: /);
    return lines.filter((line) => !line.startsWith('  ') || !line.includes('KiB'));
  });
}

describe('status', () => {
  it('says what is there and that check comes next', async () => {
    const lines = await status("UPDATE stream SET unique_records = 4 WHERE generation = 'v3'");
    expect(lines.slice(-7)).toEqual([
      'V3: 1 list (1 complete), 4 records, oldest reading 2 h 3 min ago',
      'V4: 1 list (1 complete), 0 records, oldest reading 2 h 3 min ago',
      'Remap: build 1 of 2026-11-01 01:00 UTC, current',
      '  6 V3 ids: 2 matched, 3 unmatched, 1 deleted, 0 ambiguous',
      '  1 V4 id without a V3 id',
      '`export v3` reads what changed in V3; `export v4` reads V4 again.',
      'Next: svc-migrate check',
    ]);
  });

  it('shows no counts that were altered', () =>
    withDatabase(MIXED, {}, async ({ config }) => {
      const db = openDatabase(config.database, 'write');
      db.exec('UPDATE remap_group SET count = count + 1');
      db.close();
      const shown = runNamed('status', givenOf(config), newIo());
      await expect(shown).rejects.toMatchObject({ code: 'corrupt_database' });
    }));

  it('names what is unfinished and the command that finishes it', async () => {
    const lines = await status(`
      UPDATE stream SET state = 'failed', end_reason = 'timeout', end_note = 'V4 did not answer in time.', pages = 3,
        unique_records = 1500, total_count_last = 20000 WHERE generation = 'v4';
      INSERT INTO meta(key, value) VALUES ('export_seq', '7')`);
    expect(lines.slice(-8)).toEqual([
      'Unfinished:',
      '  V4 accounting/invoices, company 1: failed after 3 pages, 1,500 of 20,000 records: V4 did not',
      '  answer in time.',
      'Remap: build 1 of 2026-11-01 01:00 UTC, older than the exported data',
      '  6 V3 ids: 2 matched, 3 unmatched, 1 deleted, 0 ambiguous',
      '  1 V4 id without a V3 id',
      '`export v3` reads what changed in V3; `export v4` continues where it stopped.',
      'Next: svc-migrate run',
    ]);
  });

  it('names three of the lists of which nothing was read, and counts the others', async () => {
    const lines =
      await status(`WITH RECURSIVE numbers(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM numbers WHERE value < 40)
      INSERT INTO stream(generation, region, model, company_id, state, started_at, route, position)
      SELECT 'v4', '', 'accounting/invoices', 10 + value, 'running', started_at, route, position
      FROM stream, numbers WHERE generation = 'v4'`);
    expect(lines).toContain('  V4 accounting/invoices, company 11: not started');
    expect(lines.filter((line) => line.endsWith(': not started'))).toHaveLength(3);
    expect(lines).toContain('  … and 37 more');
    expect(lines.find((line) => line.startsWith('V4:'))).toContain(
      '41 lists (1 complete, 40 not started), 0 records,',
    );
  });

  it('names no reading of lists of which nothing was read', async () => {
    const change = "UPDATE stream SET state = 'running', pages = 0 WHERE generation = 'v3'";
    expect(await status(change)).toContain('V3: 1 list (1 not started), 0 records');
    await withDatabase(MIXED, {}, async ({ config, write }) => {
      write((db) => db.exec(change));
      const inJson = newIo();
      await runNamed('status', givenOf(config, { json: '-' }), inJson);
      expect(JSON.parse(inJson.stdout.text).v3.oldestReadAt).toBeNull();
    });
  });

  it('says how far an export is, what was rejected, and what was read by company', () =>
    withDatabase(MIXED, {}, async ({ config, write }) => {
      write((db) =>
        db.exec(`
          UPDATE stream SET state = 'running', pages = 1, unique_records = 3, total_count_last = 4 WHERE generation = 'v3';
          INSERT INTO stream(generation, region, model, state, started_at, route, position, unique_records, rejected, read_by)
          SELECT generation, 'eu', model, 'complete', '2026-10-31T00:00:00Z', route, position, 4, 2, 'companies'
          FROM stream WHERE generation = 'v3'`),
      );
      const [io, inJson] = [newIo({ width: 400 }), newIo()];
      await runNamed('status', givenOf(config), io);
      expect(io.stdout.text).toContain(
        '\nV3: 2 lists (1 running, 1 complete), 7 of about 8 records (87.5 %), 1 read company by company, 2 rejected, oldest reading 1 d 2 h ago\n',
      );
      await runNamed('status', givenOf(config, { json: '-' }), inJson);
      expect(JSON.parse(inJson.stdout.text).v3).toEqual({
        lists: { running: 1, complete: 1, short: 0, absent: 0, failed: 0 },
        ...{ readByCompany: 1, records: 7, rejected: 2, oldestReadAt: '2026-10-31T00:00:00Z' },
      });
    }));

  it('leads to doctor where a service has none of the lists', async () => {
    const lines = await status("UPDATE stream SET state = 'absent' WHERE generation = 'v4'");
    expect(lines.slice(-2)).toEqual([
      'V4 answered 404 to every list: the names or the address are wrong.',
      'Next: svc-migrate doctor',
    ]);
  });

  it.each<[what: string, change: (db: Db) => void, says: string]>([
    ['is current', () => {}, 'current'],
    ['is older than the data', (db) => prepareBumpExportSeq(db)(), 'older than the exported data'],
    [
      'is older than the decisions',
      (db) => writeRemapInputs(db, { decisions: 'another file' }),
      'older than the files that the configuration names',
    ],
  ])('says of a remap that it %s', (_, change, says) =>
    withDatabase(MIXED, {}, async ({ config, write }) => {
      write(change);
      const [io, inJson] = [newIo({ width: 400 }), newIo()];
      await runNamed('status', givenOf(config), io);
      expect(io.stdout.text).toContain(`\nRemap: build 1 of 2026-11-01 01:00 UTC, ${says}\n`);
      await runNamed('status', givenOf(config, { json: '-' }), inJson);
      expect(JSON.parse(inJson.stdout.text).remap.isCurrent).toBe(says === 'current');
    }),
  );

  it('has every unfinished list in JSON, in order', () =>
    withDatabase(MIXED, {}, async ({ config, write }) => {
      write((db) =>
        db.exec(`WITH RECURSIVE numbers(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM numbers WHERE value < 2500)
          INSERT INTO stream(generation, region, model, company_id, state, started_at, route, position)
          SELECT 'v4', '', 'accounting/invoices', 10 + value, 'running', started_at, route, position
          FROM stream, numbers WHERE generation = 'v4'`),
      );
      const io = newIo({});
      expect(await runNamed('status', givenOf(config, { json: '-' }), io)).toBe(0);
      const { unfinished } = JSON.parse(io.stdout.text);
      expect(unfinished.map(({ companyId }: { companyId: string }) => Number(companyId))).toEqual(
        Array.from({ length: 2500 }, (_, at) => 11 + at),
      );
    }));

  it.each([
    [hostname(), 'svc-migrate status'],
    // whether it still runs is not known: it may be of a container that was killed
    ['elsewhere', 'svc-migrate check'],
  ])('names the process on %s that writes, and no other work before it has ended', (host, named) =>
    withDatabase(MIXED, {}, async ({ config, folder }) => {
      const owner = {
        pid: process.pid,
        host,
        since: '2026-11-01T02:00:00.123Z',
        command: 'export v3',
      };
      writeFileSync(`${config.database}.lock`, JSON.stringify(owner));
      const html = join(folder, 'report.html');
      for (const [command, options] of [
        ['status', {}],
        ['report', {}],
        ['check', {}],
        ['check', { html }],
      ] as const) {
        const io = newIo({ width: 200 });
        await runNamed(command, givenOf(config, options), io);
        expect(io.stdout.text).toContain(
          `\nIn use: svc-migrate export v3 (process ${process.pid} on ${host}) since 2026-11-01 02:00:00 UTC. Run the next command once that process has ended.\n`,
        );
        expect(io.stdout.text).not.toContain('`export v3`');
        const next = host === 'elsewhere' && command !== 'status' ? 'svc-migrate \\S.*' : named;
        expect(io.stdout.text).toMatch(new RegExp(`\nNext: ${next}\n$`));
      }
      const inJson = newIo();
      await runNamed('status', givenOf(config, { json: '-' }), inJson);
      expect(JSON.parse(inJson.stdout.text).next).toBe(named);
    }),
  );

  it('says so where nothing was exported', async () => {
    const lines = await status(
      'DELETE FROM record; DELETE FROM stream; DELETE FROM v4_company; DELETE FROM remap_run; DELETE FROM remap_row; DELETE FROM remap_group; DELETE FROM remap_day',
    );
    expect(lines.slice(-5)).toEqual([
      'V3: not exported yet',
      'V4: not exported yet',
      'Remap: none yet',
      '`export v3` reads V3; `export v4` reads V4.',
      'Next: svc-migrate run',
    ]);
  });

  it('does not say that V4 was not exported where it lists no companies', async () => {
    const lines = await status("DELETE FROM stream WHERE generation = 'v4'");
    expect(lines).toContain('V4: no lists');
  });
});
