import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.js';
import type { OnProgress } from '../../../src/domain.js';
import { renderVerify, type VerifyResult } from '../../../src/inspect/verify/verify-remap.js';
import { buildRemap } from '../../../src/match/build-remap.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/start-sandbox.js';
import { type Db, openDatabase } from '../../../src/store/open.js';
import { newIo, withDatabase } from '../../report/support.js';
import { givenOf, type OptionValues, runNamed } from '../../support/given.js';
import { keysFor } from '../../support/sandbox-api.js';
import { alterDatabase } from '../../support/seal.js';
import { copyJob, doWholeJob, type Job } from '../../support/whole-job.js';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

interface Scene {
  readonly sandbox: Sandbox;
  readonly job: Job;
  /** Changes the database, which is otherwise closed. */
  spoil(sql: string): void;
  verify(options?: OptionValues, env?: Record<string, string>, changed?: Config): Promise<Verified>;
}

interface Verified {
  readonly code: number;
  readonly text: string;
}

interface Origin {
  readonly sandbox: Sandbox;
  readonly job: Job;
}

const SERVICE = { seed: 3, scale: 170 };

async function makeOrigin(): Promise<Origin> {
  const sandbox = await startSandbox(SERVICE);
  return { sandbox, job: await doWholeJob(sandbox) };
}

/** A service and what a whole job made of it. */
let shared: Origin;
beforeAll(async () => {
  shared = await makeOrigin();
});
afterAll(async () => {
  shared.job.close();
  await shared.sandbox.close();
});

/** With a copy of the database. */
function newScene({ sandbox, job: original } = shared): Scene {
  const job = copyJob(original);
  open.push(() => job.close());
  job.db.close();
  const { config } = job;
  return {
    sandbox,
    job,
    spoil: (sql) => alterDatabase(config.database, sql),
    verify: async (options = {}, env = keysFor(sandbox), changed = config) => {
      const io = newIo({ env, width: 400, clock: CLOCK });
      const code = await runNamed(
        'verify',
        givenOf(changed, { all: options['sample'] === undefined, ...options }),
        io,
      );
      return { code, text: io.stdout.text };
    },
  };
}

function withDb(file: string, work: (db: Db) => void): void {
  const db = openDatabase(file, 'write');
  try {
    work(db);
  } finally {
    db.close();
  }
}

/** When the scene was exported. */
const CLOCK = { now: () => Date.parse('2026-11-20T00:00:00Z') };
const SWAP = `
  UPDATE remap_row SET v4_svc_id = CASE v4_svc_id
    WHEN (SELECT v4_svc_id FROM pick LIMIT 1) THEN (SELECT v4_svc_id FROM pick LIMIT 1 OFFSET 1)
    ELSE (SELECT v4_svc_id FROM pick LIMIT 1) END
  WHERE id IN (SELECT row FROM pick)`;
const PICK = `
  CREATE TEMP TABLE pick AS SELECT id AS row, v4_svc_id FROM remap_entry
    WHERE model = 'payments/orders' AND status = 'matched' ORDER BY id LIMIT 2;`;

