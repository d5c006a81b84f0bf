import { z } from 'zod';
import { SvcError } from '../../errors.js';
import type { LedgerRun } from '../context.js';
import { hasLedger } from './ledger.js';
import type { UserDb } from './user-db.js';

const runSchema = z.object({
  run: z.string(),
  target: z.string(),
  place: z.string(),
  mode: z.enum(['new', 'in_place']),
  state: z.enum(['working', 'done', 'undoing', 'undone']),
  changed: z.int(),
  startedAt: z.string(),
  planSha256: z.string(),
});

/** Every run that the ledger of a database knows, oldest first. */
export function readSqliteRuns(db: UserDb, file: string): LedgerRun[] {
  if (!hasLedger(db)) return [];
  const rows = db
    .prepare(
      `SELECT run, target, ? || ', table ' || table_name AS place, mode, state,
         iif(state = 'working' AND mode = 'in_place', done_entry - first_entry, changed) AS changed,
         started_at AS startedAt, plan_sha256 AS planSha256
       FROM svc_migrate_run ORDER BY unit`,
    )
    .all(file);
  const parsed = z.array(runSchema).safeParse(rows);
  if (parsed.success) return parsed.data;
  throw new SvcError(
    'bad_input',
    `The ledger in ${file} cannot be read: it was changed or is of another version.`,
    {
      cause: parsed.error,
    },
  );
}
