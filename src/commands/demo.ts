import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import type { Sandbox } from '../sandbox/start-sandbox.js';
import { must } from '../text/at.js';
import { groupDigits } from '../text/numbers.js';
import { applyCommand } from './apply.js';
import { checkCommand } from './check.js';
import type { DefineCommand, Io, Result } from './command.js';
import { findingsCommand } from './findings.js';
import { remapCommand } from './remap.js';
import { runCommand } from './run.js';

export const demoCommand: DefineCommand = (run) =>
  new Command('demo')
    .summary('the whole journey against a local service')
    .description(
      'Goes from a red gate to a green one, then writes, checks, switches and takes back the ids of a small database. Everything stays in a temporary folder.',
    )
    .addHelpText('after', '\nExample:\n  svc-migrate demo')
    .action((_options, command) => run(command, [], runDemo));

const WIDTH = 80;
const INDENT = '  ';
const CONFIG = 'svc-migrate.config.json';
const DECISIONS = 'decisions.csv';
const KEY_FILE = 'api-key';
const INVOICES = 'accounting/invoices';
const STORED_INVOICES = 120;

async function runDemo(io: Io): Promise<Result> {
  const { startSandbox } = await import('../sandbox/start-sandbox.js');
  const folder = mkdtempSync(join(tmpdir(), 'svc-migrate-demo-'));
  const sandbox = await startSandbox({ seed: 1, isStory: true });
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

interface Demo {
  readonly folder: string;
  readonly sandbox: Sandbox;
  configure(settings: Readonly<Record<string, unknown>>): void;
  print(...lines: readonly string[]): Promise<void>;
  /** Runs a command line, and prints it with the part of its text that `show` selects. */
  run(line: string, show?: (text: string) => string): Promise<void>;
}

async function openDemo(folder: string, sandbox: Sandbox, io: Io): Promise<Demo> {
  const { loadConfig } = await import('../config/load-config.js');
  const { writeText } = await import('../runtime/write-output.js');
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
    run: async (line, show = (text) => text) => {
      await print(`$ svc-migrate ${line}`);
      const words = line.split(' ').map((word) => (word === DECISIONS ? join(folder, word) : word));
      const config = () => loadConfig({ env: {}, flags: { config: file }, nowMs: io.clock.now() });
      const result = await runWords(words, { ...io, env: {}, style, config, onProgress: () => {} });
      const text = show(result.text?.(style) ?? '')
        .replaceAll(`${folder}/`, '')
        .trimEnd();
      await print(...text.split('\n').map((shown) => `${INDENT}${shown}`.trimEnd()));
    },
  };
}

async function runWords(words: readonly string[], io: Io): Promise<Result> {
  let result: Result | undefined;
  const program = new Command('svc-migrate');
  for (const define of [runCommand, checkCommand, remapCommand, findingsCommand, applyCommand]) {
    program.addCommand(
      define(async (_command, _outputs, work) => {
        result = await work(io);
      }),
    );
  }
  await program.parseAsync([...words], { from: 'user' });
  return must(result, `result of ${words.join(' ')}`);
}

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

async function decide({ folder, sandbox, print, run, configure }: Demo): Promise<void> {
  const { DECISIONS_HEADER } = await import('../config/user-files.js');
  configure({});
  await print(
    '1. Read V3 and V4, join them, check the limits.',
    `   ${countIds(sandbox)}`,
    '',
    `$ cd ${folder}`,
  );
  await run('run', showVerdict);

  await print('', '2. Ask the operator for a full sync. It arrives: V4 loads the empty company.', '');
  sandbox.completeFullSync();
  await run('run', showVerdict);

  const limits = { outside_backfill_window: '100%' };
  await print('', '3. Nobody needs the older records that are left. A limit in the configuration');
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

function countIds(sandbox: Sandbox): string {
  const paths = [...sandbox.truth()].flatMap((row) => (row.v3_svc_id === null ? [] : [row.path]));
  const records = paths.filter((path) => path === '').length;
  const [ids, lineItems] = [paths.length, paths.length - records].map((count) => groupDigits(count));
  return `In V3, this local service has ${records} records and ${lineItems} line items: ${ids} ids.`;
}

/** A report up to its next step, without its tables. */
function showVerdict(text: string): string {
  return text.slice(0, text.indexOf('\n\n', text.indexOf('\nNext: ')));
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
  await print('', '7. Undo: every value is as it was.', '');
  await run('apply undo --yes');
}
