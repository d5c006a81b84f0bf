import type { Config } from '../config/config.js';
import type { CompanyMatch } from '../domain.js';
import type { Db } from '../store/open.js';
import type { CompanySide } from './pair-companies.js';

/** The configured models and their lists in the export. A model is known by its place in `models`. */
export interface ExportScope {
  /** In the order of their names. */
  readonly models: readonly ScopeModel[];
  /** By `stream.id`. */
  readonly lists: ReadonlyMap<number, ScopeList>;
  /** `companyId`: null for the list of a whole region. */
  readonly find: (
    generation: 3 | 4,
    model: number,
    region: string,
    companyId: bigint | null,
  ) => ScopeList | undefined;
}

export interface ScopeModel {
  /** V3's name. */
  readonly name: string;
  readonly isInV4: boolean;
}

export interface ScopeList {
  readonly generation: 3 | 4;
  readonly model: number;
  /** '' for V4. */
  readonly region: string;
  /** null: the records of all companies of the region. */
  readonly companyId: bigint | null;
  readonly readInFull: boolean;
  /** The service has no such list. */
  readonly isAbsent: boolean;
  /** When it was read, ms since 1970. */
  readonly readUntilMs: number | null;
  /** The number of its records. */
  readonly stored: number;
}

type ListRow = readonly [bigint, string, string, string, bigint | null, string, bigint | null, bigint];

export function readScope(db: Db, config: Config): ExportScope {
  const models = config.models
    .map(({ v3, v4 }): ScopeModel => ({ name: v3, isInV4: v4 !== null }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const numberOf = new Map(models.map(({ name }, number) => [name, number]));
  const select = db
    .prepare<[], ListRow>(`
      SELECT id, generation, region, model, company_id, state, CAST(position ->> 'readUntilMs' AS INTEGER), stored FROM stream`)
    .raw();
  const lists = new Map<number, ScopeList>();
  const byPlace = new Map<string, ScopeList>();
  for (const [id, of, region, name, companyId, state, readUntilMs, stored] of select.iterate()) {
    const model = numberOf.get(name);
    if (model === undefined) continue;
    const generation = of === 'v3' ? 3 : 4;
    const list: ScopeList = {
      ...{ generation, model, region, companyId },
      readInFull: state === 'complete' || state === 'short' || state === 'absent',
      isAbsent: state === 'absent',
      readUntilMs: readUntilMs === null ? null : Number(readUntilMs),
      stored: Number(stored),
    };
    lists.set(Number(id), list);
    byPlace.set(placeOf(generation, model, region, companyId), list);
  }
  return { models, lists, find: (...place) => byPlace.get(placeOf(...place)) };
}

function placeOf(...[generation, model, region, companyId]: Parameters<ExportScope['find']>): string {
  return `${generation} ${model} ${companyId} ${region}`;
}

/** A company; `id` is its place among those of its generation. */
export interface ScopeCompany extends CompanySide {
  /** The number of its keys in lists that were read in full. */
  keys: number;
  /** The company of the other generation. */
  pairedId: number | null;
  matchedBy: CompanyMatch;
}

/** V3's companies by region and id, V4's by id. */
export interface ScopeCompanies {
  readonly v3: readonly ScopeCompany[];
  readonly v4: readonly ScopeCompany[];
}

/** The companies that V4 lists. */
export function readListedCompanies(db: Db): bigint[] {
  return db.prepare<[], bigint>('SELECT company_id FROM v4_company').pluck().all();
}
