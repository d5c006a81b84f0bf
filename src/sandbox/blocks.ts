import type { Scenario, Slot } from './fate.js';
import { createPermutation, type Permutation } from './permutation.js';
import { mix } from './random.js';
import { ARRIVING_FATE, FATES, fateAt, ORDINARY_FATE } from './record-fates.js';
import type { ModelShape } from './shapes/shape.js';

/** One generation's records of a block, as compact arrays; record number → group and slot. */
export interface Side {
  readonly generation: 'v3' | 'v4';
  /** Records, those that arrive later included. */
  readonly count: number;
  /** Records that are there from the start. */
  readonly present: number;
  /** Deleted ones among those that are there from the start. */
  readonly deleted: number;
  readonly groupOf: Uint32Array;
  readonly startOf: Uint32Array;
  /** Record number ↔ place in the order of creation. */
  readonly order: Permutation;
}

/** What one connection holds of one model: groups of records that share a key and a fate. */
export interface Block {
  readonly shape: ModelShape;
  readonly hash: number;
  readonly fates: Uint8Array;
  readonly v3: Side;
  readonly v4: Side;
}

export interface BlockOptions {
  readonly shape: ModelShape;
  readonly hash: number;
  readonly groups: number;
  /** Groups at the end whose V3 record arrives later. */
  readonly arriving: number;
  readonly scenario: Scenario;
  /** Fates that the first groups get, so that small services have all of them. */
  readonly forced: readonly number[];
  readonly hasV3: boolean;
  readonly hasV4: boolean;
}

/** Builds a block; memory is about ten bytes a record. */
export function buildBlock(options: BlockOptions): Block {
  const { shape, hash, groups, arriving, scenario, forced } = options;
  const drawFate = fateDrawer(scenario);
  const fates = new Uint8Array(groups + arriving);
  for (let group = 0; group < groups; group++) {
    const fate = forced[group] ?? drawFate(mix(hash, group));
    fates[group] = suits(fate, shape) ? fate : ORDINARY_FATE;
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

/** A record without a date of creation cannot be created later than an export. */
function suits(fate: number, shape: ModelShape): boolean {
  return shape.hasCreationDate || fateAt(fate).dates !== 'future';
}

function buildSide(generation: 'v3' | 'v4', fates: Uint8Array, isThere: boolean, hash: number): Side {
  const slotsOf = FATES.map((fate) => fate[generation].length);
  const deletedOf = FATES.map((fate) => fate[generation].filter((slot) => slot.deleted).length);
  const startOf = new Uint32Array(fates.length + 1);
  let count = 0;
  let present = 0;
  let deleted = 0;
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
  return { generation, count, present, deleted, groupOf, startOf, order: createPermutation(present, hash) };
}

/** Where a record of a group is in the order of creation. */
export function placeOf(side: Side, group: number, slot: number): number {
  const number = (side.startOf[group] ?? 0) + slot;
  return number < side.present ? side.order.forward(number) : number;
}

/** The group and slot of the record at a place in the order of creation. */
export function groupAt(side: Side, place: number): { readonly group: number; readonly slot: number } {
  const number = place < side.present ? side.order.backward(place) : place;
  const group = side.groupOf[number] ?? 0;
  return { group, slot: number - (side.startOf[group] ?? 0) };
}

export function slotAt(block: Block, generation: 'v3' | 'v4', group: number, slot: number): Slot {
  const found = fateAt(block.fates[group] ?? 0)[generation][slot];
  if (found === undefined)
    throw new RangeError(`There is no ${generation} record ${slot} in group ${group}.`);
  return found;
}

const TICKETS = 8192;

/** Draws fates by weight: hash → fate number. */
function fateDrawer(scenario: Scenario): (hash: number) => number {
  const total = FATES.reduce((sum, fate) => sum + fate.weight[scenario], 0);
  const tickets = new Uint8Array(TICKETS);
  let from = 0;
  let sum = 0;
  for (const [number, fate] of FATES.entries()) {
    sum += fate.weight[scenario];
    const to = Math.round((sum / total) * TICKETS);
    tickets.fill(number, from, to);
    from = to;
  }
  return (hash) => tickets[hash % TICKETS] ?? ORDINARY_FATE;
}
