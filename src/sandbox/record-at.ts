import { createHash } from 'node:crypto';
import {
  drawFate,
  type Fate,
  fateAt,
  isServedBeforeWindow,
  platformDates,
  type Scenario,
  type ServiceDates,
  type Slot,
  serviceDates,
} from './fates.js';
import {
  buildLineItem,
  buildPlainLineItem,
  buildRelation,
  type Json,
  type JsonObject,
  writeJson,
} from './fields.js';
import { type PlatformDates, UNDATED } from './models.js';
import { Draw, happens, hashOf, hexOf, mix } from './seeded-random.js';
import type { Table, TableMember } from './tables.js';
import type { World } from './world.js';

const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(2015, 0, 1);
/** Ranges of one length start on this many different days. */
const RANGE_STARTS = 3000;

/** How platforms number their records. */
const SCHEMES: readonly ((group: number, hash: number) => string)[] = [
  (group) => String(group + 1),
  (group) => `INV-${String(group + 1).padStart(6, '0')}`,
  (_, hash) => {
    const hex = hexOf(hash) + hexOf(mix(hash, 7));
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
  },
  (group) => {
    const isoDay = (day: number) => new Date(FIRST_DAY + day * DAY_MS).toISOString().slice(0, 10);
    const start = group % RANGE_STARTS;
    return `${isoDay(start)}_${isoDay(start + 30 + Math.floor(group / RANGE_STARTS))}`;
  },
  (group) => String(group + 1),
];

/** Words that often break programs; each is the key of one record per list. */
const WORDS = ['__proto__', 'constructor', 'null', 'NaN', '-1', 'true', '[object Object]', 'toString'];
const FIRST_WORD_GROUP = 7;

/** Keys that often break programs; all contain the record's number, so that they differ even after folding. */
const HOSTILE: readonly ((group: number) => string)[] = [
  (group) => `O'Brien "q" ${group}`,
  (group) => `café-${group}`,
  (group) => `cafe\u0301-${group}-nfd`,
  (group) => `nul\u0000-${group}`,
  (group) => `=SUM(A${group})`,
  (group) => `<b>&amp;${group}</b>`,
  (group) => `\u202e${group}-rtl`,
  (group) => `日本語-${group}`,
  (group) => `💶-${group}`,
  (group) => `a,b;${group}\n"c"`,
  (group) => `../../etc/${group}`,
  (group) => `${group}.0`,
  (group) => `1e${group}`,
  (group) => `0x${group}`,
  (group) => ` padded ${group} `,
  (group) => `\u001b[31m-${group}`,
  (group) => `9007199254740993${group}`,
  (group) => `1234567890123456789012345${group}`,
  (group) => `${'x'.repeat(10_000)}${group}`,
];
const HOSTILE_RATE = 0.12;

/** The key of a platform record, unique in its list even after folding. `scheme`: a hash, the same for every company. */
function keyText(scheme: number, scenario: Scenario, group: number, hash: number): string {
  const plain = SCHEMES[scheme % SCHEMES.length]?.(group, hash) ?? '';
  if (scenario === 'clean') return plain;
  const word = WORDS[group - FIRST_WORD_GROUP];
  if (word !== undefined && (hash & 1) === 0) return word;
  const draw = mix(hash, 11);
  return (happens(draw, HOSTILE_RATE) ? HOSTILE[mix(draw, 1) % HOSTILE.length]?.(group) : null) ?? plain;
}

/** Another text that becomes equal by trimming, case folding, NFC and dropping leading zeros. */
function variantOf(key: string, hash: number): string {
  const otherForm = key.normalize('NFD') === key ? key.normalize('NFC') : key.normalize('NFD');
  if (otherForm !== key) return otherForm;
  const recased = key.replace(/[a-z]+|[A-Z]+/g, (run) => (run < 'a' ? run.toLowerCase() : run.toUpperCase()));
  if (recased !== key && (hash & 1) === 0) return recased;
  if (key.startsWith(' ')) return key.trim();
  return (hash & 2) === 0 ? `00${recased}` : `  0${key} `;
}

/** A different key, as after the platform renumbered its records. */
function otherKey(hash: number): string {
  return `moved/${hexOf(hash)}`;
}

/** A unique id of the platform. */
function uniqueIdText(hash: number): string {
  return `u-${hexOf(hash)}`;
}

/** Values of `platform_id` that are not keys. */
const NO_KEYS: readonly Json[] = [null, '', null, 1.5, {}, [], true, '\ud800', 'lone \udc00 half'];

