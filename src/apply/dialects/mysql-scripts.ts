import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { type EmitText, literalFormatter } from '../emit/emit-texts.js';
import { createLedgerSql } from '../engine/ledger-tables.js';
import type { TableFacts } from '../engine/table-facts.js';
import { blocks, blocksOf, type Note } from '../plan.js';
import { SYNC_MARK } from '../sync/sync-table.js';
import {
  type CreateStatement,
  checkNotes,
  type SyncText,
  triggerEvents,
  triggerTerms,
} from '../sync/sync-texts.js';
import { PRIVILEGES } from './mysql-obstacles.js';
import { quoteMysqlIdentifier } from './mysql-text.js';

/** Statements that run another one if a condition holds: MySQL has no IF outside stored programs. */
function runIf(condition: string, statement: string): string[] {
  return [
    `SET @svc_migrate = (SELECT IF(${condition}, ${MYSQL_EMIT.literal(statement)}, 'DO 0'))`,
    'PREPARE svc_migrate FROM @svc_migrate',
    'EXECUTE svc_migrate',
    'DEALLOCATE PREPARE svc_migrate',
  ];
}

/** SQL text for scripts of `--emit-sql`. */
export const MYSQL_EMIT: EmitText = {
  title: 'MySQL and MariaDB',
  settings: [
    "SET @svc_migrate_mode = @@SESSION.sql_mode, @svc_migrate_safe = @@SESSION.sql_safe_updates, SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', SESSION sql_safe_updates = 0",
  ],
  restore: ['SET SESSION sql_mode = @svc_migrate_mode, SESSION sql_safe_updates = @svc_migrate_safe'],
  begin: null,
  literal: literalFormatter((bytes) => `CONVERT(x'${bytes}' USING utf8mb4)`),
  now: "DATE_FORMAT(UTC_TIMESTAMP(3), '%Y-%m-%dT%H:%i:%s.%fZ')",
  types: {
    old: 'varbinary(255)',
    text: 'varchar(700)',
    value: 'longtext',
    row: 'bigint NOT NULL AUTO_INCREMENT PRIMARY KEY',
  },
  longestOld: 255,
  keyType: (type) => type,
  staging: (name) => `svc_migrate_${name}`,
  // The script may run twice.
  createLedger: (dialect, ledger) =>
    createLedgerSql({ ...dialect, createLedgerView: 'CREATE OR REPLACE VIEW' }, ledger),
  // Every row and the gaps between them: others can neither change nor add rows.
  lock: (tables) => tables.map((table) => `SELECT count(*) FROM ${quoteMysqlIdentifier(table)} FOR UPDATE`),
  countColumns: ({ table, name, type }) => {
    const isType =
      type === null ? '' : ` AND COLUMN_TYPE = ${MYSQL_EMIT.literal(type.split(' CHARACTER SET ')[0] ?? '')}`;
    return `(SELECT count(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()
  AND TABLE_NAME = ${MYSQL_EMIT.literal(table)} AND COLUMN_NAME = ${MYSQL_EMIT.literal(name)}${isType})`;
  },
  addColumn: (table, column, type) =>
    runIf(
      `${MYSQL_EMIT.countColumns({ table, name: column, type: null })} = 0`,
      `ALTER TABLE ${quoteMysqlIdentifier(table)} ADD COLUMN ${quoteMysqlIdentifier(column)} ${type}`,
    ),
  analyze: () => [],
  // `problem` is unique: MySQL's error message quotes the value that would be there twice.
  raise: (checks) =>
    `INSERT INTO ${checks}(problem, failed) SELECT problem, failed FROM (SELECT problem, failed FROM ${checks} WHERE failed > 0) AS c`,
  rollBackIf: () => [],
  newCell: (_, id) => id,
};

const MAY_NOT_LOG =
  'With its binary log, the server lets only users with SUPER create triggers: use one, or set log_bin_trust_function_creators = 1.';

const PREFIX = 'svc_migrate_sync_';

