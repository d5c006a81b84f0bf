import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { execPath } from 'node:process';
import { beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/commands/catalogue/all.js';
import { campaignCases } from '../support/campaign.js';
import { makeFolder, runCli } from './run-cli.js';

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
  [['findings', '--reason', 'key'], ['key_changed']],
  [['findings', '--reason', 'parent_key'], ['parent_key_changed']],
  [['findings', '--status', 'v4'], ['v4_only']],
  [['report', '--model', 'crm/'], []],
  [['apply', 'plan', '--ids', 'ord'], []],
  [['lookup', 'crm/stages', '1'], []],
  [['lookup', '--json', 'a-'], ['a-file.json']],
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

function fill(folder: string): void {
  writeFileSync(join(folder, 'a-file.json'), '');
}

/** What the program answers to the scripts, without the meanings. */
async function answered(...words: readonly string[]): Promise<string[]> {
  const folder = makeFolder();
  fill(folder);
  const { code, stdout, stderr } = await runCli(['completion', 'words', '--', ...words], { cwd: folder });
  expect([code, stderr]).toEqual([0, '']);
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.replace(/\t.*/, '')]));
}

describe('what can follow', () => {
  it.each(CASES)('%j: %j', async (words, expected) => {
    const isFile = expected[0]?.endsWith('.json') === true;
    expect(await answered(...words)).toEqual(isFile ? [':files'] : expected);
  });

  it('is every command first', async () => {
    expect(await answered('')).toEqual([...new Set(COMMANDS.map(({ name }) => name.split(' ')[0]))]);
  });
});

/** Cases that shells are asked: each starts the program. */
const ASKED = CASES.filter(([words]) =>
  /^(expo|export |status --ver|lookup --json a-)/.test(words.join(' ')),
);

/** A folder with the program, the script `complete` and, in `work`, a file. */
function makeShellFolder(script: string): { readonly folder: string; readonly at: object } {
  const folder = mkdtempSync(join(tmpdir(), 'svc-complete-'));
  mkdirSync(join(folder, 'work'));
  fill(join(folder, 'work'));
  writeFileSync(join(folder, 'complete'), script);
  const program = `#!/bin/sh
exec ${execPath} ${resolve('bin/svc-migrate.js')} "$@"
`;
  writeFileSync(join(folder, 'svc-migrate'), program, { mode: 0o755 });
  const env = { PATH: `${folder}:${process.env['PATH']}`, HOME: folder, LC_ALL: 'C.UTF-8' };
  return { folder, at: { cwd: join(folder, 'work'), env, encoding: 'utf8' } };
}

function lineOf(words: readonly string[]): string {
  return ['svc-migrate', ...words].join(' ');
}

/** Asks a real bash. */
function offeredByBash(script: string): string[][] {
  const { at } = makeShellFolder(script);
  return ASKED.map(([words]) => {
    const ask = `source ../complete; COMP_WORDS=(svc-migrate "$@"); COMP_CWORD=$#; _svc_migrate; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const out = execFileSync('bash', ['-c', ask, 'x', ...words], at).toString();
    return out.split('\n').filter((word) => word !== '');
  });
}

/** Asks a real fish, once for all cases. */
function offeredByFish(script: string): string[][] {
  const { at } = makeShellFolder(script);
  const ask =
    'source ../complete; for line in $argv; complete -C "$line" | string split -f 1 \\t; echo ==; end';
  const lines = ASKED.map(([words]) => lineOf(words));
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
  execFileSync('zsh', ['-f', '-c', ZSH, 'zsh', ...ASKED.map(([words]) => lineOf(words))], {
    ...at,
    timeout: 60_000,
  });
  const parts = readFileSync(join(folder, 'found'), 'utf8').split('==\n');
  return parts.map((part) => part.split('\n').filter((word) => word !== ''));
}

const SHELLS = [
  ['bash', offeredByBash],
  ['fish', offeredByFish],
  ['zsh', offeredByZsh],
] as const;
describe.each(campaignCases(SHELLS, 1))('completion in %s', (shell, ask) => {
  const hasShell = spawnSync(shell, ['--version']).status === 0;
  if (!hasShell)
    process.stderr.write(
      `\n*** NOT TESTED: ${shell} is not installed, so its completion was not tried. ***\n\n`,
    );
  let found: readonly (readonly string[])[] = [];
  beforeAll(async () => {
    if (hasShell) found = ask((await runCli(['completion', shell], { cwd: makeFolder() })).stdout);
  });

  it.runIf(hasShell).each(ASKED.map(([words, expected], at) => ({ line: lineOf(words), expected, at })))(
    'offers for $line: $expected',
    ({ expected, at }) => {
      expect(found[at]?.toSorted()).toEqual(expected.toSorted());
    },
  );
});

describe('the command', () => {
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
