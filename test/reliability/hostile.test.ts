import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { parquetReadObjects } from 'hyparquet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { validateXML } from 'xmllint-wasm';
import { readRemapRows } from '../contract.js';
import { campaignCases } from '../support/campaign.js';
import { makeFastFolder } from '../support/fast-folder.js';
import { type HostileScene, openHostileScene, V3_COMPANY } from '../support/hostile-scene.js';
import { startHostileService } from '../support/hostile-service.js';
import { HOSTILE_VALUES } from '../support/hostile-values.js';
import { type Ended, keysOf, runCli } from '../support/run-cli.js';

const CONFIG = 'svc-migrate.config.json';
const FILES = {
  json: 'report.json',
  ndjson: 'findings.ndjson',
  markdown: 'report.md',
  html: 'report.html',
  junit: 'junit.xml',
};
/** Control, bidi and other invisible characters. Line feeds are for the caller to judge. */
const STEERING =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/u;

interface Job {
  readonly scene: HostileScene;
  readonly folder: string;
  /** Runs a command; its stderr must be clean. */
  run(...args: string[]): Promise<Ended>;
  read(name: string): string;
}

let hostile: Job;
/** The same job with harmless texts: its documents must have the same structure. */
let harmless: Job;
let cleanBytes = 0;

beforeAll(async () => {
  hostile = await openJob(await openHostileScene(campaignCases(HOSTILE_VALUES, 40)));
  harmless = await openJob(await openHostileScene(hostile.scene.values.map((_, at) => `harmless ${at}`)));
});
afterAll(async () => {
  for (const { scene, folder } of [hostile, harmless]) {
    await scene.service.close();
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`${cleanBytes} bytes of output for people were clean\n`);
});

async function openJob(scene: HostileScene): Promise<Job> {
  const folder = makeFastFolder();
  writeFileSync(join(folder, CONFIG), JSON.stringify(scene.config()));
  const job: Job = {
    scene,
    folder,
    run: async (...args) => {
      const ended = await runCli(args, { cwd: folder, env: keysOf(scene.apiKey) });
      expectClean(ended.stderr);
      return ended;
    },
    read: (name) => readFileSync(join(folder, name), 'utf8'),
  };
  const files = Object.entries(FILES).flatMap(([flag, file]) => [`--${flag}`, file]);
  const ended = await job.run('run', '--verbose', ...files);
  expect([ended.code, ended.stderr.slice(-500)]).toEqual([1, expect.anything()]);
  expectClean(ended.stdout);
  return job;
}

function expectClean(text: string): void {
  const place = STEERING.exec(text)?.index ?? -1;
  expect(place < 0 ? '' : text.slice(Math.max(0, place - 80), place + 20)).toBe('');
  cleanBytes += text.length;
}

/** One row of the remap as this test knows it. */
type Row = readonly [path: string, v3: string, v4: string, platformId: string, status: string];

/** The rows of the remap, from the service's own lists. */
function truthOf({ pairs, values }: HostileScene): string[] {
  const rows: Row[] = [
    ...pairs.flatMap(({ value, v3Id, v4Id, v3ChildId, v4ChildId }): Row[] => [
      ['', String(v3Id), String(v4Id), value, 'matched'],
      ['line_items', String(v3ChildId), String(v4ChildId), value, 'matched'],
    ]),
    ...values.flatMap((value, at): Row[] => [
      ['', String(1000 + at), '', value, 'unmatched/unexplained'],
      ['', '', String(5000 + at), value, 'v4_only/unexplained'],
      ['', String(at), '', value, 'unmatched/outside_backfill_window'],
    ]),
  ];
  return rows.map((row) => JSON.stringify(row)).sort();
}

type Cells = Readonly<Record<string, unknown>>;

function linesOf(rows: readonly Cells[]): string[] {
  const text = (cell: unknown): string => (cell === null || cell === undefined ? '' : String(cell));
  return rows
    .map((row) => {
      const status = [row['status'], row['reason']].map(text).filter((part) => part !== '');
      const ids = [row['path'], row['v3_svc_id'], row['v4_svc_id'], row['platform_id']].map(text);
      return JSON.stringify([...ids, status.join('/')]);
    })
    .sort();
}

function parseLines(ndjson: string): Cells[] {
  return ndjson
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Cells);
}

describe('hostile texts arrive as they are', () => {
  it('in the remap, with ids that JavaScript numbers cannot hold', () => {
    const rows = readRemapRows(hostile.folder);
    expect(linesOf(rows)).toEqual(truthOf(hostile.scene));
    process.stdout.write(`${hostile.scene.values.length} hostile texts, ${rows.length} rows exact\n`);
    expect(HOSTILE_VALUES.length).toBeGreaterThanOrEqual(300);
  });

  it('in every format of the dump, as other readers see them', async () => {
    const csv = await hostile.run('dump');
    expect(linesOf(parse(csv.stdout, { columns: true }))).toEqual(truthOf(hostile.scene));
    const ndjson = await hostile.run('dump', '--format', 'ndjson');
    expect(linesOf(parseLines(ndjson.stdout))).toEqual(truthOf(hostile.scene));
    expect((await hostile.run('dump', '--format', 'parquet', '--output', 'remap.parquet')).code).toBe(0);
    const bytes = readFileSync(join(hostile.folder, 'remap.parquet'));
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
    expect(linesOf(await parquetReadObjects({ file }))).toEqual(truthOf(hostile.scene));
  });

  it('in the findings and the answers of lookup', async () => {
    const findings = parseLines(hostile.read(FILES.ndjson));
    const open = truthOf(hostile.scene).filter((line) => !line.endsWith('"matched"]'));
    expect(linesOf(findings)).toEqual(open);
    const ids = hostile.scene.pairs.map(({ v3Id }) => String(v3Id));
    const { stdout } = await hostile.run('lookup', 'accounting/invoices', ...ids, '--json', '-');
    expect(parseLines(stdout).map((answer) => [answer['v3_svc_id'], answer['v4_svc_id']])).toEqual(
      hostile.scene.pairs.map(({ v3Id, v4Id }) => [String(v3Id), String(v4Id)]),
    );
  });
});

