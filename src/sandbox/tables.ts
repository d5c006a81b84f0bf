import { ARRIVING_FATE, drawFate, fateAt, ORDINARY_FATE, type Scenario } from './fates.js';
import type { ModelShape } from './models.js';
import { mix, shuffle } from './seeded-random.js';

export type ApiVersion = 'v3' | 'v4';

/** A connected company in the list of one generation. */
export interface Company {
  readonly id: bigint;
  /** The V3 region; null in V4. */
  readonly region: string | null;
  /** Index of its connection. */
  readonly connection: number;
}

/** The records of one connection and model: groups that share a key and a fate. */
export interface Block extends Pick<BlockOptions, 'shape' | 'hash' | 'generations' | 'isAbsent'> {
  /** The number of the fate of each group. */
  readonly fates: Uint8Array;
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
  /** Generations that have the records. */
  readonly generations: readonly ApiVersion[];
  /** Whether V4 answers 404 for the model of the connection. */
  readonly isAbsent: boolean;
}

export function buildBlock({ groups, arriving, scenario, forced, ...block }: BlockOptions): Block {
  const fates = new Uint8Array(groups + arriving);
  for (let group = 0; group < groups; group++) {
    const fate = forced[group] ?? drawFate('record', scenario, mix(block.hash, group));
    // A record without a date of creation cannot be created later than an export.
    fates[group] = block.shape.hasCreationDate || fateAt(fate).dates !== 'future' ? fate : ORDINARY_FATE;
  }
  fates.fill(ARRIVING_FATE, groups);
  return { ...block, fates };
}

/** The records of one company in a table. */
export interface TableMember {
  readonly company: Company;
  readonly block: Block;
  /** Their positions in the table, in the order of creation. */
  readonly positions: readonly number[];
}

/** Which record of a table it is: the member, and the group and slot in its block. */
export interface RecordPlace {
  readonly member: number;
  readonly group: number;
  readonly slot: number;
}

const SLOTS = 4;
const GROUPS = 2 ** 32;

/** A place as one number. */
export function packPlace({ member, group, slot }: RecordPlace): number {
  return (member * GROUPS + group) * SLOTS + slot;
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
  /** Number of records that exist from the start; those that arrive later follow them. */
  readonly present: number;
  /** Number of records that exist now. */
  size: number;
  /** Number of records that will exist in the end. */
  readonly total: number;
  readonly ids: IdSpace;
  /** Changes by position; empty without the fault `mutate`. */
  readonly changes: Map<number, Change>;
  placeAt(position: number): RecordPlace;
}

/** Lays out the records of companies in a seeded order. It needs about 20 bytes per record. */
export function buildTable(
  options: TableOptions,
  blocks: readonly Pick<TableMember, 'company' | 'block'>[],
  largeIds: boolean,
): Table {
  const { generation, hash } = options;
  const [present, arriving]: [number[], number[]] = [[], []];
  for (const [member, { block }] of blocks.entries()) {
    if (!block.generations.includes(generation)) continue;
    for (const [group, fate] of block.fates.entries()) {
      const list = fate === ARRIVING_FATE && generation === 'v3' ? arriving : present;
      const { length } = fateAt(fate)[generation];
      for (let slot = 0; slot < length; slot++) list.push(packPlace({ member, group, slot }));
    }
  }
  const places = shuffle(present, hash).concat(shuffle(arriving, mix(hash, 1)));
  const placeAt = (position: number): RecordPlace => {
    const place = places[position];
    if (place === undefined) throw new RangeError(`There is no record ${position}.`);
    const group = Math.floor(place / SLOTS);
    return { member: Math.floor(group / GROUPS), group: group % GROUPS, slot: place % SLOTS };
  };
  const members = blocks.map((member) => ({ ...member, positions: [] as number[] }));
  for (const position of places.keys()) members[placeAt(position).member]?.positions.push(position);
  return {
    ...options,
    members,
    present: present.length,
    size: present.length,
    total: places.length,
    ids: createIdSpace(places.length, mix(hash, 2), largeIds),
    changes: new Map(),
    placeAt,
  };
}

/** Maximum number of line items with ids in one record. */
const CHILD_PLACES = 8;

/** The svc_ids of the records of a table and of their line items, which reveal nothing about the record. */
interface IdSpace {
  idAt(position: number): bigint;
  childIdAt(position: number, place: number): bigint;
  /** Null if no record has the id. */
  positionOf(id: bigint): number | null;
}

const LARGEST = 2n ** 63n - 1n;
const UNSAFE = 2n ** 53n;
/** With large ids, three of this many ids are large. */
const PERIOD = 37;

/**
 * Numbers `size` records in a seeded order. Ids are the small integers 1 … size, so that the ids of all tables overlap;
 * with `large`, some are above 2^53, where neighbouring ids are equal as doubles, and some just below 2^63.
 */
function createIdSpace(size: number, hash: number, large: boolean): IdSpace {
  const numbers = shuffle(
    new Uint32Array(size).map((_, position) => position),
    hash,
  );
  const toId = (number: number): bigint => {
    const rest = large ? number % PERIOD : 0;
    if (rest === 5) return LARGEST - BigInt(number);
    return BigInt(number) + (rest === 6 || rest === 7 ? UNSAFE : 1n);
  };
  return {
    idAt: (position) => toId(numbers[position] ?? 0),
    childIdAt: (position, place) => toId((numbers[position] ?? 0) * CHILD_PLACES + place),
    positionOf: (id) => {
      const number = [id - 1n, id - UNSAFE, LARGEST - id].find(
        (one) => one >= 0n && one < BigInt(size) && toId(Number(one)) === id,
      );
      return number === undefined ? null : numbers.indexOf(Number(number));
    },
  };
}
