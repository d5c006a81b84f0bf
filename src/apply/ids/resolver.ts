import { formatModelRef, type ModelRef } from '../../config/apply-targets.js';
import {
  type Category,
  type Id,
  type InvalidForm,
  invalidFormOf,
  isIdText,
  type ModelIds,
  SEVERAL,
  toId,
} from './model-ids.js';
import type { RemapIds, RowOfId } from './remap-ids.js';

/** Why a value is not known to be a V3 id. */
export type UnknownReason =
  | InvalidForm
  /** Only a V4 id of this model: perhaps rewritten already. */
  | 'known_as_v4_only'
  /** Neither a V3 nor a V4 id of this model. */
  | 'not_in_remap'
  /** A V3 id of this model, but not in the row's company or region. */
  | 'other_scope'
  /** The id maps to different V4 ids in several regions or companies; the target must name one. */
  | 'several_scopes'
  /** The row names no company or region, but the target says where to find it. */
  | 'no_scope'
  /** The text fits no pattern of the column. */
  | 'no_pattern'
  /** The text fits several patterns, or one in several ways. */
  | 'several_matches'
  /** The row's model is not one of the target's. */
  | 'unknown_model';

/** The category of a value whose `platform_id` is not known, where that is what a column takes. */
export const NO_PLATFORM_ID = 'no_platform_id';

/** Model, region and company that a row names beside its id; null if the target fixes or omits them. */
export interface RowScope {
  readonly model: string | null;
  readonly region: string | null;
  readonly company: string | null;
}

export const NO_SCOPE: RowScope = { model: null, region: null, company: null };

/** How the ids of one column are looked up. */
export interface LookUp {
  /** The model of every row; null if each row names its own, resolved by `models`. */
  readonly model: ModelRef | null;
  /** The model for each name that rows use; null: its rows hold no ids of the service. */
  readonly models: ReadonlyMap<string, ModelRef | null>;
  /** Undefined: not used; null: named by each row. */
  readonly region: string | null | undefined;
  readonly company: string | null | undefined;
  readonly mapDeleted: boolean;
}

/**
 * Looks up the cells of a column and returns their categories. The other members describe the cell that was looked up
 * last.
 */
export interface CellResolver {
  /** The id, if the cell is one; null otherwise. */
  readonly id: Id | null;
  readonly ids: ModelIds | null;
  /** The id's position in `ids`; -1 if absent. */
  readonly slot: number;
  /** The region of an id that several have; null otherwise. */
  readonly region: string | null;
  /** The new text of a mapped cell. */
  readonly newText: string;
  /** The new value of a mapped cell, in the form in which values are checked for uniqueness and range. */
  readonly newValue: Id | string;
  /** The value of a cell that stays, in the same form; null if it cannot equal a new value. */
  readonly oldValue: Id | string | null;
  /** A stored text, or an integer that is exact. */
  lookUp(value: string | number, scope: RowScope): Category;
  invalid(why: InvalidForm): Category;
}

const CACHED_UNKNOWNS = 100_000;

/** Looks up cells that are ids themselves. */
export class Resolver implements CellResolver {
  id: Id | null = null;
  ids: ModelIds | null = null;
  slot = -1;
  region: string | null = null;
  newValue: Id | string = 0;
  readonly #remap: RemapIds;
  readonly #lookUp: LookUp;
  readonly #isScoped: boolean;
  readonly #unknowns = new Map<string, Category>();
  readonly #fixed: ModelIds | null;

  constructor(remap: RemapIds, lookUp: LookUp) {
    this.#remap = remap;
    this.#lookUp = lookUp;
    this.#isScoped = lookUp.region !== undefined || lookUp.company !== undefined;
    this.#fixed = lookUp.model === null ? null : this.#load(lookUp.model);
  }

  get newText(): string {
    return String(this.newValue);
  }

  get oldValue(): Id | null {
    return this.id;
  }

  /** False if the target maps the row's model to null. */
  isOurs(scope: RowScope): boolean {
    return this.#idsOfRow(scope) !== 'not_ours';
  }

  lookUp(value: string | number, scope: RowScope): Category {
    if (value === '') return this.#noId('empty');
    const ids = this.#idsOfRow(scope);
    if (typeof ids === 'string') {
      this.#noId(ids);
      // It stays, and may equal the new value of another row.
      if (typeof value === 'number') this.id = value;
      else if (isIdText(value)) this.id = toId(value);
      return ids;
    }
    if (typeof value === 'number') return this.#lookUpId(ids, value, scope);
    return isIdText(value) ? this.#lookUpId(ids, toId(value), scope) : this.invalid(invalidFormOf(value));
  }

  /** The category of a value whose form rules out an id. */
  invalid(why: InvalidForm): Category {
    return this.#noId(`unknown/${why}`);
  }

