import { createHash } from 'node:crypto';
import {
  CHILD_FATES,
  type Fate,
  fateAt,
  isServedBeforeWindow,
  ORDINARY_FATE,
  platformDates,
  type Scenario,
  type ServiceDates,
  type Slot,
  serviceDates,
} from './fates.js';
import { buildLineItem, buildPlainLineItem, buildRelation } from './fields.js';
import { type Json, type JsonObject, writeJson } from './json.js';
import type { Query } from './list-query.js';
import { type PlatformDates, UNDATED } from './models.js';
import {
  chooseScheme,
  keyText,
  noKey,
  otherKey,
  uniqueIdText,
  variantOf,
  writtenKey,
} from './platform-keys.js';
import {
  type ApiVersion,
  type Block,
  CHILD_PLACES,
  slotAt,
  type Table,
  type TableMember,
} from './record-tables.js';
import { Draw, happens, hashOf, hexOf, mix } from './seeded-random.js';
import type { World } from './world.js';

/** The position of one record; its fields are built on demand. */
export interface StoredRecord {
  readonly table: Table;
  readonly member: TableMember;
  readonly position: number;
  readonly group: number;
  readonly fate: Fate;
  readonly slot: Slot;
  /** The same for all records, in V3 and V4, of one object on the platform. */
  readonly entityHash: number;
  readonly dates: ServiceDates;
  readonly deleted: boolean;
}

/** The record at a position of a table. */
export function recordAt({ times, scenario }: World, table: Table, position: number): StoredRecord {
  const { generation } = table;
  const member = table.members[table.memberOf[position] ?? 0];
  if (member === undefined) throw new RangeError(`There is no record ${position}.`);
  const { block } = member;
  const { group, slot } = slotAt(block, generation, table.placeOf[position] ?? 0);
  const change = table.changes.get(position);
  const hash = mix(table.hash, position);
  return {
    table,
    member,
    position,
    group,
    fate: fateAt(block.fates[group] ?? 0),
    slot,
    entityHash: mix(mix(block.hash, group), 0xe0 + slot.entity),
    dates: { ...serviceDates(generation, position, table.present, hash, times, scenario), ...change },
    deleted: change?.deleted ?? slot.deleted,
  };
}

/** A record's key as text; null if it has none. */
export function platformKeyOf(world: World, { member, group, slot }: StoredRecord): string | null {
  if (slot.key === 'none') return null;
  const { block } = member;
  const hash = mix(mix(block.hash, group), 0xc0);
  if (slot.key === 'other') return otherKey(hash);
  const scheme = chooseScheme(hashOf(world.seed, 'scheme', block.shape.v3));
  const key = keyText(scheme, world.scenario, group, hash);
  return slot.key === 'variant' ? variantOf(key, hash) : key;
}

function writtenKeyOf(world: World, stored: StoredRecord): Json {
  const hash = mix(mix(stored.table.hash, stored.position), 0xc2);
  const key = platformKeyOf(world, stored);
  if (key !== null) return writtenKey(key, world.scenario, hash);
  return world.scenario === 'clean' ? null : noKey(hash);
}

function uniqueIdOf({ member, group, slot, entityHash }: StoredRecord): string | null {
  if (slot.uniqueId === 'none') return null;
  if (slot.uniqueId !== 'own')
    return uniqueIdText(mix(mix(member.block.hash, group), slot.uniqueId === 'a' ? 1 : 2));
  return happens(mix(entityHash, 5), 0.4) ? null : uniqueIdText(mix(entityHash, 6));
}

export function svcIdOf({ table, position }: StoredRecord): bigint {
  return table.ids.idOf(position);
}

export function childIdOf({ table, position }: StoredRecord, place: number): bigint {
  return table.childIds.idOf(position * CHILD_PLACES + place);
}

/** The service's fields, which are cheaper than the whole record. */
export function serviceFields(world: World, stored: StoredRecord): JsonObject {
  const { dates } = stored;
  return {
    svc_id: svcIdOf(stored),
    svc_deleted_at: stored.deleted ? new Date(dates.updatedMs).toISOString() : null,
    svc_created_at: new Date(dates.createdMs).toISOString(),
    svc_updated_at: new Date(dates.updatedMs).toISOString(),
    svc_company_id: stored.member.company.id,
    platform_id: writtenKeyOf(world, stored),
    platform_unique_id: uniqueIdOf(stored),
  };
}

/** Share of old records without platform dates, which are judged by the service's dates. */
const UNDATED_RATE = 0.15;

function platformDatesOf(world: World, stored: StoredRecord): PlatformDates {
  const { fate, dates, entityHash, member, table } = stored;
  const mayBeUndated = table.generation === 'v3' && fate.dates === 'outside' && fate.v4.length === 0;
  if (mayBeUndated && isServedBeforeWindow(dates, world.times) && happens(mix(entityHash, 8), UNDATED_RATE)) {
    return UNDATED;
  }
  return platformDates(fate.dates, member.block.shape, entityHash, world.times, world.scenario);
}

const DRIFT_RATE = 0.06;
const DRIFTING = ['memo', 'description', 'status', 'payment_status'];

/** The platform's fields, the same in V3 and V4 except for a few that drifted in the ugly scenario. */
export function platformFields(world: World, stored: StoredRecord): JsonObject {
  const { entityHash, member } = stored;
  const { shape } = member.block;
  const fields = shape.build(new Draw(entityHash), platformDatesOf(world, stored));
  const field = driftedField(world, stored);
  return field === null ? fields : { ...fields, [field]: 'changed since V3 read it' };
}

