import { createHash } from 'node:crypto';
import { drawFate, type Fate, fateAt, isServedBeforeWindow, platformDates, type Scenario } from './fates.js';
import {
  drawFields,
  drawRelation,
  type Json,
  type JsonObject,
  type PlatformDates,
  UNDATED,
  writeJson,
} from './models.js';
import { Draw, happens, hashOf, hexOf, mix } from './seeded-random.js';
import { childIdOf, type StoredRecord } from './world.js';

const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(2015, 0, 1);
const RANGE_STARTS = 3000;

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

const NO_KEYS: readonly Json[] = [null, '', null, 1.5, {}, [], true, '\ud800', 'lone \udc00 half'];

function noKey(hash: number): Json {
  return NO_KEYS[hash % NO_KEYS.length] ?? null;
}

const LITERAL_RATE = 0.2;

function writtenKey(key: string, scenario: Scenario, hash: number): Json {
  if (scenario === 'clean' || !happens(hash, LITERAL_RATE) || !/^(0|[1-9]\d*)$/.test(key)) return key;
  return BigInt(key);
}

export function platformKeyOf({ table, member: { block }, group, slot }: StoredRecord): string | null {
  if (slot.key === 'keyless') return null;
  const hash = mix(mix(block.hash, group), 0xc0);
  if (slot.key === 'other') return `moved/${hexOf(hash)}`;
  const key = keyText(hashOf(table.seed, 'scheme', block.shape.v3), table.scenario, group, hash);
  return slot.key === 'variant' ? variantOf(key, hash) : key;
}

function writtenKeyOf(record: StoredRecord): Json {
  const { table, position } = record;
  const hash = mix(mix(table.hash, position), 0xc2);
  const key = platformKeyOf(record);
  if (key !== null) return writtenKey(key, table.scenario, hash);
  return table.scenario === 'clean' ? null : noKey(hash);
}

function uniqueIdOf({ member, group, slot, entityHash }: StoredRecord): string | null {
  if (slot.uniqueId === 'bare') return null;
  const text = (hash: number) => `u-${hexOf(hash)}`;
  if (slot.uniqueId !== 'own') return text(mix(mix(member.block.hash, group), slot.uniqueId === 'a' ? 1 : 2));
  return happens(mix(entityHash, 5), 0.4) ? null : text(mix(entityHash, 6));
}

const isoTime = (ms: number): string => new Date(ms).toISOString();

export const SERVICE_FIELDS: Readonly<Record<string, (record: StoredRecord) => Json>> = {
  svc_id: ({ svcId }) => svcId,
  svc_deleted_at: ({ deleted, dates }) => (deleted ? isoTime(dates.updatedMs) : null),
  svc_created_at: ({ dates }) => isoTime(dates.createdMs),
  svc_updated_at: ({ dates }) => isoTime(dates.updatedMs),
  svc_company_id: ({ member }) => member.company.id,
  platform_id: writtenKeyOf,
  platform_unique_id: uniqueIdOf,
};

function serviceFields(record: StoredRecord): JsonObject {
  return Object.fromEntries(Object.entries(SERVICE_FIELDS).map(([name, read]) => [name, read(record)]));
}

const UNDATED_RATE = 0.15;

function platformDatesOf({ table, fate, dates, entityHash }: StoredRecord): PlatformDates {
  const { generation, scenario, shape, times } = table;
  const mayBeUndated = generation === 'v3' && fate.dates === 'outside' && fate.v4.length === 0;
  if (mayBeUndated && isServedBeforeWindow(dates, times) && happens(mix(entityHash, 8), UNDATED_RATE)) {
    return UNDATED;
  }
  return platformDates(fate.dates, shape, entityHash, times, scenario);
}

/** The platform's fields, the same in V3 and V4. */
export function platformFields(record: StoredRecord): JsonObject {
  return drawFields(record.table.shape.fields, new Draw(record.entityHash), platformDatesOf(record));
}

export interface ChildGroup {
  readonly number: number;
  readonly hash: number;
  readonly fate: Fate;
}

