import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../src/commands/catalogue/all.js';
import { readTopic, TOPICS } from '../src/docs/topics.js';
import { EXIT_BY_CODE } from '../src/errors.js';
import { reportSchema } from '../src/report/report-schema.js';
import { type Sandbox, startSandbox } from '../src/sandbox/start-sandbox.js';
import { Sqlite } from '../src/store/sqlite.js';
import { keysOf, makeFolder, runCli } from './cli/run-cli.js';
import { runShell } from './cli/spawn-cli.js';
import { campaignCases } from './support/campaign.js';
import { BLOCK_NAMES, blocksIn, withFreshBlocks } from './support/readme-blocks.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** The README and every page of the reference but that of the commands, which the build writes. */
const NAMES = TOPICS.map(({ name }) => name).filter((name) => name !== 'commands');
const PAGES = ['README.md', ...NAMES.map((name) => `src/docs/${name}.md`)];

if (process.env['UPDATE_README'] !== undefined) {
  // The README, which copies tables of the other pages, comes last.
  for (const page of PAGES.toReversed()) {
    writeFileSync(join(ROOT, page), withFreshBlocks(readPage(page)));
  }
}
const pages = PAGES.map(readPage);
const docs = [...pages, readTopic('commands')].join('\n');

function readPage(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

function fenced(language: string): string[] {
  const blocks = docs.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'));
  return [...blocks].map(([, text = '']) => text);
}

describe('the documentation', () => {
  it.each(PAGES)(
    '%s has its generated parts as the code has them (UPDATE_README=1 rewrites them)',
    (page) => {
      const text = readPage(page);
      expect(text).toBe(withFreshBlocks(text));
    },
  );

  it('has every generated part, once', () => {
    expect(pages.flatMap(blocksIn).sort()).toEqual([...BLOCK_NAMES].sort());
  });

  it('has a topic for every page, and a page for every topic', () => {
    const files = readdirSync(join(ROOT, 'src/docs')).filter((file) => file.endsWith('.md'));
    expect(files.sort()).toEqual(NAMES.map((name) => `${name}.md`).sort());
  });

  it('links to files and headings that exist', () => {
    const links = PAGES.flatMap((page) =>
      [...readPage(page).matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, link = '']) => ({ page, link })),
    );
    expect(links.length).toBeGreaterThan(20);
    expect(links.filter(({ page, link }) => !leadsSomewhere(page, link))).toEqual([]);
  });

  it('names every option of --help, and no other', async () => {
    const cwd = makeFolder();
    const pages = [['--help'], ...COMMANDS.map(({ name }) => [...name.split(' '), '--help'])];
    const helps = await Promise.all(pages.map((args) => runCli(args, { cwd })));
    const options = (text: string) => new Set(text.match(/--[a-z][a-z0-9-]+/g));
    const foreign = /npx vitest [^\n]*/g;
    const inHelp = options(helps.map(({ stdout }) => stdout).join('\n'));
    expect([...options(docs.replace(foreign, ''))].sort()).toEqual([...inHelp].sort());
  });

  it('lists every command of --help', async () => {
    const { stdout } = await runCli(['--help'], { cwd: makeFolder() });
    for (const { name } of COMMANDS)
      expect(stdout).toMatch(new RegExp(`^[A-Z ].*\\b${name.split(' ')[0]}\\b`, 'm'));
  });

  it('lists every exit code', () => {
    const listed = [...readPage('src/docs/exit-codes.md').matchAll(/^\| ([\d, ]+) \|/gm)].flatMap(
      ([, codes = '']) => codes.split(', '),
    );
    const codes = new Set([0, 1, 143, ...Object.values(EXIT_BY_CODE)]);
    expect(listed.map(Number)).toEqual([...codes].sort((a, b) => a - b));
  });

  it('names every section of the report', () => {
    const quiet = ['schemaVersion', 'tool', 'generatedAt', 'scope'];
    const sections = Object.keys(reportSchema.shape).filter((name) => !quiet.includes(name));
    const page = readPage('src/docs/report.md');
    for (const name of sections) expect(page).toContain(`\`${name}\``);
  });
});