/** The field of a V4 record that drifted, if one did. */
function driftedField({ scenario }: World, { entityHash, member, table }: StoredRecord): string | null {
  const drifts = scenario === 'ugly' && table.generation === 'v4';
  if (!drifts || !happens(mix(entityHash, 9), DRIFT_RATE)) return null;
  return DRIFTING.find((name) => name in member.block.shape.fields) ?? null;
}

/** Names of the platform's fields that differ between the V3 and V4 records of one object. */
export function driftedFields(
  world: World,
  v3: StoredRecord | null,
  v4: StoredRecord | null,
): readonly string[] {
  if (v3 === null || v4 === null) return [];
  const field = driftedField(world, v4);
  const isRenamed = uniqueIdOf(v3) !== uniqueIdOf(v4);
  return [...(field === null ? [] : [field]), ...(isRenamed ? ['platform_unique_id'] : [])];
}

/** Line items that share a key and a fate. */
export interface ChildGroup {
  readonly number: number;
  readonly hash: number;
  readonly fate: Fate;
}

/** One line item of a record on one side. */
export interface ChildRecord {
  readonly group: ChildGroup;
  /** Its index in the record, below `CHILD_PLACES`. */
  readonly place: number;
  /** Its key; null if `written` is not a key. */
  readonly key: string | null;
  readonly written: Json;
}

const MAX_GROUPS = 3;
const SLOTS_PER_GROUP = 2;
const ORDINARY = fateAt(ORDINARY_FATE);

/** Each fate of a line item, repeated by its weight. */
function ticketsOf(scenario: Scenario): readonly Fate[] {
  return CHILD_FATES.flatMap((fate) => Array<Fate>(fate.weight[scenario]).fill(fate));
}
const CHILD_TICKETS = { clean: ticketsOf('clean'), ugly: ticketsOf('ugly') };

/** The groups of line items with ids of one object; empty if the model has no such line items. */
export function childGroupsOf(block: Block, entityHash: number, scenario: Scenario): readonly ChildGroup[] {
  if (block.shape.lineItems !== 'ids') return [];
  const hash = mix(entityHash, 0xc1);
  return Array.from({ length: hash % (MAX_GROUPS + 1) }, (_, number) => {
    const own = mix(hash, number);
    const tickets = CHILD_TICKETS[scenario];
    return { number, hash: own, fate: tickets[mix(own, 1) % tickets.length] ?? ORDINARY };
  });
}

/** The line items of these groups in the record of one side. */
export function childrenOn(
  side: ApiVersion,
  groups: readonly ChildGroup[],
  block: Block,
  scenario: Scenario,
): readonly ChildRecord[] {
  return groups.flatMap((group) =>
    group.fate[side].map((_, slot) => childInSlot(side, group, slot, block, scenario)),
  );
}

/** The line item of a group at a slot of its fate. */
export function childInSlot(
  side: ApiVersion,
  group: ChildGroup,
  slot: number,
  block: Block,
  scenario: Scenario,
): ChildRecord {
  const kind = group.fate[side][slot]?.key;
  const place = group.number * SLOTS_PER_GROUP + slot;
  const sideHash = mix(group.hash, side === 'v3' ? 3 : 4);
  if (kind === 'none') return { group, place, key: null, written: noKey(sideHash) };
  // Documents often use the same line numbers.
  const base = block.hash % 3 === 0 ? hexOf(group.hash) : String(group.number + 1);
  const key = kind === 'variant' ? variantOf(base, group.hash) : base;
  return { group, place, key, written: writtenKey(key, scenario, sideHash) };
}

/** A record as sent by the service, as JSON text. */
export function writeRecord(
  world: World,
  stored: StoredRecord,
  { expand, select }: Pick<Query, 'expand' | 'select'>,
): string {
  const { table, entityHash } = stored;
  const fields = platformFields(world, stored);
  const members = [writeJson(serviceFields(world, stored)), JSON.stringify(fields)].map(membersOf);
  const draw = new Draw(mix(entityHash, 12));
  for (const name of table.shape.expand) {
    if (!expand.has(name)) continue;
    const isList = name === 'line_items';
    const text = isList ? writeLineItems(world, stored) : JSON.stringify(buildRelation(draw, name));
    members.push(`"${name}":${text}`);
  }
  if (select.has('raw_data')) {
    members.push(`"raw_data":${JSON.stringify({ source: table.shape.v3, fields })}`);
  }
  if (select.has('data_hash')) {
    const hash = createHash('sha256').update(JSON.stringify(fields)).digest('hex').slice(0, 32);
    members.push(`"data_hash":"${hash}"`);
  }
  return `{${members.join(',')}}`;
}

function membersOf(object: string): string {
  return object.slice(1, -1);
}

function writeLineItems(world: World, stored: StoredRecord): string {
  const { table, member, entityHash } = stored;
  const lineHash = mix(entityHash, 14);
  if (table.shape.lineItems === 'plain') {
    const lines = Array.from({ length: 1 + (lineHash % 3) }, (_, line) => new Draw(mix(lineHash, line)));
    return JSON.stringify(lines.map(buildPlainLineItem));
  }
  const updatedAt = platformDatesOf(world, stored).updated;
  const groups = childGroupsOf(member.block, entityHash, world.scenario);
  const children = childrenOn(table.generation, groups, member.block, world.scenario);
  const texts = children.map((child) => {
    const ids = { svc_id: childIdOf(stored, child.place), platform_id: child.written };
    const line = JSON.stringify(buildLineItem(new Draw(child.group.hash), updatedAt));
    return `{${membersOf(writeJson(ids))},${membersOf(line)}}`;
  });
  return `[${texts.join(',')}]`;
}
