import type { Company, CompanyConnection } from './connections.js';
import { ARRIVING_FATE, type Fate, type FateRow, fateAt } from './fates.js';
import { type Block, creationPlaceOf, type Table, type TableMember } from './record-tables.js';
import {
  type ChildRecord,
  childGroupsOf,
  childIdOf,
  childInSlot,
  childrenOn,
  driftedFields,
  platformKeyOf,
  recordAt,
  type StoredRecord,
  svcIdOf,
} from './stored-records.js';
import type { World } from './world.js';

/** The correct remap row of one record or line item. Ids are strings of digits, or null. */
export interface TruthRow {
  /** V3 path. */
  readonly model: string;
  /** '' for records, `line_items` for line items. */
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
  /** Whether the record has not been added, changed or deleted since the service started. */
  readonly stable: boolean;
  /** Fields that differ between the records of a match, without service fields and children. */
  readonly drifted: readonly string[];
}

type RowsOf = (fate: Fate) => readonly FateRow[];

/** The correct rows of each fate of a block, given the kind of its connection. */
export function rowsFor(world: World, connection: CompanyConnection, block: Block): RowsOf {
  if (connection.kind === 'missing_in_v4') return (fate) => rowsWithoutPlace(fate, 'company_not_in_v4');
  if (connection.kind === 'missing_in_v3') return (fate) => rowsOnlyInV4(fate, 'company_not_in_v3');
  if (connection.kind === 'ambiguous') {
    const reason = 'company_ambiguous';
    return (fate) => [...rowsWithoutPlace(fate, reason), ...rowsOnlyInV4(fate, reason)];
  }
  if (world.isAbsent(world.connections.indexOf(connection), block.shape)) {
    return (fate) => rowsWithoutPlace(fate, 'model_not_in_v4');
  }
  return connection.kind === 'inert' ? rowsWhenInert : (fate) => fate.rows;
}

/** Rows of V3 records whose company or model is not in V4. */
function rowsWithoutPlace(fate: Fate, reason: string): readonly FateRow[] {
  return fate.v3.map((slot, v3) => ({
    v3,
    v4: null,
    status: slot.deleted ? 'deleted' : 'unmatched',
    reason: slot.key === 'none' ? 'no_platform_id' : reason,
  }));
}

/** Rows of V3 records of a connection without records in V4. */
function rowsWhenInert(fate: Fate): readonly FateRow[] {
  return rowsWithoutPlace(fate, 'connection_inert').map((row, at) => {
    const slot = fate.v3[at];
    if (slot === undefined || !slot.deleted || slot.key === 'none') return row;
    const replaced = fate.v3.some((other) => !other.deleted && other.key === slot.key);
    return { ...row, reason: replaced ? 'superseded_in_v3' : 'deleted_not_in_v4' };
  });
}

/** Rows of V4 records whose company has no V3 pair. */
function rowsOnlyInV4(fate: Fate, reason: string): readonly FateRow[] {
  return fate.v4.map((slot, v4) => {
    const keyless = slot.key === 'none';
    const replaced = !keyless && fate.v4.some((other) => !other.deleted && other.key === slot.key);
    if (slot.deleted) {
      return { v3: null, v4, status: 'deleted', reason: replaced ? 'superseded_in_v4' : 'deleted_v4_only' };
    }
    return { v3: null, v4, status: 'v4_only', reason: keyless ? 'no_platform_id' : reason };
  });
}

/** A pair of companies, or a single company, and a model. */
interface Scope {
  readonly world: World;
  readonly block: Block;
  readonly v3: TableSide | null;
  readonly v4: TableSide | null;
  /** Whether the V3 and V4 company are a pair. */
  readonly paired: boolean;
}

interface TableSide {
  readonly table: Table;
  readonly member: TableMember;
}

/**
 * The ground truth from the fates of the records: every V3 record and line item once, and every V4 one without a V3
 * counterpart. Includes deleted records.
 */
export function* buildTruth(world: World): Generator<TruthRow> {
  for (const [index, connection] of world.connections.entries()) {
    const paired = connection.kind === 'normal' || connection.kind === 'inert';
    for (const block of world.blocks[index] ?? []) {
      const rowsOf = rowsFor(world, connection, block);
      const { shape } = block;
      const v3 = connection.v3.map((company) =>
        sideOf(world.v3.get(company.region ?? '')?.get(shape.v3), company),
      );
      const v4 = connection.v4.map((company) => sideOf(world.v4.get(shape.v4), company));
      const sides = paired
        ? [{ v3: v3[0] ?? null, v4: v4[0] ?? null }]
        : [...v3.map((side) => ({ v3: side, v4: null })), ...v4.map((side) => ({ v3: null, v4: side }))];
      for (const side of sides) yield* truthOfScope({ world, block, paired, ...side }, rowsOf);
    }
  }
}

