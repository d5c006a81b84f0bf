import type { IdColumn } from '../config/apply-targets.js';
import { formatModelRef, type ModelRef, parseModelRef } from '../config/model-ref.js';
import type { Db } from '../store/open.js';
import { orMeantEnd } from '../text/suggest.js';
import { partsOf } from './engine/json-columns.js';
import { ColumnTally } from './ids/column-tally.js';
import type { InvalidForm } from './ids/id-form.js';
import type { IdMap } from './ids/id-map.js';
import {
  type Category,
  categoryKey,
  EMPTY_CATEGORY,
  type LookUp,
  MAPPED_CATEGORY,
  NOT_OURS_CATEGORY,
  Resolver,
  type RowScope,
} from './ids/resolver.js';
import type { Note, Policy } from './plan.js';

/** One id column under way: how its ids are looked up, and what was found so far. */
export interface ColumnWork {
  readonly column: IdColumn;
  readonly resolver: Resolver;
  readonly tally: ColumnTally;
  readonly missing: Policy['missing'];
  /** Told of every distinct id the column ends up with. */
  readonly finals: FinalsSink | null;
  /** Told of every value with its category. */
  readonly onValue: ((category: string, value: string) => void) | null;
  /** Of a JSON column with several paths: the work on each; else empty. */
  readonly parts: readonly ColumnWork[];
}

/** The work on each id of a column, as configured. */
export function partsOfWork(work: ColumnWork): readonly ColumnWork[] {
  return work.parts.length === 0 ? [work] : work.parts;
}

export interface FinalsSink {
  add(hi: number, lo: number, digits: () => string): void;
}

/** What is done with a value: another id, an empty cell, left for want of a twin, or nothing as it holds no id of ours. */
export type CellAction = 'replace' | 'clear' | 'keep' | 'none';

/** The remap with the ids that were loaded from it. */
export interface RemapSource {
  readonly remap: Db;
  readonly idMaps: Map<string, IdMap>;
}

/** Begins work on a column. Loads the ids of its model, once per source. */
export function openColumn({ remap, idMaps }: RemapSource, column: IdColumn, policy: Policy): ColumnWork {
  const parts = partsOf(column);
  if (parts.length > 1) {
    const [first, ...others] = parts.map((part) => openColumn({ remap, idMaps }, part, policy));
    if (first !== undefined) return { ...first, column, parts: [first, ...others] };
  }
  const resolver = new Resolver(remap, lookUpOf(remap, column, policy), idMaps);
  return {
    column,
    resolver,
    tally: new ColumnTally(resolver),
    missing: policy.missing,
    finals: null,
    onValue: null,
    parts: [],
  };
}

/** The same look-ups with a tally that starts at zero. */
export function restartTally(work: ColumnWork): ColumnWork {
  return { ...work, tally: new ColumnTally(work.resolver) };
}

function lookUpOf(db: Db, column: IdColumn, policy: Policy): LookUp {
  const { region, regionColumn, company, companyColumn } = column;
  return {
    model: column.model === undefined ? null : parseModelRef(column.model),
    models: modelsOf(db, column),
    region: region ?? (regionColumn === undefined ? undefined : null),
    company: company ?? (companyColumn === undefined ? undefined : null),
    mapDeleted: policy.mapDeleted,
  };
}

function modelsOf(db: Db, column: IdColumn): Map<string, ModelRef | null> {
  if (column.modelColumn === undefined) return new Map();
  if (column.models === undefined) return new Map(readModelRefs(db).map((ref) => [formatModelRef(ref), ref]));
  return new Map(
    Object.entries(column.models).map(([word, ref]) => [word, ref === null ? null : parseModelRef(ref)]),
  );
}

/** Every model and child path the remap holds. */
export function readModelRefs(db: Db): ModelRef[] {
  return db.prepare<[], ModelRef>('SELECT DISTINCT model, path FROM remap ORDER BY model, path').all();
}

/** What is wrong with the models, regions and companies a column names. */
export function checkColumn(db: Db, column: IdColumn): Note[] {
  const named = column.model === undefined ? Object.values(column.models ?? {}) : [column.model];
  const notes: Note[] = [];
  for (const name of named) {
    if (name === null || holdsModel(db, parseModelRef(name))) continue;
    const known = readModelRefs(db).map(formatModelRef);
    notes.push(blocks('unknown_model', `The remap holds no model ${name}${orMeantEnd(name, known)}`));
  }
  if (column.region !== undefined && !holdsRegion(db, column.region)) {
    notes.push(blocks('unknown_region', `The remap holds no region "${column.region}".`));
  }
  return notes;
}

function holdsModel(db: Db, { model, path }: ModelRef): boolean {
  return (
    db.prepare('SELECT 1 FROM remap WHERE model = ? AND path = ? LIMIT 1').get(model, path) !== undefined
  );
}

function holdsRegion(db: Db, region: string): boolean {
  return db.prepare('SELECT 1 FROM remap WHERE region = ? LIMIT 1').get(region) !== undefined;
}

export function blocks(code: string, text: string): Note {
  return { level: 'blocks', code, text };
}

/** Looks a text up, counts it and says what becomes of it; the new id is `work.resolver.newDigits`. */
export function judgeText(work: ColumnWork, text: string, scope: RowScope, rows = 1): CellAction {
  const place = work.resolver.lookText(text, scope);
  return count(work, place, () => text, scope, rows);
}

/** The same for an exact integer. */
export function judgeNumber(work: ColumnWork, value: number | bigint, scope: RowScope): CellAction {
  const place = work.resolver.lookNumber(value, scope);
  return count(work, place, () => String(value), scope, 1);
}

/** The same for a value that is no id for how it is written. */
export function judgeInvalid(
  work: ColumnWork,
  form: InvalidForm,
  text: () => string,
  scope: RowScope,
  rows = 1,
): CellAction {
  return count(work, work.resolver.invalidForm(form), text, scope, rows);
}

function count(
  work: ColumnWork,
  place: number,
  text: () => string,
  scope: RowScope,
  rows: number,
): CellAction {
  const isNew = work.tally.add(place, text, scope, rows);
  if (work.onValue !== null) tellValue(work, work.onValue, place, text);
  const action = actionOf(work, place);
  if (isNew && work.finals !== null) tellFinal(work, work.finals, action, text);
  return action;
}

function tellValue(
  { resolver }: ColumnWork,
  onValue: (category: string, value: string) => void,
  place: number,
  text: () => string,
): void {
  const category = resolver.categories[place];
  if (category !== undefined) onValue(categoryKey(category), text());
}

function tellFinal(
  { resolver }: ColumnWork,
  finals: FinalsSink,
  action: CellAction,
  text: () => string,
): void {
  if (action === 'replace') finals.add(resolver.newHi, resolver.newLo, () => resolver.newDigits);
  else if (action === 'keep' && resolver.map !== null) finals.add(resolver.hi, resolver.lo, text);
}

/** What the policy says of a category. Values that may be no V3 ids are never cleared. */
function actionOf(work: ColumnWork, place: number): CellAction {
  if (place === MAPPED_CATEGORY) return 'replace';
  if (place === EMPTY_CATEGORY || place === NOT_OURS_CATEGORY) return 'none';
  const category: Category | undefined = work.resolver.categories[place];
  return category?.kind === 'missing' && work.missing === 'null' ? 'clear' : 'keep';
}

/** Whether rows of this column say more than their id. */
export function needsScope({ modelColumn, regionColumn, companyColumn }: IdColumn): boolean {
  return modelColumn !== undefined || regionColumn !== undefined || companyColumn !== undefined;
}
