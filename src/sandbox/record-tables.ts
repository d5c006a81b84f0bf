import type { Company } from './connections.js';
import { ARRIVING_FATE, FATES, fateAt, ORDINARY_FATE, type Scenario, type Slot } from './fates.js';
import type { ModelShape } from './models.js';
import { createIdSpace, createPermutation, type IdSpace, type Permutation } from './platform-keys.js';
import { Draw, mix } from './seeded-random.js';

export type ApiVersion = 'v3' | 'v4';

/** One generation's records of a block, in compact arrays that map record numbers to groups and slots. */
export interface BlockSide {
  /** Number of records, including those that arrive later. */
  readonly count: number;
  /** Number of records that exist from the start. */
  readonly present: number;
  /** Number of deleted records among `present`. */
  readonly deleted: number;
  readonly groupOf: Uint32Array;
  readonly startOf: Uint32Array;
  /** Maps record numbers to positions in the order of creation, and back. */
  readonly order: Permutation;
}

/** The records of one connection and model: groups that share a key and a fate. */
export interface Block {
  readonly shape: ModelShape;
  readonly hash: number;
  readonly fates: Uint8Array;
  readonly v3: BlockSide;
  readonly v4: BlockSide;
}

export interface BlockOptions {
  readonly shape: ModelShape;
  readonly hash: number;
  readonly groups: number;
  /** Number of groups at the end whose V3 record arrives later. */
  readonly arriving: number;
  readonly scenario: Scenario;
  /** Fates of the first groups, so that small services have all fates. */
  readonly forced: readonly number[];
  readonly hasV3: boolean;
  readonly hasV4: boolean;
}

/** Builds a block; it needs about ten bytes per record. */
export function buildBlock(options: BlockOptions): Block {
  const { shape, hash, groups, arriving, scenario, forced } = options;
  const tickets = TICKETS[scenario];
  const fates = new Uint8Array(groups + arriving);
  for (let group = 0; group < groups; group++) {
    const fate = forced[group] ?? tickets[mix(hash, group) % tickets.length] ?? ORDINARY_FATE;
    // A record without a date of creation cannot be created later than an export.
    fates[group] = shape.hasCreationDate || fateAt(fate).dates !== 'future' ? fate : ORDINARY_FATE;
  }
  fates.fill(ARRIVING_FATE, groups);
  return {
    shape,
    hash,
    fates,
    v3: buildSide('v3', fates, options.hasV3, mix(hash, 0xa3)),
    v4: buildSide('v4', fates, options.hasV4, mix(hash, 0xa4)),
  };
}

function buildSide(generation: ApiVersion, fates: Uint8Array, isThere: boolean, hash: number): BlockSide {
  const slotsOf = FATES.map((fate) => fate[generation].length);
  const deletedOf = FATES.map((fate) => fate[generation].filter((slot) => slot.deleted).length);
  const startOf = new Uint32Array(fates.length + 1);
  let [count, present, deleted] = [0, 0, 0];
  for (const [group, fate] of fates.entries()) {
    startOf[group] = count;
    if (!isThere) continue;
    count += slotsOf[fate] ?? 0;
    deleted += deletedOf[fate] ?? 0;
    if (fate !== ARRIVING_FATE || generation === 'v4') present = count;
  }
  startOf[fates.length] = count;
  const groupOf = new Uint32Array(count);
  for (let group = 0; group < fates.length; group++) groupOf.fill(group, startOf[group], startOf[group + 1]);
  return { count, present, deleted, groupOf, startOf, order: createPermutation(present, hash) };
}

/** Fates by weight: a hash draws one of the tickets. */
const TICKETS = { clean: fillTickets('clean'), ugly: fillTickets('ugly') };

function fillTickets(scenario: Scenario): Uint8Array {
  const total = FATES.reduce((sum, fate) => sum + fate.weight[scenario], 0);
  const tickets = new Uint8Array(8192);
  let sum = 0;
  for (const [number, fate] of FATES.entries()) {
    const from = Math.round((sum / total) * tickets.length);
    sum += fate.weight[scenario];
    tickets.fill(number, from, Math.round((sum / total) * tickets.length));
  }
  return tickets;
}

