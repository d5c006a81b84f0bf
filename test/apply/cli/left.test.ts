import { appendFileSync, existsSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { campaignCases } from '../../support/campaign.js';
import { ENGINES } from '../support/databases.js';
import { makeScene, type Scene } from './scene.js';
import { openShop, type Shop } from './shops.js';

const IDS = ['--ids', 'invoice_id=accounting/invoices'];
/** A V3 id without a twin, and a number that is no id of the model. */
const [NO_TWIN, FOREIGN] = [181, 5000];

/** Runs and returns the JSON, as far as a test looks at it. */
async function apply(
  scene: Scene,
  args: readonly string[],
): Promise<{ code: number | null; left: object[]; text: string }> {
  const action = args.includes('--yes') ? 'write' : 'plan';
  const ended = await scene.run(['apply', action, ...args, '--json', 'out.json']);
  const { exitCode, left } = JSON.parse(scene.read('out.json'));
  expect(ended.code).toBe(exitCode);
  return { code: ended.code, left, text: ended.stdout.replace(/\s+/g, ' ') };
}

const listed = (scene: Scene): unknown[] =>
  scene
    .read('left.ndjson')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

const leftOf = (kind: string, reason: string, cells: number, isAccepted: boolean): object =>
  expect.objectContaining({ column: 'invoice_id', kind, reason, cells, isAccepted });
const NO_TWIN_REASON = 'unmatched/unexplained';

const MODES = [
  { mode: 'a new column', flags: [] },
  { mode: 'in place', flags: ['--in-place'] },
];

describe.each(campaignCases(ENGINES, 1))('what a run leaves in $product', (engine) => {
  const open = (name: string, ids?: readonly object[]) => openShop(engine, name, ids);
  const orders = ({ place }: Shop) => [...place, '--table', 'orders', ...IDS];

  it.each(MODES)('is counted and listed by the policy that let it be ($mode)', async ({ flags, mode }) => {
    const shop = await open(`policy_${mode === 'in place' ? 'in' : 'new'}`);
    const { scene, sql, close } = shop;
    await sql(`INSERT INTO orders(invoice_id) VALUES (${NO_TWIN}), (${NO_TWIN}), (${FOREIGN}), (NULL)`);
    const given = [...orders(shop), ...flags, '--unmapped', 'left.ndjson'];
    const refused = await apply(scene, [...given, '--yes']);
    expect(refused.code).toBe(1);
    expect(refused.left).toHaveLength(2);
    expect(listed(scene)).toHaveLength(3);
    const done = await apply(scene, [...given, '--yes', '--missing', 'keep', '--unknown', 'keep']);
    expect(done).toMatchObject({
      code: 0,
      left: [leftOf('kept', NO_TWIN_REASON, 2, true), leftOf('left_alone', 'unknown/not_in_remap', 1, true)],
    });
    expect(done.text).toContain(`2 cells kept without a V4 id: ${NO_TWIN_REASON}`);
    const noTwin = { target: 'orders', kind: 'kept', reason: NO_TWIN_REASON, value: String(NO_TWIN) };
    expect(listed(scene)).toEqual([
      expect.objectContaining({ ...noTwin, key: { id: '4' } }),
      expect.objectContaining({ ...noTwin, key: { id: '5' } }),
      expect.objectContaining({ value: String(FOREIGN), kind: 'left_alone', key: { id: '6' } }),
    ]);
    expect(statSync(scene.path('left.ndjson')).mode & 0o777).toBe(0o600);
    // The same command without the policy does not pass over what is left.
    const strict = await apply(scene, [...given, '--yes']);
    expect(strict.code).toBe(1);
    await close();
  });

  it('counts emptied cells for as long as they are empty', async () => {
    const shop = await open('emptied_cells');
    const { scene, sql, read, close } = shop;
    await sql(`INSERT INTO orders(invoice_id) VALUES (${NO_TWIN})`);
    const given = [...orders(shop), '--in-place', '--yes', '--missing', 'null', '--unmapped', 'left.ndjson'];
    for (const title of ['Done: run', 'Nothing was left to do.']) {
      const done = await apply(scene, given);
      expect(done).toMatchObject({ code: 0, left: [{ kind: 'emptied', cells: 1, isAccepted: true }] });
      expect(done.text).toContain(title);
      expect(listed(scene)).toEqual([
        expect.objectContaining({ kind: 'emptied', value: String(NO_TWIN), key: { id: '4' } }),
      ]);
    }
    expect(await read('SELECT count(*) FROM orders WHERE invoice_id IS NULL')).toEqual(['1']);
    await close();
  });

  it('says of a finished run in place what came and changed since', async () => {
    const shop = await open('since');
    const { scene, sql, read, close } = shop;
    const given = [...orders(shop), '--in-place', '--yes', '--unmapped', 'left.ndjson'];
    expect(await apply(scene, given)).toMatchObject({ code: 0, left: [] });
    expect(await apply(scene, given)).toMatchObject({ code: 0, left: [] });
    expect(listed(scene)).toEqual([]);
    await sql('INSERT INTO orders(invoice_id) VALUES (9)');
    await sql('UPDATE orders SET invoice_id = 7777 WHERE id = 2');
    const since = [
      leftOf('came_since', 'mapped', 1, false),
      expect.objectContaining({ kind: 'changed_since', cells: 1, isAccepted: false }),
    ];
    const again = await apply(scene, given);
    expect(again).toMatchObject({ code: 1, left: since });
    expect(again.text).toContain('1 cell not rewritten: added since the run');
    expect(again.text).toContain('--again');
    expect(listed(scene)).toEqual([
      expect.objectContaining({ kind: 'came_since', value: '9', key: { id: '4' } }),
      expect.objectContaining({ kind: 'changed_since', value: '7777', key: { id: '2' } }),
    ]);
    expect(await apply(scene, [...given, '--others', 'keep'])).toMatchObject({ code: 0 });
    expect(
      await apply(
        scene,
        given.filter((word) => word !== '--yes'),
      ),
    ).toMatchObject({ code: 1, left: since });
    const checked = await scene.run(['apply', 'check', ...orders(shop)]);
    expect([checked.code, checked.stdout.replace(/\s+/g, ' ')]).toEqual([
      1,
      expect.stringContaining('1 cell not rewritten: added since the run'),
    ]);
    // `--again` takes what came; what changed is never touched.
    expect(await apply(scene, [...given, '--again'])).toMatchObject({
      code: 1,
      left: [{ kind: 'changed_since', cells: 1 }],
    });
    expect(await read('SELECT invoice_id FROM orders ORDER BY id')).toEqual(
      [scene.v4Of(1), 7777, scene.v4Of(3), scene.v4Of(9)].map(String),
    );
    await close();
  });

  it('says what changed in a filled column, and fills what came', async () => {
    const shop = await open('since_new');
    const { scene, sql, close } = shop;
    const given = [...orders(shop), '--yes', '--unmapped', 'left.ndjson'];
    expect(await apply(scene, given)).toMatchObject({ code: 0, left: [] });
    await sql('INSERT INTO orders(invoice_id) VALUES (9)');
    expect(await apply(scene, given)).toMatchObject({ code: 0, left: [] });
    await sql('UPDATE orders SET invoice_id = 8 WHERE id = 2');
    expect(await apply(scene, given)).toMatchObject({ code: 1, left: [{ kind: 'changed_since', cells: 1 }] });
    expect(listed(scene)).toEqual([
      expect.objectContaining({ kind: 'changed_since', value: '8', key: { id: '2' } }),
    ]);
    await close();
  });

  it('leaves no list behind where it fails', async () => {
    const shop = await open('fails');
    const { scene, close } = shop;
    writeFileSync(scene.path('left.ndjson'), 'old');
    const failed = await scene.run([
      'apply',
      'plan',
      ...shop.place,
      '--table',
      'none',
      ...IDS,
      '--unmapped',
      'left.ndjson',
      '--save',
      'none/plan.json',
    ]);
    expect(failed.code).toBe(6);
    const wrong = await scene.run(['apply', 'plan', ...orders(shop), '--unmapped', 'svc-migrate.db']);
    expect(wrong.code).toBe(2);
    await close();
  });
});

describe.each([
  {
    kind: 'csv',
    head: 'invoice_id,note\n',
    line: (id: number) => `${id},"two\nlines"\n`,
    ids: 'invoice_id',
    lines: 2,
  },
  { kind: 'ndjson', head: '', line: (id: number) => `{"invoice_id":${id}}\n`, ids: '$.invoice_id', lines: 1 },
])('what a run leaves in a file ($kind)', ({ kind, head, line, ids, lines }) => {
  const given = [`orders.${kind}`, '--ids', `${ids}=accounting/invoices`, '--unmapped', 'left.ndjson'];

  it('is counted and listed with row and line', async () => {
    const scene = makeScene();
    const file = scene.path(`orders.${kind}`);
    writeFileSync(file, `${head}${[1, NO_TWIN, 2, FOREIGN].map(line).join('')}`);
    const args = [...given, '--yes'];
    expect((await apply(scene, args)).code).toBe(1);
    const first = head === '' ? 1 : 2;
    const rows = (missing: string) => [
      expect.objectContaining({ kind: missing, value: String(NO_TWIN), row: 2, line: first + lines }),
      expect.objectContaining({ value: String(FOREIGN), row: 4, line: first + 3 * lines }),
    ];
    expect(listed(scene)).toEqual(rows('undecided'));
    for (const title of ['Done: run', 'Nothing was left to do.']) {
      const done = await apply(scene, [...args, '--missing', 'null', '--unknown', 'keep']);
      expect(done.text).toContain(title);
      expect(done).toMatchObject({
        code: 0,
        left: [
          { kind: 'emptied', cells: 1, isAccepted: true },
          { kind: 'left_alone', reason: 'unknown/not_in_remap', cells: 1, isAccepted: true },
        ],
      });
      expect(listed(scene)).toEqual(rows('emptied'));
    }
  });

  it('says of a new file that it was edited since', async () => {
    const scene = makeScene();
    writeFileSync(scene.path(`orders.${kind}`), `${head}${[1, 2].map(line).join('')}`);
    expect((await apply(scene, [...given, '--yes'])).code).toBe(0);
    appendFileSync(scene.path(`orders.v4.${kind}`), line(3));
    const again = await apply(scene, [...given, '--yes']);
    expect(again).toMatchObject({ code: 1, left: [{ kind: 'changed_since', cells: 1 }] });
    expect(existsSync(scene.path('left.ndjson'))).toBe(true);
  });

  it('never writes its list over a file of the target', async () => {
    const scene = makeScene();
    writeFileSync(scene.path(`orders.${kind}`), `${head}${line(1)}`);
    for (const name of [`orders.${kind}`, `orders.v4.${kind}`, `orders.v4.${kind}.svc-migrate.json`]) {
      const refused = await scene.run(['apply', 'write', ...given.slice(0, 4), '--yes', '--unmapped', name]);
      expect(refused.code).toBe(2);
    }
    expect(scene.read(`orders.${kind}`)).toBe(`${head}${line(1)}`);
  });
});
