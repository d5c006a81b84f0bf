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

export interface Company {
  readonly id: bigint;
  readonly region: string | null;
  readonly connection: number;
}

/** The records of one connection and model: groups that share a key and a fate. */
export interface Block extends Pick<BlockOptions, 'shape' | 'hash' | 'generations' | 'isAbsent'> {
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

/** A record of the service. What it holds is computed when it is needed, so that millions take little memory. */
export class StoredRecord {
  readonly table: Table;
  readonly member: TableMember;
  readonly group: number;
  readonly slot: Slot;
  position = -1;
  number = -1;
  /** Its new state if it was added, changed or deleted since the service started. */
  change: { readonly dates: ServiceDates; readonly deleted: boolean } | null = null;

  constructor(table: Table, member: TableMember, group: number, slot: Slot) {
    this.table = table;
    this.member = member;
    this.group = group;
    this.slot = slot;
  }

  get fate(): Fate {
    return fateAt(itemAt(this.member.block.fates, this.group));
  }

  get svcId(): bigint {
    return toId(this.table.scenario, this.number);
  }

  get deleted(): boolean {
    return this.change?.deleted ?? this.slot.deleted;
  }

  get dates(): ServiceDates {
    if (this.change !== null) return this.change.dates;
    const { generation, hash, present, scenario, times } = this.table;
    return serviceDates(generation, this.position, present, mix(hash, this.position), times, scenario);
  }

  get updatedMs(): number {
    return this.dates.updatedMs;
  }

  /** The same for all records, in V3 and V4, of one object on the platform. */
  get entityHash(): number {
    return mix(mix(this.member.block.hash, this.group), 0xe0 + this.slot.entity);
  }
}

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
  /** Number of records that exist from the start. */
  present: number;
  readonly arriving: StoredRecord[];
}

export function buildTable(
  options: TableOptions,
  blocks: readonly Pick<TableMember, 'company' | 'block'>[],
): Table {
  const { generation, hash } = options;
  const members = blocks.map((block): TableMember => ({ ...block, records: [] }));
  const table: Table = { ...options, members, records: [], present: 0, arriving: [] };
  const [present, arriving]: [StoredRecord[], StoredRecord[]] = [[], []];
  for (const member of members) {
    if (!member.block.generations.includes(generation)) continue;
    for (const [group, fate] of member.block.fates.entries()) {
      const list = fate === ARRIVING_FATE && generation === 'v3' ? arriving : present;
      for (const slot of fateAt(fate)[generation]) list.push(new StoredRecord(table, member, group, slot));
    }
  }
  table.present = present.length;
  const all = shuffle(present, hash).concat(shuffle(arriving, mix(hash, 1)));
  const numbers = shuffle([...all.keys()], mix(hash, 2));
  for (const [position, record] of all.entries()) {
    record.position = position;
    record.number = itemAt(numbers, position);
    if (position < table.present) addRecord(record);
    else table.arriving.push(record);
  }
  return table;
}

export function addRecord(record: StoredRecord): void {
  record.table.records.push(record);
  record.member.records.push(record);
}

const CHILD_PLACES = 8;
const LARGEST = 2n ** 63n - 1n;
const UNSAFE = 2n ** 53n;
/** In the ugly scenario, three of this many ids are large. */
const PERIOD = 37;

/**
 * The id with a number. Ids are small integers, so that the ids of all tables overlap; in the ugly scenario some are above
 * 2^53, where neighbouring ids are equal as doubles, and some just below 2^63.
 */
function toId(scenario: Scenario, number: number): bigint {
  const rest = scenario === 'ugly' ? number % PERIOD : 0;
  if (rest === 5) return LARGEST - BigInt(number);
  return BigInt(number) + (rest === 6 || rest === 7 ? UNSAFE : 1n);
}

export function childIdOf({ table, number }: StoredRecord, place: number): bigint {
  return toId(table.scenario, number * CHILD_PLACES + place);
}

function itemAt(list: ArrayLike<number>, index: number): number {
  const item = list[index];
  if (item === undefined) throw new RangeError(`There is no item ${index}.`);
  return item;
}
