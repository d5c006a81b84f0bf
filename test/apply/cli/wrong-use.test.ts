import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type ApplyAction, type ApplyOptions, buildRequest } from '../../../src/commands/apply-request.js';
import { COMMANDS } from '../../../src/commands/catalogue/all.js';
import { listSchemas, renderSchema } from '../../../src/commands/reference.js';
import { parseConfigValue } from '../../../src/config/load-config.js';
import { hasPty, onTerminal } from '../../cli/on-terminal.js';
import { newIo } from '../../report/support.js';
import { givenOf } from '../../support/given.js';
import { createOrders, IDS, MAPPED, makeScene, ordersIn, upTo } from './scene.js';

const APPLY = COMMANDS.filter(({ name }) => name.startsWith('apply '));
const INVOICES = 'invoice_id=accounting/invoices';
/** Where each option has an effect. An option that is missing here fails the test: say what it means beside the others. */
const EVERYWHERE = ['configuration', 'orders.csv', 'shop.db', 'SHOP_URL'];
const EFFECTIVE: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    [
      ...['dialect', 'layout', 'output', 'run', 'targets', 'yes', 'plan', 'save', 'json', 'unmapped'],
      ...['missing', 'unknown', 'mapDeleted', 'allowIncomplete', 'others', 'again'],
    ].map((name) => [name, EVERYWHERE]),
  ),
  // The configuration says which columns a target of its own has.
  ids: ['orders.csv', 'shop.db', 'SHOP_URL'],
  table: ['shop.db', 'SHOP_URL'],
  inPlace: ['configuration', 'shop.db', 'SHOP_URL'],
};

const SETTLED = ['inPlace', 'missing', 'unknown', 'mapDeleted', 'others', 'table', 'ids'];

const VALUES: Readonly<Record<string, string>> = {
  dialect: 'sqlite',
  layout: 'plain',
  missing: 'keep',
  unknown: 'keep',
  others: 'keep',
  run: '20261120-141000-3f9a',
  ids: INVOICES,
};

const CONFIG = parseConfigValue(
  {
    v3: { regions: { default: { baseUrl: 'http://127.0.0.1:1/v3' } } },
    v4: { baseUrl: 'http://127.0.0.1:1' },
    models: [{ v3: 'accounting/invoices', v4: 'invoices' }],
    apply: { targets: [{ name: 'orders', kind: 'sqlite', file: 'shop.db', table: 'orders', ids: IDS }] },
  },
  '/nowhere/svc-migrate.config.json',
  0,
);

describe.each(APPLY.map((command) => [command.name, command] as const))('%s', (name, command) => {
  const typed = (option: string) => {
    const { value = null, isList = false } = command.options.find((one) => one.name === option) ?? {};
    const text = VALUES[option] ?? 'x';
    return [option, value === null ? true : isList ? [text] : text] as const;
  };
  const action = name.slice('apply '.length) as ApplyAction;
  const names = command.options.map((one) => one.name);
  const pairs = names.flatMap((one, at) => names.slice(at + 1).map((other) => [one, other] as const));

  it('uses or refuses every pair of its options', async () => {
    const needed = name === 'apply sql' ? ['dialect', 'output'] : name === 'apply write' ? ['yes'] : [];
    for (const [one, other] of pairs) {
      const options = Object.fromEntries([...needed, one, other].map(typed));
      const ended = await command.run(givenOf(null, options), newIo()).catch(String);
      // Alone it means nothing.
      const isRefused = [one, other].includes('again') && ![one, other].includes('inPlace');
      // A saved plan has decided the rest.
      if (SETTLED.includes(one === 'plan' ? other : other === 'plan' ? one : '')) {
        expect(ended).toContain('--plan cannot be combined');
        continue;
      }
      expect([one, other, ended]).toEqual([
        one,
        other,
        expect.stringMatching(isRefused ? /needs --/ : /has no configuration/),
      ]);
    }
    expect(names.filter((option) => !(option in EFFECTIVE))).toEqual([]);
    expect(command.options.filter(({ role }) => role !== 'argument').length).toBeLessThanOrEqual(13);
    expect(pairs.length).toBeGreaterThanOrEqual(1);
  });

  it.each(EVERYWHERE)('uses or refuses every pair of its options on %s', (place) => {
    const isConfigured = place === 'configuration';
    const isDescribed = !isConfigured && names.includes('ids');
    for (const pair of pairs) {
      if (pair.includes('targets')) continue;
      const given = new Set([...pair, ...(isDescribed ? ['ids'] : [])]);
      if (isDescribed && place !== 'orders.csv') given.add('table');
      const options = Object.fromEntries([...given].map(typed)) as ApplyOptions;
      const isOwn = (option: string) =>
        EFFECTIVE[option]?.includes(place) === true || (action === 'find' && isConfigured);
      const build = () =>
        buildRequest(
          action,
          { ...options, targets: isConfigured ? [] : [place] },
          { config: CONFIG, env: { SHOP_URL: 'postgres://h/d' } },
        );
      if (pair.every(isOwn)) expect(build().targets).toHaveLength(1);
      else expect(build, pair.join()).toThrow(/^--(table|ids|in-place)/);
    }
  });
});

const SHOP = { name: 'orders', kind: 'sqlite', file: 'shop.db', table: 'orders', ids: IDS };

