import type { IdColumn } from '../../config/apply-targets.js';
import type { ColumnTrial } from '../engine/dialect.js';
import type { TableFacts } from '../engine/table-facts.js';
import { blocksRefused, type Note } from '../plan.js';
import type { MysqlSession } from './mysql-session.js';
import { asMysqlType, exactBytes, quoteMysql, quoteMysqlText } from './mysql-text.js';

/** Values tried in one query. */
const TRIED_VALUES = 1000;

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
      name === id.column ? `${term} AS ${quoteMysql(name)}` : `t.${quoteMysql(name)}`,
    );
    const sql = `SELECT 1 FROM (SELECT ${cells.join(', ')} FROM ${quoteMysql(facts.table)} AS t ${source}) AS q WHERE NOT (${clause}) LIMIT 1`;
    return (await session.one(sql)) !== null;
  };
  return {
    add: async (judged) => {
      for (const { group, result } of judged) if (result !== undefined) changed.set(String(group[0]), result);
    },
    finish: async (parked) => {
      const cell = exactBytes(`t.${quoteMysql(id.column)}`);
      const pairs = [...changed];
      const broken: Note[] = [];
      for (const { name, clause } of checks) {
        let isRefused = false;
        for (let at = 0; at < pairs.length && !isRefused; at += TRIED_VALUES) {
          const rows = pairs
            .slice(at, at + TRIED_VALUES)
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
  return `SELECT CAST(${quoteMysqlText(old)} AS BINARY) AS old, ${now === null ? 'NULL' : quoteMysqlText(now)} AS new`;
}

/** Check constraints that name a column, except those that only require valid JSON. */
async function readChecks(
  session: MysqlSession,
  table: string,
  column: string,
): Promise<{ readonly name: string; readonly clause: string }[]> {
  const { rows } = await session.query(
    `SELECT c.CONSTRAINT_NAME, c.CHECK_CLAUSE FROM information_schema.TABLE_CONSTRAINTS t
       JOIN information_schema.CHECK_CONSTRAINTS c ON c.CONSTRAINT_SCHEMA = t.CONSTRAINT_SCHEMA AND c.CONSTRAINT_NAME = t.CONSTRAINT_NAME
         ${(await hasTableOfChecks(session)) ? 'AND c.TABLE_NAME = t.TABLE_NAME' : ''}
     WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_NAME = $1 AND t.CONSTRAINT_TYPE = 'CHECK'`,
    [table],
  );
  const name = quoteMysql(column).toLowerCase();
  return rows
    .map(([check, clause]) => ({ name: check ?? '', clause: clause ?? '' }))
    .filter(({ clause }) => clause.toLowerCase().includes(name))
    .filter(({ clause }) => clause.toLowerCase().replace(/[()]/g, '') !== `json_valid${name}`);
}

/** In MariaDB, names of check constraints are unique only within a table. */
async function hasTableOfChecks(session: MysqlSession): Promise<boolean> {
  return (await session.one('SELECT version()'))?.includes('MariaDB') === true;
}