/** The position of a record of a group in the order of creation. */
export function creationPlaceOf(side: BlockSide, group: number, slot: number): number {
  const number = (side.startOf[group] ?? 0) + slot;
  return number < side.present ? side.order.forward(number) : number;
}

/** The group and slot of the record at a position in the order of creation. */
export function slotAt(
  block: Block,
  generation: ApiVersion,
  place: number,
): { readonly group: number; readonly slot: Slot } {
  const side = block[generation];
  const number = place < side.present ? side.order.backward(place) : place;
  const group = side.groupOf[number] ?? 0;
  const slot = fateAt(block.fates[group] ?? 0)[generation][number - (side.startOf[group] ?? 0)];
  if (slot === undefined) throw new RangeError(`There is no ${generation} record at ${place}.`);
  return { group, slot };
}

/** Maximum number of line items with ids in one record. */
export const CHILD_PLACES = 8;

/** The records of one company in a table. */
export interface TableMember {
  readonly company: Company;
  readonly block: Block;
  /** Position in the company's order of creation → position in the table. */
  readonly positions: Uint32Array;
}

interface Change {
  readonly createdMs?: number;
  readonly updatedMs: number;
  readonly deleted: boolean;
}

interface TableOptions {
  readonly generation: ApiVersion;
  readonly region: string | null;
  readonly shape: ModelShape;
  readonly hash: number;
}

/** All records of a model in one V3 region or in V4, in the order of creation. */
export interface Table extends TableOptions {
  readonly members: readonly TableMember[];
  /** By position: the index of the member, and the position within that member. */
  readonly memberOf: Uint32Array;
  readonly placeOf: Uint32Array;
  /** Number of records that exist from the start; later ones follow them. */
  readonly present: number;
  readonly ids: IdSpace;
  readonly childIds: IdSpace;
  /** Changes by position; empty without the fault `mutate`. */
  readonly changes: Map<number, Change>;
}

/** Interleaves the records of companies, keeping the order of each company. It needs about 16 bytes per record. */
export function buildTable(
  options: TableOptions,
  blocks: readonly Pick<TableMember, 'company' | 'block'>[],
  largeIds: boolean,
): Table {
  const { generation, hash } = options;
  const sides = blocks.map(({ block }) => block[generation]);
  const size = sides.reduce((sum, side) => sum + side.count, 0);
  const present = sides.reduce((sum, side) => sum + side.present, 0);
  const memberOf = new Uint32Array(size);
  let filled = 0;
  const fill = (index: number, count: number): void => {
    memberOf.fill(index, filled, filled + count);
    filled += count;
  };
  for (const [index, side] of sides.entries()) fill(index, side.present);
  for (const [index, side] of sides.entries()) fill(index, side.count - side.present);
  shuffle(memberOf.subarray(0, present), hash);
  shuffle(memberOf.subarray(present), mix(hash, 1));

  const positionsOf = sides.map(({ count }) => new Uint32Array(count));
  const next = new Uint32Array(sides.length);
  const placeOf = memberOf.map((index, position) => {
    const place = next[index] ?? 0;
    next[index] = place + 1;
    const positions = positionsOf[index];
    if (positions !== undefined) positions[place] = position;
    return place;
  });
  return {
    ...options,
    members: blocks.map((member, index) => ({
      ...member,
      positions: positionsOf[index] ?? new Uint32Array(),
    })),
    memberOf,
    placeOf,
    present,
    ids: createIdSpace(size, mix(hash, 2), largeIds),
    childIds: createIdSpace(size * CHILD_PLACES, mix(hash, 3), largeIds),
    changes: new Map(),
  };
}

function shuffle(list: Uint32Array, hash: number): void {
  const draw = new Draw(hash);
  for (let last = list.length - 1; last > 0; last--) {
    const other = draw.below(last + 1);
    const value = list[last] ?? 0;
    list[last] = list[other] ?? 0;
    list[other] = value;
  }
}
