import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { Writable } from 'node:stream';
import type { Config } from '../config/config.js';
import { loadConfig } from '../config/load-config.js';
import { openDecisions } from '../config/user-files.js';
import { SvcError } from '../errors.js';
import { buildVerdict } from '../report/build-verdict.js';
import { writeText } from '../runtime/write-output.js';
import { type Sandbox, startSandbox } from '../sandbox/start-sandbox.js';
import { Sqlite } from '../store/sqlite.js';
import { shellLine } from '../text/escape.js';
import { wrapText } from '../text/text-layout.js';
import type { demo } from './catalogue/run-commands.js';
import type { GivenTo, Io, RawOptions, Unparsed } from './command.js';
import { flagOf } from './option.js';
import { outputsOf, type ReportOutputs, writeReport } from './report.js';

export { reportSchema as schema } from '../report/report-schema.js';

const FILES = {
  json: 'report.json',
  ndjson: 'findings.ndjson',
  markdown: 'report.md',
  html: 'report.html',
  junit: 'junit.xml',
} as const satisfies ReportOutputs;

/**
 * `demo`: tells a whole migration against a sandbox on a free port, from a gate that is red to rewritten tables and back. Exits
 * like `check`.
 */
export async function run(given: GivenTo<typeof demo>, io: Io): Promise<number> {
  const { seed, output } = given.options;
  const folder = makeFolder(output);
  const sandbox = await startSandbox({ seed, isStory: true });
  try {
    return await tellAll({ folder, sandbox }, given, io);
  } finally {
    await sandbox.close();
  }
}

async function tellAll(
  { folder, sandbox }: { readonly folder: string; readonly sandbox: Sandbox },
  { options, openInput, commands }: GivenTo<typeof demo>,
  io: Io,
): Promise<number> {
  const outputs = outputsOf(options);
  const isTold = !Object.values(outputs).includes('-');
  const story = openStory({ folder, sandbox, openInput, commands, isTold }, io);
  await tellDecisions(story);
  const inFolder = Object.entries(FILES).map(([name, file]) => [name, join(folder, file)]);
  const files: ReportOutputs = { ...Object.fromEntries(inFolder), ...outputs };
  const config = story.config();
  const report = await writeReport({ config, outputs: files, verdict: 'omit' }, story.io, async (one) => one);
  if (isTold) {
    await tellApply(story);
    const { title, sentence } = buildVerdict(report);
    const verdict = wrapText(`${title}: ${sentence}`, io.width);
    const end = [
      ...describeFolder(folder, options.seed, sandbox),
      '',
      ...verdict,
      'Next: svc-migrate init',
      '',
    ];
    await writeText(io.stdout, [end.join('\n')]);
  }
  return report.exitCode;
}

function makeFolder(given: string | undefined): string {
  if (given === undefined) return mkdtempSync(join(tmpdir(), 'svc-migrate-demo-'));
  const folder = resolve(given);
  try {
    if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) return folder;
  } catch (cause) {
    throw new SvcError('bad_input', `The folder ${folder} cannot be created.`, {
      hint: 'Name another one.',
      cause,
    });
  }
  throw new SvcError('bad_input', `The folder ${folder} exists already; nothing was changed.`, {
    hint: 'Name a new one with --output, or leave it out for a temporary folder.',
  });
}

/** How to go on from here. `npx` finds this program only where it is installed, so the commands name the configuration. */
function describeFolder(folder: string, seed: number, { v4 }: Sandbox): string[] {
  const config = ['--config', join(folder, CONFIG_FILE)];
  return [
    'All of it is still there, as the tables and files of your own migration will be:',
    `$ ${shellLine(['svc-migrate', 'status', ...config])}`,
    `$ ${shellLine(['svc-migrate', 'findings', '--limit', '5', ...config])}`,
    `$ ${shellLine(['svc-migrate', 'report', '--open', ...config])}`,
    'The service ended with the demo. For run and verify, start it elsewhere:',
    `$ svc-migrate sandbox --seed ${seed} --scenario story --port ${new URL(v4).port}`,
  ];
}

/** Columns of what demo prints, on any terminal. */
const WIDTH = 80;
const INDENT = '  ';

const CONFIG_FILE = 'svc-migrate.config.json';
const KEY_FILE = 'api-key';
const ORDERS = 'payments/orders';
const INVOICES = 'accounting/invoices';
const STORED_INVOICES = 120;
const STORED_ORDERS = 40;

