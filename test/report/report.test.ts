import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { judgeRemap } from '../../src/commands/report.js';
import type { OnProgress } from '../../src/domain.js';
import { buildVerdict } from '../../src/report/build-verdict.js';
import { renderText } from '../../src/report/render-text.js';
import { reportSchema } from '../../src/report/report-schema.js';
import { type Db, openDatabase } from '../../src/store/open.js';
import { type Exported, INVOICES, modelOf } from '../support/exported.js';
import { givenOf, runNamed } from '../support/given.js';
import { MIXED, NOW, newIo, SINCE, withDatabase } from './support.js';

const CLEAN: Exported = { v3: [{ id: 1, facts: 'x=1' }], v4: [{ id: 7, key: 'k1', facts: 'x=1' }] };

describe('the report', () => {
  it('is valid and says the same for the same database at another time', async () => {
    await withDatabase(MIXED, { backfill: SINCE }, async ({ report }) => {
      const first = reportSchema.parse(await report());
      const second = await report(undefined, NOW + 1000);
      expect({ ...second, generatedAt: '' }).toEqual({ ...first, generatedAt: '' });
    });
  });

  it('counts records, children and verdicts alike for all, by model and by company', async () => {
    await withDatabase(MIXED, { backfill: SINCE }, async ({ report }) => {
      const { totals, models, companies } = await report();
      expect(totals).toEqual({
        v3Records: 4,
        v3Children: 2,
        v4Records: 2,
        v4Children: 1,
        rejected: 0,
        uniqueIdConflicts: 0,
        byStatus: { matched: 2, unmatched: 3, deleted: 1, ambiguous: 0, v4_only: 1 },
        v3ByStatus: { matched: 2, unmatched: 3, deleted: 1, ambiguous: 0 },
        byReason: {
          'unmatched/outside_backfill_window': 1,
          'unmatched/parent_outside_backfill_window': 1,
          'unmatched/unexplained': 1,
          'deleted/deleted_not_in_v4': 1,
          'v4_only/unexplained': 1,
        },
      });
      expect(models).toEqual([{ model: INVOICES, v4Model: 'invoices', ...totals }]);
      expect(companies).toEqual([
        { region: 'default', v3CompanyId: '1', v4CompanyId: '1', matchedBy: 'overlap', ...totals },
      ]);
    });
  });

  it('judges every row, of V3 or of V4, and tells records from their line items', async () => {
    await withDatabase(MIXED, { backfill: SINCE }, async ({ report }) => {
      const { gate, reasons } = await report();
      expect(gate.limits.map(({ name, actual, unit, pass }) => [name, actual, unit, pass])).toEqual([
        ['unmatched', 3, 'v3_ids', false],
        ['v4_only/unexplained', 1, 'v4_ids', false],
        ['deleted', 1, 'v3_ids', true],
        ['matched', 2, 'v3_ids', true],
        ['maxAge', 2, 'hours', true],
      ]);
      const outside = reasons.find(({ key }) => key === 'unmatched/outside_backfill_window');
      expect(outside?.v3).toEqual({ records: 1, theirLineItems: 1, otherLineItems: 0 });
    });
  });

  it('judges pairs whose unique ids differ where a limit is set', async () => {
    const limits = { global: { unique_id_conflict: { kind: 'count', count: 0 } as const }, models: {} };
    const exported: Exported = {
      v3: [{ id: 1, key: 'a', uid: 'u', facts: 'x=1' }],
      v4: [{ id: 2, key: 'a', uid: 'w', facts: 'x=1' }],
    };
    await withDatabase(exported, { limits }, async ({ report }) => {
      const { totals, companies, gate, outcome } = await report();
      expect([totals, companies[0]].map((counts) => counts?.uniqueIdConflicts)).toEqual([1, 1]);
      expect(gate.limits[0]).toMatchObject({ name: 'unique_id_conflict', actual: 1, unit: 'pairs' });
      expect(outcome).toBe('fail');
    });
  });

  it('says what to ask the operator for', async () => {
    await withDatabase(MIXED, { backfill: SINCE }, async ({ report }) => {
      expect((await report()).fullSync).toEqual([
        {
          region: 'default',
          v3CompanyId: '1',
          v4CompanyId: '1',
          model: INVOICES,
          records: 1,
          children: 1,
          earliest: '2026-01-05T00:00:00.000Z',
          latest: '2026-01-05T00:00:00.000Z',
        },
      ]);
    });
  });
});

