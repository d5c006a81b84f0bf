import type { IdColumn } from '../../config/apply-targets.js';
import { type Agreed, assertAgreed, openTableColumn } from '../engine/column-plans.js';
import type { EmitText, Engine, IdMap } from '../engine/dialect.js';
import { judgeCells, scopeTerms } from '../engine/judge-cells.js';
import type { Cell } from '../engine/session.js';
import { columnOf, type FoundTable } from '../engine/table-facts.js';
import type { CrosswalkRow, EmitScript, EmitTable } from './emit-script.js';

/** Values of the model column that the target maps to null: such rows hold no ids of the service. */
function foreignModels({ models }: IdColumn): string[] {
  return Object.entries(models ?? {}).flatMap(([word, model]) =>
    model === null && word !== '' ? [word] : [],
  );
}

/** A condition: the cell of a row holds a value that the crosswalk must list. */
export function mustBeListed(
  { dialect }: { readonly dialect: Pick<Engine['dialect'], 'quote' | 'asText'> },
  literal: (text: string) => string,
  id: IdColumn,
  row = 't',
): string {
  const cell = `${row}.${dialect.quote(id.column)}`;
  const words = foreignModels(id).map(literal).join(', ');
  const kind = id.modelColumn === undefined ? '' : dialect.asText(`${row}.${dialect.quote(id.modelColumn)}`);
  const isForeign = words === '' ? '' : ` AND (${kind} IS NULL OR ${kind} NOT IN (${words}))`;
  return `${cell} IS NOT NULL AND ${dialect.asText(cell)} <> ''${isForeign}`;
}

/**
 * Looks up every distinct value of a column, once for each model, region and company that its rows name. Sorted, so that
 * the same data give the same script. Call inside a transaction.
 *
 * @throws SvcError `bad_input` if the data are not as planned
 */
export async function readCrosswalk(
  engine: Engine,
  found: FoundTable,
  id: IdColumn,
  agreed: Agreed,
): Promise<CrosswalkRow[]> {
  const { context, dialect } = engine;
  const { facts } = found;
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
  for await (const cells of judged) {
    for (const { group, result, extra } of cells) {
      const isForeign = id.modelColumn !== undefined && foreign.has(group[1]);
      if (group[0] === null || group[0] === '' || isForeign) continue;
      const scope = group.slice(1, 1 + scopes).map(String);
      const old = extra[0] ?? '';
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

/** Statements that create the staging tables and fill the crosswalks. */
export function stagingSql({ engine, text }: EmitScript, table: EmitTable): string[] {
  const { dialect } = engine;
  const filled = table.maps.flatMap((map, at) => [
    `DROP TABLE IF EXISTS ${map.table}`,
    ...dialect.createMap(map),
    ...insertRows(text, map, table.crosswalks[at] ?? []),
    ...dialect.indexMap(map),
  ]);
  return [...filled, ...createList({ text }, table)];
}

/** Creates the list of rows that change. Its columns: the key (`k…`), each column before (`o…`) and after (`c…`), and whether it changes (`r…`). */
export function createList(
  { text: { types, keyType } }: Pick<EmitScript, 'text'>,
  { list, found }: EmitTable,
): string[] {
  const columns = [
    `row_no ${types.row}`,
    ...found.handling.key.map((_, at) => `k${at} ${keyType(found.keyTypes[at] ?? '')}`),
    ...found.target.ids.flatMap((_, at) => [
      `o${at} ${types.value}`,
      `c${at} ${types.value}`,
      `r${at} integer`,
    ]),
  ];
  return [`DROP TABLE IF EXISTS ${list}`, `CREATE TABLE ${list}(${columns.join(', ')})`];
}

/** Fills a crosswalk. */
function insertRows(text: EmitText, map: IdMap, rows: readonly CrosswalkRow[]): string[] {
  const values = rows.map(({ old, scope, result }) => {
    const fresh = result === undefined || result === null ? 'NULL' : text.newLiteral(old, result, map.id);
    const keep = result === undefined ? 1 : 0;
    return [text.oldLiteral(old), ...scope.map((word) => text.literal(String(word))), fresh, keep, 1].join(
      ', ',
    );
  });
  return insertValues(map.table, values, ROWS_PER_INSERT);
}

/** INSERTs of rows, each given as its values separated by commas. */
function insertValues(table: string, rows: readonly string[], rowsPerInsert: number): string[] {
  return Array.from({ length: Math.ceil(rows.length / rowsPerInsert) }, (_, at) => {
    const batch = rows.slice(at * rowsPerInsert, (at + 1) * rowsPerInsert);
    return `INSERT INTO ${table} VALUES\n  (${batch.join('),\n  (')})`;
  });
}
