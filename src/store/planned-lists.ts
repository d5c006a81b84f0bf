import type { ModelPair } from '../domain.js';
import { type Scope, scopeParams } from './remap-rows.js';
import type { StreamGroup } from './scoped-streams.js';
import type { Db } from './sqlite.js';

/** A model pair; V4's name is null if V4 does not have it. */
export type ListedModel = Pick<ModelPair, 'v3' | 'v4'>;

/** Lists that should have a row and have none. */
export interface MissingLists {
  readonly count: number;
  readonly first: readonly PlannedList[];
}

/** Maximum number of lists that a sentence names. */
export const MAX_NAMED_LISTS = 3;

/** A V3 list of one region and model, or a V4 list of one company and model. */
export interface PlannedList {
  readonly region: string;
  readonly model: string;
  readonly companyId: bigint | null;
}

/** V3 lists that a region and model should have; each may be split by company. */
export function findMissingInV3(
  groups: readonly StreamGroup[],
  models: readonly ListedModel[],
  regions: readonly { readonly region: string }[],
): MissingLists {
  const keyOf = ({ region, model }: Pick<PlannedList, 'region' | 'model'>) => `${model} ${region}`;
  const read = new Set(groups.filter(({ generation }) => generation === 'v3').map(keyOf));
  const missing = regions
    .flatMap(({ region }) => models.map((model) => ({ region, model: model.v3, companyId: null })))
    .filter((list) => !read.has(keyOf(list)));
  return { count: missing.length, first: missing.slice(0, MAX_NAMED_LISTS) };
}

/** V4 lists that a listed company and model should have. */
export function readMissingInV4(db: Db, models: readonly ListedModel[], scope: Scope): MissingLists {
  const planned = models.flatMap((model) => (model.v4 === null ? [] : [model.v3]));
  const params = { ...scopeParams(db, scope), planned: JSON.stringify(planned) };
  const ofScope =
    scope.companies === null ? '' : 'AND company_id IN (SELECT value FROM json_each(@v4Companies))';
  // Without CAST and + the values would have another affinity than the index, which would then be scanned for each list.
  const lists = `
    FROM v4_company AS company CROSS JOIN json_each(@planned) AS planned
    WHERE NOT EXISTS (SELECT 1 FROM stream
      WHERE generation = 'v4' AND region = '' AND model = CAST(planned.value AS TEXT)
        AND ifnull(company_id, 'all') = +company.company_id) ${ofScope}`;
  const first = db.prepare<[object], { readonly model: string; readonly companyId: bigint }>(
    `SELECT planned.value AS model, company_id AS companyId ${lists} ORDER BY company_id, planned.key LIMIT ${MAX_NAMED_LISTS}`,
  );
  const count = db.prepare<[object], bigint>(`SELECT count(*) ${lists}`).pluck().get(params);
  return { count: Number(count), first: first.all(params).map((list) => ({ region: '', ...list })) };
}

/** A list for people: `payments/orders in eu, company 5`. */
export function nameOfList({ region, model, companyId }: PlannedList): string {
  return `${model}${region === '' ? '' : ` in ${region}`}${companyId === null ? '' : `, company ${companyId}`}`;
}
