import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { buildTargets, renderScan, scan } from '../../../src/apply/scan/find.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { makeFolder } from '../support/folder.js';
import { INVOICES, makeRemap, NEW, openContext, target } from '../support/remap.js';

const folder = makeFolder();
const COMPANIES = [7, 8, 9];
const remap = makeRemap(
  COMPANIES.flatMap((company, at) =>
    Array.from({ length: 20 }, (_, nth) => ({
      v3: 1000 * company + nth,
      v4: 90_000 + 100 * company + nth,
      region: at === 0 ? 'eu' : 'us',
      company,
    })),
  ),
);

/** Each of 20 V3 ids is one record of every company here: 7 in both regions, 8 in one. */
const repeated = makeRemap(
  [
    ['eu', 7],
    ['us', 7],
    ['us', 8],
  ].flatMap(([region, company], at) =>
    Array.from({ length: 20 }, (_, nth) => ({
      v3: 7000 + nth,
      v4: 90_000 + 100 * at + nth,
      region: String(region),
      company: Number(company),
    })),
  ),
);

/** The ids that a scan proposes for the rows `invoice_id` of a SQLite table. */
async function proposed(
  columns: string,
  valuesOf: (company: number) => readonly (string | number | null)[],
  { known = remap, companies = COMPANIES } = {},
) {
  const file = join(folder, `${columns.replaceAll(/\W/g, '')}.db`);
  const db = new Sqlite(file);
  db.exec(`CREATE TABLE t(k INTEGER PRIMARY KEY, invoice_id INTEGER, ${columns})`);
  for (const company of companies) {
    for (let nth = 0; nth < 20; nth += 1) {
      const values = [1000 * company + nth, ...valuesOf(company)];
      db.prepare(`INSERT INTO t VALUES (NULL, ${values.map(() => '?').join(', ')})`).run(values);
    }
  }
  db.close();
  return ids(target({ kind: 'sqlite', file, table: 't', ids: [{ column: '-', model: INVOICES }] }), known);
}

async function ids(one: ReturnType<typeof target>, known = remap): Promise<readonly unknown[]> {
  const context = openContext(known, NEW);
  const scanned = await scan(context, [{ target: one, table: null }]);
  const targets = buildTargets(scanned, String);
  const text = renderScan(scanned, targets, 200);
  const ids = targets.flatMap((found) =>
    Object.values<unknown>({ ids: [], ...found })
      .slice(0, 1)
      .flat(),
  );
  expect(text.includes('beside the ids')).toBe(/(region|company)Column":"[^?]/.test(JSON.stringify(ids)));
  context.remap.close();
  return ids;
}

const ID = { column: 'invoice_id', model: INVOICES };

it.each([
  [
    'region and company',
    'area TEXT, company INTEGER',
    (c: number) => [c === 7 ? 'eu' : 'us', c],
    { regionColumn: 'area', companyColumn: 'company' },
  ],
  [
    'all companies in a column of another name',
    'tenant TEXT',
    (c: number) => [String(c)],
    { companyColumn: 'tenant' },
  ],
  ['NULL beside regions', 'area TEXT', (c: number) => [c === 7 ? 'eu' : null], { regionColumn: 'area' }],
  ['a few companies in a column of another name', 'status INTEGER', (c: number) => [c === 9 ? 8 : c], {}],
  ['another word among the regions', 'area TEXT', (c: number) => [c === 7 ? 'eu' : 'asia'], {}],
  ['another number among the companies', 'company_id INTEGER', (c: number) => [c + 1], {}],
  ['two columns of regions', 'area TEXT, other TEXT', () => ['eu', 'us'], {}],
  ['nothing', 'area TEXT', () => [null], {}],
] as const)(
  'proposes what the columns beside the ids say of a row: %s',
  async (what, columns, valuesOf, more) => {
    expect(await proposed(`${columns} /* ${what} */`, valuesOf)).toEqual([{ ...ID, ...more }]);
  },
);

it('does not propose to rewrite a column of companies as one of CRM companies', async () => {
  const crm = COMPANIES.map((company) => ({
    v3: company,
    v4: 500 + company,
    company,
    model: 'crm/companies',
  }));
  const invoices = COMPANIES.flatMap((company) =>
    Array.from({ length: 20 }, (_, nth) => ({ v3: 1000 * company + nth, v4: 90_000 + nth, company })),
  );
  const known = makeRemap([...crm, ...invoices]);
  const found = await proposed('svc_company INTEGER', (company) => [company], { known });
  expect(found).toEqual([{ ...ID, companyColumn: 'svc_company' }]);
});

it('proposes paths of NDJSON, but none inside a list', async () => {
  const file = join(folder, 'events.ndjson');
  const lines = COMPANIES.flatMap((company) =>
    Array.from({ length: 20 }, (_, nth) =>
      JSON.stringify({ invoice_id: 1000 * company + nth, from: { company }, tags: [{ region: 'eu' }] }),
    ),
  );
  writeFileSync(file, lines.join('\n'));
  const one = target({ kind: 'ndjson', file, ids: [{ column: '$.invoice_id', model: INVOICES }] });
  expect(await ids(one)).toEqual([
    { column: '$.invoice_id', model: INVOICES, companyColumn: '$.from.company' },
  ]);
});

it.each([
  ['no column', 'note TEXT', [null], { companyColumn: '?' }],
  ['a region', 'area TEXT', ['us'], { regionColumn: 'area', companyColumn: '?' }],
  ['a company', 'company INTEGER', [7], { companyColumn: 'company', regionColumn: '?' }],
  ['both', 'area TEXT, company INTEGER', ['us', 7], { regionColumn: 'area', companyColumn: 'company' }],
] as const)(
  'asks for the column that tells ids of several companies apart: beside %s',
  async (what, columns, values, more) => {
    const found = await proposed(`${columns} /* apart ${what} */`, () => values, {
      known: repeated,
      companies: [7],
    });
    expect(found).toEqual([{ ...ID, ...more }]);
  },
);
