import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CheckOptions, judgeRemap } from '../../src/commands/check.js';
import { type Report, reportSchema } from '../../src/report/report-schema.js';
import { MIXED, NOW, newIo, SINCE, type TestDatabase, withDatabase } from './support.js';

const DAY_MS = 86_400_000;

/** `check`, with the report it wrote. */
async function check({ config, folder }: TestDatabase, options: Partial<CheckOptions>, nowMs = NOW) {
  const json = join(folder, 'report.json');
  const io = newIo({ clock: { now: () => nowMs } });
  const code = await judgeRemap({ config, outputs: { json }, ...options }, io);
  const report: Report = reportSchema.parse(JSON.parse(readFileSync(json, 'utf8')));
  return { code, report, stderr: io.stderr.text };
}

const written = (folder: string, force = false) => ({
  file: join(folder, 'baseline.json'),
  expiresMs: 2 * DAY_MS,
  force,
});
const setup = { backfill: SINCE, maxAgeMs: 100 * DAY_MS };

describe('check with a baseline', () => {
  it('passes with the baseline it wrote, counts what was accepted, and leaves the totals alone', async () => {
    await withDatabase(MIXED, setup, async (database) => {
      const writeBaseline = written(database.folder);
      const before = await check(database, { writeBaseline });
      expect(before).toMatchObject({
        code: 1,
        stderr: `Wrote ${writeBaseline.file}: 4 findings.\n`,
        report: { baseline: null },
      });
      const { code, report, stderr } = await check(database, { baselineFile: writeBaseline.file });
      expect({ code, stderr, outcome: report.outcome }).toEqual({ code: 0, stderr: '', outcome: 'pass' });
      expect(report.totals).toEqual(before.report.totals);
      expect(report.baseline).toEqual({
        file: 'baseline.json',
        entries: 4,
        accepted: 4,
        byReason: {
          'unmatched/outside_backfill_window': 1,
          'unmatched/parent_outside_backfill_window': 1,
          'unmatched/unexplained': 1,
          'v4_only/unexplained': 1,
        },
        expired: [],
        unused: [],
        ambiguous: [],
      });
      const io = newIo({ width: 300 });
      await judgeRemap({ config: database.config, outputs: {}, baselineFile: writeBaseline.file }, io);
      expect(io.stdout.text).toContain('the limits and the baseline accept the other 4.');
      expect(io.stdout.text).toContain('Baseline baseline.json accepts 4 findings (');
    });
  });

  it('fails again on the day after it expired, and says which entries', async () => {
    await withDatabase(MIXED, setup, async (database) => {
      const writeBaseline = written(database.folder);
      await check(database, { writeBaseline });
      const { code, report, stderr } = await check(
        database,
        { baselineFile: writeBaseline.file },
        NOW + 3 * DAY_MS,
      );
      expect(code).toBe(1);
      expect(report.baseline).toMatchObject({ accepted: 0, expired: [{ entry: 1 }, {}, {}, {}] });
      expect(stderr.split('\n')).toHaveLength(5);
      expect(stderr).toMatch(
        /^Warning: baseline\.json, entry 1 \(accounting\/invoices 2, outside_backfill_window\): expired on 2026-11-03\.\n/,
      );
    });
  });

  it('says which entries are of no use any more', async () => {
    await withDatabase(MIXED, setup, async (database) => {
      const writeBaseline = written(database.folder);
      await check(database, { writeBaseline });
      database.write((db) =>
        db.exec("UPDATE remap SET status = 'unmatched', reason = 'key_changed' WHERE platform_id = 'c'"),
      );
      const { code, report, stderr } = await check(database, { baselineFile: writeBaseline.file });
      expect(code).toBe(1);
      expect(report.baseline).toMatchObject({ accepted: 3, unused: [{ v3_svc_id: '3' }] });
      expect(stderr).toMatch(/^Warning: [^\n]* 3, unexplained\): names no finding\.\n$/);
    });
  });

  it('never hides that data are incomplete, and writes nothing then', async () => {
    await withDatabase(MIXED, setup, async (database) => {
      const first = written(database.folder);
      await check(database, { writeBaseline: first });
      database.write((db) => db.exec("UPDATE stream SET state = 'failed' WHERE id = 1"));
      expect(await check(database, { baselineFile: first.file })).toMatchObject({ code: 4 });
      const second = { ...first, file: join(database.folder, 'second.json') };
      expect(await check(database, { writeBaseline: second })).toMatchObject({
        code: 4,
        stderr: 'No baseline was written: the data cannot be judged yet.\n',
      });
      expect(existsSync(second.file)).toBe(false);
    });
  });

  it('names what it cannot accept', async () => {
    await withDatabase(MIXED, { ...setup, maxAgeMs: 1 }, async (database) => {
      const { stderr } = await check(database, { writeBaseline: written(database.folder) });
      expect(stderr).toMatch(/: 4 findings\. A baseline lists rows, so these are not in it: maxAge\.\n$/);
    });
  });

  it('does not replace a file unless told, and writes to files only', async () => {
    await withDatabase(MIXED, setup, async (database) => {
      const writeBaseline = written(database.folder);
      writeFileSync(writeBaseline.file, 'precious');
      const refused = (options: Partial<CheckOptions>) =>
        expect(check(database, options)).rejects.toMatchObject({ code: 'usage' });
      await refused({ writeBaseline });
      await refused({ writeBaseline: { ...writeBaseline, file: '-' } });
      await refused({ writeBaseline: { ...writeBaseline, file: database.config.database, force: true } });
      expect(readFileSync(writeBaseline.file, 'utf8')).toBe('precious');
      await check(database, { writeBaseline: written(database.folder, true) });
      expect(JSON.parse(readFileSync(writeBaseline.file, 'utf8')).entries).toHaveLength(4);
    });
  });

  it('is refused where it is no baseline', async () => {
    await withDatabase(MIXED, setup, async (database) => {
      await expect(check(database, { baselineFile: database.config.database })).rejects.toMatchObject({
        code: 'bad_input',
      });
    });
  });
});
