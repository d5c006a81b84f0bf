import { isTextFile } from '../config/apply-targets.js';
import { describeOutcome } from '../reasons.js';
import { countOf } from '../text/numbers.js';
import * as z from '../zod.js';
import { NO_PLATFORM_ID, type UnknownReason } from './ids/resolver.js';
import {
  type Plan,
  type PlanCount,
  type Policy,
  type UnmappedCount,
  type UnmappedKind,
  unmappedCountSchema,
} from './plan.js';

/** The state of a value when it is counted. */
export type CellState =
  /** Not rewritten yet; this plan decides on it. */
  | 'pending'
  /** In a column that a finished run rewrote, but without an entry in the ledger. */
  | 'not_in_ledger'
  /** A run decided on it: the old value of a ledger entry, or a value in the source of a written file. */
  | 'in_ledger';

/** A value that is left without a V4 id, as `--unmapped` lists it. */
export interface UnmappedRow {
  readonly target: string;
  readonly column: string;
  readonly kind: UnmappedKind;
  readonly reason: string;
  readonly value: string;
  /** Key columns of a table row with their values, as text. */
  readonly key?: Readonly<Record<string, string>>;
  /** Position in a file: the record, counted from 1 without the header, and the line it begins at. */
  readonly row?: number;
  readonly line?: number;
}

/** Called for every value that is left without a V4 id. */
export type OnUnmapped = (row: UnmappedRow) => void;

/** What happens to a value of this category; null if it is not reported as unmapped. */
export function classifyUnmapped(
  state: CellState,
  category: string,
  { missing, unknown }: Pick<Policy, 'missing' | 'unknown'>,
): UnmappedKind | null {
  if (category === 'empty' || category === 'not_ours' || category === NO_PLATFORM_ID) return null;
  if (category === 'mapped') return state === 'not_in_ledger' ? 'came_since' : null;
  if (category.startsWith('unknown/')) {
    return state === 'pending' && unknown === 'fail' ? 'undecided' : 'left_alone';
  }
  if (missing === 'fail') return state === 'pending' ? 'undecided' : 'kept';
  if (missing === 'keep' || missing === 'keep-v3') return 'kept';
  return state === 'not_in_ledger' ? 'came_since' : 'emptied';
}

/** Whether the policy accepts leaving such values, so that they do not fail a run. */
export function isAccepted(kind: UnmappedKind, { missing, unknown, others }: Policy): boolean {
  switch (kind) {
    case 'undecided':
      return false;
    case 'emptied':
      return true;
    case 'kept':
      return missing !== 'fail' || others === 'keep';
    case 'left_alone':
      return unknown === 'keep' || others === 'keep';
    case 'came_since':
    case 'changed_since':
      return others === 'keep';
  }
}

/** The unmapped values among the counts of a column. */
export function unmappedOfCounts(
  state: CellState,
  counts: readonly PlanCount[],
  policy: Pick<Policy, 'missing' | 'unknown'>,
): UnmappedCount[] {
  return counts.flatMap(({ name, rows }) => {
    const kind = classifyUnmapped(state, name, policy);
    return kind === null ? [] : [{ kind, reason: name, cells: rows }];
  });
}

