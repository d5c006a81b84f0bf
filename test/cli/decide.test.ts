import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/start-sandbox.js';
import { openDatabase } from '../../src/store/open.js';
import { hasPty, onTerminal, type Typed } from './on-terminal.js';
import { openProject } from './project.js';
import { keysOf, makeFolder, runCli } from './run-cli.js';

const HEADER = 'model,path,region,v3_company_id,v3_svc_id,v4_svc_id,note,until';
const withDecisions = (sandbox: Sandbox) => ({ ...sandbox.config(), decisions: 'decisions.csv' });
const options = { seed: 7, scenario: 'ugly', scale: 400 } as const;
const { cwd: finished, at, run } = await openProject(options, withDecisions);
beforeAll(async () => {
  writeFileSync(join(finished, 'decisions.csv'), `${HEADER}\n# kept\n`);
  await run('run', '--quiet');
});

/** A copy of the finished job. */
function openScene() {
  const cwd = makeFolder();
  cpSync(finished, cwd, { recursive: true });
  const { env } = at;
  const file = join(cwd, 'decisions.csv');
  return {
    cwd,
    env,
    decisions: () => readFileSync(file, 'utf8').split('\n').slice(2, -1),
    decide: (typed: readonly Typed[]) => onTerminal('decide', { cwd, env }, typed),
  };
}

const QUESTION = /Which V4 id did it become\?[\s\S]*quit/;
const WHY = /Why\?/;
const COMPANY = /Answer[\s\S]*quit/;
const SKIPPED_COMPANIES = [1, 2, 3].map(() => ({ at: COMPANY, text: 's' }));
const ANSWERS = [
  ...SKIPPED_COMPANIES,
  { at: QUESTION, text: '?\r' },
  { at: /Enter is no answer[\s\S]*quit/, text: '1' },
  { at: QUESTION, text: 'n' },
  { at: WHY, text: 'sold, "twice"\r' },
  { at: QUESTION, text: 'a' },
  { at: /Accept it before which day/, text: '2030-02-30\r' },
  { at: /A day such as/, text: '\u007f'.repeat(10) },
  { at: /Accept/, text: '2030-01-31\r' },
  { at: WHY, text: '\r' },
  { at: QUESTION, text: 's' },
  { at: QUESTION, text: 'q' },
];

it('asks nothing where there is no terminal', async () => {
  const { code, stderr } = await runCli(['decide'], { cwd: makeFolder(), env: {} });
  expect(stderr).toContain('svc-migrate findings --write-decisions');
  expect(code).toBe(2);
});

