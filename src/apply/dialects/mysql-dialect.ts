import { createHash } from 'node:crypto';
import type { MysqlTarget, TableTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { ApplyContext, DataStore } from '../context.js';
import type { Dialect, Engine } from '../engine/dialect.js';
import { OWN_LEDGER } from '../engine/ledger.js';
import { createRunSql, hasLedger } from '../engine/ledger-runs.js';
import { replaceView } from '../engine/own-tables.js';
import {
  listMysqlTables,
  type MysqlForeignKey,
  readForeignKeys,
  readMysqlFacts,
  readMysqlLedger,
} from './mysql-catalog.js';
import { loadMysqlMap, mysqlFillRanges, openMysqlTrial } from './mysql-lookups.js';
import { mysqlObstacles } from './mysql-obstacles.js';
import { MysqlSession } from './mysql-session.js';
import { MYSQL_EMIT, MYSQL_TEXT, quoteMysqlIdentifier } from './mysql-text.js';
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
    openTrial: (facts, id) => openMysqlTrial(session, facts, id),
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
