import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { readCells } from '../contract.js';
import { makeFolder, runCli } from '../support/run-cli.js';

const COLUMNS = 80;

let folder: string;
let lines: readonly string[];
beforeAll(async () => {
  folder = join(makeFolder(), 'rehearsal');
  const ended = await runCli(['demo', '--output', folder], { cwd: makeFolder() });
  expect([ended.code, ended.stderr]).toEqual([0, '']);
  lines = ended.stdout.split('\n');
});

describe('demo', () => {
  it('fits 80 columns and four screens', () => {
    expect(lines.filter((line) => line.length > COLUMNS && !line.includes(folder))).toEqual([]);
    expect(lines.length).toBeLessThanOrEqual(4 * 48);
  });

  it('goes from a red gate to a green one', () => {
    const verdicts = lines.flatMap((line) => /^\s*((?:NOT )?SAFE TO CUT OVER)/.exec(line)?.[1] ?? []);
    expect(verdicts).toEqual([
      'NOT SAFE TO CUT OVER',
      'NOT SAFE TO CUT OVER',
      'NOT SAFE TO CUT OVER',
      'SAFE TO CUT OVER',
    ]);
  });

  it('leaves the table as it was, and nothing beside it', () => {
    const shop = join(folder, 'shop.db');
    expect(
      readCells(shop, "select name from sqlite_schema where type in ('table', 'view') order by name"),
    ).toEqual([{ name: 'sales' }]);
    expect(readCells(shop, "select name from pragma_table_info('sales')")).toEqual([
      { name: 'id' },
      { name: 'invoice_id' },
    ]);
  });

  it('keeps the key out of its configuration, and refuses a folder that exists', async () => {
    const key = readFileSync(join(folder, 'api-key'), 'utf8').trim();
    expect(readFileSync(join(folder, 'svc-migrate.config.json'), 'utf8')).not.toContain(key);
    expect((await runCli(['demo', '--output', folder], { cwd: makeFolder() })).code).toBe(6);
    expect(existsSync(join(folder, 'decisions.csv'))).toBe(true);
  });
});
