import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { createApi } from '../../src/api/client.js';
import type { Config } from '../../src/config/config.js';
import { parseConfigValue } from '../../src/config/load-config.js';
import type { ProgressEvent } from '../../src/domain.js';
import { createPageSupply } from '../../src/export/prefetch.js';
import type { ExportSummary } from '../../src/export/run-export.js';
import { exportV3 } from '../../src/export/run-export.js';
import { Draw } from '../../src/sandbox/seeded-random.js';
import { openDatabase } from '../../src/store/open.js';
import { VirtualTime } from '../api/support/virtual-time.js';
import { keysOf, makeFolder, runCli } from '../cli/run-cli.js';
import { campaign } from '../support/campaign.js';
import { makeFastFolder } from '../support/fast-folder.js';
import { serveFile } from '../support/serve-http.js';
import { WatchedAgent } from '../support/watched-agent.js';

const CONCURRENCY = 8;
const ATTEMPTS = 6;
const MODELS = ['accounting/invoices', 'accounting/bills', 'crm/stages', 'crm/deals'];
const PAGES = 3;
const COMPANIES = 25;
const EXPORTS = campaign({ small: 8, full: 25 });

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

let answer: Answer = answerPage;
let asked = 0;
const server = serveFile((request, response) => {
  asked += 1;
  answer(request, response);
});
afterEach(() => {
  answer = answerPage;
  asked = 0;
});

/** Three pages of one record each in every list; sweeps find nothing. */
function answerPage(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
  const page = Number(searchParams.get('next') ?? '0');
  const company = searchParams.get('svc_company_id[eq]') ?? '1';
  const isSweep = searchParams.has('svc_updated_at[gte]');
  const id = `${MODELS.indexOf(pathname.slice('/v3/'.length)) + 1}${page}${company.padStart(3, '0')}`;
  const data = isSweep ? [] : [{ svc_id: Number(id), svc_company_id: Number(company), platform_id: id }];
  const next = isSweep || page + 1 === PAGES ? null : String(page + 1);
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ data, prev: null, next, total_count: isSweep ? 0 : PAGES }));
}

function settings(companies: number) {
  const base = server.origin;
  const speed = { concurrency: CONCURRENCY, requestsPerSecond: 10_000 };
  const v3 = {
    regions: { default: { baseUrl: `${base}/v3` } },
    companies: Array.from({ length: companies }, (_, at) => at + 1),
    ...speed,
  };
  const http = { attempts: ATTEMPTS, timeoutMs: 20_000, maxWaitMs: 600_000 };
  return {
    v3,
    v4: { baseUrl: base, ...speed },
    models: MODELS.map((name) => ({ v3: name, v4: null })),
    http,
  };
}

function configFor(database: string, companies: number): Config {
  return parseConfigValue({ ...settings(companies), database }, `${database}.json`, 0);
}

interface Wait {
  /** How many requests had left before it was announced. */
  readonly after: number;
  readonly untilMs: number;
  readonly reason: string;
}

interface Run {
  readonly summary: ExportSummary;
  /** When requests left. */
  readonly left: readonly number[];
  readonly waits: readonly Wait[];
}

/** On virtual time, which stands still while an answer is dealt with. */
async function exportAll(companies: number, random: () => number): Promise<Run> {
  const time = new VirtualTime();
  const { clock, sleep } = time;
  const left: number[] = [];
  const waits: Wait[] = [];
  const onProgress = (event: ProgressEvent): void => {
    if (event.kind !== 'wait') return;
    waits.push({ after: left.length, untilMs: clock.now() + event.waitMs, reason: event.reason });
  };
  const { signal } = new AbortController();
  const database = `${makeFastFolder()}/job.db`;
  const config = configFor(database, companies);
  const api = createApi({
    config,
    keys: { v3: new Map([['default', 'k']]), v4: 'k' },
    onProgress,
    signal,
    clock,
    random,
    dispatcher: new WatchedAgent(() => left.push(clock.now())),
    sleep,
  });
  const db = openDatabase(database, 'create');
  try {
    const supply = createPageSupply(api, clock);
    const options = { db, file: database, config, fingerprint: {}, supply, signal, clock, onProgress };
    return { summary: await time.run(exportV3(options)), left, waits };
  } finally {
    db.close();
    await api.close();
  }
}

describe('while a server asks to wait', () => {
  it(`nobody asks it before the time it said, in any of ${EXPORTS} exports`, async () => {
    let requests = 0;
    let waits = 0;
    for (let seed = 1; seed <= EXPORTS; seed += 1) {
      const draw = new Draw(seed);
      answer = (request, response) => {
        if (!draw.chance(0.15)) return answerPage(request, response);
        response.statusCode = draw.chance(0.5) ? 429 : 503;
        response.setHeader('retry-after', String(1 + draw.below(4)));
        response.end('{}');
      };
      const run = await exportAll(2, () => draw.below(1000) / 1000);
      const asked = run.waits.filter(({ reason }) => reason.endsWith('asked for it'));
      for (const { after, untilMs } of asked) {
        expect(run.left.slice(after).filter((leftMs) => leftMs < untilMs)).toEqual([]);
      }
      expect(run.summary.complete).toBe(true);
      requests += run.left.length;
      waits += asked.length;
    }
    process.stdout.write(`Retry-After: ${requests} requests, ${waits} waits asked for, none cut short\n`);
    expect(waits).toBeGreaterThan(4 * EXPORTS);
  });
});

/** All lists start at once; each needs at least one request to learn that the service is down. */
describe('a full outage', () => {
  const lists = MODELS.length * COMPANIES;
  const budget = CONCURRENCY * (ATTEMPTS - 1);
  const outages: readonly (readonly [string, Answer])[] = [
    ['500', (_, response) => response.writeHead(500).end()],
    ['429 without Retry-After', (_, response) => response.writeHead(429).end()],
    ['connections that are reset', (request) => request.socket.resetAndDestroy()],
    ['pages for browsers', (_, response) => response.end('<html></html>')],
  ];
  it.each(outages)('of %s costs a tenth more than asking once, once the budget is spent', async (_, down) => {
    answer = down;
    const { summary } = await exportAll(COMPANIES, () => 0.5);
    expect(summary.streams.every(({ state }) => state === 'failed')).toBe(true);
    process.stdout.write(`outage: ${lists} lists, ${asked} requests, budget ${budget}\n`);
    expect(asked).toBeGreaterThanOrEqual(lists);
    expect(asked).toBeLessThanOrEqual(1.1 * lists + budget);
  });

  it('that begins in the middle costs no more', async () => {
    answer = (request, response) => {
      if (asked > 60) response.writeHead(500).end();
      else answerPage(request, response);
    };
    const { summary } = await exportAll(COMPANIES, () => 0.5);
    expect(summary.complete).toBe(false);
    expect(asked - 60).toBeLessThanOrEqual(1.1 * lists + budget);
  });
});

describe('--max-wait', () => {
  const env = keysOf('k');
  it('waits where the server asks for less', async () => {
    answer = (request, response) => {
      if (asked > 1) answerPage(request, response);
      else response.writeHead(429, { 'retry-after': '1' }).end();
    };
    const ended = await runCli(['export', 'v3', '--max-wait', '1500ms'], {
      cwd: makeFolder(settings(0)),
      env,
    });
    expect([ended.code, /, 1 waits?$/m.test(ended.stderr)]).toEqual([0, true]);
  });
});
