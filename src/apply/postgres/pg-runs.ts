import type { LedgerRun } from '../context.js';
import { quoteName } from '../sql-names.js';
import { hasLedger } from './pg-ledger-check.js';
import type { PgSession } from './pg-session.js';

/** Every run that the ledger in a schema knows, oldest first. */
export async function readPgRuns(session: PgSession, schema: string): Promise<LedgerRun[]> {
  if (!(await hasLedger(session, schema))) return [];
  const { rows } = await session.query(
    `SELECT run, target, table_name, mode, state,
       CASE WHEN state = 'working' AND mode = 'in_place' THEN done_entry - first_entry ELSE changed END,
       started_at, plan_sha256
     FROM ${quoteName(schema)}.run ORDER BY unit`,
  );
  return rows.map((cells) => {
    const [run = '', target = '', table = '', mode, state, changed, startedAt = '', planSha256 = ''] =
      cells.map((cell) => cell ?? '');
    return {
      run,
      target,
      place: `table ${table}`,
      mode: mode === 'new' ? 'new' : 'in_place',
      state: state === 'done' || state === 'undoing' || state === 'undone' ? state : 'working',
      changed: Number(changed),
      startedAt,
      planSha256,
    };
  });
}
