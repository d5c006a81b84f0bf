import { describe, expect, it } from 'vitest';
import { getAll, type Row } from './client.js';
import { firstRegion, sandboxStarter } from './sandboxes.js';

const start = sandboxStarter();

type Value = bigint | number | string | null;

/** The values of a field as filters compare them, read by the test's own rules. */
function readValues(row: Row, field: string): Value[] {
  return [row[field]].flat().map((value) => readValue(value, field));
}

function readValue(value: unknown, field: string): Value {
  if (value === null || value === undefined) return null;
  if (field === 'svc_id' || field === 'svc_company_id') return BigInt(String(value));
  if (field.endsWith('_at') || field === 'posted_date') return Date.parse(String(value));
  if (field === 'unit_price') return Number(value);
  if (field === 'platform_id') return String(value);
  return typeof value === 'number' ? value : String(value);
}

const OPERATORS: Readonly<Record<string, (value: Value, operand: Value) => boolean>> = {
  eq: (value, operand) => value === operand,
  ne: (value, operand) => value !== operand,
  gt: (value, operand) => value !== null && operand !== null && value > operand,
  gte: (value, operand) => value !== null && operand !== null && value >= operand,
  lt: (value, operand) => value !== null && operand !== null && value < operand,
  lte: (value, operand) => value !== null && operand !== null && value <= operand,
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
  ['accounting/bill_credit_notes', 'bill_ids'],
];

describe('filters', () => {
  it('take every operator on every kind of field', async () => {
    const sandbox = await start({ seed: 21, scenario: 'ugly' });
    let compared = 0;
    for (const [path, field] of CASES) {
      const address = `${firstRegion(sandbox)}/${path}`;
      const all = { include_deleted_records: 'true', limit: '1000' };
      const rows = await getAll(sandbox, address, all);
      const known = rows.flatMap((row) => [row[field]].flat()).filter((value) => value !== null);
      const [first, middle] = [known[0], known[Math.floor(known.length / 2)]];
      if (known.length === 0 || first === middle || `${first}${middle}`.includes(','))
        throw new Error(`Choose another seed for ${path} ${field}.`);
      const one = Object.keys(OPERATORS).map((operator) => [operator, middle] as const);
      const asked = [...one, ['in', first, middle], ['eq', null], ['ne', null]] as const;
      for (const [operator, ...values] of asked) {
        const parameters = { ...all, [`${field}[${operator}]`]: values.join() || 'null' };
        const found = await getAll(sandbox, address, parameters);
        const operands = values.map((value) => readValue(value, field));
        const wanted = rows.filter((row) => {
          const holds = (value: Value) => operands.some((operand) => OPERATORS[operator]?.(value, operand));
          return operator === 'ne' ? readValues(row, field).every(holds) : readValues(row, field).some(holds);
        });
        expect(found, `${path} ${field}[${operator}]=${values}`).toEqual(wanted);
        compared += found.length;
      }
    }
    expect(compared).toBeGreaterThan(500);
  });
});