describe.runIf(hasPty)('decide on a terminal', () => {
  it('writes each answer below what the file holds, and goes on there the next time', async () => {
    const { decisions, decide, cwd, env } = openScene();
    const { text, code } = await decide(ANSWERS);
    expect([code, text]).toEqual([0, expect.stringContaining('3 answers written, 4 skipped.')]);
    expect(text).toMatch(/Next: svc-migrate remap\s*$/);
    // Lines of the spinner and of the typed day are redrawn in place.
    const lines = text.split(/\r?\n/).filter((line) => !/[⠋█]/.test(line));
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    const [chosen = '', none = '', accepted = '', ...more] = decisions();
    expect(more).toEqual([]);
    expect(chosen).toMatch(/^[a-z_/]+,[a-z_]*,(eu|us),\d+,\d+,\d+,decided on \d{4}-\d\d-\d\d$/);
    expect(none).toMatch(/^[a-z_/]+,[a-z_]*,(eu|us),\d+,\d+,,"sold, ""twice"" \(decided on [\d-]+\)"$/);
    expect(accepted).toMatch(/^[a-z_/]+,[a-z_]*,(eu|us),\d+,\d+,,decided on [\d-]+,2030-01-31$/);
    const again = await decide([...SKIPPED_COMPANIES, { at: QUESTION, text: 'q' }]);
    expect(again.text).toContain('Question 4 of ');
    for (const line of [chosen, none, accepted])
      expect(again.text).not.toContain(`V3 ${line.split(',')[4]},`);
    expect(again.code).toBe(0);
    const left = await decide([{ at: COMPANY, text: 'q' }]);
    expect(left.text).toMatch(/0 answers written\.\s+Next: svc-migrate remap\s*$/);
    expect((await runCli(['remap'], { cwd, env })).code).toBe(0);
    const id = chosen.split(',')[4] ?? '';
    const story = await runCli(['explain', chosen.split(',')[0] ?? '', id], { cwd, env });
    expect(story.stdout).toContain('decided on');
  });

  it('asks about companies first, and names the setting of a file that is new', async () => {
    const { decide, cwd, env } = openScene();
    const typed = [
      { at: COMPANY, text: '1' },
      { at: COMPANY, text: 'q' },
    ];
    const { text } = await decide(typed);
    expect(text).toContain('"companies": { "match": { "file": "companies.csv" } }');
    const [header, line, ...more] = readFileSync(join(cwd, 'companies.csv'), 'utf8').split('\n');
    expect([header, more]).toEqual(['region,v3_company_id,v4_company_id', ['']]);
    const [region, v3, v4] = line?.split(',') ?? [];
    expect(text).toContain(`V4 company is V3 company ${v3} of ${region}?`);
    expect(text).toContain(`V4 company ${v4}: `);
    const again = await onTerminal('decide', { cwd, env, size: [0, 0] }, [{ at: COMPANY, text: 'q' }]);
    expect(again.text).not.toContain(`V3 company ${v3} of ${region}?`);
    expect(again.text).toMatch(/Next: svc-migrate remap\s*$/);
    // A terminal that does not know its size is taken for a usual one.
    expect(again.text.split(/\r?\n/).length).toBeLessThan(100);
  });

  it('says which V3 company has a candidate that is no longer offered', async () => {
    const { decide } = openScene();
    const { text } = await decide([
      { at: COMPANY, text: '1' },
      { at: COMPANY, text: 's' },
      { at: COMPANY, text: 'q' },
    ]);
    const flat = text.replace(/\s+/g, ' ');
    expect(flat).toMatch(
      /V4 company \d+: \d+ of \d+ shared records? agree, but it was already given to V3 company/,
    );
  });

  it('offers no V4 id that another V3 id became', async () => {
    const { cwd, env } = openScene();
    const db = openDatabase(join(cwd, 'svc-migrate.db'), 'read');
    const [model, company, open, taken] = db
      .prepare<[], [string, bigint, bigint, bigint]>(`
        SELECT open.model, open.v3_company_id, open.v3_svc_id, twin.v4_svc_id FROM remap AS open
        JOIN remap AS twin USING (model, path, region, v3_company_id, platform_id)
        WHERE open.reason = 'duplicate_platform_id_v3' AND path = '' AND open.v3_svc_id IS NOT NULL
          AND twin.status = 'matched' AND twin.matched_by = 'platform_unique_id'`)
      .raw()
      .get() ?? ['', 0n, 0n, 0n];
    db.close();
    const skipAll = Array.from({ length: 100 }, () => ({ at: /skip[\s\S]*quit/, text: 's' }));
    const { text } = await onTerminal(`decide --model ${model} --company ${company}`, { cwd, env }, skipAll);
    const [, question = ''] = text.split(`${model} V3 ${open}, company ${company}`);
    expect(question).toMatch(/Which V4 id/);
    expect(question.split('quit')[0]).not.toMatch(new RegExp(`1 +V4 ${taken}\\b`));
    expect(text).not.toContain(`No V3 id became ${model} V4 ${taken},`);
  });

  it('offers no V4 id that was just given away, and asks about no deleted record', async () => {
    const { cwd, env, decisions } = openScene();
    const skipAll = Array.from({ length: 10 }, () => ({ at: /skip[\s\S]*quit/, text: 's' }));
    const { text } = await onTerminal('decide --model payments/orders --company 17', { cwd, env }, [
      { at: /V3 2, company 17 in eu[\s\S]*quit/, text: '1' },
      ...skipAll,
    ]);
    expect(decisions()).toEqual([expect.stringContaining('payments/orders,,eu,17,2,40,')]);
    expect(text).toMatch(/Deleted in V3, so not to be decided: \d+ ambiguous/);
    const asked = [...text.matchAll(/ V3 (\d+), company 17 in (eu|us)/g)].map(
      ([, id, region]) => `${region} ${id}`,
    );
    expect(asked.join()).toBe('eu 2,eu 3,eu 13,eu 9223372036854775802,us 2,us 19,us 24');
    expect(text.split(' V3 13,')[1]?.split('quit')[0]).not.toMatch(/V4 40\b/);
  });

  it('keeps the answers when it is left with Ctrl-C', async () => {
    const { decisions, decide } = openScene();
    const { text, code } = await decide([
      ...SKIPPED_COMPANIES,
      { at: QUESTION, text: 'n' },
      { at: WHY, text: '\r' },
      { at: QUESTION, text: 'n' },
      { at: WHY, text: '\u0003' },
    ]);
    expect([code, text]).toEqual([130, expect.stringContaining('1 answer written')]);
    expect(decisions()).toHaveLength(1);
  });

  it('asks whether a candidate that no V3 id became is new in V4, so that nothing stays ambiguous', async () => {
    const story = await startSandbox({ seed: 1, isStory: true });
    story.completeFullSync();
    const cwd = makeFolder(withDecisions(story));
    writeFileSync(join(cwd, 'decisions.csv'), `${HEADER}\n`);
    const at = { cwd, env: keysOf(story.apiKey) };
    await runCli(['run', '--quiet'], at);
    const { text, code } = await onTerminal('decide', at, [
      { at: QUESTION, text: '1' },
      { at: /Is it new in V4\?[\s\S]*quit/, text: 'v' },
    ]);
    expect([code, text]).toEqual([0, expect.stringContaining('2 answers written.')]);
    const lines = readFileSync(join(cwd, 'decisions.csv'), 'utf8').split('\n').slice(1, -1);
    expect(lines).toEqual([
      expect.stringMatching(/^payments\/orders,,default,5,\d+,\d+,decided on [\d-]+$/),
      expect.stringMatching(/^payments\/orders,,default,5,,\d+,decided on [\d-]+$/),
    ]);
    await runCli(['remap', '--quiet'], at);
    expect((await runCli(['findings', '--status', 'ambiguous'], at)).stdout).toContain('No findings.');
    await story.close();
  });
});

it('warns of lines of companies.csv that the records speak against, or know nothing of', async () => {
  const { cwd, env } = openScene();
  const file = join(cwd, 'svc-migrate.config.json');
  const config = { ...JSON.parse(readFileSync(file, 'utf8')), companies: { match: { file: 'pairs.csv' } } };
  writeFileSync(file, JSON.stringify(config));
  const lines = ['region,v3_company_id,v4_company_id', 'eu,16,17', 'eu,72,72', 'us,4242,45'];
  writeFileSync(join(cwd, 'pairs.csv'), `${lines.join('\n')}\n`);
  const { code, stderr } = await runCli(['remap', '--quiet'], { cwd, env });
  expect([code, stderr.match(/Warning: line \d/g)]).toEqual([0, ['Warning: line 2', 'Warning: line 4']]);
  expect(stderr).toMatch(/V3 company 16 of eu and V4 company 17: 0 of \d+ shared records agree/);
});
