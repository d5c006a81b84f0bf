import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Finding } from '../../../src/inspect/doctor/check.js';
import { addQuirk, NO_QUIRKS } from '../../../src/sandbox/faults.js';
import type { Sandbox, SandboxOptions } from '../../../src/sandbox/start-sandbox.js';
import { filesIn, keysOf, makeFolder, runCli } from '../../cli/run-cli.js';
import { sandboxStarter } from '../../sandbox/sandboxes.js';
import { serveHttp } from '../../support/serve-http.js';

const openSandbox = sandboxStarter();
const SKEW = '-10800';

interface Looked {
  readonly code: number;
  readonly ready: boolean;
  readonly findings: readonly Finding[];
  readonly problems: readonly string[];
  readonly stderr: string;
}

interface Scene {
  readonly sandbox: Sandbox;
  readonly cwd: string;
  look(args?: readonly string[], env?: Record<string, string>): Promise<Looked>;
}

/** Nothing is asked again, and nothing waited for. */
const ONCE = { http: { attempts: 1 } };

type Changes = (sandbox: Sandbox) => Record<string, unknown>;

/** The sandbox's V4 with other settings. */
function v4With(more: object): Changes {
  return ({ v4 }) => ({ v4: { baseUrl: v4, requestsPerSecond: 500, ...more } });
}

/** Every model is asked the same: most tests need no more. */
const MODELS = ['accounting/invoices', 'accounting/bill_credit_notes', 'crm/stages'];

function modelsOf(sandbox: Sandbox) {
  return sandbox.config()['models'] as { v3: string; v4: string }[];
}

const allModels: Changes = (sandbox) => ({ models: modelsOf(sandbox) });

/** A sandbox with quirks, and a folder with a changed configuration for it: few companies and models unless told. */
async function newScene(
  quirks: readonly string[] = [],
  changes: Changes = () => ({}),
  options: Partial<SandboxOptions> = {},
): Promise<Scene> {
  const sandbox = await openSandbox({
    seed: 5,
    scale: 150,
    companies: 2,
    quirks: quirks.reduce(addQuirk, NO_QUIRKS),
    ...options,
  });
  const models = modelsOf(sandbox).filter(({ v3 }) => MODELS.includes(v3));
  const cwd = makeFolder({ ...sandbox.config(), models, ...changes(sandbox) });
  return {
    sandbox,
    cwd,
    look: async (args = [], env = keysOf(sandbox.apiKey)) => {
      const { code, stdout, stderr } = await runCli(['doctor', '--json', '-', ...args], { cwd, env });
      const result = JSON.parse(stdout);
      expect(result.exitCode).toBe(code);
      const findings: readonly Finding[] = result.findings;
      const problems = findings.filter(({ level }) => level === 'problem').map((one) => one.code);
      expect(result.ready).toBe(problems.length === 0);
      return { ...result, code, problems, stderr };
    },
  };
}

const FILTERS = ['eq', 'gte', 'sort', 'select'];

/** What doctor says of a parameter. */
function effectOf(looked: Looked, code: string): string | undefined {
  return /is (honoured|ignored|refused|unknown)[.;:]/.exec(found(looked, code)?.text ?? '')?.[0];
}

function found({ findings }: Looked, code: string): Finding | undefined {
  return findings.find((one) => one.code === code);
}

