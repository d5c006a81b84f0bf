import type { Block } from './blocks.js';
import type { Company } from './connections.js';
import { Draw, mix } from './random.js';
import type { ModelShape } from './shapes/shape.js';
import { createIdSpace, type IdSpace } from './svc-ids.js';

/** Places for line items beneath one record, each with an id of its own. */
export const CHILD_PLACES = 8;

/** The records of one company in a table. */
export interface Member {
  readonly company: Company;
  readonly block: Block;
  /** Place in the company's order of creation → place in the table. */
  readonly positions: Uint32Array;
}

/** What a record became since the service started. */
interface Change {
  readonly createdMs?: number;
  readonly updatedMs: number;
  readonly deleted: boolean;
}

/** All records of a model in one V3 region or in V4, in the order of creation. */
export interface Table {
  readonly generation: 'v3' | 'v4';
  readonly region: string | null;
  readonly shape: ModelShape;
  readonly hash: number;
  readonly members: readonly Member[];
  /** Position → member, and → place in that member. */
  readonly memberOf: Uint32Array;
  readonly placeOf: Uint32Array;
  /** Records there from the start; those that arrive later follow them. */
  readonly present: number;
  readonly ids: IdSpace;
  readonly childIds: IdSpace;
  /** By position; empty unless the service mutates. */
  readonly changes: Map<number, Change>;
}

export interface TableOptions {
  readonly generation: 'v3' | 'v4';
  readonly region: string | null;
  readonly shape: ModelShape;
  readonly hash: number;
  readonly largeIds: boolean;
  readonly members: readonly { readonly company: Company; readonly block: Block }[];
}

/** Interleaves the companies' records, each company's own order kept. About 16 bytes a record. */
export function buildTable(options: TableOptions): Table {
  const { generation, members, hash } = options;
  const sides = members.map(({ block }) => block[generation]);
  const size = sides.reduce((sum, side) => sum + side.count, 0);
  const present = sides.reduce((sum, side) => sum + side.present, 0);
  const memberOf = new Uint32Array(size);
  let filled = 0;
  for (const [index, side] of sides.entries()) {
    memberOf.fill(index, filled, filled + side.present);
    filled += side.present;
  }
  shuffle(memberOf.subarray(0, present), hash);
  for (const [index, side] of sides.entries()) {
    memberOf.fill(index, filled, filled + side.count - side.present);
    filled += side.count - side.present;
  }
  shuffle(memberOf.subarray(present), mix(hash, 1));
  return {
    generation,
    region: options.region,
    shape: options.shape,
    hash,
    ...numberPlaces(memberOf, options.members, generation),
    memberOf,
    present,
    ids: createIdSpace(size, mix(hash, 2), options.largeIds),
    childIds: createIdSpace(size * CHILD_PLACES, mix(hash, 3), options.largeIds),
    changes: new Map(),
  };
}

function numberPlaces(
  memberOf: Uint32Array,
  members: TableOptions['members'],
  generation: 'v3' | 'v4',
): Pick<Table, 'members' | 'placeOf'> {
  const placeOf = new Uint32Array(memberOf.length);
  const next = new Uint32Array(members.length);
  const numbered = members.map(({ company, block }) => ({
    company,
    block,
    positions: new Uint32Array(block[generation].count),
  }));
  for (let position = 0; position < memberOf.length; position++) {
    const index = memberOf[position] ?? 0;
    const place = next[index] ?? 0;
    next[index] = place + 1;
    placeOf[position] = place;
    const positions = numbered[index]?.positions;
    if (positions !== undefined) positions[place] = position;
  }
  return { members: numbered, placeOf };
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
