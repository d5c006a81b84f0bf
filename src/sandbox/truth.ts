import { type Block, placeOf } from './blocks.js';
import { type Child, childAt, childGroupsOf, childrenOn } from './children.js';
import { type RowsOf, rowsFor } from './circumstances.js';
import type { Company, Connection } from './connections.js';
import type { FateRow } from './fate.js';
import { ARRIVING_FATE, fateAt } from './record-fates.js';
import { childIdOf, driftedFields, keyOf, recordAt, type Stored, svcIdOf } from './records.js';
import type { Member, Table } from './tables.js';
import type { World } from './world.js';

/** What a correct remap says about one record or line item. Ids are digits; null where there is none. */
export interface TruthRow {
  /** V3 path. */
  readonly model: string;
  /** '' for records, `line_items` for line items. */
  readonly path: string;
  /** Null, like all V3 columns, on rows without a V3 record. */
  readonly region: string | null;
  readonly v3_company_id: string | null;
  /** Null where the V3 company has no V4 pair. */
  readonly v4_company_id: string | null;
  readonly platform_id: string | null;
  /** The record a line item belongs to, on each side where it is. */
  readonly parent_v3_svc_id: string | null;
  readonly parent_v4_svc_id: string | null;
  readonly v3_svc_id: string | null;
  readonly v4_svc_id: string | null;
  readonly status: string;
  readonly reason: string | null;
  /** False where the record arrived, changed or was deleted since the service started. */
  readonly stable: boolean;
  /** Fields that the V4 record of a match has otherwise than the V3 one, service fields and children aside. */
  readonly drifted: readonly string[];
}

/** One pair of companies and a model, or one company and a model where there is no pair. */
interface Scope {
  readonly world: World;
  readonly block: Block;
  readonly v3: Side | null;
  readonly v4: Side | null;
  /** Whether the V3 company has that V4 company as its pair. */
  readonly paired: boolean;
}

interface Side {
  readonly table: Table;
  readonly member: Member;
}

/**
 * The ground truth, record by record, from the fates the service was built of: every V3 record and line item
 * once, and every V4 one that no V3 one became. Includes deleted records.
 */
export function* buildTruth(world: World): Generator<TruthRow> {
  for (const [index, connection] of world.connections.entries()) {
    for (const block of world.blocks[index] ?? []) yield* truthOfBlock(world, connection, block);
  }
}

function* truthOfBlock(world: World, connection: Connection, block: Block): Generator<TruthRow> {
  const v3 = connection.v3.map((company) =>
    sideOf(world.v3.get(company.region ?? '')?.get(block.shape.v3), company),
  );
  const v4 = connection.v4.map((company) => sideOf(world.v4.get(block.shape.v4), company));
  const rowsOf = rowsFor(world, connection, block);
  const paired = connection.kind === 'normal' || connection.kind === 'inert';
  if (paired) {
    yield* truthOfScope({ world, block, v3: v3[0] ?? null, v4: v4[0] ?? null, paired }, rowsOf);
    return;
  }
  for (const side of v3) yield* truthOfScope({ world, block, v3: side, v4: null, paired }, rowsOf);
  for (const side of v4) yield* truthOfScope({ world, block, v3: null, v4: side, paired }, rowsOf);
}

function sideOf(table: Table | undefined, company: Company): Side | null {
  const member = table?.members.find((candidate) => candidate.company === company);
  return table === undefined || member === undefined ? null : { table, member };
}

function* truthOfScope(scope: Scope, rowsOf: RowsOf): Generator<TruthRow> {
  const { block } = scope;
  for (let group = 0; group < block.fates.length; group++) {
    const number = block.fates[group] ?? 0;
    const fate = fateAt(number);
    const shown = new Set<number>();
    for (const row of rowsOf(fate)) {
      const v3 = storedAt(scope, scope.v3, group, row.v3);
      const v4 = storedAt(scope, scope.v4, group, row.v4);
      if (v3 === null && v4 === null) continue;
      const first = row.v4 === null || !shown.has(row.v4);
      if (row.v4 !== null) shown.add(row.v4);
      yield* truthOfRecord(scope, v3, v4, amend(row, number, v3, v4), first);
    }
  }
}

