import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { type ColumnWork, openColumn } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import {
  type ColumnFill,
  type ColumnTrial,
  type Engine,
  type FillRange,
  joinMap,
  type LookUpSource,
  type LookUpSql,
} from '../engine/dialect.js';
import { buildCellJudge, cellText, judgeCell, scopeTerms } from '../engine/judge-cells.js';
import { valueType } from '../engine/platform-columns.js';
import type { Cells } from '../engine/session.js';
import type { TableFacts } from '../engine/table-facts.js';
import { blocksRefused, type Mode, type Note } from '../plan.js';
import type { MysqlSession } from './mysql-session.js';
import {
  asMysqlType,
  exactBytes,
  MYSQL_TEXT,
  quoteMysqlIdentifier,
  quoteMysqlLiteral,
} from './mysql-text.js';

const PAGE_ROWS = 10_000;
/** The value of the row that marks a map as complete. It is not UTF-8, so no stored value equals it. */
const COMPLETE_MARK = "x'FF'";

/** Columns of a map that identify a row of it: the old value, and the model, region and company that columns name. */
function groupNames(id: IdColumn): string[] {
  return ['old', ...scopeTerms(MYSQL_TEXT, id).map((_, at) => `s${at}`)];
}

function mapMatch(id: IdColumn, map: string): string {
  const scopes = scopeTerms(MYSQL_TEXT, id).map((term, at) => `${term} <=> ${map}.s${at}`);
  return [`${exactBytes(`t.${quoteMysqlIdentifier(id.column)}`)} = ${map}.old`, ...scopes].join(' AND ');
}

/**
 * Looks up every distinct value of a column and puts those that change, with their new values, into a temporary table,
 * the map; returns its name. The distinct values are read page by page from another temporary table, because a
 * connection cannot write while it is reading a result. Call inside a transaction.
 */
