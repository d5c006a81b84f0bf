import { describe, expect, it } from 'vitest';
import { MODELS } from '../../src/sandbox/models.js';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/start-sandbox.js';
import { get, getAll, getV4Companies, type Row } from './client.js';
import { firstRegion, sandboxStarter } from './sandboxes.js';

const start = sandboxStarter();

const ALL = { include_deleted_records: 'true', limit: '1000' };

/** Every list of a service as text, addresses without the port. */
async function readTexts(sandbox: Sandbox): Promise<readonly string[]> {
  const texts: string[] = [(await get(sandbox, `${sandbox.v4}/v4/core/companies`)).text];
  const companies = await getV4Companies(sandbox);
  for (const { v3, v4 } of MODELS) {
    for (const base of Object.values(sandbox.v3)) {
      texts.push((await get(sandbox, `${base}/${v3}`, { ...ALL, return_count: 'true' })).text);
      texts.push((await get(sandbox, `${base}/${v3}`, { limit: '5' })).text);
    }
    for (const company of companies) {
      texts.push((await get(sandbox, `${sandbox.v4}/v4/core/companies/${company}/${v4}`, ALL)).text);
    }
  }
  return texts;
}

describe('a seed', () => {
  for (const scenario of ['clean', 'ugly'] as const) {
    it(`gives a ${scenario} service with the same bytes each time, and another seed another one`, async () => {
      const options: SandboxOptions = { seed: 31, scenario, scale: 300 };
      const one = await start(options);
      const two = await start(options);
      const other = await start({ ...options, seed: 32 });
      const texts = await readTexts(one);
      expect(await readTexts(two)).toEqual(texts);
      expect(two.apiKey).toBe(one.apiKey);
      expect([...two.truth()]).toEqual([...one.truth()]);
      expect(await readTexts(other)).not.toEqual(texts);
    });
  }

  it('reassigns V4 ids into the range of the V3 ids, so that most of them name another V3 record', async () => {
    const sandbox = await start({ seed: 34 });
    const v3 = await getAll(sandbox, `${firstRegion(sandbox)}/accounting/invoices`, ALL);
    const v3Ids = new Set(v3.map(({ svc_id }) => svc_id));
    const pairs = [...sandbox.truth()].filter(
      ({ model, path, status }) => model === 'accounting/invoices' && path === '' && status === 'matched',
    );
    const overlapping = pairs.filter(({ v4_svc_id }) => v3Ids.has(v4_svc_id ?? ''));
    const kept = pairs.filter(({ v3_svc_id, v4_svc_id }) => v3_svc_id === v4_svc_id);
    expect(overlapping.length / pairs.length).toBeGreaterThan(0.6);
    expect(kept.length / pairs.length).toBeLessThan(0.1);
  });
});

describe('the ugly scenario', () => {
  it('uses the same company ids and svc_ids in both regions for different things', async () => {
    const sandbox = await start({ seed: 35, scenario: 'ugly' });
    const [eu = '', us = ''] = Object.values(sandbox.v3);
    const inEu = await getAll(sandbox, `${eu}/accounting/invoices`, ALL);
    const inUs = await getAll(sandbox, `${us}/accounting/invoices`, ALL);
    const shared = (field: 'svc_company_id' | 'svc_id'): number => {
      const known = new Set(inEu.map((row) => row[field]));
      return new Set(inUs.map((row) => row[field]).filter((value) => known.has(value))).size;
    };
    expect(shared('svc_company_id')).toBeGreaterThan(0);
    expect(shared('svc_id')).toBeGreaterThan(20);
    const byId = new Map(inEu.map((row) => [row.svc_id, row]));
    for (const row of inUs) {
      expect(byId.get(row.svc_id)?.['document_number']).not.toBe(row['document_number']);
    }
  });

  it('has ids that doubles cannot tell apart, up to 2^63 − 1', async () => {
    let merged = 0;
    let largest = 0n;
    for (const seed of [36, 37, 38, 39]) {
      const sandbox = await start({ seed, scenario: 'ugly', scale: 800 });
      const rows = await getAll(sandbox, `${firstRegion(sandbox)}/accounting/invoices`, ALL);
      merged += rows.length - new Set(rows.map(({ svc_id }) => Number(svc_id))).size;
      for (const { svc_id } of rows) largest = BigInt(svc_id) > largest ? BigInt(svc_id) : largest;
      expect(new Set(rows.map(({ svc_id }) => svc_id)).size).toBe(rows.length);
    }
    expect(merged).toBeGreaterThan(3);
    expect(largest).toBeGreaterThan(2n ** 63n - 1000n);
    expect(largest).toBeLessThan(2n ** 63n);
  });

  it('has keys that trip programs, and values that are no key', async () => {
    const wanted: Readonly<Record<string, (key: unknown, raw: string) => boolean>> = {
      composed: (key) => typeof key === 'string' && /^\d{4}-\d\d-\d\d_\d{4}-\d\d-\d\d$/.test(key),
      quote: (key) => typeof key === 'string' && key.includes("O'Brien"),
      nul: (key) => typeof key === 'string' && key.includes('\0'),
      nfc: (key) => typeof key === 'string' && key.startsWith('caf\u00e9'),
      nfd: (key) => typeof key === 'string' && key.startsWith('cafe\u0301'),
      zeros: (key) => typeof key === 'string' && /^00\d/.test(key),
      long: (key) => typeof key === 'string' && key.length > 10_000,
      prototype: (key) => key === '__proto__',
      literal: (_, raw) => /"platform_id":\d+[,}]/.test(raw),
      largeLiteral: (_, raw) => /"platform_id":9007199254740993\d*[,}]/.test(raw),
      null: (key) => key === null,
      empty: (key) => key === '',
      fraction: (key) => key === 1.5,
      object: (key) => typeof key === 'object' && key !== null,
      surrogate: (key) => typeof key === 'string' && /\p{Surrogate}/u.test(key),
    };
    const missing = new Set(Object.keys(wanted));
    for (let seed = 40; seed < 60 && missing.size > 0; seed++) {
      const sandbox = await start({ seed, scenario: 'ugly', scale: 2000 });
      for (const { v3 } of MODELS) {
        for (const base of Object.values(sandbox.v3)) {
          const { text } = await get(sandbox, `${base}/${v3}`, ALL);
          const { data } = JSON.parse(text) as { data: readonly Row[] };
          for (const name of missing) {
            if (data.some((row) => wanted[name]?.(row['platform_id'], ''))) missing.delete(name);
            else if (wanted[name]?.(undefined, text)) missing.delete(name);
          }
        }
      }
    }
    expect([...missing]).toEqual([]);
  });
});
