import type { IdColumn, TableTarget } from '../../../src/config/apply-targets.js';
import { makeFile, type Shop, sqliteShop } from './scene.js';
import { PRODUCTS, type Product } from './server-programs.js';
import { serverShop, type TestServer } from './servers.js';

/** A database of a user, and targets in it. */
export interface Place {
  readonly shop: Shop;
  readonly target: (table: string, ids: readonly IdColumn[]) => TableTarget;
  readonly env: Readonly<Record<string, string>>;
}

/** SQLite, and the servers that are installed. `serverOf`: null for a server that a run leaves out. */
export function listPlaces(serverOf: (product: Product) => TestServer | null) {
  const servers = PRODUCTS.map((name) => ({ name, server: serverOf(name) }));
  return [
    { name: 'SQLite', server: null, isThere: true },
    ...servers.map(({ name, server }) => ({ name, server, isThere: server !== null })),
  ];
}

export async function openPlace(server: TestServer | null): Promise<Place> {
  if (server === null) {
    const file = makeFile('');
    const target: Place['target'] = (table, ids) => ({
      name: table,
      kind: 'sqlite',
      file,
      table,
      ids: [...ids],
    });
    return { shop: sqliteShop(file), target, env: {} };
  }
  const url = await server.createDatabase();
  const rest = { kind: server.kind, urlEnv: 'SHOP', tls: 'verified' } as const;
  const target: Place['target'] = (table, ids) => ({ name: table, ...rest, table, ids: [...ids] });
  return { shop: serverShop(server, url), target, env: { SHOP: url } };
}
