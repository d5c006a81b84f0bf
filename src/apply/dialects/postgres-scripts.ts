import { newColumnOf } from '../../config/apply-targets.js';
import { type EmitText, FAILURE_PREFIX, literalFormatter } from '../emit/emit-texts.js';
import { createLedgerSql } from '../engine/ledger-tables.js';
import { blocksOf } from '../plan.js';
import { quoteIdentifier, quoteLiteral } from '../sql-names.js';
import { SYNC_MARK } from '../sync/sync-table.js';
import {
  type CreateStatement,
  checkNotes,
  type SyncText,
  triggerEvents,
  triggerTerms,
} from '../sync/sync-texts.js';

/** SQL text for scripts of `--emit-sql`. */
export const POSTGRES_EMIT: EmitText = {
  title: 'PostgreSQL',
  settings: [],
  restore: [],
  begin: 'BEGIN',
  literal: literalFormatter((bytes) => `convert_from(decode('${bytes}', 'hex'), 'UTF8')`),
  now: `to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  types: { old: 'text', text: 'text', value: 'text', row: 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY' },
  longestOld: 2000,
  keyType: (type) => type,
  staging: (name, ledger) => `${quoteIdentifier(ledger.name)}.${name}`,
  createLedger: (dialect, ledger) => [
    `CREATE SCHEMA IF NOT EXISTS ${quoteIdentifier(ledger.name)}`,
    ...createLedgerSql(dialect, ledger),
  ],
  lock: (tables, { run }) => [
    `LOCK TABLE ${run} IN SHARE ROW EXCLUSIVE MODE`,
    `LOCK TABLE ${tables.join(', ')} IN SHARE ROW EXCLUSIVE MODE`,
    'SET CONSTRAINTS ALL DEFERRED',
  ],
  countColumns: ({ table, name, type }) => {
    // How the other types are written depends on the search path.
    const isType =
      type === null || type.includes('.')
        ? ''
        : ` AND format_type(atttypid, atttypmod) = ${quoteLiteral(type)}`;
    return `(SELECT count(*) FROM pg_catalog.pg_attribute WHERE attrelid = to_regclass(${quoteLiteral(table)})
  AND attname = ${quoteLiteral(name)} AND NOT attisdropped${isType})`;
  },
  addColumn: (table, column, type) => [
    `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS ${quoteIdentifier(column)} ${type}`,
  ],
  analyze: (table) => [`ANALYZE ${table}`],
  // The cast fails on purpose: PostgreSQL's error message quotes the text.
  raise: (checks) =>
    `SELECT CAST('${FAILURE_PREFIX}' || string_agg(problem || ' (' || failed || ')', ', ') AS integer)
FROM ${checks} WHERE failed > 0 HAVING count(*) > 0`,
  rollBackIf: () => [],
  newCell: (_, id) => id,
};

/** `"svc_migrate".sync_1_0_ids` → `"svc_migrate".sync_1_0_fill` */
const functionName = (ids: string, what: 'fill' | 'list') => `${ids.slice(0, -'ids'.length)}${what}`;

/** A trigger function. It runs with our privileges and search path, and never makes the application's statement fail. */
function pgFunction(name: string, body: string, onError: string, result: string): CreateStatement {
  const text = `-- ${SYNC_MARK}
BEGIN
  ${body};
  RETURN ${result};
EXCEPTION WHEN OTHERS THEN
  ${onError}RETURN ${result};
END`;
  const sql = `CREATE OR REPLACE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS ${quoteLiteral(text)}`;
  return { name, sql };
}

/** PostgreSQL fires triggers in the order of their names: ours come last. */
const PREFIX = 'zz_svc_migrate_sync_';

/** The triggers of `--sync`. */
export const POSTGRES_SYNC: SyncText = {
  prefix: PREFIX,
  typeChecks: () => [],
  functions: (dialect, column) => {
    const { newCell, newId, entry } = triggerTerms(dialect, column);
    return [
      pgFunction(
        functionName(column.ids, 'fill'),
        `${newCell('NEW')} := ${newId('NEW')}`,
        `${newCell('NEW')} := NULL;\n  `,
        'NEW',
      ),
      pgFunction(
        functionName(column.ids, 'list'),
        `INSERT INTO ${column.unmapped} SELECT ${entry('NEW')}`,
        '',
        'NULL',
      ),
    ];
  },
  triggers: (dialect, column) =>
    triggerEvents(triggerTerms(dialect, column)).map(({ when, event, condition }): CreateStatement => {
      const name = `${column.trigger}${when}_${event}`.toLowerCase();
      const run = functionName(column.ids, when === 'BEFORE' ? 'fill' : 'list');
      const sql = `CREATE TRIGGER ${quoteIdentifier(name)} ${when} ${event} ON ${column.table} FOR EACH ROW WHEN (${condition}) EXECUTE FUNCTION ${run}('${SYNC_MARK}')`;
      return { name, sql };
    }),
  dropTrigger: (table, name) => `DROP TRIGGER IF EXISTS ${quoteIdentifier(name)} ON ${table}`,
  readObjects: ({ emit }, table, { name }) =>
    `SELECT 'trigger', t.tgname, concat(p.prosrc, encode(t.tgargs, 'escape')), '1' FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
     WHERE t.tgrelid = to_regclass(${emit.literal(table)}) AND NOT t.tgisinternal AND t.tgname LIKE 'zz!_svc!_migrate!_sync!_%' ESCAPE '!'
     UNION ALL SELECT 'function', p.proname, p.prosrc, '1' FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
     WHERE n.nspname = ${quoteLiteral(name)} AND p.pronargs = 0 AND p.proname LIKE 'sync!_%' ESCAPE '!'
     UNION ALL SELECT 'table', c.relname, (SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0), '1'
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = ${quoteLiteral(name)} AND c.relkind IN ('r', 'v') AND c.relname LIKE 'sync!_%' ESCAPE '!'`,
  readNotes: async (session, { table }, ids) => {
    const sql = `SELECT (SELECT string_agg(rulename, ', ') FROM pg_rewrite WHERE ev_class = $1::regclass AND ev_type IN ('2', '3')),
      (SELECT string_agg(DISTINCT tgname, ', ') FROM pg_trigger WHERE NOT tgisinternal AND tgtype & 3 = 3 AND tgtype & 20 <> 0
         AND (tgrelid = $1::regclass OR tgrelid IN (SELECT relid FROM pg_partition_tree($1::regclass)))
         AND tgname COLLATE "C" > ${quoteLiteral(`${PREFIX}~`)}),
      has_language_privilege('plpgsql', 'USAGE'),
      current_setting('server_version_num')::int < 130000 AND (SELECT relkind FROM pg_class WHERE oid = $1::regclass) = 'p'`;
    const { rows } = await session.query(sql, [table]);
    const [rules, later, mayUse, isOldAndParted] = rows[0] ?? [];
    const checks = `SELECT DISTINCT a.attname FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
    WHERE c.contype = 'c' AND (c.conrelid = $1::regclass OR c.conrelid IN (SELECT relid FROM pg_partition_tree($1::regclass)))`;
    const checked = await session.query(checks, [table]);
    const names = new Set(checked.rows.flat());
    return [
      ...checkNotes(ids.map(newColumnOf).filter((name) => names.has(name))),
      ...blocksOf({
        rules: rules !== null && `The rule ${rules} rewrites statements on this table.`,
        sync_order:
          later !== null &&
          `The trigger ${later} fires after ours and could change the id: rename it to sort first.`,
        privilege: mayUse === 'f' && 'The user may not create functions: GRANT USAGE ON LANGUAGE plpgsql.',
        sync_version: isOldAndParted === 't' && 'Triggers on partitioned tables need PostgreSQL 13.',
      }),
    ];
  },
};