async function createMap(
  engine: Engine,
  session: MysqlSession,
  { work, table, from, where, at }: LookUpSource,
  mode: Mode,
): Promise<string> {
  const [map, values] = [`svc_migrate_map_${at}`, `svc_migrate_values_${at}`];
  const id = work.column;
  const names = groupNames(id);
  const terms = [exactBytes(`t.${quoteMysqlIdentifier(id.column)}`), ...scopeTerms(MYSQL_TEXT, id)];
  const isLong = id.path !== undefined || id.pattern !== undefined;
  const type = isLong ? 'LONGBLOB' : 'VARBINARY(255)';
  // SQL_BIG_RESULT groups by sorting: in a temporary table on disk, 1,000,000 groups take ten times as long.
  await session.exec(
    `DROP TEMPORARY TABLE IF EXISTS ${map}, ${values};
     CREATE TEMPORARY TABLE ${values}(no BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB AS
       SELECT SQL_BIG_RESULT ${terms.map((term, n) => `${term} AS ${names[n]}`).join(', ')}, count(*) AS row_count
       FROM ${from} WHERE ${where} GROUP BY ${names.map((_, n) => n + 1).join(', ')};
     CREATE TEMPORARY TABLE ${map}(old ${type}, ${names
       .slice(1)
       .map((name) => `${name} VARBINARY(255), `)
       .join('')}new LONGTEXT,
       KEY (old${isLong ? '(255)' : ''})) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
  );
  const judge = buildCellJudge(work, mode);
  for (let after = '0', done = 0; ; ) {
    const { rows } = await session.query(
      `SELECT no, row_count, ${names.join(', ')} FROM ${values} WHERE no > ${after} ORDER BY no LIMIT ${PAGE_ROWS}`,
    );
    const changed = rows.flatMap(([, count, cell = null, ...scope]): Cells[] => {
      const result = judgeCell(judge, cell, scope, Number(count));
      return result === undefined ? [] : [[cell, ...scope, cellText(result)]];
    });
    await session.insert(map, [...names, 'new'], changed);
    done += rows.length;
    engine.context.onProgress({ kind: 'step', name: `looking up ${table}`, done, total: null });
    const last = rows.at(-1)?.[0];
    if (typeof last !== 'string') break;
    after = last;
  }
  await session.exec(`INSERT INTO ${map}(old) VALUES (${COMPLETE_MARK}); DROP TEMPORARY TABLE ${values}`);
  return map;
}

/** Looks up the values now; the query joins the map. */
export async function lookUpInMysql(
  engine: Engine,
  session: MysqlSession,
  source: LookUpSource,
): Promise<LookUpSql> {
  const map = await createMap(engine, session, source, 'in_place');
  return joinMap(map, mapMatch(source.work.column, `m${source.at}`), source);
}

/** Makes the map that filling a new column joins. */
export async function lookUpMysqlFill(
  engine: Engine,
  session: MysqlSession,
  { table }: TableFacts,
  work: ColumnWork,
  at: number,
): Promise<void> {
  const from = `${quoteMysqlIdentifier(table)} AS t`;
  await createMap(engine, session, { work, table, from, where: 'TRUE', at }, 'new');
}

interface FilledColumn {
  readonly id: IdColumn;
  /** Its position in the target, from 0. */
  readonly at: number;
  /** As in `updateMysql`. */
  readonly autoUpdated: readonly string[];
  readonly isLookedUp: boolean;
}

/** Fills a new column, one range of keys at a time. */
export function openMysqlFill(
  engine: Engine,
  session: MysqlSession,
  facts: TableFacts,
  { id, at, autoUpdated, isLookedUp }: FilledColumn,
): ColumnFill {
  const { context, dialect } = engine;
  const table = quoteMysqlIdentifier(facts.table);
  const [old, fresh] = [`t.${quoteMysqlIdentifier(id.column)}`, `t.${quoteMysqlIdentifier(newColumnOf(id))}`];
  const type = valueType(dialect, facts, id);
  const map = `svc_migrate_map_${at}`;
  const unchanged = autoUpdated.map(
    (name) => `t.${quoteMysqlIdentifier(name)} = t.${quoteMysqlIdentifier(name)}`,
  );
  let isCreated = isLookedUp;
  return {
    ranges: () => keyRanges(context, session, facts),
    fill: async ({ where }) => {
      if (!isCreated || !(await isComplete(session, map))) {
        const work = openColumn(context, id, context.policy);
        const where = `${old} IS NOT NULL AND ${fresh} IS NULL`;
        await createMap(
          engine,
          session,
          { work, table: facts.table, from: `${table} AS t`, where, at },
          'new',
        );
        isCreated = true;
      }
      const sql = `UPDATE ${table} AS t STRAIGHT_JOIN ${map} AS m SET ${[`${fresh} = ${asMysqlType('m.new', type)}`, ...unchanged].join(', ')}
        WHERE ${where} AND ${fresh} IS NULL AND m.new IS NOT NULL AND ${mapMatch(id, 'm')}`;
      const filled = await session.query(sql);
      return filled.count;
    },
  };
}

/** Whether a map is still complete: it is dropped with the connection, and its rows are lost if their transaction rolls back. */
async function isComplete(session: MysqlSession, map: string): Promise<boolean> {
  const isThere = await session.query(`SHOW CREATE TABLE ${map}`).then(
    () => true,
    () => false,
  );
  return isThere && (await session.one(`SELECT 1 FROM ${map} WHERE old = ${COMPLETE_MARK}`)) !== null;
}

/** Ranges of keys, one batch each; a table without a key is a single range. */
async function* keyRanges(
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
    yield { table, where: `${after} AND ${isBefore(parts, values)}`, done, total: null };
    after = `NOT (${isBefore(parts, values)})`;
  }
  yield { table, where: after, done: 0, total: null };
}

/** Whether a key is before another: by its first part, or by the next ones where that is equal. */
function isBefore([part, ...parts]: readonly string[], [value, ...values]: readonly string[]): string {
  if (parts.length === 0) return `${part} < ${value}`;
  return `(${part} < ${value} OR ${part} = ${value} AND ${isBefore(parts, values)})`;
}

const VALUES_PER_TRIAL = 1000;

/**
 * Tries new ids of a column against the check constraints of its table, while the plan is made. Null if no constraint
 * names the column. Values are collected first: while a result is being read, the connection can do nothing else.
 */
export async function openMysqlTrial(
  session: MysqlSession,
  facts: TableFacts,
  id: IdColumn,
): Promise<ColumnTrial | null> {
  const checks = await readChecks(session, facts.table, id.column);
  const column = facts.columns.find(({ name }) => name === id.column);
  if (checks.length === 0 || column === undefined) return null;
  const changed = new Map<string, string | null>();
  const refuses = async (clause: string, term: string, source: string): Promise<boolean> => {
    const cells = facts.columns.map(({ name }) =>
      name === id.column ? `${term} AS ${quoteMysqlIdentifier(name)}` : `t.${quoteMysqlIdentifier(name)}`,
    );
    const sql = `SELECT 1 FROM (SELECT ${cells.join(', ')} FROM ${quoteMysqlIdentifier(facts.table)} AS t ${source}) AS q WHERE NOT (${clause}) LIMIT 1`;
    return (await session.one(sql)) !== null;
  };
  return {
    add: async (judged) => {
      for (const { group, result } of judged) if (result !== undefined) changed.set(String(group[0]), result);
    },
    finish: async (parked) => {
      const cell = exactBytes(`t.${quoteMysqlIdentifier(id.column)}`);
      const pairs = [...changed];
      const broken: Note[] = [];
      for (const { name, clause } of checks) {
        let isRefused = false;
        for (let at = 0; at < pairs.length && !isRefused; at += VALUES_PER_TRIAL) {
          const rows = pairs
            .slice(at, at + VALUES_PER_TRIAL)
            .map(literals)
            .join(' UNION ALL ');
          const source = `JOIN (${rows}) AS m ON m.old = ${cell}`;
          isRefused = await refuses(clause, asMysqlType('m.new', column.type), source);
        }
        if (parked !== null && !isRefused)
          isRefused = await refuses(clause, parked, 'JOIN (SELECT 1 AS row_no) AS w');
        if (isRefused) broken.push(blocksRefused(id.column, `violate ${name}`));
      }
      return broken;
    },
  };
}

function literals([old, now]: readonly [string, string | null]): string {
  return `SELECT CAST(${quoteMysqlLiteral(old)} AS BINARY) AS old, ${now === null ? 'NULL' : quoteMysqlLiteral(now)} AS new`;
}

/** Check constraints that name a column, except those that only require valid JSON. */
async function readChecks(
  session: MysqlSession,
  table: string,
  column: string,
): Promise<{ readonly name: string; readonly clause: string }[]> {
  const sql = `SELECT c.CONSTRAINT_NAME, c.CHECK_CLAUSE FROM information_schema.TABLE_CONSTRAINTS t
      JOIN information_schema.CHECK_CONSTRAINTS c ON c.CONSTRAINT_SCHEMA = t.CONSTRAINT_SCHEMA AND c.CONSTRAINT_NAME = t.CONSTRAINT_NAME
        ${(await hasTableOfChecks(session)) ? 'AND c.TABLE_NAME = t.TABLE_NAME' : ''}
    WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_NAME = $1 AND t.CONSTRAINT_TYPE = 'CHECK'`;
  const { rows } = await session.query(sql, [table]);
  const name = quoteMysqlIdentifier(column).toLowerCase();
  return rows
    .map(([check, clause]) => ({ name: check ?? '', clause: clause ?? '' }))
    .filter(({ clause }) => clause.toLowerCase().includes(name))
    .filter(({ clause }) => clause.toLowerCase().replace(/[()]/g, '') !== `json_valid${name}`);
}

/** In MariaDB, names of check constraints are unique only within a table. */
async function hasTableOfChecks(session: MysqlSession): Promise<boolean> {
  return (await session.one('SELECT version()'))?.includes('MariaDB') === true;
}