describe('verify', () => {
  it('proves every pair of a right remap and says how it was held', async () => {
    const { verify, sandbox } = newScene();
    const { code, text } = await verify();
    expect(code).toBe(0);
    const matched = [...sandbox.truth()].filter(({ status }) => status === 'matched').length;
    expect(text).toContain(`(${matched} matched, `);
    expect(text).toMatch(/^Remap of 2026-.* unchanged since it was built\.\n/);
    expect(text).toMatch(
      /\nAgainst both APIs: all [\d,]+ pairs \([\d,]+ matched, [\d,]+ deleted\)\.\n {2}[\d,]+ agree in company and platform_id, 0 disagree\n/,
    );
    expect(text).toMatch(/\nVerified: all pairs agree\.\nNext: svc-migrate help apply\n$/);
  });

  it('leads to check while the gate is red', async () => {
    const { verify, job } = newScene();
    const limits = { global: { matched: { kind: 'count', count: 0 } as const }, models: {} };
    const { code, text } = await verify({}, undefined, { ...job.config, limits });
    expect([code, text]).toEqual([0, expect.stringMatching(/\nNext: svc-migrate check\n$/)]);
  });

  it('samples, and draws the same sample from the same remap', async () => {
    const { verify, sandbox } = newScene();
    const before = sandbox.requests().length;
    const first = await verify({ sample: '30' });
    const asked = sandbox.requests().length;
    const again = await verify({ sample: '30' });
    const addresses = sandbox.requests().map(({ address }) => address);
    expect(addresses.slice(asked).sort()).toEqual(addresses.slice(before, asked).sort());
    expect(first.code).toBe(0);
    expect(again.text).toBe(first.text);
    expect(first.text).toMatch(
      /: \d+ of [\d,]+ pairs \([\d,]+ matched, [\d,]+ deleted\), drawn in proportion to \d+ models of companies, at least one of each\.\n/,
    );
    expect(sandbox.requests().length - asked).toBeLessThan(asked);
  });

  it('exits with 1 where two mappings are swapped, naming both', async () => {
    const { verify, spoil } = newScene();
    spoil(`${PICK} ${SWAP}`);
    const { code, text } = await verify({ json: '-' });
    const result: unknown = JSON.parse(text);
    expect(code).toBe(1);
    expect(result).toMatchObject({ exitCode: 1, disagree: 2 });
    expect(result).toMatchObject({
      disagreements: [{ code: 'platform_id_differs' }, { code: 'platform_id_differs' }],
    });
  });

  it('finds live what the export itself got wrong', async () => {
    const { verify, spoil, job } = newScene();
    spoil(`
      CREATE TEMP TABLE two AS SELECT r.id, r.platform_id AS key FROM record r JOIN stream s ON s.id = r.stream_id
        WHERE s.generation = 'v4' AND s.model = 'payments/orders' AND r.deleted = 0 AND r.platform_id IS NOT NULL
          AND s.id = (SELECT t.id FROM stream t JOIN record q ON q.stream_id = t.id WHERE t.generation = 'v4'
            AND t.model = 'payments/orders' GROUP BY t.id ORDER BY count(*) DESC LIMIT 1)
        ORDER BY r.id LIMIT 2;
      UPDATE record SET platform_id = (SELECT key FROM two WHERE two.id <> record.id) WHERE id IN (SELECT id FROM two)`);
    withDb(job.config.database, (db) => {
      buildRemap({ db, config: job.config, named: [], clock: CLOCK, onProgress: () => {} });
    });
    const { code, text } = await verify({ json: '-' });
    expect(code).toBe(1);
    expect(JSON.parse(text)).toMatchObject({ contradictions: [] });
    expect(JSON.parse(text).disagree).toBeGreaterThan(0);
  });

  it('exits with 4 where records could not be read, and stops at an outage', async () => {
    const scene = newScene(await makeOrigin());
    await scene.sandbox.close();
    const { port } = new URL(scene.sandbox.v4);
    const broken = await startSandbox({
      ...SERVICE,
      port: Number(port),
      faults: [{ name: '500', rate: 1 }],
    });
    open.push(() => broken.close());
    const config = { ...scene.job.config, http: { ...scene.job.config.http, attempts: 1 } };
    const { code, text } = await scene.verify({}, undefined, config);
    expect(code).toBe(4);
    expect(text).toMatch(
      /\n {2}\d+ could not be read, \d+ not asked for after that\. First: V[34].* answered 500 /,
    );
    expect(text).toMatch(/\nNot verified: not every pair could be read\.\nNext: svc-migrate verify\n$/);
  });

  it('exits with 5 where no pair is mapped, but with 4 while a list is not read', async () => {
    await withDatabase({ v3: [{ id: 1 }], v4: [{ id: 2 }] }, {}, async ({ config, write }) => {
      const notes: string[] = [];
      const onProgress: OnProgress = (event) => {
        if (event.kind === 'note') notes.push(`${event.level}: ${event.text}`);
      };
      const io = newIo({ env: { KEY: 'k' }, onProgress });
      expect(await runNamed('verify', givenOf(config, { sample: '5' }), io)).toBe(5);
      expect(io.stdout.text).toMatch(
        /There is nothing to verify: the remap holds no pair\.\nNext: svc-migrate run\n$/,
      );
      write((db) => db.exec("DELETE FROM meta; UPDATE stream SET state = 'failed' WHERE generation = 'v3'"));
      await expect(runNamed('verify', givenOf(config, { sample: '5' }), io)).rejects.toMatchObject({
        code: 'incomplete',
        message: expect.stringMatching(/^The remap holds no pair yet\. 1 V3 list not read to the end/),
        hint: 'Run `svc-migrate run`.',
      });
      expect(notes).toEqual([expect.stringMatching(/^warning: .*not read/)]);
    });
  });

  it('refuses a remap that is older than the export, a missing key and a wrong key', async () => {
    const { verify, spoil } = newScene();
    await expect(verify({}, {})).rejects.toMatchObject({ code: 'config' });
    const wrong = { SVC_MIGRATE_V3_API_KEY: 'x', SVC_MIGRATE_V4_API_KEY: 'x' };
    await expect(verify({}, wrong)).rejects.toMatchObject({ code: 'auth' });
    spoil("UPDATE meta SET value = value + 1 WHERE key = 'export_seq'");
    await expect(verify()).rejects.toMatchObject({ code: 'incomplete' });
  });
});

it('verify says what is wrong, gone, deleted since and not read', () => {
  const pair = {
    ...{ row: 1n, parent: null, model: 'payments/orders', path: '', region: 'eu', v3_company_id: 1n },
    ...{ v4_company_id: 2n, platform_id: 'k', v4_platform_id: 'k', parent_platform_id: null },
    ...{ v3_svc_id: 10n, v4_svc_id: 20n, status: 'matched', reason: null, matched_by: 'platform_id' },
  } as const;
  const side = { companyId: 1n, platformId: 'K', platformUniqueId: null, deleted: false };
  const wrong = { pair, code: 'platform_id_changed', v3: side, v4: { ...side, companyId: 2n } } as const;
  const result: VerifyResult = {
    remap: { builtAt: '2026-11-01T00:00:00Z', sha256: 'a'.repeat(64) },
    contradictions: [],
    coverage: { kind: 'all', pairs: 500, matched: 490, strata: 3, drawn: 500 },
    ...{ agree: 1, gone: 2, deletedSince: 1, failed: 200, unread: 280, firstError: 'V3 is down.' },
    wrong: new Array(11).fill(wrong),
  };
  const line =
    '  payments/orders V3 10 (eu, company 1) → V4 20 (company 2), platform_id k: both have another platform_id than when they were exported (V3 says company 1, platform_id K; V4 says company 2, platform_id K)';
  expect(renderVerify(result, 400, 'next').split('\n').slice(2)).toEqual([
    'Against both APIs: all 500 pairs (490 matched, 10 deleted).',
    '  1 agree in company and platform_id, 11 disagree',
    '  1 of them was deleted in V4 since the export',
    '  2 were deleted in V4 and are no longer shown: not proved',
    '  200 could not be read, 280 not asked for after that. First: V3 is down.',
    'Disagree:',
    ...new Array(10).fill(line),
    '  … and 1 more; --json lists more',
    'NOT verified: the remap is wrong somewhere. Do not use it; export again and verify again.',
    'Next: svc-migrate run',
    '',
  ]);
});
