import { isUtf8 } from 'node:buffer';
import { findValues, type Hit, type JsonPath, parseJsonPath } from '../../json/json-path.js';
import { type CellAction, type ColumnWork, judgeInvalid, judgeValue, needsScope } from '../column-work.js';
import { editEscaped } from '../ids/pattern-resolver.js';
import { NO_SCOPE, type RowScope } from '../ids/resolver.js';

/** Replaces the bytes from `start` up to but not including `end`; each character of `text` stands for one byte. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The paths of the ids in a JSON value, and the columns they belong to. */
export interface JsonRewriter {
  readonly paths: readonly JsonPath[];
  readonly columns: readonly JsonColumn[];
}

/** `path`, `model`, `region` and `company` are positions in `paths`; where a scope is null, the row provides it. */
interface JsonColumn {
  readonly work: ColumnWork;
  readonly path: number;
  readonly model: number | null;
  readonly region: number | null;
  readonly company: number | null;
}

/**
 * Prepares rewriting by paths. `pathOf`: the path of a column's ids. `scopesInside`: the model, region and company columns
 * are paths in the same value; otherwise each row provides the scope.
 */
export function buildJsonRewriter(
  works: readonly ColumnWork[],
  pathOf: (work: ColumnWork) => string,
  scopesInside: boolean,
): JsonRewriter {
  const paths: JsonPath[] = [];
  const add = (text: string): number => {
    const path = parseJsonPath(text);
    if (path === null) throw new Error(`not a JSON path: ${text}`);
    return paths.push(path) - 1;
  };
  const addScope = (text: string | undefined) => (text === undefined || !scopesInside ? null : add(text));
  const columns = works.map((work) => ({
    work,
    path: add(pathOf(work)),
    model: addScope(work.column.modelColumn),
    region: addScope(work.column.regionColumn),
    company: addScope(work.column.companyColumn),
  }));
  return { paths, columns };
}

/** The scope of a JSON value for each column of the rewriter, and the number of rows that hold this value. */
export interface JsonRow {
  readonly scopes: readonly RowScope[];
  readonly rows: number;
}

const ONE_ROW: JsonRow = { scopes: [], rows: 1 };

/** The edits to one JSON value. */
export interface JsonEdits {
  /** In ascending order. */
  readonly edits: readonly Edit[];
  /** Number of ids that are kept, because no V4 id is known. */
  readonly kept: number;
}

/**
 * Finds the edits to one JSON value. Its ids are also counted, in the `ColumnWork` of their column.
 *
 * @throws JsonSyntaxError
 */
export function findEdits(
  rewriter: JsonRewriter,
  bytes: Buffer,
  range: { readonly start: number; readonly end: number },
  row: JsonRow = ONE_ROW,
): JsonEdits {
  const hits = findValues(bytes, range.start, range.end, rewriter.paths);
  const edits: Edit[] = [];
  let kept = 0;
  for (const [at, column] of rewriter.columns.entries()) {
    const outer = row.scopes[at] ?? NO_SCOPE;
    const scope = needsScope(column.work.column) ? innerScope(column, bytes, hits, outer) : outer;
    for (const hit of hits) {
      if (hit.path !== column.path) continue;
      const action = judgeHit(column.work, bytes, hit, { scope, rows: row.rows });
      const edit = editOf(column.work, bytes, hit, action);
      if (edit !== null) edits.push(edit);
      else if (action === 'keep') kept += 1;
    }
  }
  return { edits: edits.sort((a, b) => a.start - b.start), kept };
}

function innerScope(column: JsonColumn, bytes: Buffer, hits: readonly Hit[], row: RowScope): RowScope {
  const read = (path: number | null, outer: string | null) =>
    path === null
      ? outer
      : onlyText(
          bytes,
          hits.filter((hit) => hit.path === path),
        );
  return {
    model: read(column.model, row.model),
    region: read(column.region, row.region),
    company: read(column.company, row.company),
  };
}

/** The only hit, if it is a number or a text that is not empty; otherwise null. */
function onlyText(bytes: Buffer, hits: readonly Hit[]): string | null {
  const [hit] = hits;
  if (hit === undefined || hits.length > 1) return null;
  const raw = bytes.toString('utf8', hit.start, hit.end);
  if (hit.kind === 'number') return raw;
  const text: unknown = JSON.parse(raw);
  return typeof text === 'string' && text !== '' ? text : null;
}

