import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/commands/catalogue/all.js';
import { OUTPUTS } from '../../src/commands/catalogue/options.js';
import { RENDERERS } from '../../src/commands/report.js';

describe('the catalogue of commands', () => {
  it('offers every format of the report', () => {
    expect(Object.keys(OUTPUTS)).toEqual(Object.keys(RENDERERS));
  });

  it.each(COMMANDS.map((command) => [command.name, command] as const))(
    '%s has two examples of itself',
    (name, command) => {
      const lines = Object.keys(command.examples);
      expect(lines.length).toBeGreaterThanOrEqual(2);
      for (const line of lines) expect(line).toMatch(new RegExp(`^svc-migrate ${name}( |$)`));
    },
  );

  it('names every command once', () => {
    const names = COMMANDS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it('says which generation the companies are of that --company names', () => {
    for (const { name, options } of COMMANDS)
      for (const { flags, summary } of options.filter((one) => one.flags.startsWith('--company')))
        expect([name, flags, summary]).toEqual([name, flags, expect.stringMatching(/V3 (and V4 )?company/)]);
  });
});
