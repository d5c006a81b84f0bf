import type { ApplyTarget } from '../config/apply-targets.js';
import { countOf, groupDigits } from '../text/numbers.js';
import type { UnmappedCount } from './unmapped.js';

/** Version of the plan's JSON. */
export const PLAN_VERSION = 2;

export type Mode = 'new' | 'in_place';
/** What becomes of ids without a twin. */
export type MissingPolicy = 'fail' | 'keep' | 'null';
/** What becomes of values that cannot be told to be V3 ids. */
export type UnknownPolicy = 'fail' | 'keep';
/** Whether a run may leave cells that other programs added or changed during or after it. */
export type OthersPolicy = 'fail' | 'keep';

/** What the user asked for. */
export interface Policy {
  readonly mode: Mode;
  readonly missing: MissingPolicy;
  readonly unknown: UnknownPolicy;
  readonly others: OthersPolicy;
  /** Deleted records with a V4 id count as mapped. */
  readonly mapDeleted: boolean;
  /** Also take rows that came or were left alone in an earlier, finished run. */
  readonly again: boolean;
}

/** Something the plan names: a reason not to go on, or one to think first. */
export interface Note {
  readonly level: 'blocks' | 'warning' | 'info';
  readonly code: string;
  readonly text: string;
}

/** One category of one column. */
export interface PlanCount {
  /** `mapped`, `empty`, `not_ours`, `status/reason` or `unknown/why`. */
  readonly name: string;
  readonly rows: number;
  readonly ids: number;
  readonly atLeast: boolean;
  readonly samples: readonly string[];
}

export interface ColumnPlan {
  readonly column: string;
  /** The model, or the column that names it. */
  readonly model: string;
  /** The new column; null where the column itself or a new file is written. */
  readonly newColumn: string | null;
  readonly counts: readonly PlanCount[];
  /** Values that earlier runs left without a V4 id, or that came since. */
  readonly left: readonly UnmappedCount[];
  /** Changes when the data do. */
  readonly digest: string;
}

/** How far earlier runs came with a target. */
export interface Earlier {
  readonly state: 'none' | 'unfinished' | 'finished';
  readonly run: string | null;
  /** Cells that were rewritten already, by the ledger; in tables only while they hold what was written. */
  readonly done: number;
  /** Cells that an unfinished run still has to rewrite. */
  readonly left: number;
  /** Cells without an entry that a finished run left alone or that came since; not touched without `again`. */
  readonly since: number;
  /** Cells that were rewritten and hold something else by now: never touched again. */
  readonly changedSince: number;
  /** The first of their rows. */
  readonly changedRows: readonly string[];
}

export const NO_EARLIER: Earlier = {
  state: 'none',
  run: null,
  done: 0,
  left: 0,
  since: 0,
  changedSince: 0,
  changedRows: [],
};

/** `3 cells hold something else than the run wrote: row 4, row 7, row 8`. */
export function describeChanged(
  { changedSince: count, changedRows: rows }: Earlier,
  unit: 'cell' | 'line' = 'cell',
): string {
  const more = count > rows.length ? `, … and ${groupDigits(count - rows.length)} more` : '';
  const hold = count === 1 ? 'holds' : 'hold';
  return `Changed since: ${countOf(count, unit)} ${hold} something else than the run wrote (${rows.join(', ')}${more})`;
}

export interface TargetPlan {
  readonly name: string;
  readonly kind: string;
  /** File or table, without secrets. */
  readonly place: string;
  /** The target as configured. */
  readonly definition: ApplyTarget;
  /** The new file; null for tables and for files in place. */
  readonly output: string | null;
  readonly rows: number;
  readonly columns: readonly ColumnPlan[];
  readonly earlier: Earlier;
  readonly notes: readonly Note[];
  /** Changes when anything else about the target does: a file's sha256. */
  readonly fingerprint: string;
  readonly estimateSeconds: number;
}

export interface Plan {
  readonly planVersion: typeof PLAN_VERSION;
  readonly tool: string;
  readonly remap: { readonly sha256: string; readonly builtAt: string };
  readonly policy: Policy;
  readonly targets: readonly TargetPlan[];
}

/** What stands in the way, over all targets. */
export function findBlocks(plan: Plan): { readonly target: string; readonly note: Note }[] {
  return plan.targets.flatMap((target) =>
    [...target.notes, ...judgeColumns(target, plan.policy)]
      .filter((note) => note.level === 'blocks')
      .map((note) => ({ target: target.name, note })),
  );
}

/** What the policy makes of ids that do not map. */
export function judgeColumns(target: Pick<TargetPlan, 'columns'>, policy: Policy): Note[] {
  return target.columns.flatMap(({ column, counts }) => {
    const notes: Note[] = [];
    const missing = sum(counts.filter(isMissing));
    const unknown = sum(counts.filter(isUnknown));
    if (missing > 0 && policy.missing === 'fail') {
      const text = `${column}: ${missing} ${missing === 1 ? 'id has' : 'ids have'} no twin in V4 (--missing fail).`;
      notes.push({ level: 'blocks', code: 'missing', text });
    }
    if (unknown > 0 && policy.unknown === 'fail') {
      const text = `${column}: ${unknown} ${unknown === 1 ? 'value is' : 'values are'} no V3 id of this model (--unknown fail).`;
      notes.push({ level: 'blocks', code: 'unknown', text });
    }
    return notes;
  });
}

export function isMissing({ name }: PlanCount): boolean {
  return name.includes('/') && !isUnknown({ name });
}

export function isUnknown({ name }: Pick<PlanCount, 'name'>): boolean {
  return name.startsWith('unknown/');
}

/** Distinct ids of some counts. */
export function sum(counts: readonly PlanCount[]): number {
  return counts.reduce((total, count) => total + count.ids, 0);
}

/** What differs between the plan that was agreed to and the one the data give now; empty: nothing. */
export function comparePlans(agreed: Plan, now: Plan): string[] {
  const ignored = new Set(['tool', 'estimateSeconds', 'builtAt', 'atLeast', 'samples']);
  const differences: string[] = [];
  const compare = (a: unknown, b: unknown, path: string): void => {
    if (typeof a === 'object' && typeof b === 'object' && a !== null && b !== null) {
      const left = namedMembers(a);
      const right = namedMembers(b);
      for (const key of new Set([...left.keys(), ...right.keys()])) {
        if (!ignored.has(key)) compare(left.get(key), right.get(key), path === '' ? key : `${path} › ${key}`);
      }
    } else if (a !== b) {
      differences.push(`${path}: was ${show(a)}, is ${show(b)}`);
    }
  };
  compare(agreed, now, '');
  return differences;
}

/** Items of lists by their names, so that a difference says where it is. */
function namedMembers(value: object): Map<string, unknown> {
  if (!Array.isArray(value)) return new Map(Object.entries(value));
  return new Map(value.map((item: unknown, at) => [nameOf(item) ?? String(at + 1), item]));
}

function nameOf(item: unknown): string | null {
  if (typeof item !== 'object' || item === null) return null;
  for (const key of ['name', 'column', 'code'] as const) {
    const value = key in item ? Object.entries(item).find(([own]) => own === key)?.[1] : undefined;
    if (typeof value === 'string') return value;
  }
  return null;
}

function show(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}
