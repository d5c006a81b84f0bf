import { isUtf8 } from 'node:buffer';
import type { IdColumn } from '../../config/apply-targets.js';
import { JsonSyntaxError } from '../../json/json-scanner.js';
import {
  type CellAction,
  type ColumnWork,
  judgeInvalid,
  judgeValue,
  needsScope,
  partsOfWork,
} from '../column-work.js';
import { NO_SCOPE, type RowScope } from '../ids/resolver.js';
import type { Mode } from '../plan.js';
import { buildJsonRewriter, type JsonRewriter, rewriteJson } from '../text/rewrite-json.js';
import type { Cell, Cells, Engine, JudgedCells, SqlText } from './dialect.js';
import { partsOf } from './id-columns.js';

/** Looks up the cells of one column. */
export interface CellJudge {
  readonly work: ColumnWork;
  /** For JSON; null if the cell itself is the id. */
  readonly rewriter: JsonRewriter | null;
  readonly isScoped: boolean;
  /** The result goes to a new column. */
  readonly isNewColumn: boolean;
}

export function buildCellJudge(work: ColumnWork, mode: Mode): CellJudge {
  const isJson = work.column.path !== undefined;
  return {
    work,
    rewriter: isJson ? buildJsonRewriter(partsOfWork(work), ({ column }) => column.path ?? '$', false) : null,
    isScoped: partsOf(work.column).some(needsScope),
    isNewColumn: mode === 'new',
  };
}

/** Columns of row `t` that hold its model, region and company, as text, '' for NULL, in the order `judgeCell` expects. */
export function scopeTerms({ quote, asText }: SqlText, id: IdColumn): string[] {
  return partsOf(id)
    .flatMap((part) => [part.modelColumn, part.regionColumn, part.companyColumn])
    .flatMap((name) => (name === undefined ? [] : [`coalesce(${asText(`t.${quote(name)}`)}, '')`]));
}

function readScopes({ work, isScoped }: CellJudge, cells: readonly unknown[]): readonly RowScope[] {
  if (!isScoped) return [];
  let at = 0;
  const next = (name: string | undefined): string | null => {
    if (name === undefined) return null;
    const cell = cells[at];
    at += 1;
    return typeof cell === 'string' && cell !== '' ? cell : null;
  };
  return partsOf(work.column).map(({ modelColumn, regionColumn, companyColumn }) => ({
    model: next(modelColumn),
    region: next(regionColumn),
    company: next(companyColumn),
  }));
}

/**
 * Looks up a cell and counts it for `rows` rows. Returns its new text (JSON: bytes), null for NULL, or undefined if the
 * cell keeps its value. `scopeCells`: the values of `scopeTerms`.
 */
export function judgeCell(
  judge: CellJudge,
  cell: Cell,
  scopeCells: readonly unknown[],
  rows = 1,
): string | Buffer | null | undefined {
  const { work, rewriter } = judge;
  const scopes = readScopes(judge, scopeCells);
  const scope = scopes[0] ?? NO_SCOPE;
  if (cell === null) {
    for (const [at, part] of partsOfWork(work).entries()) judgeValue(part, '', scopes[at] ?? NO_SCOPE, rows);
    return undefined;
  }
  if (rewriter !== null) return judgeJson(judge, rewriter, cell, scopes, rows);
  if (work.inText !== null) return judgeInText(work, cell, scope, rows);
  if (Buffer.isBuffer(cell)) {
    judgeInvalid(work, 'not_a_value', () => `${cell.length} bytes`, scope, rows);
    return undefined;
  }
  return resultOf(work, cell, judgeValue(work, cell, scope, rows));
}

function resultOf(
  { resolver }: ColumnWork,
  cell: string | number,
  action: CellAction,
): string | null | undefined {
  if (action === 'replace') return resolver.newText;
  if (action === 'copy') return String(cell);
  return action === 'clear' ? null : undefined;
}

