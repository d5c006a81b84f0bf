import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { APPLY } from '../../../src/commands/catalogue/apply.js';
import { hasPty, onTerminal } from '../../cli/on-terminal.js';
import { newIo } from '../../report/support.js';
import { givenOf } from '../../support/given.js';
import { createOrders, IDS, MAPPED, makeScene, ordersIn, upTo } from './scene.js';

const INVOICES = 'invoice_id=accounting/invoices';
const FILES = ['csv', 'ndjson'];
const SERVERS = ['postgresEnv', 'mysqlEnv'];
const PLACES = [...FILES, 'sqlite', ...SERVERS];
const EVERYWHERE = [...PLACES, 'configuration'];
const TABLES = EVERYWHERE.filter((place) => !FILES.includes(place));

/** Where each option has an effect. An option that is missing here fails the test: say what it means beside the others. */
const EFFECTIVE: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(PLACES.map((place) => [place, [place]])),
  ...Object.fromEntries(
    [
      ...['targets', 'run', 'dialect', 'layout', 'ids', 'yes', 'plan', 'save', 'json', 'unmapped'],
      ...['inPlace', 'missing', 'unknown', 'mapDeleted', 'allowIncomplete', 'others', 'again'],
    ].map((name) => [name, EVERYWHERE]),
  ),
  output: [...FILES, 'configuration'],
  table: TABLES,
  batchRows: TABLES,
  lockTimeout: TABLES,
  statementTimeout: [...SERVERS, 'configuration'],
};

/** Whether a command has to refuse two of its options. */
function isRefused(command: string, one: string, other: string): boolean {
  const effectOf = (name: string) =>
    command === 'apply sql' && name === 'output' ? EVERYWHERE : (EFFECTIVE[name] ?? []);
  if (!effectOf(one).some((place) => effectOf(other).includes(place))) return true;
  const pair = [one, other];
  if (pair.includes('inPlace') && pair.includes('output')) return command !== 'apply sql';
  // Alone it means nothing.
  return pair.includes('again') && !pair.includes('inPlace');
}

const VALUES: Readonly<Record<string, string>> = {
  dialect: 'sqlite',
  layout: 'plain',
  missing: 'keep',
  unknown: 'keep',
  others: 'keep',
  batchRows: '5',
  lockTimeout: '5s',
  statementTimeout: '5s',
};

describe.each(APPLY.map((command) => [command.name, command] as const))('%s', (name, command) => {
  const typed = (option: string) => {
    const { value = null, isList = false } = command.options.find((one) => one.name === option) ?? {};
    const text = VALUES[option] ?? 'x';
    return [option, value === null ? true : isList ? [text] : text] as const;
  };
  const pairs = command.options.flatMap((one, at) =>
    command.options.slice(at + 1).map((other) => [one.name, other.name] as const),
  );

  it('uses or refuses every pair of its options', async () => {
    const needed = name === 'apply sql' ? ['dialect', 'output'] : name === 'apply write' ? ['yes'] : [];
    for (const [one, other] of pairs) {
      const options = Object.fromEntries([...needed, one, other].map(typed));
      const ended = await command.run(givenOf(null, options), newIo()).catch(String);
      const isOwn = isRefused(name, one, other);
      expect([one, other, ended]).toEqual([
        one,
        other,
        expect.stringMatching(isOwn ? /cannot be combined|needs --/ : /has no configuration/),
      ]);
    }
    expect(command.options.filter((option) => !(option.name in EFFECTIVE))).toEqual([]);
    expect(pairs.length).toBeGreaterThan(25);
  });
});

describe('a target that options describe', () => {
  it.each([
    [['--ids', INVOICES], 'no option says where it is'],
    [['--table', 'orders'], 'no option says where it is'],
    [['--output', 'new.csv'], 'no option says where it is'],
    [['orders', '--csv', 'orders.csv', '--ids', INVOICES], 'not both'],
    [['--csv', 'orders.csv'], 'No column that holds ids is named'],
    [['--sqlite', 'shop.db', '--ids', INVOICES], 'needs --table'],
    [['--sqlite', 'postgres://user:secret@host/db', '--ids', INVOICES], 'never given on the command line'],
  ])('needs its place and its ids: %j', async (args, why) => {
    const ended = await makeScene().run(['apply', 'plan', ...args]);
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining(why)]);
    expect(ended.stderr).not.toContain('secret');
  });
});

describe('apply write', () => {
  it('changes nothing without --yes where there is no terminal', async () => {
    const scene = makeScene();
    writeFileSync(scene.path('orders.csv'), 'invoice_id\n1\n');
    const ended = await scene.run(['apply', 'write', '--csv', 'orders.csv', '--ids', INVOICES]);
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('--yes')]);
  });

  it('has V3 ids in new files only where keep-v3 asks for them', async () => {
    const scene = makeScene([{ name: 'orders', kind: 'sqlite', file: 'shop.db', table: 'orders', ids: IDS }]);
    createOrders(scene.path('shop.db'), [1]);
    for (const [more, why] of [
      [[], 'holds V4 ids only'],
      [['--in-place'], 'in place, keep leaves the V3 id'],
    ] as const) {
      const ended = await scene.run(['apply', 'plan', '--missing', 'keep-v3', ...more]);
      expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining(why)]);
    }
  });
});

it.each([
  ['runs', ['--csv', 'none.csv']],
  ['undo', ['--csv', 'none.csv']],
  ['undo', []],
])('apply %s refuses a file that is not there: %j', async (action, args) => {
  const scene = makeScene([{ name: 'orders', kind: 'csv', file: 'none.csv', ids: IDS }]);
  const ended = await scene.run(['apply', action, ...args]);
  expect([ended.code, ended.stderr]).toEqual([6, expect.stringContaining('There is no file')]);
});

describe.runIf(hasPty)('apply write on a terminal', () => {
  it.each([
    ['n', false],
    ['y', true],
  ])('shows the plan on one screen and asks; %s decides', async (answer, isWritten) => {
    const scene = makeScene([{ name: 'orders', kind: 'sqlite', file: 'shop.db', table: 'orders', ids: IDS }]);
    createOrders(scene.path('shop.db'), upTo(MAPPED), 'invoice_id INTEGER');
    const question = new RegExp(`Rewrite ${MAPPED} cells in 1 table\\? \\[y/N\\]`);
    const { text, code } = await onTerminal('apply write --in-place', { cwd: scene.folder, env: {} }, [
      { at: question, text: `${answer}\r` },
    ]);
    expect([code, text]).toEqual([0, expect.stringMatching(isWritten ? /Done: run/ : /Nothing was written/)]);
    expect(text.slice(0, text.search(question)).split('\n').length).toBeLessThan(24);
    const ids = upTo(MAPPED).map((id) => String(isWritten ? scene.v4Of(id) : id));
    expect(ordersIn(scene.path('shop.db'))).toEqual(ids);
  });
});
