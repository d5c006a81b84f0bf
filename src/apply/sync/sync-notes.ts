import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { PRIVILEGES } from '../dialects/mysql-obstacles.js';
import { quoteMysqlIdentifier } from '../dialects/mysql-text.js';
import type { Engine } from '../engine/dialect.js';
import type { FoundTable } from '../engine/found-table.js';
import type { Session } from '../engine/session.js';
import { columnOf, type TableFacts } from '../engine/table-facts.js';
import { blocks, blocksOf, type Note } from '../plan.js';
import { quoteLiteral } from '../sql-names.js';
import { isSyncTrigger, TRIGGER_PREFIX } from './sync-table.js';

/** What prevents triggers on a table, besides what prevents new columns. */
export async function syncNotes(
  { session, dialect }: Engine,
  { target, facts }: FoundTable,
): Promise<Note[]> {
  const found = [
    ...target.ids.flatMap((id) => columnNotes(facts, id)),
    ...(await OBSTACLES[dialect.kind](session, facts, target.ids.map(newColumnOf))),
  ];
  const cascade = facts.foreignKeys.find(
    ({ direction, columns, onUpdate }) =>
      direction === 'out' && onUpdate !== 'none' && target.ids.some(({ column }) => columns.includes(column)),
  );
  if (dialect.kind !== 'mysql' || cascade === undefined) return found;
  const text = `${cascade.name} changes these ids with ON UPDATE, which fires no triggers in MySQL and MariaDB.`;
  return [...found, blocks('sync_foreign_key', text)];
}

function columnNotes(facts: TableFacts, id: IdColumn): Note[] {
  const name = newColumnOf(id);
  const column = columnOf(facts, name);
  const generated = [id.modelColumn, id.regionColumn, id.companyColumn].find(
    (one) => one !== undefined && columnOf(facts, one)?.isGenerated === true,
  );
  const isTied =
    facts.uniques.some(({ isPlain, columns }) => isPlain && columns.includes(name)) ||
    facts.foreignKeys.some(({ direction, columns }) => direction === 'out' && columns.includes(name));
  const place = id.path === undefined ? 'text' : 'JSON';
  return blocksOf({
    sync_in_text:
      (id.path !== undefined || id.pattern !== undefined) &&
      `${id.column}: triggers cannot find ids inside ${place}.`,
    sync_generated:
      generated !== undefined && `${generated} is generated, and triggers run before it has its value.`,
    sync_not_null:
      column?.isNullable === false &&
      `${name} is never null: rows without a V4 id could no longer be inserted.`,
    sync_constraint:
      isTied && `${name} is in a unique key or foreign key, which could refuse rows of the application.`,
  });
}

type Obstacles = (session: Session, facts: TableFacts, newColumns: readonly string[]) => Promise<Note[]>;

function checkNotes(names: readonly string[]): Note[] {
  return names.map((name) =>
    blocks('sync_check', `A CHECK of the table uses ${name}, and could refuse rows of the application.`),
  );
}

const sqlite: Obstacles = async (_, { triggers }) => {
  const others = triggers.filter((name) => !isSyncTrigger(name));
  const text = `Filling a new row is an UPDATE of it, which fires ${others.join(', ')}.`;
  return others.length === 0 ? [] : [{ level: 'warning', code: 'triggers', text }];
};

const postgres: Obstacles = async (session, { table }, newColumns) => {
  const sql = `SELECT (SELECT string_agg(rulename, ', ') FROM pg_rewrite WHERE ev_class = $1::regclass AND ev_type IN ('2', '3')),
      (SELECT string_agg(DISTINCT tgname, ', ') FROM pg_trigger WHERE NOT tgisinternal AND tgtype & 3 = 3 AND tgtype & 20 <> 0
         AND (tgrelid = $1::regclass OR tgrelid IN (SELECT relid FROM pg_partition_tree($1::regclass)))
         AND tgname COLLATE "C" > ${quoteLiteral(`${TRIGGER_PREFIX.postgres}~`)}),
      has_language_privilege('plpgsql', 'USAGE'),
      current_setting('server_version_num')::int < 130000 AND (SELECT relkind FROM pg_class WHERE oid = $1::regclass) = 'p'`;
  const { rows } = await session.query(sql, [table]);
  const [rules, later, mayUse, isOldAndParted] = rows[0] ?? [];
  const checks = `SELECT DISTINCT a.attname FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
    WHERE c.contype = 'c' AND (c.conrelid = $1::regclass OR c.conrelid IN (SELECT relid FROM pg_partition_tree($1::regclass)))`;
  const checked = await session.query(checks, [table]);
  const names = new Set(checked.rows.flat());
  return [
    ...checkNotes(newColumns.filter((name) => names.has(name))),
    ...blocksOf({
      rules: rules !== null && `The rule ${rules} rewrites statements on this table.`,
      sync_order:
        later !== null &&
        `The trigger ${later} fires after ours and could change the id: rename it to sort first.`,
      privilege: mayUse === 'f' && 'The user may not create functions: GRANT USAGE ON LANGUAGE plpgsql.',
      sync_version: isOldAndParted === 't' && 'Triggers on partitioned tables need PostgreSQL 13.',
    }),
  ];
};

const MAY_NOT_LOG =
  'With its binary log, the server lets only users with SUPER create triggers: use one, or set log_bin_trust_function_creators = 1.';

const mysql: Obstacles = async (session, { table }, newColumns) => {
  const { rows } = await session.query(PRIVILEGES);
  const may = (privilege: string) =>
    rows.some(([name, on, column]) => name === privilege && (on === null || on === table) && column === null);
  const [[logs, trusts, role] = []] = (
    await session.query('SELECT @@log_bin, @@log_bin_trust_function_creators, CURRENT_ROLE()')
  ).rows;
  const isRole = role !== null && role !== undefined && role !== 'NONE' && role !== '';
  const lacks = isRole ? [] : ['TRIGGER', 'CREATE', 'DROP'].filter((privilege) => !may(privilege));
  const mayLog = logs !== '1' || trusts === '1' || isRole || may('SUPER') || may('BINLOG ADMIN');
  const create = (await session.query(`SHOW CREATE TABLE ${quoteMysqlIdentifier(table)}`)).rows[0]?.[1] ?? '';
  const checks = create.split('\n').filter((line) => / CHECK \(/.test(line));
  // Triggers of one event fire in their order; made anew, ours come last.
  const sql = `SELECT GROUP_CONCAT(DISTINCT o.TRIGGER_NAME SEPARATOR ', ')
    FROM information_schema.TRIGGERS o JOIN information_schema.TRIGGERS s ON o.ACTION_TIMING = s.ACTION_TIMING
      AND o.EVENT_MANIPULATION = s.EVENT_MANIPULATION AND o.ACTION_ORDER > s.ACTION_ORDER
    WHERE s.TRIGGER_SCHEMA = DATABASE() AND s.EVENT_OBJECT_TABLE = $1 AND s.ACTION_TIMING = 'BEFORE' AND s.TRIGGER_NAME LIKE $2
      AND o.TRIGGER_SCHEMA = DATABASE() AND o.EVENT_OBJECT_TABLE = $1 AND o.TRIGGER_NAME NOT LIKE $2`;
  const later = await session.one(sql, [table, `${TRIGGER_PREFIX.mysql}%`]);
  return [
    ...checkNotes(
      newColumns.filter((name) => checks.some((line) => line.includes(quoteMysqlIdentifier(name)))),
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
  ];
};

const OBSTACLES = { sqlite, postgres, mysql } as const;
