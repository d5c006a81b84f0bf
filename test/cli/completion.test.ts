import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/commands/catalogue/all.js';
import { COMMON_OPTIONS } from '../../src/commands/catalogue/options.js';
import { buildGrammar } from '../../src/commands/completion/grammar.js';
import { renderBash } from '../../src/commands/completion/render-bash.js';
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

/** What is typed after the program's name, and what is offered for the last word. */
const CASES: readonly (readonly [words: readonly string[], expected: readonly string[]])[] = [
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
];

describe('completion in bash', () => {
  it.each(CASES)('offers for %j: %j', (words, expected) => {
    expect(offered(...words)).toEqual(expected);
  });

  it('offers every command first', () => {
    const words = new Set(COMMANDS.map(({ name }) => name.split(' ')[0]));
    expect(offered('')).toEqual([...words]);
  });
});

/** A folder with the program as a stub, the script `complete` and, in `work`, a file. */
function makeShellFolder(script: string): { readonly folder: string; readonly at: object } {
  const folder = mkdtempSync(join(tmpdir(), 'svc-complete-'));
  mkdirSync(join(folder, 'work'));
  writeFileSync(join(folder, 'work', 'a-file.json'), '');
  writeFileSync(join(folder, 'complete'), script);
  writeFileSync(join(folder, 'svc-migrate'), '#!/bin/sh\necho crm/companies; echo "crm/$2"\n', {
    mode: 0o755,
  });
  const env = { PATH: `${folder}:${process.env['PATH']}`, HOME: folder, LC_ALL: 'C.UTF-8' };
  return { folder, at: { cwd: join(folder, 'work'), env, encoding: 'utf8' } };
}

function lineOf(words: readonly string[]): string {
  return ['svc-migrate', ...words].join(' ');
}

/** Asks a real fish, once for all cases. */
function offeredByFish(script: string): string[][] {
  const { at } = makeShellFolder(script);
  const ask =
    'source ../complete; for line in $argv; complete -C "$line" | string split -f 1 \\t; echo ==; end';
  const lines = CASES.map(([words]) => lineOf(words));
  const out = execFileSync('fish', ['--no-config', '-c', ask, ...lines], at).toString();
  return out.split('==\n').map((part) => part.split('\n').filter((word) => word !== ''));
}

/** Types all cases into a real zsh, with Tab after each; what zsh would list goes to a file. */
const ZSH = `zmodload zsh/zpty
zpty z env TERM=dumb zsh -f -i
zpty -w z 'source ../setup'
zpty -r z reply '*READY*'
for line in "$@"; do
  zpty -w -n z "$line"$'\\t\\x14'
  zpty -r z reply '*DONE*'
done
zpty -d z`;
const ZSH_SETUP = `PS1=
autoload -U compinit; compinit -u -D
source ../complete
compadd() {
  local -a found; local prefix= i
  builtin compadd -O found "$@"
  for ((i = 1; i < $#; i++)); do [[ \${@[i]} == -P ]] && prefix=\${@[i+1]}; done
  print -rl -- $prefix\${^found} >> ../found
}
finish() { print -r -- "==" >> ../found; BUFFER=; print DO""NE }
zle -N finish; bindkey '^T' finish
zle-line-init() { print REA""DY }; zle -N zle-line-init
`;

function offeredByZsh(script: string): string[][] {
  const { folder, at } = makeShellFolder(script);
  writeFileSync(join(folder, 'setup'), ZSH_SETUP);
  execFileSync('zsh', ['-f', '-c', ZSH, 'zsh', ...CASES.map(([words]) => lineOf(words))], {
    ...at,
    timeout: 60_000,
  });
  const parts = readFileSync(join(folder, 'found'), 'utf8').split('==\n');
  return parts.map((part) => part.split('\n').filter((word) => word !== ''));
}

describe.each([
  ['fish', offeredByFish],
  ['zsh', offeredByZsh],
] as const)('completion in %s', (shell, ask) => {
  const hasShell = spawnSync(shell, ['--version']).status === 0;
  if (!hasShell)
    process.stderr.write(
      `\n*** NOT TESTED: ${shell} is not installed, so its completion was not tried. ***\n\n`,
    );
  let found: readonly (readonly string[])[] = [];
  beforeAll(async () => {
    if (hasShell) found = ask((await runCli(['completion', shell], { cwd: makeFolder() })).stdout);
  });

  it.runIf(hasShell).each(CASES.map(([words, expected], at) => ({ line: lineOf(words), expected, at })))(
    'offers for $line: $expected',
    ({ line, expected, at }) => {
      // These shells offer the word from its beginning, also where bash offers what follows =.
      const typed = line.split(' ').at(-1) ?? '';
      const before = typed.slice(0, typed.lastIndexOf('=') + 1);
      const words = (found[at] ?? []).map((word) =>
        word.startsWith(before) ? word.slice(before.length) : word,
      );
      expect(words.toSorted()).toEqual(expected.toSorted());
    },
  );
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
