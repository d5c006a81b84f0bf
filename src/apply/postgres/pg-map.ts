import type { IdColumn } from '../../config/apply-targets.js';
import { type ColumnWork, openColumn } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import { watchFinals } from '../tables/table-plan.js';
import { buildGroupJudge, groupSql, groupTerms, judgeGroup } from './pg-groups.js';
import type { Cells, PgSession } from './pg-session.js';
import type { Found } from './pg-survey.js';

/** A temporary table that says what each value of a column becomes: `old, s0…, new`, all text. */
export interface ValueMap {
  readonly table: string;
  readonly columns: readonly string[];
}

/**
 * Looks up every distinct value of a column and copies those that change to the server. `dropAtCommit`: the table
 * lives as long as the transaction, else as long as the session.
 */
export async function copyMap(
  context: ApplyContext,
  session: PgSession,
  found: Found,
  id: IdColumn,
  source: {
    readonly from: string;
    readonly where: string;
    readonly at: number;
    readonly dropAtCommit: boolean;
  },
): Promise<{ readonly map: ValueMap; readonly work: ColumnWork }> {
  const { mode } = context.policy;
  const work = watchFinals(openColumn(context, id, context.policy), found.facts, mode);
  const judge = buildGroupJudge(work, mode);
  const scopes = groupTerms(id, 't').slice(1);
  const map = {
    table: `pg_temp.svc_migrate_map_${source.at}`,
    columns: ['old', ...scopes.map((_, at) => `s${at}`), 'new'],
  };
  const columns = map.columns.map((name) => `${name} text`).join(', ');
  const onCommit = source.dropAtCommit ? 'ON COMMIT DROP' : '';
  await session.exec(
    `DROP TABLE IF EXISTS ${map.table}; CREATE TEMP TABLE svc_migrate_map_${source.at}(${columns}) ${onCommit}`,
  );
  let done = 0;
  for await (const groups of session.read(groupSql(source.from, source.where, id))) {
    const rows: Cells[] = [];
    for (const group of groups) {
      const now = judgeGroup(judge, group);
      if (now !== undefined) rows.push([...group.slice(0, -1), now]);
    }
    if (rows.length > 0) await session.copyIn(map.table, map.columns, rows);
    done += groups.length;
    context.onProgress({ kind: 'step', name: `looking up ${found.facts.table}`, done, total: null });
  }
  await session.exec(`ANALYZE ${map.table}`);
  return { map, work };
}

/** The condition that a row's value and scope are those of a map's row. */
export function mapMatch(id: IdColumn, alias: string, mapAlias: string): string {
  return groupTerms(id, alias)
    .map((term, at) =>
      at === 0 ? `${term} = ${mapAlias}.old` : `${term} IS NOT DISTINCT FROM ${mapAlias}.s${at - 1}`,
    )
    .join(' AND ');
}
