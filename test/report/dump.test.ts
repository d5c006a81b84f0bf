import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Sqlite } from '../../src/store/sqlite.js';
import { type Exported, INVOICES } from '../support/exported.js';
import { givenOf, type OptionValues, runNamed } from '../support/given.js';
import { MIXED, newIo, SINCE, withDatabase } from './support.js';

const HOSTILE = [
  'quote " and \' and , and ; and \t',
  'line\r\nbreak\nand\rreturn',
  '=1+1',
  '@cmd',
  '\u001b[31mred\u0007',
  '\u202egnp.exe',
  '<script>alert(1)</script>',
  '../../etc/passwd',
  '__proto__',
  'NULL',
  '',
  'caf\u00e9',
  'cafe\u0301',
  'x'.repeat(10_000),
  "'); DROP TABLE remap; --",
  'back\\slash',
  '9007199254740993',
  '😀',
];
const MAX = 2n ** 63n - 1n;
const exported: Exported = {
  v3: HOSTILE.map((key, at) => ({ id: MAX - BigInt(at), key: key === '' ? null : key, facts: `x=${at}` })),
  v4: HOSTILE.map((key, at) => ({ id: 100 + at, key: key === '' ? null : key, facts: `x=${at}` })),
};

function dump(options: OptionValues, what: Exported = exported): Promise<{ text: string; rows: Columns[] }> {
  return withDatabase(what, {}, async ({ config }) => {
    const io = newIo();
    expect(await runNamed('dump', givenOf(config, options), io)).toBe(0);
    const db = new Sqlite(config.database, { readonly: true }).defaultSafeIntegers(true);
    const rows = db.prepare<[], Columns>('SELECT * FROM remap').all();
    db.close();
    return { text: io.stdout.text, rows };
  });
}

type Columns = Record<string, string | bigint | null>;

/** RFC 4180, written from the RFC: cells that were quoted keep that, since empty text is not null. */
function parseCsv(text: string): { text: string; quoted: boolean }[][] {
  const rows: { text: string; quoted: boolean }[][] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  let row: { text: string; quoted: boolean }[] = [];
  for (let found = cell.exec(text); found !== null; found = cell.exec(text)) {
    const [, quoted, plain, end] = found;
    row.push({ text: quoted?.replaceAll('""', '"') ?? plain ?? '', quoted: quoted !== undefined });
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

describe('dump', () => {
  it('writes CSV that reads back exactly', async () => {
    const { text, rows } = await dump({});
    const [head = [], ...lines] = parseCsv(text);
    const read = lines.map((line) =>
      Object.fromEntries(
        head.map(({ text: name }, at) => {
          const cell = line[at];
          const value = cell === undefined || (cell.text === '' && !cell.quoted) ? null : cell.text;
          return [
            name,
            value !== null && /_id$/.test(name) && !/platform/.test(name) ? BigInt(value) : value,
          ];
        }),
      ),
    );
    expect(read).toEqual(rows);
  });

  it('writes SQL that another database runs and holds the same rows', async () => {
    const { text, rows } = await dump({ format: 'sql' });
    const other = new Sqlite(':memory:').defaultSafeIntegers(true);
    other.exec(text);
    expect(other.prepare('SELECT * FROM remap ORDER BY rowid').all()).toEqual(rows);
    other.close();
  });

  it('writes NDJSON with ids as digits and nothing a terminal acts on', async () => {
    const { text, rows } = await dump({ format: 'ndjson' });
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
    const read = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const expected = rows.map((row) => {
      const columns = Object.entries(row).map(([name, value]) => {
        if (name === 'evidence') return [name, JSON.parse(String(value))];
        return [name, typeof value === 'bigint' ? String(value) : value];
      });
      return Object.fromEntries(columns);
    });
    expect(read).toEqual(expected);
  });

  it('shows the whole of a small remap', async () => {
    await withDatabase(MIXED, { backfill: SINCE }, async ({ config, folder }) => {
      const file = join(folder, 'remap.csv');
      await runNamed('dump', givenOf(config, { output: file }), newIo());
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(readFileSync(file, 'utf8').split('\r\n').slice(0, 3)).toEqual([
        'model,path,region,v3_company_id,v4_company_id,platform_id,parent_platform_id,v3_svc_id,v4_svc_id,status,reason,matched_by,evidence',
        `${INVOICES},"",default,1,1,a,,1,2,matched,,platform_id,{}`,
        `${INVOICES},line_items,default,1,1,l1,a,11,21,matched,,platform_id,{}`,
      ]);
    });
  });

  it('spells control characters out on a terminal and says so', async () => {
    await withDatabase(exported, {}, async ({ config }) => {
      const io = newIo({ isTty: true });
      await runNamed('dump', givenOf(config), io);
      expect(io.stdout.text).not.toMatch(/[\u001b\u0007\u202e]/);
      expect(io.stderr.text).toContain('--output');
    });
  });
});
