import type { Query } from './list-query.js';
import type { Table, TableMember } from './record-tables.js';
import { recordAt, type StoredRecord } from './stored-records.js';
import type { World } from './world.js';

/** Records in the order of creation, numbered from 0; the numbers never change. */
export interface RecordList {
  readonly table: Table;
  readonly size: number;
  /** Number of live records; null if they would have to be counted. */
  readonly live: number | null;
  at(ordinal: number): StoredRecord;
  /** The ordinal of the record with an id; null if the list has none. */
  ordinalOf(svcId: bigint): number | null;
}

/** The records of all companies in a table. */
export function listTable(world: World, table: Table): RecordList {
  const arrived = [...table.changes.keys()].filter((position) => position >= table.present).length;
  const size = table.present + arrived;
  return {
    table,
    size,
    live: table.members.reduce((sum, member) => sum + liveOf(table, member), 0),
    at: (ordinal) => recordAt(world, table, ordinal),
    ordinalOf: (svcId) => {
      const position = table.ids.indexOf(svcId);
      return position === null || position >= size ? null : position;
    },
  };
}

/** The records of one company in a table; during a backfill, only a `share` of them (0 to 1). */
export function listMember(world: World, table: Table, member: TableMember, share: number): RecordList {
  const index = table.members.indexOf(member);
  const side = member.block[table.generation];
  const arrived = [...table.changes.keys()].filter(
    (position) => position >= table.present && table.memberOf[position] === index,
  ).length;
  const size = Math.floor((side.present + arrived) * share);
  return {
    table,
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

/** An empty list. */
export function listNothing(table: Table): RecordList {
  const at = (): never => {
    throw new RangeError('The list is empty.');
  };
  return { table, size: 0, live: 0, at, ordinalOf: () => null };
}

function liveOf(table: Table, member: TableMember): number {
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

/** A record's position in an order, valid even after the order changed. */
interface OrderKey {
  readonly ordinal: number;
  readonly updatedMs: number;
}

/** The records of a list in the order of a query. */
export interface Order {
  readonly size: number;
  /** The ordinal at an index. */
  at(index: number): number;
  /** The index of the first record that is not before the key. */
  indexOf(key: OrderKey): number;
}

/** Creates the order of a query. Order by creation needs no memory; order by update is sorted for each page. */
export function createOrder(list: RecordList, query: Query): Order {
  const { field, descending } = query.sort;
  const wanted = query.filters.find(
    ({ field: name, operator }) => name === 'svc_id' && (operator === 'eq' || operator === 'in'),
  );
  if (wanted !== undefined) {
    const ordinals = wanted.operands.map((id) => (typeof id === 'bigint' ? list.ordinalOf(id) : null));
    const found = Uint32Array.from(new Set(ordinals.filter((ordinal) => ordinal !== null)));
    if (field === 'svc_updated_at') return byUpdate(list, sortByUpdate(list, found), descending);
    return searchable(found.sort(), descending, (ordinal, key) => ordinal - key.ordinal);
  }
  if (field === 'svc_updated_at') {
    const all = Uint32Array.from({ length: list.size }, (_, ordinal) => ordinal);
    return byUpdate(list, sortByUpdate(list, all), descending);
  }
  const { size } = list;
  const flip = (value: number): number => (descending ? size - 1 - value : value);
  return { size, at: flip, indexOf: ({ ordinal }) => flip(ordinal) };
}

function byUpdate(list: RecordList, sorted: Uint32Array, descending: boolean): Order {
  return searchable(
    sorted,
    descending,
    (ordinal, key) => list.at(ordinal).dates.updatedMs - key.updatedMs || ordinal - key.ordinal,
  );
}

function searchable(
  sorted: Uint32Array,
  descending: boolean,
  compare: (ordinal: number, key: OrderKey) => number,
): Order {
  const at = (index: number): number => sorted[descending ? sorted.length - 1 - index : index] ?? 0;
  const sign = descending ? -1 : 1;
  return {
    size: sorted.length,
    at,
    indexOf: (key) => {
      let [from, to] = [0, sorted.length];
      while (from < to) {
        const middle = (from + to) >>> 1;
        if (sign * compare(at(middle), key) < 0) from = middle + 1;
        else to = middle;
      }
      return from;
    },
  };
}

function sortByUpdate(list: RecordList, ordinals: Uint32Array): Uint32Array {
  const times = Float64Array.from(ordinals, (ordinal) => list.at(ordinal).dates.updatedMs);
  const places = Uint32Array.from(ordinals.keys());
  places.sort((a, b) => (times[a] ?? 0) - (times[b] ?? 0) || (ordinals[a] ?? 0) - (ordinals[b] ?? 0));
  return places.map((place) => ordinals[place] ?? 0);
}