interface TellingOptions extends Pick<Unparsed, 'openInput' | 'commands'> {
  readonly folder: string;
  readonly sandbox: Sandbox;
  /** Whether anything is printed. */
  readonly isTold: boolean;
}

/** A migration that is told command by command. */
interface Telling extends TellingOptions {
  /** The input and output of its commands. */
  readonly io: Io;
  config(): Config;
  /** Writes the configuration. */
  configure(settings: Readonly<Record<string, unknown>>): void;
  print(...lines: readonly string[]): Promise<void>;
  /** Runs a command and prints its command line, then those lines of its text that `shows` takes. */
  run(name: string, raw: RawOptions, shows: (line: string) => boolean): Promise<void>;
}

/** Prepares the folder: configuration, API key, and a table and a file of stored ids. */
function openStory(options: TellingOptions, io: Io): Telling {
  const { folder, sandbox, isTold } = options;
  const file = join(folder, CONFIG_FILE);
  const configure = (settings: Readonly<Record<string, unknown>>) => {
    const all = { ...sandbox.config(KEY_FILE), limits: {}, ...settings, apply: { targets: TARGETS } };
    writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`, { mode: 0o600 });
  };
  writeFileSync(join(folder, KEY_FILE), `${sandbox.apiKey}\n`, { mode: 0o600 });
  configure({});
  storeIds(folder, sandbox);
  const config = () => loadConfig({ env: {}, flags: { config: file }, nowMs: io.clock.now() });
  const print = async (...lines: readonly string[]) => {
    if (isTold) await writeText(io.stdout, [`${lines.join('\n')}\n`]);
  };
  const own: Io = {
    ...io,
    env: {},
    isTty: false,
    color: false,
    width: WIDTH - INDENT.length,
    onProgress: isTold ? () => {} : io.onProgress,
  };
  const run: Telling['run'] = async (name, raw, shows) => {
    const words = Object.entries(raw).flatMap(([option, value]) =>
      typeof value === 'string' ? [flagOf(option), relative(folder, value)] : [flagOf(option)],
    );
    await print(`$ ${shellLine(['svc-migrate', ...name.split(' '), ...words])}`);
    const lines = await runCommandOf(name, { ...options, raw, config: async () => config() }, own);
    const shown = lines.filter((line) => line !== '' && shows(line)).map((line) => INDENT + line);
    if (shown.length > 0) await print(...shown.map((line) => line.replaceAll(`${folder}/`, '')));
  };
  return { ...options, io: own, config, configure, print, run };
}

/** Runs a command; returns the lines that it prints. */
async function runCommandOf(name: string, given: Unparsed, io: Io): Promise<string[]> {
  const command = given.commands.find((one) => one.name === name);
  if (command === undefined) throw new TypeError(`There is no command ${name}.`);
  const chunks: string[] = [];
  const stdout = new Writable({
    write: (chunk, _encoding, done) => {
      chunks.push(String(chunk));
      done();
    },
  });
  await command.run(given, { ...io, stdout });
  return chunks.join('').split('\n');
}

const TARGETS = [
  {
    name: 'invoices',
    kind: 'sqlite',
    file: 'shop.db',
    table: 'sales',
    ids: [{ column: 'invoice_id', model: INVOICES }],
  },
  { name: 'payments', kind: 'csv', file: 'payments.csv', ids: [{ column: 'order_id', model: ORDERS }] },
];

/** Stores V3 ids as a product would: the table `sales` of shop.db, and payments.csv. */
function storeIds(folder: string, sandbox: Sandbox): void {
  const rows = [...sandbox.truth()].filter(({ path, status }) => path === '' && status === 'matched');
  const idsOf = (model: string, count: number) =>
    rows
      .filter((row) => row.model === model)
      .flatMap(({ v3_svc_id: id }) => (id === null ? [] : [id]))
      .slice(0, count);
  const db = new Sqlite(join(folder, 'shop.db'));
  db.exec('CREATE TABLE sales (id INTEGER PRIMARY KEY, invoice_id INTEGER NOT NULL)');
  const insert = db.prepare('INSERT INTO sales (invoice_id) VALUES (?)');
  db.transaction(() => {
    for (const id of idsOf(INVOICES, STORED_INVOICES)) insert.run(BigInt(id));
  })();
  db.close();
  const lines = idsOf(ORDERS, STORED_ORDERS).map((id, at) => `${at + 1},${id}\n`);
  writeFileSync(join(folder, 'payments.csv'), ['payment,order_id\n', ...lines].join(''));
}

/**
 * Takes all lines but what leads on: the demo does that itself. After the biggest blocker, which may be several lines long,
 * nothing else is said; lines that go on with another one left out are indented.
 */
function createFilter(): (line: string) => boolean {
  let isShown = true;
  let isOver = false;
  return (line) => {
    isOver ||= line.startsWith('Biggest blocker: ');
    if (!line.startsWith('  ')) isShown = !/^(Written|Next|To undo it):/.test(line);
    return isShown && !isOver;
  };
}

/** From the first verdict to a gate that passes: what a person does, and what each step changes. */
async function tellDecisions(story: Telling): Promise<void> {
  const { folder, sandbox, print, run } = story;
  const html = { html: join(folder, 'report.html') };
  await print('1. Read V3 and V4, join them, judge. (A local service; about 800 records.)', '');
  await print(`$ cd ${shellLine([folder])}`);
  await run('run', html, createFilter());

  await print('', '2. Ask the operator for a full sync. It arrives: V4 loads the empty company.', '');
  sandbox.completeFullSync();
  await run('run', html, createVerdictFilter());

  const limits = { outside_backfill_window: '100%' };
  await print('', '3. Nobody needs the rest of what is older than V4. A limit in the configuration');
  await print(`   (${CONFIG_FILE}) accepts it:`);
  await print(`${INDENT}"limits": ${JSON.stringify(limits)}`, '');
  story.configure({ limits });
  await run('check', html, createVerdictFilter());

  await print('', '4. One V3 order became two in V4. A person answers in `svc-migrate decide`,');
  await print('   and adds that the other is new in V4. decisions.csv, now configured, holds:');
  for (const line of await decide(story)) await print(INDENT + line);
  await print('');
  story.configure({ limits, decisions: 'decisions.csv' });
  await run('remap', {}, () => false);
  await run('check', html, createVerdictFilter());
}

/** Takes the lines of the verdict alone. */
function createVerdictFilter(): (line: string) => boolean {
  let isReached = false;
  const isShown = createFilter();
  return (line) => {
    isReached ||= /^(NOT )?SAFE|^NOT (KNOWN|READY)/.test(line);
    return isShown(line) && isReached;
  };
}

/** Writes what a person decides about the record that V4 has twice; returns the lines. */
async function decide({ sandbox, config, io }: Telling): Promise<string[]> {
  const open = [...sandbox.truth()].filter(({ path, status }) => path === '' && status === 'ambiguous');
  const v3 = open.find((row) => row.v3_svc_id !== null);
  const [first, second] = open.filter((row) => row.v4_svc_id !== null);
  if (v3 === undefined || first === undefined || second === undefined) return [];
  const { add } = openDecisions(config(), io);
  const decisions = [
    { v3SvcId: v3.v3_svc_id, v4SvcId: first.v4_svc_id, note: 'same payment' },
    { v3SvcId: null, v4SvcId: second.v4_svc_id, note: 'new in V4' },
  ];
  const lines: string[] = [];
  for (const { v3SvcId, v4SvcId, note } of decisions) {
    const place = { model: v3.model, path: v3.path, region: v3.region ?? '' };
    const cells = [...Object.values(place), v3.v3_company_id, v3SvcId, v4SvcId, note];
    const ids = { v3SvcId: toId(v3SvcId), v4SvcId: toId(v4SvcId), v3CompanyId: toId(v3.v3_company_id) ?? 0n };
    await add(cells, { ...place, ...ids, note, until: null });
    lines.push(cells.map((cell) => cell ?? '').join(','));
  }
  return lines;
}

function toId(text: string | null): bigint | null {
  return text === null ? null : BigInt(text);
}

/** A table and a file of stored ids: planned, written, verified and undone. */
async function tellApply({ print, run }: Telling): Promise<void> {
  await print('', '5. Rewrite the V3 ids that you store: here a table in shop.db, and payments.csv.', '');
  await run('apply plan', {}, (line) => / map\b/.test(line));
  await run('apply write', { yes: true }, (line) => line.includes('rewritten'));
  await run('apply verify', {}, createFilter());
  await print('', '6. And back: every value as it was.', '');
  await run('apply undo', {}, createFilter());
  await print('');
}
