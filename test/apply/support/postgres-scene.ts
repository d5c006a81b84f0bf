import { openPostgresStore } from '../../../src/apply/dialects/postgres-dialect.js';
import type { PostgresTarget } from '../../../src/config/apply-targets.js';
import { type Cluster, connect, readAll } from './postgres.js';
import type { RemapRow } from './remap.js';
import { openServerScene } from './server-scene.js';

/** A scene on a PostgreSQL server. */
export function openPostgresScene(cluster: Cluster, rows: Iterable<RemapRow>) {
  return openServerScene(
    {
      kind: 'postgres',
      owner: 'postgres',
      createDatabase: cluster.createDatabase,
      openStore: (context, targets) =>
        openPostgresStore(
          context,
          targets.filter((one): one is PostgresTarget => one.kind === 'postgres'),
        ),
      connect: async (url) => {
        const client = await connect(url);
        return { query: (sql) => readAll(client, sql), end: () => client.end() };
      },
    },
    rows,
  );
}
