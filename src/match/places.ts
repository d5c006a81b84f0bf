import type { Config } from '../config/config.js';
import { isUnfinished, type StreamState } from '../domain.js';
import type { Db } from '../store/sqlite.js';
import { compare } from '../text/rows.js';
import type { CompanySide } from './pair-companies.js';

export interface ModelList {
  readonly id: bigint;
  readonly generation: 'v3' | 'v4';
  readonly region: string;
  readonly model: string;
  /** null: the records of all companies of the region. */
  readonly companyId: bigint | null;
  readonly state: StreamState;
  readonly readAt: string | null;
}

export class ModelLists {
  readonly all: readonly ModelList[];
  readonly #byPlace: ReadonlyMap<string, ModelList>;

  constructor(db: Db, config: Config) {
    const models = JSON.stringify(config.models.map(({ v3 }) => v3));
    this.all = db
      .prepare<[string], ModelList>(`
        select id, generation, region, model, company_id as companyId, state, read_at as readAt
        from stream where model in (select value from json_each(?)) order by generation, region, model, company_id`)
      .all(models);
    this.#byPlace = new Map(this.all.map((list) => [placeOf(list), list]));
  }

  find(
    generation: 'v3' | 'v4',
    model: string,
    { region, companyId }: Pick<CompanySide, 'region' | 'companyId'>,
  ): ModelList | undefined {
    const place = { generation, model, region };
    return (
      this.#byPlace.get(placeOf({ ...place, companyId })) ??
      this.#byPlace.get(placeOf({ ...place, companyId: null }))
    );
  }
}

function placeOf({
  generation,
  region,
  model,
  companyId,
}: Omit<ModelList, 'id' | 'state' | 'readAt'>): string {
  return `${generation} ${model} ${companyId} ${region}`;
}

export function isReadInFull(list: ModelList | undefined): boolean {
  return list !== undefined && !isUnfinished(list);
}

/** The records of one company in one list. */
export interface Place {
  readonly list: ModelList;
  readonly companyId: bigint;
}

export function readPlaces(db: Db, lists: ModelLists): Place[] {
  const byId = new Map(lists.all.map((list) => [list.id, list]));
  return db
    .prepare<[], { stream: bigint; companyId: bigint }>(
      'select distinct stream_id as stream, company_id as companyId from temp.record_count',
    )
    .all()
    .flatMap(({ stream, companyId }) => {
      const list = byId.get(stream);
      return list === undefined ? [] : [{ list, companyId }];
    });
}

export interface Company extends CompanySide {
  readonly id: number;
}

export interface Companies {
  readonly v3: readonly Company[];
  readonly v4: readonly Company[];
}

/**
 * The companies in the export. It is certain that a V3 company has no pair once its region and all of V4 were read in
 * full; for a V4 company, once everything was.
 */
export function listCompanies(
  db: Db,
  config: Config,
  lists: ModelLists,
  places: readonly Place[],
): Companies {
  const listed = db.prepare<[], bigint>('select company_id from v4_company').pluck().all();
  const v3 = new Map<string, Pick<Company, 'region' | 'companyId'>>();
  const v4 = new Set(listed);
  const all = [...lists.all.map((list) => ({ list, companyId: list.companyId })), ...places];
  for (const { list, companyId } of all) {
    if (companyId === null) continue;
    if (list.generation === 'v4') v4.add(companyId);
    else v3.set(`${companyId} ${list.region}`, { region: list.region, companyId });
  }
  const isV4Full = isV4ReadInFull(db, config, lists, listed);
  const isRegionFull = new Map(
    config.v3.regions.map(({ region }) => [region, isRegionReadInFull(config, lists, region)]),
  );
  const isAllFull = isV4Full && [...isRegionFull.values()].every(Boolean);
  return {
    v3: [...v3.values()]
      .sort((a, b) => compare(a.region, b.region) || compare(a.companyId, b.companyId))
      .map((company, id) => ({
        id,
        ...company,
        scopeFull: isV4Full && isRegionFull.get(company.region) === true,
      })),
    v4: [...v4].sort(compare).map((companyId, id) => ({ id, region: '', companyId, scopeFull: isAllFull })),
  };
}

/** Whether every model of the region has a list, and all were read in full. */
function isRegionReadInFull({ models }: Config, { all }: ModelLists, region: string): boolean {
  const ofRegion = all.filter((list) => list.generation === 'v3' && list.region === region);
  const listed = new Set(ofRegion.map(({ model }) => model));
  return models.every(({ v3 }) => listed.has(v3)) && ofRegion.every(isReadInFull);
}

/** Whether V4's list of companies was read in full, and every V4 model of each listed company too. */
function isV4ReadInFull(db: Db, config: Config, lists: ModelLists, listed: readonly bigint[]): boolean {
  const list = db
    .prepare<[], { state: StreamState }>(
      "select state from stream where generation = 'v4' and model = 'core/companies'",
    )
    .get();
  // where it was not requested, the configuration names the companies, or V4 was not exported
  if (list === undefined ? listed.length === 0 : isUnfinished(list)) return false;
  if (!lists.all.every((of) => of.generation === 'v3' || isReadInFull(of))) return false;
  const inV4 = config.models.filter(({ v4 }) => v4 !== null);
  return listed.every((companyId) =>
    inV4.every(({ v3 }) => lists.find('v4', v3, { region: '', companyId }) !== undefined),
  );
}
