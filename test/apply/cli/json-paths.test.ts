import { describe, expect, it } from 'vitest';
import { campaignCases } from '../../support/campaign.js';
import { ENGINES } from '../support/databases.js';
import { runOf, type Scene } from './scene.js';
import { openShop, type Shop } from './shops.js';

const model = 'accounting/invoices';
const IDS = ['$.head.id', '$.lines[*].id'].map((path) => ({ column: 'doc', path, model }));
const NO_TWIN = 181;

const docOf = (head: number | null, lines: readonly (number | null)[]): string =>
  JSON.stringify({ head: { id: head }, lines: lines.map((id) => ({ id })), note: 7 });
const mapped = (scene: Scene, head: number, lines: readonly number[]): string =>
  docOf(scene.v4Of(head), lines.map(scene.v4Of));
/** Databases store JSON with spaces and an order of names of their own. */
const read = (docs: readonly (string | null)[]): unknown[] =>
  docs.map((doc) => (doc === null ? null : JSON.parse(doc)));

describe.each(campaignCases(ENGINES, 1))('a JSON column with several paths in $product', (engine) => {
  const open = (name: string, ids?: readonly object[]) => openShop(engine, name, ids);
  const type = engine.kind === 'sqlite' ? 'TEXT' : 'json';
  const create = (rows: readonly string[]) =>
    `ALTER TABLE orders ADD COLUMN doc ${type}; ${rows.map((doc, at) => `UPDATE orders SET doc = '${doc}' WHERE id = ${at + 1};`).join(' ')}`;
  const prepare = async (sql: Shop['sql'], rows: readonly string[]) => {
    for (const statement of create(rows)
      .split(';')
      .filter((text) => text.trim() !== ''))
      await sql(statement);
  };

  it.each([
    { mode: 'a new column', flags: [], column: 'doc_v4' },
    { mode: 'in place', flags: ['--in-place'], column: 'doc' },
  ])('is rewritten as a whole, once, and taken back ($mode)', async ({ flags, column }) => {
    const { scene, sql, read: query, close, place } = await open(`json_${column}`, IDS);
    const before = [docOf(1, [2, 3]), docOf(2, []), docOf(3, [1])];
    await prepare(sql, before);
    const planned = await scene.run(['apply', 'plan', ...flags, '--json', '-']);
    const { targets } = JSON.parse(planned.stdout);
    expect(targets[0].columns).toMatchObject(
      ['doc $.head.id', 'doc $.lines[*].id'].map((label) => ({
        column: label,
        model,
        newColumn: column === 'doc' ? null : 'doc_v4',
        counts: [{ name: 'mapped', rows: 3 }],
      })),
    );
    expect(targets[0].definition.ids).toEqual(IDS);
    const done = await scene.run(['apply', 'write', ...flags, '--yes']);
    expect(done).toMatchObject({ code: 0 });
    const after = [mapped(scene, 1, [2, 3]), mapped(scene, 2, []), mapped(scene, 3, [1])];
    const docs = `SELECT ${column} FROM orders ORDER BY id`;
    expect(read(await query(docs))).toEqual(read(after));
    expect(await scene.run(['apply', 'write', ...flags, '--yes'])).toMatchObject({ code: 0 });
    expect(read(await query(docs))).toEqual(read(after));
    expect(await scene.run(['apply', 'verify'])).toMatchObject({ code: 0 });
    expect(await scene.run(['apply', 'undo', runOf(done), ...place])).toMatchObject({ code: 0 });
    expect(read(await query('SELECT doc FROM orders ORDER BY id'))).toEqual(read(before));
    await close();
  });

  it('counts and lists what is kept inside a rewritten cell', async () => {
    const { scene, sql, close } = await open('json_kept', IDS);
    await prepare(sql, [docOf(1, [NO_TWIN, 2])]);
    const args = ['apply', 'write', '--in-place', '--yes', '--missing', 'keep', '--unmapped', 'left.ndjson'];
    for (const title of ['Done', 'Nothing was left to do']) {
      const done = await scene.run(args);
      expect([done.code, done.stdout]).toEqual([0, expect.stringContaining(title)]);
      expect(done.stdout).toContain('orders, doc $.lines[*].id: 1 cell kept without a V4 id');
      expect(JSON.parse(scene.read('left.ndjson'))).toEqual({
        target: 'orders',
        column: 'doc $.lines[*].id',
        kind: 'kept',
        reason: 'unmatched/unexplained',
        value: String(NO_TWIN),
        key: { id: '1' },
      });
    }
    await close();
  });

  it('is refused where two paths can lead to one value, or to two new columns', async () => {
    for (const [name, ids, says] of [
      [
        'json_meet',
        [{ column: 'doc', path: '$..id', model }, ...IDS.slice(0, 1)],
        'can lead to the same value',
      ],
      [
        'json_names',
        IDS.map((id, at) => ({ ...id, newColumn: `doc_${at}` })),
        'name only one, which holds all its paths',
      ],
    ] as const) {
      const { scene, sql, close } = await open(name, ids);
      await prepare(sql, [docOf(1, [2])]);
      const refused = await scene.run(['apply', 'write', '--yes']);
      expect([refused.code, refused.stdout.replace(/\s+/g, ' ')]).toEqual([6, expect.stringContaining(says)]);
      await close();
    }
  });

  it('is proposed as one target by --scan', async () => {
    const { scene, sql, place, close } = await open('json_scan');
    await sql('ALTER TABLE orders RENAME COLUMN invoice_id TO plain');
    const doc = (at: number) => JSON.stringify({ invoice_id: at, other: { invoice_id: at + 1 } });
    await prepare(sql, [doc(1), doc(2), doc(3)]);
    const scanned = await scene.run(['apply', 'find', ...place, '--table', 'orders', '--json', '-']);
    const { targets } = JSON.parse(scanned.stdout).apply;
    expect(targets).toHaveLength(1);
    const paths = ['$.invoice_id', '$.other.invoice_id'];
    expect(targets[0].ids).toHaveLength(paths.length);
    expect(targets[0].ids).toEqual(
      expect.arrayContaining(paths.map((path) => ({ column: 'doc', path, model }))),
    );
    await close();
  });
});