describe('hostile texts cannot leave their place', () => {
  it('in what commands print for people', async () => {
    const commands = [
      ['report'],
      ['check', '--verbose'],
      ['status', '--verbose'],
      ['findings'],
      ['verify'],
      ['report', '--markdown', '-'],
      ['report', '--json', '-'],
      ['report', '--ndjson', '-'],
      ['dump', '--format', 'ndjson'],
      ['findings', '--write-decisions', 'draft.csv'],
    ];
    for (const args of [...campaignCases(commands, 4), ['export', 'v3', '--verbose'], ['remap']]) {
      const { code, stdout } = await hostile.run(...args);
      expect([0, 1], args.join(' ')).toContain(code);
      expectClean(stdout);
    }
  });

  it('in what explain prints of every record, and its JSON is exact', async () => {
    const pairs = campaignCases(hostile.scene.pairs, 6);
    for (const { value, v3Id } of pairs) {
      const ended = await hostile.run('explain', 'accounting/invoices', String(v3Id));
      expect(ended.code).toBe(0);
      expectClean(ended.stdout);
      const { stdout } = await hostile.run('explain', 'accounting/invoices', String(v3Id), '--json', '-');
      expectClean(stdout);
      expect(JSON.stringify(JSON.parse(stdout))).toContain(JSON.stringify(value));
    }
  });

  it('in HTML, Markdown and XML: their structure is that of harmless texts', async () => {
    const tagsOf = (html: string) => html.match(/<\/?[a-zA-Z!][^\s>]*/g);
    expect(tagsOf(hostile.read(FILES.html))).toEqual(tagsOf(harmless.read(FILES.html)));
    expect(hostile.read(FILES.html)).not.toMatch(/<script|<img|<iframe|<base/i);
    expect(hostile.read(FILES.html)).toMatch(/default-src (?:'|&#39;)none/);
    const shapeOf = (markdown: string) =>
      markdown.split('\n').map((line) => `${/^[#>*|<-]*/.exec(line)?.[0]} ${line.split('|').length}`);
    expect(shapeOf(hostile.read(FILES.markdown))).toEqual(shapeOf(harmless.read(FILES.markdown)));
    for (const name of [FILES.html, FILES.markdown, FILES.junit]) expectClean(hostile.read(name));
    const xml = { fileName: 'report.xml', contents: hostile.read(FILES.junit) };
    expect((await validateXML({ xml, normalization: 'c14n' })).errors).toEqual([]);
    expect(JSON.parse(hostile.read(FILES.json)).fullSync).toMatchObject([
      { v3CompanyId: String(V3_COMPANY), model: 'ecommerce/orders' },
    ]);
  });

  it('where pairs disagree', async () => {
    hostile.scene.swapKeys();
    const text = await hostile.run('verify', '--sample', '1000');
    expect(text.code).toBe(1);
    expectClean(text.stdout);
  });

  it('in errors worded by the service', async () => {
    let refused = 0;
    const statuses = [400, 405, 409, 418, 422];
    const service = await startHostileService({
      v4CompanyId: 1n,
      others: Array.from({ length: 40 }, (_, at) => BigInt(2 + at)),
      texts: ['req-1', 'req-2'],
      lists: { v3: { 'accounting/invoices': [] }, v4: {} },
      refuse: () => {
        const text = JSON.stringify(HOSTILE_VALUES[(refused * 7) % HOSTILE_VALUES.length]);
        const status = statuses[refused % statuses.length] ?? 400;
        refused += 1;
        const body = `{"error":{"code":${text},"message":${text}},"request_id":${text},"data":${text}}`;
        return { status, body: refused % 3 === 0 ? (JSON.parse(text) as string) : body };
      },
    });
    const folder = makeFastFolder();
    const speed = { pageSize: 5, requestsPerSecond: 10_000 };
    const config = {
      v3: { regions: { default: { baseUrl: `${service.origin}/v3` } }, ...speed },
      v4: { baseUrl: service.origin, includeDeleted: false, ...speed },
      models: [{ v3: 'accounting/invoices', v4: 'invoices' }],
    };
    writeFileSync(join(folder, CONFIG), JSON.stringify(config));
    const outputs = ['--html', 'a.html', '--junit', 'a.xml', '--markdown', 'a.md'];
    for (const args of [
      ['export', 'v4', '--verbose'],
      ['run', '--json', '-', ...outputs],
      ['status', '--verbose'],
      ['report'],
    ]) {
      const { code, stdout, stderr } = await runCli(args, { cwd: folder, env: keysOf('k') });
      expect([0, 4], stderr.slice(0, 500)).toContain(code);
      expectClean(stdout + stderr);
    }
    for (const name of ['a.html', 'a.xml', 'a.md']) expectClean(readFileSync(join(folder, name), 'utf8'));
    expect(refused).toBeGreaterThan(80);
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });
});
