import {
  formatModelRef,
  type IdColumn,
  type ModelRef,
  parseModelRef,
  patternModels,
} from '../config/apply-targets.js';
import { countOf } from '../text/numbers.js';
import { didYouMeanEnding } from '../text/suggest.js';
import { type ApplyContext, NamedRows } from './context.js';
import { partsOf, writesPlatformId } from './engine/id-columns.js';
import type { TableColumn } from './engine/table-facts.js';
import {
  type Category,
  hashId,
  type Id,
  IdSet,
  type InvalidForm,
  type ModelIds,
  mix,
} from './ids/model-ids.js';
import { buildPatternResolver, type PatternResolver } from './ids/pattern-resolver.js';
import type { RemapIds } from './ids/remap-ids.js';
import {
  type CellResolver,
  type LookUp,
  PlatformIdResolver,
  Resolver,
  type RowScope,
} from './ids/resolver.js';
import { blocks, blocksOf, type Note, type PlanCount, type Policy } from './plan.js';

/** One id column being processed: its resolver and its counts so far. */
export interface ColumnWork {
  readonly column: IdColumn;
  readonly resolver: CellResolver;
  /** The resolver of a column with patterns, whose ids are inside longer text; null for other columns. */
  readonly inText: PatternResolver | null;
  readonly tally: ColumnTally;
  readonly missing: Policy['missing'];
  /** Checks every distinct value that the column will hold; null if none are checked. */
  readonly finals: FinalIds | null;
  /** Called for every value with its category; null: not needed. */
  readonly onValue: ((category: string, value: string) => void) | null;
  /** For a JSON column with several paths, the work on each path; otherwise empty. */
  readonly parts: readonly ColumnWork[];
}

/** The work on each configured id of a column. */
export function partsOfWork(work: ColumnWork): readonly ColumnWork[] {
  return work.parts.length === 0 ? [work] : work.parts;
}

/**
 * `replace`: by the V4 id; `clear`: empty the cell; `keep`: no V4 id is known; `copy`: the V3 id goes to a new column or file;
 * `none`: the cell holds no id of the model.
 */
export type CellAction = 'replace' | 'clear' | 'keep' | 'copy' | 'none';

/** Prepares to process a column. The ids of a model are loaded once. */
export function openColumn({ ids }: Pick<ApplyContext, 'ids'>, column: IdColumn, policy: Policy): ColumnWork {
  const parts = partsOf(column);
  if (parts.length > 1) {
    const [first, ...others] = parts.map((part) => openColumn({ ids }, part, policy));
    if (first !== undefined) return { ...first, column, parts: [first, ...others] };
  }
  const lookUp = lookUpOf(ids, column, policy);
  const inText = column.pattern === undefined ? null : buildPatternResolver(ids, column, lookUp);
  const isPlatformId = writesPlatformId(column);
  const resolver = inText ?? (isPlatformId ? new PlatformIdResolver(ids, lookUp) : new Resolver(ids, lookUp));
  return {
    column,
    resolver,
    inText,
    tally: new ColumnTally(resolver),
    missing: isPlatformId ? 'keep' : policy.missing,
    finals: null,
    onValue: null,
    parts: [],
  };
}

function lookUpOf(remap: RemapIds, column: IdColumn, policy: Policy): LookUp {
  const { region, regionColumn, company, companyColumn } = column;
  return {
    model: column.model === undefined ? null : parseModelRef(column.model),
    models: modelsOf(remap, column),
    region: region ?? (regionColumn === undefined ? undefined : null),
    company: company ?? (companyColumn === undefined ? undefined : null),
    mapDeleted: policy.mapDeleted,
  };
}

/** The model that each value of `modelColumn` stands for; null: such rows hold no ids of the service. */
function modelsOf(remap: RemapIds, column: IdColumn): Map<string, ModelRef | null> {
  if (column.modelColumn === undefined) return new Map();
  if (column.models === undefined) return new Map(remap.refs().map((ref) => [formatModelRef(ref), ref]));
  return new Map(
    Object.entries(column.models).map(([word, ref]) => [word, ref === null ? null : parseModelRef(ref)]),
  );
}

/** Notes on models and regions that a column names but the remap does not hold. */
export function checkColumn({ ids }: Pick<ApplyContext, 'ids'>, column: IdColumn): Note[] {
  const own = column.model === undefined ? Object.values(column.models ?? {}) : [column.model];
  const named = [...own, ...patternModels(column)];
  const notes: Note[] = [];
  for (const name of named) {
    if (name === null || ids.holdsModel(parseModelRef(name))) continue;
    const known = ids.refs().map(formatModelRef);
    notes.push(blocks('unknown_model', `The remap holds no model ${name}${didYouMeanEnding(name, known)}`));
  }
  if (column.region !== undefined && !ids.holdsRegion(column.region)) {
    notes.push(blocks('unknown_region', `The remap holds no region "${column.region}".`));
  }
  return notes;
}

