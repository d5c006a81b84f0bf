import type { Status } from '../reasons.js';
import type { Db } from './sqlite.js';

/** Filters of a report; null: no filter. Companies are V3 company ids. */
export interface Scope {
  readonly models: readonly string[] | null;
  readonly companies: readonly bigint[] | null;
}

export const EVERYTHING: Scope = { models: null, companies: null };

/** A row of the public table `remap`. */
export interface RemapRow {
  readonly model: string;
  readonly path: string;
  readonly region: string | null;
  readonly v3_company_id: bigint | null;
  readonly v4_company_id: bigint | null;
  readonly platform_id: string | null;
  readonly parent_platform_id: string | null;
  readonly v3_svc_id: bigint | null;
  readonly v4_svc_id: bigint | null;
  readonly status: Status;
  readonly reason: string | null;
  readonly matched_by: string | null;
  /** JSON text. */
  readonly evidence: string;
}

/** The public columns of `remap`, in their order. */
export const REMAP_COLUMNS = [
  'model',
  'path',
  'region',
  'v3_company_id',
  'v4_company_id',
  'platform_id',
  'parent_platform_id',
  'v3_svc_id',
  'v4_svc_id',
  'status',
  'reason',
  'matched_by',
  'evidence',
] as const satisfies readonly (keyof RemapRow)[];

/** V4's key of a row. It differs only if a decision paired records with different keys; it is then in the evidence. */
const v4KeyOf = (column: string): string => `
  iif(evidence = '{}' OR json_type(evidence, '$.v4_${column}') IS NULL, ${column}, evidence ->> 'v4_${column}')`;
export const V4_KEY = v4KeyOf('platform_id');
export const V4_PARENT_KEY = v4KeyOf('parent_platform_id');

const COLUMNS = REMAP_COLUMNS.join(', ');

/** All rows, in the remap's order. */
export function readRemap(db: Db, scope: Scope): IterableIterator<RemapRow> {
  return iterateRows(db, remapScope(db, scope));
}

/** The rows that meet a condition over `remap_entry AS r`, in the remap's order; `limit` -1: all. */
export function iterateRows(db: Db, { sql, params }: ScopeSql, limit = -1): IterableIterator<RemapRow> {
  return db
    .prepare<[object], RemapRow>(
      `SELECT ${COLUMNS} FROM remap_entry AS r WHERE ${sql} ORDER BY id LIMIT @limit`,
    )
    .iterate({ ...params, limit: BigInt(limit) });
}

/** Makes the function that reads rows by their ids. */
export function prepareRowsById(db: Db): (ids: readonly number[]) => RemapRow[] {
  const select = db.prepare<[string], RemapRow>(
    `SELECT ${COLUMNS} FROM remap_entry WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id`,
  );
  return (ids) => select.all(JSON.stringify(ids));
}

/** Whether V4 has a record of these models, in any company. */
export function hasV4Records(db: Db, models: Scope['models']): boolean {
  const where = remapScope(db, { models, companies: null });
  const isV4 = '(v3_company_id IS NULL OR matched_by IS NOT NULL)';
  const sql = `SELECT 1 FROM remap_group AS r WHERE path = '' AND ${isV4} AND ${where.sql} LIMIT 1`;
  return db.prepare(sql).get(where.params) !== undefined;
}

/** Whether a V3 record in the scope and a V4 record of any company share a `platform_id` in a model. */
export function hasSharedKey(db: Db, scope: Scope): boolean {
  const v3 = remapScope(db, scope);
  const v4 = remapScope(db, { ...scope, companies: null });
  const keysOf = (column: 'v3_svc_id' | 'v4_svc_id', where: ScopeSql) => `
    SELECT model, platform_id FROM remap_entry AS r
    WHERE path = '' AND platform_id IS NOT NULL AND ${column} IS NOT NULL AND ${where.sql}`;
  const sql = `${keysOf('v3_svc_id', v3)} INTERSECT ${keysOf('v4_svc_id', v4)} LIMIT 1`;
  return db.prepare(sql).get({ ...v4.params, ...v3.params }) !== undefined;
}

/** A condition over `remap_entry AS r` or `remap_group AS r`, with its named parameters. */
export interface ScopeSql {
  readonly sql: string;
  readonly params: Readonly<Record<string, string>>;
}

/** The condition for a scope. Rows without a V3 company belong to the V3 company that is paired with their V4 company. */
export function remapScope(db: Db, scope: Scope): ScopeSql {
  const ofCompanies = `iif(r.v3_company_id IS NOT NULL, r.v3_company_id IN (SELECT value FROM json_each(@companies)),
      r.v4_company_id IN (SELECT value FROM json_each(@v4Companies)))`;
  return { sql: scopeSql(scope, 'r.model', ofCompanies), params: scopeParams(db, scope) };
}

/** The condition over another table `AS r` whose rows all have a V3 company; its parameters are `scopeParams`. */
export function v3Scope(scope: Scope): string {
  return scopeSql(scope, 'r.model', 'r.v3_company_id IN (SELECT value FROM json_each(@companies))');
}

/**
 * SQL condition of a scope on the column of models; `ofCompanies` is the condition that applies if the scope names
 * companies. Its parameters are `scopeParams`.
 */
export function scopeSql({ models, companies }: Scope, model: string, ofCompanies: string): string {
  const parts = ['TRUE'];
  if (models !== null) parts.push(`${model} IN (SELECT value FROM json_each(@models))`);
  if (companies !== null) parts.push(ofCompanies);
  return parts.join(' AND ');
}

/** The scope as JSON parameters: `models`, `companies`, `v4Companies`. */
export function scopeParams(db: Db, scope: Scope): Readonly<Record<string, string>> {
  const v4 = scope.companies === null ? [] : v4CompaniesOf(db, scope.companies);
  return {
    models: JSON.stringify(scope.models ?? []),
    companies: `[${(scope.companies ?? []).join(',')}]`,
    v4Companies: `[${v4.join(',')}]`,
  };
}

/** The V4 companies of these V3 companies, and unpaired V4 companies with these ids. */
export function v4CompaniesOf(db: Db, companies: readonly bigint[]): bigint[] {
  const sql = `SELECT DISTINCT v4_company_id FROM company WHERE v4_company_id IS NOT NULL
      AND coalesce(v3_company_id, v4_company_id) IN (SELECT value FROM json_each(@companies))
    ORDER BY v4_company_id`;
  return db
    .prepare<[object], bigint>(sql)
    .pluck()
    .all({ companies: `[${companies.join(',')}]` });
}

/** Rows of the remap in a digested block: a look-up reads and verifies that many. */
export const ROWS_PER_BLOCK = 128;