/** `cell`: the bytes of a text, or a number if the cell holds anything else (see `asCell`). */
function judgeInText(
  work: ColumnWork,
  cell: string | number | Buffer,
  scope: RowScope,
  rows: number,
): string | null | undefined {
  const text = String(cell);
  const isText = typeof cell === 'string' || (Buffer.isBuffer(cell) && isUtf8(cell));
  const form = typeof cell === 'number' ? 'not_a_value' : 'not_utf8';
  const action = isText
    ? judgeValue(work, text, scope, rows)
    : judgeInvalid(work, form, () => text, scope, rows);
  return resultOf(work, text, action);
}

function judgeJson(
  { work, isNewColumn }: CellJudge,
  rewriter: JsonRewriter,
  cell: string | number | Buffer,
  scopes: readonly RowScope[],
  rows: number,
): Buffer | undefined {
  try {
    if (typeof cell !== 'number') {
      const bytes = typeof cell === 'string' ? Buffer.from(cell) : cell;
      return rewriteJson(rewriter, bytes, { scopes, rows }, isNewColumn);
    }
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
  }
  const text = Buffer.isBuffer(cell) ? cell.toString('utf8', 0, 64) : cell;
  for (const [at, part] of partsOfWork(work).entries()) {
    judgeInvalid(
      part,
      'not_json',
      () => (typeof text === 'number' ? 'no text' : text),
      scopes[at] ?? NO_SCOPE,
      rows,
    );
  }
  return undefined;
}

/** Cells to look up. */
export interface CellQuery {
  readonly work: ColumnWork;
  readonly mode: Mode;
  /** `FROM` and `WHERE`, with the table as `t`. */
  readonly from: string;
  /** SQL for the cell; default: the cell of the column in `t`. */
  readonly value?: string;
  /** Other terms of the row. */
  readonly extra?: readonly string[];
  /** Whether rows in which all terms are equal may be looked up together. */
  readonly isGrouped?: boolean;
  /** Called with the values of `extra` before the cell is looked up. */
  readonly onRow?: (extra: Cells) => void;
}

/** Reads cells and looks them up. Call inside a transaction. */
export async function* judgeCells(
  { session, dialect }: Engine,
  { work, mode, from, value, extra = [], isGrouped = false, onRow }: CellQuery,
): AsyncGenerator<JudgedCells[]> {
  const id = work.column;
  const group = [dialect.asCell(id, value ?? `t.${dialect.quote(id.column)}`), ...scopeTerms(dialect, id)];
  const terms = [...group, ...extra];
  const places = terms.map((_, at) => at + 1).join(', ');
  const counts = isGrouped && dialect.groupsCells;
  const sql = counts
    ? `SELECT ${terms.join(', ')}, count(*) FROM ${from} GROUP BY ${places}`
    : `SELECT ${terms.join(', ')} FROM ${from}`;
  const judge = buildCellJudge(work, mode);
  for await (const batch of session.read(sql)) {
    yield batch.map((row) => {
      const own = row.slice(0, group.length);
      const others = row.slice(group.length, terms.length).map(cellText);
      onRow?.(others);
      const rows = counts ? Number(row.at(-1)) : 1;
      const result = judgeCell(judge, own[0] ?? null, own.slice(1), rows);
      return { group: own, result: result === undefined ? undefined : cellText(result), rows, extra: others };
    });
  }
}

/** Looks up and counts every cell of a table's column. Call inside a transaction. */
export async function countCells(
  engine: Engine,
  table: string,
  query: Pick<CellQuery, 'work' | 'mode'>,
): Promise<void> {
  const from = `${engine.dialect.tableSql(table)} AS t`;
  for await (const _ of judgeCells(engine, { ...query, from, isGrouped: true })) {
    // `judgeCells` counts what it looks up.
  }
}

export function cellText(cell: Cell | undefined): string | null {
  return cell === null || cell === undefined ? null : String(cell);
}