/** Looks up and counts a value for `rows` rows. Returns the action for it; the new text is in `work.resolver.newText`. */
export function judgeValue(work: ColumnWork, value: string | number, scope: RowScope, rows = 1): CellAction {
  return count(work, work.resolver.lookUp(value, scope), () => String(value), scope, rows);
}

/** As `judgeValue`, for a value that cannot be an id. `text`: a sample of it, read only if it is needed. */
export function judgeInvalid(
  work: ColumnWork,
  form: InvalidForm,
  text: () => string,
  scope: RowScope,
  rows = 1,
): CellAction {
  return count(work, work.resolver.invalid(form), text, scope, rows);
}

function count(
  work: ColumnWork,
  category: Category,
  text: () => string,
  scope: RowScope,
  rows: number,
): CellAction {
  const { resolver, tally, finals, onValue } = work;
  const isNew = tally.add(category, text, scope, rows);
  onValue?.(category, text());
  const action = actionOf(work, category);
  if (finals === null || category === 'empty' || action === 'clear') return action;
  const final = action === 'replace' ? resolver.newValue : resolver.oldValue;
  // The tally counts an id once for all companies, and no texts beyond its limit.
  const isScoped = scope.region !== null || scope.company !== null;
  if (final !== null && (isNew || isScoped || typeof final === 'string')) finals.add(final);
  return action;
}

/** The policy's action for a category. Values that may not be V3 ids are neither cleared nor copied. */
function actionOf({ missing }: ColumnWork, category: Category): CellAction {
  if (category === 'mapped') return 'replace';
  if (category === 'empty' || category === 'not_ours') return 'none';
  if (category.startsWith('unknown/')) return 'keep';
  return missing === 'null' ? 'clear' : missing === 'keep-v3' ? 'copy' : 'keep';
}

/** Whether other columns name the model, region or company of each row. */
export function needsScope({ modelColumn, regionColumn, companyColumn }: IdColumn): boolean {
  return modelColumn !== undefined || regionColumn !== undefined || companyColumn !== undefined;
}

/** The most distinct values of one category, not in the remap, that are counted exactly. */
const COUNTED_UNKNOWNS = 1_000_000;
const SAMPLES = 5;
const SAMPLE_CHARS = 64;

/** The counts of a column, independent of the order of its values. */
interface Tallied {
  readonly counts: readonly PlanCount[];
  /** A hash of all values, their scopes and their frequencies: changes when the data do. */
  readonly digest: string;
}

interface Counter {
  rows: number;
  ids: number;
  /** By model and, for ids that several regions have, by region. */
  readonly bits: Map<ModelIds | string, Uint8Array>;
  readonly texts: Set<string>;
  /** The smallest few values, each once. */
  readonly samples: string[];
}

/** Counts values by the category that a resolver gives them. */
export class ColumnTally {
  readonly #resolver: CellResolver;
  readonly #counters = new Map<Category, Counter>();
  #digestA = 0;
  #digestB = 0;

  constructor(resolver: CellResolver) {
    this.#resolver = resolver;
  }

  /**
   * Counts the value that the resolver looked up last. `text` is called only if the value itself is needed: for ids
   * that are not in the remap, and for samples. Returns whether the value is new in its category.
   */
  add(category: Category, text: () => string, scope: RowScope, rows = 1): boolean {
    const { ids, slot, id } = this.#resolver;
    const counter = this.#counterOf(category);
    counter.rows += rows;
    if (ids === null || id === null || slot < 0) return this.#addText(counter, category, text(), scope, rows);
    this.#digest(hashId(id), scope, rows);
    if (!setBit(bitsOf(counter, ids, this.#resolver.region), slot)) return false;
    counter.ids += 1;
    if (category !== 'mapped') keepSmallest(counter.samples, text());
    return true;
  }

  result(): Tallied {
    const counts = [...this.#counters].map(([name, { rows, ids, texts, samples }]) => ({
      ...{ name, rows, ids, samples },
      atLeast: texts.size >= COUNTED_UNKNOWNS,
    }));
    return {
      counts: counts.sort((a, b) => (a.name < b.name ? -1 : 1)),
      digest: hex(this.#digestA) + hex(this.#digestB),
    };
  }

  #addText(counter: Counter, category: Category, text: string, scope: RowScope, rows: number): boolean {
    this.#digest(hashText(text), scope, rows);
    const known = counter.texts.size;
    if (text === '' || known >= COUNTED_UNKNOWNS || counter.texts.add(text).size === known) return false;
    counter.ids += 1;
    if (category !== 'mapped') keepSmallest(counter.samples, text);
    return true;
  }

  #counterOf(category: Category): Counter {
    let counter = this.#counters.get(category);
    if (counter === undefined) {
      counter = { rows: 0, ids: 0, bits: new Map(), texts: new Set(), samples: [] };
      this.#counters.set(category, counter);
    }
    return counter;
  }

