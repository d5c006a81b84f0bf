import type { MysqlTarget } from '../../config/apply-targets.js';
import { errorCodeOf } from '../../errors.js';
import { addedColumns } from '../engine/id-columns.js';
import type { Cells } from '../engine/session.js';
import type { TableFacts } from '../engine/table-facts.js';
import { blocks, type Mode, type Note } from '../plan.js';
import { serverNotes } from './mysql-catalog.js';
import type { MysqlSession } from './mysql-session.js';
import { quoteMysqlIdentifier, quoteMysqlLiteral } from './mysql-text.js';

/** MySQL refuses longer names. */
const MAX_NAME_CHARS = 64;

/** Notes on the server, on privileges and on keys that prevent or affect a rewrite. */
export async function mysqlObstacles(
  session: MysqlSession,
  facts: TableFacts,
  target: MysqlTarget,
  mode: Mode,
): Promise<Note[]> {
  const added = addedColumns(mode, target.ids);
  const tooLong = added
    .filter((name) => name.length > MAX_NAME_CHARS)
    .map((name) => blocks('new_column_name', `"${name}" is too long for a column: set "newColumn".`));
  const server = await serverNotes(session);
  if (facts.notes.some(({ code }) => code === 'unknown_table')) return [...server, ...tooLong];
  const names = target.ids
    .map((id) => id.column)
    .filter((name) => facts.columns.some((one) => one.name === name));
  return [
    ...server,
    ...(await mayReadNotes(session, facts.table)),
    ...(await privilegeNotes(session, facts.table, names, { mode, added })),
    ...(mode === 'in_place' && facts.keys.length === 0 ? keyTypeNotes(facts) : []),
    ...(await replicationNotes(session)),
    ...tooLong,
  ];
}

/** Prepares a SELECT without running it: the server checks privileges then. */
async function mayReadNotes(session: MysqlSession, table: string): Promise<Note[]> {
  const sql = quoteMysqlLiteral(`SELECT * FROM ${quoteMysqlIdentifier(table)}`);
  try {
    await session.exec(`PREPARE svc_migrate_try FROM ${sql}; DEALLOCATE PREPARE svc_migrate_try`);
    return [];
  } catch (error) {
    if (!/^ER_(?:TABLE|COLUMN)ACCESS_DENIED_ERROR$/.test(errorCodeOf(error))) throw error;
    return [blocks('no_select', 'The user may not read this table: GRANT SELECT.')];
  }
}

/** Missing privileges; none if the user has a role, whose privileges the catalog does not list. */
async function privilegeNotes(
  session: MysqlSession,
  table: string,
  columns: readonly string[],
  { mode, added }: { readonly mode: Mode; readonly added: readonly string[] },
): Promise<Note[]> {
  const role = (await session.one('SELECT CURRENT_ROLE()')) ?? 'NONE';
  if (role !== 'NONE' && role !== '') return [];
  const { rows } = await session.query(PRIVILEGES);
  const may = (privilege: string, of: string | null, column: string | null = null) =>
    rows.some(
      ([name, onTable, onColumn]) =>
        name === privilege &&
        (onTable === null || onTable === of) &&
        (onColumn === null || onColumn === column),
    );
  const lacks: readonly (readonly [boolean, string])[] = [
    [
      mode === 'in_place' && !columns.every((column) => may('UPDATE', table, column)),
      'may not update these columns: GRANT UPDATE.',
    ],
    [
      added.length > 0 && !may('ALTER', table),
      `may not add a column: GRANT ALTER${mode === 'new' ? ', or use --in-place' : ''}.`,
    ],
    [
      added.length > 0 && !may('UPDATE', table),
      'may not fill the new column: GRANT UPDATE on the whole table.',
    ],
    [
      !may('CREATE TEMPORARY TABLES', null),
      'may not create temporary tables: GRANT CREATE TEMPORARY TABLES.',
    ],
    [
      !LEDGER_RIGHTS.every((privilege) => may(privilege, null)),
      `cannot keep the ledger, which has tables for each run: GRANT ${LEDGER_RIGHTS.join(', ')} on the database.`,
    ],
  ];
  const user = (await session.one('SELECT CURRENT_USER()')) ?? '';
  return lacks.flatMap(([applies, text]) => (applies ? [blocks('privilege', `User ${user} ${text}`)] : []));
}

/** `'user'@'host'` as the catalog has it. */
const ME = `CONCAT('\\'', REPLACE(CURRENT_USER(), '@', '\\'@\\''), '\\'')`;
/** Privileges with the table and column they are limited to. */
const PRIVILEGES = `
  SELECT PRIVILEGE_TYPE, NULL, NULL FROM information_schema.USER_PRIVILEGES WHERE GRANTEE = ${ME}
  UNION ALL SELECT PRIVILEGE_TYPE, NULL, NULL FROM information_schema.SCHEMA_PRIVILEGES
    WHERE GRANTEE = ${ME} AND DATABASE() LIKE TABLE_SCHEMA
  UNION ALL SELECT PRIVILEGE_TYPE, TABLE_NAME, NULL FROM information_schema.TABLE_PRIVILEGES
    WHERE GRANTEE = ${ME} AND TABLE_SCHEMA = DATABASE()
  UNION ALL SELECT PRIVILEGE_TYPE, TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMN_PRIVILEGES
    WHERE GRANTEE = ${ME} AND TABLE_SCHEMA = DATABASE()`;
const LEDGER_RIGHTS = ['CREATE', 'CREATE VIEW', 'DROP', 'SELECT', 'INSERT', 'UPDATE', 'DELETE'];

/** Why the table's unique keys cannot be used. */
function keyTypeNotes({ uniques, columns }: TableFacts): Note[] {
  const found = uniques.find(
    ({ isPlain, columns: key }) =>
      isPlain && key.every((name) => columns.some((one) => one.name === name && !one.isNullable)),
  );
  if (found === undefined) return [];
  const types = found.columns.map((name) => columns.find((one) => one.name === name)?.type ?? '').join(', ');
  const text = `The ledger cannot keep keys of type ${types}: rewrite into a new column (without --in-place).`;
  return [blocks('key_type', text)];
}

/** Warns if the binary log is filtered, so that replicas may not get the changes. No warning if the user may not read its settings. */
async function replicationNotes(session: MysqlSession): Promise<Note[]> {
  if ((await session.one('SELECT @@log_bin')) !== '1') return [];
  const [, , only, ignored] = await readLogStatus(session);
  if ((only ?? '') === '' && (ignored ?? '') === '') return [];
  const text = `The binary log is filtered (${[only, ignored].filter((one) => one !== '').join('; ')}): replicas may keep the V3 ids.`;
  return [{ level: 'warning', code: 'replication_filter', text }];
}

/** The state of the binary log; empty if the user may not read it. MySQL 8.2 renamed the statement, 8.4 removed the old name. */
async function readLogStatus(session: MysqlSession): Promise<Cells> {
  for (const sql of ['SHOW BINARY LOG STATUS', 'SHOW MASTER STATUS']) {
    try {
      return (await session.query(sql)).rows[0] ?? [];
    } catch (error) {
      if (!/^ER_(?:SPECIFIC_ACCESS_DENIED_ERROR|PARSE_ERROR)$/.test(errorCodeOf(error))) throw error;
    }
  }
  return [];
}
