import { describe } from 'vitest';
import { openMysqlStore } from '../../../src/apply/dialects/mysql-dialect.js';
import type { MysqlTarget } from '../../../src/config/apply-targets.js';
import { campaign } from '../../support/campaign.js';
import { connectMysql, MYSQL_PRODUCT, readMysql, startMysql } from '../support/mysql.js';
import { INVOICES, target } from '../support/remap.js';
import { itSparesForeignWrites } from '../support/server-foreign.js';

const server = await startMysql();
const ids = [{ column: 'svc_id', model: INVOICES }];
const targets = [target({ kind: 'mysql', urlEnv: 'TEST_MYSQL', table: 't', ids })].filter(
  (each): each is MysqlTarget => each.kind === 'mysql',
);

describe.skipIf(server === null)(MYSQL_PRODUCT, () => {
  itSparesForeignWrites(MYSQL_PRODUCT, campaign({ small: 2, full: 4, soak: 40 }), async () => {
    const url = (await server?.createDatabase('others')) ?? '';
    return {
      connect: async () => {
        const client = await connectMysql(url);
        return {
          run: (sql, values) => client.query(sql, [...(values ?? [])]),
          read: (sql) => readMysql(client, sql),
          end: () => client.end(),
        };
      },
      openStore: (context) => openMysqlStore({ ...context, env: { TEST_MYSQL: url } }, targets),
      kind: 'mysql',
      pause: 'DO SLEEP(0.005)',
    };
  });
});
