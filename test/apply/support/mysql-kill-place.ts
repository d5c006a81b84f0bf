import type mysql from 'mysql2/promise';
import type { ApplyContext } from '../../../src/apply/context.js';
import { openMysqlStore } from '../../../src/apply/dialects/mysql-dialect.js';
import type { Case } from './cases.js';
import { changedRows, type KillPlace } from './kill-lives.js';
import { mysqlLedger } from './ledger.js';
import { readMysql } from './mysql.js';
import { createMysqlTables, dumpMysqlRows, mysqlTargetsOf, readMysqlTables } from './mysql-tables.js';
import { showRow } from './postgres-tables.js';

/** A MariaDB database for processes that are killed; `client` looks at it. */
export async function createMysqlPlace(
  url: string,
  client: mysql.Connection,
  context: ApplyContext,
  cases: readonly Case[],
): Promise<KillPlace> {
  await createMysqlTables(client, cases);
  const targets = mysqlTargetsOf(cases);
  return {
    cases,
    order: {
      place: { kind: 'mysql' },
      url,
      remap: context.remap.name,
      targets,
      policy: context.policy,
      batchRows: context.tuning.batchRows,
    },
    openStore: () => openMysqlStore({ ...context, env: { TEST_MYSQL: url } }, targets),
    // The killed process's server may still be at work: everything is read from one snapshot.
    look: async () => {
      await client.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
      try {
        return {
          tables: await readMysqlTables(client, cases),
          ledger: await changedRows(mysqlLedger(client)),
        };
      } finally {
        await client.query('COMMIT');
      }
    },
    show: showRow,
    dump: () => dumpMysqlRows(client, cases),
    isHalfDone: async () =>
      (
        await readMysql(
          client,
          'SELECT 1 FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id <> CONNECTION_ID()',
        )
      ).length > 0,
  };
}
