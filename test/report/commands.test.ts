import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkCommand } from '../../src/commands/check.js';
import { findingsCommand } from '../../src/commands/findings.js';
import { reportCommand } from '../../src/commands/report.js';
import { statusCommand } from '../../src/commands/status.js';
import type { Config } from '../../src/config/config.js';
import { readDecisionsFile } from '../../src/config/user-files.js';
import { orError, SvcError } from '../../src/errors.js';
import { CLEAN, ioOf, MIXED, NOW, runIn, type Scene, type TestScene, textOf, withScene } from './support.js';

const HOUR = 3_600_000;

/** The code of the error that `work` throws; null if it throws none. */
async function codeOf(work: () => Promise<unknown>): Promise<string | null> {
  const ended = await orError(work);
  return ended instanceof SvcError ? ended.code : null;
}

interface CheckCase {
  readonly name: string;
  readonly scene: Scene;
  readonly change?: (test: TestScene) => void;
  readonly exitCode: number;
  readonly outcome: string;
}

const sql = (text: string) => (test: TestScene) => test.db((db) => db.exec(text));

const CHECKS: readonly CheckCase[] = [
  { name: 'passes where every id has its twin', scene: CLEAN, exitCode: 0, outcome: 'pass' },
  { name: 'fails on findings that nobody accepted', scene: MIXED, exitCode: 1, outcome: 'fail' },
  {
    name: 'fails where one list was read too long ago',
    scene: CLEAN,
    change: sql("update stream set read_at = '2026-10-01T00:00:00.000Z' where id = 1"),
    exitCode: 1,
    outcome: 'fail',
  },
  {
    name: 'fails where a list does not say when it was read',
    scene: CLEAN,
    change: sql('update stream set read_at = null where id = 1'),
    exitCode: 1,
    outcome: 'fail',
  },
  {
    name: 'fails on merged rows',
    scene: {
      rows: [
        {
          status: 'matched',
          ids: [
            [1, 2],
            [3, 2],
          ],
          merged: true,
        },
      ],
    },
    exitCode: 1,
    outcome: 'fail',
  },
  {
    name: 'fails on merged line items',
    scene: {
      rows: [
        ...CLEAN.rows,
        {
          path: 'line_items',
          status: 'matched',
          ids: [
            [101, 102],
            [103, 102],
          ],
          merged: true,
        },
      ],
    },
    exitCode: 1,
    outcome: 'fail',
  },
  {
    name: 'accepts merged rows that a person decided',
    scene: {
      rows: [
        {
          status: 'matched',
          by: 'decision',
          ids: [
            [1, 2],
            [3, 2],
          ],
          merged: true,
        },
        ...CLEAN.rows.slice(1),
      ],
    },
    exitCode: 0,
    outcome: 'pass',
  },
  {
    name: 'fails on rejected objects of an unknown company',
    scene: { ...CLEAN, rejected: 1 },
    exitCode: 1,
    outcome: 'fail',
  },
  {
    name: 'fails on a short list',
    scene: CLEAN,
    change: sql("update stream set state = 'short' where id = 2"),
    exitCode: 1,
    outcome: 'fail',
  },
  {
    name: 'is incomplete while a list is unfinished, whatever the limits say',
    scene: MIXED,
    change: sql("update stream set state = 'failed', end_reason = 'timeout' where id = 2"),
    exitCode: 4,
    outcome: 'incomplete',
  },
  {
    name: 'is incomplete while a planned list was not begun',
    scene: CLEAN,
    change: sql("delete from stream where generation = 'v4' and model = 'payments/orders'"),
    exitCode: 4,
    outcome: 'incomplete',
  },
  {
    name: 'is incomplete without a remap',
    scene: CLEAN,
    change: sql(
      'delete from remap_run; delete from remap_row; delete from remap_group; delete from company; delete from exported_count',
    ),
    exitCode: 4,
    outcome: 'incomplete',
  },
  {
    name: 'is incomplete where the export changed since the remap',
    scene: CLEAN,
    change: sql("insert or replace into meta values ('export_seq', '7')"),
    exitCode: 4,
    outcome: 'incomplete',
  },
  {
    name: 'is not ready without live V4 records',
    scene: CLEAN,
    change: sql("delete from record where stream_id in (select id from stream where generation = 'v4')"),
    exitCode: 5,
    outcome: 'not_ready',
  },
];

