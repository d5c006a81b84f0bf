import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { openColumn } from '../column-work.js';
import { NamedRows } from '../context.js';
import type { Engine, JudgedCells } from './dialect.js';
import { type FilledColumn, nameUnfilled } from './entry-checks.js';
import type { TableRun } from './ledger.js';
import { keyOf, type OnUnmapped, tellRow } from './left-cells.js';

interface Listing {
  /** Columns that name a row. */
  readonly key: readonly string[];
  readonly onUnmapped: OnUnmapped | undefined;
}

/** Compares the columns that a run filled with what the remap gives for those beside them; `gone` were dropped by hand. */
export async function compareAllFilled(
  engine: Engine,
  run: TableRun,
): Promise<{ readonly compared: readonly FilledColumn[]; readonly gone: readonly string[] }> {
  const facts = await engine.dialect.readFacts(run.target);
  const compared: FilledColumn[] = [];
  const gone: string[] = [];
  for (const id of run.target.ids) {
    if (engine.dialect.findColumn(facts, newColumnOf(id)) === undefined) gone.push(newColumnOf(id));
    else compared.push(await compareFilled(engine, run, id));
  }
  return { compared, gone };
}

/** Compares a column that a run filled with what the remap gives for the column beside it. Call inside a transaction. */
export async function compareFilled(
  { context, dialect }: Engine,
  run: TableRun,
  id: IdColumn,
  { key, onUnmapped }: Listing = { key: [], onUnmapped: undefined },
): Promise<FilledColumn> {
  const found = { foreign: new NamedRows(), unfilled: new NamedRows() };
  let checked = 0;
  const fresh = `t.${dialect.quote(newColumnOf(id))}`;
  const keys = onUnmapped === undefined ? [] : key.map((name) => dialect.asText(`t.${dialect.quote(name)}`));
  const source = {
    work: openColumn(context, id, { ...context.policy, ...run.policy }),
    mode: 'new' as const,
    from: `${dialect.tableSql(run.table)} AS t WHERE ${fresh} IS NOT NULL OR t.${dialect.quote(id.column)} IS NOT NULL`,
    extra: [dialect.asText(fresh), dialect.exactText(fresh), ...keys],
    isGrouped: onUnmapped === undefined,
  };
  for await (const rows of dialect.judge(source)) {
    for (const row of rows) {
      if (row.extra[0] !== null) checked += row.rows;
      const kind = addCompared(found, id, row);
      if (kind === null) continue;
      const [, , ...values] = row.extra;
      tellRow(onUnmapped, run.target.name, id, {
        ...kind,
        value: row.group[0] ?? '',
        key: keyOf(key, values),
      });
    }
  }
  return { checked, ...found };
}

const CAME_SINCE = { kind: 'came_since', reason: 'mapped' } as const;
const CHANGED_SINCE = { kind: 'changed_since', reason: 'changed' } as const;

/** Null where the new cell is what the remap gives. */
function addCompared(
  found: Pick<FilledColumn, 'foreign' | 'unfilled'>,
  id: IdColumn,
  { group: [value], exact, rows, extra: [fresh = null, exactFresh = null] }: JudgedCells,
): typeof CAME_SINCE | typeof CHANGED_SINCE | null {
  if (exactFresh === (exact ?? null)) return null;
  if (fresh === null) {
    found.unfilled.add(nameUnfilled(id, value ?? ''), rows);
    return CAME_SINCE;
  }
  found.foreign.add(`${newColumnOf(id)} ${fresh}`, rows);
  return CHANGED_SINCE;
}