it('the report adds up the dates of several days and outcomes', async () => {
  const [early, late, latest] = ['2026-01-05T00:00:00Z', '2026-03-05T00:00:00Z', '2026-09-03T00:00:00Z'];
  const exported: Exported = {
    v3: [
      { id: 1, key: 'a', latest, facts: 'x=1' },
      { id: 2, key: 'b', latest: late },
      { id: 3, key: 'c', latest: early },
      { id: 4, key: 'd', latest, deleted: true },
      { id: 5, key: 'z', latest },
    ],
    v4: [
      { id: 2, key: 'a', latest, facts: 'x=1' },
      { id: 3, key: 'z', latest },
      { id: 4, key: 'z', latest },
    ],
  };
  await withDatabase(exported, { backfill: SINCE }, async ({ report }) => {
    const { fullSync, timeline } = await report();
    expect(fullSync).toMatchObject([
      { records: 2, earliest: '2026-01-05T00:00:00.000Z', latest: '2026-03-05T00:00:00.000Z' },
    ]);
    const month = timeline.months.find((one) => one.month === '2026-09');
    expect(month).toMatchObject({ matched: 1, unmatched: 0, other: 2 });
  });
});

const TWO_MODELS = { models: [modelOf('accounting/invoices'), modelOf('payments/orders')] };

