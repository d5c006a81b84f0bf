import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createOrders, IDS, makeScene, ordersIn, query, type Scene, upTo } from './scene.js';

const INVOICES = '--ids invoice_id=accounting/invoices';
const CSV = 'orders.csv';
const ORDERS = `shop.db --table orders ${INVOICES}`;

function openShop(ids: readonly number[]) {
  const scene = makeScene();
  const file = scene.path('shop.db');
  createOrders(file, ids);
  return { ...scene, file };
}

/** The command that an output ends with, as words. */
function nextOf(stdout: string): string[] {
  const [, line = ''] = /^Next: svc-migrate (.*)$/m.exec(stdout) ?? [];
  // As a shell splits it.
  return [...line.matchAll(/'([^']*)'|[^ ']+/g)].map(([word, quoted]) => quoted ?? word);
}

/** Runs a command, then the one that it names next, which has to be one that can run. */
async function follow(scene: Scene, given: string) {
  const first = await scene.run(['apply', ...given.split(' ')]);
  const words = nextOf(first.stdout);
  // On a terminal it would ask.
  const then = await scene.run(words[1] === 'write' ? [...words, '--yes'] : words);
  expect([words.join(' '), then.code, then.stderr]).not.toEqual([words.join(' '), 2, then.stderr]);
  return { words: words.slice(1), then };
}

it.each([
  ['a plan', [1, 2], `plan ${CSV} ${INVOICES}`, 'write', ''],
  ['a plan with an id without a twin', [1, 181], `plan ${CSV} ${INVOICES}`, 'accounting/invoices', ''],
  ['a plan with other values', [1, 9999], `plan ${CSV} ${INVOICES}`, 'plan', ''],
  ['a plan for what a run wrote', [1, 2], `plan orders.v4.csv ${INVOICES}`, 'runs', 'write'],
  ['a plan with an older output', [1, 2], `plan ${CSV} ${INVOICES}`, 'runs', 'write edit'],
  ['a check', [1, 2], `check ${CSV} ${INVOICES}`, 'plan', ''],
  ['a run', [1, 2], `write ${CSV} ${INVOICES} --yes`, 'verify', ''],
  ['a verification of nothing', [1, 2], `verify ${CSV}`, 'find', ''],
  ['a check of what is written', [1, 2], `check ${CSV} ${INVOICES}`, 'plan', 'write'],
  ['a verification', [1, 2], `verify ${CSV}`, 'cutover', 'write'],
  ['runs', [1, 2], `runs ${CSV}`, 'verify', 'write'],
  ['undo', [1, 2], `undo ${CSV}`, 'plan', 'write'],
  ['a verification after an undo', [1, 2], `verify ${CSV}`, 'find', 'write undo'],
  ['runs after an undo', [1, 2], `runs ${CSV}`, 'find', 'write undo'],
])('the command after %s runs as printed', async (_, ids, words, next, before) => {
  const scene = makeScene();
  writeFileSync(scene.path(CSV), `invoice_id\n${ids.join('\n')}\n`);
  for (const action of before.split(' ')) {
    if (action === 'edit') writeFileSync(scene.path(CSV), 'invoice_id\n3\n');
    else if (action === 'write') await scene.apply(`write ${CSV} ${INVOICES} --yes`);
    else if (action === 'undo') await scene.apply(`undo ${CSV}`);
  }
  expect((await follow(scene, words)).words[0]).toBe(next);
});

it.each(['invoice_id', 'shop, invoice_id'])(
  'a new id that would equal one that stays, unique in (%s), leads to a new column',
  async (unique) => {
    const scene = makeScene();
    createOrders(
      scene.path('shop.db'),
      [1, scene.v4Of(1)],
      "invoice_id, kind DEFAULT 'invoice', shop DEFAULT 7",
    );
    query(scene.path('shop.db'), `CREATE UNIQUE INDEX own ON orders(${unique})`);
    query(scene.path('shop.db'), "UPDATE orders SET kind = 'note' WHERE id = 2");
    const models = '{"invoice":"accounting/invoices","note":null}';
    const ids = `--ids {"column":"invoice_id","modelColumn":"kind","models":${models}}`;
    const plan = `plan shop.db --table orders ${ids}`;
    expect((await scene.apply(`${plan} --in-place`, 1)).said).toContain('1 value would occur twice');
    const { words, then } = await follow(scene, `${plan} --in-place --again`);
    expect([words.join(' '), then.code]).toEqual([plan, 0]);
    // Every id has a V4 id.
    await scene.apply(plan.replace('plan', 'check'));
  },
);