describe('check', () => {
  it.each(CHECKS)('$name', async ({ scene, change = () => {}, exitCode, outcome }) => {
    await withScene(scene, async (test) => {
      change(test);
      const result = await runIn(checkCommand, ['check'], ioOf(test));
      expect([result.exitCode, Reflect.get(Object(result.json), 'outcome')]).toEqual([exitCode, outcome]);
    });
  });

  it('is 6 for a remap that was changed, where report still answers', async () => {
    await withScene(MIXED, async (test) => {
      sql('update remap_row set v4_svc_id = 99 where v3_svc_id = 1')(test);
      expect(await codeOf(() => runIn(checkCommand, ['check'], ioOf(test)))).toBe('corrupt_database');
      expect((await runIn(reportCommand, ['report'], ioOf(test))).exitCode).toBe(0);
    });
  });

  it('is 2 where a generation answered 404 to every list', async () => {
    await withScene(CLEAN, async (test) => {
      sql("update stream set state = 'absent' where generation = 'v4' and model <> 'core/companies'")(test);
      expect(await codeOf(() => runIn(checkCommand, ['check'], ioOf(test)))).toBe('config');
    });
  });

  it('is 2 where a region answered 404 to every list, unless its records were read before', async () => {
    await withScene(CLEAN, async (test) => {
      sql(`
        insert into stream(generation, region, model, route, state, started_at, finished_at, read_at)
        select generation, 'eu', model, route, 'absent', started_at, finished_at, read_at
        from stream where generation = 'v3'`)(test);
      expect(await codeOf(() => runIn(checkCommand, ['check'], ioOf(test)))).toBe('config');
      sql("update stream set unique_records = 1 where region = 'eu'")(test);
      expect(await codeOf(() => runIn(checkCommand, ['check'], ioOf(test)))).toBe(null);
    });
  });

  it('is 4 after a setting changed that the remap was built from', async () => {
    await withScene(CLEAN, async (test) => {
      const backfill = { ...test.config.backfill, sinceMs: NOW - HOUR };
      const io = ioOf({ config: { ...test.config, backfill } });
      const result = await runIn(checkCommand, ['check'], io);
      expect(result).toMatchObject({ exitCode: 4, json: { blockers: [{ code: 'remap_stale' }] } });
    });
  });
});

it('report works on incomplete data and warns', async () => {
  await withScene(MIXED, async (test) => {
    sql("update stream set state = 'running' where id = 2")(test);
    const notes: string[] = [];
    const result = await runIn(reportCommand, ['report'], ioOf(test, notes));
    expect([result.exitCode, notes.length]).toEqual([0, 1]);
  });
});

describe('status', () => {
  it('says after a red check what changes the verdict', async () => {
    await withScene(MIXED, async (test) => {
      const result = await runIn(statusCommand, ['status'], ioOf(test));
      const { next } = await test.report();
      expect(result.json).toMatchObject({ exitCode: 0, outcome: 'fail', next, remap: { stale: false } });
      expect(next).not.toMatch(/svc-migrate (?:check|status|report|findings|explain)\b(?! --write)/);
      expect(textOf(result).trimEnd().replaceAll('\n', ' ')).toContain(next);
    });
  });

  it('counts records without the list of companies, as the report does', async () => {
    await withScene(CLEAN, async (test) => {
      sql("update stream set unique_records = iif(model = 'core/companies', 9, 1)")(test);
      const text = textOf(await runIn(statusCommand, ['status'], ioOf(test)));
      expect(text).toContain('V4: 2 lists (2 complete), 2 records');
      const page = textOf(await runIn(reportCommand, ['report'], ioOf(test)), { verbose: true });
      expect(page).toContain('4 of 4 read completely');
    });
  });

  it('names what is unfinished and what changed', async () => {
    await withScene(CLEAN, async (test) => {
      sql(
        "update stream set state = 'failed', end_reason = 'timeout' where id = 2; insert or replace into meta values ('export_seq', '7')",
      )(test);
      const { json } = await runIn(statusCommand, ['status'], ioOf(test));
      expect(json).toMatchObject({
        unfinished: [{ generation: 'v3', state: 'failed', endReason: 'timeout' }],
        remap: { stale: true, changed: ['the exported data'] },
      });
    });
  });
});

