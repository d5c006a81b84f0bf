import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isNamedAfter } from '../../src/apply/find.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { type IdRow, ITEMS, openJob } from './support/job.js';

const REMAP: readonly IdRow[] = [
  ...ITEMS,
  ...Array.from({ length: 40 }, (_, at) => ({
    v3: 10_000 + at * 37,
    v4: at + 1,
    model: 'accounting/invoices',
  })),
];
const SQL = `create table o(id integer primary key, item_id integer, doc integer, lines json, qty integer, item_new integer);
  with recursive n(i) as (select 1 union all select i + 1 from n where i < 30)
    insert into o select i, i, 10000 + i * 37, '{"inv": [' || (10000 + i * 37) || '], "n": "x"}', i * 3 % 7, i % 20 + 61 from n;
  create view v as select * from o`;

describe('apply find', () => {
  it('tells columns that hold V3 ids, in tables and in JSON', async () => {
    const job = await openJob(REMAP);
    new Sqlite(job.file('shop.db')).exec(SQL).close();
    const find = async (...words: readonly string[]) =>
      JSON.parse((await job.run('apply', 'find', ...words, '--json', '-')).stdout);
    const { places, apply } = await find('shop.db');
    const standings = places[0].columns.map(({ column, path, standing, model }: Record<string, unknown>) => [
      column,
      path,
      standing,
      model,
    ]);
    expect(standings).toEqual([
      ['id', null, 'by_chance', 'payments/items'],
      ['item_id', null, 'likely', 'payments/items'],
      ['doc', null, 'likely', 'accounting/invoices'],
      ['lines', '$.inv[*]', 'likely', 'accounting/invoices'],
      ['qty', null, 'none', 'payments/items'],
      ['item_new', null, 'v4', 'payments/items'],
    ]);
    expect(places[0].unseen).toEqual([{ what: 'v', why: 'a view' }]);
    writeFileSync(
      job.file('svc-migrate.config.json'),
      JSON.stringify({
        v3: { regions: { default: { baseUrl: 'http://127.0.0.1:1/v3' } } },
        v4: { baseUrl: 'http://127.0.0.1:1' },
        apply,
      }),
    );
    expect((await job.run('apply', 'write', '--yes')).code).toBe(0);
    expect((await find('shop.db')).places[0].columns[1]).toMatchObject({
      column: 'item_id',
      standing: 'rewritten',
    });
  });

  it('reads CSV and NDJSON', async () => {
    const job = await openJob(REMAP);
    const ids = Array.from({ length: 9 }, (_, at) => 10_000 + at * 37);
    writeFileSync(job.file('a.csv'), `doc;note\n${ids.map((id) => `${id};"x"\n`).join('')}`);
    writeFileSync(job.file('a.ndjson'), ids.map((id) => `{"doc": {"id": ${id}}}\n`).join(''));
    for (const [file, column] of [
      ['a.csv', 'doc'],
      ['a.ndjson', '$.doc.id'],
    ] as const) {
      const { apply } = JSON.parse((await job.run('apply', 'find', file, '--json', '-')).stdout);
      expect(apply.targets[0].ids).toEqual([{ column, model: 'accounting/invoices' }]);
    }
  });

  it.each([
    ['invoice_id', 'accounting/invoices', '', true],
    ['invoiceId', 'accounting/invoices', '', true],
    ['line_item_id', 'accounting/invoices', 'line_items', true],
    ['tax_id', 'payments/tax_rates', '', false],
    ['company', 'crm/companies', '', true],
  ])('%s is named after %s#%s: %s', (name, model, path, isNamed) => {
    expect(isNamedAfter(name, { model, path })).toBe(isNamed);
  });
});