describe('check', () => {
  const spoil = (sql: string) => (db: Db) => {
    db.exec(sql);
  };
  const cases: [string, Exported, (db: Db) => void, string, number][] = [
    ['passes when all ids have their twin', CLEAN, () => {}, 'pass', 0],
    ['fails on a finding nobody accepted', MIXED, () => {}, 'fail', 1],
    [
      'fails where one list was read too long ago',
      CLEAN,
      spoil("UPDATE stream SET read_at = '2026-10-01T00:00:00.000Z' WHERE id = 1"),
      'fail',
      1,
    ],
    [
      'is incomplete while a list is read',
      CLEAN,
      spoil("UPDATE stream SET state = 'running' WHERE id = 1"),
      'incomplete',
      4,
    ],
    [
      'is incomplete after a list failed',
      CLEAN,
      spoil("UPDATE stream SET state = 'failed' WHERE id = 2"),
      'incomplete',
      4,
    ],
    [
      'is incomplete after the company list failed',
      { ...CLEAN, states: { 'v4 companies': 'failed' } },
      () => {},
      'incomplete',
      4,
    ],
    [
      'fails where the count of the company list is disputed',
      { ...CLEAN, states: { 'v4 companies': 'short' } },
      () => {},
      'fail',
      1,
    ],
    [
      'is incomplete when a V3 list was never started',
      CLEAN,
      spoil(
        "DELETE FROM stream WHERE generation = 'v3'; DELETE FROM record; DELETE FROM exported_count; DELETE FROM remap_row; DELETE FROM remap_group; DELETE FROM remap_day",
      ),
      'incomplete',
      4,
    ],
    [
      'is incomplete when a V4 list was never started',
      CLEAN,
      spoil("INSERT INTO v4_company VALUES (99, '{}')"),
      'incomplete',
      4,
    ],
    [
      'is incomplete without a remap',
      CLEAN,
      spoil('DELETE FROM remap_run; DELETE FROM remap_row; DELETE FROM remap_group; DELETE FROM remap_day'),
      'incomplete',
      4,
    ],
    [
      'is incomplete when the export is newer than the remap',
      CLEAN,
      spoil("INSERT INTO meta(key, value) VALUES ('export_seq', '5')"),
      'incomplete',
      4,
    ],
    ['is not ready without V3 records', { v3: [], v4: CLEAN.v4 }, () => {}, 'not_ready', 5],
    ['is not ready without V4 records', { v3: CLEAN.v3, v4: [], v4Companies: [1] }, () => {}, 'not_ready', 5],
    [
      'is not ready where V4 lists no company',
      { v3: CLEAN.v3, v4: [], states: { 'v4 companies': 'complete' } },
      spoil("INSERT INTO meta(key, value) VALUES ('fingerprint_v4', '{}')"),
      'not_ready',
      5,
    ],
    [
      'judges where every key is there twice',
      {
        v3: [
          { id: 1, key: 'a' },
          { id: 2, key: 'a' },
        ],
        v4: [
          { id: 8, key: 'a' },
          { id: 9, key: 'a' },
        ],
      },
      () => {},
      'fail',
      1,
    ],
    [
      'judges where no company has a pair but keys are shared',
      { v3: [{ id: 1 }], v4: [{ id: 7, key: 'k1', company: 7 }] },
      () => {},
      'fail',
      1,
    ],
    [
      'is not ready when a key is shared by different models only',
      { v3: [{ id: 1, key: 'a' }], v4: [{ id: 8, key: 'a', model: 'payments/orders' }] },
      () => {},
      'not_ready',
      5,
    ],
    [
      'is not ready when not one key is shared',
      { v3: CLEAN.v3, v4: [{ id: 8, key: 'other' }] },
      () => {},
      'not_ready',
      5,
    ],
  ];
  it.each(cases)('%s', async (_, exported, change, outcome, code) => {
    await withDatabase(exported, TWO_MODELS, async ({ config, write }) => {
      write(change);
      const io = newIo();
      expect(await judgeRemap({ config, outputs: { json: '-' } }, io)).toBe(code);
      const written = reportSchema.parse(JSON.parse(io.stdout.text));
      expect([written.outcome, written.exitCode]).toEqual([outcome, code]);
      const listsNone = exported.v4.length === 0 && exported.v4Companies === undefined;
      expect(written.blockers.some(({ text }) => text.startsWith('V4 lists no company'))).toBe(listsNone);
    });
  });

  it('turns red when the evidence is older than maxAge', async () => {
    await withDatabase(CLEAN, { maxAgeMs: 3_600_000 }, async ({ config }) => {
      expect(await judgeRemap({ config, outputs: {} }, newIo())).toBe(1);
    });
  });

  it('refuses a database that was exported with another configuration', async () => {
    await withDatabase(CLEAN, {}, async ({ config, write }) => {
      write((db) =>
        db
          .prepare('INSERT INTO meta(key, value) VALUES (?, ?)')
          .run('fingerprint_v4', '{"v4.baseUrl":"http://other"}'),
      );
      await expect(judgeRemap({ config, outputs: {} }, newIo())).rejects.toMatchObject({
        code: 'other_configuration',
      });
    });
  });
});