const OPEN: Scene = {
  rows: [
    ...CLEAN.rows,
    {
      status: 'ambiguous',
      reason: 'duplicate_platform_id_v4',
      ids: [
        [10, null, 'a,b"', { v3_svc_ids: ['10'], v4_svc_ids: ['20', '21'] }],
        [null, 20, 'a,b"', { v3_svc_ids: ['10'] }],
        [null, 21, 'a,b"', { v3_svc_ids: ['10'] }],
      ],
    },
    { status: 'unmatched', reason: 'key_changed', ids: [[11, null, '007', { v4_svc_ids: ['22'] }]] },
    {
      status: 'v4_only',
      reason: 'key_changed',
      ids: [[null, 22, '7', { v3_svc_ids: ['11'] }]],
    },
    { status: 'v4_only', reason: 'unexplained', ids: [[null, 23, 'evil\r\n=1+1']] },
    { status: 'unmatched', reason: 'unexplained', ids: [[12, null]] },
  ],
};

it('a list that is refused is not read again: the verdict says what the service said, and what to do', async () => {
  await withScene(CLEAN, async (test) => {
    const error = JSON.stringify({
      code: 'http_status',
      message: 'No such page size.',
      hint: 'Ask the operator.',
    });
    sql(`update stream set state = 'failed', end_reason = 'http_status', error = '${error}' where id = 2`)(
      test,
    );
    const result = await runIn(checkCommand, ['check'], ioOf(test));
    expect(result).toMatchObject({ exitCode: 4, json: { next: 'Ask the operator.' } });
    expect(textOf(result)).toContain('No such page size.');
  });
});

