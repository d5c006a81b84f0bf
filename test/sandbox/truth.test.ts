import { describe, expect, it } from 'vitest';
import { reasonsOf, STATUSES } from '../../src/reasons.js';
import { MODELS } from '../../src/sandbox/models.js';
import type { Sandbox } from '../../src/sandbox/start-sandbox.js';
import { campaignCases, campaignSize } from '../support/campaign.js';
import { get, getAll, getV4Companies, type Row } from './client.js';
import { sandboxStarter } from './sandboxes.js';

const start = sandboxStarter();

/** Need an export that failed, or decisions. */
const NOT_HERE: readonly string[] = ['scope_incomplete', 'decided_none'];

/** The outcomes of the product that a service of the sandbox can have. */
const OUTCOMES = [
  'matched/null',
  ...STATUSES.flatMap((status) =>
    reasonsOf(status)
      .filter((reason) => !NOT_HERE.includes(reason))
      .map((reason) => `${status}/${reason}`),
  ),
];

const EVERYTHING = { include_deleted_records: 'true', limit: '1000' };

/** Everything a service answers, as `generation model path owner parent id`. */
async function readEverything(sandbox: Sandbox): Promise<{ v3: string[]; v4: string[] }> {
  const seen = { v3: [] as string[], v4: [] as string[] };
  const companies = await getV4Companies(sandbox);
  for (const { v3, v4, lineItems } of MODELS) {
    const parameters = lineItems === 'none' ? EVERYTHING : { ...EVERYTHING, expand: 'line_items' };
    const add = (side: string[], owner: string, rows: readonly Row[]): void => {
      for (const row of rows) {
        side.push(`${v3} ${owner} ${row.svc_company_id} ${row.svc_id}`);
        if (lineItems !== 'ids') continue;
        for (const item of row.line_items ?? []) {
          side.push(`${v3} ${owner} ${row.svc_company_id} ${row.svc_id} ${item.svc_id}`);
        }
      }
    };
    for (const [region, base] of Object.entries(sandbox.v3)) {
      add(seen.v3, region, await getAll(sandbox, `${base}/${v3}`, parameters));
    }
    for (const company of companies) {
      const address = `${sandbox.v4}/v4/core/companies/${company}/${v4}`;
      if ((await get(sandbox, address)).status === 404) continue;
      add(seen.v4, '', await getAll(sandbox, address, parameters));
    }
  }
  return { v3: seen.v3.sort(), v4: seen.v4.sort() };
}

describe('truth', () => {
  for (const scenario of ['clean', 'ugly'] as const) {
    it(`names every record and line item of a ${scenario} service, V3's and V4-only ones exactly once`, async () => {
      for (const seed of campaignCases([1, 2, 3], 1)) {
        const sandbox = await start({ seed, scenario, scale: 300 });
        const v3: string[] = [];
        const v4: string[] = [];
        const v4Only: string[] = [];
        for (const row of sandbox.truth()) {
          const name = (owner: string, company: string | null, parent: string | null, id: string): string =>
            [row.model, owner, company, ...(parent === null ? [] : [parent]), id].join(' ');
          if (row.v3_svc_id !== null) {
            v3.push(name(row.region ?? '', row.v3_company_id, row.parent_v3_svc_id, row.v3_svc_id));
          }
          if (row.v4_svc_id !== null) {
            const known = name('', row.v4_company_id, row.parent_v4_svc_id, row.v4_svc_id);
            (row.v3_svc_id === null ? v4Only : v4).push(known);
          }
        }
        const answered = await readEverything(sandbox);
        expect(v3.sort()).toEqual(answered.v3);
        expect([...new Set(v4), ...v4Only].sort()).toEqual(answered.v4);
      }
    });
  }

  it('covers every status and reason of the product over a few ugly seeds', async () => {
    const found = new Set<string>();
    for (let seed = 1; seed <= 8; seed++) {
      const sandbox = await start({ seed, scenario: 'ugly' });
      for (const { path, status, reason } of sandbox.truth()) {
        found.add(`${path === '' ? '' : 'child '}${status}/${reason}`);
      }
    }
    const inPairs = [
      'matched/null',
      'unmatched/no_platform_id',
      'unmatched/key_changed',
      'unmatched/unexplained',
      'ambiguous/duplicate_platform_id_v3',
      'ambiguous/duplicate_platform_id_v4',
      'v4_only/no_platform_id',
      'v4_only/key_changed',
      'v4_only/unexplained',
    ];
    const children = [
      ...inPairs.map((text) => `child ${text}`),
      ...OUTCOMES.filter((text) => text !== 'matched/null').map(
        (text) => `child ${text.replace('/', '/parent_')}`,
      ),
    ];
    expect([...found].sort()).toEqual([...OUTCOMES, ...children].sort());
  });

  it('gives a clean service only what its own limits cover', async () => {
    const covered = new Set(['outside_backfill_window', 'connection_inert', 'created_after_export']);
    for (let seed = 0; seed < campaignSize({ small: 4, full: 20 }); seed++) {
      const sandbox = await start({ seed });
      for (const { status, reason } of sandbox.truth()) {
        const isDeletion = status === 'deleted';
        const isCovered = reason !== null && covered.has(reason.replace('parent_', ''));
        expect(status === 'matched' || isDeletion || isCovered, `${seed} ${status} ${reason}`).toBe(true);
      }
    }
  });

  it('has all kinds of findings in every clean service', async () => {
    for (let seed = 0; seed < campaignSize({ small: 3, full: 10 }); seed++) {
      const sandbox = await start({ seed });
      const found = new Set([...sandbox.truth()].map(({ status, reason }) => `${status}/${reason}`));
      for (const kind of [
        'matched/null',
        'unmatched/outside_backfill_window',
        'unmatched/connection_inert',
        'v4_only/created_after_export',
        'deleted/deleted_in_v3',
        'deleted/deleted_in_v4',
        'deleted/deleted_in_both',
        'deleted/deleted_not_in_v4',
        'deleted/deleted_v4_only',
        'deleted/superseded_in_v3',
        'deleted/superseded_in_v4',
      ]) {
        expect(found).toContain(kind);
      }
    }
  });
});
