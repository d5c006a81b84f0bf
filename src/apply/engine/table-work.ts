import { type Estimate, estimateTable } from '../estimate.js';
import { isMissing } from '../judge-plan.js';
import { type ColumnPlan, type Earlier, isFinished, type PlanCount, type Policy } from '../plan.js';
import type { Engine } from './dialect.js';
import type { FoundTable } from './found-table.js';
import { columnOf } from './table-facts.js';

/** What a plan found in a table. */
export interface SurveyedTable {
  readonly rows: number;
  /** For each id column, the plans of its paths. */
  readonly columns: readonly (readonly ColumnPlan[])[];
  readonly earlier: Earlier;
}

/** Estimates what carrying out the plan of a table takes, by its counts and the sizes of its cells. */
export async function estimateWork(
  engine: Engine,
  { target, facts, handling }: FoundTable,
  { rows, columns, earlier }: SurveyedTable,
): Promise<Estimate> {
  const { context, dialect } = engine;
  const { policy, tuning } = context;
  const names = [...new Set(target.ids.map(({ column }) => column))];
  const { key, isAtomic } = handling;
  const found = columns.reduce((sum, plans) => sum + Math.min(rows, countChanges(plans, policy)), 0);
  const averages = await averageBytes(engine, facts.table, [key, ...names.map((name) => [name])]);
  const [keyBytes = 0, ...each] = averages;
  const [first = ''] = facts.keys[0] ?? [];
  return estimateTable({
    costs: dialect.costs,
    mode: policy.mode,
    isAtomic,
    rows,
    columns: names.length,
    cells: cellsLeft(found, policy, earlier),
    batchRows: tuning.batchRows,
    bytes: await dialect.readBytes(facts, names),
    keyBytes,
    isOrdered: columnOf(facts, first)?.holds !== 'text',
    cellBytes: each.reduce((sum, bytes) => sum + bytes, 0) / names.length,
  });
}

/** Ids of a column that change; several of them may be in one JSON cell. */
function countChanges(plans: readonly ColumnPlan[], { mode, missing }: Policy): number {
  const isChanged = (one: PlanCount) =>
    one.name === 'mapped' || (mode === 'in_place' && missing === 'null' && isMissing(one));
  const counts = plans.flatMap((plan) => plan.counts.filter(isChanged));
  return counts.reduce((sum, { rows }) => sum + rows, 0);
}

/** How many of the planned cells a run still has to write. */
function cellsLeft(cells: number, { mode, again }: Policy, earlier: Earlier): number {
  if (isFinished(earlier, again)) return 0;
  if (earlier.state === 'none' || (mode === 'in_place' && earlier.state === 'finished')) return cells;
  return mode === 'in_place' ? earlier.left : Math.min(cells, earlier.left);
}

/** Average bytes of each group of columns, as text. */
async function averageBytes(
  { session, dialect }: Engine,
  table: string,
  groups: readonly (readonly string[])[],
): Promise<number[]> {
  const bytesOf = (name: string) =>
    `coalesce(octet_length(${dialect.asText(`t.${dialect.quote(name)}`)}), 0)`;
  const terms = groups.map((names) => `avg(${names.length === 0 ? '0' : names.map(bytesOf).join(' + ')})`);
  // Over all rows: the first ones may be untypical, such as the NULLs that an index begins with.
  const { rows } = await session.query(`SELECT ${terms.join(', ')} FROM ${dialect.tableSql(table)} AS t`);
  return (rows[0] ?? []).map(Number);
}
