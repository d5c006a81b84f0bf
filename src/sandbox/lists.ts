import { recordAt, type Stored } from './records.js';
import type { Member, Table } from './tables.js';
import type { World } from './world.js';

/** Records in the order of creation, numbered from 0; the numbers never change. */
export interface List {
  readonly table: Table;
  /** Tells lists apart. */
  readonly name: string;
  readonly size: number;
  /** Live records, null where they would have to be counted. */
  readonly live: number | null;
  at(ordinal: number): Stored;
  /** Where the record with an id is, null where the list has none. */
  ordinalOf(svcId: bigint): number | null;
}

/** All companies' records of a table. */
export function listTable(world: World, table: Table): List {
  const arrived = [...table.changes.keys()].filter((position) => position >= table.present).length;
  const size = table.present + arrived;
  return {
    table,
    name: `${table.generation} ${table.region} ${table.shape.v3}`,
    size,
    live: table.members.reduce((sum, member) => sum + liveOf(table, member), 0),
    at: (ordinal) => recordAt(world, table, ordinal),
    ordinalOf: (svcId) => {
      const position = table.ids.indexOf(svcId);
      return position === null || position >= size ? null : position;
    },
  };
}

/** One company's records of a table; `share` of them, from 0 to 1, while a backfill runs. */
export function listMember(world: World, table: Table, member: Member, share: number): List {
  const index = table.members.indexOf(member);
  const side = member.block[table.generation];
  const arrived = [...table.changes.keys()].filter(
    (position) => position >= table.present && table.memberOf[position] === index,
  ).length;
  const size = Math.floor((side.present + arrived) * share);
  return {
    table,
    name: `${table.generation} ${table.region} ${table.shape.v3} ${index}`,
    size,
    live: share < 1 ? null : liveOf(table, member),
    at: (ordinal) => recordAt(world, table, member.positions[ordinal] ?? 0),
    ordinalOf: (svcId) => {
      const position = table.ids.indexOf(svcId);
      if (position === null || table.memberOf[position] !== index) return null;
      const place = table.placeOf[position] ?? size;
      return place < size ? place : null;
    },
  };
}

/** The list of a company that holds nothing. */
export function listNothing(table: Table): List {
  const at = (): never => {
    throw new RangeError('The list is empty.');
  };
  return { table, name: 'nothing', size: 0, live: 0, at, ordinalOf: () => null };
}

function liveOf(table: Table, member: Member): number {
  const index = table.members.indexOf(member);
  const side = member.block[table.generation];
  let live = side.present - side.deleted;
  for (const [position, change] of table.changes) {
    if (table.memberOf[position] !== index) continue;
    if (position >= table.present && !change.deleted) live++;
    if (position < table.present && change.deleted) live--;
  }
  return live;
}
