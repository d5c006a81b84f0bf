import { ARRIVING_FATE, type Fate, type FateRow, fateAt, type Slot } from './fates.js';
import { childGroupsOf, childrenIn, platformKeyOf } from './record-body.js';
import type { Block, Company, Connection, StoredRecord, Table, World } from './world.js';

/** The correct remap row of one record or line item. Ids are strings of digits, or null. */
export interface TruthRow {
  readonly model: string;
  readonly path: string;
  /** Null, like all V3 columns, on rows without a V3 record. */
  readonly region: string | null;
  readonly v3_company_id: string | null;
  /** Null if the V3 company has no V4 pair. */
  readonly v4_company_id: string | null;
  readonly platform_id: string | null;
  /** The record that a line item belongs to, on each side. */
  readonly parent_v3_svc_id: string | null;
  readonly parent_v4_svc_id: string | null;
  readonly v3_svc_id: string | null;
  readonly v4_svc_id: string | null;
  readonly status: string;
  readonly reason: string | null;
  /** Whether no record of the row is deleted. */
  readonly live: boolean;
  /** Whether the record has not been added, changed or deleted since the service started. */
  readonly stable: boolean;
}

function rowsFor(kind: Connection['kind'], isAbsent: boolean, fate: Fate): readonly FateRow[] {
  switch (kind) {
    case 'missing_in_v4':
      return rowsOnlyInV3(fate, 'company_not_in_v4');
    case 'missing_in_v3':
      return rowsOnlyInV4(fate, 'company_not_in_v3');
    case 'ambiguous':
      return [...rowsOnlyInV3(fate, 'company_ambiguous'), ...rowsOnlyInV4(fate, 'company_ambiguous')];
    case 'normal':
    case 'inert':
      if (isAbsent) return rowsOnlyInV3(fate, 'model_not_in_v4');
      return kind === 'inert' ? rowsOnlyInV3(fate, 'connection_inert') : fate.rows;
  }
}

function rowsOnlyInV3({ v3: slots }: Fate, reason: string): readonly FateRow[] {
  return slots.map((slot, v3) => {
    const status = slot.deleted ? 'deleted' : 'unmatched';
    if (slot.key === 'keyless') return { v3, v4: null, status, reason: 'no_platform_id' };
    const ofDeleted = isReplaced(slot, slots) ? 'superseded_in_v3' : 'deleted_not_in_v4';
    const isInPlace = slot.deleted && reason === 'connection_inert';
    return { v3, v4: null, status, reason: isInPlace ? ofDeleted : reason };
  });
}

function rowsOnlyInV4({ v4: slots }: Fate, reason: string): readonly FateRow[] {
  return slots.map((slot, v4) => {
    const hasKey = slot.key !== 'keyless';
    if (!slot.deleted) return { v3: null, v4, status: 'v4_only', reason: hasKey ? reason : 'no_platform_id' };
    const ofDeleted = hasKey && isReplaced(slot, slots) ? 'superseded_in_v4' : 'deleted_v4_only';
    return { v3: null, v4, status: 'deleted', reason: ofDeleted };
  });
}

function isReplaced(slot: Slot, slots: readonly Slot[]): boolean {
  return slots.some((other) => !other.deleted && other.key === slot.key);
}

interface Scope {
  readonly kind: Connection['kind'];
  readonly block: Block;
  readonly v3: Side | null;
  readonly v4: Side | null;
}

/** One company's records of a block, by group. */
interface Side {
  readonly company: Company;
  readonly groups: readonly (readonly StoredRecord[])[];
}

/** Whether the V3 and V4 company of a connection are a pair. */
function isPaired(kind: Connection['kind']): boolean {
  return kind === 'normal' || kind === 'inert';
}

/**
 * The ground truth from the fates of the records: every V3 record and line item once, and every V4 one without a V3
 * counterpart. Includes deleted records.
 */
export function* buildTruth(world: World): Generator<TruthRow> {
  for (const { kind, blocks, ...companies } of world.connections) {
    for (const block of blocks) {
      const { shape } = block;
      const v3 = companies.v3.map((company) =>
        sideOf(world.v3.get(company.region ?? '')?.get(shape.v3), company),
      );
      const v4 = companies.v4.map((company) => sideOf(world.v4.get(shape.v4), company));
      const sides = isPaired(kind)
        ? [{ v3: v3[0] ?? null, v4: v4[0] ?? null }]
        : [...v3.map((side) => ({ v3: side, v4: null })), ...v4.map((side) => ({ v3: null, v4: side }))];
      for (const side of sides) yield* truthOfScope({ kind, block, ...side });
    }
  }
}

