import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SvcError } from '../../src/errors.js';
import { newIo } from '../report/support.js';
import { givenOf, type OptionValues, runNamed } from '../support/given.js';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

interface Ready {
  readonly v3: Readonly<Record<string, string>>;
  readonly v4: string;
  readonly apiKey: string;
  readonly seed: number;
}

/** Runs the command until `use` is done with the service. */
async function withSandbox(
  command: OptionValues,
  use: (ready: Ready) => Promise<void> = async () => {},
): Promise<number> {
  const stdout = new PassThrough();
  const stop = new AbortController();
  const run = runNamed('sandbox', givenOf(null, command), {
    ...newIo(),
    stdout,
    signal: stop.signal,
  });
  const line = await Promise.race([
    new Promise<string>((resolve) => stdout.once('data', (piece: Buffer) => resolve(piece.toString('utf8')))),
    run.then(() => ''),
  ]);
  expect(line.endsWith('\n')).toBe(true);
  await use(JSON.parse(line) as Ready);
  stop.abort();
  return run;
}

async function failureOf(command: OptionValues): Promise<string> {
  try {
    await withSandbox(command);
  } catch (error) {
    if (error instanceof SvcError) return error.code;
    throw error;
  }
  return 'none';
}

describe('sandbox', () => {
  it('prints lines to copy on a terminal', async () => {
    const stdout = new PassThrough();
    const stop = new AbortController();
    const given = givenOf(null, { seed: '9', configOut: join(folder, 'c.json'), fault: [] });
    const notes: string[] = [];
    const run = runNamed('sandbox', given, {
      ...newIo(),
      stdout,
      signal: stop.signal,
      isTty: true,
      onProgress: (event) => notes.push(event.kind === 'note' ? event.text : ''),
    });
    const banner = await new Promise<string>((done) => stdout.once('data', (text) => done(String(text))));
    stop.abort();
    await run;
    const key = /SVC_MIGRATE_V3_API_KEY=(\S+)\n {2}export SVC_MIGRATE_V4_API_KEY=\1\n/.exec(banner)?.[1];
    expect(key).toMatch(/^sandbox-/);
    expect(banner).toContain(`  svc-migrate run --config ${join(folder, 'c.json')}\n`);
    expect(notes).toEqual(['Preparing a sandbox with its records …']);
  });

  it('prints where it is and with which key, serves, and ends with the signal', async () => {
    let address = '';
    const code = await withSandbox({ seed: '9', fault: [] }, async ({ v3, apiKey, seed }) => {
      address = `${v3['default']}/payments/items`;
      expect((await fetch(address, { headers: { api_key: apiKey } })).status).toBe(200);
      expect(seed).toBe(9);
    });
    expect(code).toBe(0);
    await expect(fetch(address)).rejects.toThrow();
  });

  it('writes truth and configuration whole, for their owner only', async () => {
    const truth = join(folder, 'truth.ndjson');
    const configOut = join(folder, 'config.json');
    await withSandbox({ truth, configOut, scenario: 'ugly', fault: [] }, async ({ v3, v4 }) => {
      const rows = readFileSync(truth, 'utf8').trimEnd().split('\n');
      expect(rows.length).toBeGreaterThan(1000);
      expect(rows.every((row) => 'status' in JSON.parse(row))).toBe(true);
      expect(JSON.parse(readFileSync(configOut, 'utf8'))).toMatchObject({
        v3: { regions: { eu: { baseUrl: v3['eu'] }, us: { baseUrl: v3['us'] } } },
        v4: { baseUrl: v4 },
      });
    });
    expect(readdirSync(folder).sort()).toEqual(['config.json', 'truth.ndjson']);
    for (const file of [truth, configOut]) expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('writes the truth once more where the service changed', async () => {
    const truth = join(folder, 'truth.ndjson');
    await withSandbox({ truth, fault: ['mutate:1'] }, async ({ v3, apiKey }) => {
      expect(readFileSync(truth, 'utf8').match(/"reason":null,"stable":false/g)).toBeNull();
      for (let request = 0; request < 20; request++) {
        await fetch(`${v3['default']}/accounting/invoices?limit=1`, { headers: { api_key: apiKey } });
      }
    });
    expect(readFileSync(truth, 'utf8').match(/"reason":null,"stable":false/g)?.length).toBeGreaterThan(0);
  });

  it('refuses what it does not understand', async () => {
    const wrong: readonly OptionValues[] = [
      { seed: 'x' },
      { port: '70000' },
      { records: '-1' },

      { window: '1' },
      { events: 'nowhere' },
      { backfillSeconds: '1.5' },
      { fault: ['nothing'] },
      { fault: ['429:7'] },
      { quirk: ['nothing'] },
    ];
    for (const command of wrong) {
      expect(await failureOf({ fault: [], ...command }), JSON.stringify(command)).toBe('usage');
    }
    expect(await failureOf({ truth: join(folder, 'no', 'folder'), fault: [] })).toBe('output');
  });
});
