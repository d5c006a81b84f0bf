import type { PostgresTarget } from '../../config/apply-targets.js';
import type { ApplyContext } from '../context.js';
import { SEARCH_PATH_POSITION } from '../dialects/postgres-catalog.js';
import { postgresEngine } from '../dialects/postgres-dialect.js';
import { PgSession } from '../dialects/postgres-session.js';
import { ledgerIn } from '../dialects/postgres-text.js';
import { readRunsOfTable } from '../engine/ledger-runs.js';
import { quoteIdentifier } from '../sql-names.js';
import {
  type ColumnSample,
  type PlaceSample,
  SAMPLED_ROWS,
  SAMPLED_VALUES,
  sampleColumns,
  sampleTables,
} from './column-sample.js';

/**
 * Samples every table that the user may read, or only one.
 *
 * @throws SvcError `bad_input`, `config`, `interrupted`
 */
export async function samplePostgres(
  context: ApplyContext,
  source: Pick<PostgresTarget, 'urlEnv' | 'urlFile' | 'tls' | 'ledgerSchema'>,
  only: string | null,
): Promise<PlaceSample> {
  const { ledgerSchema } = source;
  const session = new PgSession(context, source);
  const read = async () =>
    sampleTables(context, await listTables(session, ledgerSchema), only, ({ name, oid }) =>
      sampleTable(context, session, name, oid, ledgerSchema),
    );
  return session.transaction('read', read).finally(() => session.close());
}

async function listTables(session: PgSession, ledgerSchema: string) {
  const sql = `SELECT CASE WHEN ${SEARCH_PATH_POSITION} IS NOT NULL THEN c.relname ELSE n.nspname || '.' || c.relname END, c.relkind,
      has_table_privilege(c.oid, 'SELECT'), c.oid
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND n.nspname !~ '^pg_'
      AND n.nspname NOT IN ('information_schema', $1) ORDER BY 1`;
  const { rows } = await session.query(sql, [ledgerSchema]);
  return rows.map(([name, kind, mayRead, oid]) => ({
    name: name ?? '',
    oid: oid ?? '0',
    obstacle: obstacleOf(kind ?? '', mayRead === 't'),
  }));
}

/** `kind`: as `relkind` in `pg_class`. */
function obstacleOf(kind: string, mayRead: boolean): string | null {
  if (kind === 'f') return 'a foreign table';
  if (kind !== 'r' && kind !== 'p') return 'a view';
  return mayRead ? null : 'the user may not read it';
}

async function sampleTable(
  context: ApplyContext,
  session: PgSession,
  table: string,
  oid: string,
  ledgerSchema: string,
): Promise<ColumnSample[]> {
  const { rows } = await session.query(
    `SELECT a.attname, n.nspname, c.relname,
       EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisprimary AND i.indnatts = 1 AND a.attnum = i.indkey[0])
     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
       JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype AND t.typtype = 'd'
     WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
       AND coalesce(b.typname, t.typname) IN ('int2', 'int4', 'int8', 'numeric', 'text', 'varchar', 'bpchar', 'citext', 'json', 'jsonb')
     ORDER BY a.attnum`,
    [oid],
  );
  const [first] = rows;
  if (first === undefined) return [];
  const sql = `${quoteIdentifier(first[1] ?? '')}.${quoteIdentifier(first[2] ?? '')}`;
  const runs = await readRunsOfTable(postgresEngine(context, session), ledgerIn(ledgerSchema), sql);
  const columns = rows.map(([name]) => name ?? '');
  const key = columns.filter((_, at) => rows[at]?.[3] === 't');
  return sampleColumns({ table, runs, key, columns }, async (name) => {
    const cell = quoteIdentifier(name);
    const { rows: found } = await session.query(
      `SELECT DISTINCT v FROM (SELECT ${cell}::text AS v FROM ${sql} WHERE ${cell} IS NOT NULL LIMIT ${SAMPLED_ROWS}) AS q
       WHERE v <> '' LIMIT ${SAMPLED_VALUES + 1}`,
    );
    return found;
  });
}
