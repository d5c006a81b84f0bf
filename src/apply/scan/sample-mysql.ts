import type { MysqlTarget } from '../../config/apply-targets.js';
import type { ApplyContext } from '../context.js';
import { readMysqlFacts } from '../dialects/mysql-catalog.js';
import { mysqlEngine } from '../dialects/mysql-dialect.js';
import { MysqlSession } from '../dialects/mysql-session.js';
import { exactBytes, quoteMysqlIdentifier } from '../dialects/mysql-text.js';
import { readRunsOfTable } from '../engine/ledger-runs.js';
import { OWN_LEDGER } from '../sql-names.js';
import {
  type ColumnSample,
  type ListedTable,
  type PlaceSample,
  SAMPLED_ROWS,
  SAMPLED_VALUES,
  sampleColumns,
  sampleTables,
} from './column-sample.js';

/**
 * Samples every table that the user may read, or only one.
 *
 * @throws SvcError `bad_input`, `config`, `interrupted`
 */
export async function sampleMysql(
  context: ApplyContext,
  source: MysqlTarget,
  only: string | null,
): Promise<PlaceSample> {
  const session = new MysqlSession(context, source);
  const read = async () =>
    sampleTables(context, await listTables(session), only, ({ name }) =>
      sampleTable(context, session, { ...source, table: name }),
    );
  return session.transaction('read', read).finally(() => session.close());
}

async function listTables(session: MysqlSession): Promise<ListedTable[]> {
  const sql = `SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME NOT LIKE 'svc\\_migrate\\_%' ORDER BY 1`;
  const { rows } = await session.query(sql);
  return rows.map(([name, kind]) => ({ name: name ?? '', obstacle: kind === 'VIEW' ? 'a view' : null }));
}

async function sampleTable(
  context: ApplyContext,
  session: MysqlSession,
  target: MysqlTarget,
): Promise<ColumnSample[]> {
  const { table } = target;
  const facts = await readMysqlFacts(session, target);
  const runs = await readRunsOfTable(mysqlEngine(context, session), OWN_LEDGER, table);
  const columns = facts.columns.filter(({ holds, isGenerated }) => !isGenerated && holds !== 'other');
  const sampled = { table, runs, key: facts.keys[0] ?? [], columns: columns.map(({ name }) => name) };
  return sampleColumns(sampled, async (name) => {
    const cell = quoteMysqlIdentifier(name);
    const sql = `SELECT DISTINCT ${exactBytes('v')} FROM (SELECT ${cell} AS v FROM ${quoteMysqlIdentifier(table)} WHERE ${cell} IS NOT NULL LIMIT ${SAMPLED_ROWS}) AS q
      LIMIT ${SAMPLED_VALUES + 1}`;
    const { rows } = await session.query(sql);
    return rows;
  });
}