it('a table without a key, in place, leads to a new column', async () => {
  const scene = makeScene();
  query(scene.path('shop.db'), 'CREATE TABLE orders(invoice_id INTEGER)');
  query(scene.path('shop.db'), 'INSERT INTO orders VALUES (1)');
  const { words, then } = await follow(scene, `plan ${ORDERS} --in-place`);
  expect([words.join(' '), then.code]).toEqual([`plan ${ORDERS}`, 0]);
});

it('a plan that an earlier run blocks leads to the runs, not to itself', async () => {
  const scene = openShop([1, 181]);
  await scene.apply(`write ${ORDERS} --yes --missing keep-v3`);
  const { words, then } = await follow(scene, `plan ${ORDERS} --missing keep`);
  expect([words.join(' '), then.code]).toEqual(['runs shop.db', 0]);
});

it('the command after a scan plans for what was found', async () => {
  const { words, then } = await follow(openShop(upTo(180)), 'find shop.db');
  expect([words.join(' '), then.code]).toEqual([`plan ${ORDERS}`, 0]);
});

it('the command after a scan plans for ids inside text and JSON, too', async () => {
  const scene = makeScene();
  const rows = upTo(180).map((id) => `https://shop/invoices/${id}?x=1,"{""invoice_id"":${id},""n"":7}"\n`);
  writeFileSync(scene.path('links.csv'), `url,body\n${rows.join('')}`);
  const { words, then } = await follow(scene, 'find links.csv');
  expect(words.filter((word) => word.startsWith('{')).map((word) => JSON.parse(word))).toEqual([
    { column: 'url', model: 'accounting/invoices', pattern: 'https://shop/invoices/{id}?x=1' },
    { column: 'body', model: 'accounting/invoices', pattern: '{{"invoice_id":{id},"n":7}}' },
  ]);
  expect([then.code, then.stdout]).toEqual([0, expect.stringContaining('360 cells to change')]);
  const written = await scene.run(['apply', 'write', ...words.slice(1), '--yes']);
  const after = rows.map((row, at) =>
    row.replaceAll(/(?<=invoices\/|id"":)\d+/g, String(scene.v4Of(at + 1))),
  );
  expect([written.code, scene.read('links.v4.csv')]).toEqual([0, `url,body\n${after.join('')}`]);
});

it('what is written leads to verify, a row that came since to the plan that fills it', async () => {
  const scene = openShop([1, 2]);
  await scene.apply(`write ${ORDERS} --yes`);
  expect((await follow(scene, `plan ${ORDERS}`)).words[0]).toBe('verify');
  query(scene.file, 'INSERT INTO orders(invoice_id) VALUES (1)');
  const { words, then } = await follow(scene, 'verify shop.db');
  expect([words.join(' '), nextOf(then.stdout).join(' ')]).toEqual([
    `plan ${ORDERS}`,
    `apply write ${ORDERS}`,
  ]);
});

it('the command in a note that undoes a run runs as printed', async () => {
  const scene = openShop([1, 2]);
  await scene.apply(`write ${ORDERS} --yes`);
  const { said } = await scene.apply(`sql sqlite ${ORDERS} --output sql`, 6);
  expect(said).toMatch(/`svc-migrate apply undo \S+ shop\.db`/);
  query(scene.file, 'ALTER TABLE orders DROP COLUMN invoice_id_v4');
  const { stdout } = await scene.run(['apply', 'plan', ...ORDERS.split(' '), '--json', '-']);
  const [, command = ''] = /`svc-migrate (apply undo .*?)`/.exec(stdout) ?? [];
  expect(command).toMatch(/^apply undo \S+ shop\.db$/);
  expect(await scene.run(command.split(' '))).toMatchObject({ code: 0 });
});