/** The triggers of `--sync`. */
export const MYSQL_SYNC: SyncText = {
  prefix: PREFIX,
  typeChecks: () => [],
  functions: () => [],
  triggers: (dialect, column) => {
    const terms = triggerTerms(dialect, column);
    const fresh = terms.newCell('NEW');
    return triggerEvents(terms).map(({ when, event, condition }): CreateStatement => {
      const name = `${column.trigger}${when}_${event}`.toLowerCase();
      const steps =
        when === 'AFTER'
          ? `INSERT INTO ${column.unmapped} SELECT ${terms.entry('NEW')};`
          : `SET ${fresh} = NULL; SET ${fresh} = ${terms.newId('NEW')};`;
      // The handler ignores errors, so that the application's statement never fails.
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
  readObjects: ({ emit }, table) =>
    `SELECT 'trigger', TRIGGER_NAME, ACTION_STATEMENT, IF(EVENT_OBJECT_TABLE = ${emit.literal(table)}, '1', '0') FROM information_schema.TRIGGERS
     WHERE TRIGGER_SCHEMA = DATABASE() AND TRIGGER_NAME LIKE 'svc!_migrate!_sync!_%' ESCAPE '!'
     UNION ALL SELECT 'table', SUBSTRING(TABLE_NAME, 13), GROUP_CONCAT(COLUMN_NAME ORDER BY ORDINAL_POSITION), '1' FROM information_schema.COLUMNS
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'svc!_migrate!_sync!_%' ESCAPE '!' GROUP BY TABLE_NAME`,
  readNotes: async (session, facts, ids) => {
    const { table } = facts;
    const { rows } = await session.query(PRIVILEGES);
    const may = (privilege: string) =>
      rows.some(
        ([name, on, column]) => name === privilege && (on === null || on === table) && column === null,
      );
    const [[logs, trusts, role] = []] = (
      await session.query('SELECT @@log_bin, @@log_bin_trust_function_creators, CURRENT_ROLE()')
    ).rows;
    const isRole = role !== null && role !== undefined && role !== 'NONE' && role !== '';
    const lacks = isRole ? [] : ['TRIGGER', 'CREATE', 'DROP'].filter((privilege) => !may(privilege));
    const mayLog = logs !== '1' || trusts === '1' || isRole || may('SUPER') || may('BINLOG ADMIN');
    const create =
      (await session.query(`SHOW CREATE TABLE ${quoteMysqlIdentifier(table)}`)).rows[0]?.[1] ?? '';
    const checks = create.split('\n').filter((line) => / CHECK \(/.test(line));
    // Triggers of one event fire in the order in which they were created: created again, ours come last.
    const sql = `SELECT GROUP_CONCAT(DISTINCT o.TRIGGER_NAME SEPARATOR ', ')
    FROM information_schema.TRIGGERS o JOIN information_schema.TRIGGERS s ON o.ACTION_TIMING = s.ACTION_TIMING
      AND o.EVENT_MANIPULATION = s.EVENT_MANIPULATION AND o.ACTION_ORDER > s.ACTION_ORDER
    WHERE s.TRIGGER_SCHEMA = DATABASE() AND s.EVENT_OBJECT_TABLE = $1 AND s.ACTION_TIMING = 'BEFORE' AND s.TRIGGER_NAME LIKE $2
      AND o.TRIGGER_SCHEMA = DATABASE() AND o.EVENT_OBJECT_TABLE = $1 AND o.TRIGGER_NAME NOT LIKE $2`;
    const later = await session.one(sql, [table, `${PREFIX}%`]);
    return [
      ...checkNotes(
        ids
          .map(newColumnOf)
          .filter((name) => checks.some((line) => line.includes(quoteMysqlIdentifier(name)))),
      ),
      ...blocksOf({
        sync_order:
          later !== null &&
          `The trigger ${later} fires after ours and could change the id: apply --sync off, then on.`,
        privilege:
          lacks.length > 0 &&
          `The user may not create and drop triggers: GRANT ${lacks.join(', ')} on the database.`,
      }),
      ...(mayLog ? [] : [blocks('privilege', MAY_NOT_LOG)]),
      ...cascadeNotes(facts, ids),
    ];
  },
};

function cascadeNotes({ foreignKeys }: TableFacts, ids: readonly IdColumn[]): Note[] {
  const cascade = foreignKeys.find(
    ({ direction, columns, onUpdate }) =>
      direction === 'out' && onUpdate !== 'none' && ids.some(({ column }) => columns.includes(column)),
  );
  if (cascade === undefined) return [];
  const text = `${cascade.name} changes these ids with ON UPDATE, which fires no triggers in MySQL and MariaDB.`;
  return [blocks('sync_foreign_key', text)];
}