describe('findings', () => {
  it('shows the first of each reason, and writes all as one JSON document', async () => {
    await withScene(OPEN, async (test) => {
      const result = await runIn(findingsCommand, ['findings', '--limit', '1'], ioOf(test));
      expect(textOf(result)).toContain('5 of 7 findings shown');
      const chunks = [...(result.outputs?.['json']?.({ width: 80, color: false, verbose: false }) ?? [])];
      const { findings, ...head } = JSON.parse(chunks.join(''));
      expect(head).toMatchObject({ schemaVersion: 1, exitCode: 0, remap: { stale: false } });
      expect(findings.map((row: { v3_svc_id: string | null }) => row.v3_svc_id)).toEqual([
        '10',
        null,
        null,
        '11',
        null,
        null,
        '12',
      ]);
    });
  });

  it('narrows by reason and status', async () => {
    await withScene(OPEN, async (test) => {
      const words = ['findings', '--reason', 'unexplained', '--status', 'v4_only'];
      expect(textOf(await runIn(findingsCommand, words, ioOf(test)))).toContain('1 of 1 finding shown');
      const wrong = ['findings', '--reason', 'unexplaned'];
      expect(await codeOf(() => runIn(findingsCommand, wrong, ioOf(test)))).toBe('usage');
    });
  });

  it('drafts decisions that decide nothing until they are edited', async () => {
    await withScene(OPEN, async (test) => {
      const file = join(test.folder, 'decisions.csv');
      await runIn(findingsCommand, ['findings', '--write-decisions', file], ioOf(test));
      const draft = readFileSync(file, 'utf8');
      const config = { ...test.config, decisions: file };
      expect(await readDecisionsFile(config)).toEqual([]);
      const open = draft.split('\n').filter((line) => line.startsWith('#accounting'));
      expect(open).toEqual([
        '#accounting/invoices,,default,1,10,?,,',
        '#accounting/invoices,,default,1,?,20,,',
        '#accounting/invoices,,default,1,?,21,,',
        '#accounting/invoices,,default,1,11,?,,',
        '#accounting/invoices,,default,1,?,22,,',
        '#accounting/invoices,,default,1,?,23,,',
      ]);
      expect(draft.split('\n').every((line) => line === '' || /^(?:#|model,)/.test(line))).toBe(true);
      expect(draft).toContain('#   V4 20 | platform_id "a\\u002cb\\""');
    });
  });

  it('drafts nothing for reasons that nobody can decide', async () => {
    await withScene(OPEN, async (test) => {
      const file = join(test.folder, 'decisions.csv');
      const words = ['findings', '--reason', 'no_platform_id', '--write-decisions', file];
      await runIn(findingsCommand, words, ioOf(test));
      expect(readFileSync(file, 'utf8')).not.toContain('#accounting');
    });
  });

  it('drafts lines that are decisions once # is removed and ? replaced', async () => {
    await withScene(OPEN, async (test) => {
      const file = join(test.folder, 'decisions.csv');
      await runIn(findingsCommand, ['findings', '--write-decisions', file], ioOf(test));
      const edited = join(test.folder, 'edited.csv');
      const text = readFileSync(file, 'utf8');
      writeFileSync(
        edited,
        text.replace(
          '#accounting/invoices,,default,1,10,?,,',
          'accounting/invoices,,default,1,10,21,the later,',
        ),
      );
      expect(await readDecisionsFile({ ...test.config, decisions: edited })).toMatchObject([
        { v3SvcId: 10n, v4SvcId: 21n, note: 'the later' },
      ]);
      const pair = 'accounting/invoices,,default,1,11,22';
      const both = text
        .replace('#accounting/invoices,,default,1,11,?', pair)
        .replace('#accounting/invoices,,default,1,?,22', pair);
      writeFileSync(edited, both);
      expect(await readDecisionsFile({ ...test.config, decisions: edited })).toHaveLength(1);
      writeFileSync(
        edited,
        text.replace('#accounting/invoices,,default,1,10,?', 'accounting/invoices,,default,1,10,?'),
      );
      expect(await codeOf(() => readDecisionsFile({ ...test.config, decisions: edited }))).toBe('bad_input');
    });
  });

  it('adds a second draft to the file of the first, and edits no draft without lines', async () => {
    await withScene(OPEN, async (test) => {
      const draft = async (settings: Partial<Config>, ...words: string[]) => {
        const io = ioOf({ ...test, config: { ...test.config, ...settings } });
        return textOf(await runIn(findingsCommand, ['findings', ...words], io), { width: 1000 });
      };
      const fileOf = (name: string) => join(test.folder, name);
      const [one, two, three] = [fileOf('1.csv'), fileOf('2.csv'), fileOf('3.csv')];
      const first = await draft({}, '--write-decisions', one);
      expect(first).toContain(`Next: Edit ${one}, name it as "decisions" in the configuration`);
      const second = await draft({ decisions: one }, '--write-decisions', two);
      expect(second).toContain(`Next: Edit ${two}, add its lines to ${one}`);
      const empty = await draft({}, '--reason', 'no_platform_id', '--write-decisions', three);
      expect(empty).toContain(`Next: ${three} has no line to fill in`);
    });
  });

  it('never overwrites a file of answers', async () => {
    await withScene(OPEN, async (test) => {
      const words = ['findings', '--write-companies', join(test.folder, 'companies.csv')];
      await runIn(findingsCommand, words, ioOf(test));
      expect(await codeOf(() => runIn(findingsCommand, words, ioOf(test)))).toBe('usage');
    });
  });
});
