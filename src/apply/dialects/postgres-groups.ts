import type { IdColumn } from '../../config/apply-targets.js';
import { JsonSyntaxError } from '../../json/json-scanner.js';
import { type ColumnWork, judgeInvalid, judgeText, partsOfWork } from '../column-work.js';
import { partsOf } from '../engine/json-columns.js';
import type { Cells } from '../engine/session.js';
import { NO_SCOPE, type RowScope } from '../ids/resolver.js';
import type { Mode } from '../plan.js';
import { quoteName } from '../sql-names.js';
import { buildJsonRewriter, type JsonRewriter, type JsonRow, rewriteJson } from '../text/rewrite-json.js';

/** The value as text, then model, region and company where the column names them. */
export function groupTerms(
  id: IdColumn,
  alias: string,
  value = `${alias}.${quoteName(id.column)}::text`,
): string[] {
  const scopes = partsOf(id)
    .flatMap((part) => scopeColumns(part))
    .map((name) => `${alias}.${quoteName(name)}::text`);
  return [value, ...scopes];
}

/** Only the columns that are named stand in a group, in this order. */
function scopeColumns({ modelColumn, regionColumn, companyColumn }: IdColumn): string[] {
  return [modelColumn, regionColumn, companyColumn].filter((name) => name !== undefined);
}

/** Judges the groups of one column. */
export interface GroupJudge {
  readonly work: ColumnWork;
  readonly rewriter: JsonRewriter | null;
  readonly isNewColumn: boolean;
}

export function buildGroupJudge(work: ColumnWork, mode: Mode): GroupJudge {
  const rewriter =
    work.column.path === undefined
      ? null
      : buildJsonRewriter(partsOfWork(work), ({ column }) => column.path ?? '$', false);
  return { work, rewriter, isNewColumn: mode === 'new' };
}

/** What becomes of a group's value: another text, NULL, or undefined where it stays. Counted on the way. */
export function judgeGroup(judge: GroupJudge, group: Cells): string | null | undefined {
  const { work, rewriter, isNewColumn } = judge;
  const [value = null] = group;
  const rows = Number(group.at(-1));
  const scopes = groupScopes(work.column, group);
  if (value !== null && rewriter !== null)
    return judgeJson(work, rewriter, value, { scopes, rows }, isNewColumn);
  if (rewriter !== null) {
    for (const [at, part] of partsOfWork(work).entries()) judgeText(part, '', scopes[at] ?? NO_SCOPE, rows);
    return undefined;
  }
  const action = judgeText(work, value ?? '', scopes[0] ?? NO_SCOPE, rows);
  if (action === 'replace') return work.resolver.newDigits;
  return action === 'clear' ? null : undefined;
}

/** What a group says to each path of its column. */
function groupScopes(id: IdColumn, group: Cells): RowScope[] {
  let at = 0;
  const next = (name: string | undefined) => {
    if (name === undefined) return null;
    at += 1;
    return group[at] || null;
  };
  return partsOf(id).map(({ modelColumn, regionColumn, companyColumn }) => ({
    model: next(modelColumn),
    region: next(regionColumn),
    company: next(companyColumn),
  }));
}

function judgeJson(
  work: ColumnWork,
  rewriter: JsonRewriter,
  value: string,
  row: JsonRow,
  isNewColumn: boolean,
): string | undefined {
  try {
    return rewriteJson(rewriter, Buffer.from(value), row, isNewColumn)?.toString('utf8');
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    for (const [at, part] of partsOfWork(work).entries())
      judgeInvalid(part, 'not_json', () => value, row.scopes[at] ?? NO_SCOPE, row.rows);
    return undefined;
  }
}
