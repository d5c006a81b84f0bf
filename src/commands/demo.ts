import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { SvcError } from '../errors.js';
import type { Sandbox } from '../sandbox/start-sandbox.js';
import { must } from '../text/at.js';
import type { DefineCommand, Io, Result, Style } from './command.js';
import { wholeNumber } from './options.js';

export const demoCommand: DefineCommand = (run) =>
  new Command('demo')
    .summary('the whole journey against a local service')
    .description(
      'Goes from a red gate to a green one, then writes, checks, switches and takes back the ids of a small database. Everything stays in a folder.',
    )
    .option('--output <folder>', 'a new folder (default: a temporary one)')
    .option('--seed <n>', 'seed of the service', wholeNumber(0, 999_999_999), 1)
    .addHelpText('after', '\nExample:\n  svc-migrate demo --output rehearsal')
    .action((options, command) => run(command, [], (io) => runDemo(options, io)));

const WIDTH = 80;
const INDENT = '  ';
const CONFIG = 'svc-migrate.config.json';
const DECISIONS = 'decisions.csv';
const DECISIONS_HEADER = 'model,path,region,v3_company_id,v3_svc_id,v4_svc_id,note,until';
const KEY_FILE = 'api-key';
const INVOICES = 'accounting/invoices';
const STORED_INVOICES = 120;

async function runDemo(
  options: { readonly output?: string; readonly seed: number },
  io: Io,
): Promise<Result> {
  const { startSandbox } = await import('../sandbox/start-sandbox.js');
  const folder = makeFolder(options.output);
  const sandbox = await startSandbox({ seed: options.seed, isStory: true });
  try {
    const demo = await openDemo(folder, sandbox, io);
    await decide(demo);
    await rewrite(demo);
    await demo.print(
      '',
      'All of it is still there, as the tables and files of your own migration will be:',
      `$ svc-migrate status --config ${join(folder, CONFIG)}`,
      `$ svc-migrate findings --config ${join(folder, CONFIG)}`,
      'Next: svc-migrate init',
    );
    return { exitCode: 0 };
  } finally {
    await sandbox.close();
  }
}

