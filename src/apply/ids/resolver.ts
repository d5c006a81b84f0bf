import { formatModelRef, type ModelRef, parseModelRef } from '../../config/model-ref.js';
import type { Db } from '../../store/open.js';
import { type InvalidForm, invalidFormOf, isIdText } from './id-form.js';
import { type IdMap, loadIdMap, MAPPED, pairCondition, SEVERAL } from './id-map.js';
import { bigHiOf, bigLoOf, digitsOf, hiOf, joinHalves, loOf } from './int64.js';

/** Why a value cannot be told to be a V3 id. */
export type UnknownWhy =
  | InvalidForm
  /** No V3 id of this model, but a V4 id of it: perhaps rewritten already. */
  | 'known_as_v4_only'
  /** Neither a V3 nor a V4 id of this model. */
  | 'not_in_remap'
  /** A V3 id of this model, but not in the row's company or region. */
  | 'other_scope'
  /** Regions or companies disagree on this id; the target must name which. */
  | 'several_scopes'
  /** The row names no company or region, but the target says where to find it. */
  | 'no_scope'
  /** The row's model is not one of the target's. */
  | 'unknown_model';

/** What becomes of a value. */
export type Category =
  | { readonly kind: 'mapped' }
  | { readonly kind: 'empty' }
  /** The row's model is declared as none of ours. */
  | { readonly kind: 'not_ours' }
  | { readonly kind: 'missing'; readonly status: string; readonly reason: string }
  | { readonly kind: 'unknown'; readonly why: UnknownWhy };

/** Places of the categories every resolver has. */
export const MAPPED_CATEGORY = 0;
export const EMPTY_CATEGORY = 1;
export const NOT_OURS_CATEGORY = 2;

/** What a row says beside its id; null where the target names it once for all rows, or not at all. */
export interface RowScope {
  readonly model: string | null;
  readonly region: string | null;
  readonly company: string | null;
}

export const NO_SCOPE: RowScope = { model: null, region: null, company: null };

/** How the ids of one column are looked up. */
export interface LookUp {
  /** Of every row; null: by `models` from the row. */
  readonly model: ModelRef | null;
  /** The row's word for a model → the model; null: none of ours. */
  readonly models: ReadonlyMap<string, ModelRef | null>;
  /** undefined: not used; null: from the row. */
  readonly region: string | null | undefined;
  readonly company: string | null | undefined;
  readonly mapDeleted: boolean;
}

const CACHED_UNKNOWNS = 100_000;

/**
 * Tells what becomes of stored ids. A look-up returns the place of its category in `categories` and leaves
 * the new id in `newHi` and `newLo` (where mapped) and the id's place in `map` and `slot` (slot -1: not in
 * the map), all valid until the next look-up.
 */
export class Resolver {
  readonly categories: Category[] = [{ kind: 'mapped' }, { kind: 'empty' }, { kind: 'not_ours' }];
  newHi = 0;
  newLo = 0;
  hi = 0;
  lo = 0;
  map: IdMap | null = null;
  slot = -1;
  readonly #db: Db;
  readonly #lookUp: LookUp;
  readonly #isScoped: boolean;
  readonly #maps: Map<string, IdMap>;
  readonly #places = new Map<string, number>();
  readonly #verdictPlaces = new Map<IdMap, number[]>();
  readonly #unknowns = new Map<string, number>();
  readonly #fixed: IdMap | null;

  /** `maps` keeps loaded ids for other resolvers of the same remap. */
  constructor(db: Db, lookUp: LookUp, maps: Map<string, IdMap> = new Map()) {
    this.#db = db;
    this.#maps = maps;
    this.#lookUp = lookUp;
    this.#isScoped = lookUp.region !== undefined || lookUp.company !== undefined;
    this.#fixed = lookUp.model === null ? null : this.#mapOf(lookUp.model);
  }

  /** The new id's digits, after a look-up that mapped. */
  get newDigits(): string {
    return digitsOf(this.newHi, this.newLo);
  }

  /** Looks up a stored text. */
  lookText(text: string, scope: RowScope): number {
    if (text === '') return this.#leave(EMPTY_CATEGORY);
    const map = this.#mapOfRow(scope);
    if (typeof map === 'number') return map;
    if (!isIdText(text)) return this.invalidForm(invalidFormOf(text));
    if (text.length <= 15) return this.#look(map, hiOf(Number(text)), loOf(Number(text)), scope);
    const value = BigInt(text);
    return this.#look(map, bigHiOf(value), bigLoOf(value), scope);
  }

  /** Looks up an integer that is exact. */
  lookNumber(value: number | bigint, scope: RowScope): number {
    const map = this.#mapOfRow(scope);
    if (typeof map === 'number') return map;
    if (typeof value === 'number') return this.#look(map, hiOf(value), loOf(value), scope);
    return this.#look(map, bigHiOf(value), bigLoOf(value), scope);
  }

  /** The category of a value that is no id for how it is written. */
  invalidForm(why: InvalidForm): number {
    return this.#leave(this.#placeOf({ kind: 'unknown', why }));
  }

  #mapOfRow(scope: RowScope): IdMap | number {
    if (this.#fixed !== null) return this.#fixed;
    const ref = scope.model === null ? undefined : this.#lookUp.models.get(scope.model);
    if (ref === undefined) return this.#leave(this.#unknown('unknown_model'));
    return ref === null ? this.#leave(NOT_OURS_CATEGORY) : this.#mapOf(ref);
  }

