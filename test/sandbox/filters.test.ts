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
});
