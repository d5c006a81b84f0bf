import {
  ARRIVING_FATE,
  drawFate,
  type Fate,
  fateAt,
  ORDINARY_FATE,
  type Scenario,
  type ServiceDates,
  type Slot,
  serviceDates,
  type Times,
} from './fates.js';
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

/** A record of the service. Its fields are functions of the hashes, see `record.ts`. */
export interface StoredRecord {
  readonly table: Table;
  readonly member: TableMember;
  /** Its place in the order of creation. */
  readonly position: number;
  readonly group: number;
  readonly fate: Fate;
  readonly slot: Slot;
  /** Its place in the order of ids. */
  readonly number: number;
  readonly svcId: bigint;
  /** The same for all records, in V3 and V4, of one object on the platform. */
  readonly entityHash: number;
  dates: ServiceDates;
  deleted: boolean;
}

/** The records of one company in a table. */
export interface TableMember {
  readonly company: Company;
  readonly block: Block;
  readonly records: StoredRecord[];
}

interface TableOptions {
  readonly generation: ApiVersion;
  readonly region: string | null;
  readonly shape: ModelShape;
  readonly hash: number;
  readonly seed: number;
  readonly scenario: Scenario;
  readonly times: Times;
}

/** All records of a model in one V3 region or in V4, in the order of creation. */
export interface Table extends TableOptions {
  readonly members: readonly TableMember[];
  readonly records: StoredRecord[];
  /** Records that do not exist yet. */
  readonly arriving: StoredRecord[];
  /** Records that were added, changed or deleted since the service started. */
  readonly changed: Set<StoredRecord>;
}

/** Lays out the records of companies in a seeded order. */
export function buildTable(
  options: TableOptions,
  blocks: readonly Pick<TableMember, 'company' | 'block'>[],
): Table {
  const { generation, hash, scenario, times } = options;
  const members = blocks.map((block): TableMember => ({ ...block, records: [] }));
  const table: Table = { ...options, members, records: [], arriving: [], changed: new Set() };
  const [present, arriving]: [Place[], Place[]] = [[], []];
  for (const member of members) {
    if (!member.block.generations.includes(generation)) continue;
    for (const [group, fateNumber] of member.block.fates.entries()) {
      const fate = fateAt(fateNumber);
      const list = fateNumber === ARRIVING_FATE && generation === 'v3' ? arriving : present;
      for (const slot of fate[generation]) list.push({ member, group, fate, slot });
    }
  }
  const places = shuffle(present, hash).concat(shuffle(arriving, mix(hash, 1)));
  const numbers = shuffle([...places.keys()], mix(hash, 2));
  for (const [position, place] of places.entries()) {
    const number = numbers[position] ?? 0;
    const record: StoredRecord = {
      ...place,
      table,
      position,
      number,
      svcId: toId(scenario, number),
      entityHash: mix(mix(place.member.block.hash, place.group), 0xe0 + place.slot.entity),
      dates: serviceDates(generation, position, present.length, mix(hash, position), times, scenario),
      deleted: place.slot.deleted,
    };
    if (position < present.length) addRecord(record);
    else table.arriving.push(record);
  }
  return table;
}

type Place = Pick<StoredRecord, 'member' | 'group' | 'fate' | 'slot'>;

/** Adds a record at the end of its table. */
export function addRecord(record: StoredRecord): void {
  record.table.records.push(record);
  record.member.records.push(record);
}

/** Maximum number of line items with ids in one record. */
const CHILD_PLACES = 8;
const LARGEST = 2n ** 63n - 1n;
const UNSAFE = 2n ** 53n;
/** In the ugly scenario, three of this many ids are large. */
const PERIOD = 37;

/**
 * The id with a number. Ids are small integers, so that those of all tables overlap; in the ugly scenario some are above
 * 2^53, where neighbouring ids are equal as doubles, and some just below 2^63.
 */
function toId(scenario: Scenario, number: number): bigint {
  const rest = scenario === 'ugly' ? number % PERIOD : 0;
  if (rest === 5) return LARGEST - BigInt(number);
  return BigInt(number) + (rest === 6 || rest === 7 ? UNSAFE : 1n);
}

/** The id of a line item of a record. */
export function childIdOf({ table, number }: StoredRecord, place: number): bigint {
  return toId(table.scenario, number * CHILD_PLACES + place);
}
