import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { campaign, campaignCases } from '../../support/campaign.js';
import { MIGRATION_TOOLS, type Place } from '../../support/migration-tools.js';
import { createOrders, IDS, MAPPED, makeScene, query, upTo } from '../cli/scene.js';
import { connect, readAll, startPostgres } from '../support/postgres.js';

const server = await startPostgres();
const TABLES = ['orders', 'copies'];

/** A database with two tables of the same ids; `read` has the ids of each, in a new column where there is one. */
async function makePlace(kind: Place['kind'], file: string) {
  if (kind === 'sqlite') {
    createOrders(file, upTo(MAPPED));
    query(file, 'CREATE TABLE copies(id INTEGER PRIMARY KEY, invoice_id INTEGER)');
    query(file, 'INSERT INTO copies SELECT id, invoice_id FROM orders');
    const select = (table: string, column: string) =>
      query(file, `SELECT ${column} FROM ${table} ORDER BY id`);
    const names = (table: string) => query(file, `SELECT name FROM pragma_table_info('${table}')`);
    return { place: { kind, file }, env: {}, select, names } as const;
  }
  const url = (await server?.createDatabase('tools')) ?? '';
  const run = async (sql: string) => {
    const client = await connect(url);
    const rows = await readAll(client, sql);
    await client.end();
    return rows.map(([value]) => value ?? null);
  };
  const values = upTo(MAPPED).map((id) => `(${id}, ${id})`);
  for (const table of TABLES) {
    await run(`CREATE TABLE ${table}(id int PRIMARY KEY, invoice_id bigint)`);
    await run(`INSERT INTO ${table} VALUES ${values.join(', ')}`);
  }
  const select = (table: string, column: string) => run(`SELECT ${column} FROM ${table} ORDER BY id`);
  const names = (table: string) =>
    run(
      `SELECT column_name FROM information_schema.columns WHERE table_name = '${table}' ORDER BY ordinal_position`,
    );
  return { place: { kind, url }, env: { APP_DB: url }, select, names } as const;
}

const CASES = MIGRATION_TOOLS.flatMap((tool) =>
  tool.kinds
    .filter((kind) => kind === 'sqlite' || server !== null)
    .map((kind) => ({ name: `${tool.layout} on ${kind}`, tool, kind })),
);

describe.skipIf(CASES.length === 0)('the migration tool itself', () => {
  it.each(campaignCases(CASES, 2))(
    '$name carries out two plans in the order of their printing, and takes them back',
    async ({ tool, kind }) => {
      const scene = makeScene();
      const { place, env, select, names } = await makePlace(kind, scene.path('shop.db'));
      const where = kind === 'sqlite' ? { file: 'shop.db' } : { urlEnv: 'APP_DB' };
      scene.configure(TABLES.map((table) => ({ name: table, kind, ...where, table, ids: IDS })));
      const printed: string[] = [];
      for (const [table, ...mode] of [['orders', '--in-place'], ['copies']]) {
        const print = [
          'apply',
          'sql',
          kind,
          table ?? '',
          ...mode,
          '--layout',
          tool.layout,
          '--output',
          'sql',
        ];
        expect(await scene.run(print, { env })).toMatchObject({ code: 0, stderr: expect.anything() });
        const files = readdirSync(scene.path('sql')).filter((name) =>
          /(?<!verify)\.(sql|rb|cjs)$/.test(name),
        );
        printed.push(...files.filter((name) => !printed.includes(name)));
      }
      expect(printed).toHaveLength(2);
      const before = upTo(MAPPED).map(String);
      const after = upTo(MAPPED).map((id) => String(scene.v4Of(id)));
      const read = async () => {
        const isFilled = (await names('copies')).includes('invoice_id_v4');
        return [
          await select('orders', 'invoice_id'),
          isFilled ? await select('copies', 'invoice_id_v4') : null,
        ];
      };
      const up = () => tool.up(place, scene.path('sql'), printed);
      const down = () => tool.down(place, scene.path('sql'), printed);
      await up();
      expect(await read()).toEqual([after, after]);
      expect(await scene.run(['apply', 'verify'], { env })).toMatchObject({ code: 0 });
      if (campaign({ small: false, full: true })) {
        await down();
        await up();
        expect(await read()).toEqual([after, after]);
      }
      await down();
      expect(await read()).toEqual([after, null]);
      await down();
      expect(await read()).toEqual([before, null]);
      expect(await select('copies', 'invoice_id')).toEqual(before);
      await up();
      expect(await read()).toEqual([after, after]);
      expect(await scene.run(['apply', 'verify'], { env })).toMatchObject({ code: 0 });
    },
  );
});
