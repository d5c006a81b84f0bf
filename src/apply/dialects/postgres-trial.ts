import pg from 'pg';
import type { IdColumn } from '../../config/apply-targets.js';
import type { ColumnTrial } from '../engine/dialect.js';
import { cellText } from '../engine/judge-cells.js';
import type { TableFacts } from '../engine/table-facts.js';
import { blocksRefused } from '../plan.js';
import { quoteName } from '../sql-names.js';
import { mapColumns, mapMatch } from './postgres-lookups.js';
import type { PgSession } from './postgres-session.js';

/** A condition that every row must meet after the rewrite; `sql` uses the column names of the table. */
interface Condition {
  readonly name: string;
  readonly sql: string;
}

const ITS_TYPE: Condition = { name: 'its type', sql: 'true' };

/**
 * Tries new ids of a column against the conditions of its table, while the plan is made. Null if no check constraint,
 * partition key or domain involves the column.
 */
export async function openTrial(
  session: PgSession,
  { table, columns }: TableFacts,
  id: IdColumn,
): Promise<ColumnTrial | null> {
  const conditions = await readConditions(session, table, id.column);
  const column = columns.find(({ name }) => name === id.column);
  if (conditions.length === 0 && column?.isDomain !== true) return null;
  const broken = new Set<string>();
  const tryTerm = async (term: string, source: string, values: readonly string[]): Promise<void> => {
    const open = [...conditions, ITS_TYPE].filter(({ name }) => !broken.has(name));
    const tried = { session, table, columns, id, conditions: open };
    for (const name of await refusedBy(tried, term, source, values)) broken.add(name);
  };

  return {
    add: async (judged) => {
      const changed = judged.filter(({ result }) => result !== undefined);
      const rows = new Map(
        changed.map(({ group, result = null }) => [JSON.stringify(group), [...group.map(cellText), result]]),
      );
      if (rows.size === 0) return;
      const names = mapColumns(id);
      const lists = names.map((_, at) => [...rows.values()].map((row) => row[at] ?? null));
      const arrays = names.map((_, at) => `ARRAY(SELECT json_array_elements_text($${at + 1}::json))`);
      const source = `JOIN unnest(${arrays.join(', ')}) AS m(${names.join(', ')}) ON ${mapMatch(id, 'm')}`;
      await tryTerm(
        'm.new',
        source,
        lists.map((list) => JSON.stringify(list)),
      );
    },
    finish: async (parked) => {
      const source = 'JOIN LATERAL (SELECT row_number() OVER () AS row_no) AS w ON true';
      if (parked !== null) await tryTerm(parked, source, []);
      return [...broken].map((name) => blocksRefused(id.column, `violate ${name}`));
    },
  };
}

interface TriedColumn extends Pick<TableFacts, 'table' | 'columns'> {
  readonly session: PgSession;
  readonly id: IdColumn;
  readonly conditions: readonly Condition[];
}

/** The names of the conditions that refuse `term` as the column's value in the rows of `source`. */
async function refusedBy(
  { session, table, columns, id, conditions }: TriedColumn,
  term: string,
  source: string,
  values: readonly string[],
): Promise<string[]> {
  const cells = columns.map(({ name, type }) =>
    name === id.column ? `${term}::${type} AS ${quoteName(name)}` : `t.${quoteName(name)}`,
  );
  const broken: string[] = [];
  for (const condition of conditions) {
    // Counting the new value forces its evaluation: its type may refuse it.
    const sql = `SELECT count(*) FILTER (WHERE (${condition.sql}) IS FALSE), count(${quoteName(id.column)})
      FROM (SELECT ${cells.join(', ')} FROM ${table} AS t ${source}) AS q`;
    await session.exec('SAVEPOINT svc_migrate_trial');
    try {
      if (Number(await session.one(sql, values)) > 0) broken.push(condition.name);
    } catch (error) {
      // 22: the value does not fit the type; 23: the domain refuses it.
      if (!(error instanceof pg.DatabaseError) || !/^2[23]/.test(error.code ?? '')) throw error;
      broken.push(error.constraint ?? condition.name);
    }
    await session.exec('ROLLBACK TO SAVEPOINT svc_migrate_trial; RELEASE SAVEPOINT svc_migrate_trial');
  }
  return broken;
}

/** Check constraints on a column and, if the table is partitioned by it, the condition that a partition accepts the row. */
async function readConditions(session: PgSession, table: string, column: string): Promise<Condition[]> {
  const { rows } = await session.query(
    `SELECT k.conname, pg_get_expr(k.conbin, k.conrelid) FROM pg_constraint k
     WHERE k.conrelid = $1::regclass AND k.contype = 'c'
       AND EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey) AND a.attname = $2)
     UNION ALL
     SELECT 'the partitions of the table', string_agg('(' || coalesce(pg_get_partition_constraintdef(t.relid), 'true') || ')', ' OR ')
     FROM pg_partition_tree($1::regclass) AS t WHERE t.isleaf HAVING bool_or(EXISTS (
       SELECT 1 FROM pg_partition_ancestors(t.relid) AS anc JOIN pg_partitioned_table p ON p.partrelid = anc.relid
         LEFT JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = ANY (p.partattrs::int2[])
       WHERE a.attname = $2 OR p.partexprs IS NOT NULL))
     ORDER BY 1`,
    [table, column],
  );
  return rows.map(([name, sql]) => ({ name: name ?? '', sql: sql ?? 'true' }));
}