  #noId(category: Category): Category {
    this.slot = -1;
    this.ids = null;
    this.id = null;
    return category;
  }

  #idsOfRow(scope: RowScope): ModelIds | Category {
    if (this.#fixed !== null) return this.#fixed;
    const ref = scope.model === null ? undefined : this.#lookUp.models.get(scope.model);
    if (ref === undefined) return 'unknown/unknown_model';
    return ref === null ? 'not_ours' : this.#load(ref);
  }

  #load(ref: ModelRef): ModelIds {
    return this.#remap.load({ ref, isScoped: this.#isScoped, mapDeleted: this.#lookUp.mapDeleted });
  }

  #lookUpId(ids: ModelIds, id: Id, scope: RowScope): Category {
    const slot = ids.find(id);
    this.id = id;
    this.ids = ids;
    this.slot = slot;
    this.region = null;
    if (slot < 0) return this.#lookUpUnknown(ids, id);
    const category = ids.answerAt(slot)?.category ?? SEVERAL;
    if (category === 'mapped') this.newValue = ids.v4At(slot);
    return this.#isScoped ? this.#lookUpScoped(ids, slot, category, scope) : category;
  }

  /** The one `platform_id` of the V3 records with the id that was looked up last; null if none or several are known. */
  platformId(row: RowScope): string | null {
    if (this.ids === null || this.slot < 0) return null;
    this.ids.platformIds ??= this.#remap.loadPlatformIds(this.ids);
    const known = this.ids.platformIds[this.slot];
    if (known !== undefined || !this.#isScoped) return known ?? null;
    const [first, ...others] = this.#rowsOfId(this.ids.ref, this.#scopeOf(row));
    return others.every(({ platformId }) => platformId === first?.platformId)
      ? (first?.platformId ?? null)
      : null;
  }

  #scopeOf(row: RowScope): Pick<RowScope, 'region' | 'company'> {
    const { region, company } = this.#lookUp;
    return {
      region: region === null ? row.region : (region ?? null),
      company: company === null ? row.company : (company ?? null),
    };
  }

  /** The remap rows of the id that was looked up last, in the given region and company. */
  #rowsOfId(ref: ModelRef, { region, company }: Pick<RowScope, 'region' | 'company'>): RowOfId[] {
    return this.#remap
      .rowsOf(ref, this.id ?? 0, this.#lookUp.mapDeleted)
      .filter(
        (row) => (region === null || row.region === region) && (company === null || row.company === company),
      );
  }

  #lookUpScoped(ids: ModelIds, slot: number, category: Category, row: RowScope): Category {
    const named = this.#scopeOf(row);
    const { region, company } = named;
    const isUnnamed =
      (this.#lookUp.region === null && region === null) ||
      (this.#lookUp.company === null && company === null);
    if (isUnnamed) return 'unknown/no_scope';
    if (category === SEVERAL) return this.#lookUpRows(ids.ref, named);
    const own = ids.answerAt(slot);
    const isOther =
      (region !== null && own?.region !== region) || (company !== null && own?.company !== company);
    return isOther ? 'unknown/other_scope' : category;
  }

  /** Looks up an id with several remap rows among those of the given region and company. */
  #lookUpRows(ref: ModelRef, scope: Pick<RowScope, 'region' | 'company'>): Category {
    const rows = this.#rowsOfId(ref, scope);
    const [first] = rows;
    if (first === undefined) return 'unknown/other_scope';
    const { category, outcome } = first;
    this.region = first.region;
    const newIdOf = (row: typeof first) => (row.category === 'mapped' ? row.v4 : null);
    const v4 = newIdOf(first);
    if (!rows.every((row) => row.outcome === outcome && newIdOf(row) === v4)) return SEVERAL;
    if (v4 !== null) this.newValue = toId(v4);
    return category;
  }

  #lookUpUnknown({ ref }: ModelIds, id: Id): Category {
    const key = `${formatModelRef(ref)} ${id}`;
    const known = this.#unknowns.get(key);
    if (known !== undefined) return known;
    const category = this.#remap.hasV4(ref, id) ? 'unknown/known_as_v4_only' : 'unknown/not_in_remap';
    if (this.#unknowns.size < CACHED_UNKNOWNS) this.#unknowns.set(key, category);
    return category;
  }
}

/**
 * Looks up the `platform_id` of the V3 record that a cell names, whether or not the record has a twin. The categories
 * are `mapped`, `empty`, `not_ours` and `NO_PLATFORM_ID`.
 */
export class PlatformIdResolver extends Resolver {
  override get oldValue(): null {
    return null;
  }

  override lookUp(value: string | number, scope: RowScope): Category {
    const category = super.lookUp(value, scope);
    if (category === 'empty' || category === 'not_ours') return category;
    const isOfRow = category !== 'unknown/other_scope' && category !== 'unknown/no_scope';
    const found = isOfRow ? this.platformId(scope) : null;
    if (found === null) return NO_PLATFORM_ID;
    this.newValue = found;
    return 'mapped';
  }

  override invalid(why: InvalidForm): Category {
    super.invalid(why);
    return NO_PLATFORM_ID;
  }
}
