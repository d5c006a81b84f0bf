import { describeOutcome } from '../reasons.js';
import { countOf } from '../text/numbers.js';
import { wrapLines } from '../text/text-layout.js';
import type { UnknownWhy } from './ids/resolver.js';
import type { Plan, PlanCount, Policy, UnmappedCount, UnmappedKind } from './plan.js';

/** Where a value stands when it is counted. */
export type CellState =
  /** Not rewritten yet: this plan decides about it. */
  | 'pending'
  /** In a column that a finished run went through, without an entry in the ledger. */
  | 'not_in_ledger'
  /** What a run decided about it: the old value of a ledger entry, or of the source of a written file. */
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

/** Told of every value that is left without a V4 id. */
export type OnUnmapped = (row: UnmappedRow) => void;

/** What becomes of a value of this category; null where nothing is left to say. */
export function classifyUnmapped(
  state: CellState,
  category: string,
  { missing, unknown }: Pick<Policy, 'missing' | 'unknown'>,
): UnmappedKind | null {
  if (category === 'empty' || category === 'not_ours') return null;
  if (category === 'mapped') return state === 'not_in_ledger' ? 'came_since' : null;
  if (category.startsWith('unknown/')) {
    return state === 'pending' && unknown === 'fail' ? 'undecided' : 'left_alone';
  }
  if (missing === 'fail') return state === 'pending' ? 'undecided' : 'kept';
  if (missing === 'keep') return 'kept';
  return state === 'not_in_ledger' ? 'came_since' : 'emptied';
}

/** Whether the policy says that this may be left, so that it does not fail a run. */
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

/** The counts of a column as what is left of them. */
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

/** Sums of the same kind and reason. */
export function sumUnmapped(all: readonly UnmappedCount[]): UnmappedCount[] {
  const sums = new Map<string, UnmappedCount>();
  for (const one of all) {
    const key = `${one.kind} ${one.reason}`;
    sums.set(key, { ...one, cells: one.cells + (sums.get(key)?.cells ?? 0) });
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** Without what the plan is about to decide: what earlier runs left, and what came or changed since. */
export function listEarlierUnmapped(plan: Plan): ColumnUnmapped[] {
  const targets = plan.targets.map((target) => ({
    ...target,
    columns: target.columns.map((column) => ({ ...column, counts: [] })),
  }));
  return listUnmapped({ ...plan, targets });
}

/** What a plan leaves in one column of one target. */
export interface ColumnUnmapped extends UnmappedCount {
  readonly target: string;
  readonly column: string;
  readonly isAccepted: boolean;
}

/**
 * Everything a plan, or the look after a run, leaves without a V4 id. `isAfterRun`: new columns should be full by now;
 * before, filling what came is what the plan is for.
 */
export function listUnmapped({ policy, targets }: Plan, isAfterRun = false): ColumnUnmapped[] {
  return targets.flatMap(({ name, kind, columns, earlier }) => {
    // A written file is counted by what its run decided.
    const isWritten = earlier.state === 'finished' && (kind === 'csv' || kind === 'ndjson');
    const inColumns = columns.flatMap(({ column, counts, left }) => {
      const open = isWritten ? [] : unmappedOfCounts('pending', counts, policy);
      return sumUnmapped([...open, ...left]).map((one) => ({ ...one, column }));
    });
    const column = columns.map((one) => one.column).join(', ');
    const unfilled = policy.mode === 'new' && isAfterRun ? earlier.left : 0;
    const since: (UnmappedCount & { column: string })[] = [
      { kind: 'came_since', reason: 'mapped', cells: unfilled, column },
      { kind: 'changed_since', reason: 'changed', cells: earlier.changedSince, column },
    ];
    return [...inColumns, ...since.filter(({ cells }) => cells > 0)].map((one) => ({
      ...one,
      target: name,
      isAccepted: isAccepted(one.kind, policy),
    }));
  });
}

const SAYS: Readonly<Record<UnmappedKind, string>> = {
  undecided: 'not decided about',
  kept: 'kept without a V4 id',
  emptied: 'emptied',
  left_alone: 'left alone',
  came_since: 'not rewritten: came since the run, with an id that maps',
  changed_since: 'changed by another program since the run',
};

/** `orders, invoice_id: 3 cells emptied: unmatched/unexplained. …` */
export function describeUnmapped({ target, column, kind, reason, cells }: ColumnUnmapped): string {
  const head = `${target}, ${column}: ${countOf(cells, 'cell')} ${SAYS[kind]}`;
  if (reason === 'mapped' || reason === 'changed') return `${head}.`;
  return `${head}: ${reason}. ${describeCategory(reason)}`;
}

/** What is left without a V4 id, one line for each column and reason. */
export function renderUnmapped(left: readonly ColumnUnmapped[], width: number): string {
  return wrapLines(
    left.map((one) => `  ${describeUnmapped(one)}`),
    width,
  );
}

const UNKNOWN: Readonly<Record<UnknownWhy, string>> = {
  decimal: 'written with a decimal point',
  exponent: 'written with an exponent',
  leading_zeros: 'written with zeros in front',
  spaces_around: 'with spaces around',
  hex: 'written in hex',
  signed: 'written with a sign',
  grouped_digits: 'written with separators between digits',
  beyond_64_bits: 'beyond 64 bits',
  escaped: 'a JSON text with escapes',
  not_json: 'not JSON',
  not_a_number: 'not a number',
  not_a_value: 'not a single value',
  known_as_v4_only: 'V4 ids of this model and no V3 ids: perhaps rewritten already',
  not_in_remap: 'neither V3 nor V4 ids of this model: another model, or foreign',
  other_scope: 'V3 ids of this model, but of another company or region than the row says',
  several_scopes:
    'V3 ids of several regions or companies that became different V4 ids: name the region or company',
  no_scope: 'in rows that name no region or company, though the target says where to find it',
  unknown_model: 'in rows whose model is none of the target',
};

/** What a category of ids that do not map means, as one sentence: `unmatched/unexplained`, `unknown/hex`. */
export function describeCategory(name: string): string {
  if (!name.startsWith('unknown/')) {
    const [status = '', reason = null] = name.split('/');
    return describeOutcome(status, reason).meaning;
  }
  const why = name.slice('unknown/'.length);
  for (const [key, text] of Object.entries(UNKNOWN)) if (key === why) return `Values ${text}.`;
  return '';
}
