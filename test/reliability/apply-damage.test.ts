import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApplyAction, type ApplyOptions, buildRequest } from '../../src/commands/apply-request.js';
import { runApplyJob } from '../../src/commands/apply-thread.js';
import { buildFingerprint, type Config } from '../../src/config/config.js';
import { exitCodeOf } from '../../src/errors.js';
import { buildRemap } from '../../src/match/build-remap.js';
import { Draw } from '../../src/sandbox/seeded-random.js';
import { saveFingerprint } from '../../src/store/fingerprint.js';
import { openDatabase } from '../../src/store/open.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { newIo } from '../report/support.js';
import { campaign } from '../support/campaign.js';
import { configOf, INVOICES, saveExported } from '../support/exported.js';
import { listRegions } from '../support/file-regions.js';

const RECORDS = 400;
const FLIPS = campaign({ small: 8, full: 60, soak: 4000 });
const SEED = 20261123;

let folder: string;
let config: Config;
let whole: Buffer;
/** The user's table before, and after a finished run in a new column. */
let before: string;
let applied: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-apply-damage-'));
  config = { ...configOf(), database: join(folder, 'remap.db'), file: join(folder, 'config.json') };
  const ids = Array.from({ length: RECORDS }, (_, at) => at + 1);
  const thing = (id: number, generation: number) => ({ id: id * generation, key: `key ${id}` });
  const db = openDatabase(config.database, 'create');
  saveExported(db, config, { v3: ids.map((id) => thing(id, 3)), v4: ids.map((id) => thing(id, 7)) });
  for (const generation of ['v3', 'v4'] as const) saveFingerprint(db, generation, buildFingerprint(config));
  buildRemap({ db, config, named: [], clock: { now: () => 0 }, onProgress: () => {} });
  db.close();
  whole = readFileSync(config.database);
  [before, applied] = ['before.db', 'applied.db'].map((name) => join(folder, name)) as [string, string];
  const user = new Sqlite(before);
  user.exec('CREATE TABLE t(k INTEGER PRIMARY KEY, i INTEGER)');
  for (const id of ids.filter((one) => one % 3 === 0))
    user.prepare('INSERT INTO t(i) VALUES (?)').run(BigInt(id * 3));
  user.close();
  await carryOut('write', before, {});
  copyFileSync(join(folder, 'user.db'), applied);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MODES: Readonly<Record<string, [from: () => string, action: ApplyAction, options: ApplyOptions]>> = {
  plan: [() => before, 'plan', {}],
  write: [() => before, 'write', {}],
  'write --in-place': [() => before, 'write', { inPlace: true }],
  'write --missing keep': [() => before, 'write', { inPlace: true, missing: 'keep', unknown: 'keep' }],
  'write --missing null': [() => before, 'write', { missing: 'null', unknown: 'keep' }],
  check: [() => applied, 'check', {}],
  verify: [() => applied, 'verify', {}],
  again: [() => applied, 'write', { inPlace: true, again: true }],
  sql: [() => before, 'sql', {}],
};

/** What `apply` answers and leaves behind, without times and names of runs. */
async function carryOut(action: ApplyAction, from: string, options: ApplyOptions): Promise<string> {
  const file = join(folder, 'user.db');
  const sql = join(folder, 'sql');
  rmSync(sql, { recursive: true, force: true });
  copyFileSync(from, file);
  const place = { targets: [file], ...(action === 'verify' ? {} : { table: 't', ids: [`i=${INVOICES}`] }) };
  const emit = action === 'sql' ? ({ dialect: 'sqlite', layout: 'plain', folder: sql } as const) : null;
  const request = buildRequest(action, { ...place, ...options }, { config, env: {}, emit });
  const result = await runApplyJob(
    { config, request, agreed: null, isVerbose: true },
    { ...newIo(), startMs: 0 },
  );
  const user = new Sqlite(file, { readonly: true });
  const tables = user
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
    .pluck()
    .all();
  const rows = tables.map((table) => [table, user.prepare(`SELECT * FROM ${table}`).raw().all()]);
  user.close();
  const names = existsSync(sql) ? readdirSync(sql).sort() : [];
  const texts = names.map((one) => readFileSync(join(sql, one), 'utf8'));
  return JSON.stringify({ result, rows, texts }, (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  )
    .replaceAll(/\d{8}T?[-_]?\d{6}Z?[-_][0-9a-f]{4,}/g, 'RUN')
    .replaceAll(/[0-9a-f]{64}/g, 'SHA');
}

async function askAll(): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  for (const [name, [from, action, options]] of Object.entries(MODES)) {
    try {
      answers.set(name, await carryOut(action, from(), options));
    } catch (error) {
      const code = exitCodeOf(error);
      answers.set(name, code === 6 ? '6' : `${code} ${error instanceof Error ? error.stack : error}`);
    }
  }
  return answers;
}

describe('apply with a damaged remap', () => {
  it(`does what it would do or nothing after ${FLIPS} single flipped bits`, async () => {
    writeFileSync(config.database, whole);
    const regions = listRegions(config.database, whole);
    const expected = await askAll();
    for (const [name, said] of expected)
      expect([name, said]).toEqual([
        name,
        expect.stringMatching(name === 'check' ? /133 map; none/ : /^\{"result":\{"exitCode":0,/),
      ]);
    // without damage, every run says and does the same
    expect(await askAll()).toEqual(expected);
    const draw = new Draw(SEED);
    const wrong: string[] = [];
    let refused = 0;
    let right = 0;
    for (let turn = 0; turn < FLIPS; turn++) {
      const region = regions[Math.floor((turn * regions.length) / FLIPS) % regions.length];
      if (region === undefined) throw new Error('no region');
      const [at, bit] = [region.from + draw.below(region.length), draw.below(8)];
      const bytes = Buffer.from(whole);
      bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at);
      writeFileSync(config.database, bytes);
      for (const [name, said] of await askAll()) {
        if (said === '6') refused += 1;
        else if (said === expected.get(name)) right += 1;
        else wrong.push(`bit ${bit} of byte ${at}: ${name}: ${said.slice(0, 400)}`);
      }
    }
    process.stdout.write(
      `apply with flipped bits: ${FLIPS} cases, ${right} runs right, ${refused} refused\n`,
    );
    expect(wrong).toEqual([]);
    expect(refused).toBeGreaterThan(0);
  }, 3_600_000);
});
