import type { IdColumn } from '../../config/apply-targets.js';
import type { ColumnWork } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import type { Cells } from '../engine/session.js';
import type { Mode } from '../plan.js';
import { buildGroupJudge, groupTerms, judgeGroup } from './postgres-groups.js';
import type { PgSession } from './postgres-session.js';

interface MapSource {
  readonly work: ColumnWork;
  readonly mode: Mode;
  readonly table: string;
  /** `FROM` and `WHERE` of the rows to look up, with the table as `t`. */
  readonly from: string;
  readonly at: number;
  /** The map lives as long as the transaction, else as long as the session. */
  readonly dropAtCommit: boolean;
}

/**
 * Looks up every distinct value of a column and copies those that change to the server: returns a temporary table
 * that says what each value becomes: `old, s0…, new`, all text. Call inside a transaction.
 */
export async function copyMap(
  context: ApplyContext,
  session: PgSession,
  { work, mode, table, from, at, dropAtCommit }: MapSource,
): Promise<string> {
  const judge = buildGroupJudge(work, mode);
  const terms = groupTerms(work.column, 't');
  const names = ['old', ...terms.slice(1).map((_, nth) => `s${nth}`), 'new'];
  const map = `pg_temp.svc_migrate_map_${at}`;
  const columns = names.map((name) => `${name} text`).join(', ');
  const onCommit = dropAtCommit ? 'ON COMMIT DROP' : '';
  await session.exec(
    `DROP TABLE IF EXISTS ${map}; CREATE TEMP TABLE svc_migrate_map_${at}(${columns}) ${onCommit}`,
  );
  const places = terms.map((_, nth) => nth + 1).join(', ');
  let done = 0;
  for await (const groups of session.read(
    `SELECT ${terms.join(', ')}, count(*) FROM ${from} GROUP BY ${places}`,
  )) {
    const rows: Cells[] = [];
    for (const group of groups) {
      const now = judgeGroup(judge, group);
      if (now !== undefined) rows.push([...group.slice(0, -1), now]);
    }
    if (rows.length > 0) await session.copyIn(map, names, rows);
    done += groups.length;
    context.onProgress({ kind: 'step', name: `looking up ${table}`, done, total: null });
  }
  await session.exec(`ANALYZE ${map}`);
  return map;
}

/** The condition that a row's value and scope are those of a map's row. */
export function mapMatch(id: IdColumn, alias: string, mapAlias: string): string {
  return groupTerms(id, alias)
    .map((term, at) =>
      at === 0 ? `${term} = ${mapAlias}.old` : `${term} IS NOT DISTINCT FROM ${mapAlias}.s${at - 1}`,
    )
    .join(' AND ');
}
