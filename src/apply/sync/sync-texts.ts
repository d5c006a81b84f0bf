import { sha256Of } from '../../runtime/sha256.js';
import { isOurs } from '../emit/crosswalk.js';
import { EMIT_TEXTS } from '../emit/emit-texts.js';
import type { SqlText } from '../engine/dialect.js';
import { scopeTerms } from '../engine/judge-cells.js';
import type { Ledger } from '../engine/ledger-tables.js';
import { writesPlatformId } from '../engine/platform-ids.js';
import { quoteIdentifier, quoteLiteral } from '../sql-names.js';
import { SYNC_MARK, type SyncColumn } from './sync-table.js';

/** An object, and the statement that creates it. */
interface Named {
  readonly name: string;
  readonly sql: string;
}

/** The mark of a trigger made by this statement: a trigger with another one looks up something else. */
export function markOf({ sql }: Named): string {
  return `${SYNC_MARK} ${sha256Of(sql).slice(0, 16)}`;
}

/** What triggers need beyond `SqlText` and `EmitText`. */
export interface SyncText {
  /** Functions that the triggers call, with their names as SQL; the statements replace existing ones. */
  functions(dialect: SqlText, column: SyncColumn): readonly Named[];
  triggers(dialect: SqlText, column: SyncColumn): readonly Named[];
  dropTrigger(table: string, name: string): string;
  /**
   * A query of the objects that have names of ours: kind (`trigger`, `function` or `table`); name, without schema or
   * prefix except for triggers; text or, for a table, columns; and whether it is on this table (1 for other kinds).
   */
  readObjects(dialect: SqlText, table: string, ledger: Ledger): string;
}

/** Terms on a row of the triggers' table: whether its cell changed or holds an id, and its answer in the crosswalk. */
function termsOf(dialect: SqlText, column: SyncColumn) {
  const text = EMIT_TEXTS[dialect.kind];
  const { id, type, ids } = column;
  const isId = !writesPlatformId(id);
  const cell = (row: string, name = id.column) => `${row}.${dialect.quote(name)}`;
  const looked = [id.column, id.modelColumn, id.regionColumn, id.companyColumn].flatMap((name) => name ?? []);
  const answer = (row: string, term: string) => {
    const scopes = scopeTerms(dialect, id, row).map((one, at) => `svc_m.s${at} = ${one}`);
    const isInteger = dialect.kind === 'sqlite' ? [`typeof(${cell(row)}) IN ('integer', 'text')`] : [];
    const where = [`svc_m.v3 = ${dialect.asText(cell(row))}`, ...isInteger, ...scopes].join(' AND ');
    return `(SELECT ${term} FROM ${ids} AS svc_m WHERE ${where})`;
  };
  return {
    looked,
    /** Whether cells that are not mapped are listed; `apply` does not list a missing platform_id either. */
    isListed: isId,
    newCell: (row: string) => cell(row, column.newColumn),
    isSet: (row: string) => `${cell(row)} IS NOT NULL`,
    isChanged: looked
      .map(
        (name) =>
          `NOT ${dialect.isSame(dialect.exactText(cell('OLD', name)), dialect.exactText(cell('NEW', name)))}`,
      )
      .join(' OR '),
    /** The application did not write the new column itself. */
    isUntouched: `(${cell('NEW', column.newColumn)} IS NULL OR ${dialect.isSame(
      dialect.exactText(cell('NEW', column.newColumn)),
      dialect.exactText(cell('OLD', column.newColumn)),
    )})`,
    isUnmapped: (row: string) =>
      `${cell(row, column.newColumn)} IS NULL AND ${isOurs({ dialect }, text.literal, id, row)}`,
    newId: (row: string) =>
      answer(row, dialect.fromEntry(isId ? text.newCell(cell(row), 'svc_m.v4') : 'svc_m.v4', type)),
    entry: (row: string) =>
      [
        column.key.length === 0 ? 'NULL' : dialect.keySql(column.key.map((name) => cell(row, name))),
        dialect.asEntry(cell(row)),
        `coalesce(${answer(row, 'svc_m.reason')}, 'unknown')`,
        text.now,
      ].join(', '),
  };
}

