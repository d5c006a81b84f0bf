import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { validateXML } from 'xmllint-wasm';
import type { Config } from '../../src/config/config.js';
import { parseConfigValue } from '../../src/config/load-config.js';
import { renderHtml } from '../../src/report/render-html.js';
import { renderMarkdown } from '../../src/report/render-markdown.js';
import { reportSchema } from '../../src/report/report-schema.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { displayWidth } from '../../src/text/text-layout.js';
import { type Ended, keysOf, runCli } from '../cli/run-cli.js';
import { newIo } from '../report/support.js';
import { campaignCases } from '../support/campaign.js';
import { makeFastFolder } from '../support/fast-folder.js';
import { givenOf, runNamed } from '../support/given.js';
import { type HostileScene, openHostileScene, V3_COMPANY, V4_COMPANY } from '../support/hostile-scene.js';
import { HOSTILE_VALUES } from '../support/hostile-values.js';
import { readStrictHtml } from '../support/strict-html.js';

const CONFIG = 'svc-migrate.config.json';
const FILES = {
  json: 'report.json',
  ndjson: 'findings.ndjson',
  markdown: 'report.md',
  html: 'report.html',
  junit: 'junit.xml',
} as const;
/** Control, bidi and other characters that are not seen but steer what is. Line feeds are for the caller to judge. */
const STEERING =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/u;

interface Job {
  readonly scene: HostileScene;
  readonly folder: string;
  readonly config: Config;
  /** Runs a command; what it says to a terminal must be clean. */
  run(...args: string[]): Promise<Ended>;
  read(name: string): string;
}

let hostile: Job;
/** The same job with texts that harm nobody: its documents must be built alike. */
let harmless: Job;
let cleanBytes = 0;

beforeAll(async () => {
  hostile = await openJob(await openHostileScene(campaignCases(HOSTILE_VALUES, 30)));
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
  const database = join(folder, 'svc-migrate.db');
  const job: Job = {
    scene,
    folder,
    config: parseConfigValue({ ...scene.config(), database }, join(folder, CONFIG), Date.now()),
    run: async (...args) => {
      const ended = await runCli(args, { cwd: folder, env: keysOf(scene.apiKey) });
      expectClean(ended.stderr);
      return ended;
    },
    read: (name) => readFileSync(join(folder, name), 'utf8'),
  };
  const files = Object.entries(FILES).flatMap(([flag, file]) => [`--${flag}`, file]);
  const ended = await job.run('run', '--verbose', ...files);
  expect(ended.code).toBe(1);
  expectClean(ended.stdout);
  return job;
}

function expectClean(text: string): void {
  expect(STEERING.exec(text)?.index ?? -1).toBe(-1);
  cleanBytes += text.length;
}

/** One row of the remap as this test knows it. */
type Row = readonly [path: string, v3: string, v4: string, platformId: string, status: string];

/** What must be in the remap, from the service's own lists. */
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
    const db = new Sqlite(hostile.config.database, { readonly: true }).defaultSafeIntegers(true);
    const rows = db.prepare<[], Cells>('SELECT * FROM remap').all();
    db.close();
    expect(linesOf(rows)).toEqual(truthOf(hostile.scene));
    process.stdout.write(`${hostile.scene.values.length} hostile texts, ${rows.length} rows exact\n`);
    expect(HOSTILE_VALUES.length).toBeGreaterThanOrEqual(300);
  });

  it('in every format of the dump, as readers of their own see them', async () => {
    const csv = await hostile.run('dump');
    expect(linesOf(parse(csv.stdout, { columns: true }))).toEqual(truthOf(hostile.scene));
    const ndjson = await hostile.run('dump', '--format', 'ndjson');
    expect(linesOf(parseLines(ndjson.stdout))).toEqual(truthOf(hostile.scene));
    expect((await hostile.run('dump', '--format', 'sql', '--output', 'dump.sql')).code).toBe(0);
    const db = new Sqlite(':memory:').defaultSafeIntegers(true);
    db.exec(hostile.read('dump.sql'));
    expect(linesOf(db.prepare<[], Cells>('SELECT * FROM remap').all())).toEqual(truthOf(hostile.scene));
    db.close();
  });

  it('in the findings, with the fields that differ', () => {
    const findings = parseLines(hostile.read(FILES.ndjson));
    const open = truthOf(hostile.scene).filter((line) => !line.endsWith('"matched"]'));
    expect(linesOf(findings.filter(({ status }) => status !== 'matched'))).toEqual(open);
    const drifted = findings.filter(({ status }) => status === 'matched').map(({ evidence }) => evidence);
    expect(drifted).toEqual(
      hostile.scene.values.map((value) => ({ drift: [{ field: 'memo', v3: value, v4: `${value}!` }] })),
    );
  });

  it('in the answers of lookup', async () => {
    const ids = hostile.scene.pairs.map(({ v3Id }) => String(v3Id));
    const { stdout } = await hostile.run('lookup', 'accounting/invoices', ...ids, '--json', '-');
    expect(parseLines(stdout).map((answer) => [answer['v3_svc_id'], answer['v4_svc_id']])).toEqual(
      hostile.scene.pairs.map(({ v3Id, v4Id }) => [String(v3Id), String(v4Id)]),
    );
  });
});