function makeFolder(named: string | undefined): string {
  if (named === undefined) return mkdtempSync(join(tmpdir(), 'svc-migrate-demo-'));
  const folder = resolve(named);
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

interface Demo {
  readonly folder: string;
  readonly sandbox: Sandbox;
  configure(settings: Readonly<Record<string, unknown>>): void;
  print(...lines: readonly string[]): Promise<void>;
  /** Runs a command line, and prints it with what `show` makes of the result; by default its text. */
  run(line: string, show?: (result: Result, style: Style) => string | Promise<string>): Promise<Result>;
}

/** Prepares the folder: configuration, API key, and a database of stored ids. */
async function openDemo(folder: string, sandbox: Sandbox, io: Io): Promise<Demo> {
  const { loadConfig } = await import('../config/load-config.js');
  const { writeText } = await import('../runtime/write-output.js');
  const commands = await importCommands();
  const file = join(folder, CONFIG);
  const style = { width: WIDTH - INDENT.length, color: false, verbose: false };
  const print: Demo['print'] = (...lines) => writeText(io.stdout, [`${lines.join('\n')}\n`]);
  writeFileSync(join(folder, KEY_FILE), `${sandbox.apiKey}\n`, { mode: 0o600 });
  await storeIds(folder, sandbox);
  return {
    folder,
    sandbox,
    print,
    configure: (settings) => {
      const target = {
        name: 'sales',
        kind: 'sqlite',
        file: 'shop.db',
        table: 'sales',
        ids: [{ column: 'invoice_id', model: INVOICES }],
      };
      const all = { ...sandbox.config(KEY_FILE), limits: {}, ...settings, apply: { targets: [target] } };
      writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`, { mode: 0o600 });
    },
    run: async (line, show = (result, narrow) => result.text?.(narrow) ?? '') => {
      await print(`$ svc-migrate ${line}`);
      const words = line.split(' ').map((word) => (word === DECISIONS ? join(folder, word) : word));
      const config = () => loadConfig({ env: {}, flags: { config: file }, nowMs: io.clock.now() });
      const result = await runWords(commands, words, { ...io, env: {}, style, config, onProgress: () => {} });
      const text = await show(result, style);
      const lines = text.replaceAll(`${folder}/`, '').trimEnd().split('\n');
      await print(...lines.map((shown) => `${INDENT}${shown}`.trimEnd()));
      return result;
    },
  };
}

async function importCommands(): Promise<readonly DefineCommand[]> {
  const [{ runCommand }, { checkCommand }, { remapCommand }, { findingsCommand }, { applyCommand }] =
    await Promise.all([
      import('./run.js'),
      import('./check.js'),
      import('./remap.js'),
      import('./findings.js'),
      import('./apply.js'),
    ]);
  return [runCommand, checkCommand, remapCommand, findingsCommand, applyCommand];
}

async function runWords(
  commands: readonly DefineCommand[],
  words: readonly string[],
  io: Io,
): Promise<Result> {
  let result: Result | undefined;
  const program = new Command('svc-migrate');
  for (const define of commands) {
    program.addCommand(
      define(async (_command, _outputs, work) => {
        result = await work(io);
      }),
    );
  }
  await program.parseAsync([...words], { from: 'user' });
  return must(result, `result of ${words.join(' ')}`);
}

/** Stores V3 ids as a product would: in the table `sales` of shop.db. */
async function storeIds(folder: string, sandbox: Sandbox): Promise<void> {
  const { Sqlite } = await import('../store/sqlite.js');
  const ids = [...sandbox.truth()].flatMap((row) =>
    row.model === INVOICES && row.path === '' && row.status === 'matched' ? [must(row.v3_svc_id)] : [],
  );
  const db = new Sqlite(join(folder, 'shop.db'));
  db.exec('create table sales (id integer primary key, invoice_id integer not null)');
  const insert = db.prepare('insert into sales (invoice_id) values (?)');
  db.transaction(() => {
    for (const id of ids.slice(0, STORED_INVOICES)) insert.run(BigInt(id));
  })();
  db.close();
}

/** From the first verdict to a gate that passes: what a person does, and what each step changes. */
async function decide({ folder, sandbox, print, run, configure }: Demo): Promise<void> {
  configure({});
  await print(
    '1. Read V3 and V4, join them, judge. (A local service; about 800 records.)',
    '',
    `$ cd ${folder}`,
  );
  await run('run', (result, style) => showVerdict(result, style, true));

  await print('', '2. Ask the operator for a full sync. It arrives: V4 loads the empty company.', '');
  sandbox.completeFullSync();
  await run('run', showVerdict);

  const limits = { outside_backfill_window: '100%' };
  await print('', '3. Nobody needs the rest of what is older than V4. A limit in the configuration');
  await print(`   (${CONFIG}) accepts it:`, `${INDENT}"limits": ${JSON.stringify(limits)}`, '');
  configure({ limits });
  await run('check', showVerdict);

  await print('', '4. V4 has one order twice. A draft names the candidates; a person fills it in.', '');
  await run(`findings --write-decisions ${DECISIONS}`, () => '');
  const lines = fillIn(sandbox);
  writeFileSync(join(folder, DECISIONS), [DECISIONS_HEADER, ...lines, ''].join('\n'), { mode: 0o600 });
  await print(
    `   ${DECISIONS}, now named in the configuration, holds:`,
    ...lines.map((line) => INDENT + line),
    '',
  );
  configure({ limits, decisions: DECISIONS });
  await run('remap', () => '');
  await run('check', showVerdict);
}

/** The verdict of a report, without its tables; with `isWhole`, what stands in the way. */
async function showVerdict({ json }: Result, { width }: Style, isWhole = false): Promise<string> {
  const { buildDocument } = await import('../report/document.js');
  const { reportSchema } = await import('../report/report-schema.js');
  const { digitsOfId } = await import('../text/escape.js');
  const { wrapText } = await import('../text/wrap.js');
  const report = reportSchema.parse(JSON.parse(JSON.stringify(json, digitsOfId)));
  const { title, lead, sections, next } = buildDocument(report);
  const items = sections.flatMap((section) =>
    isWhole && section.id === 'obstacles' ? (section.items ?? []) : [],
  );
  return [title, ...lead, ...items.map((item) => `- ${item.title}`), `Next: ${next}`]
    .flatMap((line) => wrapText(line, width))
    .join('\n');
}

/** The draft of a record that V4 has twice, filled in: it became the first one, and the other is new in V4. */
function fillIn(sandbox: Sandbox): string[] {
  const open = [...sandbox.truth()].filter(({ path, status }) => path === '' && status === 'ambiguous');
  const v3 = must(open.find((row) => row.v3_svc_id !== null));
  const [first, second] = open.filter((row) => row.v3_svc_id === null);
  const place = [v3.model, v3.path, v3.region, v3.v3_company_id];
  return [
    [...place, v3.v3_svc_id, must(first).v4_svc_id, 'same payment', ''].join(','),
    [...place, '', must(second).v4_svc_id, 'new in V4', ''].join(','),
  ];
}

async function rewrite({ print, run }: Demo): Promise<void> {
  await print('', '5. Write V4 ids beside the V3 ids that you store: table sales in shop.db.', '');
  await run('apply plan');
  await run('apply write --yes');
  await run('apply check');
  await print('', '6. At the cutover, switch: the column holds V4 ids, V3 ids move beside it.', '');
  await run('apply switch --yes');
  await run('apply check');
  await print('', '7. And back: every value as it was.', '');
  await run('apply undo --yes');
}
