import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type HttpServer, serveHttp } from '../support/serve-http.js';
import { getAll, getPage, getV4Companies } from './client.js';
import { sandboxStarter } from './sandboxes.js';

const start = sandboxStarter();

const ALL = { include_deleted_records: 'true', limit: '1000' };

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

describe('events', () => {
  const servers: HttpServer[] = [];

  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
  });

  interface Event {
    readonly type: string;
    readonly svc_company_id: number;
    readonly data_model?: string;
    readonly occurred_at: string;
  }

  async function listen(onEvent: (event: Event) => void): Promise<string> {
    const server = await serveHttp(async (request, response) => {
      onEvent(JSON.parse(await text(request)) as Event);
      response.writeHead(204, { connection: 'close' }).end();
    });
    servers.push(server);
    return `${server.origin}/hook`;
  }

  it('tell of the backfill from its start over its changes to its end', async () => {
    const events: Event[] = [];
    const eventsUrl = await listen((event) => events.push(event));
    const scheduled: { delayMs: number; work: () => void }[] = [];
    let nowMs = 0;
    const sandbox = await start({
      seed: 63,
      backfillSeconds: 60,
      eventsUrl,
      clock: () => nowMs,
      schedule: (delayMs, work) => {
        scheduled.push({ delayMs, work });
        return () => {};
      },
    });
    for (const { delayMs, work } of scheduled.sort((a, b) => a.delayMs - b.delayMs)) {
      nowMs = delayMs;
      work();
    }
    expect(scheduled.map(({ delayMs }) => delayMs)).toEqual([0, 15_000, 30_000, 45_000, 60_000, 60_000]);
    const listed = await getV4Companies(sandbox);
    const completed = () => events.filter(({ type }) => type === 'SYNC_COMPLETED');
    const told = () => [
      ...new Set(events.map(({ occurred_at, type }) => `${occurred_at.slice(14, 19)} ${type}`)),
    ];
    await vi.waitFor(
      () => {
        expect(told().sort()).toEqual([
          '00:00 SYNC_STARTED',
          '00:15 DATA_MODEL_CHANGES',
          '00:30 DATA_MODEL_CHANGES',
          '00:45 DATA_MODEL_CHANGES',
          '01:00 DATA_MODEL_CHANGES',
          '01:00 SYNC_COMPLETED',
        ]);
        expect(completed()).toHaveLength(listed.length - 1);
        expect(events.some(({ data_model }) => data_model === 'invoices')).toBe(true);
      },
      { timeout: 60_000 },
    );
    expect(completed().every(({ svc_company_id }) => listed.includes(String(svc_company_id)))).toBe(true);
    expect(sandbox.events().every(({ status }) => status === 204)).toBe(true);
  });
});
