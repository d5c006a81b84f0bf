import { afterEach, describe, expect, it } from 'vitest';
import { MODELS } from '../../src/sandbox/shapes/models.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/start.js';
import { get, getAll, getV4Companies, type Row } from './client.js';

const open: Sandbox[] = [];

async function start(options: SandboxOptions): Promise<Sandbox> {
  const sandbox = await startSandbox(options);
  open.push(sandbox);
  return sandbox;
}

afterEach(async () => {
  for (const sandbox of open.splice(0)) await sandbox.close();
});

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
    it(`names every record and line item of a ${scenario} service, V3's exactly once`, async () => {
      for (const seed of [1, 2, 3]) {
        const sandbox = await start({ seed, scenario, scale: 300 });
        const v3: string[] = [];
        const v4 = new Set<string>();
        for (const row of sandbox.truth()) {
          const name = (owner: string, company: string | null, parent: string | null, id: string): string =>
            [row.model, owner, company, ...(parent === null ? [] : [parent]), id].join(' ');
          if (row.v3_svc_id !== null) {
            v3.push(name(row.region ?? '', row.v3_company_id, row.parent_v3_svc_id, row.v3_svc_id));
          }
          if (row.v4_svc_id !== null) {
            v4.add(name('', row.v4_company_id, row.parent_v4_svc_id, row.v4_svc_id));
          }
        }
        const answered = await readEverything(sandbox);
        expect(v3.sort()).toEqual(answered.v3);
        expect([...v4].sort()).toEqual(answered.v4);
      }
    });
  }
});
