import type { PostgresTarget } from '../../config/apply-targets.js';
import { blocks } from '../column-work.js';
import type { Note } from '../plan.js';
import type { PgFacts } from './postgres-facts.js';
import type { PgSession } from './postgres-session.js';

/** What the user lacks for what is planned. */
export async function privilegeNotes(
  session: PgSession,
  facts: PgFacts,
  target: PostgresTarget,
  mode: 'new' | 'in_place',
  isAtomic: boolean,
): Promise<Note[]> {
  if (facts.oid === '0') return [];
  const columns = target.ids
    .map((id) => id.column)
    .filter((name) => facts.columns.some((one) => one.name === name));
  const { rows } = await session.query(
    `SELECT (SELECT bool_and(has_column_privilege($1::oid, name, 'UPDATE')) FROM json_array_elements_text($2::json) AS name),
       (SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = $1::oid),
       (SELECT has_schema_privilege(oid, 'USAGE') AND has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = $3),
       has_database_privilege(current_database(), 'CREATE'), has_database_privilege(current_database(), 'TEMP'), current_user,
       has_table_privilege($1::oid, 'UPDATE, DELETE, TRUNCATE'),
       (SELECT bool_and(has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE')
          AND has_table_privilege(c.oid, 'DELETE')) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = $3 AND c.relname IN ('run', 'entry', 'skipped'))`,
    [facts.oid, JSON.stringify(columns), target.ledgerSchema],
  );
  const [mayUpdate, isOwner, mayUseSchema, mayCreate, mayTemp, user, mayLock, mayLedger] = rows[0] ?? [];
  const notes: Note[] = [];
  const lacks = (isSo: boolean, text: string) => {
    if (isSo) notes.push(blocks('privilege', `User ${user ?? ''} ${text}`));
  };
  lacks(mode === 'in_place' && mayUpdate === 'f', `may not update these columns: GRANT UPDATE.`);
  lacks(
    mode === 'new' && isOwner === 'f',
    'does not own the table and cannot add a column: use its owner, or --in-place.',
  );
  lacks(
    mayUseSchema === null ? mayCreate === 'f' : mayUseSchema === 'f',
    `cannot keep the ledger in schema ${target.ledgerSchema}: CREATE SCHEMA … AUTHORIZATION, or name another in "ledgerSchema".`,
  );
  lacks(
    mode === 'in_place' && isAtomic && mayLock === 'f',
    'may not lock the table, which ids under constraints need: GRANT UPDATE on the whole table.',
  );
  lacks(
    mayLedger === 'f',
    `may not write the ledger in schema ${target.ledgerSchema}: GRANT SELECT, INSERT, UPDATE, DELETE on its tables.`,
  );
  lacks(mayTemp === 'f', 'may not make temporary tables: GRANT TEMPORARY ON DATABASE.');
  return notes;
}
