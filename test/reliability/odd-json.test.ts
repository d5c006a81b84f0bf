import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Sqlite } from '../../src/store/sqlite.js';
import { type Ended, keysOf, runCli } from '../cli/run-cli.js';
import { makeFastFolder } from '../support/fast-folder.js';
import { type HostileItem, type HostileService, startHostileService } from '../support/hostile-service.js';

/** Members of a record beside its ids, and the key they must be read as. */
const KEYS: readonly (readonly [members: string, platformId: string | null])[] = [
  ['"platform_id":9007199254740991', '9007199254740991'],
  ['"platform_id":9007199254740993', '9007199254740993'],
  ['"platform_id":9223372036854775807', '9223372036854775807'],
  ['"platform_id":9223372036854775808', '9223372036854775808'],
  ['"platform_id":123456789012345678901234567890', '123456789012345678901234567890'],
  ['"platform_id":-5', '-5'],
  ['"platform_id":1.5', null],
  ['"platform_id":1e3', null],
  ['"platform_id":1.0', null],
  ['"platform_id":true', null],
  ['"platform_id":null', null],
  ['"platform_id":""', null],
  ['"platform_id":{"a":1}', null],
  ['"platform_id":["a"]', null],
  ['"platform_id":"\\ud800"', null],
  ['"platform_id":"a\\udfffb"', null],
  ['"platform_id":"\\ud83d\\ude00"', '\u{1f600}'],
  ['"platform_id":"\\u0000"', '\u0000'],
  ['"platform_id":"first","platform_id":"last"', 'last'],
  ['"platform_id":"text","platform_id":null', null],
  ['"platform_id":"p1","__proto__":{"platform_id":"x","svc_id":1}', 'p1'],
  ['"platform_id":"p2","constructor":{"prototype":{"a":1}}', 'p2'],
  ['"\\u0070latform_id":"escaped name"', 'escaped name'],
  ['"platform_id":"p3","Platform_id":"x","platform_id ":"y","PLATFORM_ID":"z"', 'p3'],
  ['"platform_id":"p4","platform_unique_id":"u","platform_unique_id":7', 'p4'],
  [`"platform_id":"d1","memo":${lists(500)}`, 'd1'],
  [`"platform_id":"d2","memo":${lists(1_500)}`, 'd2'],
  [`"platform_id":"d3","memo":${objects(3_000)}`, 'd3'],
  [`"platform_id":"d4","memo":${lists(100_000)}`, 'd4'],
  [`"platform_id":"d5","raw_data":${objects(100_000)}`, 'd5'],
  ['"platform_id":"n1","amount":1e400', 'n1'],
  ['"platform_id":"n2","amount":-0', 'n2'],
  [`"platform_id":"n3","amount":${'9'.repeat(5_000)}`, 'n3'],
  [`"platform_id":"n4",${Array.from({ length: 3_000 }, (_, at) => `"f${at}":${at}`).join(',')}`, 'n4'],
];

/** Objects that are no records, and why. */
const REJECTED: readonly (readonly [text: string, reason: string])[] = [
  ['"text"', 'not_an_object'],
  ['17', 'not_an_object'],
  ['null', 'not_an_object'],
  ['[]', 'not_an_object'],
  [lists(20_000), 'not_an_object'],
  ['{}', 'no_svc_id'],
  ['{"svc_id":null,"svc_company_id":7}', 'no_svc_id'],
  ['{"svc_id":"5","svc_company_id":7}', 'bad_svc_id'],
  ['{"svc_id":1.0,"svc_company_id":7}', 'bad_svc_id'],
  ['{"svc_id":1e3,"svc_company_id":7}', 'bad_svc_id'],
  ['{"svc_id":9223372036854775808,"svc_company_id":7}', 'bad_svc_id'],
  ['{"svc_id":-9223372036854775809,"svc_company_id":7}', 'bad_svc_id'],
  ['{"svc_id":true,"svc_company_id":7}', 'bad_svc_id'],
  ['{"svc_id":{"svc_id":5},"svc_company_id":7}', 'bad_svc_id'],
  ['{"svc_id":5,"svc_id":"6","svc_company_id":7}', 'bad_svc_id'],
  ['{"svc_id":5}', 'no_company_id'],
  ['{"svc_id":5,"svc_company_id":"7"}', 'bad_company_id'],
  ['{"svc_id":5,"svc_company_id":7.0}', 'bad_company_id'],
];

