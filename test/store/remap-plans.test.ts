import { expect, it } from 'vitest';
import { openEmptyDatabase } from '../../src/store/open.js';

const db = openEmptyDatabase();
const planOf = (sql: string) =>
  db
    .prepare<[], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map(({ detail }) => detail);

it.each([
  ["model = 'm' AND v3_svc_id = 1", 'remap_v3 (v3_svc_id=?)'],
  ["model = 'm' AND v4_svc_id = 1", 'remap_v4 (v4_svc_id=?)'],
  ["model = 'm' AND v3_company_id = 1 AND platform_id = 'k'", 'remap_key (platform_id=?)'],
  ["model = 'm' AND path = '' AND v3_svc_id IN (1, 2, 3)", 'remap_v3 (v3_svc_id=?)'],
])('the view remap is searched by an index where %s', (where, index) => {
  const plan = planOf(`SELECT * FROM remap WHERE ${where}`);
  expect(plan[0]).toBe(`SEARCH r USING INDEX ${index}`);
  expect(plan.filter((step) => step.startsWith('SCAN'))).toEqual([]);
});

it('all rows are read in their order, without sorting', () => {
  expect(planOf('SELECT * FROM remap')[0]).toBe('SCAN r');
  const ordered = planOf("SELECT * FROM remap_entry WHERE status <> 'matched' ORDER BY id");
  expect(ordered[0]).toBe('SCAN r');
  expect(ordered.filter((step) => step.includes('B-TREE'))).toEqual([]);
});