describe('hostile texts leave their place nowhere', () => {
  it('in what commands print for people', async () => {
    const commands = [
      ['report'],
      ['check'],
      ['status', '--verbose'],
      ['verify'],
      ['report', '--markdown', '-'],
      ['report', '--json', '-'],
      ['report', '--ndjson', '-'],
      ['dump', '--format', 'ndjson'],
    ];
    for (const args of [...campaignCases(commands, 3), ['export', 'v3', '--verbose'], ['remap']]) {
      const { code, stdout } = await hostile.run(...args);
      expect([0, 1], args.join(' ')).toContain(code);
      expectClean(stdout);
    }
  });

  it('in the story of every record, in any width, and its JSON is exact', async () => {
    const pairs = campaignCases(hostile.scene.pairs, 25);
    for (const { value, v3Id } of pairs) {
      for (const width of [60, 100]) expectNarrow(await explain(v3Id, width), width);
      const told = JSON.parse(await explain(v3Id, null)) as { stories: { row: Cells; fields: Cells[] }[] };
      expect(told.stories[0]?.row['platform_id']).toBe(value);
      expect(told.stories[0]?.fields).toContainEqual(expect.objectContaining({ name: value }));
    }
    process.stdout.write(`${pairs.length} records explained three times\n`);
  });

  it('in HTML: the page of every finding is built like that of harmless ones', () => {
    const found = readStrictHtml(pageOf(hostile));
    expect(found.tags).toEqual(readStrictHtml(pageOf(harmless)).tags);
    expect(found.tags.filter(({ name }) => ['img', 'iframe', 'base'].includes(name))).toEqual([]);
    expect(found.tags.filter(({ name }) => name === 'script')).toHaveLength(2);
    expectClean(found.text);
    expect(readStrictHtml(hostile.read(FILES.html)).tags).toEqual(
      readStrictHtml(harmless.read(FILES.html)).tags,
    );
    process.stdout.write(`HTML with ${found.tags.length} tags\n`);
  });

  it('in Markdown: the lines are those of harmless texts', () => {
    expect(shapeOf(hostile.read(FILES.markdown))).toEqual(shapeOf(harmless.read(FILES.markdown)));
    const withTexts = { ...reportOf(hostile), models: reportOf(hostile).models.slice(0, 1) };
    const rows = hostile.scene.values.map((value) => ({
      ...withTexts,
      cannotSee: [{ name: value, text: value }],
    }));
    const lines = rows.map((report) => [...renderMarkdown(report as typeof withTexts)].join(''));
    for (const text of lines) {
      expectClean(text);
      expect(text.split('\n').length).toBe(lines[0]?.split('\n').length);
    }
  });

  it('in XML', async () => {
    const contents = hostile.read(FILES.junit);
    expectClean(contents);
    const { errors } = await validateXML({
      xml: { fileName: 'report.xml', contents },
      normalization: 'c14n',
    });
    expect(errors).toEqual([]);
    expect(reportOf(hostile).fullSync).toMatchObject([
      { v3CompanyId: String(V3_COMPANY), v4CompanyId: String(V4_COMPANY), model: 'ecommerce/orders' },
    ]);
  });

  it('where pairs disagree and findings heal, and after the payloads are gone', async () => {
    const count = hostile.scene.values.length;
    hostile.scene.swapKeys();
    const text = await hostile.run('verify', '--all');
    expect(text.code).toBe(1);
    expectClean(text.stdout);
    const proof = JSON.parse((await hostile.run('verify', '--all', '--json', '-')).stdout) as Cells;
    expect(proof['disagree']).toBe(2 * count);
    hostile.scene.healCompanies();
    const healed = await hostile.run('recheck', '--json', '-');
    expectClean(healed.stdout);
    const keys = (JSON.parse(healed.stdout) as { healed: Cells[] }).healed.map((row) => row['platform_id']);
    expect(keys.sort()).toEqual([...hostile.scene.values].sort());
    expect((await hostile.run('purge', '--payloads', '--yes')).code).toBe(0);
    for (const { v3Id } of campaignCases(hostile.scene.pairs, 25)) expectNarrow(await explain(v3Id, 60), 60);
  });
});

async function explain(id: bigint, width: number | null): Promise<string> {
  const io = newIo({ width: width ?? 80 });
  const given = givenOf(hostile.config, { path: '', json: width === null ? '-' : undefined }, [
    'accounting/invoices',
    String(id),
  ]);
  expect(await runNamed('explain', given, io)).toBe(0);
  expectClean(io.stdout.text);
  return io.stdout.text;
}

function expectNarrow(text: string, width: number): void {
  expect(Math.max(...text.split('\n').map(displayWidth))).toBeLessThanOrEqual(width);
}

function reportOf(job: Job) {
  return reportSchema.parse(JSON.parse(job.read(FILES.json)));
}

/** The report as a page that shows every finding, not only the first of each kind. */
function pageOf(job: Job): string {
  const report = reportOf(job);
  const samples = parseLines(job.read(FILES.ndjson)) as typeof report.findings.samples;
  return [...renderHtml({ ...report, findings: { ...report.findings, samples } })].join('');
}

/** Where lines and cells begin, without what is in them. */
function shapeOf(markdown: string): string[] {
  return markdown.split('\n').map((line) => `${/^[#>*|<-]*/.exec(line)?.[0]} ${line.split('|').length}`);
}
