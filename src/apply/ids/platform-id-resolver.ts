import type { Category, InvalidForm } from './id-form.js';
import type { Id, ModelIds } from './model-ids.js';
import { type CellResolver, NO_PLATFORM_ID, type Resolver, type RowScope } from './resolver.js';

/**
 * Looks up the `platform_id` of the V3 record that a cell names, whether or not the record has a twin. The categories
 * are `mapped`, `empty`, `not_ours` and `NO_PLATFORM_ID`.
 */
export class PlatformIdResolver implements CellResolver {
  newText = '';
  readonly oldValue = null;
  readonly #records: Resolver;

  constructor(records: Resolver) {
    this.#records = records;
  }

  get id(): Id | null {
    return this.#records.id;
  }

  get ids(): ModelIds | null {
    return this.#records.ids;
  }

  get slot(): number {
    return this.#records.slot;
  }

  get newValue(): string {
    return this.newText;
  }

  lookUpText(text: string, scope: RowScope): Category {
    return this.#find(this.#records.lookUpText(text, scope), scope);
  }

  lookUpNumber(value: number, scope: RowScope): Category {
    return this.#find(this.#records.lookUpNumber(value, scope), scope);
  }

  invalid(why: InvalidForm): Category {
    return this.#find(this.#records.invalid(why), null);
  }

  #find(category: Category, scope: RowScope | null): Category {
    if (category === 'empty' || category === 'not_ours') return category;
    const isOfRow = scope !== null && category !== 'unknown/other_scope' && category !== 'unknown/no_scope';
    const found = isOfRow ? this.#records.platformId(scope) : null;
    if (found === null) return NO_PLATFORM_ID;
    this.newText = found;
    return 'mapped';
  }
}
