import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { campaign, campaignCases } from '../../support/campaign.js';
import { MIGRATION_TOOLS } from '../../support/migration-tools.js';
import { MAPPED, openShop, upTo } from '../cli/scene.js';
import { ENGINES } from '../support/databases.js';

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
      const shop = await openShop(engine, upTo(MAPPED));
      const { url } = shop.database;
      const isSqlite = engine.kind === 'sqlite';
      const place = isSqlite ? { kind: 'sqlite' as const, file: url } : { kind: 'postgres' as const, url };
      await shop.sql('CREATE TABLE copies(id integer PRIMARY KEY, invoice_id bigint)');
      await shop.sql('INSERT INTO copies SELECT * FROM orders');
      const { apply } = JSON.parse(shop.read('svc-migrate.config.json'));
      const [orders] = apply.targets;
      shop.configure([orders, { ...orders, name: 'copies', table: 'copies' }]);
      const printed: string[] = [];
      for (const table of ['orders --in-place', 'copies']) {
        await shop.apply(`sql ${place.kind} ${table} --layout ${tool.layout} --output sql`);
        const files = readdirSync(shop.path('sql')).filter((name) => /(?<!verify)\.(sql|rb|cjs)$/.test(name));
        printed.push(...files.filter((name) => !printed.includes(name)));
      }
      expect(printed).toHaveLength(2);
      const before = upTo(MAPPED).map(String);
      const after = upTo(MAPPED).map((id) => String(shop.v4Of(id)));
      const ofTable = isSqlite
        ? 'SELECT name FROM pragma_table_info'
        : 'SELECT column_name FROM information_schema.columns WHERE table_name = ';
      const read = async () => {
        const isFilled = (await shop.sql(`${ofTable}('copies')`)).includes('invoice_id_v4');
        const filled = 'SELECT invoice_id_v4 FROM copies ORDER BY id';
        return [await shop.orders(), isFilled ? await shop.sql(filled) : null];
      };
      const up = () => tool.up(place, shop.path('sql'), printed);
      const down = () => tool.down(place, shop.path('sql'), printed);
      await up();
      expect(await read()).toEqual([after, after]);
      await shop.apply('verify');
      if (campaign({ small: false, full: true })) {
        await down();
        await up();
        expect(await read()).toEqual([after, after]);
      }
      await down();
      expect(await read()).toEqual([after, null]);
      await down();
      expect(await read()).toEqual([before, null]);
      expect(await shop.sql('SELECT invoice_id FROM copies ORDER BY id')).toEqual(before);
      await up();
      expect(await read()).toEqual([after, after]);
      await shop.apply('verify');
    },
  );
});
