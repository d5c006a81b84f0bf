import type { Plan, PlanCount, Policy } from './plan.js';

/** Where a value stands when it is counted. */
export type CellState =
  /** Not rewritten yet: this plan decides about it. */
  | 'pending'
  /** In a column that a finished run went through, without an entry in the ledger. */
  | 'not_in_ledger'
  /** What a run decided about it: the old value of a ledger entry, or of the source of a written file. */
  | 'in_ledger';

/** What becomes of a value that has no V4 id when a run is done. */
export type UnmappedKind =
  /** The policy does not say; nothing is written. */
  | 'undecided'
  /** An id without a twin that stays as it is. In a new column or file mode the new cell stays empty or keeps it. */
  | 'kept'
  /** An id without a twin whose cell is emptied. */
  | 'emptied'
  /** A value that is no V3 id of the model and stays as it is. */
  | 'left_alone'
  /** An id that a finished run did not see, because its row came or changed afterwards. */
  | 'came_since'
  /** A cell that a run wrote and that holds something else by now. */
  | 'changed_since';

/** Values of one column that are left without a V4 id. */
export interface UnmappedCount {
  readonly kind: UnmappedKind;
  /** Category of the value: `mapped`, `status/reason` or `unknown/why`; `changed` where it is not looked up. */
  readonly reason: string;
  readonly cells: number;
}

/** One of them, as `--unmapped` lists it. */
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