/** When a trigger fires: before the row is written to fill the new column, after it to list cells that are not mapped. */
interface SyncEvent {
  readonly when: 'BEFORE' | 'AFTER';
  readonly event: 'INSERT' | 'UPDATE';
  readonly condition: string;
}

/** Updates first: where each CREATE TRIGGER commits, no row may be filled before its updates are followed. */
function eventsOf(terms: ReturnType<typeof termsOf>): SyncEvent[] {
  const { newCell, isSet, isChanged, isUntouched, isUnmapped } = terms;
  const events: SyncEvent[] = [
    { when: 'BEFORE', event: 'UPDATE', condition: `(${isChanged}) AND ${isUntouched}` },
    { when: 'AFTER', event: 'UPDATE', condition: `(${isChanged}) AND ${isUnmapped('NEW')}` },
    { when: 'BEFORE', event: 'INSERT', condition: `${newCell('NEW')} IS NULL AND ${isSet('NEW')}` },
    { when: 'AFTER', event: 'INSERT', condition: isUnmapped('NEW') },
  ];
  return events.filter(({ when }) => when === 'BEFORE' || terms.isListed);
}

const sqlite: SyncText = {
  functions: () => [],
  // Each statement reads the row as it is now: another trigger may have changed it since.
  triggers: (dialect, column) => {
    const terms = termsOf(dialect, column);
    const { looked, newCell, isSet, isChanged, isUntouched, isUnmapped, newId, entry } = terms;
    const table = quoteIdentifier(column.table);
    const isRow = (row: string) =>
      column.rowId
        .map((name) => `${row}.${quoteIdentifier(name)} = NEW.${quoteIdentifier(name)}`)
        .join(' AND ');
    const list = `INSERT INTO ${column.unmapped} SELECT ${entry('t')} FROM ${table} AS t WHERE ${isRow('t')} AND ${isUnmapped('t')};
`;
    const fill = (when: string, where: string) => `WHEN ${when} BEGIN
  -- ${SYNC_MARK}
  UPDATE ${table} SET ${quoteIdentifier(column.newColumn)} = ${newId(table)} WHERE ${isRow(table)}${where};
  ${terms.isListed ? list : ''}END`;
    const [insert, update] = [`${column.trigger}insert`, `${column.trigger}update`];
    const columns = looked.map(quoteIdentifier).join(', ');
    return [
      {
        name: update,
        sql: `CREATE TRIGGER ${quoteIdentifier(update)} AFTER UPDATE OF ${columns} ON ${table} ${fill(`(${isChanged}) AND ${isUntouched}`, '')}`,
      },
      {
        name: insert,
        sql: `CREATE TRIGGER ${quoteIdentifier(insert)} AFTER INSERT ON ${table} ${fill(`${newCell('NEW')} IS NULL AND ${isSet('NEW')}`, ` AND ${newCell(table)} IS NULL`)}`,
      },
    ];
  },
  dropTrigger: (_, name) => `DROP TRIGGER IF EXISTS ${quoteIdentifier(name)}`,
  readObjects: (_, table) =>
    `SELECT 'trigger', name, sql, CASE WHEN tbl_name = ${quoteLiteral(table)} COLLATE NOCASE THEN '1' ELSE '0' END FROM sqlite_schema
     WHERE type = 'trigger' AND name LIKE 'svc!_migrate!_sync!_%' ESCAPE '!'
     UNION ALL SELECT 'table', substr(m.name, 13), (SELECT group_concat(name) FROM pragma_table_info(m.name)), '1' FROM sqlite_schema AS m
     WHERE m.type IN ('table', 'view') AND m.name LIKE 'svc!_migrate!_sync!_%' ESCAPE '!'`,
};

/** `"svc_migrate".sync_1_0_ids` → `"svc_migrate".sync_1_0_fill` */
const functionOf = (ids: string, what: 'fill' | 'list') => `${ids.slice(0, -'ids'.length)}${what}`;

