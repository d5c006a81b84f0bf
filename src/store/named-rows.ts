import type { Status } from '../reasons.js';
import type { Db } from './open.js';
import { remapScope, type Scope } from './remap.js';

/** What a row of the remap is asked to have; at least an id or a platform_id. */
export interface RowName {
  readonly model: string;
  readonly path: string;
  readonly reason: string;
  readonly status?: Status | undefined;
  readonly region?: string | undefined;
  readonly platform_id?: string | undefined;
  readonly parent_platform_id?: string | undefined;
  readonly v3_company_id?: bigint | undefined;
  readonly v4_company_id?: bigint | undefined;
  readonly v3_svc_id?: bigint | undefined;
  readonly v4_svc_id?: bigint | undefined;
}

export interface NamedRow {
  /** Its place in the remap. */
  readonly at: bigint;
  readonly status: Status;
  readonly inScope: boolean;
}

const COLUMNS = [
  'model',
  'path',
  'reason',
  'status',
  'region',
  'platform_id',
  'parent_platform_id',
  'v3_company_id',
  'v4_company_id',
  'v3_svc_id',
  'v4_svc_id',
] as const satisfies readonly (keyof RowName)[];

/** Finds rows that are not matched by what names them; two at most, which is enough to know that a name is no name. */
export function prepareNamedRows(db: Db, scope: Scope): (name: RowName) => NamedRow[] {
  const inScope = remapScope(db, scope);
  const prepare = (given: readonly string[]) =>
    db.prepare<[object], { at: bigint; status: Status; inScope: bigint }>(
      `SELECT rowid AS at, status, iif(${inScope.sql}, 1, 0) AS inScope FROM remap AS r
       WHERE status <> 'matched' AND ${given.map((column) => `${column} = @${column}`).join(' AND ')} LIMIT 2`,
    );
  const prepared = new Map<string, ReturnType<typeof prepare>>();
  return (name) => {
    const given = COLUMNS.filter((column) => name[column] !== undefined);
    const select = prepared.get(given.join()) ?? prepare(given);
    prepared.set(given.join(), select);
    const values = Object.fromEntries(given.map((column) => [column, name[column]]));
    const rows = select.all({ ...inScope.params, ...values });
    return rows.map((row) => ({ ...row, inScope: row.inScope === 1n }));
  };
}