function sideOf(table: Table | undefined, company: Company): TableSide | null {
  const member = table?.members.find((candidate) => candidate.company === company);
  return table === undefined || member === undefined ? null : { table, member };
}

function* truthOfScope(scope: Scope, rowsOf: RowsOf): Generator<TruthRow> {
  for (const [group, number] of scope.block.fates.entries()) {
    const shown = new Set<number | null>();
    for (const row of rowsOf(fateAt(number))) {
      const v3 = storedAt(scope, scope.v3, group, row.v3);
      const v4 = storedAt(scope, scope.v4, group, row.v4);
      if (v3 === null && v4 === null) continue;
      const isFirstOfV4 = row.v4 === null || !shown.has(row.v4);
      shown.add(row.v4);
      yield* truthOfRecord(scope, v3, v4, amend(row, number, v3, v4), isFirstOfV4);
    }
  }
}

function storedAt(
  scope: Scope,
  side: TableSide | null,
  group: number,
  slot: number | null,
): StoredRecord | null {
  if (side === null || slot === null) return null;
  const { table, member } = side;
  const records = scope.block[table.generation];
  if (records.count === 0) return null;
  const position = member.positions[creationPlaceOf(records, group, slot)];
  if (position === undefined || (position >= table.present && !table.changes.has(position))) return null;
  return recordAt(scope.world, table, position);
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
  const { world } = scope;
  const one = v3 ?? v4;
  if (one === null) return;
  const stable = isStable(v3) && isStable(v4);
  yield {
    ...companiesOf(scope, v3),
    stable,
    path: '',
    platform_id: platformKeyOf(world, one),
    parent_v3_svc_id: null,
    parent_v4_svc_id: null,
    v3_svc_id: idText(v3),
    v4_svc_id: idText(v4),
    status,
    reason,
    drifted: status === 'matched' ? driftedFields(world, v3, v4) : [],
  };
  const inherited = { status, reason: reason === null ? null : `parent_${reason}` };
  for (const child of childrenOf(scope, v3, v4, one)) {
    if (child.v3 === null && !isFirstOfV4) continue;
    const [v3Parent, v4Parent] = [child.v3 && v3, child.v4 && v4];
    yield {
      ...companiesOf(scope, v3Parent),
      path: 'line_items',
      platform_id: (child.v3 ?? child.v4)?.key ?? null,
      parent_v3_svc_id: idText(v3Parent),
      parent_v4_svc_id: idText(v4Parent),
      v3_svc_id: childIdText(v3Parent, child.v3),
      v4_svc_id: childIdText(v4Parent, child.v4),
      ...(status === 'matched' ? { status: child.status, reason: child.reason } : inherited),
      stable,
      drifted: [],
    };
  }
}

interface ChildRow {
  readonly v3: ChildRecord | null;
  readonly v4: ChildRecord | null;
  readonly status: string;
  readonly reason: string | null;
}

/** The line items of a pair, with their own fates, or of a record without a twin. */
function childrenOf(
  { block, world: { scenario } }: Scope,
  v3: StoredRecord | null,
  v4: StoredRecord | null,
  { entityHash }: StoredRecord,
): readonly ChildRow[] {
  const groups = childGroupsOf(block, entityHash, scenario);
  const none = { v3: null, v4: null, status: '', reason: null };
  if (v4 === null) return childrenOn('v3', groups, block, scenario).map((child) => ({ ...none, v3: child }));
  if (v3 === null) return childrenOn('v4', groups, block, scenario).map((child) => ({ ...none, v4: child }));
  return groups.flatMap((group) =>
    group.fate.rows.map((row) => ({
      ...row,
      v3: row.v3 === null ? null : childInSlot('v3', group, row.v3, block, scenario),
      v4: row.v4 === null ? null : childInSlot('v4', group, row.v4, block, scenario),
    })),
  );
}

function companiesOf(scope: Scope, v3: StoredRecord | null) {
  const v4Company = v3 === null || scope.paired ? scope.v4?.member.company.id : undefined;
  const company = v3?.member.company;
  return {
    model: scope.block.shape.v3,
    region: company?.region ?? null,
    v3_company_id: company?.id.toString() ?? null,
    v4_company_id: v4Company?.toString() ?? null,
  };
}

function isStable(stored: StoredRecord | null): boolean {
  if (stored === null) return true;
  return stored.fate !== fateAt(ARRIVING_FATE) && !stored.table.changes.has(stored.position);
}

function idText(stored: StoredRecord | null): string | null {
  return stored === null ? null : svcIdOf(stored).toString();
}

function childIdText(parent: StoredRecord | null, child: ChildRecord | null): string | null {
  return parent === null || child === null ? null : childIdOf(parent, child.place).toString();
}