function judgeHit(
  work: ColumnWork,
  bytes: Buffer,
  hit: Hit,
  { scope, rows }: { readonly scope: RowScope; readonly rows: number },
): CellAction {
  // a JSON null counts as an empty text
  if (hit.kind === 'null') return judgeValue(work, '', scope, rows);
  if (hit.kind === 'number')
    return judgeValue(work, bytes.toString('latin1', hit.start, hit.end), scope, rows);
  if (work.inText !== null && hit.kind === 'string') return judgeInText(work, bytes, hit, { scope, rows });
  const text = bytes.toString('utf8', hit.start + 1, hit.end - 1);
  if (hit.kind === 'string' && !text.includes('\\')) return judgeValue(work, text, scope, rows);
  const sample = () => bytes.toString('utf8', hit.start, Math.min(hit.end, hit.start + SAMPLE_BYTES));
  return judgeInvalid(work, hit.kind === 'string' ? 'escaped' : 'not_a_value', sample, scope, rows);
}

const SAMPLE_BYTES = 64;
/** A digit written as an escape, which JSON never needs: `editEscaped` can only edit ids without escapes. */
const ESCAPED_DIGIT = /\\u003\d/;
/** One UTF-16 unit of a JSON string, plain or escaped. */
const JSON_UNIT = /\\u[0-9a-fA-F]{4}|\\?[\s\S]/g;

function judgeInText(
  work: ColumnWork,
  bytes: Buffer,
  { start, end }: Hit,
  { scope, rows }: { readonly scope: RowScope; readonly rows: number },
): CellAction {
  const inner = bytes.subarray(start + 1, end - 1);
  const raw = inner.toString('utf8');
  if (!isUtf8(inner)) return judgeInvalid(work, 'not_utf8', () => raw, scope, rows);
  if (ESCAPED_DIGIT.test(raw)) return judgeInvalid(work, 'escaped', () => raw, scope, rows);
  const text: unknown = raw.includes('\\') ? JSON.parse(`"${raw}"`) : raw;
  return judgeValue(work, String(text), scope, rows);
}

/** The edit for the hit that was judged last: `work` holds what becomes of it. */
function editOf(
  { resolver, inText }: ColumnWork,
  bytes: Buffer,
  { kind, start, end }: Hit,
  action: CellAction,
): Edit | null {
  if (action === 'keep' || action === 'copy' || action === 'none') return null;
  if (action === 'clear') return { start, end, text: 'null' };
  if (kind !== 'string') return { start, end, text: resolver.newText };
  if (inText === null) return { start, end, text: `"${resolver.newText}"` };
  const raw = bytes.toString('utf8', start + 1, end - 1);
  const text = raw.includes('\\') ? editEscaped(raw, JSON_UNIT, inText.edits) : inText.newText;
  return { start: start + 1, end: end - 1, text: Buffer.from(text).toString('latin1') };
}

function applyEdits(bytes: Buffer, edits: readonly Edit[]): Buffer {
  const parts: Uint8Array[] = [];
  let from = 0;
  for (const edit of edits) {
    parts.push(bytes.subarray(from, edit.start), Buffer.from(edit.text, 'latin1'));
    from = edit.end;
  }
  parts.push(bytes.subarray(from));
  return Buffer.concat(parts);
}

/**
 * Replaces the ids of one JSON value; undefined if nothing is to be written. In place, that is a value without edits. For a
 * new column, it is a value in which an id is kept, because V4 columns hold no V3 ids; a value without ids is copied.
 *
 * @throws JsonSyntaxError
 */
export function rewriteJson(
  rewriter: JsonRewriter,
  bytes: Buffer,
  row: JsonRow,
  isNewColumn: boolean,
): Buffer | undefined {
  const { edits, kept } = findEdits(rewriter, bytes, { start: 0, end: bytes.length }, row);
  if (isNewColumn ? kept > 0 : edits.length === 0) return undefined;
  return applyEdits(bytes, edits);
}
