import { watch } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { Sqlite } from '../../src/store/sqlite.js';
import { readCells } from '../contract.js';
import { campaignCases, campaignSize } from '../support/campaign.js';
import { openProject } from '../support/project.js';
import type { Ended } from '../support/run-cli.js';
import { spawnCli } from '../support/spawn-cli.js';

/** A signal ends everything within two seconds; machines that run tests may be this much slower. */
const WITHIN_MS = 2000 * 5;
/** Copies of each record: long statements take longer with more. */
const COPIES = campaignSize({ small: 60, full: 400 });
/** Times after a command opened its database, ms. */
const MOMENTS = campaignSize({ small: [0], full: [0, 20, 60, 200] });

const { at, cwd: folder, run } = await openProject({ seed: 31, scale: 100, companies: 1 });
let before: string;

beforeAll(async () => {
  expect((await run('run', '--quiet')).code).toBe(0);
  multiplyRecords();
  expect((await run('remap', '--quiet')).code).toBe(0);
  before = contents();
});

/** Gives each live record copies with ids and keys of their own; twins stay twins. Copies have no children. */
function multiplyRecords(): void {
  const file = join(folder, 'svc-migrate.db');
  const names = readCells<{ name: string }>(file, "select name from pragma_table_info('record')").map(
    ({ name }) => name,
  );
  const copied = names.filter((name) => name !== 'id');
  const values = copied.map((name) => {
    if (name === 'svc_id') return 'svc_id + n.i * 1000000';
    if (name === 'platform_id') return "platform_id || '-' || n.i";
    return name === 'unique_id' ? 'null' : name.startsWith('child_') ? '0' : name;
  });
  const db = new Sqlite(file);
  db.exec(`
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${COPIES})
    insert into record(${copied.join(', ')})
    select ${values.join(', ')} from record cross join n where platform_id is not null and deleted = 0;
    update stream set unique_records = (select count(*) from record where stream_id = stream.id)`);
  db.close();
}

/** The digest of the remap, and whether the file is sound. */
function contents(): string {
  const file = join(folder, 'svc-migrate.db');
  return JSON.stringify([
    readCells(file, 'select sha256 from remap_run'),
    readCells(file, 'pragma quick_check'),
  ]);
}

/** Runs a command that gets signals some time after it touched the first file. */
async function interrupt(args: readonly string[], signals: readonly NodeJS.Signals[], laterMs = 0) {
  let signalledMs = Number.NaN;
  const watcher = watch(folder);
  const ended = await spawnCli([...args, '--quiet'], {
    ...at,
    onStart: (child) =>
      watcher.once('change', () =>
        setTimeout(() => {
          signalledMs = performance.now();
          for (const signal of signals) child.kill(signal);
        }, laterMs),
      ),
  });
  watcher.close();
  return { ...ended, waitedMs: performance.now() - signalledMs };
}

function expectStopped(ended: Ended & { readonly waitedMs: number }, codes: readonly number[]): void {
  expect(codes, ended.stderr).toContain(ended.code);
  // Not a number where the command was faster than the signal.
  expect(ended.waitedMs > WITHIN_MS).toBe(false);
  expect(ended.stderr).not.toMatch(/\n\s+at |this is a bug/);
}

describe('a signal in the middle of long work', () => {
  const interrupted = ['remap', 'check'].map((line) => ['SIGINT', 130, line] as const);
  const terminated = ['dump --output remap.csv', 'report --ndjson findings.ndjson --html report.html'].map(
    (line) => ['SIGTERM', 143, line] as const,
  );
  const cases = campaignCases([...interrupted, ...terminated], 2);
  it.each(cases)('%s ends with %i: %s, and everything stays as it was', async (signal, code, line) => {
    let stopped = 0;
    for (const laterMs of MOMENTS) {
      const ended = await interrupt(line.split(' '), [signal], laterMs);
      // 0 and 1: it was faster this time.
      expectStopped(ended, [code, 0, 1]);
      expect(contents()).toBe(before);
      if (ended.code === code) stopped += 1;
    }
    expect(stopped).toBeGreaterThan(0);
  });

  it('is answered by the second one at once', async () => {
    const ended = await interrupt(['remap'], ['SIGINT', 'SIGTERM']);
    expectStopped(ended, [130, 143]);
    expect(contents()).toBe(before);
  });

  it('ends an export, which goes on afterwards', async () => {
    const database = ['--db', join(folder, 'other.db')];
    expectStopped(await interrupt(['export', ...database], ['SIGINT']), [130]);
    expect((await run('run', '--quiet', ...database)).code).toBe(0);
  });
});