it.each([
  [`--ids ${INVOICES}`, 'describes a target that is not configured, but none is named'],
  ['--table orders', 'describes a target that is not configured, but none is named'],
  [`orders --ids ${INVOICES}`, 'describes a target that is not configured, but none is named'],
  [`orders orders.csv --ids ${INVOICES}`, 'not both'],
  ['orders.csv', '`svc-migrate apply find orders.csv` looks for such columns'],
  ['orders.csv --ids invoice_id=accounting/invoice', 'did you mean "accounting/invoices"? '],
  ['orders.csv --ids {invoice_id}', 'is not JSON'],
  [`orders.csv --table orders --ids ${INVOICES}`, 'orders.csv is a CSV file'],
  [`orders.csv --in-place --ids ${INVOICES}`, '--in-place is for tables'],
  [`shop.db --ids ${INVOICES}`, 'needs --table'],
  [`SHOP_URL --table orders --ids ${INVOICES}`, 'no configured target, file or environment variable'],
  [`HOME --table orders --ids ${INVOICES}`, 'holds no address like postgres://'],
  [`postgres://user:secret@host/db --ids ${INVOICES}`, 'never given on the command line'],
  ['--missing keep-v3 --in-place', 'in place, keep leaves the V3 id'],
])('a target on the command line needs its place and its ids: %s', async (words, why) => {
  const scene = makeScene([SHOP]);
  createOrders(scene.path('shop.db'), [1]);
  writeFileSync(scene.path('orders.csv'), 'invoice_id\n1\n');
  const { said } = await scene.apply(`plan ${words}`, 2, { env: { HOME: '/' } });
  expect(said).toContain(why);
  expect(said).not.toContain('secret');
});

it.each(APPLY.map(({ name }) => name.slice('apply '.length)))(
  '%s without a target names a command that looks for ids',
  async (name) => {
    const words = { sql: 'sql sqlite --output sql', write: 'write --yes' }[name] ?? name;
    for (const [place, files, env] of [
      ['shop.db', ['shop.db', 'orders.csv'], {}],
      ['orders.csv', ['orders.csv'], {}],
      ['SHOP_URL', ['shop.db'], { SHOP_URL: 'mysql://h/d' }],
    ] as const) {
      const scene = makeScene();
      for (const file of files)
        writeFileSync(scene.path(file), file === 'orders.csv' ? 'invoice_id\n1\n' : '');
      const ended = await scene.apply(words, 2, { env });
      expect(ended.said).toContain(`\`svc-migrate apply find ${place}\``);
      if (place !== 'SHOP_URL') await scene.apply(`find ${place}`);
    }
  },
);

it('write changes nothing without --yes where there is no terminal', async () => {
  const scene = makeScene();
  writeFileSync(scene.path('orders.csv'), 'invoice_id\n1\n');
  expect((await scene.apply(`write orders.csv --ids ${INVOICES}`, 2)).said).toContain('--yes');
});

it.each(['runs none.csv', 'undo none.csv', 'undo'])(
  'a file that is not there is refused: %s',
  async (words) => {
    const scene = makeScene([{ name: 'orders', kind: 'csv', file: 'none.csv', ids: IDS }]);
    expect((await scene.apply(words, 6)).said).toContain('There is no file');
  },
);

it.runIf(hasPty).each([
  ['n', false],
  ['y', true],
])('write on a terminal shows the plan on one screen and asks; %s decides', async (answer, isWritten) => {
  const scene = makeScene([SHOP]);
  createOrders(scene.path('shop.db'), upTo(MAPPED), 'invoice_id INTEGER');
  const question = new RegExp(`Rewrite ${MAPPED} cells in 1 table\\? \\[y/N\\]`);
  const typed = [{ at: question, text: `${answer}\r` }];
  const { text, code } = await onTerminal('apply write --in-place', { cwd: scene.folder, env: {} }, typed);
  expect([code, text]).toEqual([0, expect.stringMatching(isWritten ? /Done: run/ : /Nothing was written/)]);
  expect(text.slice(0, text.search(question)).split('\n').length).toBeLessThan(24);
  const ids = upTo(MAPPED).map((id) => String(isWritten ? scene.v4Of(id) : id));
  expect(ordersIn(scene.path('shop.db'))).toEqual(ids);
});

it.runIf(hasPty)(
  'write on a terminal says of a plan that is refused what comes next, in its files too',
  async () => {
    const scene = makeScene([SHOP]);
    createOrders(scene.path('shop.db'), [MAPPED + 1], 'invoice_id INTEGER');
    const words = 'apply write --in-place --json told.json --unmapped left.ndjson';
    const { text, code } = await onTerminal(words, { cwd: scene.folder, env: {} }, []);
    expect([code, text]).toEqual([
      1,
      expect.stringMatching(/\nNext: svc-migrate explain accounting\/invoices \d+\s*$/),
    ]);
    expect(JSON.parse(scene.read('told.json'))).toMatchObject({
      action: 'write',
      exitCode: 1,
      blocks: [{}],
      written: [],
    });
    expect(JSON.parse(scene.read('left.ndjson'))).toMatchObject({ value: String(MAPPED + 1) });
  },
);

it('the schema allows nothing that it does not name', async () => {
  const open: string[] = [];
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const { properties, additionalProperties } = value as Readonly<Record<string, unknown>>;
    if (properties !== undefined && additionalProperties !== false) open.push(path);
    for (const [key, member] of Object.entries(value)) visit(member, `${path}/${key}`);
  };
  const own = listSchemas().find(({ name }) => name === 'apply') ?? expect.fail('no schema');
  const schema: unknown = JSON.parse(await renderSchema(own));
  visit(schema, '');
  expect(open).toEqual([]);
  expect(schema).toMatchObject({ $id: 'urn:svc-migrate:schema:apply:1' });
});