const IDS = [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n, 2n ** 53n + 1n, 2n ** 53n - 1n, 0n, -1n];

function lists(depth: number): string {
  return `${'['.repeat(depth)}1${']'.repeat(depth)}`;
}

function objects(depth: number): string {
  return `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
}

function idAt(at: number): bigint {
  return IDS[at] ?? BigInt(at);
}

function recordOf(company: number, svcId: bigint, members: string, platformId: string | null): HostileItem {
  const text = `{"svc_id":${svcId},"svc_company_id":${company},"name":"n",${members}}`;
  return { svcId, platformId, text };
}

let service: HostileService;
let folder = '';
const run = (...args: string[]): Promise<Ended> =>
  runCli(args, { cwd: folder, env: keysOf('odd-canary-key') });

beforeAll(async () => {
  const bad = REJECTED.map(([text]) => ({ svcId: 0n, platformId: null, text }));
  const records = KEYS.map(([members, key], at) => recordOf(7, idAt(at), members, key));
  // What lies deepest differs.
  const twins = KEYS.map(([members, key], at) =>
    recordOf(8, BigInt(1000 + at), members.replace('[1]', '[2]').replace('"a":1}}', '"a":2}}'), key),
  );
  service = await startHostileService({
    v4CompanyId: 8n,
    texts: Array.from({ length: 100 }, (_, at) => `cursor ${at}`),
    lists: { v3: { 'crm/stages': [...records, ...bad] }, v4: { stages: twins } },
  });
  folder = makeFastFolder();
  const speed = { pageSize: 5, requestsPerSecond: 10_000 };
  const config = {
    v3: { regions: { default: { baseUrl: `${service.origin}/v3` } }, ...speed },
    v4: { baseUrl: service.origin, ...speed },
    models: [{ v3: 'crm/stages', v4: 'stages' }],
  };
  writeFileSync(join(folder, 'svc-migrate.config.json'), JSON.stringify(config));
  expect((await run('run', '--ndjson', 'findings.ndjson')).code).toBe(1);
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

function query(sql: string): unknown[] {
  const db = new Sqlite(join(folder, 'svc-migrate.db'), { readonly: true }).defaultSafeIntegers(true);
  const rows = db.prepare(sql).raw().all();
  db.close();
  return rows;
}

describe('JSON that few would send', () => {
  it('gives records with exact ids and the keys that the contract says', () => {
    const rows = query(
      'SELECT v3_svc_id, platform_id FROM remap_entry WHERE v3_svc_id IS NOT NULL ORDER BY id',
    );
    const wanted = KEYS.map(([, key], at) => [idAt(at), key]);
    expect(new Map(rows as [bigint, string | null][])).toEqual(new Map(wanted as [bigint, string | null][]));
    const pairs = KEYS.flatMap(([, key], at) => (key === null ? [] : [[idAt(at), BigInt(1000 + at)]]));
    expect(
      new Map(query("SELECT v3_svc_id, v4_svc_id FROM remap WHERE status = 'matched'") as [bigint, bigint][]),
    ).toEqual(new Map(pairs as [bigint, bigint][]));
    process.stdout.write(`${KEYS.length} odd records, ${REJECTED.length} odd objects\n`);
  });

  it('lists what is no record, raw and with its reason', () => {
    expect(query('SELECT CAST(raw AS TEXT), reason FROM rejected ORDER BY page, position')).toEqual(
      REJECTED.map(([text, reason]) => [text, reason]),
    );
  });

  it('stops no command, however deep', async () => {
    for (const args of [['verify', '--all'], ['recheck'], ['report', '--html', 'x.html'], ['dump']]) {
      expect([0, 1], args.join(' ')).toContain((await run(...args)).code);
    }
    for (const at of KEYS.keys()) {
      if (!KEYS[at]?.[0].includes('"d')) continue;
      const { code, stdout } = await run('explain', 'crm/stages', String(idAt(at)), '--json', '-');
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ stories: [{ row: { v3_svc_id: String(idAt(at)) } }] });
    }
  });

  it('tells of values that are too deep to be compared', () => {
    const drifted = query('SELECT platform_id FROM drift ORDER BY platform_id').flat();
    expect(drifted).toEqual(['d1', 'd2', 'd3', 'd4', 'p2']);
  });
});
