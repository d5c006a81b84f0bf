import { describe } from 'vitest';
import { openPostgresStore } from '../../../src/apply/dialects/postgres-dialect.js';
import type { PostgresTarget } from '../../../src/config/apply-targets.js';
import { campaign } from '../../support/campaign.js';
import { connect, readAll, startPostgres } from '../support/postgres.js';
import { INVOICES, target } from '../support/remap.js';
import { itSparesForeignWrites } from '../support/server-foreign.js';

const cluster = await startPostgres();
const ids = [{ column: 'svc_id', model: INVOICES }];
const targets = [target({ kind: 'postgres', urlEnv: 'TEST_PG', table: 't', ids })].filter(
  (each): each is PostgresTarget => each.kind === 'postgres',
);

describe.skipIf(cluster === null)('PostgreSQL', () => {
  itSparesForeignWrites('PostgreSQL', campaign({ small: 2, full: 4, soak: 40 }), async () => {
    const url = (await cluster?.createDatabase('others')) ?? '';
    return {
      connect: async () => {
        const client = await connect(url);
        return {
          run: (sql, values) =>
            values === undefined ? client.query(sql) : client.query(numbered(sql), [...values]),
          read: (sql) => readAll(client, sql),
          end: () => client.end(),
        };
      },
      openStore: (context) => openPostgresStore({ ...context, env: { TEST_PG: url } }, targets),
      kind: 'postgres',
      pause: 'SELECT pg_sleep(0.005)',
    };
  });
});

function numbered(sql: string): string {
  let at = 0;
  return sql.replace(/\?/g, () => {
    at += 1;
    return `$${at}`;
  });
}
