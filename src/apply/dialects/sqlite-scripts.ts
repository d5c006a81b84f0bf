import type { EmitText } from '../emit/emit-texts.js';
import { FAILURE_PREFIX, literalFormatter } from '../emit/emit-texts.js';
import { createLedgerSql } from '../engine/ledger-tables.js';
import { quoteIdentifier, quoteLiteral } from '../sql-names.js';
import { isSyncTrigger, SYNC_MARK } from '../sync/sync-table.js';
import { type SyncText, triggerTerms } from '../sync/sync-texts.js';

/** SQL text for scripts of `--emit-sql`. */
export const SQLITE_EMIT: EmitText = {
  title: 'SQLite',
  settings: [],
  restore: [],
  begin: 'BEGIN IMMEDIATE',
  literal: literalFormatter((bytes) => `CAST(x'${bytes}' AS TEXT)`),
  now: "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
  types: { old: 'TEXT', text: 'TEXT', value: '', row: 'INTEGER PRIMARY KEY' },
  longestOld: Number.POSITIVE_INFINITY,
  keyType: () => '',
  staging: (name) => `svc_migrate_${name}`,
  createLedger: createLedgerSql,
  lock: () => ['PRAGMA defer_foreign_keys = ON'],
  countColumns: ({ table, name, type }) => {
    const isType = type === null ? '' : ` AND type = ${quoteLiteral(type === 'without type' ? '' : type)}`;
    return `(SELECT count(*) FROM pragma_table_info(${quoteLiteral(table)}) WHERE name = ${quoteLiteral(name)} COLLATE NOCASE${isType})`;
  },
  addColumn: (table, column, type) => [
    `ALTER TABLE ${quoteIdentifier(table)} ADD COLUMN ${quoteIdentifier(column)} ${type}`.trim(),
  ],
  analyze: () => [],
  // Fails on purpose: the text is not a JSON path, and SQLite's error message quotes it.
  raise: (checks) =>
    `SELECT json_extract('{}', '${FAILURE_PREFIX}' || problem || ' (' || failed || ')') FROM ${checks} WHERE failed > 0`,
  // `run` is NOT NULL, so the INSERT fails.
  rollBackIf: (condition, { run }) => [`INSERT OR ROLLBACK INTO ${run}(run) SELECT NULL WHERE ${condition}`],
  newCell: (cell, id) => `CASE typeof(${cell}) WHEN 'text' THEN ${id} ELSE CAST(${id} AS INTEGER) END`,
};

/** The triggers of `--sync`. */
export const SQLITE_SYNC: SyncText = {
  prefix: 'svc_migrate_sync_',
  typeChecks: (cell) => [`typeof(${cell}) IN ('integer', 'text')`],
  functions: () => [],
  // Each statement reads the row as it is now: another trigger may have changed it since.
  triggers: (dialect, column) => {
    const terms = triggerTerms(dialect, column);
    const { inputColumns, newCell, isSet, isChanged, isUntouched, isUnmapped, newId, entry } = terms;
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
  ${terms.listsUnmapped ? list : ''}END`;
    const [insert, update] = [`${column.trigger}insert`, `${column.trigger}update`];
    const columns = inputColumns.map(quoteIdentifier).join(', ');
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
  readNotes: async (_, { triggers }) => {
    const others = triggers.filter((name) => !isSyncTrigger(name));
    const text = `Filling a new row is an UPDATE of it, which fires ${others.join(', ')}.`;
    return others.length === 0 ? [] : [{ level: 'warning', code: 'triggers', text }];
  },
};
