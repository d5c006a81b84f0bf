import type { IdColumn } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { type Agreed, assertAgreed, openTableColumn } from '../engine/column-plans.js';
import type { Dialect, Engine, IdMap } from '../engine/dialect.js';
import { isLongMap } from '../engine/id-maps.js';
import { judgeCells, scopeTerms } from '../engine/judge-cells.js';
import type { Cell, Cells } from '../engine/session.js';
import { columnOf, type FoundTable } from '../engine/table-facts.js';

/** One stored value, and its V4 id: null if the cell is emptied, undefined if it keeps its value. */
export interface CrosswalkRow {
  /** The value as `exactText` of its `exact` form. */
  readonly old: string;
  /** Model, region and company of the row, where other columns name them. */
  readonly scope: Cells;
  readonly result: string | null | undefined;
}

/** Values of the model column that the target maps to null: such rows hold no ids of the service. */
function foreignModels({ models }: IdColumn): string[] {
  return Object.entries(models ?? {}).flatMap(([word, model]) =>
    model === null && word !== '' ? [word] : [],
  );
}

/** A condition: the cell of row `t` holds a value that the crosswalk must list. */
export function mustBeListed(
  { quote, asText, literal }: Pick<Dialect, 'quote' | 'asText' | 'literal'>,
  id: IdColumn,
): string {
  const cell = `t.${quote(id.column)}`;
  const words = foreignModels(id).map(literal).join(', ');
  const kind = id.modelColumn === undefined ? '' : asText(`t.${quote(id.modelColumn)}`);
  const isForeign = words === '' ? '' : ` AND (${kind} IS NULL OR ${kind} NOT IN (${words}))`;
  return `${cell} IS NOT NULL AND ${asText(cell)} <> ''${isForeign}`;
}

/**
 * Looks up every distinct value of a column, once for each model, region and company that its rows name. Sorted, so that
 * the same data give the same script. Call inside a transaction.
 *
 * @throws SvcError `bad_input` if the data are not as planned, or no index takes one of the values
 */
export async function readCrosswalk(
  engine: Engine,
  found: FoundTable,
  map: IdMap,
  agreed: Agreed,
): Promise<CrosswalkRow[]> {
  const { context, dialect } = engine;
  const { facts, target } = found;
  const { id } = map;
  const cell = `t.${dialect.quote(id.column)}`;
  const scopes = scopeTerms(dialect, id).length;
  const foreign = new Set<Cell | undefined>(foreignModels(id));
  const rows = new Map<string, CrosswalkRow>();
  const work = openTableColumn(engine, id, facts);
  const judged = judgeCells(engine, {
    work,
    mode: context.policy.mode,
    from: `${dialect.tableSql(facts.table)} AS t`,
    extra: [dialect.exactText(dialect.exact(cell, columnOf(facts, id.column) ?? { type: '' }))],
    isGrouped: true,
  });
  const { longestOld } = dialect.emit;
  for await (const cells of judged) {
    for (const { group, result, extra } of cells) {
      const isForeign = id.modelColumn !== undefined && foreign.has(group[1]);
      if (group[0] === null || group[0] === '' || isForeign) continue;
      const scope = group.slice(1, 1 + scopes).map(String);
      const old = extra[0] ?? '';
      if (!isLongMap(map) && Buffer.byteLength(old) > longestOld) {
        const text = `Target ${target.name}: a value is longer than ${longestOld} bytes; no SQL was written.`;
        throw new SvcError('bad_input', text, { hint: 'Use apply write for this target.' });
      }
      rows.set(JSON.stringify([old, ...scope]), { old, scope, result });
    }
  }
  assertAgreed(context, agreed, work, found);
  return [...rows].sort(([a], [b]) => compareKeys(a, b)).map(([, row]) => row);
}

/** Orders by length, then by text, which sorts digits by number. */
function compareKeys(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

const ROWS_PER_INSERT = 500;

/** Statements that create a crosswalk with its rows. */
export function crosswalkSql(
  { literal, emit, ...dialect }: Dialect,
  map: IdMap,
  rows: readonly CrosswalkRow[],
): string[] {
  const values = rows.map(({ old, scope, result }) => {
    const fresh = result === undefined || result === null ? 'NULL' : emit.newLiteral(old, result, map.id);
    const words = scope.map((word) => literal(String(word)));
    return `(${[emit.oldLiteral(old), ...words, fresh, result === undefined ? 1 : 0, 1].join(', ')})`;
  });
  const inserts = Array.from({ length: Math.ceil(values.length / ROWS_PER_INSERT) }, (_, at) => {
    const part = values.slice(at * ROWS_PER_INSERT, (at + 1) * ROWS_PER_INSERT);
    return `INSERT INTO ${map.table} VALUES\n  ${part.join(',\n  ')}`;
  });
  return [
    `DROP TABLE IF EXISTS ${map.table}`,
    ...dialect.createMap(map),
    ...inserts,
    ...dialect.indexMap(map),
  ];
}
