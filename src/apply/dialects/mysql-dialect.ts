import { createHash } from 'node:crypto';
import type { MysqlTarget, TableTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { ApplyContext, DataStore } from '../context.js';
import type { Dialect, EmitText, Engine, IdMap, MapSource, SqlText, UpdateFrom } from '../engine/dialect.js';
import { isLongMap, mapKey, mapTerms } from '../engine/id-maps.js';
import { buildCellJudge, cellText, judgeCell } from '../engine/judge-cells.js';
import type { TableOfRun } from '../engine/table-facts.js';
import {
  listMysqlTables,
  type MysqlForeignKey,
  mysqlObstacles,
  readForeignKeys,
  readMysqlFacts,
  readMysqlLedger,
} from './mysql-catalog.js';
import { MysqlSession } from './mysql-session.js';
import { openServerStore } from './server-session.js';
import { hexOf, literalFormatter, quoteMysqlIdentifier, quoteMysqlLiteral } from './shared-text.js';

/** Opens the tables of one MySQL or MariaDB database. */
export function openMysqlStore(context: ApplyContext, targets: readonly MysqlTarget[]): DataStore {
  const open = (source: MysqlTarget) => new MysqlSession(context, source);
  return openServerStore(targets, open, (session) => mysqlEngine(context, session));
}

function asMysql(target: TableTarget): MysqlTarget {
  if (target.kind === 'mysql') return target;
  throw new Error(`${target.name} is not a MySQL table`);
}

export function mysqlEngine(context: ApplyContext, session: MysqlSession): Engine {
  const dialect: Dialect = {
    ...MYSQL_TEXT,
    emit: MYSQL_EMIT,
    deferForeignKeys: (tables) => deferForeignKeys(session, tables),
    readLedger: async () => ({ shape: await readMysqlLedger(session), notes: [] }),
    lockLedger: async () => session.lockName(lockName(await session.one('SELECT DATABASE()'))),
    listTables: () => listMysqlTables(session),
    readFacts: (target) => readMysqlFacts(session, asMysql(target)),
    obstacleNotes: (target, facts) => mysqlObstacles(session, facts, asMysql(target), context.policy.mode),
    beforeUpdate: async () => {},
    loadMap: (map, source) => loadMysqlMap(engine, session, map, source),
  };
  const engine = { context, session, dialect };
  return engine;
}

/** The name of the lock that one process holds in a database. It is hashed because a name may have at most 64 characters. */
function lockName(database: string | null): string {
  return `svc_migrate ${createHash('md5')
    .update(database ?? '')
    .digest('hex')}`;
}

/** Counts rows without their parent row before the tables change, and when the result is called. */
async function deferForeignKeys(
  session: MysqlSession,
  tables: readonly Pick<TableOfRun, 'table' | 'target'>[],
): Promise<() => Promise<void>> {
  const orphans = new Map<string, string | null>();
  for (const sql of await orphanQueries(session, tables)) orphans.set(sql, await session.one(sql));
  if (orphans.size > 0) await session.exec('SET SESSION foreign_key_checks = 0');
  return async () => {
    for (const [sql, before] of orphans) {
      if ((await session.one(sql)) === before) continue;
      throw new SvcError('bad_input', 'Rows would refer to ids that do not exist; nothing was written.', {
        hint: 'Plan again, and keep writers away until the plan is carried out.',
      });
    }
  };
}

/**
 * Queries that count rows whose parent row is missing, one for each foreign key of these tables. None if no key links two
 * of the tables: then the server itself can check every statement.
 *
 * @throws SvcError `bad_input` if a key to ids that change has ON UPDATE CASCADE or SET
 */
async function orphanQueries(
  session: MysqlSession,
  tables: readonly Pick<TableOfRun, 'table' | 'target'>[],
): Promise<string[]> {
  const keys: (MysqlForeignKey & Pick<TableOfRun, 'table' | 'target'>)[] = [];
  for (const { table, target } of tables)
    for (const key of await readForeignKeys(session, table)) keys.push({ ...key, table, target });
  const areLinked = keys.some(({ otherTable }) => tables.some(({ table }) => table === otherTable));
  if (!areLinked) return [];
  const cascading = keys.find(
    ({ onUpdate, direction, columns, target }) =>
      onUpdate !== 'none' && direction === 'in' && target.ids.some(({ column }) => columns.includes(column)),
  );
  if (cascading !== undefined) {
    const text = `Foreign keys link these tables, and ${cascading.name} itself changes rows (ON UPDATE); nothing was written.`;
    throw new SvcError('bad_input', text, {
      hint: `Change ${cascading.name} to ON UPDATE RESTRICT, and name both of its tables as targets.`,
    });
  }
  return keys.filter(({ direction }) => direction === 'out').map(countOrphans);
}

function countOrphans({
  table,
  columns,
  parentSql,
  otherColumns,
}: MysqlForeignKey & Pick<TableOfRun, 'table'>): string {
  const cell = (of: string, name: string) => `${of}.${quoteMysqlIdentifier(name)}`;
  const isParent = columns.map(
    (name, at) => `${cell('parent', otherColumns[at] ?? '')} = ${cell('child', name)}`,
  );
  const isSet = columns.map((name) => `${cell('child', name)} IS NOT NULL`);
  return `SELECT count(*) FROM ${quoteMysqlIdentifier(table)} AS child WHERE ${isSet.join(' AND ')}
    AND NOT EXISTS (SELECT 1 FROM ${parentSql} AS parent WHERE ${isParent.join(' AND ')})`;
}

const PAGE_ROWS = 10_000;

/**
 * Looks up every distinct value. The values are read page by page from a temporary table, because a connection cannot
 * write while it is reading a result.
 */
async function loadMysqlMap(
  engine: Engine,
  session: MysqlSession,
  map: IdMap,
  { work, mode, from, where, fill }: MapSource,
): Promise<void> {
  const values = 'svc_migrate_values';
  const names = mapKey(map, MYSQL_TEXT);
  const terms = mapTerms(MYSQL_TEXT, map);
  const old = valueLiteral(map.column.type);
  const fresh = valueLiteral(map.newType);
  // SQL_BIG_RESULT groups by sorting: in a temporary table on disk, 1,000,000 groups take ten times as long.
  await session.exec(
    `DROP TEMPORARY TABLE IF EXISTS ${values};
     CREATE TEMPORARY TABLE ${values}(no BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB AS
       SELECT SQL_BIG_RESULT ${terms.map((term, at) => `${term} AS ${names[at]}`).join(', ')}, count(*) AS row_count
       FROM ${from} WHERE ${where} GROUP BY ${names.map((_, at) => at + 1).join(', ')}`,
  );
  const judge = buildCellJudge(work, mode);
  for (let after = '0', done = 0; ; ) {
    const { rows } = await session.query(
      `SELECT no, row_count, ${names.join(', ')} FROM ${values} WHERE no > ${after} ORDER BY no LIMIT ${PAGE_ROWS}`,
    );
    const changed = rows.flatMap(([, count, cell = null, ...scope]): string[] => {
      const result = judgeCell(judge, cell, scope, Number(count));
      if (result === undefined || (mode === 'new' && result === null)) return [];
      const words = scope.map((word) => `,${quoteMysqlLiteral(word ?? '')}`);
      return [`(${old(cell)}${words.join('')},${fresh(cellText(result))},0,${fill})`];
    });
    await session.insert(map.table, [...names, 'new', 'keep', 'fill'], changed);
    done += rows.length;
    engine.context.onProgress({ kind: 'step', name: `looking up ${map.id.column}`, done, total: null });
    const last = rows.at(-1)?.[0];
    if (typeof last !== 'string') break;
    after = last;
  }
  await session.exec(`DROP TEMPORARY TABLE ${values}`);
}

/** Builds a function that formats values of a type. */
function valueLiteral(type: string): (value: string | null) => string {
  if (isNative(type)) return String;
  return (value) => (value === null ? 'NULL' : quoteMysqlLiteral(value));
}

/** A value as the bytes of its text: collations may ignore case, accents and trailing spaces; binary strings compare exactly. */
function exactBytes(term: string): string {
  return `CAST(CONVERT(${term} USING utf8mb4) AS BINARY)`;
}

/** A text or its bytes, converted to the type of a column, so that a comparison can use the column's index. */
function asMysqlType(term: string, type: string): string {
  const text = `CONVERT(${term} USING utf8mb4)`;
  const [, charset, collation] = / CHARACTER SET (\w+) COLLATE (\w+)$/.exec(type) ?? [];
  if (charset !== undefined) return `CONVERT(${text} USING ${charset}) COLLATE ${collation ?? ''}`;
  const [, decimal] = /^decimal(\(\d+,\d+\))/.exec(type) ?? [];
  if (decimal !== undefined) return `CAST(${text} AS DECIMAL${decimal})`;
  if (/^[a-z]*int\b/.test(type)) return `CAST(${text} AS ${type.includes('unsigned') ? 'UN' : ''}SIGNED)`;
  if (type === 'date') return `CAST(${text} AS DATE)`;
  const [, digits = ''] = /^(?:datetime|timestamp)(\(\d\))?$/.exec(type) ?? [null, null];
  if (digits !== null) return `CAST(${text} AS DATETIME${digits})`;
  return type === 'json' ? `CAST(${text} AS JSON)` : text;
}

function updateMysql({
  table,
  set,
  from,
  where,
  autoUpdated = [],
  isTableFirst = false,
}: UpdateFrom): string {
  const cell = (name: string) => `t.${quoteMysqlIdentifier(name)}`;
  const changes = [
    ...set.map(([column, term]) => `${cell(column)} = ${term}`),
    ...autoUpdated.map((column) => `${cell(column)} = ${cell(column)}`),
  ];
  const tables = [from, `${table} AS t`];
  const join = (isTableFirst ? tables.reverse() : tables).join(' STRAIGHT_JOIN ');
  return `UPDATE ${join} SET ${changes.join(', ')} WHERE ${where}`;
}

/** Whether values of a type are compared as they are: equal integers are the same to the byte. */
function isNative(type: string): boolean {
  return /^(?:tiny|small|medium|big)?int\b/.test(type) && !type.includes('zerofill');
}

const shownText = (term: string) => `CONVERT(${term} USING utf8mb4)`;
const literal = literalFormatter((text) => `CONVERT(x'${hexOf(text)}' USING utf8mb4)`);
const exact = (term: string, { type }: { readonly type: string }) =>
  isNative(type) ? term : exactBytes(term);

/** The type of a column of a list. Long text that need not be indexed is kept beside its row, which has a size limit. */
function listType(type: string, isKey: boolean): string {
  const [, length, charset] = /^varchar\((\d+)\)( CHARACTER SET .*)$/.exec(type) ?? [];
  return isKey || length === undefined || Number(length) <= 768 ? type : `longtext${charset}`;
}

/** SQL of MySQL and MariaDB for the shared operations. */
const MYSQL_TEXT: SqlText = {
  quote: quoteMysqlIdentifier,
  literal,
  foldName: (name) => name.toLowerCase(),
  tableSql: quoteMysqlIdentifier,
  ledgerTypes: {
    number: 'bigint',
    text: 'longtext',
    name: 'longtext',
    options: ' ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin',
  },
  // Longer columns cannot be indexed as a whole.
  platformIdType: {
    type: 'varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
    maxChars: 255,
    allowsNulCharacter: true,
  },
  asText: exactBytes,
  exact,
  same: (one, other, type) => `${exact(one, { type })} <=> ${exact(other, { type })}`,
  // The first comparison uses the index, the second is exact.
  isKey: (indexed, value, type = '') =>
    `${indexed} = ${value}${isNative(type) ? '' : ` AND CAST(${indexed} AS BINARY) = CAST(${value} AS BINARY)`}`,
  keyName: (terms) =>
    terms.length === 1 ? shownText(terms[0] ?? '') : `CONCAT_WS(', ', ${terms.map(shownText).join(', ')})`,
  createMap: (map) => {
    const key = mapKey(map, MYSQL_TEXT);
    const [old = '', ...scopes] = key;
    const isLong = isLongMap(map);
    const isInteger = isNative(map.column.type);
    const type = isInteger ? map.column.type : isLong ? 'LONGBLOB' : 'VARBINARY(255)';
    const columns = [
      `${old} ${type}`,
      ...scopes.map((name) => `${name} VARBINARY(255)`),
      `new ${listType(map.newType, false)}, keep TINYINT, fill INT`,
      isInteger ? `PRIMARY KEY (${key.join(', ')}, fill)` : `KEY (${old}${isLong ? '(255)' : ''})`,
    ];
    const end = `(${columns.join(', ')}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`;
    if (map.isKept) return [`CREATE TABLE IF NOT EXISTS ${map.table}${end}`];
    return [`DROP TEMPORARY TABLE IF EXISTS ${map.table}`, `CREATE TEMPORARY TABLE ${map.table}${end}`];
  },
  createRows: (list, { columns, flags, index }) => {
    const all = [
      'id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY',
      ...columns.map(({ name, type, isKey }) => `${name} ${listType(type, isKey)}`),
      ...flags.map((name) => `${name} tinyint`),
      `KEY (${index.join(', ')})`,
    ];
    return [
      `CREATE TABLE IF NOT EXISTS ${list}(${all.join(', ')}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
    ];
  },
  loaded: () => [],
  rowNumber: null,
  createView: (view, query) => [`CREATE OR REPLACE VIEW ${view} AS ${query}`],
  asCell: (_, term) => exactBytes(term),
  // Grouping in a temporary table on disk costs more than looking every row up.
  groupsCells: false,
  exactText: (term) => `CONCAT('t', ${exactBytes(term)})`,
  updateFrom: updateMysql,
  batchKey: ({ keys, columns }) =>
    (keys[0] ?? []).map((column) => {
      const type = columns.find(({ name }) => name === column)?.type ?? '';
      return { column, valueSql: (text) => asMysqlType(quoteMysqlLiteral(text), type) };
    }),
  lockRows: 'FOR UPDATE',
  ddlCommits: true,
  integersOf: (term) => ({
    lowest: `coalesce(min(CAST(${shownText(term)} AS DECIMAL(65))), 0)`,
    highest: `coalesce(max(CAST(${shownText(term)} AS DECIMAL(65))), 0)`,
    where: 'TRUE',
  }),
  parkedValue: ({ type, holds }, _, integer, suffix) => {
    const text = `CONCAT(w.id, '${suffix}')`;
    return asMysqlType(integer ?? (holds === 'json' ? `JSON_QUOTE(${text})` : text), type);
  },
  // Every row and the gaps between them: others can neither change nor add rows. Before the first plain read, whose
  // snapshot then includes the last writer's rows.
  lockTables: (tables) => tables.map((table) => `SELECT count(*) FROM ${table} FOR UPDATE`),
  checkKeys: [],
};

/** Statements that run another one if a condition holds: MySQL has no IF outside stored programs. */
function runIf(condition: string, statement: string): string[] {
  return [
    `SET @svc_migrate = (SELECT IF(${condition}, ${literal(statement)}, 'DO 0'))`,
    'PREPARE svc_migrate FROM @svc_migrate',
    'EXECUTE svc_migrate',
    'DEALLOCATE PREPARE svc_migrate',
  ];
}

/** SQL text for scripts of `apply sql`. */
const MYSQL_EMIT: EmitText = {
  settings: {
    set: [
      "SET @svc_migrate_mode = @@SESSION.sql_mode, @svc_migrate_safe = @@SESSION.sql_safe_updates, SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', SESSION sql_safe_updates = 0",
    ],
    restore: ['SET SESSION sql_mode = @svc_migrate_mode, SESSION sql_safe_updates = @svc_migrate_safe'],
  },
  now: "DATE_FORMAT(UTC_TIMESTAMP(3), '%Y-%m-%dT%H:%i:%s.%fZ')",
  countColumns: (table, name, type) => {
    const isType =
      type === null ? '' : ` AND COLUMN_TYPE = ${literal(type.split(' CHARACTER SET ')[0] ?? '')}`;
    return `(SELECT count(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()
  AND TABLE_NAME = ${literal(table)} AND COLUMN_NAME = ${literal(name)}${isType})`;
  },
  addColumn: (table, column, type) =>
    runIf(
      `${MYSQL_EMIT.countColumns(table, column, null)} = 0`,
      `ALTER TABLE ${quoteMysqlIdentifier(table)} ADD COLUMN ${quoteMysqlIdentifier(column)} ${type}`,
    ),
  // `problem` is unique: MySQL's error message quotes the value that would be there twice.
  raise: (checks) =>
    `INSERT INTO ${checks}(problem, failed) SELECT problem, failed FROM (SELECT problem, failed FROM ${checks} WHERE failed > 0) AS c`,
  runIf,
  rollBackIf: () => [],
};
