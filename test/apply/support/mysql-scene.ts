import { openMysqlStore } from '../../../src/apply/dialects/mysql-dialect.js';
import type { MysqlTarget } from '../../../src/config/apply-targets.js';
import { connectMysql, type MysqlServer, readMysql } from './mysql.js';
import type { RemapRow } from './remap.js';
import { openServerScene } from './server-scene.js';

/** A scene on a MariaDB server. */
export function openMysqlScene(server: MysqlServer, rows: Iterable<RemapRow>) {
  return openServerScene(
    {
      kind: 'mysql',
      owner: 'admin',
      createDatabase: server.createDatabase,
      openStore: (context, targets) =>
        openMysqlStore(
          context,
          targets.filter((one): one is MysqlTarget => one.kind === 'mysql'),
        ),
      connect: async (url) => {
        const client = await connectMysql(url);
        return { query: (sql) => readMysql(client, sql), end: () => client.end() };
      },
    },
    rows,
  );
}
