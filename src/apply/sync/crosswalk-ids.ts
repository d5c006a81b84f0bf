import { type IdColumn, type ModelRef, parseModelRef } from '../../config/apply-targets.js';
import { modelsOf, openColumn } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import { NO_PLATFORM_ID } from '../ids/resolver.js';
import type { Policy } from '../plan.js';

/** What becomes of one V3 id in rows of one model, region and company. */
export interface CrosswalkId {
  readonly v3: string;
  /** Model, region and company of the row, where columns of the table name them. */
  readonly scope: readonly string[];
  /** Null if the id has no V4 id. */
  readonly v4: string | null;
  /** Status and reason of an id without a V4 id; otherwise null. */
  readonly reason: string | null;
}

/**
 * Lists the V3 ids that a column may hold, with the same answers as `apply` gives for its cells. Ids that name no
 * single V3 record are left out.
 */
export function* listCrosswalk(
  context: ApplyContext,
  id: IdColumn,
  policy: Policy,
): Generator<CrosswalkId, void> {
  const { resolver } = openColumn(context, id, policy);
  for (const [word, ref] of modelsOfColumn(context, id)) {
    for (const [v3, region, company] of remapIds(context, id, ref)) {
      const scope = [
        ...(id.modelColumn === undefined ? [] : [word]),
        ...(id.regionColumn === undefined ? [] : [region]),
        ...(id.companyColumn === undefined ? [] : [company]),
      ];
      const named = {
        model: word,
        region: id.regionColumn === undefined ? null : region,
        company: id.companyColumn === undefined ? null : company,
      };
      const category = resolver.lookUpText(v3, named);
      if (category === 'mapped') yield { v3, scope, v4: resolver.newText, reason: null };
      else if (!category.startsWith('unknown/') && category !== NO_PLATFORM_ID)
        yield { v3, scope, v4: null, reason: category };
    }
  }
}

/** The models of a column, each with the word by which rows name it. */
function modelsOfColumn({ remap }: ApplyContext, id: IdColumn): (readonly [string, ModelRef])[] {
  if (id.model !== undefined) return [['', parseModelRef(id.model)]];
  return [...modelsOf(remap, id)].flatMap(([word, ref]) => (ref === null ? [] : [[word, ref] as const]));
}

/** Distinct V3 ids of a model; with region and company where rows name those. */
function* remapIds(
  { remap }: ApplyContext,
  { regionColumn, companyColumn }: IdColumn,
  { model, path }: ModelRef,
): Generator<readonly [v3: string, region: string, company: string]> {
  const region = regionColumn === undefined ? "''" : "ifnull(region, '')";
  const company = companyColumn === undefined ? "''" : "ifnull(v3_company_id, '')";
  const rows = remap
    .prepare<[string, string], [v3: string, region: string, company: string]>(
      `SELECT DISTINCT CAST(v3_svc_id AS TEXT), ${region}, CAST(${company} AS TEXT) FROM remap
       WHERE model = ? AND path = ? AND v3_svc_id IS NOT NULL`,
    )
    .raw();
  yield* rows.iterate(model, path);
}