/** A `platform_id` that is not a key. */
function noKey(hash: number): Json {
  return NO_KEYS[hash % NO_KEYS.length] ?? null;
}

/** Share of all-digit keys that are written as an integer literal in the ugly scenario. */
const LITERAL_RATE = 0.2;

/** The key as written by the service: some services write digits as a number. */
function writtenKey(key: string, scenario: Scenario, hash: number): Json {
  if (scenario === 'clean' || !happens(hash, LITERAL_RATE) || !/^(0|[1-9]\d*)$/.test(key)) return key;
  return BigInt(key);
}

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
  const place = table.placeAt(position);
  const { group } = place;
  const member = table.members[place.member];
  const fate = fateAt(member?.block.fates[group] ?? 0);
  const slot = fate[table.generation][place.slot];
  if (member === undefined || slot === undefined) throw new RangeError(`There is no record ${position}.`);
  const change = table.changes.get(position);
  const hash = mix(table.hash, position);
  return {
    table,
    member,
    position,
    group,
    fate,
    slot,
    entityHash: mix(mix(member.block.hash, group), 0xe0 + slot.entity),
    dates: { ...serviceDates(table.generation, position, table.present, hash, times, scenario), ...change },
    deleted: change?.deleted ?? slot.deleted,
  };
}

/** A record's key as text; null if it has none. */
export function platformKeyOf(world: World, { member, group, slot }: StoredRecord): string | null {
  if (slot.key === 'none') return null;
  const { block } = member;
  const hash = mix(mix(block.hash, group), 0xc0);
  if (slot.key === 'other') return otherKey(hash);
  const key = keyText(hashOf(world.seed, 'scheme', block.shape.v3), world.scenario, group, hash);
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
  return table.ids.idAt(position);
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
export function driftedFields(world: World, v3: StoredRecord, v4: StoredRecord): readonly string[] {
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
  readonly svcId: bigint;
  /** Its key; null if `written` is not a key. */
  readonly key: string | null;
  readonly written: Json;
}

const MAX_GROUPS = 3;
const SLOTS_PER_GROUP = 2;

/** The groups of line items with ids of an object, the same in V3 and V4; empty if the model has no such line items. */
export function childGroupsOf({ scenario }: World, stored: StoredRecord): readonly ChildGroup[] {
  const { member, entityHash } = stored;
  if (member.block.shape.lineItems !== 'ids') return [];
  const objectHash = mix(entityHash, 0xc1);
  return Array.from({ length: objectHash % (MAX_GROUPS + 1) }, (_, number) => {
    const hash = mix(objectHash, number);
    return { number, hash, fate: fateAt(drawFate('child', scenario, mix(hash, 1)), 'child') };
  });
}

/** The line items of a group in the record of one side. */
export function childrenIn(world: World, stored: StoredRecord, group: ChildGroup): readonly ChildRecord[] {
  const { table, position, member } = stored;
  const writtenHash = mix(group.hash, table.generation === 'v3' ? 3 : 4);
  return group.fate[table.generation].map((slot, at) => {
    const svcId = table.ids.childIdAt(position, group.number * SLOTS_PER_GROUP + at);
    if (slot.key === 'none') return { svcId, key: null, written: noKey(writtenHash) };
    // Documents often use the same line numbers.
    const base = member.block.hash % 3 === 0 ? hexOf(group.hash) : String(group.number + 1);
    const key = slot.key === 'variant' ? variantOf(base, group.hash) : base;
    return { svcId, key, written: writtenKey(key, world.scenario, writtenHash) };
  });
}

/** A record as sent by the service, as JSON text. */
export function writeRecord(
  world: World,
  stored: StoredRecord,
  { expand, select }: Readonly<Record<'expand' | 'select', ReadonlySet<string>>>,
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
  const { table, entityHash } = stored;
  const lineHash = mix(entityHash, 14);
  if (table.shape.lineItems === 'plain') {
    const lines = Array.from({ length: 1 + (lineHash % 3) }, (_, line) => new Draw(mix(lineHash, line)));
    return JSON.stringify(lines.map(buildPlainLineItem));
  }
  const updatedAt = platformDatesOf(world, stored).updated;
  const texts = childGroupsOf(world, stored).flatMap((group) =>
    childrenIn(world, stored, group).map(({ svcId, written }) => {
      const ids = writeJson({ svc_id: svcId, platform_id: written });
      const line = JSON.stringify(buildLineItem(new Draw(group.hash), updatedAt));
      return `{${membersOf(ids)},${membersOf(line)}}`;
    }),
  );
  return `[${texts.join(',')}]`;
}
