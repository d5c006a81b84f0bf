import { describe, expect, it } from 'vitest';
import { FAULTS, type FaultSetting, parseFault } from '../../src/sandbox/service.js';
import type { Sandbox } from '../../src/sandbox/start-sandbox.js';
import type { TruthRow } from '../../src/sandbox/truth.js';
import { get, getAll, getPage, getPages, getV4Companies, type Row } from './client.js';
import { firstRegion, sandboxStarter } from './sandboxes.js';

const start = sandboxStarter();

function always(name: FaultSetting['name']): { seed: number; faults: readonly FaultSetting[] } {
  return { seed: 51, faults: [{ name, rate: 1 }] };
}

function invoices(sandbox: Sandbox): string {
  return `${firstRegion(sandbox)}/accounting/invoices`;
}

const ALL = { include_deleted_records: 'true', limit: '1000' };

describe('faults', () => {
  it('strike a share of the attempts, so that trying again helps', async () => {
    const sandbox = await start({ seed: 52, faults: [{ name: '500', rate: 0.5 }] });
    const statuses = new Set<number>();
    for (let i = 0; i < 20; i++) statuses.add((await get(sandbox, invoices(sandbox), { limit: '1' })).status);
    expect([...statuses].sort()).toEqual([200, 500]);
  });

  it('are read from NAME and NAME:RATE', () => {
    expect(parseFault('429')).toEqual({ name: '429', rate: 0.05 });
    expect(parseFault('cursor-expiry:0.01')).toEqual({ name: 'cursor-expiry', rate: 0.01 });
    expect(FAULTS.map((name) => parseFault(`${name}:1`)?.rate)).toEqual(FAULTS.map(() => 1));
    for (const text of ['', 'nothing', '429:', '429:2', '429:-1', '429:x']) {
      expect(parseFault(text), text).toBeNull();
    }
  });

  it('answer 429 with Retry-After, and 500, with an error body', async () => {
    const limited = await start(always('429'));
    const refusal = await get(limited, invoices(limited));
    expect([refusal.status, refusal.headers.get('retry-after')]).toEqual([429, '1']);
    expect(JSON.parse(refusal.text)).toMatchObject({ error: { code: 'too_many_requests' } });
    const broken = await start(always('500'));
    expect((await get(broken, invoices(broken))).status).toBe(500);
    expect(JSON.parse((await get(broken, `${broken.v4}/v4/core/companies`)).text)).toHaveProperty(
      'request_id',
    );
  });

  it('reset connections and cut bodies short', async () => {
    const reset = await start(always('reset'));
    await expect(get(reset, invoices(reset))).rejects.toThrow();
    const cut = await start(always('truncate'));
    for (const limit of ['1', '2', '3', '4']) {
      await expect(get(cut, invoices(cut), { limit })).rejects.toThrow();
    }
  });

  it('hang without an answer until the client gives up', async () => {
    const sandbox = await start(always('hang'));
    const signal = AbortSignal.timeout(200);
    const answer = fetch(invoices(sandbox), { headers: { api_key: sandbox.apiKey }, signal });
    await expect(answer).rejects.toThrow('timeout');
  });

  it('refuse each cursor once', async () => {
    const sandbox = await start(always('cursor-expiry'));
    let page = await getPage(sandbox, invoices(sandbox), { limit: '40' });
    const seen = page.rows.map(({ svc_id }) => svc_id);
    while (page.next !== null) {
      const parameters = { limit: '40', next: page.next };
      expect((await get(sandbox, invoices(sandbox), parameters)).status).toBe(410);
      page = await getPage(sandbox, invoices(sandbox), parameters);
      seen.push(...page.rows.map(({ svc_id }) => svc_id));
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toHaveLength((await getAll(sandbox, invoices(sandbox), { limit: '1000' })).length);
  });

  it('send each page twice, under a new cursor, and still come to the end', async () => {
    const sandbox = await start(always('duplicate-pages'));
    const plain = await start({ seed: 51 });
    const pages = await getPages(sandbox, invoices(sandbox), { limit: '25' });
    const cursors = pages.map(({ next }) => next);
    const rows = pages.flatMap(({ rows: some }) => some);
    const whole = await getAll(plain, invoices(plain), { limit: '1000' });
    expect(rows).toHaveLength(2 * whole.length);
    expect(new Set(rows.map(({ svc_id }) => svc_id)).size).toBe(whole.length);
    expect(new Set(cursors).size).toBe(cursors.length);
  });
});

describe('mutate', () => {
  const mutating = (seed: number, now: () => number) => ({
    seed,
    clock: now,
    faults: [{ name: 'mutate', rate: 1 }] as const,
  });

  async function readWhileChanging(sandbox: Sandbox): Promise<readonly Row[]> {
    const pages = await getPages(sandbox, invoices(sandbox), { ...ALL, limit: '10' });
    return pages.flatMap(({ rows }) => rows);
  }

  it('changes V3 while it is read so that a sweep by update time brings the rest', async () => {
    const startMs = Date.UTC(2026, 6, 1);
    let nowMs = startMs;
    const sandbox = await start(mutating(54, () => nowMs++));
    const walked = await readWhileChanging(sandbox);
    const known = new Map(walked.map((row) => [row.svc_id, row.svc_deleted_at]));
    for (let sweep = 0; sweep < 40; sweep++) {
      const since = new Date(startMs).toISOString();
      const late = await getAll(sandbox, invoices(sandbox), { ...ALL, 'svc_updated_at[gte]': since });
      for (const row of late) known.set(row.svc_id, row.svc_deleted_at);
    }
    const truth = [...sandbox.truth()].filter(
      ({ model, path, v3_svc_id }) => model === 'accounting/invoices' && path === '' && v3_svc_id !== null,
    );
    expect([...known.keys()].sort()).toEqual(truth.map(({ v3_svc_id }) => v3_svc_id ?? '').sort());
    for (const { v3_svc_id, status, reason } of truth) {
      if (status === 'matched') expect(known.get(v3_svc_id ?? '')).toBeNull();
      if (reason === 'deleted_in_v3') expect(known.get(v3_svc_id ?? '')).not.toBeNull();
    }
    const arrived = [...known.keys()].filter((id) => !walked.some(({ svc_id }) => svc_id === id));
    const gone = walked.filter((row) => row.svc_deleted_at === null && known.get(row.svc_id) !== null);
    expect(gone.length + arrived.length).toBeGreaterThan(0);
  });

  it('marks what was touched, and leaves the truth of everything else', async () => {
    let nowMs = Date.UTC(2026, 6, 1);
    const sandbox = await start(mutating(55, () => nowMs++));
    const nameOf = ({ model, path, v3_svc_id, v4_svc_id, parent_v3_svc_id }: TruthRow): string =>
      JSON.stringify([model, path, v3_svc_id, v4_svc_id, parent_v3_svc_id]);
    const before = new Map([...sandbox.truth()].map((row) => [nameOf(row), row]));
    await readWhileChanging(sandbox);
    const rows = await getAll(sandbox, invoices(sandbox), ALL);
    const goneBy = new Map(rows.map((row) => [row.svc_id, row.svc_deleted_at !== null]));
    const outcomes: string[] = [];
    for (const row of sandbox.truth()) {
      if (row.stable) expect(row).toEqual(before.get(nameOf(row)));
      else if (row.v3_svc_id !== null && row.path === '' && row.model === 'accounting/invoices') {
        outcomes.push(`${goneBy.get(row.v3_svc_id)} ${row.status} ${row.reason}`);
      }
    }
    expect([...new Set(outcomes)].sort()).toEqual(['false matched null', 'true deleted deleted_in_v3']);
  });
});

describe('a backfill', () => {
  it('fills V4 from nothing to everything, and never takes a record back', async () => {
    let nowMs = 1_000_000;
    const sandbox = await start({ seed: 61, backfillSeconds: 100, clock: () => nowMs });
    const [company] = await getV4Companies(sandbox);
    const address = `${sandbox.v4}/v4/core/companies/${company}/invoices`;
    const read = async (seconds: number): Promise<readonly string[]> => {
      nowMs = 1_000_000 + seconds * 1000;
      const { totalCount } = await getPage(sandbox, address, ALL);
      const rows = await getAll(sandbox, address, ALL);
      expect(totalCount).toBe(rows.length);
      return rows.map(({ svc_id }) => svc_id);
    };
    const counts: number[] = [];
    let before: readonly string[] = [];
    for (const seconds of [0, 10, 40, 41, 99, 100, 500]) {
      const now = await read(seconds);
      expect(now.slice(0, before.length)).toEqual(before);
      before = now;
      counts.push(now.length);
    }
    const finished = await start({ seed: 61 });
    const whole = await getAll(finished, `${finished.v4}/v4/core/companies/${company}/invoices`, ALL);
    expect(counts[0]).toBe(0);
    expect(counts[2]).toBeGreaterThan(counts[1] ?? 0);
    expect(before).toEqual(whole.map(({ svc_id }) => svc_id));
  });
});
