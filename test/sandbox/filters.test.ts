import { describe, expect, it } from 'vitest';
import { getAll, type Row } from './client.js';
import { firstRegion, sandboxStarter } from './sandboxes.js';

const start = sandboxStarter();

type Value = bigint | number | string | null;

/** The value of a field as filters compare it, read by the test's own rules. */
function readValue(row: Row, field: string): Value {
  const value = row[field];
  if (value === null || value === undefined) return null;
  if (field === 'svc_id' || field === 'svc_company_id') return BigInt(String(value));
  if (field.endsWith('_at') || field === 'posted_date') return Date.parse(String(value));
  if (field === 'unit_price') return Number(value);
  if (field === 'platform_id') return String(value);
  return typeof value === 'number' ? value : String(value);
}

const OPERATORS: Readonly<Record<string, (value: Value, operand: NonNullable<Value>) => boolean>> = {
  eq: (value, operand) => value === operand,
  ne: (value, operand) => value !== operand,
  gt: (value, operand) => value !== null && value > operand,
  gte: (value, operand) => value !== null && value >= operand,
  lt: (value, operand) => value !== null && value < operand,
  lte: (value, operand) => value !== null && value <= operand,
  in: (value, operand) => value === operand,
};

const CASES: readonly (readonly [string, string])[] = [
  ['payments/items', 'svc_id'],
  ['payments/items', 'svc_company_id'],
  ['payments/items', 'svc_created_at'],
  ['payments/items', 'svc_updated_at'],
  ['payments/items', 'svc_deleted_at'],
  ['payments/items', 'platform_id'],
  ['payments/items', 'platform_unique_id'],
  ['payments/items', 'unit_price'],
  ['payments/items', 'name'],
  ['payments/items', 'description'],
  ['payments/orders', 'amount'],
  ['payments/orders', 'created_at'],
  ['crm/companies', 'people_count'],
  ['accounting/bill_credit_notes', 'posted_date'],
];

describe('filters', () => {
  it('take every operator on every kind of field', async () => {
    const sandbox = await start({ seed: 21, scenario: 'ugly' });
    let compared = 0;
    for (const [path, field] of CASES) {
      const address = `${firstRegion(sandbox)}/${path}`;
      const all = { include_deleted_records: 'true', limit: '1000' };
      const rows = await getAll(sandbox, address, all);
      const known = rows.filter((row) => typeof row[field] === 'string' || typeof row[field] === 'number');
      const middle = known[Math.floor(known.length / 2)];
      if (middle === undefined) throw new Error(`No ${path} has ${field}.`);
      const operand = readValue(middle, field);
      if (operand === null || String(middle[field]).includes(',')) throw new Error('Choose another seed.');
      for (const [operator, holds] of Object.entries(OPERATORS)) {
        const parameters = { ...all, [`${field}[${operator}]`]: String(middle[field]) };
        const found = await getAll(sandbox, address, parameters);
        const wanted = rows.filter((row) => holds(readValue(row, field), operand));
        expect(found, `${path} ${field}[${operator}]`).toEqual(wanted);
        compared += found.length;
      }
    }
    expect(compared).toBeGreaterThan(500);
  });

  it('take several values with in, and several filters together', async () => {
    const sandbox = await start({ seed: 22, scale: 800 });
    const address = `${firstRegion(sandbox)}/accounting/invoices`;
    const rows = await getAll(sandbox, address, { limit: '1000' });
    const some = [3, 30, 60].map((index) => rows[index]?.svc_id ?? '');
    const byId = await getAll(sandbox, address, {
      'svc_id[in]': `${[...some].reverse().join(',')},999999999`,
    });
    expect(byId.map(({ svc_id }) => svc_id)).toEqual(some);
    const both = await getAll(sandbox, address, {
      'status[in]': 'paid,open',
      'total_amount[gt]': '20000',
      'svc_company_id[eq]': rows[0]?.svc_company_id ?? '',
      limit: '1000',
    });
    expect(both).toEqual(
      rows.filter(
        (row) =>
          ['paid', 'open'].includes(String(row['status'])) &&
          Number(row['total_amount']) > 20_000 &&
          row.svc_company_id === rows[0]?.svc_company_id,
      ),
    );
    expect(both.length).toBeGreaterThan(3);
  });

  it('find nulls, and values in lists', async () => {
    const sandbox = await start({ seed: 22, scale: 800 });
    const address = `${firstRegion(sandbox)}/accounting/bill_credit_notes`;
    const all = { include_deleted_records: 'true', limit: '1000' };
    const rows = await getAll(sandbox, address, all);
    const noMemo = await getAll(sandbox, address, { ...all, 'memo[eq]': 'null' });
    expect(noMemo).toEqual(rows.filter((row) => row['memo'] === null));
    const gone = await getAll(sandbox, address, { ...all, 'svc_deleted_at[ne]': 'null' });
    expect(gone).toEqual(rows.filter((row) => row.svc_deleted_at !== null));
    const bill = rows.flatMap((row) => row['bill_ids'] as string[])[0] ?? '';
    const ofBill = await getAll(sandbox, address, { ...all, 'bill_ids[eq]': bill });
    expect(ofBill).toEqual(rows.filter((row) => (row['bill_ids'] as string[]).includes(bill)));
  });

  it('read ids exactly above 2^53', async () => {
    const sandbox = await start({ seed: 23, scenario: 'ugly', scale: 800 });
    const address = `${firstRegion(sandbox)}/accounting/invoices`;
    const rows = await getAll(sandbox, address, { include_deleted_records: 'true', limit: '1000' });
    const large = rows.filter((row) => BigInt(row.svc_id) > 2n ** 53n);
    expect(large.length).toBeGreaterThan(3);
    for (const { svc_id } of large) {
      const found = await getAll(sandbox, address, { 'svc_id[eq]': svc_id, include_deleted_records: 'true' });
      expect(found.map((row) => row.svc_id)).toEqual([svc_id]);
    }
  });
});