/** Whether a link leads to a file, and to a heading in it where it names one. */
function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const file = path === '' ? join(ROOT, page) : join(ROOT, dirname(page), path);
  if (!existsSync(file) || anchor === undefined) return existsSync(file);
  const headings = readFileSync(file, 'utf8').match(/^#+ .*/gm) ?? [];
  const anchors = headings.map((heading) =>
    heading
      .replace(/^#+ /, '')
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
  return anchors.includes(anchor);
}

/** Whether a command asks a question, so that it works on a terminal only. Tests of these commands run them there. */
function asks(line: string): boolean {
  return /^svc-migrate (decide|apply write|purge)\b/.test(line) && !line.includes('--yes');
}

describe('what the documentation shows', () => {
  let sandbox: Sandbox;
  let folder: string;
  let env: Record<string, string>;
  let v4Company: string;
  let v3Ids: readonly number[];
  let platformId: string;

  beforeAll(async () => {
    sandbox = await startSandbox({ seed: 5, scale: 100 });
    const invoices = [{ column: 'invoice_id', model: 'accounting/invoices' }];
    const shop = { name: 'orders', kind: 'sqlite', file: 'shop.db', table: 'orders', ids: invoices };
    folder = makeFolder({ ...sandbox.config(), apply: { targets: [shop] } });
    env = { ...keysOf(sandbox.apiKey), GITHUB_STEP_SUMMARY: join(folder, 'summary.md') };
    expect((await runCli(['run', '--quiet'], { cwd: folder, env })).code).toBe(0);
    writeFileSync(join(folder, 'rehearsal.db'), readFileSync(join(folder, 'svc-migrate.db')));
    const db = new Sqlite(join(folder, 'svc-migrate.db'), { readonly: true });
    v4Company = String(db.prepare('SELECT max(v4_company_id) FROM company').pluck().get());
    const sql =
      "SELECT v3_svc_id FROM remap WHERE model = 'accounting/invoices' AND path = '' AND status = 'matched'";
    const ids = db.prepare<[], number>(sql).pluck().all();
    v3Ids = ids;
    platformId = String(db.prepare('SELECT platform_id FROM remap WHERE v3_svc_id = ?').pluck().get(ids[0]));
    writeFileSync(join(folder, 'ids.txt'), `${ids.slice(0, 2).join('\n')}\n`);
    db.close();
    saveOwnData(folder, ids);
  });
  afterAll(() => sandbox.close());

  /** What a user of the service might have: ids of invoices in a file and in a table. */
  function saveOwnData(folder: string, ids: readonly number[]): void {
    mkdirSync(join(folder, 'src'));
    writeFileSync(join(folder, 'src/app.ts'), 'export const answer = 42;\n');
    writeFileSync(join(folder, 'orders.csv'), `invoice_id\n${ids.join('\n')}\n`);
    const shop = new Sqlite(join(folder, 'shop.db'));
    shop.exec('CREATE TABLE orders(id INTEGER PRIMARY KEY, invoice_id INTEGER)');
    const insert = shop.prepare('INSERT INTO orders(invoice_id) VALUES (?)');
    shop.transaction(() => {
      for (const id of ids) insert.run(id);
    })();
    shop.close();
  }

  /** Lines that start the program, once each, without prompts and comments. */
  function commandLines(): string[] {
    const lines = [...fenced('sh'), ...fenced('yaml')].flatMap((text) => text.split('\n'));
    const commands = lines.flatMap((line) => {
      const found = /^(?:\s*- (?:run: )?)?(?:npx )?(svc-migrate .*?)(?:\s+# .*)?$/.exec(line);
      return found?.[1] === undefined ? [] : [found[1]];
    });
    return [...new Set(commands)];
  }

  it('has commands to run', () => {
    expect(commandLines().length).toBeGreaterThan(15);
  });

  /** A company and ids that are there instead of those in the example. */
  function fill(line: string): string {
    return (
      line
        .replace('4711', v4Company)
        // The target is a SQLite table.
        .replace(/apply sql \w+/, 'apply sql sqlite')
        .replace('1001', `${v3Ids[0]}`)
        .replace('1002', `${v3Ids[1]}`)
        .replace('INV-1', `'${platformId}'`)
    );
  }

  it.each(
    campaignCases(
      commandLines().filter((line) => !asks(line)),
      6,
    ),
  )('%s works', async (line) => {
    const cwd = makeFolder();
    if (!line.startsWith('svc-migrate init')) cpSync(folder, cwd, { recursive: true });
    // A plan names the files it was made for.
    if (line.includes('--yes --plan'))
      await runShell('svc-migrate apply plan --in-place --save plan.json', { cwd, env });
    if (/apply sql \w+ --plan/.test(line))
      await runShell('svc-migrate apply plan --save plan.json', { cwd, env });
    // Verifies what a run has written.
    if (line.startsWith('svc-migrate apply verify')) await runCli(['apply', 'write', '--yes'], { cwd, env });
    // What serves or waits is shown to begin, and ended.
    const begins = /^svc-migrate sandbox|--wait/.test(line);
    // It tells how far it is every ten seconds, and what each list holds at once.
    const spoken = line.includes('--wait') ? `${line} --verbose` : line;
    // A process of its own is the point for what a shell reads or a signal ends.
    const isPlain = !begins && /^[\w ./:=@,+-]+$/.test(fill(spoken));
    if (isPlain) {
      const { code, stderr } = await runCli(fill(spoken).split(/ +/).slice(1), { cwd, env });
      expect({ line, code, stderr }).toMatchObject({ code: 0 });
      return;
    }
    const ended = await runShell(fill(spoken), {
      cwd,
      env,
      onStart: (child) => {
        if (!begins) return;
        child.stdout?.once('data', () => child.kill('SIGTERM'));
        child.stderr?.once('data', () => child.kill('SIGTERM'));
      },
    });
    expect({ line, code: ended.code, stderr: ended.stderr }).toMatchObject({ code: begins ? 143 : 0 });
  });

  it('has SQL that the database answers', () => {
    const db = new Sqlite(join(folder, 'svc-migrate.db'), { readonly: true });
    try {
      const statements = fenced('sql').flatMap((text) =>
        text.split(';').filter((part) => part.trim() !== ''),
      );
      expect(statements.length).toBeGreaterThan(3);
      for (const statement of statements) db.prepare(statement).all();
      for (const [, table = '', columns = ''] of docs.matchAll(
        /^\| `(\w+)` \| .* \| `(\w+(?:, \w+)+)` \|$/gm,
      )) {
        db.prepare(`SELECT ${columns} FROM ${table}`).all();
      }
    } finally {
      db.close();
    }
  });
});
