import { describe, expect, it } from 'vitest';
import { type CommandDefinition, parseOptions, runs } from '../../src/commands/command.js';
import {
  argument,
  companyId,
  describeOption,
  duration,
  flag,
  listArgument,
  listenAddress,
  listOption,
  listOptions,
  option,
  optionOr,
  output,
  svcId,
  text,
  waitDuration,
  wholeNumber,
} from '../../src/commands/option.js';
import { SvcError } from '../../src/errors.js';
import * as z from '../../src/zod.js';
import { runCli } from './run-cli.js';

/** A command that has every kind of option. */
const options = z.object({
  model: argument('<model>', 'a model', text),
  ids: listArgument('[ids...]', 'ids', svcId),
  all: flag('everything'),
  noColor: flag('no color'),
  sample: optionOr('<n>', 'how many', wholeNumber(1, 1000), '500'),
  every: option('<duration>', 'how long', duration),
  maxWait: option('<duration>', 'how long at most', waitDuration),
  company: listOption('<id>', 'a company', companyId),
  format: optionOr('<format>', 'a format', z.enum(['csv', 'sql']), 'csv'),
  listen: option('<[host:]port>', 'an address', listenAddress),
  json: output('a file'),
});
const definition: Pick<CommandDefinition<typeof options>, 'options' | 'conflicts' | 'needs'> = {
  options,
  conflicts: [['all', 'sample']],
  needs: [['every', 'all']],
};

const NONE = { model: 'm', ids: [], all: false, noColor: false, sample: 500, company: [], format: 'csv' };
const PARSED: readonly (readonly [given: object, options: object])[] = [
  [{}, NONE],
  [
    { all: true, every: '1.5s' },
    { ...NONE, all: true, every: 1500 },
  ],
  [
    { all: false, sample: '7' },
    { ...NONE, sample: 7 },
  ],
  [{ sample: '1000' }, { ...NONE, sample: 1000 }],
  [{ maxWait: '24h' }, { ...NONE, maxWait: 86_400_000 }],
  [{ ids: ['9223372036854775807', '-1'] }, { ...NONE, ids: [2n ** 63n - 1n, -1n] }],
  [{ company: ['1', '2'] }, { ...NONE, company: [1n, 2n] }],
  [
    { format: 'sql', json: '-' },
    { ...NONE, format: 'sql', json: '-' },
  ],
  [{ listen: '80' }, { ...NONE, listen: { host: '127.0.0.1', port: 80 } }],
  [{ listen: '::1:80' }, { ...NONE, listen: { host: '::1', port: 80 } }],
  [
    { noColor: true, unknown: 'x' },
    { ...NONE, noColor: true },
  ],
];

const REFUSED: readonly (readonly [given: object, message: string])[] = [
  [{ sample: '0' }, '--sample takes a whole number from 1 to 1000, not "0".'],
  [{ sample: '1e3' }, '--sample takes a whole number from 1 to 1000, not "1e3".'],
  [{ sample: '' }, '--sample takes a whole number from 1 to 1000, not "".'],
  [{ every: '90', all: true }, '--every takes a duration such as 90s, 5m or 2h, not "90".'],
  [{ maxWait: '25h' }, '--max-wait takes a duration up to 24h, such as 90s or 15m, not "25h".'],
  [
    { company: ['1', '1.5'] },
    '--company takes a company id: digits only, at most 9223372036854775807, not "1.5".',
  ],
  [{ ids: ['1', '01'] }, 'ids takes an id: a 64-bit integer in plain digits, not "01".'],
  [
    { ids: ['9223372036854775808'] },
    'ids takes an id: a 64-bit integer in plain digits, not "9223372036854775808".',
  ],
  [{ format: 'sqll' }, '"sqll" is no value for --format.'],
  [{ listen: '70000' }, '--listen takes a port or host:port, not "70000".'],
  [{ all: true, sample: '500' }, '--all cannot be combined with --sample.'],
  [{ every: '1s' }, '--every needs --all.'],
];

describe('options', () => {
  it.each(PARSED.map(([given, expected]) => [JSON.stringify(given), given, expected] as const))(
    'of %s are parsed',
    (_, given, expected) => {
      expect(parseOptions(definition, { model: 'm', ...given })).toEqual(expected);
    },
  );

  it.each(REFUSED)('of %j are refused', (given, message) => {
    const parse = () => parseOptions(definition, { model: 'm', ...given });
    expect(parse).toThrow(expect.objectContaining({ code: 'usage', message }));
  });

  it('name a near word', () => {
    const hintOf = (given: object) => {
      try {
        return parseOptions(definition, { model: 'm', ...given });
      } catch (error) {
        return error instanceof SvcError ? error.hint : error;
      }
    };
    expect(hintOf({ format: 'sqll' })).toBe('Did you mean "sql"?');
  });

  it('are described with their choices and defaults', () => {
    const described = listOptions(options).map((one) => [one.flags, describeOption(one)]);
    expect(described).toEqual([
      ['<model>', 'a model'],
      ['[ids...]', 'ids'],
      ['--all', 'everything'],
      ['--no-color', 'no color'],
      ['--sample <n>', 'how many (default: 500)'],
      ['--every <duration>', 'how long'],
      ['--max-wait <duration>', 'how long at most'],
      ['--company <id>', 'a company'],
      ['--format <format>', 'a format: csv, sql (default: csv)'],
      ['--listen <[host:]port>', 'an address'],
      ['--json <file>', 'a file'],
    ]);
  });

  it('are parsed before the command is loaded', async () => {
    const command = runs({ ...definition, name: 'x', summary: 'x', examples: {} }, async () => {
      throw new Error('it was loaded');
    });
    const config = () => Promise.reject(new Error());
    const given = { raw: { model: 'm', listen: 'x' }, commands: [], config, openInput: () => process.stdin };
    const running = command.run(given, {} as never);
    await expect(running).rejects.toMatchObject({ code: 'usage' });
  });
});

it('refuses what no command line has', async () => {
  const ended = await runCli(['report', '--company', 'x', '--company', '1'], { cwd: '.' });
  expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('--company takes a company id') });
});