describe('doctor', () => {
  it('finds everything ready, writes nothing and asks no more than it must', async () => {
    const { look, sandbox, cwd } = await newScene([], allModels, { companies: 4 });
    const looked = await look();
    expect([looked.code, looked.problems]).toEqual([0, []]);
    for (const flag of ['include_deleted_records', ...FILTERS]) {
      expect([flag, effectOf(looked, flag)]).toEqual([flag, 'is honoured.']);
    }
    expect(found(looked, 'models_answer')?.text.match(/"\w+"/g)).toHaveLength(modelsOf(sandbox).length);
    const truth = new Map(
      [...sandbox.truth()]
        .filter(({ status }) => status === 'matched')
        .map((row) => [row.v3_company_id, row.v4_company_id]),
    );
    const paired = looked.findings.flatMap(({ text }) => {
      const [, v3 = '', v4] = /^V3 company (\d+) looks like V4 company (\d+): /.exec(text) ?? [];
      return v4 === undefined ? [] : [[v3, v4] as const];
    });
    expect(paired).toHaveLength(4);
    for (const [v3, v4] of paired) expect(truth.get(v3)).toBe(v4);
    expect(filesIn(cwd)).toEqual(['svc-migrate.config.json']);
    expect(new Set(sandbox.requests().map(({ method }) => method))).toEqual(new Set(['GET']));
    expect(sandbox.requests().length).toBeLessThan(150);
  });

  it('tells people what to fix, in a numbered list, or what comes next', async () => {
    const { cwd, sandbox } = await newScene([], ({ v4 }) => ({
      v4: { baseUrl: v4, requestsPerSecond: 500 },
      models: [{ v3: 'accounting/invoices', v4: 'invoice' }],
    }));
    const env = keysOf(sandbox.apiKey);
    const bad = await runCli(['doctor', '--quiet'], { cwd, env });
    expect([bad.code, bad.stderr]).toEqual([2, '']);
    expect(bad.stdout).toMatch(
      /\nTo fix:\n {2}1\. {4}V4 knows no model "invoice" for accounting\/invoices: 404 in all/,
    );
    expect(bad.stdout).toMatch(/→ Set "v4" of accounting\/invoices in "models" to "invoices", which V4/);
    writeFileSync(join(cwd, 'svc-migrate.config.json'), JSON.stringify(sandbox.config()));
    const good = await runCli(['doctor'], { cwd, env });
    expect(good.code).toBe(0);
    expect(good.stdout).toMatch(/\n\nReady\.\nNext: svc-migrate run\n$/);
    expect(good.stderr).toMatch(/doctor: done/);
  });

  it('says that a key is missing, and still looks at the other side', async () => {
    const { look, sandbox } = await newScene();
    const looked = await look([], { SVC_MIGRATE_V3_API_KEY: sandbox.apiKey });
    expect([looked.code, looked.problems]).toEqual([2, ['key_unusable']]);
    expect(found(looked, 'key_unusable')?.fix).toContain('SVC_MIGRATE_V4_API_KEY');
    expect(found(looked, 'v3_lists')?.level).toBe('ok');
  });

  it('says that a key is refused, once, and what proxies do to it', async () => {
    const { look, sandbox } = await newScene();
    const looked = await look([], { ...keysOf(sandbox.apiKey), SVC_MIGRATE_V4_API_KEY: 'canary-wrong' });
    expect([looked.code, looked.problems]).toEqual([3, ['key_refused']]);
    expect(found(looked, 'key_refused')?.fix).toMatch(/SVC_MIGRATE_V4_API_KEY.*underscore/);
    expect(JSON.stringify(looked)).not.toContain('canary-wrong');
    expect(sandbox.requests().filter(({ status }) => status === 401)).toHaveLength(1);
  });

  it('names the V4 name that answers in the place of one that does not', async () => {
    const rename = {
      'accounting/invoices': 'invocies',
      'payments/items': 'items',
      'crm/stages': 'deal_phases',
    };
    const { look } = await newScene([], (sandbox) => {
      return {
        models: modelsOf(sandbox).map((model) => ({
          ...model,
          v4: new Map(Object.entries(rename)).get(model.v3) ?? model.v4,
        })),
      };
    });
    const looked = await look();
    expect([looked.code, looked.problems]).toEqual([2, ['model_unknown', 'model_unknown', 'model_unknown']]);
    const fixes = looked.findings.flatMap(({ code, fix }) => (code === 'model_unknown' ? fix : []));
    expect(
      fixes.map((fix) => /^Set "v4" of (\S+) in "models" to "(\w+)", which/.exec(fix ?? '')?.slice(1)),
    ).toEqual([
      ['accounting/invoices', 'invoices'],
      ['payments/items', 'payment_items'],
      ['crm/stages', 'stages'],
    ]);
  });

  it('sees a wrong name also where V4 answers to any', async () => {
    const { look } = await newScene(['any-model'], ({ v4 }) => ({
      v4: { baseUrl: v4, requestsPerSecond: 500 },
      models: [
        { v3: 'accounting/invoices', v4: 'invoices' },
        { v3: 'crm/stages', v4: 'phases' },
      ],
    }));
    const looked = await look();
    expect([looked.code, found(looked, 'model_hollow')?.level]).toEqual([0, 'warning']);
    expect(found(looked, 'model_hollow')?.text).toMatch(/^"phases": .* V3 holds \d+ of crm\/stages\.$/);
  });

  it('knows flags that are ignored from those that are refused', async () => {
    const flags = ['include_deleted_records', ...FILTERS];
    const ignoring = await (await newScene(flags.map((flag) => `ignore=${flag}`))).look();
    expect(ignoring.code).toBe(0);
    // Nothing tells a flag that is ignored from a list without deleted records.
    expect(effectOf(ignoring, 'include_deleted_records')).toBe('is unknown:');
    for (const flag of FILTERS) expect([flag, effectOf(ignoring, flag)]).toEqual([flag, 'is ignored;']);
    const refusing = await (await newScene(flags.map((flag) => `refuse=${flag}`))).look();
    expect(refusing.code).toBe(0);
    for (const flag of flags)
      expect([flag, effectOf(refusing, flag)?.slice(0, -1)]).toEqual([flag, 'is refused']);
  });

  it('does not let a refused flag be insisted on', async () => {
    const { look } = await newScene(['refuse=include_deleted_records'], v4With({ includeDeleted: true }));
    const looked = await look();
    expect([looked.code, looked.problems]).toEqual([2, ['deleted_refused']]);
  });

  it('sees a cap on pages, and a limit that is refused', async () => {
    const small = v4With({ pageSize: 20 });
    const capped = await (await newScene(['page-cap=10'], small)).look();
    const caps = capped.findings.flatMap(({ code, text }) => (code === 'page_size_capped' ? text : []));
    expect(caps.map((text) => text.slice(0, 30))).toEqual([
      'V3 sends at most 10 records a ',
      'V4 sends at most 10 records a ',
    ]);
    expect([capped.code, found(capped, 'page_size_capped')?.level]).toEqual([0, 'note']);
    const refused = await (await newScene(['page-limit=200'])).look();
    expect([refused.code, refused.problems]).toEqual([2, ['page_size_refused', 'page_size_refused']]);
    expect(found(refused, 'page_size_refused')?.fix).toBe('Set v3.pageSize to 200, which it answers.');
  });

  it('finds the largest page that is sent, and writes it', async () => {
    const smallPages: Changes = (sandbox) => ({
      ...v4With({ pageSize: 10 })(sandbox),
      v3: { ...Object(sandbox.config()['v3']), pageSize: 10 },
    });
    const scene = await newScene(['page-cap=25'], smallPages, { scale: 300 });
    const looked = await scene.look(['--write-config', 'new.json']);
    expect([looked.code, found(looked, 'page_size_larger')?.level]).toEqual([0, 'note']);
    const written = JSON.parse(readFileSync(join(scene.cwd, 'new.json'), 'utf8'));
    expect([written.v3.pageSize, written.v4.pageSize]).toEqual([25, 25]);
  });

  it('warns of a clock that is off', async () => {
    const behind = await (await newScene([`clock-skew=${SKEW}`])).look();
    expect([behind.code, found(behind, 'clock_off')?.level]).toEqual([0, 'warning']);
    expect(found(behind, 'clock_off')?.text).toMatch(/^The clock of V3 is (3 h|2 h 59 min) behind/);
    const ahead = await (await newScene(['clock-skew=10800'])).look();
    expect([ahead.code, found(ahead, 'clock_off')?.level]).toEqual([0, 'warning']);
  });

  it('tells a host that is not there from V4 that is not there and V4 that is empty', async () => {
    const deaf = await (
      await newScene([], () => ({ ...ONCE, v4: { baseUrl: 'http://127.0.0.1:9' } }))
    ).look();
    expect([deaf.code, deaf.problems]).toEqual([4, ['host_network']]);
    expect(found(deaf, 'v3_lists')?.level).toBe('ok');
    const absent = await (await newScene([], ({ v4 }) => ({ v4: { baseUrl: `${v4}/nowhere` } }))).look();
    expect([absent.code, absent.problems]).toEqual([2, ['v4_absent']]);
    const empty = await (await newScene([], () => ({}), { backfillSeconds: 86_400 })).look();
    expect([empty.code, empty.problems]).toEqual([5, ['v4_empty']]);
  });

  it.each([
    [429, 4],
    [503, 4],
    [405, 2],
  ])('does not take an answer %i for a key that is taken', async (status, code) => {
    const server = await serveHttp((_, response) => void response.writeHead(status).end());
    const regions = { default: { baseUrl: `${server.origin}/v3` } };
    const looked = await (await newScene([], () => ({ ...ONCE, v3: { regions } }))).look();
    await server.close();
    expect([looked.code, looked.problems]).toEqual([code, ['v3_list_failed']]);
    expect(found(looked, 'key_unknown')?.text).toMatch(/^V3 at .* answers no list: whether it takes the key/);
    expect(found(looked, 'key_accepted')?.text).toMatch(/^V4 /);
  });

  it('names where a redirect leads, and does not go there', async () => {
    const server = await serveHttp((_, response) => {
      response.writeHead(302, { location: 'https://elsewhere.example/' }).end();
    });
    const looked = await (await newScene([], () => ({ v4: { baseUrl: server.origin } }))).look();
    await server.close();
    expect([looked.code, looked.problems]).toEqual([2, ['host_redirect']]);
    expect(found(looked, 'host_redirect')?.text).toContain('elsewhere.example');
  });

  it("knows what is no API, and a field prefix that is not the service's", async () => {
    const server = await serveHttp((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome</html>');
    });
    const html = await (await newScene([], () => ({ ...ONCE, v4: { baseUrl: server.origin } }))).look();
    await server.close();
    expect([html.code, html.problems]).toEqual([2, ['host_bad_response']]);
    const prefixed = await (await newScene([], () => ({ fieldPrefix: 'x_' }))).look();
    expect([prefixed.code, prefixed.problems]).toEqual([2, ['host_bad_response', 'v3_list_failed']]);
    expect(found(prefixed, 'v3_list_failed')?.text).toMatch(/3 lists.* It says: .*unknown field/);
  });

  it('weighs what everything takes against what is free', async () => {
    const looked = await (await newScene(['total-count=10000000000000'])).look();
    expect([looked.code, looked.problems]).toEqual([6, ['disk_full']]);
  });

  it('warns of what is odd and lets it pass', async () => {
    const quirks = ['absent-v3=crm/stages', 'malformed=0.2', 'any-model', 'gzip'];
    const { sandbox, look } = await newScene(quirks, () => ({ backfill: { days: 90 } }));
    const looked = await look();
    expect(looked.code).toBe(0);
    const warnings = looked.findings.filter(({ level }) => level === 'warning').map(({ code }) => code);
    expect(new Set(warnings)).toEqual(
      new Set(['v3_model_absent', 'objects_rejected', 'answers_anything', 'window_moves']),
    );
    expect(sandbox.requests().some(({ status }) => status >= 500)).toBe(false);
  });

  it('tells problems of the configuration and of the database, each with its code', async () => {
    const { look, cwd, sandbox } = await newScene();
    writeFileSync(join(cwd, 'notes.txt'), 'dear diary, this is a text file and not a database');
    const foreign = await look(['--db', 'notes.txt']);
    expect([foreign.code, foreign.problems]).toEqual([6, ['database_not_our_database']]);
    const nowhere = await look(['--db', 'no/such/folder.db']);
    expect([nowhere.code, nowhere.problems]).toEqual([6, ['database_disk']]);
    expect((await runCli(['run', '--quiet'], { cwd, env: keysOf(sandbox.apiKey) })).code).toBe(0);
    const after = await look();
    expect([after.code, found(after, 'database_usable')?.level]).toEqual([0, 'ok']);
    writeFileSync(join(cwd, 'svc-migrate.db-journal'), 'left by a process that died');
    const died = await look();
    expect([died.code, found(died, 'database_interrupted')?.level]).toEqual([0, 'note']);
    expect(readFileSync(join(cwd, 'svc-migrate.db-journal'), 'utf8')).toBe('left by a process that died');
    rmSync(join(cwd, 'svc-migrate.db-journal'));
    const config = { ...sandbox.config(), companies: { match: { file: 'companies.csv' }, include: [] } };
    writeFileSync(
      join(cwd, 'svc-migrate.config.json'),
      JSON.stringify({ ...config, models: [{ v3: 'crm/stages', v4: 'stages' }] }),
    );
    const other = await look();
    expect([other.code, other.problems]).toEqual([6, ['companies_file', 'database_other_configuration']]);
    writeFileSync(join(cwd, 'svc-migrate.config.json'), JSON.stringify({ ...config, databse: 'x' }));
    const broken = await look();
    expect([broken.code, broken.problems]).toEqual([2, ['config_invalid']]);
    expect(found(broken, 'config_invalid')?.text).toContain('did you mean "database"');
  });

  it('checks decisions.csv as it checks companies.csv', async () => {
    const { look, cwd } = await newScene([], () => ({ decisions: 'decisions.csv' }));
    const missing = await look();
    expect([missing.code, missing.problems]).toEqual([6, ['decisions_file']]);
    const header = 'model,path,region,v3_company_id,v3_svc_id,v4_svc_id,note\n';
    writeFileSync(join(cwd, 'decisions.csv'), `${header}accounting/invoices,,default,1,10,?,\n`);
    const undecided = await look();
    expect([undecided.code, undecided.problems]).toEqual([6, ['decisions_file']]);
    expect(found(undecided, 'decisions_file')?.text).toContain('line 2: "?" is not a decision');
    writeFileSync(join(cwd, 'decisions.csv'), header);
    expect((await look()).code).toBe(0);
  });

  it('asks a sample of many companies, and says so', async () => {
    const { look, sandbox } = await newScene([], undefined, { companies: 24 });
    const sampled = await look();
    expect(found(sampled, 'v4_companies_sampled')?.text).toBe(
      'V4 lists 25 companies; a sample of 10 was asked for every model.',
    );
    const texts = sampled.findings.map(({ text }) => text);
    const [, seen = 0] = /(\d+) V3 companies seen/.exec(texts.join('\n')) ?? [];
    const shown = texts.filter((text) => text.startsWith('V3 company ')).length;
    expect(texts).toContain(`… and ${Number(seen) - shown} more companies.`);
    expect(sandbox.requests().length).toBeLessThan(350);
  });
});