describe('report', () => {
  it('exits 0 on incomplete data and warns', async () => {
    await withDatabase(CLEAN, {}, async ({ config, write }) => {
      write((db) =>
        db.exec(
          "UPDATE stream SET state = 'failed', end_reason = 'unavailable', end_note = 'V3 answered 429.' WHERE id = 1",
        ),
      );
      const io = newIo();
      expect(await runNamed('report', givenOf(config, {}), io)).toBe(0);
      expect(io.stderr.text).toBe(
        'Warning: 1 V3 list not read to the end: accounting/invoices in default (V3 answered 429). → svc-migrate run\n',
      );
    });
  });

  it('writes every finding to NDJSON, whole, for its owner only, and tells the verdict', async () => {
    await withDatabase(MIXED, { backfill: SINCE }, async ({ config, folder }) => {
      const file = join(folder, 'findings.ndjson');
      writeFileSync(file, 'old');
      const notes: string[] = [];
      const onProgress: OnProgress = (event) => {
        if (event.kind === 'note') notes.push(event.text.replace(folder, ''));
      };
      await runNamed('report', givenOf(config, { ndjson: file }), newIo({ onProgress }));
      const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
      expect(lines.map((line) => JSON.parse(line).status)).toEqual([
        ...['unmatched', 'unmatched', 'unmatched', 'deleted', 'v4_only'],
      ]);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(notes).toEqual([
        'NOT SAFE TO CUT OVER: 2 of 6 V3 ids have their V4 id; 2 limits are exceeded (unmatched, v4_only/unexplained). See /findings.ndjson.',
      ]);
    });
  });

  it.each([
    ['to list findings', [{ id: 900, key: 'k1' }], { ndjson: '-' }],
    ['to look for keys in both', [{ id: 900, key: 'other' }], {}],
  ])('refuses %s in a remap that was altered', async (_, v4, outputs) => {
    // The blocks of the first rows of each kind are verified in any case.
    const v3 = Array.from({ length: 400 }, (_, at) => ({ id: at + 1 }));
    await withDatabase({ v3, v4 }, {}, async ({ config }) => {
      const db = openDatabase(config.database, 'write');
      db.exec('UPDATE remap_row SET platform_id = 777 WHERE v3_svc_id = 199');
      db.close();
      const reporting = runNamed('report', givenOf(config, outputs), newIo());
      await expect(reporting).rejects.toMatchObject({ code: 'corrupt_database' });
    });
  });

  it('says how many ids the limits accept without a V4 id', async () => {
    const any = { kind: 'percent', percent: 100, text: '100%' } as const;
    const limits = { global: { unmatched: any, v4_only: any }, models: {} };
    await withDatabase(MIXED, { limits }, async ({ report }) => {
      const sentence = '2 of 6 V3 ids have their V4 id; the limits accept the other 4.';
      expect(buildVerdict(await report())).toMatchObject({ title: 'SAFE TO CUT OVER', sentence });
    });
  });

  it('writes to stdout once the files are written', async () => {
    await withDatabase(MIXED, {}, async ({ config, folder }) => {
      const io = newIo();
      const ndjson = join(folder, 'no', 'such', 'folder');
      const reporting = runNamed('report', givenOf(config, { json: '-', ndjson }), io);
      await expect(reporting).rejects.toMatchObject({ code: 'output' });
      expect(JSON.parse(io.stdout.text)).toMatchObject({ outcome: 'error' });
    });
  });

  it('does not count the list of companies among the lists that were read', async () => {
    await withDatabase({ ...MIXED, states: { 'v4 companies': 'complete' } }, {}, async ({ report }) => {
      expect(renderText(await report(), { width: 80, color: false })).toContain(
        '2 of 2 lists read completely.',
      );
    });
  });

  it('tells lists that were begun from those that were not', async () => {
    await withDatabase(MIXED, {}, async ({ write, report }) => {
      write((db) => {
        db.exec("UPDATE stream SET state = 'running'");
        db.exec("UPDATE stream SET pages = generation = 'v3'");
      });
      expect(renderText(await report(), { width: 80, color: false })).toContain(
        '0 of 2 lists read completely, 1 running, 1 not started.',
      );
    });
  });

  it('refuses to write two formats to stdout, one file twice, or over the database', async () => {
    await withDatabase(MIXED, {}, async ({ config, folder }) => {
      const refused = async (json: string, ndjson: string) =>
        expect(runNamed('report', givenOf(config, { json, ndjson }), newIo())).rejects.toMatchObject({
          code: 'usage',
        });
      await refused('-', '-');
      await refused(join(folder, 'x'), join(folder, 'x'));
      await refused(join(folder, 'x'), config.database);
    });
  });
});

describe('long work', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ])('is stopped by %s between two steps', async (signal, exitCode) => {
    await withDatabase(MIXED, {}, async ({ config, folder }) => {
      const stop = new AbortController();
      const file = join(folder, 'report.json');
      const io = newIo({
        signal: stop.signal,
        onProgress: () => stop.abort(new DOMException(signal, 'AbortError')),
      });
      await expect(runNamed('report', givenOf(config, { json: file }), io)).rejects.toMatchObject({
        code: 'interrupted',
      });
      expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ outcome: 'error', exitCode });
    });
  });
});

describe('a remap whose rows do not add up', () => {
  it('is a bug, never a report', async () => {
    await withDatabase(MIXED, {}, async ({ report, write }) => {
      write((db) => db.exec('INSERT INTO remap_row(group_id, v3_svc_id) VALUES (1, 1)'));
      await expect(report()).rejects.toMatchObject({ code: 'internal', exitCode: 70 });
    });
  });
});
