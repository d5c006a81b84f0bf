import type { IdColumn } from '../../config/apply-targets.js';
import { describeCollisions, openColumn } from '../column-work.js';
import { NamedRows } from '../context.js';
import { IdSet } from '../ids/model-ids.js';
import { blocksOf, type Mode, type Note } from '../plan.js';
import type { Engine, JudgedCells } from './dialect.js';
import { rowsToLookUp } from './found-table.js';
import { writesPlatformId } from './id-columns.js';
import { cellText, judgeCells } from './judge-cells.js';
import { columnOf, type FoundTable } from './table-facts.js';

/** Types whose text may be the same for different values. */
const INEXACT = /binary|blob|\bbit|float|double|real/i;

/** For each unique key of several columns in which only this one changes, the other columns. `FinalIds` checks keys of one column. */
function keysBeside({ target, facts }: FoundTable, id: IdColumn, mode: Mode): readonly (readonly string[])[] {
  if (mode === 'new' || id.path !== undefined || writesPlatformId(id)) return [];
  const changing = new Set(target.ids.map(({ column }) => column));
  const own = facts.uniques.filter(({ isPlain, columns }) => isPlain && columns.includes(id.column));
  if (own.some(({ columns }) => columns.length === 1)) return [];
  const isCompared = (name: string) =>
    !changing.has(name) && !INEXACT.test(columnOf(facts, name)?.type ?? '');
  return own
    .map(({ columns }) => columns.filter((name) => name !== id.column))
    .filter((others) => others.every(isCompared));
}

/** Values of cells that stay, and of those that change. */
export class MetValues {
  readonly #kept = new IdSet();
  readonly #fresh = new IdSet();
  /** Whether some value is both. */
  isAny = false;

  /** `models`: where values of different models, regions or companies are different, those that rows name; null: elsewhere. */
  constructor(readonly models: IdColumn['models'] | null) {}

  /** Returns whether the value is both. */
  add(value: string, isKept: boolean): boolean {
    (isKept ? this.#kept : this.#fresh).add(value);
    const isBoth = this.has(value);
    this.isAny ||= isBoth;
    return isBoth;
  }

  has(value: string): boolean {
    return this.#kept.has(value) && this.#fresh.has(value);
  }
}

/** The values to compare while a column is counted; null: no unique key of several columns can be violated. */
export function openMetValues(found: FoundTable, id: IdColumn, mode: Mode): MetValues | null {
  const keys = keysBeside(found, id, mode);
  if (keys.length === 0) return null;
  const scopes = [id.modelColumn, id.regionColumn, id.companyColumn].filter((name) => name !== undefined);
  const hasScopes = scopes.length > 0 && scopes.every((name) => keys.every((key) => key.includes(name)));
  return new MetValues(hasScopes ? (id.models ?? {}) : null);
}

/** The value that a cell will hold, as `MetValues` tells it from others. */
export function finalOf(
  { group: [cell, ...scopes], result }: JudgedCells,
  { models }: MetValues,
): string | null {
  const value = result === undefined ? cellText(cell) : result;
  if (value === null || models === null) return value;
  // Rows of other models hold no new ids.
  return models?.[String(scopes[0])] === null ? null : [value, ...scopes].join(' ');
}

/** Notes on new ids that, together with other columns, would equal ids that stay. */
export async function collisionNotes(
  engine: Engine,
  found: FoundTable,
  id: IdColumn,
  values: MetValues,
): Promise<Note[]> {
  const { context, dialect } = engine;
  const { policy } = context;
  const met = new NamedRows();
  for (const others of values.isAny ? keysBeside(found, id, policy.mode) : []) {
    const keys = new MetValues(null);
    const judged = judgeCells(engine, {
      work: openColumn(context, id, policy),
      mode: policy.mode,
      from: rowsToLookUp(engine, found, id).sql,
      extra: others.map((name) => dialect.asText(`t.${dialect.quote(name)}`)),
    });
    for await (const cells of judged) {
      for (const one of cells) {
        const final = finalOf(one, values);
        const value = finalOf(one, keys);
        // NULLs are never equal.
        if (final === null || value === null || one.extra.includes(null) || !values.has(final)) continue;
        if (keys.add(JSON.stringify([value, ...one.extra]), one.result === undefined)) met.add(value);
      }
    }
  }
  return blocksOf({ collision: describeCollisions(id.column, met) });
}