it('options that cannot describe the target of a run leave it to the configuration', async () => {
  const ids = IDS.map((one) => ({ ...one, platformIdColumn: 'stable' }));
  const scene = openShop([1]);
  scene.configure([{ name: 'mine', kind: 'sqlite', file: 'shop.db', table: 'orders', ids }]);
  await scene.apply('write --yes');
  expect((await follow(scene, 'undo shop.db')).words).toEqual(['plan', 'mine']);
});

it('the way out of an undo that left a row is the one that it names', async () => {
  const scene = openShop([1, 2, 3]);
  await scene.apply(`write ${ORDERS} --in-place --yes`);
  const written = ordersIn(scene.file);
  query(scene.file, 'UPDATE orders SET invoice_id = 500 WHERE id = 2');
  const wrong = await scene.apply('verify shop.db', 1);
  expect(wrong.stdout).toMatch(/\nFAIL\nBiggest blocker: .*\nNext: .*\n$/);
  const left = await scene.apply('undo shop.db', 1);
  expect(left.said).toContain('set them to what the run wrote');
  expect(ordersIn(scene.file)).toEqual(['1', '500', '3']);
  query(scene.file, `UPDATE orders SET invoice_id = ${written[1]} WHERE id = 2`);
  expect(await scene.run(nextOf(left.stdout))).toMatchObject({ code: 0 });
  query(scene.file, 'UPDATE orders SET invoice_id = 5 WHERE id = 2');
  await scene.apply(`plan ${ORDERS}`);
});

it('the way out of an undo of a new column is to empty what changed', async () => {
  const scene = openShop([1, 2, 3]);
  await scene.apply(`write ${ORDERS} --yes`);
  expect((await scene.apply('verify shop.db')).stdout).toMatch(/\nPASS: .*\nNext: .*\n$/);
  query(scene.file, 'UPDATE orders SET invoice_id_v4 = 500 WHERE id = 2');
  const left = await scene.apply('undo shop.db', 1);
  expect(left.said).toContain('empty them in a new column');
  query(scene.file, 'UPDATE orders SET invoice_id_v4 = NULL WHERE id = 2');
  expect(await scene.run(nextOf(left.stdout))).toMatchObject({ code: 0 });
});

it.each([
  ['that can be carried out', '--missing keep --unknown keep', 0],
  ['that is blocked', '--in-place', 1],
])('a plan of many tables %s fits one screen, with its counts and what to do', async (_, words, code) => {
  const scene = openShop([1, 2, 181, 9999]);
  const tables = upTo(40).map((at) => `orders_${at}`);
  scene.configure(tables.map((table) => ({ name: table, kind: 'sqlite', file: 'shop.db', table, ids: IDS })));
  for (const table of tables) {
    query(scene.file, `CREATE TABLE ${table}(id INTEGER PRIMARY KEY, invoice_id INTEGER)`);
    query(scene.file, `INSERT INTO ${table} SELECT * FROM orders`);
  }
  const { stdout } = await scene.apply(`plan ${words}`, code);
  expect(stdout.split('\n').length).toBeLessThanOrEqual(24);
  const end = stdout.trimEnd().split('\n').slice(-5).join('\n');
  expect(end).toContain('Of 160 ids you store, 80 map');
  expect(end.includes('Biggest blocker: orders_1: ')).toBe(code !== 0);
  expect(stdout).toMatch(/… and \d\d more targets: --verbose shows them/);
  expect(stdout).toContain('the gate of this remap is red');
  if (code === 0) expect(stdout).toContain('Kept without a V4 id: 40 cells. Left alone: 40 cells.');
  else expect(stdout).toMatch(/STOP orders_1: [\s\S]*… and \d+ more: --verbose shows them/);
  expect((await scene.apply(`plan ${words} --verbose`, code)).stdout).toContain('orders_40');
});