/** Sums counts of the same kind and reason. */
export function sumUnmapped(all: readonly UnmappedCount[]): UnmappedCount[] {
  const sums = new Map<string, UnmappedCount>();
  for (const one of all) {
    const key = `${one.kind} ${one.reason}`;
    sums.set(key, { ...one, cells: one.cells + (sums.get(key)?.cells ?? 0) });
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** Lists what earlier runs left without a V4 id and what came or changed since, but not what the plan itself decides on. */
export function listEarlierUnmapped(plan: Plan): ColumnUnmapped[] {
  const targets = plan.targets.map((target) => ({
    ...target,
    columns: target.columns.map((column) => ({ ...column, counts: [] })),
  }));
  return listUnmapped({ ...plan, targets });
}

/** Unmapped values in one column of one target. */
export const columnUnmappedSchema = unmappedCountSchema.extend({
  target: z.string(),
  column: z.string(),
  isAccepted: z.boolean(),
});
export type ColumnUnmapped = Readonly<z.output<typeof columnUnmappedSchema>>;

/**
 * Lists everything that a plan leaves without a V4 id. `isAfterRun`: the plan was made after a run, so new columns'
 * cells that are still empty count too.
 */
export function listUnmapped({ policy, targets }: Plan, isAfterRun = false): ColumnUnmapped[] {
  return targets.flatMap(({ name, kind, columns, earlier }) => {
    // For a written file, the decisions of its run are counted.
    const isWritten = earlier.state === 'finished' && isTextFile({ kind });
    const inColumns = columns.flatMap(({ column, counts, left }) => {
      const open = isWritten ? [] : unmappedOfCounts('pending', counts, policy);
      return sumUnmapped([...open, ...left]).map((one) => ({ ...one, column }));
    });
    const column = columns.map((one) => one.column).join(', ');
    const unfilled = policy.mode === 'new' && isAfterRun ? earlier.left : 0;
    const since: (UnmappedCount & { column: string })[] = [
      { kind: 'came_since', reason: 'mapped', cells: unfilled, column },
      {
        kind: 'changed_since',
        reason: isTextFile({ kind }) ? 'changed_file' : 'changed',
        cells: earlier.changedSince,
        column,
      },
    ];
    return [...inColumns, ...since.filter(({ cells }) => cells > 0)].map((one) => ({
      ...one,
      target: name,
      isAccepted: isAccepted(one.kind, policy),
    }));
  });
}

const KIND_TEXTS: Readonly<Record<UnmappedKind, string>> = {
  undecided: 'undecided',
  kept: 'kept without a V4 id',
  emptied: 'emptied',
  left_alone: 'left alone',
  came_since: 'not rewritten: added since the run, with an id that maps',
  changed_since: 'not as ledger and remap say: changed since the run',
};

/** `orders, invoice_id: 3 cells emptied: unmatched/unexplained. …` */
export function describeUnmapped({ target, column, kind, reason, cells }: ColumnUnmapped): string {
  if (reason === 'changed_file') return `${target}: the file that the run wrote was changed since.`;
  const head = `${target}, ${column}: ${countOf(cells, 'cell')} ${KIND_TEXTS[kind]}`;
  if (reason === 'mapped' || reason === 'changed') return `${head}.`;
  return `${head}: ${reason}. ${describeCategory(reason)}`;
}

const UNKNOWN: Readonly<Record<UnknownReason, string>> = {
  decimal: 'written with a decimal point',
  exponent: 'written with an exponent',
  leading_zeros: 'written with zeros in front',
  spaces_around: 'with spaces around',
  hex: 'written in hex',
  signed: 'written with a sign',
  grouped_digits: 'written with separators between digits',
  beyond_64_bits: 'beyond 64 bits',
  escaped: 'a JSON text with escapes',
  not_utf8: 'that are not UTF-8',
  not_json: 'not JSON',
  not_a_number: 'not a number',
  not_a_value: 'not a single value',
  known_as_v4_only: 'that are V4 ids but not V3 ids of this model: perhaps rewritten already',
  not_in_remap: 'that are neither V3 nor V4 ids of this model: another model, or foreign',
  other_scope: 'that are V3 ids of this model, but of another company or region than the row says',
  several_scopes:
    'that are V3 ids of several regions or companies, with different V4 ids: name the region or company',
  no_scope: 'in rows that name no region or company, though the target says where to find it',
  no_pattern: 'that fit no pattern of the column',
  several_matches: 'that fit the patterns of the column in more than one way',
  unknown_model: 'in rows whose model the target does not name',
};

/** One sentence on a category of ids that do not map, such as `unmatched/unexplained` or `unknown/hex`. */
export function describeCategory(name: string): string {
  if (name === NO_PLATFORM_ID) return 'Values for which the remap has no single platform_id.';
  if (!name.startsWith('unknown/')) {
    const [status = '', reason = null] = name.split('/');
    return describeOutcome(status, reason).meaning;
  }
  const why = name.slice('unknown/'.length);
  for (const [key, text] of Object.entries(UNKNOWN)) if (key === why) return `Values ${text}.`;
  return '';
}
