import pg from 'pg';
import type { IdColumn } from '../../config/apply-targets.js';
import { blocks } from '../column-work.js';
import type { ColumnTrial, JudgedCells } from '../engine/dialect.js';
import type { Cells } from '../engine/session.js';
import { columnOf, type TableFacts } from '../engine/table-facts.js';
import type { Note } from '../plan.js';
import { quoteName } from '../sql-names.js';
import { groupTerms } from './postgres-groups.js';
import { mapMatch } from './postgres-map.js';
import type { PgSession } from './postgres-session.js';

/** A condition that every row must meet after the rewriting, in the columns' own names. */
interface Condition {
  readonly name: string;
  readonly sql: string;
}

/** Tries new ids of a column against the conditions of its table, while the plan is made. */
export class PostgresTrial implements ColumnTrial {
  readonly #session: PgSession;
  readonly #facts: TableFacts;
  readonly #id: IdColumn;
  readonly #conditions: readonly Condition[];
  readonly #broken = new Map<string, Note>();

  private constructor(session: PgSession, facts: TableFacts, id: IdColumn, conditions: readonly Condition[]) {
    this.#session = session;
    this.#facts = facts;
    this.#id = id;
    this.#conditions = conditions;
  }

  /** Null where nothing can go wrong: neither a check, nor a partition, nor a domain is about the column. */
  static async of(session: PgSession, facts: TableFacts, id: IdColumn): Promise<PostgresTrial | null> {
    const conditions = await readConditions(session, facts.table, id.column);
    const isDomain = columnOf(facts, id.column)?.isDomain ?? false;
    if (conditions.length === 0 && !isDomain) return null;
    return new PostgresTrial(session, facts, id, [...conditions, { name: 'its type', sql: 'true' }]);
  }

  async add(cells: readonly JudgedCells[]): Promise<void> {
    const changed = new Map<string, Cells>();
    for (const { group, result } of cells) {
      if (result !== undefined) changed.set(JSON.stringify(group), [...group, result]);
    }
    if (changed.size > 0) await this.#tryValues([...changed.values()]);
  }

  async finish(parked: string | null): Promise<Note[]> {
    if (parked !== null) await this.#tryParked(parked);
    return [...this.#broken.values()];
  }

  /** Tries what rows of these groups become: each is a value, its scopes, and the new value. */
  async #tryValues(groups: readonly Cells[]): Promise<void> {
    const names = [
      'old',
      ...groupTerms(this.#id, 't')
        .slice(1)
        .map((_, at) => `s${at}`),
      'new',
    ];
    const lists = names.map((_, at) => groups.map((group) => group[at] ?? null));
    const source = `JOIN unnest(${names.map((_, at) => `ARRAY(SELECT json_array_elements_text($${at + 1}::json))`).join(', ')})
      AS m(${names.join(', ')}) ON ${mapMatch(this.#id, 't', 'm')}`;
    await this.#tryAll(
      'm.new',
      source,
      lists.map((list) => JSON.stringify(list)),
    );
  }

  /** Tries values that rows hold for a moment; `term` names the row's number `w.row_no`. */
  async #tryParked(term: string): Promise<void> {
    await this.#tryAll(term, 'JOIN LATERAL (SELECT row_number() OVER () AS row_no) AS w ON true', []);
  }

  async #tryAll(term: string, source: string, values: readonly string[]): Promise<void> {
    for (const condition of this.#conditions) {
      if (!this.#broken.has(condition.name)) await this.#tryOne(condition, term, source, values);
    }
  }

  async #tryOne(
    condition: Condition,
    term: string,
    source: string,
    values: readonly string[],
  ): Promise<void> {
    const { table, columns } = this.#facts;
    const type = columnOf(this.#facts, this.#id.column)?.type ?? 'text';
    const cells = columns.map(({ name }) =>
      name === this.#id.column ? `${term}::${type} AS ${quoteName(name)}` : `t.${quoteName(name)}`,
    );
    // Counting the new value has it computed: its type may refuse it.
    const sql = `SELECT count(*) FILTER (WHERE (${condition.sql}) IS FALSE), count(${quoteName(this.#id.column)})
      FROM (SELECT ${cells.join(', ')} FROM ${table} AS t ${source}) AS q`;
    await this.#session.exec('SAVEPOINT svc_migrate_trial');
    try {
      if (Number(await this.#session.one(sql, values)) > 0) this.#break(condition.name);
    } catch (error) {
      // 22: the value does not fit the type; 23: the domain refuses it.
      if (!(error instanceof pg.DatabaseError) || !/^2[23]/.test(error.code ?? '')) throw error;
      this.#break(error.constraint ?? condition.name);
    }
    await this.#session.exec('ROLLBACK TO SAVEPOINT svc_migrate_trial; RELEASE SAVEPOINT svc_migrate_trial');
  }

  #break(name: string): void {
    const text = `${this.#id.column}: new ids, or values that rows hold while ids swap, do not meet ${name}: change that first, or rewrite into a new column (without --in-place).`;
    this.#broken.set(name, blocks('check_constraint', text));
  }
}

/** Check constraints on a column, and where its table is partitioned by it that there is a partition. */
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
