import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openKnex } from '../../support/engines.js';
import { IDS, MAPPED, makeScene, upTo } from '../cli/scene.js';
import { connect, readAll, startPostgres } from '../support/postgres.js';

const server = await startPostgres();
const TABLES = ['orders', 'copies'];

describe.skipIf(server === null || openKnex === null)('Knex', () => {
  it('carries out two plans in the order of their printing, and takes them back', async () => {
    if (server === null || openKnex === null) return;
    const url = await server.createDatabase('knex');
    const client = await connect(url);
    const values = upTo(MAPPED).map((id) => `(${id}, ${id})`);
    for (const table of TABLES) {
      await client.query(`CREATE TABLE ${table}(id int PRIMARY KEY, invoice_id bigint);
        INSERT INTO ${table} VALUES ${values.join(', ')}`);
    }
    const targets = TABLES.map((table) => ({
      ...{ name: table, kind: 'postgres', urlEnv: 'APP_DB', table, ids: IDS },
    }));
    const scene = makeScene(targets, { APP_DB: url });
    for (const table of TABLES) {
      const print = ['apply', 'sql', 'postgres', table, '--in-place', '--layout', 'knex', '--output', 'sql'];
      expect(await scene.run(print)).toMatchObject({ code: 0 });
    }
    const read = async () => {
      const rows: string[] = [];
      for (const table of TABLES)
        rows.push(String(await readAll(client, `SELECT invoice_id FROM ${table} ORDER BY id`)));
      return rows;
    };
    const before = String(upTo(MAPPED));
    const after = String(upTo(MAPPED).map((id) => scene.v4Of(id)));
    const knex = openKnex(url);
    const config = { directory: scene.path('sql'), loadExtensions: ['.cjs'] };
    const printed = readdirSync(scene.path('sql'))
      .filter((name) => name.endsWith('.cjs'))
      .sort();
    const [, done] = await knex.migrate.latest(config);
    expect(done).toEqual(printed);
    expect(await read()).toEqual([after, after]);
    expect(await scene.run(['apply', 'verify'])).toMatchObject({ code: 0 });
    await knex.migrate.down(config);
    expect(await read()).toEqual([after, before]);
    await knex.migrate.up(config);
    expect(await read()).toEqual([after, after]);
    await knex.migrate.down(config);
    await knex.migrate.down(config);
    expect(await read()).toEqual([before, before]);
    await knex.destroy();
    await client.end();
  });
});
