import { scopeTerms } from '../engine/judge-cells.js';
import { type EmitScript, type EmitTable, keyOf } from './emit-script.js';
import type { EmitText } from './emit-texts.js';
import type { CrosswalkRow } from './read-crosswalk.js';

const ROWS_PER_INSERT = 500;

/** Statements that create the staging tables and fill the crosswalks. */
export function stagingSql({ engine, text }: EmitScript, table: EmitTable): string[] {
  const { maps, crosswalks, found } = table;
  const { types } = text;
  const filled = found.target.ids.flatMap((id, at) => {
    const map = maps[at] ?? '';
    const scopes = scopeTerms(engine.dialect, id).map((_, n) => `s${n} ${types.old}`);
    const columns = [`old ${types.old}`, ...scopes, `new ${types.text}`, 'keep integer'];
    return [
      `DROP TABLE IF EXISTS ${map}`,
      `CREATE TABLE ${map}(${columns.join(', ')})`,
      ...insertRows(text, map, crosswalks[at] ?? []),
      `CREATE INDEX ${map.split('.').at(-1)}_old ON ${map}(old)`,
      ...text.analyze(map),
    ];
  });
  return [...filled, ...createList({ text }, table)];
}

/** The list of the rows that change: key, and each column before, after, and whether it changes. */
export function createList(
  { text: { types, keyType } }: Pick<EmitScript, 'text'>,
  { list, found }: EmitTable,
): string[] {
  const columns = [
    `row_no ${types.row}`,
    ...keyOf(found).map((_, at) => `k${at} ${keyType(found.keyTypes[at] ?? '')}`),
    ...found.target.ids.flatMap((_, at) => [
      `o${at} ${types.value}`,
      `c${at} ${types.value}`,
      `r${at} integer`,
    ]),
  ];
  return [`DROP TABLE IF EXISTS ${list}`, `CREATE TABLE ${list}(${columns.join(', ')})`];
}

/** Fills a crosswalk. */
function insertRows({ literal }: EmitText, map: string, rows: readonly CrosswalkRow[]): string[] {
  const cell = (value: string | null | undefined) =>
    value === null || value === undefined ? 'NULL' : literal(value);
  const values = rows.map(({ old, scope, result }) =>
    [...[old, ...scope, result].map(cell), result === undefined ? '1' : '0'].join(', '),
  );
  return insertValues(map, values, ROWS_PER_INSERT);
}

/** INSERTs of rows, each given as its values separated by commas. */
export function insertValues(table: string, rows: readonly string[], rowsPerInsert: number): string[] {
  return Array.from({ length: Math.ceil(rows.length / rowsPerInsert) }, (_, at) => {
    const piece = rows.slice(at * rowsPerInsert, (at + 1) * rowsPerInsert);
    return `INSERT INTO ${table} VALUES\n  (${piece.join('),\n  (')})`;
  });
}
