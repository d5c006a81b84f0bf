import { createHash } from 'node:crypto';
import { groupAt, slotAt } from './blocks.js';
import { childGroupsOf, childrenOn } from './children.js';
import { isServedBeforeWindow, platformDates, type ServiceDates, serviceDates, UNDATED } from './dates.js';
import type { Fate, Slot } from './fate.js';
import { type Json, type JsonObject, writeJson } from './json.js';
import { chooseScheme, keyText, noKey, otherKey, uniqueIdText, variantOf, writtenKey } from './keys.js';
import { Draw, happens, hashOf, mix } from './random.js';
import { fateAt } from './record-fates.js';
import { buildLineItem, buildPlainLineItem } from './shapes/line-items.js';
import { buildRelation, type PlatformDates } from './shapes/shape.js';
import { CHILD_PLACES, type Member, type Table } from './tables.js';
import type { World } from './world.js';

/** One record, located; its fields are made when asked for. */
export interface Stored {
  readonly table: Table;
  readonly member: Member;
  readonly position: number;
  readonly group: number;
  readonly fate: Fate;
  readonly slot: Slot;
  /** Same in V3 and V4, and for all records of one thing on the platform. */
  readonly entityHash: number;
  readonly dates: ServiceDates;
  readonly deleted: boolean;
}

/** The record at a position of a table. */
export function recordAt(world: World, table: Table, position: number): Stored {
  const member = table.members[table.memberOf[position] ?? 0];
  if (member === undefined) throw new RangeError(`There is no record ${position}.`);
  const { block } = member;
  const place = table.placeOf[position] ?? 0;
  const { group, slot: number } = groupAt(block[table.generation], place);
  const slot = slotAt(block, table.generation, group, number);
  const change = table.changes.get(position);
  return {
    table,
    member,
    position,
    group,
    fate: fateAt(block.fates[group] ?? 0),
    slot,
    entityHash: entityHashOf(block.hash, group, slot),
    dates: { ...datesOf(world, table, position), ...change },
    deleted: change?.deleted ?? slot.deleted,
  };
}

function datesOf({ times, scenario }: World, table: Table, position: number): ServiceDates {
  const hash = mix(table.hash, position);
  return serviceDates(table.generation, position, table.present, hash, times, scenario);
}

function entityHashOf(blockHash: number, group: number, slot: Slot): number {
  return mix(mix(blockHash, group), 0xe0 + slot.entity);
}

/** A record's key as text, null where it has none. */
export function keyOf(world: World, { member, group, slot }: Stored): string | null {
  if (slot.key === 'none') return null;
  const { block } = member;
  const hash = mix(mix(block.hash, group), 0xc0);
  if (slot.key === 'other') return otherKey(hash);
  const scheme = chooseScheme(hashOf(world.seed, 'scheme', block.shape.v3));
  const key = keyText(scheme, world.scenario, group, hash);
  return slot.key === 'variant' ? variantOf(key, hash) : key;
}

function writtenKeyOf(world: World, stored: Stored): Json {
  const hash = mix(mix(stored.table.hash, stored.position), 0xc2);
  const key = keyOf(world, stored);
  if (key !== null) return writtenKey(key, world.scenario, hash);
  return world.scenario === 'clean' ? null : noKey(hash);
}

function uniqueIdOf({ member, group, slot, entityHash }: Stored): string | null {
  if (slot.uniqueId === 'none') return null;
  if (slot.uniqueId !== 'own')
    return uniqueIdText(mix(mix(member.block.hash, group), slot.uniqueId === 'a' ? 1 : 2));
  return happens(mix(entityHash, 5), 0.4) ? null : uniqueIdText(mix(entityHash, 6));
}

export function svcIdOf({ table, position }: Stored): bigint {
  return table.ids.idOf(position);
}

export function childIdOf({ table, position }: Stored, place: number): bigint {
  return table.childIds.idOf(position * CHILD_PLACES + place);
}

/** Fields that are cheap to know without making the whole record. */
export function serviceFields(world: World, stored: Stored): JsonObject {
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

/** A record whose platform gave no dates is judged by the service's; only old ones may be such. */
const UNDATED_RATE = 0.15;

function platformDatesOf(world: World, stored: Stored): PlatformDates {
  const { fate, dates, entityHash, member, table } = stored;
  const mayBeUndated = table.generation === 'v3' && fate.dates === 'outside' && fate.v4.length === 0;
  if (mayBeUndated && isServedBeforeWindow(dates, world.times) && happens(mix(entityHash, 8), UNDATED_RATE)) {
    return UNDATED;
  }
  return platformDates(fate.dates, member.block.shape, entityHash, world.times, world.scenario);
}

const DRIFT_RATE = 0.06;
const DRIFTING = ['memo', 'description', 'status', 'payment_status'];

/** The platform's fields, the same in V3 and V4, but for a few that drifted in the ugly scenario. */
export function platformFields(world: World, stored: Stored): JsonObject {
  const { entityHash, member } = stored;
  const { shape } = member.block;
  const fields = shape.build(new Draw(entityHash), platformDatesOf(world, stored));
  const field = driftedField(world, stored);
  return field === null ? fields : { ...fields, [field]: 'changed since V3 read it' };
}

/** The field of a V4 record that drifted, if one did. */
function driftedField({ scenario }: World, { entityHash, member, table }: Stored): string | null {
  const drifts = scenario === 'ugly' && table.generation === 'v4';
  if (!drifts || !happens(mix(entityHash, 9), DRIFT_RATE)) return null;
  return DRIFTING.find((name) => name in member.block.shape.fields) ?? null;
}

/** The names of the platform's fields that a V4 record has otherwise than the V3 record of the same thing. */
export function driftedFields(world: World, v3: Stored | null, v4: Stored | null): readonly string[] {
  if (v3 === null || v4 === null) return [];
  const field = driftedField(world, v4);
  const isRenamed = uniqueIdOf(v3) !== uniqueIdOf(v4);
  return [...(field === null ? [] : [field]), ...(isRenamed ? ['platform_unique_id'] : [])];
}

export interface Extras {
  readonly expand: ReadonlySet<string>;
  readonly select: ReadonlySet<string>;
}

/** A whole record as the service answers it: JSON text. */
export function writeRecord(world: World, stored: Stored, { expand, select }: Extras): string {
  const { table, entityHash } = stored;
  const fields = platformFields(world, stored);
  const members = [membersOf(writeJson(serviceFields(world, stored))), membersOf(JSON.stringify(fields))];
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

function writeLineItems(world: World, stored: Stored): string {
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