  #mapOf(ref: ModelRef): IdMap {
    const options = { ref, isScoped: this.#isScoped, mapDeleted: this.#lookUp.mapDeleted };
    const key = `${formatModelRef(ref)} ${options.isScoped} ${options.mapDeleted}`;
    let map = this.#maps.get(key);
    if (map === undefined) {
      map = loadIdMap(this.#db, options);
      this.#maps.set(key, map);
    }
    return map;
  }

  #look(map: IdMap, hi: number, lo: number, scope: RowScope): number {
    const slot = map.find(hi, lo);
    this.hi = hi;
    this.lo = lo;
    this.map = map;
    this.slot = slot;
    if (slot < 0) return this.#lookUnknown(map, hi, lo);
    const verdict = map.verdict[slot] ?? 0;
    if (this.#isScoped) return this.#lookScoped(map, slot, verdict, scope);
    if (verdict !== MAPPED) return this.#placeOfVerdict(map, verdict);
    this.newHi = map.newHi[slot] ?? 0;
    this.newLo = map.newLo[slot] ?? 0;
    return MAPPED_CATEGORY;
  }

  #lookScoped(map: IdMap, slot: number, verdict: number, row: RowScope): number {
    const region = this.#lookUp.region === null ? row.region : (this.#lookUp.region ?? null);
    const company = this.#lookUp.company === null ? row.company : (this.#lookUp.company ?? null);
    if (this.#lookUp.region === null && region === null) return this.#unknown('no_scope');
    if (this.#lookUp.company === null && company === null) return this.#unknown('no_scope');
    if (verdict === SEVERAL) return this.#lookRows(map, region, company);
    const own = map.scopes[map.scope[slot] ?? 0];
    if ((region !== null && own?.region !== region) || (company !== null && own?.company !== company)) {
      return this.#unknown('other_scope');
    }
    if (verdict !== MAPPED) return this.#placeOfVerdict(map, verdict);
    this.newHi = map.newHi[slot] ?? 0;
    this.newLo = map.newLo[slot] ?? 0;
    return MAPPED_CATEGORY;
  }

  /** Several rows hold the id: those of the row's region and company decide. */
  #lookRows(map: IdMap, region: string | null, company: string | null): number {
    const rows = this.#rowsOf(map, region, company);
    const [first] = rows;
    if (first === undefined) return this.#unknown('other_scope');
    const same = rows.every(
      (row) => row.v4 === first.v4 && row.status === first.status && row.reason === first.reason,
    );
    if (!same) return this.#unknown('several_scopes');
    if (first.v4 === null) {
      return this.#placeOf({ kind: 'missing', status: first.status, reason: first.reason });
    }
    this.newHi = bigHiOf(first.v4);
    this.newLo = bigLoOf(first.v4);
    return MAPPED_CATEGORY;
  }

  #rowsOf(map: IdMap, region: string | null, company: string | null): RemapAnswer[] {
    const ref = parseModelRef(map.name);
    return this.#db
      .prepare<[object], RemapAnswer>(
        `SELECT iif(${pairCondition(this.#lookUp.mapDeleted)}, v4_svc_id, NULL) AS v4, status,
           ifnull(reason, '') AS reason FROM remap
         WHERE model = @model AND v3_svc_id = @id AND path = @path
           AND (@region IS NULL OR region = @region) AND (@company IS NULL OR v3_company_id = @company)`,
      )
      .all({ ...ref, region, company: company === null ? null : companyId(company), id: this.#id() });
  }

  #lookUnknown(map: IdMap, hi: number, lo: number): number {
    const key = `${map.name} ${digitsOf(hi, lo)}`;
    let place = this.#unknowns.get(key);
    if (place === undefined) {
      place = this.#placeOf({
        kind: 'unknown',
        why: this.#isV4Id(map) ? 'known_as_v4_only' : 'not_in_remap',
      });
      if (this.#unknowns.size < CACHED_UNKNOWNS) this.#unknowns.set(key, place);
    }
    return place;
  }

  #isV4Id(map: IdMap): boolean {
    const ref = parseModelRef(map.name);
    const found = this.#db
      .prepare<[string, bigint, string]>('SELECT 1 FROM remap WHERE model = ? AND v4_svc_id = ? AND path = ?')
      .get(ref.model, this.#id(), ref.path);
    return found !== undefined;
  }

  #id(): bigint {
    return joinHalves(this.hi, this.lo);
  }

  #placeOfVerdict(map: IdMap, verdict: number): number {
    let places = this.#verdictPlaces.get(map);
    if (places === undefined) {
      places = [];
      this.#verdictPlaces.set(map, places);
    }
    let place = places[verdict];
    if (place === undefined) {
      const missing = map.missingOf(verdict);
      place =
        missing === undefined
          ? this.#placeOf({ kind: 'unknown', why: 'several_scopes' })
          : this.#placeOf({ kind: 'missing', ...missing });
      places[verdict] = place;
    }
    return place;
  }

  #unknown(why: UnknownWhy): number {
    return this.#placeOf({ kind: 'unknown', why });
  }

  #placeOf(category: Category): number {
    const key = categoryKey(category);
    let place = this.#places.get(key);
    if (place === undefined) {
      place = this.categories.push(category) - 1;
      this.#places.set(key, place);
    }
    return place;
  }

  #leave(place: number): number {
    this.slot = -1;
    this.map = null;
    return place;
  }
}

interface RemapAnswer {
  readonly v4: bigint | null;
  readonly status: string;
  readonly reason: string;
}

/** A company id that is none finds no row. */
function companyId(text: string): bigint {
  return isIdText(text) ? BigInt(text) : -1n;
}

/** A category's name: `mapped`, `unmatched/unexplained`, `unknown/hex`. */
export function categoryKey(category: Category): string {
  switch (category.kind) {
    case 'missing':
      return `${category.status}/${category.reason}`;
    case 'unknown':
      return `unknown/${category.why}`;
    default:
      return category.kind;
  }
}
