import type { MysqlTarget } from '../../config/apply-targets.js';
import type { ApplyContext } from '../context.js';
import { readMysqlFacts } from '../dialects/mysql-catalog.js';
import { mysqlEngine } from '../dialects/mysql-dialect.js';
import { mysqlError } from '../dialects/mysql-errors.js';
import { MysqlSession } from '../dialects/mysql-session.js';
import { exactBytes, MYSQL_LEDGER, quoteMysql } from '../dialects/mysql-text.js';
import { readRunsOfTable } from '../engine/ledger-runs.js';
import {
  type ColumnSample,
  type PlaceSample,
  SAMPLED_ROWS,
  SAMPLED_VALUES,
  sampleColumn,
  type Unseen,
  writerOf,
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
  try {
    return await session.transaction('read', () => sampleAll(context, session, source, only));
  } catch (error) {
    throw mysqlError(error);
  } finally {
    await session.close();
  }
}

async function sampleAll(
  context: ApplyContext,
  session: MysqlSession,
  source: MysqlTarget,
  only: string | null,
): Promise<PlaceSample> {
  const { rows: tables } = await session.query(
    `SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME NOT LIKE 'svc\\_migrate\\_%' ORDER BY 1`,
  );
  const columns: ColumnSample[] = [];
  const unseen: Unseen[] = [];
  for (const [at, [name, kind]] of tables.entries()) {
    const table = name ?? '';
    if (only !== null && only !== table) continue;
    context.onProgress({ kind: 'step', name: `scanning ${table}`, done: at, total: tables.length });
    if (kind === 'VIEW') unseen.push({ what: table, why: 'a view' });
    else columns.push(...(await sampleTable(context, session, { ...source, table })));
  }
  return { columns, unseen };
}

async function sampleTable(
  context: ApplyContext,
  session: MysqlSession,
  target: MysqlTarget,
): Promise<ColumnSample[]> {
  const { table } = target;
  const facts = await readMysqlFacts(session, target);
  const units = await readRunsOfTable(mysqlEngine(context, session), MYSQL_LEDGER, table);
  const samples: ColumnSample[] = [];
  for (const { name, holds, isGenerated } of facts.columns) {
    if (isGenerated || holds === 'other') continue;
    const cell = quoteMysql(name);
    const { rows } = await session.query(
      `SELECT DISTINCT ${exactBytes('v')} FROM (SELECT ${cell} AS v FROM ${quoteMysql(table)} WHERE ${cell} IS NOT NULL LIMIT ${SAMPLED_ROWS}) AS q
       LIMIT ${SAMPLED_VALUES + 1}`,
    );
    const values = new Set(rows.map(([value]) => value ?? '').filter((value) => value !== ''));
    const isKey = facts.keys[0]?.length === 1 && facts.keys[0][0] === name;
    samples.push(...sampleColumn({ table, column: name, isKey, run: writerOf(units, name) }, values));
  }
  return samples;
}
