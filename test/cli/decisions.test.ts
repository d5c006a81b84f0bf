import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { reportSchema } from '../../src/report/report-schema.js';
import { openProject } from './project.js';

describe('a job with decisions', async () => {
  const options = { seed: 3, scenario: 'ugly', scale: 300 } as const;
  const { sandbox, cwd: folder, run } = await openProject(options);
  const file = join(folder, 'decisions.csv');

  const report = async () => {
    const { code, stdout, stderr } = await run('check', '--quiet', '--json', '-');
    return { code, stderr, ...reportSchema.parse(JSON.parse(stdout)) };
  };

  beforeAll(async () => {
    expect((await run('run', '--quiet')).code).toBe(1);
    expect(await run('findings', '--write-decisions', 'decisions.csv')).toMatchObject({
      code: 0,
      stdout: '',
    });
    const config = { ...sandbox.config(), decisions: 'decisions.csv' };
    writeFileSync(join(folder, 'svc-migrate.config.json'), JSON.stringify(config));
  }, 60_000);

  it('is incomplete until the remap is built with the file, and an unedited draft decides nothing', async () => {
    const before = await report();
    expect([before.code, before.blockers.map(({ code }) => code)]).toEqual([4, ['remap_stale']]);
    expect(before.decisions).toMatchObject({ sha256: null, taken: 0, stale: 0 });
    expect((await run('remap', '--quiet')).code).toBe(0);
    const after = await report();
    expect(after.code).toBe(1);
    expect(after.decisions).toMatchObject({ taken: 0, notNeeded: 0, stale: 0, idle: [] });
    expect(after.totals).toEqual(before.totals);
  });

  it('takes an answered draft, proves it live, and says so once a line goes stale', async () => {
    const draft = readFileSync(file, 'utf8');
    const answered = draft
      .split(/^#\n/m)
      .filter((block) => !block.includes('cannot be decided'))
      .join('')
      .replace(/^# {3}V4 (\d+) .*\n(?:# {3}.*\n)*#(accounting\/\w+,,.*,)\?,$/gm, '$2$1,same amount');
    const lines = [...answered.matchAll(/^(accounting\/\w+),,.*,(\d+),same amount$/gm)];
    const unique = new Map(lines.map(([line, model, id]) => [`${model} ${id}`, line]));
    const header = draft.split('\n')[0];
    writeFileSync(file, [header, ...unique.values(), ''].join('\n'));
    expect(unique.size).toBeGreaterThan(1);
    expect((await run('remap', '--quiet')).code).toBe(0);
    const taken = await report();
    expect(taken.decisions).toMatchObject({ taken: unique.size, stale: 0 });
    const dump = await run('dump');
    expect(dump.stdout.match(/,decision,/g)).toHaveLength(unique.size);
    const verified = await run('verify', '--all', '--quiet');
    expect([verified.code, verified.stdout]).toEqual([0, expect.any(String)]);

    const [region] = Object.keys(regions());
    const rows = (await run('dump', '--format', 'ndjson')).stdout.trim().split('\n');
    const proven = rows
      .map((line) => JSON.parse(line))
      .find(({ path, matched_by }) => path === '' && matched_by === 'platform_id');
    const ids = [proven.region, proven.v3_company_id, proven.v3_svc_id, proven.v4_svc_id];
    appendFileSync(
      file,
      `accounting/invoices,,${region},1,1,999999999999999999,nobody\n${proven.model},,${ids},proven\n`,
    );
    expect(await run('remap', '--quiet')).toMatchObject({ code: 0 });
    const stale = await report();
    const limit = stale.gate.limits.find(({ name }) => name === 'decision_stale');
    expect([stale.code, limit]).toMatchObject([1, { actual: 1, allowed: 0, pass: false, unit: 'decisions' }]);
    expect(stale.decisions?.idle).toMatchObject([
      { line: unique.size + 2, outcome: 'stale', note: 'nobody' },
      { line: unique.size + 3, outcome: 'not_needed', text: 'not needed: the data prove it by themselves' },
    ]);
    expect((await run('report')).stdout).toContain(`line ${unique.size + 2}: accounting/invoices 1`);
  });

  it('names all problems of the file in one message, before anything is read', async () => {
    const good = readFileSync(file, 'utf8');
    try {
      appendFileSync(file, 'accounting/invoice,,x,1,1,2,\naccounting/invoices,,x,1,1,?,\n');
      for (const command of ['remap', 'run']) {
        const { code, stderr } = await run(command, '--quiet');
        expect([code, stderr.match(/line \d+: /g)?.length]).toEqual([6, 2]);
      }
    } finally {
      writeFileSync(file, good);
    }
  });

  it('never writes an output over the file', async () => {
    const before = readFileSync(file, 'utf8');
    for (const args of [
      ['report', '--json'],
      ['dump', '--output'],
      ['findings', '--json'],
      ['findings', '--force', '--write-decisions'],
    ]) {
      expect([args, (await run(...args, 'decisions.csv')).code]).toEqual([args, 2]);
    }
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  function regions(): Readonly<Record<string, unknown>> {
    return JSON.parse(JSON.stringify(sandbox.config())).v3.regions;
  }
});
