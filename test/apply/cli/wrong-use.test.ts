import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { APPLY } from '../../../src/commands/catalogue/apply.js';
import { hasPty, onTerminal } from '../../cli/on-terminal.js';
import { createOrders, IDS, MAPPED, makeScene, ordersIn, upTo } from './scene.js';

const INVOICES = 'invoice_id=accounting/invoices';
const FILES = ['--csv', '--ndjson'];
const SERVERS = ['--postgres-env', '--postgres-file', '--mysql-env', '--mysql-file'];
const PLACES = [...FILES, '--sqlite', ...SERVERS];

/** Pairs of options of which the second has no effect beside the first. */
function meaningless(place: string): string[] {
  const ofTables = ['--table', '--key', '--path', '--new-column', '--platform-id-column', '--ledger-schema'];
  const tuning = ['--batch-rows', '--lock-timeout', '--statement-timeout'];
  const others = PLACES.filter((one) => one !== place);
  if (place === '--csv') return [...others, ...ofTables, ...tuning];
  if (place === '--ndjson') return [...others, ...ofTables, ...tuning, '--delimiter', '--no-header'];
  const ofFiles = ['--output', '--delimiter', '--no-header'];
  if (place === '--sqlite') return [...others, ...ofFiles, '--ledger-schema', '--statement-timeout'];
  return [...others, ...ofFiles, ...(place.startsWith('--mysql') ? ['--ledger-schema'] : [])];
}

const VALUES: Readonly<Record<string, string>> = {
  '--batch-rows': '5',
  '--lock-timeout': '5s',
  '--statement-timeout': '5s',
};

describe.each(APPLY.map((command) => [command.name, command] as const))('%s', (name, { options }) => {
  const flags = new Map(options.map((one) => [one.flags.split(' ')[0] ?? '', one.value !== null]));
  const typed = (flag: string) => (flags.get(flag) === true ? [flag, VALUES[flag] ?? 'x'] : [flag]);
  const pairs = [
    ...PLACES.flatMap((place) => meaningless(place).map((other) => [place, other] as const)),
    ['--in-place', '--new-column'] as const,
    ['--in-place', '--output'] as const,
    ['--region', '--region-column'] as const,
    ['--company', '--company-column'] as const,
  ].filter(
    ([one, other]) =>
      flags.has(one) && flags.has(other) && !(name === 'apply sql' && [one, other].includes('--output')),
  );

  it('refuses every pair of options of which one would have no effect', async () => {
    const scene = makeScene();
    for (const [one, other] of pairs) {
      const dialect = name === 'apply sql' ? ['sqlite'] : [];
      const ended = await scene.run([...name.split(' '), ...dialect, ...typed(one), ...typed(other)]);
      expect([one, other, ended.code, ended.stderr]).toEqual([
        one,
        other,
        2,
        expect.stringContaining('cannot be combined'),
      ]);
    }
    expect(pairs.length).toBeGreaterThan(15);
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

it.each(['runs', 'undo'])('apply %s refuses a file that is not there', async (action) => {
  const scene = makeScene();
  const ended = await scene.run(['apply', action, '--csv', 'none.csv']);
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
