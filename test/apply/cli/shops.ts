import { connect, readAll, startPostgres } from '../support/postgres.js';
import { createOrders, makeScene, query, type Scene } from './scene.js';

export const DATABASES = ['SQLite', 'PostgreSQL'] as const;

/** A table `orders(id, invoice_id)` with the ids 1, 2, 3. */
export interface Shop {
  readonly scene: Scene;
  readonly place: readonly string[];
  readonly sql: (text: string) => Promise<void>;
  readonly read: (text: string) => Promise<(string | null)[]>;
  readonly close: () => Promise<void>;
}

/** `ids`: of a configured target `orders`; without them there is none. */
type OpenShop = (name: string, ids?: readonly object[]) => Promise<Shop>;

/** A shop in each of these kinds of database, if it is there. */
export async function openShops(
  kinds: readonly (typeof DATABASES)[number][],
): Promise<readonly (readonly [string, OpenShop])[]> {
  const cluster = kinds.includes('PostgreSQL') ? await startPostgres() : null;
  const shops: [string, OpenShop][] = [['SQLite', openSqlite]];
  if (cluster !== null)
    shops.push(['PostgreSQL', async (name, ids) => openPostgres(await cluster.createDatabase(name), ids)]);
  return shops;
}

async function openSqlite(_: string, ids?: readonly object[]): Promise<Shop> {
  const scene = makeScene(targets({ kind: 'sqlite', file: 'shop.db' }, ids));
  createOrders(scene.path('shop.db'), [1, 2, 3]);
  const sql = async (text: string) => void query(scene.path('shop.db'), text);
  const read = async (text: string) => query(scene.path('shop.db'), text);
  return { scene, place: ['shop.db'], sql, read, close: async () => {} };
}

async function openPostgres(url: string, ids?: readonly object[]): Promise<Shop> {
  const client = await connect(url);
  await client.query('CREATE TABLE orders(id serial PRIMARY KEY, invoice_id bigint)');
  await client.query('INSERT INTO orders(invoice_id) VALUES (1), (2), (3)');
  return {
    scene: makeScene(targets({ kind: 'postgres', urlEnv: 'SHOP_URL' }, ids), { SHOP_URL: url }),
    place: ['SHOP_URL'],
    sql: async (text) => void (await client.query(text)),
    read: async (text) => (await readAll(client, text)).map(([value = null]) => value),
    close: () => client.end(),
  };
}

function targets(place: object, ids: readonly object[] | undefined): object[] {
  return ids === undefined ? [] : [{ name: 'orders', ...place, table: 'orders', ids }];
}
