import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { readCells } from '../contract.js';
import { filesIn, makeFolder, runCli } from '../support/run-cli.js';

const COLUMNS = 80;

let folder: string;
let lines: readonly string[];
beforeAll(async () => {
  const ended = await runCli(['demo'], { cwd: makeFolder() });
  expect([ended.code, ended.stderr]).toEqual([0, '']);
  lines = ended.stdout.split('\n');
  folder = /^\$ cd (.*)$/m.exec(ended.stdout)?.[1] ?? '';
});

describe('demo', () => {
  it('fits 80 columns and four screens', () => {
    expect(lines.filter((line) => line.length > COLUMNS && !line.includes(folder))).toEqual([]);
    expect(lines.length).toBeLessThanOrEqual(4 * 48);
  });

  it('says how many ids there are before it counts those that are mapped', () => {
    const number = (digits: string) => Number(digits.replace(',', ''));
    const [, records = '', lineItems = '', ids = ''] =
      /has (\d+) records and (\d+) line items: ([\d,]+) ids\./.exec(lines.join('\n')) ?? [];
    expect(number(records) + number(lineItems)).toBe(number(ids));
    const bases = lines.flatMap((line) => /of ([\d,]+) V3 ids have their V4 id/.exec(line)?.[1] ?? []);
    expect(bases).toEqual([ids, ids, ids, ids]);
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

  it('leaves its files, and keeps the key out of its configuration', () => {
    expect(filesIn(folder)).toEqual([
      'api-key',
      'decisions.csv',
      'shop.db',
      'svc-migrate.config.json',
      'svc-migrate.db',
    ]);
    const key = readFileSync(join(folder, 'api-key'), 'utf8').trim();
    expect(readFileSync(join(folder, 'svc-migrate.config.json'), 'utf8')).not.toContain(key);
  });
});