/** It runs with our privileges and path, and never makes the application's statement fail. */
function pgFunction(name: string, body: string, onError: string, result: string): Named {
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

const postgres: SyncText = {
  functions: (dialect, column) => {
    const { newCell, newId, entry } = termsOf(dialect, column);
    return [
      pgFunction(
        functionOf(column.ids, 'fill'),
        `${newCell('NEW')} := ${newId('NEW')}`,
        `${newCell('NEW')} := NULL;\n  `,
        'NEW',
      ),
      pgFunction(
        functionOf(column.ids, 'list'),
        `INSERT INTO ${column.unmapped} SELECT ${entry('NEW')}`,
        '',
        'NULL',
      ),
    ];
  },
  triggers: (dialect, column) =>
    eventsOf(termsOf(dialect, column)).map(({ when, event, condition }): Named => {
      const name = `${column.trigger}${when}_${event}`.toLowerCase();
      const run = functionOf(column.ids, when === 'BEFORE' ? 'fill' : 'list');
      const sql = `CREATE TRIGGER ${quoteIdentifier(name)} ${when} ${event} ON ${column.table} FOR EACH ROW WHEN (${condition}) EXECUTE FUNCTION ${run}('${SYNC_MARK}')`;
      return { name, sql };
    }),
  dropTrigger: (table, name) => `DROP TRIGGER IF EXISTS ${quoteIdentifier(name)} ON ${table}`,
  readObjects: ({ kind }, table, { name }) =>
    `SELECT 'trigger', t.tgname, concat(p.prosrc, encode(t.tgargs, 'escape')), '1' FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
     WHERE t.tgrelid = to_regclass(${EMIT_TEXTS[kind].literal(table)}) AND NOT t.tgisinternal AND t.tgname LIKE 'zz!_svc!_migrate!_sync!_%' ESCAPE '!'
     UNION ALL SELECT 'function', p.proname, p.prosrc, '1' FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
     WHERE n.nspname = ${quoteLiteral(name)} AND p.pronargs = 0 AND p.proname LIKE 'sync!_%' ESCAPE '!'
     UNION ALL SELECT 'table', c.relname, (SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0), '1'
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = ${quoteLiteral(name)} AND c.relkind IN ('r', 'v') AND c.relname LIKE 'sync!_%' ESCAPE '!'`,
};

const mysql: SyncText = {
  functions: () => [],
  triggers: (dialect, column) => {
    const terms = termsOf(dialect, column);
    const fresh = terms.newCell('NEW');
    return eventsOf(terms).map(({ when, event, condition }): Named => {
      const name = `${column.trigger}${when}_${event}`.toLowerCase();
      const steps =
        when === 'AFTER'
          ? `INSERT INTO ${column.unmapped} SELECT ${terms.entry('NEW')};`
          : `SET ${fresh} = NULL; SET ${fresh} = ${terms.newId('NEW')};`;
      // Handled errors never make the application's statement fail.
      const sql = `CREATE TRIGGER ${dialect.quote(name)} ${when} ${event} ON ${dialect.quote(column.table)} FOR EACH ROW
BEGIN
  /* ${SYNC_MARK} */
  DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
  IF ${condition} THEN ${steps} END IF;
END`;
      return { name, sql };
    });
  },
  dropTrigger: (_, name) => `DROP TRIGGER IF EXISTS \`${name}\``,
  readObjects: ({ kind }, table) =>
    `SELECT 'trigger', TRIGGER_NAME, ACTION_STATEMENT, IF(EVENT_OBJECT_TABLE = ${EMIT_TEXTS[kind].literal(table)}, '1', '0') FROM information_schema.TRIGGERS
     WHERE TRIGGER_SCHEMA = DATABASE() AND TRIGGER_NAME LIKE 'svc!_migrate!_sync!_%' ESCAPE '!'
     UNION ALL SELECT 'table', SUBSTRING(TABLE_NAME, 13), GROUP_CONCAT(COLUMN_NAME ORDER BY ORDINAL_POSITION), '1' FROM information_schema.COLUMNS
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'svc!_migrate!_sync!_%' ESCAPE '!' GROUP BY TABLE_NAME`,
};

/** By the kind of the target. */
export const SYNC_TEXTS: Readonly<Record<SqlText['kind'], SyncText>> = { sqlite, postgres, mysql };
