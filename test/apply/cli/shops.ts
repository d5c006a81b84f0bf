import type { Engine } from '../support/databases.js';
import { makeScene, type Scene } from './scene.js';

/** A table `orders(id, invoice_id)` with the ids 1, 2, 3. */
export interface Shop {
  readonly scene: Scene;
  readonly place: readonly string[];
  readonly sql: (text: string) => Promise<unknown>;
  readonly read: (text: string) => Promise<(string | null)[]>;
  readonly close: () => Promise<void>;
}

const ORDERS = {
  sqlite: 'id INTEGER PRIMARY KEY, invoice_id',
  postgres: 'id serial PRIMARY KEY, invoice_id bigint',
  mysql: 'id int AUTO_INCREMENT PRIMARY KEY, invoice_id bigint',
};

/** `ids`: of a configured target `orders`; without them there is none. */
export async function openShop(engine: Engine, name: string, ids?: readonly object[]): Promise<Shop> {
  const { kind } = engine;
  const database = await engine.createDatabase(name);
  await database.query(`CREATE TABLE orders(${ORDERS[kind]})`);
  await database.query('INSERT INTO orders(invoice_id) VALUES (1), (2), (3)');
  const where = kind === 'sqlite' ? { file: database.url } : { urlEnv: 'SHOP_URL' };
  const targets = ids === undefined ? [] : [{ name: 'orders', kind, ...where, table: 'orders', ids }];
  return {
    scene: makeScene(targets, { SHOP_URL: database.url }),
    place: [kind === 'sqlite' ? database.url : 'SHOP_URL'],
    sql: (text) => database.query(text),
    read: async (text) => (await database.query(text)).map(([value = null]) => value),
    close: () => database.close(),
  };
}
