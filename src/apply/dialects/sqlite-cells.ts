import type { IdColumn } from '../../config/apply-targets.js';
import { JsonSyntaxError } from '../../json/json-scanner.js';
import {
  type CellAction,
  type ColumnWork,
  judgeInvalid,
  judgeNumber,
  judgeText,
  needsScope,
  partsOfWork,
} from '../column-work.js';
import { partsOf } from '../engine/json-columns.js';
import { NO_SCOPE, type RowScope } from '../ids/resolver.js';
import type { Mode } from '../plan.js';
import { quoteName } from '../sql-names.js';
import { buildJsonRewriter, type JsonRewriter, rewriteJson } from '../text/rewrite-json.js';
import type { UserDb } from './sqlite-session.js';

/** A value as `exactSql` hands it over. */
export type Cell = number | string | Buffer | null;

/**
 * The value of an id column for JavaScript, exact: integers as numbers where those are exact, else as digits;
 * reals as their text, so that `42.0` is not taken for 42; JSON as its own bytes.
 */
export function exactSql(column: IdColumn, name: string): string {
  if (column.path !== undefined) {
    return `CASE typeof(${name}) WHEN 'text' THEN CAST(${name} AS BLOB) WHEN 'null' THEN NULL ELSE 0 END`;
  }
  return `CASE typeof(${name}) WHEN 'integer'
    THEN iif(${name} BETWEEN -9007199254740991 AND 9007199254740991, ${name}, CAST(${name} AS TEXT))
    WHEN 'real' THEN CAST(${name} AS TEXT) ELSE ${name} END`;
}

/** Model, region and company of the row as three texts for each path; NULL where it names none. */
export function scopeSql(column: IdColumn, alias: string): string[] {
  return partsOf(column)
    .flatMap((part) => [part.modelColumn, part.regionColumn, part.companyColumn])
    .map((name) => (name === undefined ? 'NULL' : `CAST(${alias}.${quoteName(name)} AS TEXT)`));
}

/** One column with what judging its cells needs. */
export interface CellJudge {
  readonly work: ColumnWork;
  readonly rewriter: JsonRewriter | null;
  /** The result goes to a new column. */
  readonly isNewColumn: boolean;
}

export function buildCellJudge(work: ColumnWork, mode: Mode): CellJudge {
  const rewriter =
    work.column.path === undefined
      ? null
      : buildJsonRewriter(partsOfWork(work), ({ column }) => column.path ?? '$', false);
  return { work, rewriter, isNewColumn: mode === 'new' };
}

/** What a row says to each path of a column, from the cells of `scopeSql`. */
export function rowScopes(column: IdColumn, cells: readonly unknown[]): RowScope[] {
  return partsOf(column).map((part, at) => rowScope(part, cells.slice(3 * at, 3 * at + 3)));
}

function rowScope(column: IdColumn, cells: readonly unknown[]): RowScope {
  if (!needsScope(column)) return NO_SCOPE;
  const [model, region, company] = cells.map((cell) =>
    typeof cell === 'string' && cell !== '' ? cell : null,
  );
  return { model: model ?? null, region: region ?? null, company: company ?? null };
}

/** What becomes of a cell: another value, NULL, or undefined where it stays. Counted on the way. */
export function judgeCell(
  judge: CellJudge,
  cell: Cell,
  isText: boolean,
  scopes: readonly RowScope[],
): Cell | bigint | undefined {
  const { work, rewriter, isNewColumn } = judge;
  const scope = scopes[0] ?? NO_SCOPE;
  if (cell === null) {
    for (const [at, part] of partsOfWork(work).entries()) judgeText(part, '', scopes[at] ?? NO_SCOPE);
    return undefined;
  }
  if (rewriter !== null) return judgeJson(work, rewriter, cell, scopes, isNewColumn);
  if (typeof cell === 'number') return newCell(work, judgeNumber(work, cell, scope), false);
  if (typeof cell === 'string') return newCell(work, judgeText(work, cell, scope), isText);
  judgeInvalid(work, 'not_a_value', () => `${cell.length} bytes`, scope);
  return undefined;
}

/** The new id in the form of the old one: text stays text, an integer an integer. */
function newCell({ resolver }: ColumnWork, action: CellAction, isText: boolean): Cell | bigint | undefined {
  if (action === 'keep' || action === 'none') return undefined;
  if (action === 'clear') return null;
  return isText ? resolver.newDigits : BigInt(resolver.newId);
}

function judgeJson(
  work: ColumnWork,
  rewriter: JsonRewriter,
  cell: Cell,
  scopes: readonly RowScope[],
  isNewColumn: boolean,
): Buffer | undefined {
  if (Buffer.isBuffer(cell)) {
    try {
      return rewriteJson(rewriter, cell, { scopes, rows: 1 }, isNewColumn);
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
    }
  }
  const text = Buffer.isBuffer(cell) ? cell.toString('utf8', 0, 64) : 'no text';
  for (const [at, part] of partsOfWork(work).entries())
    judgeInvalid(part, 'not_json', () => text, scopes[at] ?? NO_SCOPE);
  return undefined;
}

/** Stands for "stays as it is" among the results of `judgeFunction`: no id is a blob without bytes. */
export const KEEP_SQL = "x''";

/**
 * Makes `judgeCell` callable from SQL as `name(cell, isText, model, region, company)`. JSON comes back as a
 * blob of its text.
 */
export function registerJudge(db: UserDb, name: string, judge: CellJudge): void {
  const keep = Buffer.alloc(0);
  db.function(
    name,
    { directOnly: true, varargs: true },
    (cell: Cell, isText: number, ...scope: unknown[]) => {
      const result = judgeCell(judge, cell, isText === 1, rowScopes(judge.work.column, scope));
      return result === undefined ? keep : result;
    },
  );
}

/** The call of a registered judge on a row, or on another value of it; `KEEP_SQL` where the cell stays. */
export function judgeSql(name: string, column: IdColumn, alias: string, cell?: string): string {
  const value = cell ?? `${alias}.${quoteName(column.column)}`;
  const isText = `typeof(${value}) = 'text'`;
  return `${name}(${[exactSql(column, value), isText, ...scopeSql(column, alias)].join(', ')})`;
}

/** The result of a judge as the column's own type. */
export function resultSql(column: IdColumn, result: string): string {
  return column.path === undefined ? result : `CAST(${result} AS TEXT)`;
}