export interface ChildRecord {
  readonly svcId: bigint;
  /** Its key; null if `written` is not a key. */
  readonly key: string | null;
  readonly written: Json;
}

const MAX_GROUPS = 3;
const SLOTS_PER_GROUP = 2;

/** The groups of line items with ids of an object, the same in V3 and V4; empty if the model has no such line items. */
export function childGroupsOf({ table, entityHash }: StoredRecord): readonly ChildGroup[] {
  if (table.shape.lineItems !== 'ids') return [];
  const objectHash = mix(entityHash, 0xc1);
  return Array.from({ length: objectHash % (MAX_GROUPS + 1) }, (_, number) => {
    const hash = mix(objectHash, number);
    return { number, hash, fate: fateAt(drawFate('child', table.scenario, mix(hash, 1)), 'child') };
  });
}

export function childrenIn(record: StoredRecord, group: ChildGroup): readonly ChildRecord[] {
  const { table, member } = record;
  const writtenHash = mix(group.hash, table.generation === 'v3' ? 3 : 4);
  return group.fate[table.generation].map((slot, at) => {
    const svcId = childIdOf(record, group.number * SLOTS_PER_GROUP + at);
    if (slot.key === 'keyless') return { svcId, key: null, written: noKey(writtenHash) };
    // Documents often use the same line numbers.
    const base = member.block.hash % 3 === 0 ? hexOf(group.hash) : String(group.number + 1);
    const key = slot.key === 'variant' ? variantOf(base, group.hash) : base;
    return { svcId, key, written: writtenKey(key, table.scenario, writtenHash) };
  });
}

export function writeRecord(
  record: StoredRecord,
  { expand, select }: Readonly<Record<'expand' | 'select', ReadonlySet<string>>>,
): string {
  const { table, entityHash } = record;
  const fields = platformFields(record);
  const draw = new Draw(mix(entityHash, 12));
  const texts = [writeJson(serviceFields(record)), JSON.stringify(fields)];
  for (const name of table.shape.expand) {
    if (!expand.has(name)) continue;
    const value = name === 'line_items' ? writeLineItems(record) : JSON.stringify(drawRelation(draw, name));
    texts.push(`{"${name}":${value}}`);
  }
  if (select.has('raw_data')) texts.push(JSON.stringify({ raw_data: { source: table.shape.v3, fields } }));
  if (select.has('data_hash')) {
    const hash = createHash('sha256').update(JSON.stringify(fields)).digest('hex');
    texts.push(JSON.stringify({ data_hash: hash.slice(0, 32) }));
  }
  return joinObjects(texts);
}

function joinObjects(texts: readonly string[]): string {
  return `{${texts.map((text) => text.slice(1, -1)).join(',')}}`;
}

const ITEM_FIELDS = (
  'item_id tax_id line_item_type_id line_item_type description quantity unit_amount sub_total total_discount ' +
  'tax_amount total_amount'
).split(' ');
const DOCUMENT_ITEM_FIELDS = [
  ...ITEM_FIELDS,
  'tracking_category_ids',
  'project_id',
  'account_id',
  'updated_at',
];

function writeLineItems(record: StoredRecord): string {
  const { table, entityHash } = record;
  const lineHash = mix(entityHash, 14);
  if (table.shape.lineItems === 'plain') {
    const lines = Array.from({ length: 1 + (lineHash % 3) }, (_, line) => new Draw(mix(lineHash, line)));
    return JSON.stringify(lines.map((draw) => drawFields(ITEM_FIELDS, draw, UNDATED)));
  }
  const dates = platformDatesOf(record);
  const texts = childGroupsOf(record).flatMap((group) =>
    childrenIn(record, group).map(({ svcId, written }) => {
      const fields = drawFields(DOCUMENT_ITEM_FIELDS, new Draw(group.hash), dates);
      return joinObjects([writeJson({ svc_id: svcId, platform_id: written }), JSON.stringify(fields)]);
    }),
  );
  return `[${texts.join(',')}]`;
}
