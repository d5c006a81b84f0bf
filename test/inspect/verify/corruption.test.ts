import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Api } from '../../../src/api/client.js';
import type { ParsedRecord } from '../../../src/domain.js';
import { createLiveReader, type PairReader, type RecordRef } from '../../../src/inspect/live-records.js';
import { createRandom, type VerifyResult, verifyRemap } from '../../../src/inspect/verify/verify-remap.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/start-sandbox.js';
import { campaign } from '../../support/campaign.js';
import { allowEdits } from '../../support/remap-edits.js';
import { openSandboxApi } from '../../support/sandbox-api.js';
import { doWholeJob, type Job } from '../../support/whole-job.js';
import { CORRUPTIONS, type Corruption } from './corruptions.js';

/** Of each kind. */
const TIMES = campaign({ small: 1, full: 20, soak: 500 });

let sandbox: Sandbox;
let job: Job;
let api: Api;
let reader: PairReader;

beforeAll(async () => {
  sandbox = await startSandbox({ seed: 5, scenario: 'ugly', scale: 250 });
  job = await doWholeJob(sandbox);
  const { config } = job;
  api = openSandboxApi(sandbox, config);
  reader = remember(createLiveReader(api, config));
});
afterAll(async () => {
  await api.close();
  job.close();
  await sandbox.close();
});

/** Each record is asked for once, however often it is read. */
function remember(inner: PairReader): PairReader {
  const known = new Map<string, Promise<ParsedRecord | null>>();
  const once = (side: string, ref: RecordRef, read: () => Promise<ParsedRecord | null>) => {
    const name = `${side} ${ref.model} ${ref.region} ${ref.companyId} ${ref.svcId}`;
    const reading = known.get(name) ?? read();
    known.set(name, reading);
    return reading;
  };
  return {
    readV3: (ref) => once('v3', ref, () => inner.readV3(ref)),
    readV4: (ref) => once('v4', ref, () => inner.readV4(ref)),
  };
}

function verifyAll(): Promise<VerifyResult> {
  const { db, config } = job;
  return verifyRemap({
    db,
    config,
    reader,
    sample: null,
    onProgress: () => {},
    runUninterruptible: async (work) => work(),
  });
}

describe('verify --all', () => {
  it('finds nothing wrong with a remap as it was built', async () => {
    const result = await verifyAll();
    expect(result).toMatchObject({
      contradictions: [],
      wrong: [],
      failed: 0,
      unread: 0,
      gone: 0,
    });
    expect(result.agree).toBe(result.coverage.pairs);
    expect(result.coverage.pairs).toBeGreaterThan(150);
  });

  it(`finds every one of ${Object.keys(CORRUPTIONS).length * TIMES} single corruptions`, async () => {
    const lines: string[] = [];
    const missed: string[] = [];
    let total = 0;
    for (const [name, corrupt] of Object.entries(CORRUPTIONS)) {
      const found = { both: 0, export: 0, live: 0 };
      for (let seed = 1; seed <= TIMES; seed++) {
        const result = await verifySpoilt(corrupt, seed);
        const [inExport, live] = [result.contradictions.length > 0, result.wrong.length > 0];
        total += 1;
        if (inExport && live) found.both += 1;
        else if (inExport) found.export += 1;
        else if (live) found.live += 1;
        else missed.push(`${name}, seed ${seed}`);
      }
      lines.push(`  ${name}: ${found.both} both ways, ${found.export} by the export, ${found.live} live`);
    }
    process.stdout.write(
      `verify --all: ${total} corruptions, ${missed.length} missed\n${lines.join('\n')}\n`,
    );
    expect(missed).toEqual([]);
    expect(total).toBeGreaterThanOrEqual(10 * TIMES);
  }, 3_600_000);
});

/** The result for a remap that was spoilt once and is whole again afterwards. */
async function verifySpoilt(corrupt: Corruption, seed: number): Promise<VerifyResult> {
  const { db } = job;
  const random = createRandom(seed);
  allowEdits(db);
  db.exec('SAVEPOINT whole');
  try {
    for (let tries = 0; !corrupt(db, random); tries++) {
      if (tries > 20) throw new Error('It changes nothing however often it is tried.');
    }
    return await verifyAll();
  } finally {
    db.exec('ROLLBACK TO whole; RELEASE whole');
  }
}
