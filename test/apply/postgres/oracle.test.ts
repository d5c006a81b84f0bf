import { describe } from 'vitest';
import { openPostgresStore } from '../../../src/apply/dialects/postgres-dialect.js';
import { campaign } from '../../support/campaign.js';
import { connect, startPostgres } from '../support/postgres.js';
import { createTables, dumpRows, readTables, targetsOf } from '../support/postgres-tables.js';
import { itAgreesWithTheOracle } from '../support/server-oracle.js';

const cluster = await startPostgres();
const SIZE = {
  tables: campaign({ small: 8, full: 24, soak: 60 }),
  mappings: campaign({ small: 8, full: 170 }),
};

describe.skipIf(cluster === null)('PostgreSQL', () => {
  itAgreesWithTheOracle('PostgreSQL', SIZE, async (name, cases) => {
    const url = (await cluster?.createDatabase(name)) ?? '';
    const client = await connect(url);
    await createTables(client, cases);
    return {
      openStore: (context) => openPostgresStore({ ...context, env: { TEST_PG: url } }, targetsOf(cases)),
      read: () => readTables(client, cases),
      dump: () => dumpRows(client, cases),
      close: () => client.end(),
    };
  });
});
