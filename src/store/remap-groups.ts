import type { Status } from '../reasons.js';
import type { Db } from './open.js';
import { readSlicesBy, remapScope, type Scope, type Slice } from './remap-rows.js';

/** Counts of remap rows with the same model, companies, status and reason. */
export interface RemapGroup {
  readonly model: string;
  readonly isChild: bigint;
  readonly region: string | null;
  readonly v3_company_id: bigint | null;
  readonly v4_company_id: bigint | null;
  readonly status: Status;
  readonly reason: string | null;
  readonly n: bigint;
  readonly v3: bigint;
  readonly pairs: bigint;
  readonly conflicts: bigint;
}

/** The columns that define a kind of row, those that differ most often first. */
const KIND = {
  status: 'status',
  isChild: "path <> ''",
  v3_company_id: 'v3_company_id',
  v4_company_id: 'v4_company_id',
  region: 'region',
  model: 'model',
  reason: 'reason',
  hasV3: 'v3_svc_id IS NOT NULL',
  hasV4: 'v4_svc_id IS NOT NULL',
  conflict: 'unique_id_conflict',
} as const;
const KIND_COLUMNS = Object.entries(KIND).map(([name, sql]) => `${sql} AS ${name}`);
const IS_OF_KIND = Object.entries(KIND)
  .map(([name, sql]) => `(${sql}) IS @${name}`)
  .join(' AND ');

type Kind = Pick<
  RemapGroup,
  'model' | 'isChild' | 'region' | 'v3_company_id' | 'v4_company_id' | 'status' | 'reason'
> & {
  readonly hasV3: bigint;
  readonly hasV4: bigint;
  readonly conflict: bigint;
};

/** The rows of a slice, and how many of them are of a kind. */
interface Counted {
  readonly rows: bigint;
  readonly alike: bigint;
}

/** Counts the rows of the remap slice by slice; a group can occur several times. */
export function readRemapGroups(db: Db, scope: Scope): Iterable<Slice<RemapGroup>> {
  const where = remapScope(db, scope);
  const fromSlice = 'FROM remap AS r NOT INDEXED WHERE rowid BETWEEN @from AND @to';
  const readFirst = db.prepare<[object], Kind & { readonly inScope: bigint }>(
    `SELECT ${KIND_COLUMNS.join(', ')}, iif(${where.sql}, 1, 0) AS inScope ${fromSlice} ORDER BY rowid LIMIT 1`,
  );
  const count = db.prepare<[object], Counted>(
    `SELECT count(*) AS rows, count(*) FILTER (WHERE ${IS_OF_KIND}) AS alike ${fromSlice}`,
  );
  const readOthers = db.prepare<[object], RemapGroup>(`
    SELECT model, path <> '' AS isChild, region, v3_company_id, v4_company_id, status, reason, count(*) AS n,
      count(v3_svc_id) AS v3, sum(v3_svc_id IS NOT NULL AND v4_svc_id IS NOT NULL) AS pairs,
      sum(unique_id_conflict) AS conflicts
    ${fromSlice} AND NOT (${IS_OF_KIND})
    GROUP BY model, path <> '', region, v3_company_id, v4_company_id, status, reason HAVING ${where.sql}`);
  return readSlicesBy(db, 'remap', (range) => {
    const first = readFirst.get({ ...where.params, ...range });
    if (first === undefined) return [];
    // Most slices hold rows of one kind. To count them, SQLite need not sort, which takes most of the time.
    const { inScope, ...kind } = first;
    const { rows, alike } = count.get({ ...kind, ...range }) ?? { rows: 0n, alike: 0n };
    const groups = rows === alike ? [] : readOthers.all({ ...where.params, ...kind, ...range });
    return inScope === 1n ? [toGroup(kind, alike), ...groups] : groups;
  });
}

function toGroup({ hasV3, hasV4, conflict, ...kind }: Kind, n: bigint): RemapGroup {
  return { ...kind, n, v3: n * hasV3, pairs: n * hasV3 * hasV4, conflicts: n * conflict };
}