  /** Adds to two independent sums, which do not depend on the order of values. */
  #digest(hash: number, scope: RowScope, rows: number): void {
    let h = hash;
    if (scope.model !== null) h = mix(h, hashText(scope.model));
    if (scope.region !== null) h = mix(h, hashText(scope.region) ^ 1);
    if (scope.company !== null) h = mix(h, hashText(scope.company) ^ 2);
    this.#digestA = (this.#digestA + Math.imul(h, rows)) >>> 0;
    this.#digestB = (this.#digestB + Math.imul(mix(h, 0x5bd1_e995), rows)) >>> 0;
  }
}

function bitsOf(counter: Counter, ids: ModelIds, region: string | null): Uint8Array {
  const key = region === null ? ids : `${formatModelRef(ids.ref)} ${region}`;
  let bits = counter.bits.get(key);
  if (bits === undefined) {
    bits = new Uint8Array(Math.ceil(ids.slots / 8));
    counter.bits.set(key, bits);
  }
  return bits;
}

/** Sets a bit; returns whether it was unset. */
function setBit(bits: Uint8Array, at: number): boolean {
  const byte = bits[at >>> 3] ?? 0;
  const mask = 1 << (at & 7);
  if ((byte & mask) !== 0) return false;
  bits[at >>> 3] = byte | mask;
  return true;
}

/** Orders by length, then by text, which sorts digits by number. */
function keepSmallest(samples: string[], text: string): void {
  const value = text.slice(0, SAMPLE_CHARS);
  const last = samples.at(-1);
  if (samples.includes(value)) return;
  if (samples.length === SAMPLES && last !== undefined && !isSmaller(value, last)) return;
  samples.push(value);
  samples.sort((a, b) => (isSmaller(a, b) ? -1 : 1));
  if (samples.length > SAMPLES) samples.pop();
}

function isSmaller(a: string, b: string): boolean {
  return a.length === b.length ? a < b : a.length < b.length;
}

/** FNV-1a over UTF-16 units. */
function hashText(text: string): number {
  let h = 0x811c_9dc5;
  for (let at = 0; at < text.length; at += 1) h = Math.imul(h ^ text.charCodeAt(at), 0x0100_0193);
  return h >>> 0;
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0');
}

type CheckedColumn = Pick<TableColumn, 'name' | 'type' | 'range' | 'maxChars'> & {
  /** Whether the type can store the character U+0000; by default it can. */
  readonly allowsNulCharacter?: boolean;
};

/**
 * Checks the values that a column will hold, which are ids or texts with ids inside: whether each fits the type, and
 * whether different old values become the same value of a unique column. Call `add` once for each distinct old value.
 */
export class FinalIds {
  readonly #column: CheckedColumn;
  readonly #seen: IdSet | null;
  readonly #collisions = new NamedRows();
  readonly #misfits = new NamedRows();
  #largest: Id = 0;

  /** `isUnique`: the column must not hold equal values. */
  constructor(column: CheckedColumn, isUnique: boolean) {
    this.#column = column;
    this.#seen = isUnique ? new IdSet() : null;
  }

  add(id: Id | string): void {
    if (typeof id !== 'string' && id > this.#largest) this.#largest = id;
    if (this.#seen?.add(id) === false) this.#collisions.add(String(id));
    if (!this.#fits(id)) this.#misfits.add(String(id));
  }

  /** The largest number that was added; 0 if none is positive. */
  largest(): bigint {
    return BigInt(this.#largest);
  }

  notes(): Note[] {
    const { name, type } = this.#column;
    return blocksOf({
      collision: describeCollisions(name, this.#collisions),
      does_not_fit: describe(name, this.#misfits, `would not fit into ${type}`),
    });
  }

  #fits(id: Id | string): boolean {
    const { range, maxChars, allowsNulCharacter = true } = this.#column;
    if (!allowsNulCharacter && typeof id === 'string' && id.includes('\0')) return false;
    if (maxChars !== null) return [...String(id)].length <= maxChars;
    return range === null || typeof id === 'string' || (id >= range[0] && id <= range[1]);
  }
}

function describe(name: string, { count, names }: NamedRows, what: string): string | false {
  return count > 0 && `${name}: ${countOf(count, 'value')} ${what} (${names.slice(0, SAMPLES).join(', ')}).`;
}

/** Values of a column that several rows would hold. */
export function describeCollisions(name: string, values: NamedRows): string | false {
  const text = describe(name, values, 'would occur twice, but must be unique');
  return text && `${text} A new column (without --in-place) may hold both.`;
}
