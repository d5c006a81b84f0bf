import {
  formatModelRef,
  type IdColumn,
  type ModelRef,
  parseModelRef,
  patternModels,
} from '../config/apply-targets.js';
import { didYouMeanEnding } from '../text/suggest.js';
import type { ApplyContext } from './context.js';
import type { FinalIds } from './engine/final-ids.js';
import { partsOf, writesPlatformId } from './engine/id-columns.js';
import { ColumnTally } from './ids/column-tally.js';
import type { Category, InvalidForm } from './ids/id-form.js';
import { buildPatternResolver, type PatternResolver } from './ids/pattern-resolver.js';
import { PlatformIdResolver } from './ids/platform-id-resolver.js';
import type { RemapIds } from './ids/remap-ids.js';
import { type CellResolver, type LookUp, Resolver, type RowScope } from './ids/resolver.js';
import { blocks, type Note, type Policy } from './plan.js';

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

/** `replace`: by the V4 id; `clear`: empty the cell; `keep`: no V4 id is known; `none`: the cell holds no id of the model. */
export type CellAction = 'replace' | 'clear' | 'keep' | 'none';

/** Prepares to process a column. The ids of a model are loaded once. */
export function openColumn({ ids }: Pick<ApplyContext, 'ids'>, column: IdColumn, policy: Policy): ColumnWork {
  const parts = partsOf(column);
  if (parts.length > 1) {
    const [first, ...others] = parts.map((part) => openColumn({ ids }, part, policy));
    if (first !== undefined) return { ...first, column, parts: [first, ...others] };
  }
  const lookUp = lookUpOf(ids, column, policy);
  const inText = column.pattern === undefined ? null : buildPatternResolver(ids, column, lookUp);
  const records = inText ?? new Resolver(ids, lookUp);
  const isPlatformId = writesPlatformId(column) && records instanceof Resolver;
  const resolver = isPlatformId ? new PlatformIdResolver(records) : records;
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

/** Looks up and counts a text for `rows` rows. Returns the action for it; the new text is in `work.resolver.newText`. */
export function judgeText(work: ColumnWork, text: string, scope: RowScope, rows = 1): CellAction {
  return count(work, work.resolver.lookUpText(text, scope), () => text, scope, rows);
}

/** As `judgeText`, for an exact integer. */
export function judgeNumber(work: ColumnWork, value: number, scope: RowScope): CellAction {
  return count(work, work.resolver.lookUpNumber(value, scope), () => String(value), scope, 1);
}

/** As `judgeText`, for a value that cannot be an id. `text`: a sample of it, read only if it is needed. */
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
  if (finals === null || action === 'none' || action === 'clear') return action;
  const final = action === 'replace' ? resolver.newValue : resolver.oldValue;
  // Beyond the tally's limit, `isNew` is false for new texts too.
  if (final !== null && (isNew || typeof final === 'string')) finals.add(final);
  return action;
}

/** The policy's action for a category. Values that may not be V3 ids are never cleared. */
function actionOf({ missing }: ColumnWork, category: Category): CellAction {
  if (category === 'mapped') return 'replace';
  if (category === 'empty' || category === 'not_ours') return 'none';
  return missing === 'null' && !category.startsWith('unknown/') ? 'clear' : 'keep';
}

/** Whether other columns name the model, region or company of each row. */
export function needsScope({ modelColumn, regionColumn, companyColumn }: IdColumn): boolean {
  return modelColumn !== undefined || regionColumn !== undefined || companyColumn !== undefined;
}
