import { describe, expect, it } from 'vitest';
import { addQuirk, NO_QUIRKS, QUIRKS } from '../../src/sandbox/faults.js';
import { get, getPage } from './client.js';
import { sandboxStarter } from './sandboxes.js';

const INVOICES = 'accounting/invoices';
const openSandbox = sandboxStarter();

function quirksOf(...texts: readonly string[]) {
  return texts.reduce(addQuirk, NO_QUIRKS);
}

/** A sandbox with quirks, and the address of one V4 list. */
async function open(...texts: readonly string[]) {
  const sandbox = await openSandbox({ seed: 5, quirks: quirksOf(...texts) });
  const { rows } = await getPage(sandbox, `${sandbox.v4}/v4/core/companies`);
  const v4 = `${sandbox.v4}/v4/core/companies/${rows[0]?.svc_id}/invoices`;
  return { sandbox, v4, v3: `${sandbox.v3['default']}/${INVOICES}` };
}

const ALL = { include_deleted_records: 'true' };
const LATE = { 'svc_updated_at[gte]': '2100-01-01T00:00:00Z' };

describe('quirks', () => {
  it('let V4, and V4 alone, take no notice of parameters', async () => {
    const { sandbox, v4, v3 } = await open('ignore=include_deleted_records', 'ignore=gte', 'ignore=select');
    const plain = await getPage(sandbox, v4);
    for (const asked of [ALL, LATE, { select: 'data_hash' }]) {
      expect(await getPage(sandbox, v4, asked)).toEqual(plain);
      expect(await getPage(sandbox, v3, asked)).not.toEqual(await getPage(sandbox, v3));
    }
    expect((await getPage(sandbox, v4, { 'platform_id[eq]': 'nobody' })).rows).toEqual([]);
  });

  it('let V4 refuse parameters', async () => {
    const { sandbox, v4, v3 } = await open('refuse=include_deleted_records', 'refuse=sort');
    for (const asked of [ALL, { 'sort[svc_created_at]': 'DESC' }]) {
      expect((await get(sandbox, v4, asked)).status).toBe(400);
      expect((await get(sandbox, v3, asked)).status).toBe(200);
    }
    expect((await get(sandbox, v4, LATE)).status).toBe(200);
  });

  it('cap pages, or refuse large ones', async () => {
    const capped = await open('page-cap=7');
    expect((await getPage(capped.sandbox, capped.v3, { limit: '50' })).rows).toHaveLength(7);
    const limited = await open('page-limit=7');
    expect((await get(limited.sandbox, limited.v3, { limit: '8' })).status).toBe(400);
    expect((await getPage(limited.sandbox, limited.v3, { limit: '7' })).rows).toHaveLength(7);
  });

  it('put the clock off, compress answers, miscount', async () => {
    const { sandbox, v4 } = await open('clock-skew=-7200', 'gzip', 'total-count=123456');
    const { headers } = await get(sandbox, v4);
    const skewMs = Date.parse(headers.get('date') ?? '') - Date.now();
    expect(Math.round(skewMs / 60_000)).toBe(-120);
    expect(headers.get('content-encoding')).toBe('gzip');
    expect((await getPage(sandbox, v4)).totalCount).toBe(123456);
  });

  it('leave out a V3 model, and answer to any V4 one', async () => {
    const { sandbox, v4, v3 } = await open(`absent-v3=${INVOICES}`, 'any-model');
    expect((await get(sandbox, v3)).status).toBe(404);
    expect((await getPage(sandbox, v4)).rows.length).toBeGreaterThan(0);
    const unknown = v4.replace('invoices', 'no_such_model');
    expect((await getPage(sandbox, unknown)).rows).toEqual([]);
  });

  it('put objects that are no records between the records, which all stay', async () => {
    const { sandbox, v3 } = await open('malformed=0.5');
    const plain = await openSandbox({ seed: 5 });
    const { rows } = await getPage(sandbox, v3);
    const records = (await getPage(plain, `${plain.v3['default']}/${INVOICES}`)).rows;
    expect(rows.length).toBeGreaterThan(records.length + 10);
    const texts = new Set(rows.map((row) => JSON.stringify(row)));
    expect(records.filter((record) => !texts.has(JSON.stringify(record)))).toEqual([]);
  });

  it('are refused where they are none', () => {
    const wrong = [
      '',
      'gzip=1',
      'gzipped',
      'ignore',
      'ignore=limit',
      'page-cap=0',
      'page-cap=x',
      'malformed=',
    ];
    for (const text of wrong) expect(() => quirksOf(text)).toThrow(TypeError);
    expect(QUIRKS).toHaveLength(Object.keys(NO_QUIRKS).length);
  });
});
