import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
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

  it('names the process that writes', () =>
    withDatabase(MIXED, {}, async ({ config }) => {
      const owner = {
        pid: process.pid,
        host: 'elsewhere',
        since: '2026-11-01T02:00:00.123Z',
        command: 'export v3',
      };
      writeFileSync(`${config.database}.lock`, JSON.stringify(owner));
      const io = newIo({ width: 200 });
      await runNamed('status', givenOf(config), io);
      expect(io.stdout.text.split('\n')[1]).toBe(
        `In use: svc-migrate export v3 (process ${process.pid} on elsewhere) since 2026-11-01 02:00:00 UTC`,
      );
    }));

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
