import { formatModelRef, type IdColumn, parseModelRef } from '../../config/apply-targets.js';
import type { Db } from '../../store/open.js';
import { readModelRefs } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import { categorySql } from '../ids/model-ids.js';
import { insertValues } from './staging.js';
import type { WarehouseText } from './warehouse-texts.js';

/** What becomes of the V3 ids of a column; `map` is its table. */
export interface Crosswalk {
  readonly id: IdColumn;
  readonly map: string;
  readonly rows: readonly MapRow[];
}

interface MapRow {
  /** Model, region and company as the row names them, where it does. */
  readonly scope: readonly (string | null)[];
  readonly old: string;
  /** Null: the cell is emptied. */
  readonly now: string | null;
  /** 2: the policy refuses it. */
  readonly state: 1 | 2;
}

const ROWS_PER_INSERT = 1000;

/** Columns of the remap that tell rows of one id apart, as far as the target names them. */
function scopeOf({
  regionColumn,
  companyColumn,
}: IdColumn): { readonly column: string; readonly remap: string }[] {
  return [
    ...(regionColumn === undefined ? [] : [{ column: regionColumn, remap: 'region' }]),
    ...(companyColumn === undefined ? [] : [{ column: companyColumn, remap: 'CAST(v3_company_id AS TEXT)' }]),
  ];
}

function modelsOf(
  remap: Db,
  { model, models }: IdColumn,
): readonly (readonly [word: string | null, model: string])[] {
  if (model !== undefined) return [[null, model]];
  if (models === undefined)
    return readModelRefs(remap)
      .map(formatModelRef)
      .map((ref) => [ref, ref]);
  return Object.entries(models).flatMap(([word, ref]) => (ref === null ? [] : [[word, ref] as const]));
}

/** Every V3 id of the column's models that has one outcome. Ids with several are left out, so the checks find them. */
export function readModelCrosswalk({ remap, policy }: ApplyContext, id: IdColumn): MapRow[] {
  const scope = scopeOf(id);
  const terms = [...scope.map((one) => one.remap), 'v3_svc_id'];
  const read = remap
    .prepare<[object], (string | null)[]>(
      `SELECT CAST(v3_svc_id AS TEXT), min(category), CAST(min(v4_svc_id) AS TEXT)${scope.map((one) => `, ${one.remap}`).join('')}
       FROM (SELECT *, ${categorySql(policy.mapDeleted)} AS category FROM remap)
       WHERE model = @model AND path = @path AND v3_svc_id IS NOT NULL
         AND (@region IS NULL OR region = @region) AND (@company IS NULL OR v3_company_id = @company)
       GROUP BY ${terms.join(', ')} HAVING count(DISTINCT category || ' ' || iif(category = 'mapped', v4_svc_id, '')) = 1
       ORDER BY ${terms.join(', ')}`,
    )
    .raw();
  const [region, company] = [id.region ?? null, id.company === undefined ? null : BigInt(id.company)];
  return modelsOf(remap, id).flatMap(([word, model]) =>
    read.all({ ...parseModelRef(model), region, company }).map(([old, category, v4, ...named]): MapRow => {
      const key = { scope: [...(word === null ? [] : [word]), ...named], old: old ?? '' };
      if (category === 'mapped') return { ...key, now: v4 ?? null, state: 1 };
      return {
        ...key,
        now: policy.missing === 'null' ? null : key.old,
        state: policy.missing === 'fail' ? 2 : 1,
      };
    }),
  );
}

/** Columns of the table that a crosswalk's scope is compared with. */
export function scopeColumns(id: IdColumn): string[] {
  return [
    ...(id.modelColumn === undefined ? [] : [id.modelColumn]),
    ...scopeOf(id).map(({ column }) => column),
  ];
}

/** Statements that create a crosswalk. `type`: of the ids. */
export function loadSql(text: WarehouseText, { id, map, rows }: Crosswalk, type: string): string[] {
  const scopes = scopeColumns(id).map((_, at) => `s${at} ${text.types.text}`);
  const columns = [...scopes, `old ${type}`, `new ${type}`, `state ${text.types.integer}`];
  const isText = type === text.types.text;
  const quoted = (term: string | null) => (term === null ? 'NULL' : text.literal(term));
  const value = (term: string | null) => (isText ? quoted(term) : (term ?? 'NULL'));
  const values = rows.map(({ scope, old, now, state }) =>
    [...scope.map(quoted), value(old), value(now), state].join(', '),
  );
  return [
    `DROP TABLE IF EXISTS ${map}`,
    `CREATE TABLE ${map}(${columns.join(', ')})${text.tableOptions}`,
    ...insertValues(map, values, ROWS_PER_INSERT),
  ];
}
