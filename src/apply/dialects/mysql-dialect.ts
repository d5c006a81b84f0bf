import { createHash } from 'node:crypto';
import type { MysqlTarget, TableTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { ApplyContext, DataStore } from '../context.js';
import type { Dialect, Engine, FillRange, IdMap, MapSource } from '../engine/dialect.js';
import { mapKey, mapTerms } from '../engine/id-maps.js';
import { buildCellJudge, cellText, judgeCell } from '../engine/judge-cells.js';
import { OWN_LEDGER } from '../engine/ledger.js';
import { createRunSql, hasLedger } from '../engine/ledger-runs.js';
import { replaceView } from '../engine/own-tables.js';
import type { Cells } from '../engine/session.js';
import type { TableFacts } from '../engine/table-facts.js';
import {
  listMysqlTables,
  type MysqlForeignKey,
  readForeignKeys,
  readMysqlFacts,
  readMysqlLedger,
} from './mysql-catalog.js';
import { mysqlObstacles } from './mysql-obstacles.js';
import { MysqlSession } from './mysql-session.js';
import {
  asMysqlType,
  exactBytes,
  MYSQL_EMIT,
  MYSQL_TEXT,
  quoteMysqlIdentifier,
  quoteMysqlLiteral,
} from './mysql-text.js';
import { openServerStore } from './server-session.js';

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
    ...tableLocks(session),
    ledgerOf: () => OWN_LEDGER,
    readLedgerShape: () => readMysqlLedger(session),
    ledgerObstacles: async () => [],
    // Each statement commits, so a killed process may have left only the first.
    ensureLedger: (ledger) =>
      session.retry(async () => {
        if (!(await hasLedger(engine, ledger))) await session.exec(createRunSql(MYSQL_TEXT, ledger));
        if (!(await readMysqlLedger(session)).has('ledger')) await replaceView(engine, ledger);
      }),
    lockLedger: async () => session.lockName(lockName(await session.one('SELECT DATABASE()'))),
    place: () => session.place(),
    placeOfRun: (table) => `table ${table}`,
    listTables: () => listMysqlTables(session),
    readFacts: (target) => readMysqlFacts(session, asMysql(target)),
    locksDatabase: () => null,
    rowIdNames: () => [],
    obstacleNotes: (target, facts) => mysqlObstacles(session, facts, asMysql(target), context.policy.mode),
    beforeUpdate: async () => {},
    loadMap: (map, source) => loadMysqlMap(engine, session, map, source),
    fillRanges: (facts) => mysqlFillRanges(context, session, facts),
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

function tableLocks(session: MysqlSession): Pick<Dialect, 'lockTables' | 'checkForeignKeys'> {
  /** For each query that counts rows without their parent row, the count before the tables changed. */
  const orphans = new Map<string, string | null>();
  return {
    // Locks come before the first plain read, whose snapshot then includes the last writer's rows. Sorted, to avoid deadlocks.
    lockTables: async (tables) => {
      const names = [...new Set(tables)].sort();
      // Every row and the gaps between them: others can neither change nor add rows.
      for (const name of names)
        await session.one(`SELECT count(*) FROM ${quoteMysqlIdentifier(name)} FOR UPDATE`);
      orphans.clear();
      for (const sql of await orphanQueries(session, names)) orphans.set(sql, await session.one(sql));
      if (orphans.size > 0) await session.exec('SET SESSION foreign_key_checks = 0');
    },
    checkForeignKeys: async () => {
      for (const [sql, before] of orphans) {
        if ((await session.one(sql)) === before) continue;
        throw new SvcError('bad_input', 'Rows would refer to ids that do not exist; nothing was written.', {
          hint: 'Plan again, and keep writers away until the plan is carried out.',
        });
      }
    },
  };
}

/**
 * Queries that count rows whose parent row is missing, one for each foreign key of these tables. None if no key links two
 * of the tables: then the server itself can check every statement.
 *
 * @throws SvcError `bad_input` if one of the keys has ON UPDATE CASCADE or SET
 */
async function orphanQueries(session: MysqlSession, tables: readonly string[]): Promise<string[]> {
  const keys: (MysqlForeignKey & { readonly table: string })[] = [];
  for (const table of tables)
    for (const key of await readForeignKeys(session, table)) keys.push({ ...key, table });
  const areLinked = keys.some(({ otherTable }) => tables.includes(otherTable));
  if (!areLinked) return [];
  const cascading = keys.find(({ onUpdate }) => onUpdate !== 'none');
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
}: MysqlForeignKey & { readonly table: string }): string {
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
  const terms = [
    exactBytes(`t.${quoteMysqlIdentifier(map.id.column)}`),
    ...mapTerms(MYSQL_TEXT, map).slice(1),
  ];
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
    const changed = rows.flatMap(([, count, cell = null, ...scope]): Cells[] => {
      const result = judgeCell(judge, cell, scope, Number(count));
      if (result === undefined || (mode === 'new' && result === null)) return [];
      return [[cell, ...scope, cellText(result), '0', String(fill)]];
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

/** Ranges of keys, one batch each; a table without a key is a single range. */
async function* mysqlFillRanges(
  { tuning }: ApplyContext,
  session: MysqlSession,
  { table, keys, columns }: TableFacts,
): AsyncGenerator<FillRange> {
  const key = keys[0] ?? [];
  const parts = key.map((name) => `t.${quoteMysqlIdentifier(name)}`);
  const types = key.map((name) => columns.find((one) => one.name === name)?.type ?? '');
  const read = `SELECT ${parts.map(exactBytes).join(', ')} FROM ${quoteMysqlIdentifier(table)} AS t`;
  let after = 'TRUE';
  for (let done = 0; key.length > 0; ) {
    // The first key after the batch; none after the last batch.
    const { rows } = await session.retry(() =>
      session.query(`${read} WHERE ${after} ORDER BY ${parts.join(', ')} LIMIT 1 OFFSET ${tuning.batchRows}`),
    );
    const [next] = rows;
    if (next === undefined) break;
    const values = next.map((value, at) => asMysqlType(quoteMysqlLiteral(value ?? ''), types[at] ?? ''));
    done += tuning.batchRows;
    yield { part: null, where: `${after} AND ${isBefore(parts, values)}`, done, total: null };
    after = `NOT (${isBefore(parts, values)})`;
  }
  yield { part: null, where: after, done: 0, total: null };
}

/** Whether a key is before another: by its first part, or by the next ones where that is equal. */
function isBefore([part, ...parts]: readonly string[], [value, ...values]: readonly string[]): string {
  if (parts.length === 0) return `${part} < ${value}`;
  return `(${part} < ${value} OR ${part} = ${value} AND ${isBefore(parts, values)})`;
}
