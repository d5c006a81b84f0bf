import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/commands/catalogue/all.js';
import { COMMON_OPTIONS } from '../../src/commands/catalogue/options.js';
import { buildGrammar } from '../../src/commands/completion/grammar.js';
import { renderBash } from '../../src/commands/completion/render-bash.js';
import { renderFish } from '../../src/commands/completion/render-fish.js';
import { DEFAULT_MODELS } from '../../src/config/defaults.js';
import { MINIMAL } from '../config/sample.js';
import { makeFolder, runCli } from './run-cli.js';

const grammar = buildGrammar(COMMANDS, COMMON_OPTIONS);

/** What bash offers after these words; the last one is being typed. */
function offered(...words: readonly string[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'svc-complete-'));
  writeFileSync(join(folder, 'a-file.json'), '');
  // The program prints what it was asked with, so that the models show which configuration was read.
  const script = `${renderBash(grammar)}
svc-migrate() { echo crm/companies; echo "crm/$2"; }
COMP_WORDS=(svc-migrate "$@"); COMP_CWORD=$#
_svc_migrate
printf '%s\\n' "\${COMPREPLY[@]}"`;
  // Readline takes = for a word of its own.
  const split = words.flatMap((word) =>
    word === '' ? [''] : word.split(/(=)/).filter((part) => part !== ''),
  );
  const out = execFileSync('bash', ['-c', script, 'x', ...split], {
    cwd: folder,
    encoding: 'utf8',
  });
  return out.split('\n').filter((word) => word !== '');
}

describe('completion in bash', () => {
  it.each([
    [['expo'], ['export']],
    [
      ['export', ''],
      ['v3', 'v4'],
    ],
    [['export', 'v3', '--re'], ['--restart']],
    [['--quiet', '--config', 'x.json', 'che'], ['check']],
    [
      ['dump', '--format', ''],
      ['csv', 'ndjson', 'sql', 'parquet'],
    ],
    [
      ['report', '--model', 'crm/'],
      ['crm/companies', 'crm/models'],
    ],
    [['report', '--model=crm/c'], ['crm/companies']],
    [
      ['report', '--model='],
      ['crm/companies', 'crm/models'],
    ],
    [
      ['report', '--config', 'x.json', '--model', 'crm/'],
      ['crm/companies', 'crm/x.json'],
    ],
    [
      ['report', '--config=x.json', '--model', 'crm/'],
      ['crm/companies', 'crm/completion'],
    ],
    [['report', '--json=a-'], ['a-file.json']],
    [
      ['apply', '--ids', 'order='],
      ['crm/companies', 'crm/models'],
    ],
    [['apply', '--ids=order=crm/c'], ['crm/companies']],
    [['apply', '--ids', 'ord'], []],
    [['lookup', 'crm/m'], ['crm/models']],
    [['lookup', 'crm/stages', '1'], []],
    [['lookup', '--region', 'eu', 'crm/m'], ['crm/models']],
    [['lookup', '--json', 'a-'], ['a-file.json']],
    [['lookup', '--json', '-', 'crm/c'], ['crm/companies']],
    [['report', '--json', 'a-'], ['a-file.json']],
    [['status', '--db', 'a-'], ['a-file.json']],
    [['--db', 'a-'], ['a-file.json']],
    [['status', '--ver'], ['--verbose']],
    [['nonsense', ''], []],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
  ])('offers for %j: %j', (words, expected) => {
    expect(offered(...words)).toEqual(expected);
  });

  it('offers every command first', () => {
    const words = new Set(COMMANDS.map(({ name }) => name.split(' ')[0]));
    expect(offered('')).toEqual([...words]);
  });
});

describe('completion in fish', () => {
  it('holds every command and option, with quotes that end', () => {
    const script = renderFish(grammar);
    for (const { name, options } of grammar.commands) {
      expect(script).toContain(` -a ${name.split(' ').at(-1)} `);
      for (const option of options) expect(script).toContain(` -l ${option.name.slice(2)}`);
    }
    for (const line of script.split('\n').slice(1)) {
      expect(line).toMatch(/^$|^complete -c svc-migrate( [^' ]+| '([^'\\]|\\.)*')+$/);
    }
  });
});

describe('the command', () => {
  it('prints the configured models, else the default ones', async () => {
    const config = { ...MINIMAL, models: [{ v3: 'accounting/gizmos' }, { v3: 'crm/stages' }] };
    const configured = await runCli(['completion', 'models'], { cwd: makeFolder(config) });
    expect(configured.stdout).toBe('accounting/gizmos\ncrm/stages\n');
    const usual = await runCli(['completion', 'models'], { cwd: makeFolder() });
    expect(usual.stdout.trim().split('\n')).toEqual(DEFAULT_MODELS.map(({ v3 }) => v3));
  });

  it('prints a script for each shell and knows no others', async () => {
    const cwd = makeFolder();
    for (const shell of ['bash', 'zsh', 'fish']) {
      const ended = await runCli(['completion', shell], { cwd });
      expect([ended.code, ended.stderr]).toEqual([0, '']);
      expect(ended.stdout).toContain('svc-migrate');
    }
    const refused = await runCli(['completion', 'fissh'], { cwd });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('Did you mean "fish"?');
  });
});
