import { describe } from 'vitest';
import { openMysqlStore } from '../../../src/apply/dialects/mysql-dialect.js';
import { campaign } from '../../support/campaign.js';
import { connectMysql, MYSQL_PRODUCT, startMysql } from '../support/mysql.js';
import {
  createMysqlTables,
  dumpMysqlRows,
  mysqlTargetsOf,
  readMysqlTables,
} from '../support/mysql-tables.js';
import { itAgreesWithTheOracle } from '../support/server-oracle.js';

const server = await startMysql();
const SIZE = {
  tables: campaign({ small: 8, full: 24, soak: 60 }),
  mappings: campaign({ small: 8, full: 170 }),
};

describe.skipIf(server === null)(MYSQL_PRODUCT, () => {
  itAgreesWithTheOracle(MYSQL_PRODUCT, SIZE, async (name, cases) => {
    const url = (await server?.createDatabase(name)) ?? '';
    const client = await connectMysql(url);
    await createMysqlTables(client, cases);
    return {
      openStore: (context) => openMysqlStore({ ...context, env: { TEST_MYSQL: url } }, mysqlTargetsOf(cases)),
      read: () => readMysqlTables(client, cases),
      dump: () => dumpMysqlRows(client, cases),
      close: () => client.end(),
    };
  });
});