function sideOf(table: Table | undefined, company: Company): Side | null {
  const member = table?.members.find((candidate) => candidate.company === company);
  if (member === undefined) return null;
  const groups: StoredRecord[][] = Array.from(member.block.fates, () => []);
  for (const record of member.records) groups[record.group]?.push(record);
  return { company, groups };
}

function* truthOfScope(scope: Scope): Generator<TruthRow> {
  const { fates, isAbsent } = scope.block;
  for (const [group, number] of fates.entries()) {
    const fate = fateAt(number);
    const find = (side: Side | null, slot: Slot | undefined) =>
      side?.groups[group]?.find((record) => record.slot === slot) ?? null;
    const shown = new Set<number | null>();
    for (const row of rowsFor(scope.kind, isAbsent, fate)) {
      const v3 = find(scope.v3, fate.v3[row.v3 ?? -1]);
      const v4 = find(scope.v4, fate.v4[row.v4 ?? -1]);
      if (v3 === null && v4 === null) continue;
      const isFirstOfV4 = row.v4 === null || !shown.has(row.v4);
      shown.add(row.v4);
      yield* truthOfRecord(scope, v3, v4, amend(row, number, v3, v4), isFirstOfV4);
    }
  }
}

/** The row of a record, corrected for records not added yet or deleted meanwhile. */
function amend(row: FateRow, fate: number, v3: StoredRecord | null, v4: StoredRecord | null): FateRow {
  if (fate === ARRIVING_FATE && v3 === null && v4 !== null) {
    return { ...row, status: 'v4_only', reason: 'unexplained' };
  }
  if (v3 !== null && v3.deleted !== v3.slot.deleted && row.status === 'matched') {
    return { ...row, status: 'deleted', reason: 'deleted_in_v3' };
  }
  return row;
}

function* truthOfRecord(
  scope: Scope,
  v3: StoredRecord | null,
  v4: StoredRecord | null,
  { status, reason }: FateRow,
  isFirstOfV4: boolean,
): Generator<TruthRow> {
  const record = v3 ?? v4;
  if (record === null) return;
  const stable = [v3, v4].every((side) => side === null || isStable(side));
  const live = [v3, v4].every((side) => side?.deleted !== true);
  const parents = { v3: textOf(v3), v4: textOf(v4) };
  yield {
    ...companiesOf(scope, v3 !== null),
    live,
    stable,
    path: '',
    platform_id: platformKeyOf(record),
    parent_v3_svc_id: null,
    parent_v4_svc_id: null,
    v3_svc_id: parents.v3,
    v4_svc_id: parents.v4,
    status,
    reason,
  };
  const inherited = { status, reason: reason === null ? null : `parent_${reason}` };
  for (const child of childrenOf(v3, v4, record)) {
    if (child.v3 === null && !isFirstOfV4) continue;
    yield {
      ...companiesOf(scope, child.v3 !== null),
      path: 'line_items',
      platform_id: (child.v3 ?? child.v4)?.key ?? null,
      parent_v3_svc_id: child.v3 && parents.v3,
      parent_v4_svc_id: child.v4 && parents.v4,
      v3_svc_id: textOf(child.v3),
      v4_svc_id: textOf(child.v4),
      ...(status === 'matched' ? { status: child.status, reason: child.reason } : inherited),
      live,
      stable,
    };
  }
}

/** The line items of a record. Where only one side has it, they have the outcome of the record. */
function childrenOf(v3: StoredRecord | null, v4: StoredRecord | null, record: StoredRecord) {
  return childGroupsOf(record).flatMap((group) => {
    const inV3 = v3 === null ? [] : childrenIn(v3, group);
    const inV4 = v4 === null ? [] : childrenIn(v4, group);
    const rows =
      v3 === null || v4 === null
        ? [
            ...inV3.map((_, at) => ({ v3: at, v4: null, status: '', reason: null })),
            ...inV4.map((_, at) => ({ v3: null, v4: at, status: '', reason: null })),
          ]
        : group.fate.rows;
    return rows.map((row) => ({ ...row, v3: inV3[row.v3 ?? -1] ?? null, v4: inV4[row.v4 ?? -1] ?? null }));
  });
}

function companiesOf({ kind, block, v3, v4 }: Scope, isInV3: boolean) {
  const company = isInV3 ? v3?.company : undefined;
  return {
    model: block.shape.v3,
    region: company?.region ?? null,
    v3_company_id: company?.id.toString() ?? null,
    v4_company_id: !isInV3 || isPaired(kind) ? (v4?.company.id.toString() ?? null) : null,
  };
}

function isStable({ fate, change }: StoredRecord): boolean {
  return fate !== fateAt(ARRIVING_FATE) && change === null;
}

function textOf(stored: { readonly svcId: bigint } | null): string | null {
  return stored?.svcId.toString() ?? null;
}
