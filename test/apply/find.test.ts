import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isNamedAfter } from '../../src/apply/find.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { type IdRow, ITEMS, type Job, openJob } from './support/job.js';
import { execute } from './support/scene.js';

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

function makeShop(job: Job): string {
  new Sqlite(job.file('shop.db')).close();
  return job.file('shop.db');
}

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

  it('names the region that alone has the ids, and says so where two have them', async () => {
    const ids = Array.from({ length: 20 }, (_, at) => 10_000 + at * 37);
    const rowsIn = (region: string, from: number) =>
      ids.slice(from).map((v3, at) => ({ v3, v4: at + 1, region, model: 'accounting/invoices' }));
    const onlyEu = ids
      .slice(0, 15)
      .map((v3, at) => ({ v3, v4: at + 50, region: 'eu', model: 'accounting/invoices' }));
    for (const [rows, region] of [
      [[...onlyEu, ...rowsIn('us', 15)], 'eu'],
      [[...rowsIn('eu', 0), ...rowsIn('us', 0)], undefined],
    ] as const) {
      const job = await openJob(rows);
      const values = ids.slice(0, 15).map((value) => `(${value})`);
      execute(makeShop(job), `create table o(invoice_id integer); insert into o values ${values.join(', ')}`);
      const { stdout } = await job.run('apply', 'find', 'shop.db', '--json', '-');
      expect(JSON.parse(stdout).apply.targets[0].ids).toEqual([
        { column: 'invoice_id', model: 'accounting/invoices', ...(region === undefined ? {} : { region }) },
      ]);
      const found = (await job.run('apply', 'find', 'shop.db')).stdout.replaceAll(/\s+/g, ' ');
      expect(found.includes('Name the region of o.invoice_id')).toBe(region === undefined);
    }
  });

  // Every number from 1 to 900 is an id of a V3 invoice in at least one region.
  const DENSE: readonly IdRow[] = [
    ...Array.from({ length: 900 }, (_, at) => ({ v3: at + 1, v4: 5000 + at, region: 'eu' })),
    ...Array.from({ length: 600 }, (_, at) => ({ v3: at + 1, v4: 7000 + at, region: 'us' })),
  ].map((row) => ({ ...row, model: 'accounting/invoices' }));

  it('tells ids from keys and quantities where every small number is an id', async () => {
    const job = await openJob(DENSE);
    execute(
      makeShop(job),
      `create table o(id integer primary key, region text, code text, qty integer, invoice_no integer, score integer);
       with recursive n(i) as (select 1 union all select i + 1 from n where i < 200)
         insert into o select i, iif(i % 2, 'eu', 'us'), i * 7919 % 899 + 1, i % 5 + 1, i % 9 + 1, i * 7919 % 899 + 1 + 900 * (i = 7) from n`,
    );
    const { stdout } = await job.run('apply', 'find', 'shop.db', '--json', '-');
    const { places, apply } = JSON.parse(stdout);
    expect(
      places[0].columns.map(({ column, standing }: Record<string, unknown>) => [column, standing]),
    ).toEqual([
      ['id', 'by_chance'],
      ['region', 'none'],
      ['code', 'likely'],
      ['qty', 'by_chance'],
      ['invoice_no', 'likely'],
      ['score', 'by_chance'],
    ]);
    const ofInvoices = { model: 'accounting/invoices', regionColumn: 'region' };
    expect(apply.targets[0].ids).toEqual([
      { column: 'code', ...ofInvoices },
      { column: 'invoice_no', ...ofInvoices },
    ]);
    expect((await job.run('apply', 'find', 'shop.db')).stdout).not.toContain('Name the region');
  });

  it('names no region where another one has some of the ids, too', async () => {
    const job = await openJob(DENSE);
    execute(
      makeShop(job),
      `create table o(invoice_id integer);
       with recursive n(i) as (select 1 union all select i + 1 from n where i < 100) insert into o select i * 9 from n where i * 9 > 400`,
    );
    const { stdout } = await job.run('apply', 'find', 'shop.db', '--json', '-');
    expect(JSON.parse(stdout).apply.targets[0].ids).toEqual([
      { column: 'invoice_id', model: 'accounting/invoices' },
    ]);
  });

  it('proposes no column or table that it added, whatever became of what it recorded', async () => {
    const job = await openJob(REMAP);
    const file = makeShop(job);
    execute(file, SQL);
    const ids = ['--table', 'o', '--ids', 'item_id=payments/items', '--yes'];
    await job.run('apply', 'write', 'shop.db', ...ids);
    await job.run('apply', 'switch', 'shop.db', '--yes');
    const find = async () => {
      const { places, apply } = JSON.parse((await job.run('apply', 'find', 'shop.db', '--json', '-')).stdout);
      const rewritten = places[0].columns.filter(
        ({ standing }: { standing: string }) => standing === 'rewritten',
      );
      return {
        rewritten: rewritten.map(({ column }: { column: string }) => column),
        tables: [...new Set(places[0].columns.map(({ table }: { table: string }) => table))],
        proposed: apply.targets.flatMap(({ ids }: { ids: { column: string }[] }) =>
          ids.map(({ column }) => column),
        ),
      };
    };
    const rewritten = ['item_id', 'item_id_v4', 'item_id_v3'];
    expect(await find()).toEqual({ rewritten, tables: ['o'], proposed: ['doc', 'lines'] });
    execute(file, 'drop view v; alter table o rename to o2');
    expect(await find()).toEqual({ rewritten, tables: ['o2'], proposed: ['doc', 'lines'] });
    execute(file, 'drop table svc_migrate_state');
    expect(await find()).toEqual({ rewritten, tables: ['o2'], proposed: ['doc', 'lines'] });
  });

  it('reads ids beyond 2^53 in JSON', async () => {
    const ids = Array.from({ length: 9 }, (_, at) => 2n ** 60n + BigInt(at) * 37n + 1n);
    const job = await openJob(ids.map((v3) => ({ v3, v4: v3 + 1000n })));
    writeFileSync(job.file('a.ndjson'), ids.map((id) => `{"id": ${id}}\n`).join(''));
    const { places } = JSON.parse((await job.run('apply', 'find', 'a.ndjson', '--json', '-')).stdout);
    expect(places[0].columns).toEqual([expect.objectContaining({ column: '$.id', seen: 9, v3: 9 })]);
  });

  it('refuses a folder', async () => {
    const job = await openJob(REMAP);
    expect(await job.run('apply', 'find', '.')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is a folder'),
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
    ['invoice_id', 'accounting/invoices', true],
    ['invoiceId', 'accounting/invoices', true],
    ['line_item_id', 'accounting/invoices#line_items', true],
    ['tax_id', 'payments/tax_rates', false],
    ['company', 'crm/companies', true],
  ])('%s is named after %s: %s', (name, model, isNamed) => {
    expect(isNamedAfter(name, model)).toBe(isNamed);
  });
});
