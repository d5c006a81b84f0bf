import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { campaign, campaignCases } from '../../support/campaign.js';
import { MIGRATION_TOOLS } from '../../support/migration-tools.js';
import { IDS, MAPPED, makeScene, upTo } from '../cli/scene.js';
import { ENGINES, type Engine } from '../support/databases.js';

const TABLES = ['orders', 'copies'];

/** A database with two tables of the same ids; `select` reads a column, `names` those of a table. */
async function makePlace(engine: Engine) {
  const { kind } = engine;
  const database = await engine.createDatabase('tools');
  const { url } = database;
  const run = async (sql: string) => (await database.query(sql)).map(([value = null]) => value);
  const values = upTo(MAPPED).map((id) => `(${id}, ${id})`);
  for (const table of TABLES) {
    await run(`CREATE TABLE ${table}(id integer PRIMARY KEY, invoice_id bigint)`);
    await run(`INSERT INTO ${table} VALUES ${values.join(', ')}`);
  }
  const ofTable =
    kind === 'sqlite'
      ? 'SELECT name FROM pragma_table_info'
      : 'SELECT column_name FROM information_schema.columns WHERE table_name = ';
  return {
    place: kind === 'sqlite' ? { kind, file: url } : { kind: 'postgres' as const, url },
    where: kind === 'sqlite' ? { file: url } : { urlEnv: 'APP_DB' },
    env: { APP_DB: url },
    select: (table: string, column: string) => run(`SELECT ${column} FROM ${table} ORDER BY id`),
    names: (table: string) => run(`${ofTable}('${table}')`),
    close: () => database.close(),
  };
}

const CASES = MIGRATION_TOOLS.flatMap((tool) =>
  ENGINES.filter(({ kind }) => tool.kinds.some((one) => one === kind)).map((engine) => ({
    name: `${tool.layout} on ${engine.product}`,
    tool,
    engine,
  })),
);

describe.skipIf(CASES.length === 0)('the migration tool itself', () => {
  it.each(campaignCases(CASES, 1))(
    '$name carries out two plans in the order of their printing, and takes them back',
    async ({ tool, engine }) => {
      const { place, where, env, select, names, close } = await makePlace(engine);
      const { kind } = place;
      const scene = makeScene(TABLES.map((table) => ({ name: table, kind, ...where, table, ids: IDS })));
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
      await close();
    },
  );
});