function storedAt(scope: Scope, side: Side | null, group: number, slot: number | null): Stored | null {
  if (side === null || slot === null) return null;
  const { table, member } = side;
  const records = scope.block[table.generation];
  if (records.count === 0) return null;
  const position = member.positions[placeOf(records, group, slot)];
  if (position === undefined) return null;
  if (position >= table.present && !table.changes.has(position)) return null;
  return recordAt(scope.world, table, position);
}

/** The row of a record that arrived late, or not yet, or was deleted meanwhile. */
function amend(row: FateRow, fate: number, v3: Stored | null, v4: Stored | null): FateRow {
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
  v3: Stored | null,
  v4: Stored | null,
  { status, reason }: FateRow,
  isFirstOfV4: boolean,
): Generator<TruthRow> {
  const { world, block } = scope;
  const one = v3 ?? v4;
  if (one === null) return;
  const stable = isStable(v3) && isStable(v4);
  yield {
    ...rowBase(scope, v3),
    stable,
    path: '',
    platform_id: keyOf(world, one),
    parent_v3_svc_id: null,
    parent_v4_svc_id: null,
    v3_svc_id: textOf(v3),
    v4_svc_id: textOf(v4),
    status,
    reason,
    drifted: status === 'matched' ? driftedFields(world, v3, v4) : [],
  };
  const groups = childGroupsOf(block, one.entityHash, world.scenario);
  if (groups.length === 0) return;
  const inherited = { status, reason: reason === null ? null : `parent_${reason}` };
  const children =
    v3 !== null && v4 !== null
      ? pairedChildren(scope, groups)
      : lonelyChildren(scope, groups, v3 === null ? 'v4' : 'v3');
  for (const child of children) {
    if (child.v3 === null && !isFirstOfV4) continue;
    const row = childRow(scope, v3, v4, child);
    yield { ...row, ...(status === 'matched' ? {} : inherited), stable, drifted: [] };
  }
}

function rowBase(scope: Scope, v3: Stored | null) {
  const v4Company = v3 === null || scope.paired ? scope.v4?.member.company.id : undefined;
  const company = v3?.member.company;
  return {
    model: scope.block.shape.v3,
    region: company?.region ?? null,
    v3_company_id: company?.id.toString() ?? null,
    v4_company_id: v4Company?.toString() ?? null,
  };
}

function isStable(stored: Stored | null): boolean {
  return (
    stored === null || !(stored.fate === fateAt(ARRIVING_FATE) || stored.table.changes.has(stored.position))
  );
}

function textOf(stored: Stored | null): string | null {
  return stored === null ? null : svcIdOf(stored).toString();
}

interface ChildRow {
  readonly v3: Child | null;
  readonly v4: Child | null;
  readonly status: string;
  readonly reason: string | null;
}

type ChildGroups = ReturnType<typeof childGroupsOf>;

function* pairedChildren({ block, world }: Scope, groups: ChildGroups): Generator<ChildRow> {
  const { scenario } = world;
  for (const group of groups) {
    for (const row of group.fate.rows) {
      yield {
        v3: row.v3 === null ? null : childAt('v3', group, row.v3, block, scenario),
        v4: row.v4 === null ? null : childAt('v4', group, row.v4, block, scenario),
        status: row.status,
        reason: row.reason,
      };
    }
  }
}

function* lonelyChildren(
  { block, world }: Scope,
  groups: ChildGroups,
  side: 'v3' | 'v4',
): Generator<ChildRow> {
  for (const child of childrenOn(side, groups, block, world.scenario)) {
    yield { v3: side === 'v3' ? child : null, v4: side === 'v4' ? child : null, status: '', reason: null };
  }
}

function childRow(
  scope: Scope,
  v3: Stored | null,
  v4: Stored | null,
  child: ChildRow,
): Omit<TruthRow, 'stable' | 'drifted'> {
  const inV3 = v3 !== null && child.v3 !== null;
  const inV4 = v4 !== null && child.v4 !== null;
  return {
    ...rowBase(scope, inV3 ? v3 : null),
    path: 'line_items',
    platform_id: (child.v3 ?? child.v4)?.key ?? null,
    parent_v3_svc_id: inV3 ? textOf(v3) : null,
    parent_v4_svc_id: inV4 ? textOf(v4) : null,
    v3_svc_id: inV3 && child.v3 !== null ? childIdOf(v3, child.v3.place).toString() : null,
    v4_svc_id: inV4 && child.v4 !== null ? childIdOf(v4, child.v4.place).toString() : null,
    status: child.status,
    reason: child.reason,
  };
}
