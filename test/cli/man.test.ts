import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/commands/catalogue/all.js';
import { COMMON_OPTIONS } from '../../src/commands/catalogue/options.js';
import { listOptions } from '../../src/commands/option.js';
import { renderMan } from '../../src/commands/reference.js';
import { EXIT_BY_CODE } from '../../src/errors.js';

const page = renderMan('1.2.3');
const shown = page.replaceAll('\\-', '-').replaceAll('\\e', '\\');

describe('the manual page', () => {
  it('names every command, option and exit code', () => {
    const all = [...listOptions(COMMON_OPTIONS), ...COMMANDS.flatMap((command) => command.options)];
    const options = all.flatMap(({ role, flags }) => (role === 'argument' ? [] : [flags]));
    const terms = [...shown.matchAll(/^\.B (.*)$/gm)].flatMap(([, term = '']) => [term, ...term.split(', ')]);
    const codes = new Set(Object.values(EXIT_BY_CODE));
    for (const { name } of COMMANDS) expect(shown).toMatch(new RegExp(`^\\.SS ${name}( |$)`, 'm'));
    for (const term of [...options, ...codes]) expect(terms).toContain(String(term));
  });

  it('has no line that roff would take for a request', () => {
    const requests = new Set(page.match(/^[.'][A-Za-z]*/gm));
    expect([...requests].sort()).toEqual(
      ['.B', '.I', '.PP', '.SH', '.SS', '.TH', '.TP', '.fi', '.nf'].sort(),
    );
  });

  it.skipIf(spawnSync('groff', ['--version']).error !== undefined)(
    'is read by groff without a warning',
    () => {
      const { stderr, status } = spawnSync('groff', ['-man', '-ww', '-z', '-Tutf8', '-K', 'utf8'], {
        input: page,
        encoding: 'utf8',
      });
      expect([status, stderr]).toEqual([0, '']);
    },
  );
});
