import type pg from 'pg';
import type { ApplyContext } from '../../../src/apply/context.js';
import { openPostgresStore } from '../../../src/apply/dialects/postgres-dialect.js';
import type { Case } from './cases.js';
import { changedRows, type KillPlace, type Seen } from './kill-lives.js';
import { postgresLedger } from './ledger.js';
import { readAll } from './postgres.js';
import { createTables, dumpRows, readTables, showRow, targetsOf } from './postgres-tables.js';

/** A PostgreSQL database for processes that are killed; `client` looks at it. */
export async function createPostgresPlace(
  url: string,
  client: pg.Client,
  context: ApplyContext,
  cases: readonly Case[],
): Promise<KillPlace> {
  await createTables(client, cases);
  const targets = targetsOf(cases);
  return {
    cases,
    order: {
      place: { kind: 'postgres' },
      url,
      remap: context.remap.name,
      targets,
      policy: context.policy,
      batchRows: context.tuning.batchRows,
    },
    openStore: () => openPostgresStore({ ...context, env: { TEST_PG: url } }, targets),
    look: () => look(client, cases),
    show: showRow,
    dump: () => dumpRows(client, cases),
    isHalfDone: () => isHalfDone(client),
  };
}

/** The killed process's server may still be at work: everything is read from one snapshot. */
async function look(client: pg.Client, cases: readonly Case[]): Promise<Seen> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  try {
    return { tables: await readTables(client, cases), ledger: await changedRows(postgresLedger(client)) };
  } finally {
    await client.query('COMMIT');
  }
}

async function isHalfDone(client: pg.Client): Promise<boolean> {
  const rows = await readAll(
    client,
    `SELECT 1 FROM pg_stat_activity WHERE application_name = 'svc-migrate' AND datname = current_database()
       AND xact_start IS NOT NULL`,
  );
  return rows.length > 0;
}
